//! Where histories come from: one trait before every index, node and file, and what they all answer.
//!
//! A source says what happened on one chain; it knows no labels and judges nothing. Calls block: a server runs them on
//! threads of its own.

use std::sync::Arc;

use crate::coinjoin;
pub use crate::transaction::{Input, Movement, Output, Party, Position, Totals, Transaction, Transfer, TxId};

/// Which part of a history is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Nothing after this place; `None`: up to the present, transactions in no block included.
    pub up_to: Option<Position>,
    /// At most so many transactions, the latest of those wanted.
    pub limit: usize,
}

/// A part of an address's history.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// Transactions in the order of [`Transaction::order`].
    pub transactions: Vec<Arc<Transaction>>,
    /// Whether nothing within the window was left out, but for tokens.
    pub complete: bool,
    /// The index's own counters, if it has any for this window.
    pub totals: Option<Totals>,
    /// The newest block whose token transfers were not all seen; transactions that moved nothing but tokens may be missing up
    /// to there. `None`: all were seen.
    pub tokens_unseen_to: Option<u64>,
}

impl History {
    /// Keeps what a party spent together with others, all of them one holder.
    pub fn keep_together(&mut self, party: &str) {
        self.transactions.retain(|transaction| {
            coinjoin::spenders(transaction)
                .iter()
                .any(|spender| ***spender == *party)
        });
    }
}

/// The newest block that a source knows.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Tip {
    /// Its height.
    pub height: u64,
    /// Its hash.
    pub hash: String,
    /// Its time, milliseconds since 1970, if known.
    pub time: Option<i64>,
}

/// Why a source gave no answer. Texts never hold an address, a hash or a credential.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SourceError {
    /// It could not be reached, or failed (503).
    #[error("the chain's source cannot be reached: {0}")]
    Unreachable(String),
    /// It took too long (504).
    #[error("the chain's source took too long")]
    TimedOut,
    /// It answered what makes no sense (502).
    #[error("the chain's source answered nonsense: {0}")]
    Nonsense(String),
    /// It knows no such thing (404).
    #[error("the chain's source knows no such thing")]
    NotFound,
    /// It cannot answer this at all, such as a node asked for an address's history.
    #[error("the chain's source cannot tell: {0}")]
    Unsupported(&'static str),
    /// The budget of this screening is spent; what is known is still an answer.
    #[error("the budget of requests or time is spent")]
    Budget,
}

/// Whoever knows what happened on one chain.
pub trait Source: Send + Sync {
    /// What answers should name as their origin, such as `graph`, `esplora`.
    fn name(&self) -> &str;

    /// Whether it holds the chain from its first block to a recent one, so that an empty history means a new address.
    fn is_whole(&self) -> bool {
        true
    }

    /// The newest block known.
    ///
    /// # Errors
    /// When the source cannot say.
    fn tip(&self) -> Result<Tip, SourceError>;

    /// The height of the newest block at a time (milliseconds since 1970).
    ///
    /// # Errors
    /// When the source cannot say; [`SourceError::NotFound`] before its first block.
    fn height_at(&self, _time: i64) -> Result<u64, SourceError> {
        Err(SourceError::Unsupported(
            "which block was the newest at a time: name the block",
        ))
    }

    /// An address's history. An address never seen has an empty, complete one.
    ///
    /// # Errors
    /// When the source cannot say.
    fn history(&self, party: &str, window: Window) -> Result<History, SourceError>;

    /// The same without what no trace asks for: counters beyond the window where they are dear, and transactions that moved
    /// nothing but tokens. Without these either, a history is whole where its coins are.
    ///
    /// # Errors
    /// When the source cannot say.
    fn latest(&self, party: &str, window: Window) -> Result<History, SourceError> {
        self.history(party, window)
    }

    /// Of the same window only what the party spent together with others, all of them one holder: what tells its cluster.
    ///
    /// # Errors
    /// When the source cannot say.
    fn together(&self, party: &str, window: Window) -> Result<History, SourceError> {
        let mut history = self.latest(party, window)?;
        history.keep_together(party);
        Ok(history)
    }

    /// A transaction, with what its inputs were worth.
    ///
    /// # Errors
    /// [`SourceError::NotFound`] for one never seen, or whatever kept the source from answering.
    fn transaction(&self, id: &str) -> Result<Arc<Transaction>, SourceError>;

    /// By which transaction each output of a transaction was spent, in the outputs' order.
    ///
    /// # Errors
    /// As for [`Source::transaction`]; [`SourceError::Unsupported`] where the source keeps no spends.
    fn spends(&self, id: &str) -> Result<Vec<Option<TxId>>, SourceError>;

    /// The transaction that spent one output.
    ///
    /// # Errors
    /// As for [`Source::spends`].
    fn spender(&self, id: &str, output: u32) -> Result<Option<Arc<Transaction>>, SourceError> {
        let spender = self.spends(id)?.into_iter().nth(output as usize).flatten();
        spender.map(|id| self.transaction(&id)).transpose()
    }
}
