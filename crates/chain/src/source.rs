//! The trait that every index, node and file implements to provide histories, and the types of their answers.
//!
//! A source states what happened on one chain; it has no labels and judges nothing. Calls block, so a server
//! makes them on blocking threads.

use std::sync::Arc;

use crate::coinjoin;
pub use crate::transaction::{Input, Movement, Output, Party, Position, Totals, Transaction, Transfer, TxId};

/// The requested part of a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The last position; `None` also includes transactions that are not in a block yet.
    pub up_to: Option<Position>,
    /// The largest number of transactions; the latest ones are returned.
    pub limit: usize,
}

/// A part of an address's history.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// Transactions in the order of [`Transaction::order`].
    pub transactions: Vec<Arc<Transaction>>,
    /// Whether the history has all transactions within the window, apart from tokens.
    pub complete: bool,
    /// The index's own counters for this window, if it has any.
    pub totals: Option<Totals>,
    /// The newest block whose token transfers were not all seen; up to it, transactions that moved only
    /// tokens may be missing. `None` when all were seen.
    pub tokens_unseen_to: Option<u64>,
}

impl History {
    /// Retains the transactions in which a party spent together with others, all of whom count as one holder.
    pub fn retain_joint_spends(&mut self, party: &str) {
        self.transactions.retain(|transaction| {
            coinjoin::spenders(transaction)
                .iter()
                .any(|spender| ***spender == *party)
        });
    }
}

/// The newest block of a source.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Tip {
    /// Its height.
    pub height: u64,
    /// Its hash.
    pub hash: String,
    /// Its time in milliseconds since 1970, if it is known.
    pub time: Option<i64>,
}

/// Why a source gave no answer. The texts never contain an address, a hash or a credential.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SourceError {
    /// The source could not be reached, or failed (503).
    #[error("the chain's source cannot be reached: {0}")]
    Unreachable(String),
    /// The source did not answer in time (504).
    #[error("the chain's source took too long")]
    TimedOut,
    /// The source's response is not valid (502).
    #[error("the chain's source answered nonsense: {0}")]
    Nonsense(String),
    /// The source does not have the data (404).
    #[error("the chain's source knows no such thing")]
    NotFound,
    /// The source cannot answer such a query, for example a node without an index of addresses.
    #[error("the chain's source cannot tell: {0}")]
    Unsupported(&'static str),
    /// The budget of this screening is spent; partial results are still usable.
    #[error("the budget of requests or time is spent")]
    Budget,
}

/// Provides the history of one chain.
pub trait Source: Send + Sync {
    /// The source's name in answers, such as `graph` or `esplora`.
    fn name(&self) -> &str;

    /// Whether the source has the chain from its first block to a recent one. Only then an empty history is a
    /// new address.
    fn is_whole(&self) -> bool {
        true
    }

    /// The newest block.
    ///
    /// # Errors
    /// When the source fails.
    fn tip(&self) -> Result<Tip, SourceError>;

    /// The height of the newest block at a time (milliseconds since 1970).
    ///
    /// # Errors
    /// When the source fails or cannot answer this; [`SourceError::NotFound`] before its first block.
    fn height_at(&self, _time: i64) -> Result<u64, SourceError> {
        Err(SourceError::Unsupported(
            "which block was the newest at a time: name the block",
        ))
    }

    /// An address's history. An unused address has an empty, complete history.
    ///
    /// # Errors
    /// When the source fails.
    fn history(&self, party: &str, window: Window) -> Result<History, SourceError>;

    /// The history that a trace needs. It omits transactions that moved only tokens, and expensive counters
    /// beyond the window. It is complete if no movement of coins is missing.
    ///
    /// # Errors
    /// When the source fails.
    fn trace_history(&self, party: &str, window: Window) -> Result<History, SourceError> {
        self.history(party, window)
    }

    /// The transactions of the window in which the party spent together with others, all of whom count as one
    /// holder. They determine the party's cluster.
    ///
    /// # Errors
    /// When the source fails.
    fn joint_spends(&self, party: &str, window: Window) -> Result<History, SourceError> {
        let mut history = self.trace_history(party, window)?;
        history.retain_joint_spends(party);
        Ok(history)
    }

    /// A transaction with the owners and amounts of its inputs.
    ///
    /// # Errors
    /// [`SourceError::NotFound`] when the source does not have it; otherwise when the source fails.
    fn transaction(&self, id: &str) -> Result<Arc<Transaction>, SourceError>;

    /// The transaction that spent each output of a transaction, in the outputs' order; none for an unspent
    /// output.
    ///
    /// # Errors
    /// As for [`Source::transaction`]; [`SourceError::Unsupported`] when the source has no spends.
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
