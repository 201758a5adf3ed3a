//! The graph as a [`Source`].

use std::sync::Arc;

use super::entries::{number_of, party_entry, party_key, spend_key};
use super::record::{Damaged, Record, Visit};
use super::{Graph, GraphError, RECENT};
use crate::source::{History, Movement, Position, Source, SourceError, Tip, Transaction, TxId, Window};

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
        Ok(self.visits(party, window, |_| true)?)
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

    fn spender(&self, id: &str, output: u32) -> Result<Option<Arc<Transaction>>, SourceError> {
        let number = self.number(id)?.ok_or(SourceError::NotFound)?;
        Ok(self.spender_of(number, output)?.map(Arc::new))
    }
}

impl Graph {
    /// The number of the first transaction after a place.
    fn end_of(&self, up_to: Option<Position>) -> Result<u64, GraphError> {
        let Some(up_to) = up_to else { return Ok(u64::MAX) };
        match self.block(up_to.height)? {
            Some(block) => Ok(block.first + (u64::from(up_to.index) + 1).min(block.count)),
            // Above the tip everything is wanted; below the first block nothing is.
            None if self.newest().is_some_and(|tip| up_to.height > tip.height) => Ok(u64::MAX),
            None => Ok(0),
        }
    }

    /// Those of a history's transactions that are wanted, which alone are read.
    fn visits(
        &self,
        party: &str,
        window: Window,
        wanted: impl Fn(&Visit) -> bool,
    ) -> Result<History, GraphError> {
        let party = party_key(party);
        let range = party_entry(&party, 0)..party_entry(&party, self.end_of(window.up_to)?);
        let mut history = History {
            complete: true,
            ..History::default()
        };
        let mut latest = None;
        for (place, entry) in self.visits.range(range).rev().enumerate() {
            let (key, value) = entry.into_inner()?;
            let visit = Visit::read(&value)?;
            if place == window.limit {
                history.complete = false;
                history.totals = latest.or(Some(visit)).map(|visit: Visit| visit.totals);
                break;
            }
            if wanted(&visit) {
                let number = number_of(key.get(16..).unwrap_or_default())?;
                let transaction = self.record(number)?.transaction;
                history.transactions.push(Arc::new(transaction));
            }
            // The latest counts them all.
            latest.get_or_insert(visit);
        }
        history.transactions.reverse();
        Ok(history)
    }

    /// The id of a numbered transaction.
    fn id(&self, number: u64) -> Result<TxId, GraphError> {
        let record = self.records.get(number.to_be_bytes())?.ok_or(Damaged)?;
        Ok(Record::read_id(&record)?)
    }

    fn spends_of(&self, number: u64) -> Result<Vec<Option<TxId>>, GraphError> {
        let Movement::Outputs { outputs, .. } = self.record(number)?.transaction.movement else {
            return Ok(Vec::new());
        };
        let mut spends = vec![None; outputs.len()];
        for entry in self.spends.prefix(number.to_be_bytes()) {
            let (key, spender) = entry.into_inner()?;
            let output = key
                .get(8..)
                .and_then(|output| output.try_into().ok())
                .map(u32::from_be_bytes);
            if let Some(spend) = output.and_then(|output| spends.get_mut(output as usize)) {
                *spend = Some(self.id(number_of(&spender)?)?);
            }
        }
        Ok(spends)
    }

    fn spender_of(&self, number: u64, output: u32) -> Result<Option<Transaction>, GraphError> {
        match self.spends.get(spend_key(number, output))? {
            None => Ok(None),
            Some(spender) => Ok(Some(self.record(number_of(&spender)?)?.transaction)),
        }
    }
}
