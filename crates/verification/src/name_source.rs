//! Where a screened name comes from, and names as screenings report them: by which a list entry was found, and which were
//! searched besides the submitted one.
//!
//! Types alone; [`crate::names`] collects the names.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Where a screened name comes from, in the order in which reviewers see them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NameSource {
    /// The form.
    Submitted,
    /// An accepted reading of a machine-readable zone.
    Mrz,
    /// A barcode.
    Barcode,
    /// An earlier attempt that the same face proved.
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

/// A name by which a list entry was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MatchedName {
    /// Where the name comes from.
    pub source: NameSource,
    /// The full name.
    pub name: String,
}

/// A name that was screened besides the submitted one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FurtherName {
    /// Where the name comes from.
    pub source: NameSource,
    /// The full name.
    pub name: String,
    /// The flattened values that were searched.
    pub query_params: BTreeMap<String, String>,
}
