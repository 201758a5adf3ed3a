//! Implements [`Source`] for the graph.

use std::sync::Arc;

use chain::source::{
    History, Movement, Position, Source, SourceError, Tip, Totals, Transaction, TxId, Window,
};
use fjall::Keyspace;

use super::entries::{PartyKey, number_of, party_entry, party_key, spend_key};
use super::record::{Damaged, Record, Visit};
use super::{Graph, GraphError, RECENT};

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
        self.state().from_first && self.newest().as_ref().is_some_and(recent)
    }

    fn history(&self, party: &str, window: Window) -> Result<History, SourceError> {
        let (key, end) = (party_key(party), self.end_of(window.up_to)?);
        let mut coins = self.visited(&self.visits, &key, end, window.limit, |_| true)?;
        let room = window.limit - coins.transactions.len();
        let tokens = self.visited(&self.tokens, &key, end, room, |_| true)?;
        let unseen = tokens.beyond.map(|number| self.record(number)).transpose()?;
        let newest = newest(coins.newest.take(), tokens.newest);
        let mut history = History {
            tokens_unseen_to: unseen.and_then(|record| Some(record.transaction.position?.height)),
            ..coins.history()
        };
        if !tokens.transactions.is_empty() {
            history.transactions.extend(tokens.transactions);
            history.transactions.sort_by(|a, b| a.order().cmp(&b.order()));
        }
        let cut = !history.complete || history.tokens_unseen_to.is_some();
        history.totals = newest.filter(|_| cut).map(|(_, totals)| totals);
        Ok(history)
    }

    fn trace_history(&self, party: &str, window: Window) -> Result<History, SourceError> {
        let (key, end) = (party_key(party), self.end_of(window.up_to)?);
        let visited = self.visited(&self.visits, &key, end, window.limit, |_| true)?;
        Ok(visited.history())
    }

    fn joint_spends(&self, party: &str, window: Window) -> Result<History, SourceError> {
        let (key, end) = (party_key(party), self.end_of(window.up_to)?);
        let visited = self.visited(&self.visits, &key, end, window.limit, |visit| visit.together)?;
        Ok(visited.history())
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

/// A part of a party's visits.
#[derive(Default)]
struct Visited {
    /// In order from the newest to the oldest.
    transactions: Vec<Arc<Transaction>>,
    /// The number of the newest visit, and the party's counters after it.
    newest: Option<(u64, Totals)>,
    /// The number of the newest transaction that the limit left out.
    beyond: Option<u64>,
}

impl Visited {
    fn history(mut self) -> History {
        self.transactions.reverse();
        History {
            transactions: self.transactions,
            complete: self.beyond.is_none(),
            totals: self
                .newest
                .filter(|_| self.beyond.is_some())
                .map(|(_, totals)| totals),
            tokens_unseen_to: None,
        }
    }
}

/// The newer of two indexes' newest visits.
fn newest(coins: Option<(u64, Totals)>, tokens: Option<(u64, Totals)>) -> Option<(u64, Totals)> {
    coins.into_iter().chain(tokens).max_by_key(|(number, _)| *number)
}

impl Graph {
    /// The number of the first transaction after a position.
    fn end_of(&self, up_to: Option<Position>) -> Result<u64, GraphError> {
        let Some(up_to) = up_to else { return Ok(u64::MAX) };
        match self.block(up_to.height)? {
            Some(block) => Ok(block.first + (u64::from(up_to.index) + 1).min(block.count)),
            // Above the tip the window includes everything; below the first block it includes nothing.
            None if self.newest().is_some_and(|tip| up_to.height > tip.height) => Ok(u64::MAX),
            None => Ok(0),
        }
    }

    /// A party's newest visits in an index, before a transaction number and up to a limit. Only the records
    /// of the visits that pass a test are read.
    fn visited(
        &self,
        visits: &Keyspace,
        party: &PartyKey,
        end: u64,
        limit: usize,
        wanted: impl Fn(&Visit) -> bool,
    ) -> Result<Visited, GraphError> {
        let range = party_entry(party, 0)..party_entry(party, end);
        let mut visited = Visited::default();
        for (place, entry) in visits.range(range).rev().enumerate() {
            let (key, value) = entry.into_inner()?;
            let number = number_of(key.get(16..).unwrap_or_default())?;
            let visit = Visit::read(&value)?;
            if place < limit && wanted(&visit) {
                let transaction = self.record(number)?.transaction;
                visited.transactions.push(Arc::new(transaction));
            }
            visited.newest.get_or_insert((number, visit.totals));
            if place >= limit {
                visited.beyond = Some(number);
                break;
            }
        }
        Ok(visited)
    }

    /// A party's counters now; `None` for a party without visits.
    pub(super) fn totals(&self, party: &PartyKey) -> Result<Option<Totals>, GraphError> {
        if self.parties.get(party)?.is_none() {
            return Ok(None);
        }
        let [coins, tokens] =
            [&self.visits, &self.tokens].map(|visits| self.visited(visits, party, u64::MAX, 0, |_| false));
        Ok(newest(coins?.newest, tokens?.newest).map(|(_, totals)| totals))
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
