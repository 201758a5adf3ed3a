//! Nodes that search the logs of few blocks at a time, return few results, are slow or refuse. Answers
//! contain what the node can provide and state what is missing.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use chain::currency::Currency;
use chain::profile::Profile;
use chain::screen::{Request, Subject, screen_address};
use chain::source::{Source, Window};
use serde_json::{Value, json};

use super::fake_node::{FakeNode, FakeTransaction, canonical, plain};
use super::quantity::number;
use super::tests::{HolderLabels, told};
use super::*;
use crate::ondemand::{Budget, HttpRequest, HttpResponse, OnDemand, Transport, TransportError};
use crate::rpc::Rpc;

/// A node's refusal of a search, by its first block, its last block and the number of logs that it found.
type Refuses = dyn Fn(u64, u64, usize) -> Option<(i64, &'static str)> + Send + Sync;

struct Node {
    played: FakeNode,
    refuses: Box<Refuses>,
    /// The largest batch of calls.
    batch: usize,
    /// The error of a search of more blocks than this number.
    chokes: Option<(u64, TransportError)>,
    /// The number of requests that searched logs, and of all requests.
    asked: [AtomicUsize; 2],
}

impl Node {
    fn new(
        blocks: Vec<Vec<FakeTransaction>>,
        stretch: u64,
        refuses: impl Fn(u64, u64, usize) -> Option<(i64, &'static str)> + Send + Sync + 'static,
    ) -> Node {
        Node {
            played: FakeNode::stretched(blocks, stretch),
            refuses: Box::new(refuses),
            batch: 1000,
            chokes: None,
            asked: Default::default(),
        }
    }

    fn asked(&self) -> [usize; 2] {
        self.asked.each_ref().map(|asked| asked.load(Ordering::SeqCst))
    }

    fn result(&self, call: &Value) -> Result<Value, (i64, &'static str)> {
        let (method, params) = (call["method"].as_str().unwrap(), &call["params"]);
        let found = self.played.result(method, params).map_err(|code| (code, "no"))?;
        if method == "eth_getLogs" {
            let bound = |name: &str| number(params[0][name].as_str().unwrap()).unwrap();
            let (from, to) = (bound("fromBlock"), bound("toBlock"));
            assert!(from <= to && to <= self.played.newest());
            if let Some(fault) = (self.refuses)(from, to, found.as_array().unwrap().len()) {
                return Err(fault);
            }
        }
        Ok(found)
    }

    fn reply(&self, call: &Value) -> Value {
        match self.result(call) {
            Ok(result) => json!({"jsonrpc": "2.0", "id": call["id"], "result": result}),
            Err((code, message)) => {
                json!({"jsonrpc": "2.0", "id": call["id"], "error": {"code": code, "message": message}})
            }
        }
    }
}

/// The largest number of blocks that one call of a request searches for logs.
fn widest(request: &str) -> u64 {
    let calls: Value = serde_json::from_str(request).unwrap();
    let one = std::slice::from_ref(&calls);
    let calls = calls.as_array().map_or(one, Vec::as_slice);
    let blocks = calls.iter().map(|call| {
        let bound = |name: &str| number(call["params"][0][name].as_str().unwrap()).unwrap();
        bound("toBlock") - bound("fromBlock") + 1
    });
    blocks.max().unwrap()
}

impl Transport for Node {
    fn send(&self, request: &HttpRequest) -> Result<HttpResponse, TransportError> {
        let text = request.body.as_ref().unwrap();
        self.asked[1].fetch_add(1, Ordering::SeqCst);
        if text.contains("eth_getLogs") {
            self.asked[0].fetch_add(1, Ordering::SeqCst);
            if let Some((most, error)) = &self.chokes
                && widest(text) > *most
            {
                if *error == TransportError::TimedOut {
                    std::thread::sleep(request.timeout);
                }
                return Err(error.clone());
            }
        }
        let answer = match serde_json::from_str(text).unwrap() {
            Value::Array(calls) if calls.len() > self.batch => {
                json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32600, "message": "batch limit exceeded"}})
            }
            Value::Array(calls) => calls.iter().map(|call| self.reply(call)).collect(),
            call => self.reply(&call),
        };
        Ok(HttpResponse {
            status: 200,
            body: answer.to_string().into_bytes(),
        })
    }
}

/// A transaction between two others in which a token moves.
fn token(from: u8, to: u8) -> FakeTransaction {
    FakeTransaction {
        tokens: vec![(from, to, 5)],
        plain: false,
        ..plain(0x41, 0x42, 0)
    }
}

/// The mixer pays 4, and 4 pays 3. Account 3 receives or sends tokens before, between and after these
/// payments.
fn blocks() -> Vec<Vec<FakeTransaction>> {
    vec![
        vec![],
        vec![token(6, 3)],
        vec![plain(1, 4, 100)],
        vec![token(3, 6), plain(4, 3, 100)],
        vec![token(6, 3)],
    ]
}

/// The blocks from one transaction to the next, so that the chain has twenty million blocks.
const STRETCH: u64 = 5_000_000;

fn indexed(node: &Arc<Node>, budget: Budget) -> OnDemand {
    // The fake node must count as quick even when the test machine is busy.
    let mut provider = Evm::new(Currency::Eth, Rpc::new("http://node"));
    provider.quick = Duration::MAX;
    OnDemand::new(Box::new(provider), Arc::<Node>::clone(node), budget)
}

fn asked_for(node: &Arc<Node>, budget: Budget) -> (OnDemand, Value) {
    let index = indexed(node, budget);
    let answer = screened(&index, 3);
    (index, answer)
}

fn screened(index: &OnDemand, holder: u8) -> Value {
    let address = canonical(holder);
    let request = Request::new(Currency::Eth, Subject::Address(&address));
    let source = index.screening().unwrap();
    told(&screen_address(&source, &HolderLabels, &Profile::built_in(), &request).unwrap())
}

fn flag(answer: &Value) -> &Value {
    &answer["exposures"]["coverage"]["tokenTransfersIncomplete"]
}

/// Checks the part of an answer that must not depend on the logs.
fn native(answer: &Value) {
    assert_eq!(answer["exposures"]["entity"][0]["name"], "Mixer", "{answer}");
    assert_eq!(answer["exposures"]["coverage"]["attributed"], 100.0);
    assert_eq!(answer["receivedAmount"], "0.0000000000000001");
    assert!(answer["score"].as_f64().unwrap() > 0.0);
}

fn nothing_claimed(answer: &Value) {
    native(answer);
    assert_eq!(*flag(answer), true, "{answer}");
    for claim in [
        "numberOfTransactions",
        "receivedTransactions",
        "sentTransactions",
        "firstSeenReceiving",
        "firstSeenSending",
    ] {
        assert_eq!(answer[claim], Value::Null, "{claim}");
    }
}

/// The default number of requests, with enough time for a busy machine.
fn patient() -> Budget {
    Budget {
        time: Duration::from_secs(3600),
        ..Budget::default()
    }
}

#[test]
fn narrow_searches_see_the_whole_chain() {
    let wide = Arc::new(Node::new(blocks(), STRETCH, |_, _, _| None));
    let (_, expected) = asked_for(&wide, patient());
    native(&expected);
    assert_eq!(
        (flag(&expected), &expected["numberOfTransactions"]),
        (&Value::Null, &json!(4))
    );
    // A trace searches no logs.
    assert_eq!(wide.asked()[0], 1);
    for (limit, fault) in [
        (1000, (-32602, "eth_getLogs is limited to a 1000 block range")),
        (
            1024,
            (
                -32602,
                "eth_getLogs is limited to 1024 block range. Please check the parameter requirements",
            ),
        ),
        (2000, (-32602, "invalid params")),
        (10_000, (-32005, "range 20000001 exceeds limit of 10000")),
        (100_000, (-32602, "query exceeds max block range 100000")),
    ] {
        let refuses = move |from, to, _| (to - from >= limit).then_some(fault);
        let node = Arc::new(Node::new(blocks(), STRETCH, refuses));
        let (_, answer) = asked_for(&node, patient());
        assert_eq!(answer, expected, "{limit}");
        let [logs, all] = node.asked();
        assert!(logs <= 100 && all <= 130, "{limit}: {logs} of {all}");
        // Erigon allows few calls in a batch.
        if limit == 10_000 {
            let refuses = move |from, to, _| (to - from >= limit).then_some(fault);
            let node = Arc::new(Node {
                batch: 100,
                ..Node::new(blocks(), STRETCH, refuses)
            });
            assert_eq!(asked_for(&node, patient()).1, expected);
        }
    }
}

#[test]
fn what_is_dense_is_searched_in_smaller_ranges() {
    // Three neighbouring blocks each have as many logs as one search may return.
    let mut blocks = blocks();
    for _ in 0..3 {
        blocks.push((0..4).map(|_| token(6, 3)).collect());
    }
    for (stretch, limit) in [(1, u64::MAX), (3, 7), (1000, 2500)] {
        let wide = Arc::new(Node::new(blocks.clone(), stretch, |_, _, _| None));
        let (_, expected) = asked_for(&wide, patient());
        assert_eq!(expected["numberOfTransactions"], 16);
        let refuses = move |from, to, found: usize| {
            let wide = (to - from >= limit).then_some((-32005, "block range is too wide"));
            let dense = (found > 4).then_some((
                -32005,
                "query returned more than 4 results. Try with this block range [0x0, 0x1].",
            ));
            wide.or(dense)
        };
        let node = Arc::new(Node::new(blocks.clone(), stretch, refuses));
        assert_eq!(asked_for(&node, patient()).1, expected, "{stretch}");
    }
}

#[test]
fn what_was_not_searched_is_not_claimed() {
    let none = |_, _, _| Some((-32601, "the method eth_getLogs does not exist/is not available"));
    let narrow = |from, to, _| (to - from >= 10).then_some((-32000, "block range is too large"));
    // Answers searches that end near the newest block and then refuses all others.
    let tired =
        |from, to, _| (to - from >= 1000 || to < 19_999_000).then_some((429, "compute units exceeded"));
    let stuck = |from, to, _| {
        let bad = from <= 10_000_000 && 10_000_000 <= to;
        (bad || to - from >= 1_000_000).then_some((-32000, "missing trie node"))
    };
    let nodes = [
        Node::new(blocks(), STRETCH, none),
        Node::new(blocks(), STRETCH, narrow),
        Node::new(blocks(), STRETCH, tired),
        Node::new(blocks(), STRETCH, stuck),
    ];
    for (number, node) in nodes.into_iter().enumerate() {
        let node = Arc::new(node);
        let (index, answer) = asked_for(&node, patient());
        nothing_claimed(&answer);
        let [logs, all] = node.asked();
        assert!(logs <= 101 && all - logs < 100, "{number}: {logs} of {all}");
        // All but the first node returned the newest token transfer, so no later one can be missing for them.
        let last = &answer["lastSeenReceiving"];
        assert_eq!(last.is_null(), number == 0, "{number}: {answer}");
        // The cached answer is the same and needs no further requests.
        assert_eq!(screened(&index, 3), answer);
        assert_eq!(node.asked()[0], logs);
    }
}

#[test]
fn a_search_that_takes_too_long_leaves_time_for_the_rest() {
    let node = Arc::new(Node {
        chokes: Some((0, TransportError::TimedOut)),
        ..Node::new(blocks(), STRETCH, |_, _, _| None)
    });
    let budget = Budget {
        time: Duration::from_secs(9),
        ..Budget::default()
    };
    nothing_claimed(&asked_for(&node, budget).1);
    let [logs, _] = node.asked();
    assert!(logs <= 12, "{logs}");
}

#[test]
fn a_node_that_chokes_on_wide_searches_is_asked_for_less() {
    // The chain has 1000 blocks.
    let stretch = 250;
    let wide = Arc::new(Node::new(blocks(), stretch, |_, _, _| None));
    let (_, expected) = asked_for(&wide, patient());
    assert_eq!(expected["numberOfTransactions"], 4);
    for error in [TransportError::TimedOut, TransportError::TooLarge] {
        let node = Arc::new(Node {
            chokes: Some((100, error.clone())),
            ..Node::new(blocks(), stretch, |_, _, _| None)
        });
        let budget = Budget {
            request_timeout: Duration::from_millis(50),
            ..patient()
        };
        let (index, answer) = asked_for(&node, budget);
        assert_eq!(answer, expected, "{error}");
        // The second screening does not search the whole chain in one call again.
        let [first, _] = node.asked();
        assert_eq!(screened(&index, 4)["numberOfTransactions"], 2);
        let second = node.asked()[0] - first;
        let attempts = if error == TransportError::TimedOut { 2 } else { 1 };
        assert_eq!(second + attempts, first, "{error}");
    }
}

/// A holder's answer must be the same when screened alone, after another holder whose trace passes it, and
/// before.
#[test]
fn answers_do_not_depend_on_what_was_asked_before() {
    // Holder 4, who has many tokens, is between the mixer and 3.
    let mut crowded = blocks();
    crowded.push((0..1200).map(|_| token(6, 4)).collect());
    for limit in [u64::MAX, 1000] {
        let index = || {
            let refuses = move |from, to, _| (to - from >= limit).then_some((-32005, "too wide"));
            indexed(&Arc::new(Node::new(crowded.clone(), 1000, refuses)), patient())
        };
        let alone = [3, 4].map(|holder| screened(&index(), holder));
        native(&alone[0]);
        assert_eq!(
            alone[1]["exposures"]["entity"][0]["name"], "Mixer",
            "{}",
            alone[1]
        );
        let asked = index();
        assert_eq!([3, 4].map(|holder| screened(&asked, holder)), alone, "{limit}");
        let asked = index();
        let [later, earlier] = [4, 3].map(|holder| screened(&asked, holder));
        assert_eq!([earlier, later], alone, "{limit}");
    }
}

#[test]
fn a_trace_sees_the_same_whatever_node_tells_it() {
    let histories = [u64::MAX, 1000, 0].map(|limit| {
        let refuses = move |from, to, _| (to - from >= limit).then_some((-32005, "too wide"));
        let node = Arc::new(Node::new(blocks(), 1000, refuses));
        let index = indexed(&node, patient());
        let source = index.screening().unwrap();
        let window = Window {
            up_to: None,
            limit: 100,
        };
        let whole = source.history(&canonical(3), window).unwrap();
        assert_eq!(whole.tokens_unseen_to.is_some(), limit == 0);
        let [logs, _] = node.asked();
        let traced = source.trace_history(&canonical(3), window).unwrap();
        assert_eq!(node.asked()[0], logs);
        traced
    });
    assert_eq!(histories[0].transactions.len(), 1);
    assert!(histories.iter().all(|history| *history == histories[0]));
}

#[test]
fn an_address_without_native_money_is_not_called_new() {
    let blocks = vec![vec![], vec![token(6, 3)], vec![]];
    for (limit, is_new) in [(u64::MAX, json!(false)), (1, Value::Null)] {
        let refuses = move |from, to, _| (to - from >= limit).then_some((-32005, "too wide"));
        let node = Arc::new(Node::new(blocks.clone(), STRETCH, refuses));
        let (_, answer) = asked_for(&node, patient());
        assert_eq!(answer["newAddress"], is_new, "{answer}");
        assert_eq!(*flag(&answer) == json!(true), is_new.is_null());
    }
}

#[test]
fn more_tokens_than_a_history_holds_hide_no_money() {
    let mut blocks = blocks();
    blocks.push((0..1500).map(|_| token(6, 3)).collect());
    let node = Arc::new(Node::new(blocks, STRETCH, |_, _, _| None));
    let (_, answer) = asked_for(&node, patient());
    nothing_claimed(&answer);
}
