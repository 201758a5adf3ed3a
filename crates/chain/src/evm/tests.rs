//! A node played from a small chain: ingested and on demand give the same answer, with either kind of trace, and every way of
//! answering badly is told apart.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::category::Category;
use crate::graph::Graph;
use crate::ingest::load::follow;
use crate::ingest::node::Node;
use crate::labels::{Label, Labels};
use crate::ondemand::{Budget, HttpRequest, HttpResponse, OnDemand, Transport, TransportError};
use crate::profile::Profile;
use crate::rpc::Rpc;
use crate::screen::{Request, Screen, Subject, screen_address, screen_transaction};
use crate::source::{Movement, Source, Window};

pub(super) fn holder(number: u8) -> String {
    format!("0x{}", hex::encode([number; 20]))
}

pub(super) fn canonical(number: u8) -> String {
    account(Currency::Eth, &holder(number)).unwrap().to_string()
}

/// What a contract does inside a transaction.
#[derive(Clone, Debug)]
pub(super) struct Call {
    from: u8,
    to: u8,
    value: u64,
    /// CALL, DELEGATECALL, CREATE or SELFDESTRUCT.
    kind: u8,
    undone: bool,
    within: Vec<Call>,
}

#[derive(Clone, Debug)]
pub(super) struct Sent {
    pub(super) from: u8,
    pub(super) to: Option<u8>,
    pub(super) value: u64,
    pub(super) calls: Vec<Call>,
    pub(super) tokens: Vec<(u8, u8, u64)>,
    pub(super) failed: bool,
    pub(super) plain: bool,
}

/// What a played node offers.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Traces {
    Parity,
    Geth,
    None,
}

pub(super) struct Played {
    blocks: Vec<Vec<Sent>>,
    traces: Traces,
    /// Takes at most so many blocks in one search of logs.
    log_range: u64,
    /// Transactions in a page of Otterscan's index, if it keeps one; then it keeps none of traces.
    otterscan: Option<usize>,
    /// From one block to the next that anything happened in.
    stretch: u64,
    reorganised: AtomicBool,
}

const TOKEN: u8 = 0xee;
const MADE: u8 = 0xcc;

impl Played {
    pub(super) fn stretched(blocks: Vec<Vec<Sent>>, stretch: u64) -> Played {
        Played {
            stretch,
            ..Played::new(blocks, Traces::Parity)
        }
    }

    fn new(blocks: Vec<Vec<Sent>>, traces: Traces) -> Played {
        Played {
            blocks,
            traces,
            log_range: u64::MAX,
            otterscan: None,
            stretch: 1,
            reorganised: AtomicBool::new(false),
        }
    }

    fn block_hash(&self, height: u64) -> String {
        let fork = self.reorganised.load(Ordering::SeqCst) && height + 3 >= self.blocks.len() as u64;
        format!("0x{:064x}", height + 1 + if fork { 0xf000 } else { 0 })
    }

    fn id(&self, height: u64, index: usize) -> String {
        format!("0x{:064x}", (height + 1) * 1_000_000 + index as u64)
    }

    fn sent(&self, hash: &str) -> Option<(u64, usize, &Sent)> {
        let number = u64::from_str_radix(hash.trim_start_matches("0x"), 16).ok()?;
        let (height, index) = (number / 1_000_000 - 1, usize::try_from(number % 1_000_000).ok()?);
        Some((height, index, self.sent_in(height)?.get(index)?))
    }

    pub(super) fn newest(&self) -> u64 {
        (self.blocks.len() as u64 - 1) * self.stretch
    }

    /// What was sent in a block; nothing in those between.
    fn sent_in(&self, height: u64) -> Option<&[Sent]> {
        if height > self.newest() {
            return None;
        }
        if !height.is_multiple_of(self.stretch) {
            return Some(&[]);
        }
        let block = self.blocks.get(usize::try_from(height / self.stretch).ok()?)?;
        Some(block)
    }

    fn transaction(&self, height: u64, index: usize, sent: &Sent) -> Value {
        json!({"hash": self.id(height, index), "from": holder(sent.from), "to": sent.to.map(holder), "unknown": {"a": [1]},
            "value": quantity(sent.value), "gasPrice": "0x1", "blockHash": self.block_hash(height),
            "blockNumber": quantity(height), "transactionIndex": quantity(index as u64)})
    }

    fn log(token: &(u8, u8, u64)) -> Value {
        let topic = |number: u8| format!("0x{:0>64}", hex::encode([number; 20]));
        json!({"address": holder(TOKEN), "topics": [TRANSFER, topic(token.0), topic(token.1)],
            "data": format!("0x{:064x}", token.2)})
    }

    fn receipt(&self, height: u64, index: usize, sent: &Sent) -> Value {
        let logs: Vec<Value> = if sent.failed {
            Vec::new()
        } else {
            sent.tokens.iter().map(Played::log).collect()
        };
        json!({"transactionHash": self.id(height, index), "status": if sent.failed { "0x0" } else { "0x1" },
            "gasUsed": if sent.plain { "0x5208" } else { "0x10000" }, "effectiveGasPrice": "0x2",
            "contractAddress": sent.to.is_none().then(|| holder(MADE)), "logs": logs})
    }

    fn flat(&self, height: u64, index: usize, sent: &Sent) -> Vec<Value> {
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

    fn nested(sent: &Sent) -> Value {
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

    fn every(&self) -> impl Iterator<Item = (u64, usize, &Sent)> {
        (0u64..).zip(&self.blocks).flat_map(move |(number, block)| {
            block
                .iter()
                .enumerate()
                .map(move |(index, sent)| (number * self.stretch, index, sent))
        })
    }

    /// A page as Erigon 3 makes it: the newest first, cut where it is full, also within a block.
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
            "trace_filter" if self.otterscan.is_some() => return Err(-32602),
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
                    .map(|(_, _, sent)| json!({"result": Played::nested(sent)}))
                    .collect()
            }
            "debug_traceTransaction" if geth => Played::nested(self.sent(text(0)).ok_or(-32000)?.2),
            "eth_getLogs" => {
                let bound = |name: &str| number(params[0][name].as_str().unwrap()).unwrap();
                let (from, to) = (bound("fromBlock"), bound("toBlock"));
                if to - from >= self.log_range {
                    return Err(-32005);
                }
                let wanted = params[0]["topics"].as_array().unwrap();
                let mut found = Vec::new();
                for (height, index, sent) in self.every().filter(|(_, _, sent)| !sent.failed) {
                    for mut log in sent.tokens.iter().map(Played::log) {
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

impl Transport for Played {
    fn send(&self, request: &HttpRequest) -> Result<HttpResponse, TransportError> {
        let body: Value = serde_json::from_str(request.body.as_ref().unwrap()).unwrap();
        let answer = match &body {
            // In any order, as nodes may.
            Value::Array(calls) => calls.iter().rev().map(|call| self.reply(call)).collect(),
            call => self.reply(call),
        };
        Ok(HttpResponse {
            status: 200,
            body: answer.to_string().into_bytes(),
        })
    }
}

/// Now, to the hour: a graph whose newest block is old does not know whether an address is new.
fn now() -> u64 {
    let now = u64::try_from(jiff::Timestamp::now().as_millisecond()).unwrap();
    now - now % 3_600_000
}

pub(super) struct Known;

impl Labels for Known {
    fn labels(&self, _chain: Currency, address: &str, _at: i64) -> Vec<Label> {
        let label = |name: &str, category| Label {
            name: name.to_owned(),
            category,
            source: "test".to_owned(),
            confidence: 90,
            valid_from: None,
            valid_to: None,
            authority: false,
        };
        match address {
            _ if address == canonical(1) => vec![label("Mixer", Category::Mixer)],
            _ if address == canonical(2) => vec![label("Exchange", Category::Exchange)],
            _ => Vec::new(),
        }
    }

    fn version(&self) -> String {
        "test".to_owned()
    }
}

pub(super) fn told(screen: &Screen) -> Value {
    let mut detail = serde_json::to_value(&screen.detail).unwrap();
    detail["exposures"]["source"] = Value::Null;
    detail["score"] = screen.score.value().into();
    detail
}

fn node(played: &Arc<Played>, without_traces: bool) -> EvmNode {
    EvmNode::new(
        Currency::Eth,
        Rpc::new("http://node"),
        played.clone(),
        without_traces,
    )
}

fn index(played: &Arc<Played>) -> OnDemand {
    let provider = Box::new(Evm::new(Currency::Eth, Rpc::new("http://node")));
    let budget = Budget {
        requests: 1_000_000,
        ..Budget::default()
    };
    OnDemand::new(provider, played.clone(), budget)
}

fn any_call() -> impl Strategy<Value = Call> {
    let leaf = (1u8..8, 1u8..8, 0u64..50, 0u8..4, prop::bool::weighted(0.2)).prop_map(
        |(from, to, value, kind, undone)| Call {
            from,
            to,
            value: if kind == 1 { 0 } else { value },
            kind,
            undone,
            within: Vec::new(),
        },
    );
    leaf.prop_recursive(3, 6, 2, |inner| {
        (inner.clone(), prop::collection::vec(inner, 0..3)).prop_map(|(mut call, within)| {
            // What a contract left behind when it ended runs nothing more.
            if call.kind != 3 {
                call.within = within;
            }
            call
        })
    })
}

fn any_sent() -> impl Strategy<Value = Sent> {
    let calls = prop::collection::vec(any_call(), 0..3);
    let tokens = prop::collection::vec((1u8..8, 1u8..8, 0u64..9), 0..2);
    let flags = (
        prop::bool::weighted(0.1),
        prop::bool::weighted(0.5),
        prop::bool::weighted(0.1),
    );
    (1u8..8, 1u8..8, 0u64..100, calls, tokens, flags).prop_map(
        |(from, to, value, calls, tokens, (failed, plain, creates))| Sent {
            from,
            to: (plain || !creates).then_some(to),
            value,
            calls: if plain { Vec::new() } else { calls },
            tokens: if plain { Vec::new() } else { tokens },
            failed,
            plain,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn ingested_and_on_demand_give_the_same_answer(blocks in prop::collection::vec(prop::collection::vec(any_sent(), 0..6), 1..6)) {
        let parity = Arc::new(Played { log_range: 2, ..Played::new(blocks.clone(), Traces::Parity) });
        let otterscan = Arc::new(Played { otterscan: Some(25), ..Played::new(blocks.clone(), Traces::Geth) });
        let geth = Arc::new(Played::new(blocks, Traces::Geth));
        let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let graphs: Vec<Graph> = folders.iter().map(|folder| Graph::open(folder.path(), Currency::Eth).unwrap()).collect();
        follow(&graphs[0], 0, &node(&parity, false), |_| true).unwrap();
        follow(&graphs[1], 0, &node(&geth, false), |_| true).unwrap();
        let (index, listed) = (index(&parity), index(&otterscan));
        let profile = Profile::built_in();
        for number in (1..8).chain([TOKEN, MADE]) {
            let address = canonical(number);
            for block in [None, Some(1)] {
                let request = Request { as_of_block: block, ..Request::new(Currency::Eth, Subject::Address(&address)) };
                let bulk = screen_address(&graphs[0], &Known, &profile, &request).unwrap();
                let nested = screen_address(&graphs[1], &Known, &profile, &request).unwrap();
                let fetched = screen_address(&index.screening().unwrap(), &Known, &profile, &request).unwrap();
                prop_assert_eq!(told(&bulk), told(&nested));
                prop_assert_eq!(told(&bulk), told(&fetched));
                let fetched = screen_address(&listed.screening().unwrap(), &Known, &profile, &request).unwrap();
                prop_assert_eq!(told(&bulk), told(&fetched));
            }
        }
        for (height, place, _) in parity.every() {
            let id = parity.id(height, place);
            let request = Request::new(Currency::Eth, Subject::Transaction(&id));
            let bulk = screen_transaction(&graphs[0], &Known, &profile, &request).unwrap();
            let fetched = screen_transaction(&index.screening().unwrap(), &Known, &profile, &request).unwrap();
            prop_assert_eq!(told(&bulk), told(&fetched));
        }
    }
}

pub(super) fn plain(from: u8, to: u8, value: u64) -> Sent {
    Sent {
        from,
        to: Some(to),
        value,
        calls: Vec::new(),
        tokens: Vec::new(),
        failed: false,
        plain: true,
    }
}

fn call(from: u8, to: u8, value: u64) -> Call {
    Call {
        from,
        to,
        value,
        kind: 0,
        undone: false,
        within: Vec::new(),
    }
}

#[test]
fn money_that_contracts_pass_on_is_followed() {
    // The mixer pays a contract, which pays out inside the same transaction; what was undone did not happen.
    let mut undone = call(5, 6, 30);
    undone.undone = true;
    undone.within = vec![call(6, 7, 30)];
    let mixed = Sent {
        calls: vec![call(5, 4, 70), undone],
        tokens: vec![(3, 4, 9)],
        plain: false,
        ..plain(1, 5, 100)
    };
    let played = Arc::new(Played::new(
        vec![vec![mixed], vec![plain(4, 3, 70)]],
        Traces::Parity,
    ));
    let index = index(&played);
    let address = canonical(3);
    let request = Request::new(Currency::Eth, Subject::Address(&address));
    let screen = screen_address(
        &index.screening().unwrap(),
        &Known,
        &Profile::built_in(),
        &request,
    )
    .unwrap();
    let detail = told(&screen);
    assert_eq!(detail["receivedAmount"], "0.00000000000000007");
    assert_eq!(detail["exposures"]["entity"][0]["name"], "Mixer", "{detail}");
    assert_eq!(detail["exposures"]["entity"][0]["minHops"], 3);
    assert_eq!(detail["numberOfTransactions"], 2, "a token moved, too");
    let untouched = canonical(7);
    let request = Request::new(Currency::Eth, Subject::Address(&untouched));
    let screen = screen_address(
        &index.screening().unwrap(),
        &Known,
        &Profile::built_in(),
        &request,
    )
    .unwrap();
    assert_eq!(told(&screen)["newAddress"], true);
    assert!(index.check().unwrap().1);
}

#[test]
fn a_reorganisation_three_deep_is_rolled_back_exactly() {
    let blocks: Vec<Vec<Sent>> = (0..6).map(|number| vec![plain(1, 3 + number, 10)]).collect();
    let played = Arc::new(Played::new(blocks, Traces::Parity));
    let folder = tempfile::tempdir().unwrap();
    let graph = Graph::open(folder.path(), Currency::Eth).unwrap();
    let node = node(&played, false);
    assert_eq!(follow(&graph, 0, &node, |_| true).unwrap().appended, 6);
    played.reorganised.store(true, Ordering::SeqCst);
    let moved = follow(&graph, 0, &node, |_| true).unwrap();
    assert_eq!((moved.rolled_back, moved.appended), (3, 3));
    assert_eq!(graph.newest().unwrap().hash, played.block_hash(5));
    let window = Window {
        up_to: None,
        limit: 100,
    };
    assert_eq!(
        graph.history(&canonical(1), window).unwrap().transactions.len(),
        6
    );
}

#[test]
fn what_a_node_cannot_do_is_told() {
    let contract = Sent {
        plain: false,
        ..plain(1, 5, 100)
    };
    let blocks = vec![vec![contract, plain(1, 4, 1)]];
    let played = Arc::new(Played::new(blocks, Traces::None));
    let refused = node(&played, false).block(0, &played.block_hash(0)).unwrap_err();
    assert!(
        matches!(refused, SourceError::Unsupported(why) if why.contains("trace_block")),
        "{refused}"
    );
    assert_eq!(
        node(&played, true)
            .block(0, &played.block_hash(0))
            .unwrap()
            .transactions
            .len(),
        2
    );

    let index = index(&played);
    assert!(!index.check().unwrap().1);
    let source = index.screening().unwrap();
    let window = Window {
        up_to: None,
        limit: 10,
    };
    assert_eq!(source.history(&canonical(4), window), Err(SourceError::NotFound));
    assert!(matches!(
        source.transaction(&played.id(0, 0)),
        Err(SourceError::Unsupported(_))
    ));
    let known = source.transaction(&played.id(0, 1)).unwrap();
    let Movement::Transfers(transfers) = &known.movement else {
        unreachable!()
    };
    assert_eq!((transfers.len(), &transfers[0].amount), (1, &Amount::from(1)));
    assert_eq!(
        (known.fee.clone(), known.fee_payer.as_deref()),
        (Some(Amount::from(42_000)), Some(&*canonical(1)))
    );
    assert_eq!(
        source.transaction(&format!("0x{:064x}", 77_000_000)),
        Err(SourceError::NotFound)
    );
}

#[test]
fn the_index_of_otterscan_lists_addresses_too() {
    // 60 payments in one block: more than a page holds.
    let full: Vec<Sent> = (0..60).map(|_| plain(1, 4, 1)).collect();
    let blocks = vec![
        vec![plain(1, 4, 1)],
        full,
        vec![plain(4, 3, 2), plain(1, 3, 1)],
        vec![],
    ];
    for (largest, known) in [(25, None), (100, Some(62)), (10, None)] {
        let played = Arc::new(Played {
            otterscan: Some(largest),
            ..Played::new(blocks.clone(), Traces::Parity)
        });
        let index = index(&played);
        assert_eq!(index.check().unwrap().1, largest > 10);
        let source = index.screening().unwrap();
        let window = Window {
            up_to: None,
            limit: 1000,
        };
        let history = source.history(&canonical(4), window);
        match known {
            Some(known) => {
                let history = history.unwrap();
                assert_eq!((history.transactions.len(), history.complete), (known, true));
            }
            // Never taken for the whole.
            None if largest == 25 => {
                assert!(matches!(history, Err(SourceError::Unsupported(_))), "{history:?}");
            }
            None => assert_eq!(history, Err(SourceError::NotFound)),
        }
        let short = source.history(&canonical(3), window);
        assert_eq!(
            short.map(|history| history.transactions.len()).ok(),
            (largest > 10).then_some(2)
        );
        let cut = Window { limit: 30, ..window };
        let long = index.screening().unwrap().history(&canonical(1), cut);
        assert!(long.is_err() || !long.unwrap().complete);
    }
}

/// Answers everything alike.
struct Always(u16, String);

impl Transport for Always {
    fn send(&self, _request: &HttpRequest) -> Result<HttpResponse, TransportError> {
        Ok(HttpResponse {
            status: self.0,
            body: self.1.clone().into_bytes(),
        })
    }
}

#[test]
fn bad_answers_are_told_apart() {
    let result = |result: &str| format!(r#"{{"jsonrpc": "2.0", "id": 0, "result": {result}}}"#);
    let header = |number: &str| {
        result(&format!(
            r#"{{"hash": "0x1", "number": {number}, "timestamp": "0x1", "more": 1}}"#
        ))
    };
    for (status, body, expected) in [
        (503, String::new(), "cannot be reached: it answered 503"),
        (401, String::new(), "nonsense: it answered 401"),
        (500, "<html>".to_owned(), "cannot be reached: it answered 500"),
        (200, "<html>".to_owned(), "nonsense: no JSON-RPC answer"),
        (
            200,
            header("\"0x1\"")[..40].to_owned(),
            "nonsense: no JSON-RPC answer",
        ),
        (200, result("null"), "nonsense: it has no block"),
        (200, result("7"), "nonsense: a member is missing"),
        (200, result(r#"{"hash": "0x1"}"#), "nonsense: number is missing"),
        (
            200,
            header("1"),
            "nonsense: a member is missing or of another type",
        ),
        (
            200,
            header("\"0x10000000000000000\""),
            "nonsense: a number is not hexadecimal, or too large",
        ),
        (200, header("\"12\""), "nonsense: a number is not hexadecimal"),
        (
            500,
            r#"{"jsonrpc": "2.0", "id": 0, "error": {"code": -32000, "message": "0xsecret"}}"#.to_owned(),
            "nonsense: it answered with error -32000",
        ),
    ] {
        let provider = Box::new(Evm::new(Currency::Eth, Rpc::new("http://node")));
        let index = OnDemand::new(provider, Arc::new(Always(status, body)), Budget::default());
        let error = index.screening().err().unwrap().to_string();
        assert!(error.contains(expected) && !error.contains("secret"), "{error}");
    }
}

#[test]
fn amounts_have_256_bits_and_no_more() {
    let told = |value: &str| ToldTransaction {
        hash: "0x1".to_owned(),
        from: holder(1),
        to: Some(holder(2)),
        value: value.to_owned(),
        gas_price: Some(format!("0x{}", "f".repeat(64))),
        block_hash: None,
        block_number: None,
        transaction_index: None,
    };
    let receipt: ToldReceipt =
        serde_json::from_value(json!({"transactionHash": "0x1", "gasUsed": "0xffff", "logs": []})).unwrap();
    let largest = told(&format!("0x{}", "f".repeat(64)));
    let made = built(Currency::Eth, &largest, &receipt, &Inner::default(), None).unwrap();
    let Movement::Transfers(transfers) = &made.movement else {
        unreachable!()
    };
    assert_eq!(transfers[0].amount.to_string().len(), 78);
    assert!(made.fee.unwrap() > transfers[0].amount);
    let more = told(&format!("0x1{}", "0".repeat(64)));
    assert!(built(Currency::Eth, &more, &receipt, &Inner::default(), None).is_err());
}

#[test]
fn calls_a_thousand_deep_are_read() {
    let mut deep = String::new();
    for _ in 0..1024 {
        deep.push_str(r#"{"type": "CALL", "from": "0x01", "to": "0x02", "value": "0x1", "calls": ["#);
    }
    deep.push_str(r#"{"type": "CALL", "from": "0x01", "to": "0x03", "value": "0x2"}"#);
    deep.push_str(&"]}".repeat(1024));
    let root = serde_json::value::RawValue::from_string(deep).unwrap();
    assert_eq!(trace::nested(&root).unwrap().moved.len(), 1024);
}

#[test]
fn xdc_writes_accounts_with_its_own_prefix() {
    let plain = account(Currency::Xdc, &holder(1)).unwrap();
    assert_eq!(
        account(Currency::Xdc, &holder(1).replace("0x", "xdc")).unwrap(),
        plain
    );
    assert!(plain.starts_with("xdc"));
    for wrong in ["", "0x", "0x12", &format!("{}0", holder(1)), "0xzz"] {
        assert!(account(Currency::Eth, wrong).is_err());
    }
}
