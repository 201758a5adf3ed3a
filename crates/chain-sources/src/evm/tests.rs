//! Ingested and on-demand data give the same answer, with either kind of trace, and each kind of bad response
//! has its own error.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use chain::amount::Amount;
use chain::category::Category;
use chain::currency::Currency;
use chain::labels::{Label, Labels};
use chain::profile::Profile;
use chain::screen::{Request, Screen, Subject, screen_address, screen_transaction};
use chain::source::{Movement, Source, SourceError, Window};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::fake_node::{Call, FakeNode, FakeTransaction, MADE, TOKEN, Traces, canonical, holder, plain};
use super::trace::TraceResult;
use super::transaction::{RpcReceipt, RpcTransaction, account, built};
use super::*;
use crate::graph::Graph;
use crate::ingest::load::follow;
use crate::ingest::node::Node;
use crate::ondemand::{Budget, HttpRequest, HttpResponse, OnDemand, Transport, TransportError};
use crate::rpc::Rpc;

pub(super) struct HolderLabels;

impl Labels for HolderLabels {
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

fn node(played: &Arc<FakeNode>, without_traces: bool) -> EvmNode {
    EvmNode::new(
        Currency::Eth,
        Rpc::new("http://node"),
        played.clone(),
        without_traces,
    )
}

pub(super) fn index(played: &Arc<FakeNode>) -> OnDemand {
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
            // A destroyed contract makes no further calls.
            if call.kind != 3 {
                call.within = within;
            }
            call
        })
    })
}

fn any_sent() -> impl Strategy<Value = FakeTransaction> {
    let calls = prop::collection::vec(any_call(), 0..3);
    let tokens = prop::collection::vec((1u8..8, 1u8..8, 0u64..9), 0..2);
    let flags = (
        prop::bool::weighted(0.1),
        prop::bool::weighted(0.5),
        prop::bool::weighted(0.1),
    );
    (1u8..8, 1u8..8, 0u64..100, calls, tokens, flags).prop_map(
        |(from, to, value, calls, tokens, (failed, plain, creates))| FakeTransaction {
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
        let parity = Arc::new(FakeNode { log_range: 2, ..FakeNode::new(blocks.clone(), Traces::Parity) });
        let otterscan = Arc::new(FakeNode { otterscan: Some(25), ..FakeNode::new(blocks.clone(), Traces::Geth) });
        let geth = Arc::new(FakeNode::new(blocks, Traces::Geth));
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
                let bulk = screen_address(&graphs[0], &HolderLabels, &profile, &request).unwrap();
                let nested = screen_address(&graphs[1], &HolderLabels, &profile, &request).unwrap();
                let fetched = screen_address(&index.screening().unwrap(), &HolderLabels, &profile, &request).unwrap();
                prop_assert_eq!(told(&bulk), told(&nested));
                prop_assert_eq!(told(&bulk), told(&fetched));
                let fetched = screen_address(&listed.screening().unwrap(), &HolderLabels, &profile, &request).unwrap();
                prop_assert_eq!(told(&bulk), told(&fetched));
            }
        }
        for (height, place, _) in parity.every() {
            let id = parity.id(height, place);
            let request = Request::new(Currency::Eth, Subject::Transaction(&id));
            let bulk = screen_transaction(&graphs[0], &HolderLabels, &profile, &request).unwrap();
            let fetched = screen_transaction(&index.screening().unwrap(), &HolderLabels, &profile, &request).unwrap();
            prop_assert_eq!(told(&bulk), told(&fetched));
        }
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
fn a_history_full_of_tokens_hides_no_coin() {
    // The mixer pays an account, which then receives more token transfers than the limit. Later the account
    // passes the mixer's money on.
    let thrown = |_| {
        vec![FakeTransaction {
            tokens: vec![(5, 3, 1)],
            plain: false,
            ..plain(5, 4, 0)
        }]
    };
    let mut blocks = vec![vec![plain(1, 3, 70)]];
    blocks.extend((0..9).map(thrown));
    blocks.push(vec![plain(3, 6, 70)]);
    let played = Arc::new(FakeNode::new(blocks, Traces::Parity));
    let folder = tempfile::tempdir().unwrap();
    let graph = Graph::open(folder.path(), Currency::Eth).unwrap();
    follow(&graph, 0, &node(&played, false), |_| true).unwrap();
    let index = index(&played);
    let profile = Profile::built_in();
    for number in [3, 6] {
        let address = canonical(number);
        let mut request = Request::new(Currency::Eth, Subject::Address(&address));
        request.options.max_history = 6;
        let bulk = screen_address(&graph, &HolderLabels, &profile, &request).unwrap();
        let fetched = screen_address(&index.screening().unwrap(), &HolderLabels, &profile, &request).unwrap();
        assert_eq!(bulk.score, fetched.score);
        assert_eq!(bulk.traces, fetched.traces);
        let met = &bulk.traces[0].exposures[0];
        assert_eq!(
            (met.category, &met.part),
            (Category::Mixer, &bulk.traces[0].whole)
        );
        let coverage = &bulk.detail.exposures().coverage;
        assert_eq!(coverage.token_transfers_incomplete, number == 3);
    }
    let window = Window {
        up_to: None,
        limit: 6,
    };
    let history = graph.history(&canonical(3), window).unwrap();
    let totals = history.totals.unwrap();
    assert_eq!((history.transactions.len(), totals.transactions), (6, 11));
    assert_eq!((history.complete, history.tokens_unseen_to), (true, Some(5)));
    assert_eq!(
        graph
            .trace_history(&canonical(3), window)
            .unwrap()
            .transactions
            .len(),
        2
    );
    // Every block is rolled back completely, tokens included.
    while graph.roll_back().unwrap().is_some() {}
    let empty = graph.history(&canonical(3), window).unwrap();
    assert_eq!((empty.transactions.len(), empty.totals), (0, None));
}

#[test]
fn money_that_contracts_pass_on_is_followed() {
    // The mixer pays a contract, which pays out inside the same transaction. Reverted calls moved nothing.
    let mut undone = call(5, 6, 30);
    undone.undone = true;
    undone.within = vec![call(6, 7, 30)];
    let mixed = FakeTransaction {
        calls: vec![call(5, 4, 70), undone],
        tokens: vec![(3, 4, 9)],
        plain: false,
        ..plain(1, 5, 100)
    };
    let played = Arc::new(FakeNode::new(
        vec![vec![mixed], vec![plain(4, 3, 70)]],
        Traces::Parity,
    ));
    let index = index(&played);
    let address = canonical(3);
    let request = Request::new(Currency::Eth, Subject::Address(&address));
    let screen = screen_address(
        &index.screening().unwrap(),
        &HolderLabels,
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
        &HolderLabels,
        &Profile::built_in(),
        &request,
    )
    .unwrap();
    assert_eq!(told(&screen)["newAddress"], true);
    assert!(index.check().unwrap().1);
}

#[test]
fn a_reorganisation_three_deep_is_rolled_back_exactly() {
    let blocks: Vec<Vec<FakeTransaction>> = (0..6).map(|number| vec![plain(1, 3 + number, 10)]).collect();
    let played = Arc::new(FakeNode::new(blocks, Traces::Parity));
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
    let contract = FakeTransaction {
        plain: false,
        ..plain(1, 5, 100)
    };
    let blocks = vec![vec![contract, plain(1, 4, 1)]];
    let played = Arc::new(FakeNode::new(blocks, Traces::None));
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

/// Answers every request with the same status and body.
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
    let told = |value: &str| RpcTransaction {
        hash: "0x1".to_owned(),
        from: holder(1),
        to: Some(holder(2)),
        value: value.to_owned(),
        gas_price: Some(format!("0x{}", "f".repeat(64))),
        block_hash: None,
        block_number: None,
        transaction_index: None,
    };
    let receipt: RpcReceipt =
        serde_json::from_value(json!({"transactionHash": "0x1", "gasUsed": "0xffff", "logs": []})).unwrap();
    let largest = told(&format!("0x{}", "f".repeat(64)));
    let made = built(Currency::Eth, &largest, &receipt, &TraceResult::default(), None).unwrap();
    let Movement::Transfers(transfers) = &made.movement else {
        unreachable!()
    };
    assert_eq!(transfers[0].amount.to_string().len(), 78);
    assert!(made.fee.unwrap() > transfers[0].amount);
    let more = told(&format!("0x1{}", "0".repeat(64)));
    assert!(built(Currency::Eth, &more, &receipt, &TraceResult::default(), None).is_err());
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
