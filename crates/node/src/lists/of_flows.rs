//! The lists that count for the approved people of an account: those of the account, and those of each Flow that
//! chose others. It screens nobody.
//!
//! An attempt is refused while a chosen list is not active. People who are approved already are screened against the
//! others meanwhile, so that one missing list does not leave them unscreened.

use std::collections::{BTreeMap, BTreeSet};

use store::rescreenings::{CountingLists, INACTIVE, ListDigests};
use uuid::Uuid;

use super::{ChosenLists, Lists, ListsUnavailable, MerchantLists};
use crate::settings::MerchantSettings;

/// The lists that count for the people of one choice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlowLists {
    /// The active ones.
    pub names: BTreeSet<String>,
    /// Chosen ones that are not active.
    pub inactive: BTreeSet<String>,
}

impl FlowLists {
    /// Whether a list counts, or may count: if no list can be used, it is unknown which ones count.
    pub fn may_count(&self, list: &str) -> bool {
        self.names.is_empty() || self.names.contains(list) || self.inactive.contains(list)
    }
}

impl From<ChosenLists> for FlowLists {
    fn from(chosen: ChosenLists) -> Self {
        FlowLists {
            names: chosen.names.into_iter().collect(),
            inactive: chosen.inactive.into_iter().collect(),
        }
    }
}

/// The lists that count for the approved people of an account and mode.
pub struct PeopleLists {
    /// The lists that count for anyone.
    pub all: MerchantLists,
    account: FlowLists,
    flows: BTreeMap<Uuid, FlowLists>,
}

impl PeopleLists {
    /// The lists that count for the people of a Flow.
    pub fn of_flow(&self, flow_id: Uuid) -> &FlowLists {
        self.flows.get(&flow_id).unwrap_or(&self.account)
    }

    /// Whether a list counts, or may count, for anyone.
    pub fn may_count(&self, list: &str) -> bool {
        let mut all = self.flows.values().chain([&self.account]);
        all.any(|lists| lists.may_count(list))
    }

    /// The lists with the digests of their contents.
    pub fn counting(&self) -> CountingLists {
        let digests = |lists: &FlowLists| -> ListDigests {
            let names: Vec<String> = lists.names.iter().cloned().collect();
            let inactive = lists
                .inactive
                .iter()
                .map(|name| (name.clone(), INACTIVE.to_owned()));
            self.all.digests_of(&names).into_iter().chain(inactive).collect()
        };
        CountingLists {
            account: digests(&self.account),
            flows: self
                .flows
                .iter()
                .map(|(flow_id, lists)| (*flow_id, digests(lists)))
                .collect(),
        }
    }
}

impl Lists {
    /// The lists that count for the approved people of an account. `choices` are those of the Flows that chose lists of
    /// their own; `None` is a choice that cannot be read, for which every list of the others counts.
    ///
    /// # Errors
    /// Why nobody can be screened.
    pub fn for_people(
        &self,
        sandbox: bool,
        settings: &MerchantSettings,
        choices: &BTreeMap<Uuid, Option<Vec<String>>>,
    ) -> Result<PeopleLists, ListsUnavailable> {
        let loaded = self.loaded()?;
        let of = |choice: &[String]| FlowLists::from(self.chosen(&loaded, sandbox, choice));
        let account = of(&settings.screening_lists);
        let readable = choices
            .iter()
            .filter_map(|(flow_id, choice)| Some((*flow_id, of(choice.as_deref()?))));
        let mut flows: BTreeMap<Uuid, FlowLists> = readable.collect();
        let mut all = account.clone();
        for lists in flows.values() {
            all.names.extend(lists.names.iter().cloned());
            all.inactive.extend(lists.inactive.iter().cloned());
        }
        if all.names.is_empty() {
            // Nobody can be verified either. This is the reason of an account whose Flows chose nothing.
            return Err(match self.of_merchant(loaded, sandbox, settings) {
                Err(reason) => reason,
                Ok(_) => ListsUnavailable::None,
            });
        }
        let unreadable = choices.iter().filter(|(_, choice)| choice.is_none());
        flows.extend(unreadable.map(|(flow_id, _)| (*flow_id, all.clone())));
        Ok(PeopleLists {
            all: loaded.counting(all.names.into_iter().collect()),
            account,
            flows,
        })
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use sanctions::import::{Source, import};

    use super::*;
    use crate::config::DataConfig;

    #[derive(Parser)]
    struct Arguments {
        #[command(flatten)]
        data: DataConfig,
    }

    /// Lists of these names in a fresh folder.
    fn lists(names: &[&str]) -> (tempfile::TempDir, Lists) {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().to_str().unwrap();
        let Arguments { data } = Arguments::parse_from(["bonafide", "--data", folder]);
        for name in names {
            let entry = r#"{"id":"x-1","schema":"Person","properties":{"name":["Zoltar Quenthabar"]}}"#;
            let source = Source::new(format!("{name}.json"), entry.as_bytes());
            let (list, _) = import(vec![source], None).unwrap();
            data.list_store().unwrap().activate(&list).unwrap();
        }
        (dir, Lists::open(&data).unwrap())
    }

    #[test]
    fn each_flow_has_its_own_lists_and_the_others_those_of_the_account() {
        let (_dir, lists) = lists(&["alpha", "beta", "gamma"]);
        let names = |all: &[&str]| -> Vec<String> { all.iter().map(|name| (*name).to_owned()).collect() };
        let settings = MerchantSettings {
            screening_lists: names(&["alpha"]),
            ..MerchantSettings::default()
        };
        let [chosen, partly, unreadable, other] = [1, 2, 3, 4].map(Uuid::from_u128);
        let choices = BTreeMap::from([
            (chosen, Some(names(&["beta"]))),
            (partly, Some(names(&["beta", "missing"]))),
            (unreadable, None),
        ]);
        let people = lists.for_people(false, &settings, &choices).unwrap();
        assert_eq!(people.all.names, ["alpha", "beta"]);
        for (flow, expected, may_count) in [
            (chosen, &["beta"][..], [false, true, false, false]),
            (partly, &["beta"], [false, true, false, true]),
            (unreadable, &["alpha", "beta"], [true, true, false, true]),
            (other, &["alpha"], [true, false, false, false]),
        ] {
            let own = people.of_flow(flow);
            assert_eq!(own.names, names(expected).into_iter().collect(), "{flow}");
            let found = ["alpha", "beta", "gamma", "missing"].map(|list| own.may_count(list));
            assert_eq!(found, may_count, "{flow}");
        }
        let inactive = &people.counting().flows[&partly]["missing"];
        assert_eq!(inactive, INACTIVE);
        assert!(people.may_count("missing") && !people.may_count("gamma"));
    }

    #[test]
    fn an_attempt_needs_every_chosen_list_and_approved_people_one() {
        let (_dir, lists) = lists(&["alpha"]);
        let of_account = MerchantSettings::default();
        let flow = Uuid::from_u128(1);
        for (choice, attempt, people) in [
            (&[][..], true, true),
            (&["alpha"], true, true),
            (&["alpha", "missing"], false, true),
        ] {
            let choice: Vec<String> = choice.iter().map(|name| (*name).to_owned()).collect();
            let of_flow = of_account.clone().for_flow(&choice);
            let found = lists.for_merchant(false, &of_flow).map(|lists| lists.names);
            assert_eq!(found.is_ok(), attempt, "{choice:?}: {found:?}");
            let choices = BTreeMap::from([(flow, Some(choice.clone()))]);
            let found = lists.for_people(false, &of_account, &choices);
            assert_eq!(found.is_ok(), people, "{choice:?}");
        }
        // If nothing can be used, nobody is screened, and it is unknown which lists count.
        let missing = of_account.for_flow(&["missing".to_owned()]);
        let refused = lists.for_merchant(false, &missing).map(|lists| lists.names);
        let reason = "the chosen list missing is not active".to_owned();
        assert_eq!(refused, Err(ListsUnavailable::Unusable(reason.clone())));
        let refused = lists.for_people(false, &missing, &BTreeMap::new());
        assert_eq!(refused.err(), Some(ListsUnavailable::Unusable(reason)));
        let choices = BTreeMap::from([(flow, Some(vec!["alpha".to_owned()]))]);
        let people = lists.for_people(false, &missing, &choices).unwrap();
        assert!(people.of_flow(Uuid::nil()).may_count("beta") && people.may_count("beta"));
    }
}
