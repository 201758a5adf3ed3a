//! Where a vendor's response contains the members of a report.

use std::collections::BTreeMap;

use serde::Deserialize;

/// The location of one member of the report in a vendor's response.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Pointer {
    /// At a JSON pointer.
    Plain(String),
    /// A list at the pointer `at`. The other pointers lead from an item to its parts, such as `"name":
    /// "/label"`.
    Items {
        /// The list's JSON pointer.
        at: String,
        /// Pointers of the items' parts.
        #[serde(flatten)]
        parts: BTreeMap<String, String>,
    },
}

impl Pointer {
    /// The JSON pointer of the member.
    pub(super) fn at(&self) -> &str {
        match self {
            Pointer::Plain(at) | Pointer::Items { at, .. } => at,
        }
    }

    /// The JSON pointer of a part, relative to its item.
    pub(super) fn part(&self, name: &str) -> String {
        match self {
            Pointer::Items { parts, .. } if parts.contains_key(name) => parts[name].clone(),
            _ => format!("/{name}"),
        }
    }
}
