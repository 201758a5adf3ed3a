//! The lists that count for the people of an account, and what changed between those of two runs. It reads no list and
//! no row.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Lists by name, each with the digest of its content in hexadecimal.
pub type ListDigests = BTreeMap<String, String>;

/// The digest of a chosen list that is not active. Nobody is screened against it.
pub const INACTIVE: &str = "";

/// The lists that count for the people of an account and mode.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Stored", into = "Stored")]
pub struct CountingLists {
    /// The account's.
    pub account: ListDigests,
    /// Those of each Flow that chose others.
    pub flows: BTreeMap<Uuid, ListDigests>,
}

/// The stored form. While no Flow chose lists, it is that of versions in which no Flow could. Those versions refuse the
/// other form, so they close no alert by the account's lists alone.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Stored {
    OfAccount(ListDigests),
    OfFlows {
        account: ListDigests,
        flows: BTreeMap<Uuid, ListDigests>,
    },
}

impl From<Stored> for CountingLists {
    fn from(stored: Stored) -> Self {
        match stored {
            Stored::OfAccount(account) => account.into(),
            Stored::OfFlows { account, flows } => CountingLists { account, flows },
        }
    }
}

impl From<CountingLists> for Stored {
    fn from(CountingLists { account, flows }: CountingLists) -> Self {
        match flows.is_empty() {
            true => Stored::OfAccount(account),
            false => Stored::OfFlows { account, flows },
        }
    }
}

impl From<ListDigests> for CountingLists {
    fn from(account: ListDigests) -> Self {
        CountingLists {
            account,
            flows: BTreeMap::new(),
        }
    }
}

impl CountingLists {
    /// The lists that count for the people of a Flow.
    pub fn of_flow(&self, flow_id: Uuid) -> &ListDigests {
        self.flows.get(&flow_id).unwrap_or(&self.account)
    }

    /// The active lists that count for anyone.
    pub fn active(&self) -> ListDigests {
        let all = self.flows.values().chain([&self.account]).flatten();
        all.filter(|(_, digest)| *digest != INACTIVE)
            .map(|(name, digest)| (name.clone(), digest.clone()))
            .collect()
    }

    /// Of the lists in [`CountingLists::active`], the versions against which everybody for whom the list counts now was
    /// looked at in a run for the lists `done`. A list is absent if somebody was looked at against another version of
    /// it, or not at all.
    pub fn known_since(&self, done: &CountingLists) -> ListDigests {
        let known = |name: &String| -> Option<String> {
            let mut versions = BTreeSet::new();
            if self.account.contains_key(name) {
                versions.insert(done.account.get(name));
                // The people of a Flow that was deleted, or that no longer chooses, belong to the account's lists now.
                let former = done.flows.iter().filter(|(id, _)| !self.flows.contains_key(id));
                versions.extend(former.map(|(_, lists)| lists.get(name)));
            }
            let flows = self.flows.iter().filter(|(_, lists)| lists.contains_key(name));
            versions.extend(flows.map(|(id, _)| done.of_flow(*id).get(name)));
            match versions.pop_first() {
                Some(Some(version)) if versions.is_empty() && version != INACTIVE => Some(version.clone()),
                _ => None,
            }
        };
        let names = self.active().into_keys();
        names
            .filter_map(|name| known(&name).map(|version| (name, version)))
            .collect()
    }

    /// Whether these are the same lists for the same people, in whatever versions.
    pub fn has_same_names(&self, other: &CountingLists) -> bool {
        let is_same = |one: &ListDigests, other: &ListDigests| one.keys().eq(other.keys());
        self.flows.keys().eq(other.flows.keys())
            && is_same(&self.account, &other.account)
            && self
                .flows
                .iter()
                .all(|(id, lists)| is_same(lists, other.of_flow(*id)))
    }

    /// What is still known of a run for these lists after another run was abandoned, which may have opened and closed
    /// alerts by its own lists: nothing, if other lists counted for anybody in it.
    pub(super) fn after_abandoned(self, abandoned: &CountingLists) -> CountingLists {
        if !self.has_same_names(abandoned) {
            return CountingLists::default();
        }
        let same = |mut own: ListDigests, other: &ListDigests| -> ListDigests {
            own.retain(|name, digest| other.get(name) == Some(digest));
            own
        };
        CountingLists {
            account: same(self.account, &abandoned.account),
            flows: self
                .flows
                .into_iter()
                .map(|(id, lists)| (id, same(lists, abandoned.of_flow(id))))
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `a1 b1` are the account's lists, each a letter with its version; `1: a2` are those of the first Flow. The version
    /// `-` is that of an inactive list.
    fn lists(text: &str) -> CountingLists {
        let digests = |text: &str| -> ListDigests {
            let each = text.split_whitespace().map(|list| list.split_at(1));
            each.map(|(name, version)| (name.to_owned(), version.trim_matches('-').to_owned()))
                .collect()
        };
        let mut parts = text.split(';');
        let account = digests(parts.next().expect("the account's lists"));
        let flows = parts.map(|part| {
            let (number, lists) = part.split_once(':').expect("a Flow's number");
            let number: u128 = number.trim().parse().expect("a number");
            (Uuid::from_u128(number), digests(lists))
        });
        CountingLists {
            account,
            flows: flows.collect(),
        }
    }

    #[test]
    fn a_list_is_known_if_everybody_for_whom_it_counts_was_looked_at_against_one_version() {
        for (what, done, now, known) in [
            ("nothing changed", "a1", "a1", "a1"),
            ("another version", "a1", "a2", "a1"),
            ("the first run", "", "a1", ""),
            ("a further list", "a1", "a1 b1", "a1"),
            ("a Flow's lists alone changed", "a1; 1: b1", "a1; 1: b2", "a1 b1"),
            ("both use the list", "a1; 1: a1", "a2; 1: a2", "a1"),
            ("a Flow chooses another list", "a1", "a1; 1: b1", "a1"),
            (
                "a Flow chooses one of the account's lists",
                "a1 b1",
                "a1 b1; 1: b1",
                "a1 b1",
            ),
            (
                "a Flow adds a list that the account uses",
                "a1 b1; 1: b1",
                "a1 b1; 1: a1 b1",
                "b1",
            ),
            (
                "a Flow adds a list that another Flow uses",
                "c1; 1: a1; 2: b1",
                "c1; 1: a1 b1; 2: b1",
                "a1 c1",
            ),
            ("a Flow removes a list", "a1; 1: a1 b1", "a1; 1: b1", "a1 b1"),
            (
                "the account adds a Flow's list",
                "a1; 1: b1",
                "a1 b1; 1: b1",
                "a1",
            ),
            (
                "a Flow returns to the account's lists",
                "a1 b1; 1: b1",
                "a1 b1",
                "b1",
            ),
            ("a Flow was deleted", "a1; 1: b1", "a1", ""),
            (
                "a Flow was deleted that used all of them",
                "a1; 1: a1 b1",
                "a1",
                "a1",
            ),
            ("two versions were known", "a1; 1: a2", "a3; 1: a3", ""),
            ("an inactive list comes back", "a1; 1: b-", "a1; 1: b1", "a1"),
            ("a list becomes inactive", "a1; 1: a1 b1", "a1; 1: a1 b-", "a1"),
            ("the account's choice is empty", "; 1: b1", "b1; 1: b1", ""),
        ] {
            let found = lists(now).known_since(&lists(done));
            assert_eq!(found, lists(known).account, "{what}");
        }
    }

    #[test]
    fn an_abandoned_run_leaves_what_it_did_not_touch() {
        for (what, done, abandoned, left) in [
            ("another version", "a1 b1", "a2 b1", "b1"),
            ("a further list", "a1", "a1 b1", ""),
            ("a removed list", "a1 b1", "a1", ""),
            (
                "a Flow's other version",
                "a1; 1: b1 c1",
                "a1; 1: b2 c1",
                "a1; 1: c1",
            ),
            ("a Flow's other choice", "a1; 1: b1", "a1; 1: c1", ""),
            ("a Flow that chose for the first time", "a1", "a1; 1: b1", ""),
            ("a Flow that chose no longer", "a1; 1: b1", "a1", ""),
        ] {
            let found = lists(done).after_abandoned(&lists(abandoned));
            assert_eq!(found, lists(left), "{what}");
        }
    }

    #[test]
    fn names_are_compared_for_the_account_and_each_flow() {
        let own = lists("a1; 1: b1");
        for (other, is_same) in [
            ("a2; 1: b2", true),
            ("a1", false),
            ("a1; 2: b1", false),
            ("a1; 1: b1 c1", false),
            ("b1; 1: b1", false),
        ] {
            assert_eq!(own.has_same_names(&lists(other)), is_same, "{other}");
        }
    }

    #[test]
    fn the_stored_form_is_the_earlier_one_while_no_flow_chose() {
        let of_account = lists("a1");
        assert_eq!(serde_json::json!(of_account).to_string(), r#"{"a":"1"}"#);
        for kept in [lists(""), of_account, lists("a1; 1: b-"), lists("; 1: b1")] {
            let text = serde_json::json!(kept).to_string();
            assert_eq!(
                serde_json::from_str::<CountingLists>(&text).unwrap(),
                kept,
                "{text}"
            );
        }
    }
}
