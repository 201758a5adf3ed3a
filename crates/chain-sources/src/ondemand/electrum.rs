//! Electrum's protocol (ElectrumX, Fulcrum, electrs): histories of scripts, and raw transactions, over a bare
//! connection.
//!
//! The server sends transactions without their block and without the amounts of their inputs, so both are
//! requested separately.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use chain::address::Address;
use chain::amount::Amount;
use chain::currency::Currency;
use chain::source::{History, Input, Output, Party, Position, SourceError, Tip, Transaction, TxId};
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{Calls, Provider};
use crate::ingest::block::{Header, RawTransaction, hash_text, parse_transaction};
use crate::rpc::{Rpc, RpcError};

/// An Electrum server.
pub struct Electrum {
    currency: Currency,
    rpc: Rpc,
}

#[derive(Deserialize)]
struct HistoryEntry {
    tx_hash: String,
    /// 0 or less for an unconfirmed transaction.
    height: i64,
}

#[derive(Deserialize)]
struct HeaderNotice {
    height: u64,
    hex: String,
}

#[derive(Deserialize)]
struct Unspent {
    tx_hash: String,
    tx_pos: u32,
}

/// The bytes of a transaction whose id was checked.
struct Bytes(Vec<u8>);

fn nonsense(why: &str) -> SourceError {
    SourceError::Nonsense(why.to_owned())
}

/// Electrum's key of a script: its SHA-256 with the bytes reversed.
fn script_hash(script: &[u8]) -> String {
    let hash: [u8; 32] = Sha256::digest(script).into();
    hash_text(&hash)
}

fn header(text: &str) -> Result<Header, SourceError> {
    let bytes = hex::decode(text).map_err(|_| nonsense("a header is not hexadecimal"))?;
    Header::parse(&bytes).map_err(|_| nonsense("a header is too short"))
}

impl Electrum {
    /// A server that `rpc` reaches.
    pub fn new(currency: Currency, rpc: Rpc) -> Electrum {
        Electrum { currency, rpc }
    }

    /// Calls a method. A fault of the server means that it does not have the requested data.
    fn ask<T: serde::de::DeserializeOwned>(
        &self,
        calls: &Calls<'_>,
        method: &str,
        params: Value,
    ) -> Result<T, SourceError> {
        self.rpc.call(calls, method, params).map_err(|error| match error {
            RpcError::Fault(_) => SourceError::NotFound,
            RpcError::Source(error) => error,
        })
    }

    fn places(&self, calls: &Calls<'_>, script: &[u8]) -> Result<Vec<HistoryEntry>, SourceError> {
        let mut places: Vec<HistoryEntry> = self.ask(
            calls,
            "blockchain.scripthash.get_history",
            json!([script_hash(script)]),
        )?;
        places.retain(|place| place.height > 0);
        places.sort_by(|a, b| (a.height, &a.tx_hash).cmp(&(b.height, &b.tx_hash)));
        places.dedup_by(|a, b| a.tx_hash == b.tx_hash);
        Ok(places)
    }

    /// Fetches raw transactions and checks the id of each.
    fn bytes(
        &self,
        calls: &Calls<'_>,
        ids: &BTreeSet<String>,
    ) -> Result<HashMap<String, Bytes>, SourceError> {
        let asked: Vec<(&str, Value)> = ids
            .iter()
            .map(|id| ("blockchain.transaction.get", json!([id, false])))
            .collect();
        let texts: Vec<String> = self.rpc.batch(calls, &asked).map_err(|error| match error {
            RpcError::Fault(_) => SourceError::NotFound,
            RpcError::Source(error) => error,
        })?;
        let mut found = HashMap::with_capacity(ids.len());
        for (id, text) in ids.iter().zip(texts) {
            let bytes = hex::decode(text).map_err(|_| nonsense("a transaction is not hexadecimal"))?;
            if hash_text(&self.parsed(&bytes)?.id) != *id {
                return Err(nonsense("another transaction than was asked for"));
            }
            found.insert(id.clone(), Bytes(bytes));
        }
        Ok(found)
    }

    fn parsed<'a>(&self, bytes: &'a [u8]) -> Result<RawTransaction<'a>, SourceError> {
        parse_transaction(self.currency, bytes).map_err(|bad| SourceError::Nonsense(bad.to_string()))
    }

    fn party(&self, script: &[u8]) -> Option<Party> {
        Address::of_script(self.currency, script).map(|address| address.canonical.into())
    }

    /// Builds transactions with the owners and amounts of their inputs; each comes with the height of its
    /// block.
    fn built(
        &self,
        calls: &Calls<'_>,
        wanted: &[(String, Option<u64>)],
    ) -> Result<Vec<Transaction>, SourceError> {
        let ids: BTreeSet<String> = wanted.iter().map(|(id, _)| id.clone()).collect();
        let bytes = self.bytes(calls, &ids)?;
        let mut spent = BTreeSet::new();
        for bytes in bytes.values() {
            let raw = self.parsed(&bytes.0)?;
            if !raw.is_coinbase() {
                spent.extend(raw.inputs.iter().map(|input| hash_text(input.transaction)));
            }
        }
        spent.retain(|id| !bytes.contains_key(id));
        let before = self.bytes(calls, &spent)?;
        let times = self.times(calls, wanted.iter().filter_map(|(_, height)| *height))?;
        let held = |id: &str, output: u32| -> Result<(Option<Party>, Amount), SourceError> {
            let maker = bytes.get(id).or_else(|| before.get(id));
            let maker = self.parsed(maker.map_or(&[][..], |maker| &maker.0))?;
            let made = maker.outputs.get(output as usize);
            let made = made.ok_or_else(|| nonsense("an input spends an output that was never made"))?;
            Ok((self.party(made.script), Amount::from(made.amount)))
        };
        let one = |(id, height): &(String, Option<u64>)| -> Result<Transaction, SourceError> {
            let raw = self.parsed(bytes.get(id).map_or(&[][..], |bytes| &bytes.0))?;
            let mut inputs = Vec::with_capacity(raw.inputs.len());
            for input in raw.inputs.iter().filter(|_| !raw.is_coinbase()) {
                let id = hash_text(input.transaction);
                let (party, amount) = held(&id, input.output)?;
                inputs.push(Input {
                    transaction: id.into(),
                    output: input.output,
                    party,
                    amount,
                });
            }
            let outputs = raw.outputs.iter().map(|output| Output {
                party: self.party(output.script),
                amount: Amount::from(output.amount),
            });
            let mut transaction = Transaction::of_outputs(id.as_str().into(), inputs, outputs.collect());
            // The server does not state the position within the block.
            transaction.position = height.map(|height| Position { height, index: 0 });
            transaction.time = height.and_then(|height| times.get(&height).copied());
            Ok(transaction)
        };
        wanted.iter().map(one).collect()
    }

    /// The times of blocks in milliseconds, by height.
    fn times(
        &self,
        calls: &Calls<'_>,
        heights: impl Iterator<Item = u64>,
    ) -> Result<HashMap<u64, i64>, SourceError> {
        let heights: BTreeSet<u64> = heights.collect();
        let asked: Vec<(&str, Value)> = heights
            .iter()
            .map(|height| ("blockchain.block.header", json!([height])))
            .collect();
        let texts: Vec<String> = self.rpc.batch(calls, &asked)?;
        let times = heights.into_iter().zip(texts);
        times
            .map(|(height, text)| Ok((height, i64::from(header(&text)?.time) * 1000)))
            .collect()
    }

    /// The height of a transaction's block, found in the history of one of its outputs.
    fn height(
        &self,
        calls: &Calls<'_>,
        id: &str,
        raw: &RawTransaction<'_>,
    ) -> Result<Option<u64>, SourceError> {
        for output in raw.outputs.iter().filter(|output| !output.script.is_empty()) {
            let places = match self.places(calls, output.script) {
                // The server refuses a history that is too long; another output's history may be shorter.
                Err(SourceError::NotFound) => continue,
                places => places?,
            };
            if let Some(place) = places.iter().find(|place| place.tx_hash == id) {
                return Ok(u64::try_from(place.height).ok());
            }
        }
        Ok(None)
    }
}

impl Provider for Electrum {
    fn name(&self) -> &str {
        "electrum"
    }

    fn tip(&self, calls: &Calls<'_>) -> Result<Tip, SourceError> {
        let told: HeaderNotice = self.rpc.call(calls, "blockchain.headers.subscribe", json!([]))?;
        let header = header(&told.hex)?;
        Ok(Tip {
            height: told.height,
            hash: hash_text(&header.hash),
            time: Some(i64::from(header.time) * 1000),
        })
    }

    fn history(&self, calls: &Calls<'_>, party: &str, limit: usize) -> Result<History, SourceError> {
        let address = Address::parse(self.currency, party).map_err(|_| SourceError::NotFound)?;
        let script = address.script().ok_or(SourceError::NotFound)?;
        let places = self.places(calls, &script)?;
        let skipped = places.len().saturating_sub(limit);
        let wanted: Vec<(String, Option<u64>)> = places
            .into_iter()
            .skip(skipped)
            .map(|place| (place.tx_hash, u64::try_from(place.height).ok()))
            .collect();
        let mut transactions = self.built(calls, &wanted)?;
        transactions.sort_by(|a, b| a.order().cmp(&b.order()));
        Ok(History {
            transactions: transactions.into_iter().map(Arc::new).collect(),
            complete: skipped == 0,
            totals: None,
            tokens_unseen_to: None,
        })
    }

    fn transaction(&self, calls: &Calls<'_>, id: &str) -> Result<Transaction, SourceError> {
        let bytes = self.bytes(calls, &BTreeSet::from([id.to_owned()]))?;
        let bytes = bytes.get(id).map_or(&[][..], |bytes| &bytes.0);
        let height = self.height(calls, id, &self.parsed(bytes)?)?;
        let one = self.built(calls, &[(id.to_owned(), height)])?.into_iter().next();
        one.ok_or(SourceError::NotFound)
    }

    fn spends(&self, calls: &Calls<'_>, id: &str) -> Result<Vec<Option<TxId>>, SourceError> {
        let bytes = self.bytes(calls, &BTreeSet::from([id.to_owned()]))?;
        let raw = self.parsed(bytes.get(id).map_or(&[][..], |bytes| &bytes.0))?;
        let mut spends: Vec<Option<TxId>> = vec![None; raw.outputs.len()];
        let mut scripts: Vec<&[u8]> = raw.outputs.iter().map(|output| output.script).collect();
        scripts.sort_unstable();
        scripts.dedup();
        for script in scripts.into_iter().filter(|script| !script.is_empty()) {
            let unspent: Vec<Unspent> = self.ask(
                calls,
                "blockchain.scripthash.listunspent",
                json!([script_hash(script)]),
            )?;
            let is_unspent = |number: usize| {
                let found = |unspent: &Unspent| unspent.tx_hash == id && unspent.tx_pos as usize == number;
                unspent.iter().any(found)
            };
            let gone = |(number, output): &(usize, &crate::ingest::block::RawOutput<'_>)| {
                output.script == script && !is_unspent(*number)
            };
            if !raw.outputs.iter().enumerate().any(|output| gone(&output)) {
                continue;
            }
            let places = self.places(calls, script)?;
            let made = places.iter().find(|place| place.tx_hash == id);
            let since = made.map_or(0, |place| place.height);
            let later = places
                .iter()
                .filter(|place| place.height >= since && place.tx_hash != id);
            let later: BTreeSet<String> = later.map(|place| place.tx_hash.clone()).collect();
            for (spender, bytes) in self.bytes(calls, &later)? {
                for input in self.parsed(&bytes.0)?.inputs {
                    if hash_text(input.transaction) == id
                        && let Some(spend) = spends.get_mut(input.output as usize)
                    {
                        *spend = Some(spender.as_str().into());
                    }
                }
            }
        }
        Ok(spends)
    }
}
