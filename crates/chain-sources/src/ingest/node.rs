//! Nodes that provide blocks while the tip of their chain is followed.

use std::sync::Arc;
use std::time::Duration;

use chain::address::Address;
use chain::amount::Amount;
use chain::currency::Currency;
use chain::source::{Input, Output, SourceError};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use super::blk;
use super::block::{RawBlock, hash_text};
use crate::graph::{NewBlock, NewMovement, NewTransaction};
use crate::ondemand::{Budget, Calls, HttpRequest, Transport};
use crate::rpc::{Rpc, RpcError};

/// A node that provides a chain's blocks. Calls block.
pub trait Node: Send + Sync {
    /// The height of the newest block.
    ///
    /// # Errors
    /// When the node cannot be queried.
    fn height(&self) -> Result<u64, SourceError>;

    /// The hash of the node's block at a height; `None` above its newest block.
    ///
    /// # Errors
    /// When the node cannot be queried.
    fn hash_at(&self, height: u64) -> Result<Option<String>, SourceError>;

    /// The block with a hash, at a height.
    ///
    /// # Errors
    /// When the node cannot be queried, or returns another block.
    fn block(&self, height: u64, hash: &str) -> Result<NewBlock, SourceError>;
}

/// The limits for fetching one block.
pub(crate) const PER_BLOCK: Budget = Budget {
    requests: 10_000,
    time: Duration::from_secs(300),
    request_timeout: Duration::from_secs(60),
};

pub(crate) fn nonsense(why: impl Into<String>) -> SourceError {
    SourceError::Nonsense(why.into())
}

/// bitcoind and compatible nodes, over JSON-RPC.
pub struct Bitcoind {
    currency: Currency,
    rpc: Rpc,
    transport: Arc<dyn Transport>,
}

/// The height is beyond the newest block (`RPC_INVALID_PARAMETER`).
const OUT_OF_RANGE: i64 = -8;

#[derive(Deserialize)]
struct RpcScript {
    hex: String,
}

#[derive(Deserialize)]
struct RpcOutput {
    value: Box<RawValue>,
    #[serde(rename = "scriptPubKey")]
    script: RpcScript,
}

#[derive(Deserialize)]
struct RpcInput {
    txid: Option<String>,
    vout: Option<u32>,
    coinbase: Option<String>,
    prevout: Option<RpcOutput>,
}

/// A transfer between Zcash's transparent side and its Sprout pool.
#[derive(Deserialize)]
struct RpcJoinSplit {
    vpub_new: Box<RawValue>,
}

#[derive(Deserialize)]
struct RpcOrchard {
    #[serde(rename = "valueBalance")]
    balance: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
struct RpcTransaction {
    txid: String,
    vin: Vec<RpcInput>,
    vout: Vec<RpcOutput>,
    #[serde(default)]
    vjoinsplit: Vec<RpcJoinSplit>,
    #[serde(rename = "valueBalance")]
    sapling: Option<Box<RawValue>>,
    orchard: Option<RpcOrchard>,
}

#[derive(Deserialize)]
struct RpcBlock {
    hash: String,
    height: u64,
    previousblockhash: Option<String>,
    time: i64,
    tx: Vec<RpcTransaction>,
}

impl Bitcoind {
    /// A node that `rpc` reaches.
    pub fn new(currency: Currency, rpc: Rpc, transport: Arc<dyn Transport>) -> Bitcoind {
        Bitcoind {
            currency,
            rpc,
            transport,
        }
    }

    fn calls(&self) -> Calls<'_> {
        Calls::new(&*self.transport, PER_BLOCK)
    }

    /// Parses an amount in coins from its digits.
    fn amount(&self, value: &RawValue) -> Result<Amount, SourceError> {
        Amount::from_coins(value.get(), self.currency.decimals())
            .map_err(|_| nonsense("a value is no amount"))
    }

    fn output(&self, told: &RpcOutput) -> Result<Output, SourceError> {
        let script = hex::decode(&told.script.hex).map_err(|_| nonsense("a script is not hexadecimal"))?;
        Ok(Output {
            party: Address::of_script(self.currency, &script).map(|address| address.canonical.into()),
            amount: self.amount(&told.value)?,
        })
    }

    /// The amount that left Zcash's shielded pools, whose earlier owners are unknown.
    fn unshielded(&self, told: &RpcTransaction) -> Result<Amount, SourceError> {
        let mut sum = Amount::default();
        let orchard = told.orchard.as_ref().and_then(|orchard| orchard.balance.as_ref());
        for balance in told.sapling.iter().chain(orchard) {
            // A negative balance went into the pool.
            if !balance.get().starts_with('-') {
                sum += &self.amount(balance)?;
            }
        }
        for split in &told.vjoinsplit {
            sum += &self.amount(&split.vpub_new)?;
        }
        Ok(sum)
    }

    fn transaction(&self, told: &RpcTransaction) -> Result<NewTransaction, SourceError> {
        let mut inputs = Vec::with_capacity(told.vin.len());
        for input in told.vin.iter().filter(|input| input.coinbase.is_none()) {
            let (Some(id), Some(output)) = (&input.txid, input.vout) else {
                return Err(nonsense("an input names no output"));
            };
            let held = input.prevout.as_ref().map(|held| self.output(held)).transpose()?;
            let (party, amount) = held.map_or((None, Amount::default()), |held| (held.party, held.amount));
            inputs.push(Input {
                transaction: id.as_str().into(),
                output,
                party,
                amount,
            });
        }
        let unshielded = self.unshielded(told)?;
        if !unshielded.is_zero() {
            inputs.push(Input {
                transaction: "shielded".into(),
                output: 0,
                party: None,
                amount: unshielded,
            });
        }
        let outputs = told
            .vout
            .iter()
            .map(|output| self.output(output))
            .collect::<Result<_, _>>()?;
        Ok(NewTransaction {
            id: told.txid.as_str().into(),
            movement: NewMovement::OutputsWithInputs(inputs, outputs),
            fee: None,
            fee_payer: None,
            extra: serde_json::Map::new(),
        })
    }

    fn built(&self, told: &RpcBlock) -> Result<NewBlock, SourceError> {
        let transactions = told
            .tx
            .iter()
            .map(|told| self.transaction(told))
            .collect::<Result<_, _>>()?;
        Ok(NewBlock {
            hash: told.hash.clone(),
            previous: told.previousblockhash.clone().unwrap_or_else(|| "0".repeat(64)),
            height: told.height,
            time: Some(told.time.saturating_mul(1000)),
            transactions,
        })
    }

    /// The raw block, for nodes that do not provide its transactions as JSON.
    fn raw(&self, height: u64, hash: &str) -> Result<NewBlock, SourceError> {
        let text: String = self.rpc.call(&self.calls(), "getblock", json!([hash, false]))?;
        let bytes = hex::decode(text).map_err(|_| nonsense("a block is not hexadecimal"))?;
        of_bytes(self.currency, height, &bytes)
    }
}

fn of_bytes(currency: Currency, height: u64, bytes: &[u8]) -> Result<NewBlock, SourceError> {
    let raw = RawBlock::parse(currency, bytes).map_err(|bad| nonsense(bad.to_string()))?;
    Ok(NewBlock::of_raw(currency, height, &raw))
}

/// Refuses a block other than the requested one.
pub(crate) fn checked(block: NewBlock, height: u64, hash: &str) -> Result<NewBlock, SourceError> {
    if block.hash == hash && block.height == height {
        Ok(block)
    } else {
        Err(nonsense("another block than was asked for"))
    }
}

impl Node for Bitcoind {
    fn height(&self) -> Result<u64, SourceError> {
        Ok(self.rpc.call(&self.calls(), "getblockcount", json!([]))?)
    }

    fn hash_at(&self, height: u64) -> Result<Option<String>, SourceError> {
        match self.rpc.call(&self.calls(), "getblockhash", json!([height])) {
            Ok(hash) => Ok(Some(hash)),
            Err(RpcError::Fault(OUT_OF_RANGE)) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn block(&self, height: u64, hash: &str) -> Result<NewBlock, SourceError> {
        let readable = blk::is_supported(self.currency);
        // Verbosity 3 adds the inputs' amounts, which a graph that begins in the middle of a chain lacks.
        let verbosity = if readable { 3 } else { 2 };
        let told = self
            .rpc
            .call::<RpcBlock>(&self.calls(), "getblock", json!([hash, verbosity]));
        let block = match told {
            Ok(told) => self.built(&told)?,
            Err(RpcError::Fault(_) | RpcError::Source(SourceError::Nonsense(_))) if readable => {
                self.raw(height, hash)?
            }
            Err(error) => return Err(error.into()),
        };
        checked(block, height, hash)
    }
}

/// An Esplora server, which provides raw blocks over REST.
pub struct EsploraNode {
    currency: Currency,
    base: String,
    transport: Arc<dyn Transport>,
}

impl EsploraNode {
    /// A server with its base URL.
    pub fn new(currency: Currency, url: &str, transport: Arc<dyn Transport>) -> EsploraNode {
        EsploraNode {
            currency,
            base: url.trim_end_matches('/').to_owned(),
            transport,
        }
    }

    fn get(&self, path: &str) -> Result<Vec<u8>, SourceError> {
        let calls = Calls::new(&*self.transport, PER_BLOCK);
        calls.send(HttpRequest::get(
            format!("{}/{path}", self.base),
            PER_BLOCK.request_timeout,
        ))
    }

    fn text(&self, path: &str) -> Result<String, SourceError> {
        let text = String::from_utf8(self.get(path)?).map_err(|_| nonsense("no text"))?;
        Ok(text.trim().to_owned())
    }
}

impl Node for EsploraNode {
    fn height(&self) -> Result<u64, SourceError> {
        let text = self.text("blocks/tip/height")?;
        text.parse().map_err(|_| nonsense("its height is no number"))
    }

    fn hash_at(&self, height: u64) -> Result<Option<String>, SourceError> {
        let hash = match self.text(&format!("block-height/{height}")) {
            Err(SourceError::NotFound) => return Ok(None),
            hash => hash?,
        };
        match super::block::hash_of(&hash) {
            Some(bytes) => Ok(Some(hash_text(&bytes))),
            None => Err(nonsense("a hash is not 64 hexadecimal digits")),
        }
    }

    fn block(&self, height: u64, hash: &str) -> Result<NewBlock, SourceError> {
        let bytes = self.get(&format!("block/{hash}/raw"))?;
        checked(of_bytes(self.currency, height, &bytes)?, height, hash)
    }
}
