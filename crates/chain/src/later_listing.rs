//! Which addresses a screening touched, and which of them a sanctions list names only later. This module reads no list
//! and stores nothing.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use crate::currency::Currency;
use crate::labels::{Label, Labels};
use crate::screen::{Detail, Request, Screen, Subject};

/// The largest number of touched addresses that are returned.
pub const MOST_ADDRESSES: usize = 1000;

/// The score of an address that an authority's list names.
pub const LISTED_SCORE: f64 = 100.0;

/// What a listed address is to a screening.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ListedRole {
    /// It is the screened address.
    Screened,
    /// The screening found it: a party of the transaction, another address of the same holder, or a party that money
    /// came from or went to.
    Touched,
}

impl ListedRole {
    /// The role's name in answers and text keys.
    pub fn as_str(self) -> &'static str {
        match self {
            ListedRole::Screened => "screened",
            ListedRole::Touched => "touched",
        }
    }
}

/// An address that a list names now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaterListing {
    /// The address, in canonical form.
    pub address: String,
    /// What it is to the screening.
    pub role: ListedRole,
    /// The list that names it; the first one by name if there are several.
    pub list: String,
    /// The listed party.
    pub party: String,
}

/// The addresses of a screening that no sanctions list names at its time, in canonical form: the screened one, those of
/// the same holder, the transaction's parties, and every traced party. At most [`MOST_ADDRESSES`].
pub fn unlisted_addresses(request: &Request<'_>, labels: &dyn Labels, screen: &Screen) -> Vec<String> {
    let own = match request.subject {
        Subject::Address(address) => Some(address),
        Subject::Transaction(_) => None,
    };
    let known: Vec<&String> = match &screen.detail {
        Detail::Address(detail) => detail
            .cluster
            .iter()
            .flat_map(|cluster| &cluster.addresses)
            .collect(),
        Detail::Transaction(detail) => {
            let parties = detail.inputs.iter().chain(&detail.outputs).flatten();
            parties.filter_map(|party| party.address.as_ref()).collect()
        }
    };
    let nodes = screen.traces.iter().flat_map(|trace| &trace.nodes);
    let traced = nodes.filter_map(|node| node.party.as_deref());
    let mut seen = HashSet::new();
    own.into_iter()
        .chain(known.into_iter().map(String::as_str))
        .chain(traced)
        .filter(|address| seen.insert(*address))
        .filter(|address| {
            let found = labels.labels(request.chain, address, request.at);
            !found.iter().any(Label::is_sanctions_listing)
        })
        .take(MOST_ADDRESSES)
        .map(str::to_owned)
        .collect()
}

/// The addresses that a list names now, out of those that no list named when they were screened.
pub fn later_listings(
    chain: Currency,
    screened: Option<&str>,
    unlisted: &[String],
    labels: impl Fn(Currency, &str) -> Vec<Label>,
) -> Vec<LaterListing> {
    let listing = |address: &String| {
        let mut found = labels(chain, address);
        found.retain(Label::is_sanctions_listing);
        let first = found
            .into_iter()
            .min_by(|a, b| (&a.source, &a.name).cmp(&(&b.source, &b.name)))?;
        Some(LaterListing {
            address: address.clone(),
            role: match screened == Some(address) {
                true => ListedRole::Screened,
                false => ListedRole::Touched,
            },
            list: first.source,
            party: first.name,
        })
    };
    unlisted.iter().filter_map(listing).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::category::Category;

    fn label(source: &str, category: Category, authority: bool) -> Label {
        Label {
            name: format!("A party of {source}"),
            category,
            source: source.to_owned(),
            confidence: 100,
            valid_from: None,
            valid_to: None,
            authority,
        }
    }

    #[test]
    fn only_an_authoritys_listing_of_a_touched_address_counts() {
        let listed = |list: &str| label(list, Category::Sanctions, true);
        let reported = label("tagpack", Category::Sanctions, false);
        let mixer = label("own", Category::Mixer, true);
        type Found = Option<(ListedRole, &'static str)>;
        let cases: [(&str, &str, Vec<Label>, Found); 6] = [
            ("nothing is known", "a", vec![], None),
            ("only a tag pack says so", "a", vec![reported.clone()], None),
            ("another category", "a", vec![mixer], None),
            (
                "the screened address",
                "a",
                vec![listed("un")],
                Some((ListedRole::Screened, "un")),
            ),
            (
                "a party",
                "b",
                vec![reported, listed("un")],
                Some((ListedRole::Touched, "un")),
            ),
            (
                "two lists",
                "b",
                vec![listed("un"), listed("eu")],
                Some((ListedRole::Touched, "eu")),
            ),
        ];
        for (what, address, labels, expected) in cases {
            let of = |_: Currency, asked: &str| match asked == address {
                true => labels.clone(),
                false => Vec::new(),
            };
            let unlisted = ["a".to_owned(), "b".to_owned()];
            let found = later_listings(Currency::Btc, Some("a"), &unlisted, of);
            let found: Vec<_> = found.iter().map(|one| (one.role, one.list.as_str())).collect();
            assert_eq!(found, expected.into_iter().collect::<Vec<_>>(), "{what}");
        }
        let nothing = later_listings(Currency::Btc, None, &[], |_, _| vec![listed("un")]);
        assert!(nothing.is_empty(), "{nothing:?}");
    }
}
