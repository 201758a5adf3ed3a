//! Labels of addresses with source, confidence and validity, from sanctions lists, TagPacks, CSV files and a
//! merchant's own address book.
//!
//! A label is found by chain and canonical address ([`crate::address::Address`]). Look-ups state a time, so
//! that an old decision can be repeated. This module reads label files, but neither the network nor a
//! database.

mod import;
mod index;
mod rows;
mod sanctions;
mod store;
mod tagpack;
mod taxonomy;

use serde::{Deserialize, Serialize};

use crate::category::Category;
use crate::currency::Currency;

pub use import::{read, time};
pub use index::LabelIndex;
pub use rows::{ImportError, LabelImport, LabelRow, Reject};
pub use sanctions::sanctions_labels;
pub use store::{Fingerprint, LabelStore, LabelStoreError, SetReport, SetStatus};

/// The confidence of a label from an imported file that states none, in percent.
pub const DEFAULT_CONFIDENCE: u8 = 50;

/// One source's statement about one address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Label {
    /// The owner of the address, or the event that it took part in.
    pub name: String,
    /// The category of the owner or event.
    pub category: Category,
    /// The origin of the label: a list's name, a page, a file.
    pub source: String,
    /// The confidence, 0-100.
    pub confidence: u8,
    /// The start of its validity (milliseconds since 1970); `None` for no start.
    pub valid_from: Option<i64>,
    /// The end of its validity, exclusive; `None` for no end.
    pub valid_to: Option<i64>,
    /// Whether the label comes from an authority's current sanctions list. Such a label makes the score 100.
    pub authority: bool,
}

impl Label {
    /// Whether the label is valid at a time (milliseconds since 1970).
    pub fn is_valid_at(&self, at: i64) -> bool {
        is_valid_at(self.valid_from, self.valid_to, at)
    }

    /// Whether an authority's current list of sanctions names the address.
    pub fn is_sanctions_listing(&self) -> bool {
        self.authority && self.category == Category::Sanctions
    }
}

fn is_valid_at(from: Option<i64>, to: Option<i64>, at: i64) -> bool {
    from.is_none_or(|from| from <= at) && to.is_none_or(|to| at < to)
}

/// Provides labels.
pub trait Labels: Sync {
    /// All labels of an address in canonical form that are valid at a time (milliseconds since 1970). An
    /// authority's come first, then the gravest and most certain ones. Empty when there are none.
    fn labels(&self, chain: Currency, address: &str, at: i64) -> Vec<Label>;

    /// The version of the labels; the same labels have the same version.
    fn version(&self) -> String;
}

/// Several indexes combined.
pub struct CombinedLabels<'a>(pub Vec<&'a LabelIndex>);

impl Labels for CombinedLabels<'_> {
    fn labels(&self, chain: Currency, address: &str, at: i64) -> Vec<Label> {
        let said = self.0.iter().flat_map(|index| index.labels(chain, address, at));
        combine_labels(said.collect())
    }

    fn version(&self) -> String {
        let versions: Vec<String> = self.0.iter().map(|index| index.version()).collect();
        versions.join("+")
    }
}

/// Combines the labels that several sources have for one address. Sanctions need a label from an authority's
/// list. If there is none, other sources' sanctions labels, such as those of delisted addresses, become
/// [`Category::Other`].
pub fn combine_labels(mut said: Vec<Label>) -> Vec<Label> {
    let is_sanction = |label: &Label| label.category == Category::Sanctions;
    if !said.iter().any(Label::is_sanctions_listing) {
        for label in said.iter_mut().filter(|label| is_sanction(label)) {
            label.category = Category::Other;
        }
    }
    gravest_first(&mut said);
    said
}

/// Sorts an authority's labels first, then the gravest and most certain ones.
fn gravest_first(labels: &mut [Label]) {
    labels.sort_by(|a, b| {
        (b.authority, a.category, b.confidence).cmp(&(a.authority, b.category, a.confidence))
    });
}

#[cfg(test)]
mod tests;
