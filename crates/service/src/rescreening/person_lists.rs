//! Which lists count for a person: those of each Flow through which the person is approved. It searches nothing.

use std::collections::BTreeSet;

use node::lists::PeopleLists;
use uuid::Uuid;

use crate::flow_choices::FlowChoices;

/// The lists that count for each person of an account and mode.
pub(super) struct PersonLists {
    /// By Flow.
    pub(super) lists: PeopleLists,
    /// The choices that `lists` follows.
    pub(super) choices: FlowChoices,
}

impl PersonLists {
    /// The lists against which a person is searched who is approved through these Flows. Empty: none. Whether a Flow's
    /// people are screened again is decided when a hit is recorded.
    pub(super) fn searched(&self, flows: &BTreeSet<Uuid>) -> Vec<String> {
        let names: BTreeSet<&String> = flows
            .iter()
            .flat_map(|flow| &self.lists.of_flow(*flow).names)
            .collect();
        names.into_iter().cloned().collect()
    }

    /// Whether a list counts, or may count, for a person who is approved through these Flows.
    pub(super) fn may_count(&self, flows: &BTreeSet<Uuid>, list: &str) -> bool {
        flows.is_empty() || flows.iter().any(|flow| self.lists.of_flow(*flow).may_count(list))
    }
}
