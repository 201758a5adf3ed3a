//! The source of a screened name, and names as screenings report them: those that found a list entry, and
//! those searched in addition to the submitted one.
//!
//! This module has types only; [`crate::names`] collects the names.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The source of a screened name, in the order in which the portal shows them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NameSource {
    /// The submitted form.
    Submitted,
    /// An accepted reading of a machine-readable zone.
    Mrz,
    /// A barcode.
    Barcode,
    /// An earlier attempt whose face was proven to be the same person's.
    Earlier,
}

impl NameSource {
    /// `submitted`, `mrz`, `barcode` or `earlier`.
    pub fn as_str(self) -> &'static str {
        match self {
            NameSource::Submitted => "submitted",
            NameSource::Mrz => "mrz",
            NameSource::Barcode => "barcode",
            NameSource::Earlier => "earlier",
        }
    }
}

/// A name that found a list entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MatchedName {
    /// The name's source.
    pub source: NameSource,
    /// The full name.
    pub name: String,
}

/// A name that was screened in addition to the submitted one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FurtherName {
    /// The name's source.
    pub source: NameSource,
    /// The full name.
    pub name: String,
    /// The flattened query values that were searched.
    pub query_params: BTreeMap<String, String>,
}
