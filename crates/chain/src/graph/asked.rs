//! The graph as a [`Source`].

use std::sync::Arc;

use super::{Graph, GraphError, RECENT};
use crate::source::{History, Source, SourceError, Tip, Transaction, TxId, Window};

impl From<GraphError> for SourceError {
    fn from(error: GraphError) -> SourceError {
        match error {
            GraphError::Damaged(_) => SourceError::Nonsense(error.to_string()),
            _ => SourceError::Unreachable(error.to_string()),
        }
    }
}

impl Source for Graph {
    fn name(&self) -> &str {
        "graph"
    }

    fn tip(&self) -> Result<Tip, SourceError> {
        self.newest().ok_or(SourceError::NotFound)
    }

    fn height_at(&self, time: i64) -> Result<u64, SourceError> {
        self.height_at_time(time)?.ok_or(SourceError::NotFound)
    }

    fn is_whole(&self) -> bool {
        let now = jiff::Timestamp::now().as_millisecond();
        let recent = |tip: &Tip| tip.time.is_some_and(|time| time.saturating_add(RECENT) >= now);
        self.state().first_height == 0 && self.newest().as_ref().is_some_and(recent)
    }

    fn history(&self, party: &str, window: Window) -> Result<History, SourceError> {
        Ok(self.history_of(party, window)?)
    }

    fn together(&self, party: &str, window: Window) -> Result<History, SourceError> {
        Ok(self.visits(party, window, |visit| visit.together)?)
    }

    fn transaction(&self, id: &str) -> Result<Arc<Transaction>, SourceError> {
        let number = self.number(id)?.ok_or(SourceError::NotFound)?;
        Ok(Arc::new(self.record(number)?.transaction))
    }

    fn spends(&self, id: &str) -> Result<Vec<Option<TxId>>, SourceError> {
        let number = self.number(id)?.ok_or(SourceError::NotFound)?;
        Ok(self.spends_of(number)?)
    }

    fn spender(&self, id: &str, output: u32) -> Result<Option<TxId>, SourceError> {
        let number = self.number(id)?.ok_or(SourceError::NotFound)?;
        Ok(self.spender_of(number, output)?)
    }
}
