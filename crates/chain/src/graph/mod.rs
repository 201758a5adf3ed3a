//! The embedded store of a chain's transactions: grown block by block, rolled back exactly, asked as a
//! [`Source`](crate::source::Source).
//!
//! Transactions are numbered as they come and kept as self-contained records under their numbers, so the store only
//! appends; three indexes lead there: by id, by party and by spent output. What a trace asks costs one search in a
//! sorted tree, so it grows with the logarithm of the history. A block is one atomic batch: a crash leaves whole blocks.
//! One process writes; the folder is locked.

mod asked;
mod entries;
mod record;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::{Arc, Mutex};

use fjall::{Database, Keyspace, KeyspaceCreateOptions};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};

use self::entries::{Entries, PartyKey, id_key, number_of, party_entry, party_key, sides, spend_key};
pub use self::record::Damaged;
use self::record::{Record, Visit};
use crate::address::Address;
use crate::amount::Amount;
use crate::cluster;
use crate::currency::Currency;
use crate::ingest::block::{RawBlock, hash_text};
use crate::source::{
    History, Input, Movement, Output, Party, Position, Tip, Totals, Transaction, Transfer, TxId, Window,
};

/// Unspent outputs, and parties' counters, kept in memory while blocks come in; the store answers for the rest.
const CACHED: usize = 2_000_000;
/// Bytes of the store's blocks that are kept in memory, besides what the operating system keeps.
const CACHE: u64 = 128 << 20;
/// Bytes of each index that wait in memory to be written: with more of them, each is found more slowly.
const MEMTABLE: u64 = 32 << 20;
/// A graph whose tip is older lacks what happened since (milliseconds).
const RECENT: i64 = 24 * 60 * 60 * 1000;
/// The layout of the store; another one is refused.
const LAYOUT: &str = "2";

/// Why the graph could not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum GraphError {
    /// Another process has the folder open.
    #[error("another process holds it")]
    Held,
    /// The store beneath failed.
    #[error("the graph's store: {0}")]
    Store(#[source] fjall::Error),
    /// A record is damaged.
    #[error(transparent)]
    Damaged(#[from] Damaged),
    /// The folder holds another chain, or another layout.
    #[error("the folder holds {found}, not {wanted}")]
    Other {
        /// What it holds.
        found: String,
        /// What was asked for.
        wanted: String,
    },
    /// A block that does not follow the tip.
    #[error("the block does not follow the tip: roll back first")]
    NotNext,
    /// More outputs, inputs or blocks than can be numbered.
    #[error("a block too large to be numbered")]
    TooLarge,
}

impl From<fjall::Error> for GraphError {
    fn from(error: fjall::Error) -> GraphError {
        match error {
            fjall::Error::Locked => GraphError::Held,
            error => GraphError::Store(error),
        }
    }
}

/// A block as it comes in: its inputs are not yet resolved.
#[derive(Clone, Debug, PartialEq)]
pub struct NewBlock {
    /// Its hash.
    pub hash: String,
    /// The hash of the block before.
    pub previous: String,
    /// Its height.
    pub height: u64,
    /// Its time, milliseconds since 1970.
    pub time: Option<i64>,
    /// Its transactions, in order.
    pub transactions: Vec<NewTransaction>,
}

/// A transaction as it comes in.
#[derive(Clone, Debug, PartialEq)]
pub struct NewTransaction {
    /// Its id.
    pub id: TxId,
    /// What it moves.
    pub movement: NewMovement,
    /// What was paid for it, on account chains.
    pub fee: Option<Amount>,
    /// Who paid that.
    pub fee_payer: Option<Arc<str>>,
    /// What only some chains say.
    pub extra: serde_json::Map<String, serde_json::Value>,
}

/// What a transaction moves.
#[derive(Clone, Debug, PartialEq)]
pub enum NewMovement {
    /// Spent and made outputs; no inputs: newly mined.
    Outputs(Vec<(TxId, u32)>, Vec<Output>),
    /// The same, with what the node says that each input was worth: it counts where the graph does not know the output.
    Told(Vec<Input>, Vec<Output>),
    /// Transfers between accounts.
    Transfers(Vec<Transfer>),
}

impl NewBlock {
    /// A raw block at a height, its scripts read as addresses.
    pub fn of_raw(currency: Currency, height: u64, block: &RawBlock<'_>) -> NewBlock {
        let transactions = block
            .transactions
            .iter()
            .map(|raw| {
                let inputs = if raw.is_coinbase() {
                    Vec::new()
                } else {
                    raw.inputs
                        .iter()
                        .map(|input| (hash_text(input.transaction).into(), input.output))
                        .collect()
                };
                let outputs = raw
                    .outputs
                    .iter()
                    .map(|output| Output {
                        party: Address::of_script(currency, output.script)
                            .map(|address| address.canonical.into()),
                        amount: Amount::from(output.amount),
                    })
                    .collect();
                NewTransaction {
                    id: hash_text(&raw.id).into(),
                    movement: NewMovement::Outputs(inputs, outputs),
                    fee: None,
                    fee_payer: None,
                    extra: serde_json::Map::new(),
                }
            })
            .collect();
        NewBlock {
            hash: hash_text(&block.header.hash),
            previous: hash_text(&block.header.previous),
            height,
            time: Some(i64::from(block.header.time) * 1000),
            transactions,
        }
    }
}

/// A block as the graph remembers it.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Block {
    hash: String,
    previous: String,
    time: Option<i64>,
    first: u64,
    count: u64,
}

/// What the graph holds.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// The chain.
    pub currency: Currency,
    /// Its newest block.
    pub tip: Option<Tip>,
    /// Blocks held.
    pub blocks: u64,
    /// Transactions held.
    pub transactions: u64,
    /// Bytes on disk.
    pub disk_bytes: u64,
}

/// What changes with every block.
struct State {
    tip: Option<(u64, Block)>,
    first_height: u64,
    next: u64,
    outputs: FxHashMap<(TxId, u32), (u64, Output)>,
    totals: FxHashMap<PartyKey, Totals>,
}

impl State {
    fn forget(&mut self) {
        self.outputs = FxHashMap::default();
        self.totals = FxHashMap::default();
    }
}

/// A chain's transactions.
pub struct Graph {
    currency: Currency,
    database: Database,
    /// Height → [`Block`].
    blocks: Keyspace,
    /// Number → [`Record`].
    records: Keyspace,
    /// Id → number.
    ids: Keyspace,
    /// Party and number → [`Visit`]. A party's key alone → nothing, once it has any: a filter then tells who is new.
    parties: Keyspace,
    /// Number and output → number of the spender.
    spends: Keyspace,
    state: Mutex<State>,
}

impl Graph {
    /// Opens a folder, or makes it.
    ///
    /// # Errors
    /// When it cannot be opened or holds another chain.
    pub fn open(folder: &Path, currency: Currency) -> Result<Graph, GraphError> {
        let database = Database::builder(folder).cache_size(CACHE).open()?;
        let keyspace = |name| {
            database.keyspace(name, || {
                KeyspaceCreateOptions::default().max_memtable_size(MEMTABLE)
            })
        };
        let meta = keyspace("meta")?;
        let wanted = format!("{currency}, layout {LAYOUT}");
        match meta.get("is")? {
            None => meta.insert("is", wanted.as_bytes())?,
            Some(found) if *found == *wanted.as_bytes() => {}
            Some(found) => {
                return Err(GraphError::Other {
                    found: String::from_utf8_lossy(&found).into_owned(),
                    wanted,
                });
            }
        }
        let blocks = keyspace("blocks")?;
        let height = |entry: Option<fjall::Guard>| -> Result<Option<(u64, Block)>, GraphError> {
            let Some(entry) = entry else { return Ok(None) };
            let (key, value) = entry.into_inner()?;
            Ok(Some((
                number_of(&key)?,
                serde_json::from_slice(&value).map_err(|_| Damaged)?,
            )))
        };
        let tip = height(blocks.last_key_value())?;
        let first_height = height(blocks.first_key_value())?.map_or(0, |(height, _)| height);
        let next = tip.as_ref().map_or(0, |(_, block)| block.first + block.count);
        let state = State {
            tip,
            first_height,
            next,
            outputs: FxHashMap::default(),
            totals: FxHashMap::default(),
        };
        Ok(Graph {
            currency,
            records: keyspace("records")?,
            ids: keyspace("ids")?,
            parties: keyspace("parties")?,
            spends: keyspace("spends")?,
            blocks,
            database,
            state: Mutex::new(state),
        })
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// The newest block; `None` when empty.
    pub fn newest(&self) -> Option<Tip> {
        self.state().tip.as_ref().map(|(height, block)| Tip {
            height: *height,
            hash: block.hash.clone(),
            time: block.time,
        })
    }

    /// The hash of the block at a height.
    ///
    /// # Errors
    /// When the store fails.
    pub fn hash_at(&self, height: u64) -> Result<Option<String>, GraphError> {
        Ok(self.block(height)?.map(|block| block.hash))
    }

    /// What the graph holds.
    ///
    /// # Errors
    /// When the disk cannot be asked.
    pub fn status(&self) -> Result<Status, GraphError> {
        let tip = self.newest();
        let state = self.state();
        let blocks = tip.as_ref().map_or(0, |tip| tip.height - state.first_height + 1);
        Ok(Status {
            currency: self.currency,
            tip,
            blocks,
            transactions: state.next,
            disk_bytes: self.database.disk_space()?,
        })
    }

    /// Makes everything appended so far survive a power failure.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn persist(&self) -> Result<(), GraphError> {
        Ok(self.database.persist(fjall::PersistMode::SyncAll)?)
    }

    /// The newest block at a time, as far as blocks' times grow with their heights (they may go back by two hours).
    fn height_at_time(&self, time: i64) -> Result<Option<u64>, GraphError> {
        let Some(tip) = self.newest() else { return Ok(None) };
        let (mut from, mut to) = (self.state().first_height, tip.height + 1);
        let first = from;
        while from < to {
            let middle = u64::midpoint(from, to);
            let made = self.block(middle)?.and_then(|block| block.time);
            if made.is_some_and(|made| made <= time) {
                from = middle + 1;
            } else {
                to = middle;
            }
        }
        Ok(from.checked_sub(1).filter(|height| *height >= first))
    }

    fn block(&self, height: u64) -> Result<Option<Block>, GraphError> {
        match self.blocks.get(height.to_be_bytes())? {
            None => Ok(None),
            Some(block) => Ok(Some(serde_json::from_slice(&block).map_err(|_| Damaged)?)),
        }
    }

    fn record(&self, number: u64) -> Result<Record, GraphError> {
        let record = self.records.get(number.to_be_bytes())?.ok_or(Damaged)?;
        Ok(Record::read(&record)?)
    }

    fn number(&self, id: &str) -> Result<Option<u64>, GraphError> {
        match self.ids.get(id_key(id))? {
            None => Ok(None),
            Some(number) => Ok(Some(number_of(&number)?)),
        }
    }

    /// Appends the block that follows the tip; the first may have any height.
    ///
    /// # Errors
    /// [`GraphError::NotNext`] when it does not follow; otherwise when the store fails, and nothing was changed.
    pub fn append(&self, block: &NewBlock) -> Result<(), GraphError> {
        let mut state = self.state();
        if let Some((height, tip)) = &state.tip
            && (block.height != height + 1 || block.previous != tip.hash)
        {
            return Err(GraphError::NotNext);
        }
        let appended = self.append_to(&mut state, block);
        if appended.is_err() || state.outputs.len() > CACHED || state.totals.len() > CACHED {
            state.forget();
        }
        appended
    }

    fn append_to(&self, state: &mut State, block: &NewBlock) -> Result<(), GraphError> {
        let mut entries = Entries::default();
        let first = state.next;
        let mut fresh: FxHashMap<TxId, u64> = FxHashMap::default();
        for (number, (new, index)) in (first..).zip(block.transactions.iter().zip(0u32..)) {
            let hides = match fresh.get(&new.id) {
                Some(number) => Some(*number),
                None => self.number(&new.id)?,
            };
            let movement = self.resolve(state, &mut entries, number, new)?;
            let mut transaction = match movement {
                Movement::Outputs { inputs, outputs, .. } => {
                    Transaction::of_outputs(new.id.clone(), inputs, outputs)
                }
                Movement::Transfers(transfers) => Transaction::of_transfers(new.id.clone(), transfers),
            };
            transaction.position = Some(Position {
                height: block.height,
                index,
            });
            transaction.time = block.time;
            transaction.fee = new.fee.clone().or(transaction.fee);
            transaction.fee_payer.clone_from(&new.fee_payer);
            transaction.extra.clone_from(&new.extra);
            self.count(state, &mut entries, number, &transaction)?;
            fresh.insert(new.id.clone(), number);
            entries.records.push(Record { transaction, hides }.write());
        }
        let ids = fresh.into_iter();
        entries.ids = ids.map(|(id, number)| (id_key(&id), number)).collect();
        let count = block.transactions.len() as u64;
        let remembered = Block {
            hash: block.hash.clone(),
            previous: block.previous.clone(),
            time: block.time,
            first,
            count,
        };
        let text = serde_json::to_vec(&remembered).map_err(|_| Damaged)?;
        let mut batch = self.database.batch();
        entries.write(self, first, &mut batch);
        batch.insert(&self.blocks, block.height.to_be_bytes(), text);
        batch.commit()?;
        if state.tip.is_none() {
            state.first_height = block.height;
        }
        state.tip = Some((block.height, remembered));
        state.next = first + count;
        Ok(())
    }

    /// Enters a transaction in the history of everybody concerned.
    fn count(
        &self,
        state: &mut State,
        entries: &mut Entries,
        number: u64,
        transaction: &Transaction,
    ) -> Result<(), GraphError> {
        let spenders: FxHashSet<&Party> = cluster::spenders(transaction).into_iter().collect();
        for (party, side) in sides(transaction) {
            let key = party_key(party);
            let before = match state.totals.remove(&key) {
                Some(known) => Some(known),
                None => self.totals(&key)?,
            };
            if before.is_none() {
                entries.parties.push((key.to_vec(), Vec::new()));
            }
            let mut totals = before.unwrap_or_default();
            totals += &side;
            let visit = Visit {
                together: spenders.contains(party),
                totals,
            };
            entries.parties.push((party_entry(&key, number), visit.write()));
            state.totals.insert(key, visit.totals);
        }
        Ok(())
    }

    /// A party's counters now; `None` for one never seen.
    fn totals(&self, party: &PartyKey) -> Result<Option<Totals>, GraphError> {
        if self.parties.get(party)?.is_none() {
            return Ok(None);
        }
        let range = party_entry(party, 0)..=party_entry(party, u64::MAX);
        match self.parties.range(range).next_back() {
            None => Ok(None),
            Some(entry) => Ok(Some(Visit::read(&entry.value()?)?.totals)),
        }
    }

    /// Looks up what a transaction spends, notes the spends, and remembers what it makes.
    fn resolve(
        &self,
        state: &mut State,
        entries: &mut Entries,
        number: u64,
        new: &NewTransaction,
    ) -> Result<Movement, GraphError> {
        let (mut inputs, made) = match &new.movement {
            NewMovement::Told(told, made) => (told.clone(), made),
            // A graph begun in the middle of a chain does not know older outputs; what they were worth stays open.
            NewMovement::Outputs(spent, made) => {
                let unknown = |(id, output): &(TxId, u32)| Input {
                    transaction: id.clone(),
                    output: *output,
                    party: None,
                    amount: Amount::default(),
                };
                (spent.iter().map(unknown).collect::<Vec<Input>>(), made)
            }
            NewMovement::Transfers(transfers) => return Ok(Movement::Transfers(transfers.clone())),
        };
        for input in &mut inputs {
            let known = match state.outputs.remove(&(input.transaction.clone(), input.output)) {
                Some(known) => Some(known),
                None => self.output(&input.transaction, input.output)?,
            };
            if let Some((maker, known)) = known {
                entries.spends.push((spend_key(maker, input.output), number));
                input.party = known.party;
                input.amount = known.amount;
            }
        }
        for (output, place) in made.iter().zip(0u32..) {
            state
                .outputs
                .insert((new.id.clone(), place), (number, output.clone()));
        }
        let coinbase = inputs.is_empty();
        Ok(Movement::Outputs {
            coinbase,
            inputs,
            outputs: made.clone(),
        })
    }

    fn output(&self, id: &str, output: u32) -> Result<Option<(u64, Output)>, GraphError> {
        let Some(number) = self.number(id)? else {
            return Ok(None);
        };
        let Movement::Outputs { outputs, .. } = self.record(number)?.transaction.movement else {
            return Ok(None);
        };
        Ok(outputs
            .into_iter()
            .nth(output as usize)
            .map(|output| (number, output)))
    }

    /// Takes the newest block back, exactly; answers the new tip.
    ///
    /// # Errors
    /// When the store fails, and nothing was changed.
    pub fn roll_back(&self) -> Result<Option<Tip>, GraphError> {
        let mut state = self.state();
        let Some((height, block)) = state.tip.clone() else {
            return Ok(None);
        };
        let mut batch = self.database.batch();
        for number in (block.first..block.first + block.count).rev() {
            let Record { transaction, hides } = self.record(number)?;
            if let Movement::Outputs { inputs, .. } = &transaction.movement {
                for input in inputs {
                    if let Some(spend) = self.spend_by(input, number)? {
                        batch.remove(&self.spends, spend);
                    }
                }
            }
            for party in sides(&transaction).into_keys() {
                let key = party_key(party);
                let entry = party_entry(&key, number);
                let visit = Visit::read(&self.parties.get(&entry)?.ok_or(Damaged)?)?;
                batch.remove(&self.parties, entry);
                if visit.totals.transactions == 1 {
                    batch.remove(&self.parties, key);
                }
            }
            match hides {
                Some(older) if older < block.first => {
                    batch.insert(&self.ids, id_key(&transaction.id), older.to_be_bytes());
                }
                _ => batch.remove(&self.ids, id_key(&transaction.id)),
            }
            batch.remove(&self.records, number.to_be_bytes());
        }
        batch.remove(&self.blocks, height.to_be_bytes());
        batch.commit()?;
        state.forget();
        state.next = block.first;
        state.tip = match height.checked_sub(1) {
            Some(before) => self.block(before)?.map(|block| (before, block)),
            None => None,
        };
        drop(state);
        Ok(self.newest())
    }

    /// Under which key a transaction's spend is noted. The id may since have come to mean another transaction.
    fn spend_by(&self, input: &Input, spender: u64) -> Result<Option<[u8; 12]>, GraphError> {
        let mut maker = self.number(&input.transaction)?;
        while let Some(made) = maker {
            let key = spend_key(made, input.output);
            if self
                .spends
                .get(key)?
                .is_some_and(|by| *by == spender.to_be_bytes())
            {
                return Ok(Some(key));
            }
            maker = self.record(made)?.hides;
        }
        Ok(None)
    }

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

    fn history_of(&self, party: &str, window: Window) -> Result<History, GraphError> {
        self.visits(party, window, |_| true)
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
        for (place, entry) in self.parties.range(range).rev().enumerate() {
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

    fn spender_of(&self, number: u64, output: u32) -> Result<Option<TxId>, GraphError> {
        match self.spends.get(spend_key(number, output))? {
            None => Ok(None),
            Some(spender) => Ok(Some(self.id(number_of(&spender)?)?)),
        }
    }
}
