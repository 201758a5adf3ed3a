//! What the Flows of an account chose about the screening of their people. It screens nobody.

use std::collections::{BTreeMap, BTreeSet};

use store::flows::{self, ScreeningSettings};
use store::{Conn, Scope};
use uuid::Uuid;

use crate::flow_content::read_screening;

/// What the Flows of an account chose about the screening of their people.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FlowChoices {
    /// The lists of each Flow that chose some; `None`: the choice cannot be read.
    pub(crate) lists: BTreeMap<Uuid, Option<Vec<String>>>,
    /// The Flows whose people are not screened again.
    unwatched: BTreeSet<Uuid>,
}

impl FlowChoices {
    /// Those of one account and mode.
    pub(crate) async fn of_account(conn: &mut Conn, scope: Scope) -> Result<FlowChoices, store::Error> {
        let mut choices = FlowChoices::default();
        for flow in flows::screening_settings_of(conn, scope).await? {
            choices.add(&flow);
        }
        Ok(choices)
    }

    /// Those of every account and mode in which a Flow chose something.
    pub(crate) async fn of_all_accounts(
        conn: &mut Conn,
    ) -> Result<BTreeMap<(Uuid, bool), FlowChoices>, store::Error> {
        let mut all: BTreeMap<(Uuid, bool), FlowChoices> = BTreeMap::new();
        for flow in flows::screening_settings(conn).await? {
            let of_account = all.entry((flow.merchant_id, flow.sandbox)).or_default();
            of_account.add(&flow);
        }
        Ok(all)
    }

    /// Whether any Flow chose lists.
    pub(crate) fn has_lists(&self) -> bool {
        !self.lists.is_empty()
    }

    /// Whether the people of a Flow are screened again.
    pub(crate) fn is_ongoing(&self, flow_id: Uuid) -> bool {
        !self.unwatched.contains(&flow_id)
    }

    fn add(&mut self, flow: &ScreeningSettings) {
        let choice = read_screening(&flow.settings);
        match choice.lists {
            Some(lists) if lists.is_empty() => {}
            lists => {
                self.lists.insert(flow.id, lists);
            }
        }
        if !choice.is_ongoing {
            self.unwatched.insert(flow.id);
        }
    }
}
