//! The embedded store of a chain's transactions. It appends and rolls back blocks, and answers queries as a
//! [`Source`](chain::source::Source).
//!
//! Transactions are numbered in order and stored as self-contained records under their numbers, so the store
//! only appends. Three indexes lead to them: by id, by party and by spent output. Each query of a trace costs
//! one search in a sorted tree, so it grows with the logarithm of the history. A block is one atomic batch,
//! so a crash leaves only whole blocks. Only one process can open the folder.

mod entries;
mod grow;
mod recent;
mod record;
mod source;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::{Arc, Mutex};

use chain::address::Address;
use chain::amount::Amount;
use chain::currency::{Currency, Ledger};
use chain::source::{Input, Output, Tip, Totals, Transfer, TxId};
use fjall::config::{FilterPolicy, PartitioningPolicy};
use fjall::{Database, Keyspace, KeyspaceCreateOptions};
use serde::{Deserialize, Serialize};

use self::entries::{PartyKey, id_key, number_of};
use self::recent::Recent;
pub use self::record::Damaged;
use self::record::Record;
use crate::ingest::blk::begins_chain;
use crate::ingest::block::{RawBlock, hash_text};

/// The size of the store's block cache in bytes, in addition to the operating system's cache.
const CACHE: u64 = 128 << 20;
/// The size of each index's memtable in bytes; lookups in a larger one are slower.
const MEMTABLE: u64 = 32 << 20;
/// The age in milliseconds at which a tip is too old for the graph to be up to date.
const RECENT: i64 = 24 * 60 * 60 * 1000;
/// The version of the store's layout; a folder with another one is refused.
const LAYOUT: &str = "4";

/// Why the graph failed.
#[derive(Debug, thiserror::Error)]
pub enum GraphError {
    /// Another process has opened the folder.
    #[error("another process has the graph open")]
    Locked,
    /// The underlying store failed.
    #[error("the graph's store: {0}")]
    Store(#[source] fjall::Error),
    /// A record is damaged.
    #[error(transparent)]
    Damaged(#[from] Damaged),
    /// The folder contains another chain, or has another layout.
    #[error(
        "the folder holds {found}, not {wanted}; one of an older layout must be deleted and the chain ingested again"
    )]
    Other {
        /// The chain and layout of the folder.
        found: String,
        /// The expected chain and layout.
        wanted: String,
    },
    /// A block that does not follow the tip.
    #[error("the block does not follow the tip: roll back first")]
    NotNext,
    /// A block has more outputs, inputs or transactions than can be numbered.
    #[error("a block too large to be numbered")]
    TooLarge,
}

impl From<fjall::Error> for GraphError {
    fn from(error: fjall::Error) -> GraphError {
        match error {
            fjall::Error::Locked => GraphError::Locked,
            error => GraphError::Store(error),
        }
    }
}

/// A new block, whose inputs are not resolved yet.
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

/// A new transaction, whose inputs are not resolved yet.
#[derive(Clone, Debug, PartialEq)]
pub struct NewTransaction {
    /// Its id.
    pub id: TxId,
    /// What it moves.
    pub movement: NewMovement,
    /// The fee, on account chains.
    pub fee: Option<Amount>,
    /// The account that paid the fee.
    pub fee_payer: Option<Arc<str>>,
    /// Members that only some chains have.
    pub extra: serde_json::Map<String, serde_json::Value>,
}

/// The outputs or transfers of a new transaction.
#[derive(Clone, Debug, PartialEq)]
pub enum NewMovement {
    /// Spent and created outputs; newly mined money has no inputs.
    Outputs(Vec<(TxId, u32)>, Vec<Output>),
    /// Spent and created outputs, with the owners and amounts that the node states for the inputs. They are
    /// used where the graph does not have the output.
    OutputsWithInputs(Vec<Input>, Vec<Output>),
    /// Transfers between accounts.
    Transfers(Vec<Transfer>),
}

impl NewBlock {
    /// Converts a raw block; scripts become addresses.
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

/// A block as the store describes it.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Block {
    hash: String,
    previous: String,
    time: Option<i64>,
    first: u64,
    count: u64,
}

/// The extent of the graph.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// The chain.
    pub currency: Currency,
    /// Its newest block.
    pub tip: Option<Tip>,
    /// The number of blocks.
    pub blocks: u64,
    /// The number of transactions.
    pub transactions: u64,
    /// Bytes on disk.
    pub disk_bytes: u64,
}

/// The state that every block changes.
struct State {
    tip: Option<(u64, Block)>,
    first_height: u64,
    /// Whether the graph begins with the chain's first block.
    from_first: bool,
    next: u64,
    /// Recently used unspent outputs, and below recently used counters of parties.
    outputs: Recent<(TxId, u32), (u64, Output)>,
    totals: Recent<PartyKey, Totals>,
}

impl State {
    fn forget(&mut self) {
        self.outputs = Recent::default();
        self.totals = Recent::default();
    }
}

/// The store of one chain's transactions.
pub struct Graph {
    currency: Currency,
    database: Database,
    /// Height → [`Block`].
    blocks: Keyspace,
    /// Number → [`Record`].
    records: Keyspace,
    /// Id → number.
    ids: Keyspace,
    /// Party → empty value, for every party with a visit. Its filter makes the test for new parties cheap.
    parties: Keyspace,
    /// Party and number → [`Visit`](record::Visit).
    visits: Keyspace,
    /// The same for transactions that moved only tokens for the party. Traces skip them, so a flood of token
    /// transfers cannot hide coins.
    tokens: Keyspace,
    /// Number and output → number of the spender.
    spends: Keyspace,
    state: Mutex<State>,
}

impl Graph {
    /// Opens a folder, or creates it.
    ///
    /// # Errors
    /// When it cannot be opened or contains another chain.
    pub fn open(folder: &Path, currency: Currency) -> Result<Graph, GraphError> {
        // With several workers, one of them spins while another one merges, which costs a whole core.
        let database = Database::builder(folder)
            .cache_size(CACHE)
            .worker_threads(1)
            .open()?;
        // Indexes and filters are partitioned. A whole one has millions of entries and would be reread
        // completely after every eviction from the cache.
        let options = || {
            KeyspaceCreateOptions::default()
                .max_memtable_size(MEMTABLE)
                .index_block_partitioning_policy(PartitioningPolicy::all(true))
                .filter_block_partitioning_policy(PartitioningPolicy::all(true))
        };
        let keyspace = |name| database.keyspace(name, options);
        // These keyspaces are read only by existing keys or by ranges, where filters do not help.
        let unfiltered = |name| database.keyspace(name, || options().filter_policy(FilterPolicy::disabled()));
        let meta = keyspace("meta")?;
        let wanted = format!("{currency}, layout {LAYOUT}");
        match meta.get("is")? {
            None => meta.insert("is", wanted.as_bytes())?,
            Some(found) if *found == *wanted.as_bytes() => {}
            // Layout 4 only added token histories, which a chain of outputs does not have.
            Some(found)
                if currency.ledger() == Ledger::Utxo
                    && *found == *format!("{currency}, layout 3").as_bytes() =>
            {
                meta.insert("is", wanted.as_bytes())?;
            }
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
        let first = height(blocks.first_key_value())?;
        let begins = |(height, block): &(u64, Block)| begins_chain(currency, *height, &block.previous);
        let next = tip.as_ref().map_or(0, |(_, block)| block.first + block.count);
        let state = State {
            tip,
            first_height: first.as_ref().map_or(0, |(height, _)| *height),
            from_first: first.as_ref().is_some_and(begins),
            next,
            outputs: Recent::default(),
            totals: Recent::default(),
        };
        Ok(Graph {
            currency,
            records: unfiltered("records")?,
            ids: keyspace("ids")?,
            parties: keyspace("parties")?,
            visits: unfiltered("visits")?,
            tokens: unfiltered("tokens")?,
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

    /// The extent of the graph.
    ///
    /// # Errors
    /// When the size on disk cannot be read.
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

    /// Makes everything appended before this call survive a power failure.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn persist(&self) -> Result<(), GraphError> {
        Ok(self.database.persist(fjall::PersistMode::SyncAll)?)
    }

    /// The newest block at a time. The search assumes that blocks' times increase with their heights; they
    /// may decrease by up to two hours.
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
}
