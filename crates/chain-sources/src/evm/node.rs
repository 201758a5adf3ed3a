//! Fetches blocks of an EVM chain for the graph: transactions, receipts and traces of one block at a time.

use std::collections::HashMap;
use std::sync::Arc;

use chain::currency::Currency;
use chain::source::{Movement, SourceError};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::quantity::{milliseconds, nonsense, number, quantity};
use super::trace::{Flat, TraceResult, flat, nested};
use super::transaction::{RpcReceipt, RpcTransaction, built};
use crate::graph::{NewBlock, NewMovement, NewTransaction};
use crate::ingest::node::{Node, PER_BLOCK, checked};
use crate::ondemand::{Calls, Transport};
use crate::rpc::{Rpc, RpcError};

/// A node whose blocks are loaded into the graph.
pub struct EvmNode {
    currency: Currency,
    rpc: Rpc,
    transport: Arc<dyn Transport>,
    without_traces: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RpcBlock {
    hash: String,
    parent_hash: String,
    number: String,
    timestamp: String,
    transactions: Vec<RpcTransaction>,
}

#[derive(Deserialize)]
struct RpcHeader {
    hash: String,
}

#[derive(Deserialize)]
struct Traced {
    result: Option<Box<RawValue>>,
}

impl EvmNode {
    /// A node that `rpc` reaches. `without_traces` accepts a node without traces, whose blocks then lack the
    /// values that contracts transfer.
    pub fn new(currency: Currency, rpc: Rpc, transport: Arc<dyn Transport>, without_traces: bool) -> EvmNode {
        EvmNode {
            currency,
            rpc,
            transport,
            without_traces,
        }
    }

    fn receipts(&self, calls: &Calls<'_>, block: &RpcBlock) -> Result<Vec<RpcReceipt>, SourceError> {
        if block.transactions.is_empty() {
            return Ok(Vec::new());
        }
        let all = self
            .rpc
            .call(calls, "eth_getBlockReceipts", json!([block.number]));
        let receipts: Vec<RpcReceipt> = match all {
            Err(RpcError::Fault(_)) => {
                let one = |told: &RpcTransaction| ("eth_getTransactionReceipt", json!([told.hash]));
                let asked: Vec<(&str, Value)> = block.transactions.iter().map(one).collect();
                self.rpc.batch(calls, &asked)?
            }
            all => all?,
        };
        if receipts.len() != block.transactions.len() {
            return Err(nonsense("not one receipt for each transaction"));
        }
        Ok(receipts)
    }

    /// The trace of each transaction in a block, in the block's order.
    fn traces(&self, calls: &Calls<'_>, block: &RpcBlock) -> Result<Vec<TraceResult>, SourceError> {
        let frames = self
            .rpc
            .call::<Vec<Flat>>(calls, "trace_block", json!([block.number]));
        match frames {
            Ok(frames) => {
                let mut by_hash: HashMap<&str, Vec<&Flat>> = HashMap::new();
                for frame in &frames {
                    if let Some(hash) = &frame.transaction_hash {
                        by_hash.entry(hash).or_default().push(frame);
                    }
                }
                let of = |told: &RpcTransaction| {
                    let frames = by_hash.remove(told.hash.as_str()).unwrap_or_default();
                    flat(frames)
                };
                return block.transactions.iter().map(of).collect();
            }
            Err(RpcError::Fault(_)) => {}
            Err(error) => return Err(error.into()),
        }
        let params = json!([block.hash, {"tracer": "callTracer"}]);
        let traced = self
            .rpc
            .call::<Vec<Traced>>(calls, "debug_traceBlockByHash", params);
        match traced {
            Ok(traced) if traced.len() == block.transactions.len() => traced
                .iter()
                .map(|traced| {
                    let root = traced.result.as_ref();
                    nested(root.ok_or_else(|| nonsense("a transaction without its trace"))?)
                })
                .collect(),
            Ok(_) => Err(nonsense("not one trace for each transaction")),
            Err(RpcError::Fault(_)) if self.without_traces => Ok(block
                .transactions
                .iter()
                .map(|_| TraceResult::default())
                .collect()),
            Err(RpcError::Fault(_)) => Err(SourceError::Unsupported(
                "the node offers neither trace_block nor debug_traceBlockByHash, so what contracts move would be missed",
            )),
            Err(error) => Err(error.into()),
        }
    }
}

impl Node for EvmNode {
    fn height(&self) -> Result<u64, SourceError> {
        let calls = Calls::new(&*self.transport, PER_BLOCK);
        let height: String = self.rpc.call(&calls, "eth_blockNumber", json!([]))?;
        number(&height)
    }

    fn hash_at(&self, height: u64) -> Result<Option<String>, SourceError> {
        let calls = Calls::new(&*self.transport, PER_BLOCK);
        let params = json!([quantity(height), false]);
        let header: Option<RpcHeader> = self.rpc.call(&calls, "eth_getBlockByNumber", params)?;
        Ok(header.map(|header| header.hash))
    }

    fn block(&self, height: u64, hash: &str) -> Result<NewBlock, SourceError> {
        let calls = Calls::new(&*self.transport, PER_BLOCK);
        let told: Option<RpcBlock> = self.rpc.call(&calls, "eth_getBlockByHash", json!([hash, true]))?;
        let told = told.ok_or_else(|| nonsense("the block is gone"))?;
        let time = milliseconds(&told.timestamp)?;
        let receipts = self.receipts(&calls, &told)?;
        let inner = if receipts.iter().all(RpcReceipt::is_plain) {
            receipts.iter().map(|_| TraceResult::default()).collect()
        } else {
            self.traces(&calls, &told)?
        };
        let mut transactions = Vec::with_capacity(told.transactions.len());
        for ((told, receipt), inner) in told.transactions.iter().zip(&receipts).zip(&inner) {
            let built = built(self.currency, told, receipt, inner, Some(time))?;
            let Movement::Transfers(transfers) = built.movement else {
                continue;
            };
            transactions.push(NewTransaction {
                id: built.id,
                movement: NewMovement::Transfers(transfers),
                fee: built.fee,
                fee_payer: built.fee_payer,
                extra: built.extra,
            });
        }
        let block = NewBlock {
            hash: told.hash,
            previous: told.parent_hash,
            height: number(&told.number)?,
            time: Some(time),
            transactions,
        };
        checked(block, height, hash)
    }
}
