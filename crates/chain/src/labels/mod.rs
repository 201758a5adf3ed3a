//! What is known about addresses: labels with provenance, confidence and validity, from sanctions lists, TagPacks, CSV
//! files and a merchant's own address book.
//!
//! A label is found by chain and canonical address ([`crate::address::Address`]). Answers depend on the day that they
//! are asked for, so an old decision can be repeated. Nothing here reads the network or a database.

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
pub use rows::{ImportError, Imported, LabelRow, Reject};
pub use sanctions::sanctions_labels;
pub use store::{Fingerprint, LabelStore, LabelStoreError, SetReport, SetStatus};

/// How sure a label of one's own file is, in percent, when the file does not say.
pub const DEFAULT_CONFIDENCE: u8 = 50;

/// What one source says about one address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Label {
    /// Whom the address belongs to, or what it took part in.
    pub name: String,
    /// What that is.
    pub category: Category,
    /// Where it is said: a list's name, a page, a file.
    pub source: String,
    /// How sure, 0-100.
    pub confidence: u8,
    /// From when it holds (milliseconds since 1970); `None`: always did.
    pub valid_from: Option<i64>,
    /// Until when it held, exclusive; `None`: still does.
    pub valid_to: Option<i64>,
    /// Whether an authority's current sanctions list says it: such a label makes the score 100.
    pub authority: bool,
}

impl Label {
    /// Whether it holds at a time (milliseconds since 1970).
    pub fn holds(&self, at: i64) -> bool {
        holds(self.valid_from, self.valid_to, at)
    }
}

fn holds(from: Option<i64>, to: Option<i64>, at: i64) -> bool {
    from.is_none_or(|from| from <= at) && to.is_none_or(|to| at < to)
}

/// Whoever knows labels.
pub trait Labels: Sync {
    /// All labels of an address, given in canonical form, that hold at a time (milliseconds since 1970), an
    /// authority's first, then the gravest and surest. Empty when nothing is known.
    fn labels(&self, chain: Currency, address: &str, at: i64) -> Vec<Label>;

    /// Names this state of knowledge; the same text for the same labels.
    fn version(&self) -> String;
}

/// Several indexes as one.
pub struct Together<'a>(pub Vec<&'a LabelIndex>);

impl Labels for Together<'_> {
    fn labels(&self, chain: Currency, address: &str, at: i64) -> Vec<Label> {
        let said = self.0.iter().flat_map(|index| index.labels(chain, address, at));
        together(said.collect())
    }

    fn version(&self) -> String {
        let versions: Vec<String> = self.0.iter().map(|index| index.version()).collect();
        versions.join("+")
    }
}

/// What several sources say about one address, as one answer. Only an authority's list says who is sanctioned now: others
/// may say so of an address that it holds; of any other, delisted ones above all, their label is a name
/// ([`Category::Other`]) and no more.
pub fn together(mut said: Vec<Label>) -> Vec<Label> {
    let is_sanction = |label: &Label| label.category == Category::Sanctions;
    if !said.iter().any(|label| label.authority && is_sanction(label)) {
        for label in said.iter_mut().filter(|label| is_sanction(label)) {
            label.category = Category::Other;
        }
    }
    gravest_first(&mut said);
    said
}

/// Puts an authority's labels first, then the gravest and surest.
fn gravest_first(labels: &mut [Label]) {
    labels.sort_by(|a, b| {
        (b.authority, a.category, b.confidence).cmp(&(a.authority, b.category, a.confidence))
    });
}

#[cfg(test)]
mod tests;
