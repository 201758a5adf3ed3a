//! The sanctions lists that the Flows of an account chose, also those of deleted Flows. It screens nobody.

use std::collections::BTreeMap;

use store::flows::{self, ScreeningSettings};
use store::{Conn, Scope};
use uuid::Uuid;

use crate::flow_content::chosen_lists;

/// The lists that the Flows of an account chose.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FlowChoices {
    /// The lists of each Flow that chose some; `None`: the choice cannot be read.
    pub(crate) lists: BTreeMap<Uuid, Option<Vec<String>>>,
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

    fn add(&mut self, flow: &ScreeningSettings) {
        match chosen_lists(&flow.settings) {
            Some(lists) if lists.is_empty() => {}
            lists => {
                self.lists.insert(flow.id, lists);
            }
        }
    }
}
