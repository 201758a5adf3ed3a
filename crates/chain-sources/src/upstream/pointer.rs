//! Where the members of a report are found in a vendor's answer.

use std::collections::BTreeMap;

use serde::Deserialize;

/// Where a member of the report stands in a vendor's answer.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Pointer {
    /// At a JSON pointer.
    Plain(String),
    /// A list at the pointer `at`; the others lead from an item to its parts, such as `"name": "/label"`.
    Items {
        /// The list's JSON pointer.
        at: String,
        /// Pointers of the items' parts.
        #[serde(flatten)]
        parts: BTreeMap<String, String>,
    },
}

impl Pointer {
    /// Where the member stands.
    pub(super) fn at(&self) -> &str {
        match self {
            Pointer::Plain(at) | Pointer::Items { at, .. } => at,
        }
    }

    /// Where a part of an item stands in it.
    pub(super) fn part(&self, name: &str) -> String {
        match self {
            Pointer::Items { parts, .. } if parts.contains_key(name) => parts[name].clone(),
            _ => format!("/{name}"),
        }
    }
}
