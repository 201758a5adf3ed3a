//! A fake node with a small chain. It covers the methods that nodes share and the ones in which they differ.

use std::sync::atomic::{AtomicBool, Ordering};

use chain::currency::Currency;
use serde_json::{Value, json};

use super::quantity::{number, quantity};
use super::transaction::{TRANSFER, account};
use crate::ondemand::{HttpRequest, HttpResponse, Transport, TransportError};

pub(super) fn holder(number: u8) -> String {
    format!("0x{}", hex::encode([number; 20]))
}

pub(super) fn canonical(number: u8) -> String {
    account(Currency::Eth, &holder(number)).unwrap().to_string()
}

/// A call of a contract inside a transaction.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) from: u8,
    pub(super) to: u8,
    pub(super) value: u64,
    /// 0 is CALL, 1 DELEGATECALL, 2 CREATE and 3 SELFDESTRUCT.
    pub(super) kind: u8,
    pub(super) undone: bool,
    pub(super) within: Vec<Call>,
}

#[derive(Clone, Debug)]
pub(super) struct FakeTransaction {
    pub(super) from: u8,
    pub(super) to: Option<u8>,
    pub(super) value: u64,
    pub(super) calls: Vec<Call>,
    pub(super) tokens: Vec<(u8, u8, u64)>,
    pub(super) failed: bool,
    pub(super) plain: bool,
}

/// The kind of traces that the node offers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Traces {
    Parity,
    Geth,
    None,
}

pub(super) struct FakeNode {
    pub(super) blocks: Vec<Vec<FakeTransaction>>,
    pub(super) traces: Traces,
    /// The largest number of blocks in one search of logs.
    pub(super) log_range: u64,
    /// The page size of Otterscan's index, if the node has one; `trace_filter` then fails unless `one_sided`
    /// is set.
    pub(super) otterscan: Option<usize>,
    /// Whether `trace_filter` works for senders only.
    pub(super) one_sided: bool,
    /// The distance in blocks between two blocks with transactions.
    pub(super) stretch: u64,
    pub(super) reorganised: AtomicBool,
}

pub(super) const TOKEN: u8 = 0xee;
pub(super) const MADE: u8 = 0xcc;

impl FakeNode {
    pub(super) fn stretched(blocks: Vec<Vec<FakeTransaction>>, stretch: u64) -> FakeNode {
        FakeNode {
            stretch,
            ..FakeNode::new(blocks, Traces::Parity)
        }
    }

    pub(super) fn new(blocks: Vec<Vec<FakeTransaction>>, traces: Traces) -> FakeNode {
        FakeNode {
            blocks,
            traces,
            log_range: u64::MAX,
            otterscan: None,
            one_sided: false,
            stretch: 1,
            reorganised: AtomicBool::new(false),
        }
    }

    pub(super) fn block_hash(&self, height: u64) -> String {
        let fork = self.reorganised.load(Ordering::SeqCst) && height + 3 >= self.blocks.len() as u64;
        format!("0x{:064x}", height + 1 + if fork { 0xf000 } else { 0 })
    }

    pub(super) fn id(&self, height: u64, index: usize) -> String {
        format!("0x{:064x}", (height + 1) * 1_000_000 + index as u64)
    }

    fn sent(&self, hash: &str) -> Option<(u64, usize, &FakeTransaction)> {
        let number = u64::from_str_radix(hash.trim_start_matches("0x"), 16).ok()?;
        let (height, index) = (number / 1_000_000 - 1, usize::try_from(number % 1_000_000).ok()?);
        Some((height, index, self.sent_in(height)?.get(index)?))
    }

    pub(super) fn newest(&self) -> u64 {
        (self.blocks.len() as u64 - 1) * self.stretch
    }

    /// The transactions of a block; empty for the blocks between.
    fn sent_in(&self, height: u64) -> Option<&[FakeTransaction]> {
        if height > self.newest() {
            return None;
        }
        if !height.is_multiple_of(self.stretch) {
            return Some(&[]);
        }
        let block = self.blocks.get(usize::try_from(height / self.stretch).ok()?)?;
        Some(block)
    }

    fn transaction(&self, height: u64, index: usize, sent: &FakeTransaction) -> Value {
        json!({"hash": self.id(height, index), "from": holder(sent.from), "to": sent.to.map(holder), "unknown": {"a": [1]},
            "value": quantity(sent.value), "gasPrice": "0x1", "blockHash": self.block_hash(height),
            "blockNumber": quantity(height), "transactionIndex": quantity(index as u64)})
    }

    fn log(token: &(u8, u8, u64)) -> Value {
        let topic = |number: u8| format!("0x{:0>64}", hex::encode([number; 20]));
        json!({"address": holder(TOKEN), "topics": [TRANSFER, topic(token.0), topic(token.1)],
            "data": format!("0x{:064x}", token.2)})
    }

    fn receipt(&self, height: u64, index: usize, sent: &FakeTransaction) -> Value {
        let logs: Vec<Value> = if sent.failed {
            Vec::new()
        } else {
            sent.tokens.iter().map(FakeNode::log).collect()
        };
        json!({"transactionHash": self.id(height, index), "status": if sent.failed { "0x0" } else { "0x1" },
            "gasUsed": if sent.plain { "0x5208" } else { "0x10000" }, "effectiveGasPrice": "0x2",
            "contractAddress": sent.to.is_none().then(|| holder(MADE)), "logs": logs})
    }

    fn flat(&self, height: u64, index: usize, sent: &FakeTransaction) -> Vec<Value> {
        let mut frames = Vec::new();
        let place = |mut frame: Value, at: &[usize]| {
            frame["traceAddress"] = json!(at);
            frame["transactionHash"] = self.id(height, index).into();
            frame["transactionPosition"] = index.into();
            frame["blockNumber"] = height.into();
            frame
        };
        let value = quantity(sent.value);
        let mut root = match sent.to {
            Some(to) => {
                json!({"type": "call", "action": {"from": holder(sent.from), "to": holder(to), "value": value,
                "callType": "call"}})
            }
            None => {
                json!({"type": "create", "action": {"from": holder(sent.from), "value": value, "init": "0x"},
                "result": {"address": holder(MADE)}})
            }
        };
        if sent.failed {
            root["error"] = "Reverted".into();
        }
        frames.push(place(root, &[]));
        fn inner(
            calls: &[Call],
            at: &[usize],
            place: &dyn Fn(Value, &[usize]) -> Value,
            frames: &mut Vec<Value>,
        ) {
            for (number, call) in calls.iter().enumerate() {
                let at = [at, &[number]].concat();
                let value = quantity(call.value);
                let mut frame = match call.kind {
                    2 => {
                        json!({"type": "create", "action": {"from": holder(call.from), "value": value, "init": "0x"},
                        "result": {"address": holder(call.to)}})
                    }
                    3 => json!({"type": "suicide", "action": {"address": holder(call.from),
                        "refundAddress": holder(call.to), "balance": value}}),
                    kind => {
                        json!({"type": "call", "action": {"from": holder(call.from), "to": holder(call.to),
                        "value": value, "callType": if kind == 0 { "call" } else { "delegatecall" }}})
                    }
                };
                if call.undone {
                    frame["error"] = "Reverted".into();
                }
                frames.push(place(frame, &at));
                inner(&call.within, &at, place, frames);
            }
        }
        inner(&sent.calls, &[], &place, &mut frames);
        frames
    }

    fn nested(sent: &FakeTransaction) -> Value {
        fn inner(call: &Call) -> Value {
            let kind = ["CALL", "DELEGATECALL", "CREATE", "SELFDESTRUCT"][usize::from(call.kind)];
            let mut frame = json!({"type": kind, "from": holder(call.from), "to": holder(call.to),
                "value": quantity(call.value), "gas": "0x1"});
            if !call.within.is_empty() {
                frame["calls"] = call.within.iter().map(inner).collect();
            }
            if call.undone {
                frame["error"] = "execution reverted".into();
            }
            frame
        }
        let kind = if sent.to.is_some() { "CALL" } else { "CREATE" };
        let mut root = json!({"type": kind, "from": holder(sent.from), "to": holder(sent.to.unwrap_or(MADE)),
            "value": quantity(sent.value), "calls": sent.calls.iter().map(inner).collect::<Value>()});
        if sent.failed {
            root["error"] = "out of gas".into();
        }
        root
    }

    fn block(&self, height: u64, full: bool) -> Value {
        let Some(block) = self.sent_in(height) else {
            return Value::Null;
        };
        let transactions: Vec<Value> = block
            .iter()
            .enumerate()
            .map(|(index, sent)| match full {
                true => self.transaction(height, index, sent),
                false => self.id(height, index).into(),
            })
            .collect();
        let parent = if height == 0 {
            format!("0x{:064x}", 0)
        } else {
            self.block_hash(height - 1)
        };
        json!({"hash": self.block_hash(height), "parentHash": parent, "number": quantity(height),
            "timestamp": quantity(now() / 1000 + height * 12), "transactions": transactions, "withdrawals": []})
    }

    pub(super) fn every(&self) -> impl Iterator<Item = (u64, usize, &FakeTransaction)> {
        (0u64..).zip(&self.blocks).flat_map(move |(number, block)| {
            block
                .iter()
                .enumerate()
                .map(move |(index, sent)| (number * self.stretch, index, sent))
        })
    }

    /// A page in the format of Erigon 3: from the newest to the oldest, cut at the page size even within a
    /// block.
    fn listed(&self, params: &Value) -> Result<Value, i64> {
        let (address, before) = (params[0].as_str().unwrap(), params[1].as_u64().unwrap());
        let size = usize::try_from(params[2].as_u64().unwrap()).unwrap();
        if Some(size) > self.otterscan {
            return Err(-32000);
        }
        let touches = |frame: &Value| {
            let action = &frame["action"];
            ["from", "to", "address", "refundAddress"]
                .iter()
                .any(|key| action[*key] == address)
                || frame["result"]["address"] == address
        };
        let mut all: Vec<Value> = self
            .every()
            .filter(|(height, ..)| before == 0 || *height < before)
            .filter(|(height, index, sent)| self.flat(*height, *index, sent).iter().any(touches))
            .map(|(height, index, sent)| self.transaction(height, index, sent))
            .collect();
        all.reverse();
        let last = all.len() <= size;
        all.truncate(size);
        let receipts: Vec<Value> = all
            .iter()
            .map(|_| json!({"status": "0x1", "logs": null}))
            .collect();
        Ok(json!({"txs": all, "receipts": receipts, "firstPage": before == 0, "lastPage": last}))
    }

    pub(super) fn result(&self, method: &str, params: &Value) -> Result<Value, i64> {
        let text = |place: usize| params[place].as_str().unwrap_or_default();
        let height_of = |hash: &str| {
            (0..=self.newest())
                .step_by(self.stretch.try_into().unwrap())
                .find(|height| self.block_hash(*height) == hash)
        };
        let newest = self.newest();
        let full = params[1].as_bool().unwrap_or(false);
        let parity = self.traces == Traces::Parity;
        let geth = self.traces == Traces::Geth;
        Ok(match method {
            "eth_blockNumber" => quantity(newest).into(),
            "eth_getBlockByNumber" if text(0) == "latest" => self.block(newest, full),
            "eth_getBlockByNumber" => self.block(number(text(0)).unwrap(), full),
            "eth_getBlockByHash" => height_of(text(0)).map_or(Value::Null, |height| self.block(height, full)),
            "eth_getBlockReceipts" if geth => return Err(-32601),
            "eth_getBlockReceipts" => {
                let height = number(text(0)).unwrap();
                let of_block = self.every().filter(|(at, ..)| *at == height);
                of_block
                    .map(|(height, index, sent)| self.receipt(height, index, sent))
                    .collect()
            }
            "eth_getTransactionByHash" => self.sent(text(0)).map_or(Value::Null, |(height, index, sent)| {
                self.transaction(height, index, sent)
            }),
            "eth_getTransactionReceipt" => self.sent(text(0)).map_or(Value::Null, |(height, index, sent)| {
                self.receipt(height, index, sent)
            }),
            "trace_block" if parity => {
                let height = number(text(0)).unwrap();
                let of_block = self.every().filter(|(at, ..)| *at == height);
                let mut frames: Vec<Value> = of_block
                    .flat_map(|(height, index, sent)| self.flat(height, index, sent))
                    .collect();
                frames.push(
                    json!({"type": "reward", "action": {"author": holder(1), "rewardType": "block",
                    "value": "0x1"}, "blockNumber": height, "traceAddress": []}),
                );
                frames.into()
            }
            "trace_transaction" if parity => {
                let (height, index, sent) = self.sent(text(0)).ok_or(-32000)?;
                self.flat(height, index, sent).into()
            }
            "ots_searchTransactionsBefore" if self.otterscan.is_some() => self.listed(params)?,
            "trace_filter" if self.one_sided && params[0]["toAddress"].is_array() => return Err(-32000),
            "trace_filter" if self.otterscan.is_some() && !self.one_sided => return Err(-32602),
            "trace_filter" if parity => {
                let filter = &params[0];
                let side = |frame: &Value, name: &str, keys: [&str; 2]| {
                    let wanted = filter[name][0].as_str();
                    wanted.is_none_or(|wanted| keys.iter().any(|key| frame["action"][*key] == wanted))
                };
                let frames = self
                    .every()
                    .flat_map(|(height, index, sent)| self.flat(height, index, sent));
                frames
                    .filter(|frame| side(frame, "fromAddress", ["from", "address"]))
                    .filter(|frame| {
                        side(frame, "toAddress", ["to", "refundAddress"])
                            || filter["toAddress"][0] == frame["result"]["address"]
                                && !frame["result"].is_null()
                    })
                    .skip(usize::try_from(filter["after"].as_u64().unwrap()).unwrap())
                    .take(usize::try_from(filter["count"].as_u64().unwrap()).unwrap())
                    .collect()
            }
            "debug_traceBlockByHash" if geth => {
                let height = height_of(text(0)).ok_or(-32000)?;
                let of_block = self.every().filter(|(at, ..)| *at == height);
                of_block
                    .map(|(_, _, sent)| json!({"result": FakeNode::nested(sent)}))
                    .collect()
            }
            "debug_traceTransaction" if geth => FakeNode::nested(self.sent(text(0)).ok_or(-32000)?.2),
            "eth_getLogs" => {
                let bound = |name: &str| number(params[0][name].as_str().unwrap()).unwrap();
                let (from, to) = (bound("fromBlock"), bound("toBlock"));
                if to - from >= self.log_range {
                    return Err(-32005);
                }
                let wanted = params[0]["topics"].as_array().unwrap();
                let mut found = Vec::new();
                for (height, index, sent) in self.every().filter(|(_, _, sent)| !sent.failed) {
                    for mut log in sent.tokens.iter().map(FakeNode::log) {
                        let fits = wanted
                            .iter()
                            .enumerate()
                            .all(|(place, topic)| topic.is_null() || *topic == log["topics"][place]);
                        if fits && (from..=to).contains(&height) {
                            log["transactionHash"] = self.id(height, index).into();
                            log["blockNumber"] = quantity(height).into();
                            log["transactionIndex"] = quantity(index as u64).into();
                            found.push(log);
                        }
                    }
                }
                found.into()
            }
            _ => return Err(-32601),
        })
    }

    fn reply(&self, call: &Value) -> Value {
        match self.result(call["method"].as_str().unwrap(), &call["params"]) {
            Ok(result) => json!({"jsonrpc": "2.0", "id": call["id"], "result": result}),
            Err(code) => {
                json!({"jsonrpc": "2.0", "id": call["id"], "error": {"code": code, "message": "no"}})
            }
        }
    }
}

impl Transport for FakeNode {
    fn send(&self, request: &HttpRequest) -> Result<HttpResponse, TransportError> {
        let body: Value = serde_json::from_str(request.body.as_ref().unwrap()).unwrap();
        let answer = match &body {
            // The replies are reversed, because nodes may answer in any order.
            Value::Array(calls) => calls.iter().rev().map(|call| self.reply(call)).collect(),
            call => self.reply(call),
        };
        Ok(HttpResponse {
            status: 200,
            body: answer.to_string().into_bytes(),
        })
    }
}

/// Now, rounded to the hour: a graph with an old tip cannot state whether an address is new.
fn now() -> u64 {
    let now = u64::try_from(jiff::Timestamp::now().as_millisecond()).unwrap();
    now - now % 3_600_000
}

pub(super) fn plain(from: u8, to: u8, value: u64) -> FakeTransaction {
    FakeTransaction {
        from,
        to: Some(to),
        value,
        calls: Vec::new(),
        tokens: Vec::new(),
        failed: false,
        plain: true,
    }
}
