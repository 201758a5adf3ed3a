//! Histories of an EVM chain on demand, from a node with an index of traces by address: `trace_filter`, or
//! Otterscan's ([`super::otterscan`]), such as Erigon. Token transfers come from `eth_getLogs` by the topics
//! of sender and recipient ([`super::logs`]). If the logs cannot be searched completely, the history states
//! so.
//!
//! A node without that index can provide transactions but no histories, and [`Provider::lists_addresses`] is
//! false.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use chain::address::Address;
use chain::currency::Currency;
use chain::source::{History, Party, SourceError, Tip, Transaction, TxId};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::logs::{self, LogSearchResult};
use super::otterscan;
use super::places::Places;
use super::quantity::{milliseconds, nonsense, number};
use super::trace::{Flat, TraceResult, flat, nested};
use super::transaction::{RpcReceipt, RpcTransaction, built};
use crate::ondemand::{Calls, Provider, concerns};
use crate::rpc::{Rpc, RpcError};

/// The number of frames per request.
const PAGE: usize = 1000;
/// The search of logs may use one part of the remaining budget, divided by this number. Fetching its results
/// may use another such part. Tokens must not use up the budget, because a score does not need them.
const TOKENS_PART: u32 = 3;
/// Token transactions per batch.
const TOKENS_AT_ONCE: usize = 50;

/// A provider that queries a node's JSON-RPC.
pub struct Evm {
    currency: Currency,
    rpc: Rpc,
    /// Whether the last search of logs covered the whole chain in one call. If it did not, one call is not
    /// tried again.
    searches_whole: AtomicBool,
    /// A batch of searches that is answered within this time is followed by one twice as large.
    pub(super) quick: Duration,
}

#[derive(Deserialize)]
struct RpcHeader {
    hash: String,
    number: String,
    timestamp: String,
}

impl Evm {
    /// A provider for the node that `rpc` reaches.
    pub fn new(currency: Currency, rpc: Rpc) -> Evm {
        Evm {
            currency,
            rpc,
            searches_whole: AtomicBool::new(true),
            quick: Duration::from_secs(1),
        }
    }

    /// The account's 40 hexadecimal digits, without a prefix.
    fn digits(&self, party: &str) -> Result<String, SourceError> {
        let address = Address::parse(self.currency, party).map_err(|_| SourceError::NotFound)?;
        Ok(hex::encode(address.payload))
    }

    /// Adds the transactions in which an account sent or received coins; stops after `limit` transactions.
    fn traced(
        &self,
        calls: &Calls<'_>,
        digits: &str,
        limit: usize,
        places: &mut Places,
    ) -> Result<(), SourceError> {
        // Each side needs its own search: nodes disagree on whether two conditions mean either or both.
        for side in ["fromAddress", "toAddress"] {
            let mut after = 0;
            while places.len() <= limit {
                let filter = json!([{"fromBlock": "0x0", "toBlock": "latest", side: [format!("0x{digits}")],
                    "after": after, "count": PAGE}]);
                let frames: Vec<Flat> = match self.rpc.call(calls, "trace_filter", filter) {
                    // The node lacks this index, or allows only a few blocks. Without Otterscan's index it
                    // cannot provide histories.
                    Err(RpcError::Fault(_)) => {
                        places.clear();
                        return otterscan::list(&self.rpc, calls, digits, limit, places);
                    }
                    frames => frames?,
                };
                let count = frames.len();
                for frame in frames {
                    let place = frame.block_number.zip(frame.transaction_position);
                    if let (Some(place), Some(hash)) = (place, frame.transaction_hash) {
                        places.insert(place, hash);
                    }
                }
                after += count;
                if count < PAGE {
                    break;
                }
            }
        }
        Ok(())
    }

    /// The transactions in which an account sent or received coins; `None` when there are more than `limit`.
    /// Searches begin with the oldest, so the latest ones are unknown until the search ends.
    fn places(&self, calls: &Calls<'_>, digits: &str, limit: usize) -> Result<Option<Places>, SourceError> {
        let mut places = Places::new();
        self.traced(calls, digits, limit, &mut places)?;
        Ok((places.len() <= limit).then_some(places))
    }

    /// Searches for the transactions in which an account sent or received tokens.
    fn logged(&self, calls: &Calls<'_>, digits: &str, newest: u64, limit: usize) -> LogSearchResult {
        let at_once = self.searches_whole.load(Ordering::Relaxed);
        let logged = calls.with_part(TOKENS_PART, |calls| {
            logs::search(&self.rpc, calls, digits, newest, limit, at_once, self.quick)
        });
        self.searches_whole.store(logged.at_once, Ordering::Relaxed);
        logged
    }

    /// The traces of transactions, in their order.
    fn inner(&self, calls: &Calls<'_>, hashes: &[&str]) -> Result<Vec<TraceResult>, SourceError> {
        let asked: Vec<(&str, Value)> = hashes
            .iter()
            .map(|hash| ("trace_transaction", json!([hash])))
            .collect();
        match self.rpc.batch::<Vec<Flat>>(calls, &asked) {
            Ok(traces) => return traces.iter().map(flat).collect(),
            Err(RpcError::Fault(_)) => {}
            Err(error) => return Err(error.into()),
        }
        let asked: Vec<(&str, Value)> = hashes
            .iter()
            .map(|hash| ("debug_traceTransaction", json!([hash, {"tracer": "callTracer"}])))
            .collect();
        match self.rpc.batch::<Box<RawValue>>(calls, &asked) {
            Ok(traces) => traces.iter().map(|root| nested(root)).collect(),
            Err(RpcError::Fault(_)) => Err(SourceError::Unsupported(
                "the node offers neither trace_transaction nor debug_traceTransaction",
            )),
            Err(error) => Err(error.into()),
        }
    }

    /// The transactions with these hashes, in their order.
    fn fetched(&self, calls: &Calls<'_>, hashes: &[&str]) -> Result<Vec<Transaction>, SourceError> {
        let each = |method: &'static str| -> Vec<(&str, Value)> {
            hashes.iter().map(|hash| (method, json!([hash]))).collect()
        };
        let told: Vec<Option<RpcTransaction>> = self.rpc.batch(calls, &each("eth_getTransactionByHash"))?;
        let receipts: Vec<Option<RpcReceipt>> = self.rpc.batch(calls, &each("eth_getTransactionReceipt"))?;
        let mut all = Vec::with_capacity(hashes.len());
        for ((told, receipt), hash) in told.into_iter().zip(receipts).zip(hashes) {
            // A pending transaction has no receipt and counts as not found.
            let (Some(told), Some(receipt)) = (told, receipt) else {
                return Err(SourceError::NotFound);
            };
            if told.hash != **hash {
                return Err(nonsense("another transaction than was asked for"));
            }
            all.push((told, receipt));
        }
        let times = self.times(
            calls,
            all.iter().filter_map(|(told, _)| told.block_hash.as_deref()),
        )?;
        let ran_code: Vec<&str> = all
            .iter()
            .filter(|(_, receipt)| !receipt.is_plain())
            .map(|(told, _)| told.hash.as_str())
            .collect();
        let mut inner = self.inner(calls, &ran_code)?.into_iter();
        all.iter()
            .map(|(told, receipt)| {
                let inner = if receipt.is_plain() {
                    TraceResult::default()
                } else {
                    inner.next().unwrap_or_default()
                };
                let time = told.block_hash.as_ref().and_then(|hash| times.get(hash)).copied();
                built(self.currency, told, receipt, &inner, time)
            })
            .collect()
    }

    /// The times of blocks in milliseconds, by hash.
    fn times<'a>(
        &self,
        calls: &Calls<'_>,
        blocks: impl Iterator<Item = &'a str>,
    ) -> Result<HashMap<String, i64>, SourceError> {
        let mut blocks: Vec<&str> = blocks.collect();
        blocks.sort_unstable();
        blocks.dedup();
        let asked: Vec<(&str, Value)> = blocks
            .iter()
            .map(|hash| ("eth_getBlockByHash", json!([hash, false])))
            .collect();
        let headers: Vec<Option<RpcHeader>> = self.rpc.batch(calls, &asked)?;
        headers
            .into_iter()
            .flatten()
            .map(|header| Ok((header.hash, milliseconds(&header.timestamp)?)))
            .collect()
    }

    fn header(&self, calls: &Calls<'_>) -> Result<RpcHeader, SourceError> {
        let params = json!(["latest", false]);
        let header: Option<RpcHeader> = self.rpc.call(calls, "eth_getBlockByNumber", params)?;
        header.ok_or_else(|| nonsense("it has no block"))
    }
}

/// A history that is complete except for tokens.
fn in_order(mut transactions: Vec<Transaction>, tokens_unseen_to: Option<u64>) -> History {
    transactions.sort_by(|a, b| a.order().cmp(&b.order()));
    History {
        transactions: transactions.into_iter().map(Arc::new).collect(),
        complete: true,
        totals: None,
        tokens_unseen_to,
    }
}

impl Provider for Evm {
    fn name(&self) -> &str {
        "evm"
    }

    fn tip(&self, calls: &Calls<'_>) -> Result<Tip, SourceError> {
        let header = self.header(calls)?;
        Ok(Tip {
            height: number(&header.number)?,
            time: Some(milliseconds(&header.timestamp)?),
            hash: header.hash,
        })
    }

    fn lists_addresses(&self, calls: &Calls<'_>) -> Result<bool, SourceError> {
        // This requests the whole chain, as histories do: many nodes search only a few blocks, which is not
        // an index. The account is a precompiled contract, which never sends anything.
        let nobody = format!("0x{:040x}", 1);
        let filter = json!([{"fromBlock": "0x0", "toBlock": "latest", "fromAddress": [nobody], "after": 0, "count": 1}]);
        match self.rpc.call::<Vec<Flat>>(calls, "trace_filter", filter) {
            Ok(_) => Ok(true),
            Err(RpcError::Fault(_)) => otterscan::is_kept(&self.rpc, calls),
            Err(error) => Err(error.into()),
        }
    }

    fn history(&self, calls: &Calls<'_>, party: &str, limit: usize) -> Result<History, SourceError> {
        let digits = self.digits(party)?;
        let newest = number(&self.header(calls)?.number)?;
        let Some(places) = self.places(calls, &digits, limit)? else {
            return Ok(History::default());
        };
        let LogSearchResult {
            places: mut tokens,
            unseen_to,
            ..
        } = self.logged(calls, &digits, newest, limit);
        tokens.retain(|place, _| !places.contains_key(place));
        let hashes: Vec<&str> = places.values().map(String::as_str).collect();
        let mut transactions = self.fetched(calls, &hashes)?;
        // From the newest to the oldest. Transactions that the budget does not allow count as not seen.
        let tokens: Vec<(u64, &str)> = tokens
            .iter()
            .rev()
            .map(|((height, _), hash)| (*height, hash.as_str()))
            .collect();
        let room = limit - places.len();
        let (tokens, beyond) = tokens.split_at(room.min(tokens.len()));
        let mut left = beyond.first();
        calls.with_part(TOKENS_PART, |calls| {
            for chunk in tokens.chunks(TOKENS_AT_ONCE) {
                let hashes: Vec<&str> = chunk.iter().map(|(_, hash)| *hash).collect();
                match self.fetched(calls, &hashes) {
                    Ok(more) => transactions.extend(more),
                    Err(_) => {
                        left = chunk.first();
                        break;
                    }
                }
            }
        });
        // A call without value names an account but moves nothing.
        transactions.retain(|transaction| concerns(transaction, party));
        let unseen_to = left.map(|(height, _)| *height).max(unseen_to);
        Ok(in_order(transactions, unseen_to))
    }

    fn traces_without_tokens(&self) -> bool {
        true
    }

    /// Nothing here may depend on tokens, or traces would differ between nodes.
    fn trace_history(&self, calls: &Calls<'_>, party: &str, limit: usize) -> Result<History, SourceError> {
        let digits = self.digits(party)?;
        let newest = number(&self.header(calls)?.number)?;
        let Some(places) = self.places(calls, &digits, limit)? else {
            return Ok(History::default());
        };
        let hashes: Vec<&str> = places.values().map(String::as_str).collect();
        let mut transactions = self.fetched(calls, &hashes)?;
        transactions.retain(|transaction| {
            concerns(transaction, party) && !transaction.only_tokens().contains(&Party::from(party))
        });
        Ok(in_order(transactions, Some(newest)))
    }

    fn transaction(&self, calls: &Calls<'_>, id: &str) -> Result<Transaction, SourceError> {
        let one = self.fetched(calls, &[id])?.into_iter().next();
        one.ok_or(SourceError::NotFound)
    }

    fn spends(&self, _calls: &Calls<'_>, _id: &str) -> Result<Vec<Option<TxId>>, SourceError> {
        Err(SourceError::Unsupported("accounts have no outputs"))
    }
}
