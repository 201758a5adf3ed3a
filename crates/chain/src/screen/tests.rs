//! Whole screenings of fixtures: the members of the answer, and the recomputation of the score from them.

use num_traits::ToPrimitive;
use serde_json::{Value, json};

use super::*;
use crate::currency::Currency;
use crate::fixture::Fixture;
use crate::parts::Share;
use crate::profile::Fraction;
use crate::trace::Cut;

/// The mixer pays P, P pays A and keeps the change. A pays a sanctioned party from two coins and keeps the
/// change.
fn chain() -> Fixture {
    Fixture::from_json(&json!({
        "txs": {
            "c1": {"in": [], "out": [["mixer", 100_000_000]], "time": 1_600_000_000, "height": 1},
            "c2": {"in": [], "out": [["A", 50_000_000]], "time": 1_600_000_600, "height": 2},
            "t1": {"in": [["c1", 0]], "out": [["P", 90_000_000]], "time": 1_600_001_200, "height": 3},
            "t2": {"in": [["t1", 0]], "out": [["A", 50_000_000], ["P", 39_000_000]], "time": 1_600_001_800, "height": 4},
            "t3": {"in": [["c2", 0], ["t2", 0]], "out": [["S", 60_000_000], ["A", 39_990_000]], "time": 1_600_002_400, "height": 5},
        },
        "labels": {
            "mixer": {"name": "MixCo", "category": "mixer", "confidence": 90},
            "S": {"name": "Listed", "category": "sanctions", "authority": true},
        },
    }))
    .unwrap()
}

fn screened(subject: Subject<'_>, change: impl FnOnce(&mut Request<'_>)) -> (Screen, Value) {
    let chain = chain();
    let mut request = Request::new(Currency::Btc, subject);
    change(&mut request);
    let profile = Profile::built_in();
    let screen = match subject {
        Subject::Address(_) => screen_address(&chain, &chain, &profile, &request),
        Subject::Transaction(_) => screen_transaction(&chain, &chain, &profile, &request),
    }
    .unwrap();
    let json = serde_json::to_value(&screen.detail).unwrap();
    (screen, json)
}

/// Recomputes a score from `exposures` alone, in floats.
fn recomputed(exposures: &Value) -> f64 {
    let profile = Profile::built_in();
    let mut effective: std::collections::BTreeMap<(String, String), f64> = std::collections::BTreeMap::new();
    for entry in exposures["entity"].as_array().unwrap() {
        for at in entry["shares"].as_array().unwrap() {
            let share: Fraction = at["share"].as_str().unwrap().parse().unwrap();
            let hop = i32::try_from(at["hop"].as_u64().unwrap()).unwrap();
            let key = (
                entry["direction"].as_str().unwrap().to_owned(),
                entry["category"].as_str().unwrap().to_owned(),
            );
            *effective.entry(key).or_default() += share.0.to_f64().unwrap() * 0.8f64.powi(hop - 1);
        }
    }
    let safe: f64 = effective
        .iter()
        .map(|((direction, category), share)| {
            let weight = &profile.categories[&category.parse().unwrap()];
            let factor = if direction == "outgoing" {
                weight.outgoing.0.to_f64().unwrap()
            } else {
                1.0
            };
            1.0 - f64::from(weight.severity) / 100.0
                * (share / weight.full_share.0.to_f64().unwrap()).min(1.0)
                * factor
        })
        .product();
    100.0 * (1.0 - safe)
}

#[test]
fn an_address_is_told_whole() {
    let (screen, detail) = screened(Subject::Address("A"), |_| {});
    assert_eq!(screen.score.value(), 100.0, "A paid a sanctioned party");
    for (member, expected) in [
        ("newAddress", json!(false)),
        ("receivedAmount", json!("1.3999")),
        ("sentAmount", json!("1")),
        ("balance", json!("0.3999")),
        ("numberOfTransactions", json!(3)),
        ("receivedTransactions", json!(3)),
        ("sentTransactions", json!(1)),
        ("firstSeenReceiving", json!("2020-09-13T12:36:40.000Z")),
        ("firstSeenSending", json!("2020-09-13T13:06:40.000Z")),
        ("lastSeenReceiving", json!("2020-09-13T13:06:40.000Z")),
        ("entities", json!([])),
    ] {
        assert_eq!(detail[member], expected, "{member}");
    }
    let exposures = &detail["exposures"];
    let entity = |name: &str| {
        exposures["entity"]
            .as_array()
            .unwrap()
            .iter()
            .find(|entry| entry["name"] == name)
            .unwrap()
    };
    let mixer = entity("MixCo");
    assert_eq!(mixer["percentage"], 50.0);
    assert_eq!(mixer["amount"], "0.5");
    assert_eq!(
        (&mixer["type"], &mixer["minHops"], &mixer["confidence"]),
        (&json!("indirect"), &json!(2), &json!(90))
    );
    assert_eq!(entity("coinbase")["type"], "direct");
    let listed = entity("Listed");
    assert_eq!(
        (&listed["direction"], &listed["percentage"]),
        (&json!("outgoing"), &json!(100.0))
    );
    assert_eq!(exposures["coverage"]["attributed"], 100.0);
    assert_eq!(exposures["coverage"]["unresolved"], 0.0);
    assert_eq!(exposures["asOfBlock"], 5);
    assert_eq!(exposures["method"], "haircut");
    assert_eq!(exposures["source"], "fixture");
    assert!((recomputed(exposures) - screen.score.value()).abs() < 1e-9);
}

#[test]
fn an_old_decision_is_repeated_with_the_block_of_its_day() {
    let (screen, detail) = screened(Subject::Address("A"), |request| request.as_of_block = Some(4));
    // Half the money is mined, half came from a mixer over one private hop. The share e = 0.5 * 0.8 is above
    // a quarter.
    assert_eq!(screen.score.value(), 75.0);
    assert_eq!(detail["exposures"]["asOfBlock"], 4);
    assert_eq!(detail["sentAmount"], "0");
    let points: f64 = detail["exposures"]["contributions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|contribution| contribution["points"].as_f64().unwrap())
        .sum();
    assert!((points - 75.0).abs() < 1e-9);
}

#[test]
fn a_day_is_as_good_as_its_block() {
    let (_, by_block) = screened(Subject::Address("A"), |request| request.as_of_block = Some(4));
    let (_, by_time) = screened(Subject::Address("A"), |request| {
        request.as_of_time = true;
        request.at = 1_600_002_399_000;
    });
    assert_eq!(by_time, by_block);
    let chain = chain();
    let mut request = Request::new(Currency::Btc, Subject::Address("A"));
    (request.as_of_time, request.at) = (true, 1);
    let before = screen_address(&chain, &chain, &Profile::built_in(), &request);
    assert_eq!(before.unwrap_err(), SourceError::NotFound);
}

#[test]
fn a_transaction_is_told_whole() {
    let (screen, detail) = screened(Subject::Transaction("t2"), |_| {});
    assert_eq!(detail["low"], 75.0);
    assert_eq!(detail["high"], 75.0);
    assert_eq!(detail["amount"], "0.89");
    assert_eq!(detail["fees"], "0.01");
    assert_eq!(detail["timestamp"], "2020-09-13T12:56:40.000Z");
    assert_eq!(detail["inputs"], json!([{"address": "P", "amount": "0.9"}]));
    assert_eq!(detail["outputs"][1], json!({"address": "P", "amount": "0.39"}));
    // A's later payment to a sanctioned party is one hop further than A.
    let outgoing = detail["exposures"]["coverage"]["outgoing"]["attributed"]
        .as_f64()
        .unwrap();
    assert!(
        (outgoing - 60_000_000.0 / 99_990_000.0 * 100.0).abs() < 1e-9,
        "{outgoing}"
    );
    assert!((recomputed(&detail["exposures"]) - screen.score.value()).abs() < 1e-9);
    let chain = chain();
    let request = Request::new(Currency::Btc, Subject::Transaction("none"));
    let missing = screen_transaction(&chain, &chain, &Profile::built_in(), &request);
    assert_eq!(missing.unwrap_err(), SourceError::NotFound);
}

#[test]
fn labels_answer_alone_and_unknown_addresses_are_new() {
    let chain = chain();
    let profile = Profile::built_in();
    let screen = screen_labels(
        &chain,
        &profile,
        &Request::new(Currency::Btc, Subject::Address("S")),
    );
    assert_eq!(screen.score.value(), 100.0);
    let detail = serde_json::to_value(&screen.detail).unwrap();
    assert_eq!(
        detail["entities"],
        json!([{"name": "Listed", "category": "sanctions"}])
    );
    assert_eq!(
        detail["flags"],
        json!([{"name": "sanctions", "category": "sanctions"}])
    );
    assert_eq!(detail["exposures"]["coverage"]["unresolved"], 100.0);
    assert_eq!(detail["exposures"]["coverage"]["truncated"], true);
    assert_eq!(detail["exposures"]["contributions"][0]["direction"], "own");

    let (screen, detail) = screened(Subject::Address("nobody"), |_| {});
    assert_eq!(screen.score.value(), 0.0);
    assert_eq!(detail["newAddress"], true);
}

#[test]
fn a_thousand_outputs_do_not_thin_their_origin() {
    let outputs: Vec<Value> = (0..1500)
        .map(|number| json!([format!("o{number}"), 10]))
        .collect();
    let chain = Fixture::from_json(&json!({
        "txs": {
            "c": {"in": [], "out": [["S", 15_000]], "height": 1},
            "pay": {"in": [["c", 0]], "out": outputs, "height": 2},
        },
        "labels": {"S": {"name": "Listed", "category": "sanctions", "authority": true}},
    }))
    .unwrap();
    let request = Request::new(Currency::Btc, Subject::Transaction("pay"));
    let screen = screen_transaction(&chain, &chain, &Profile::built_in(), &request).unwrap();
    assert_eq!(screen.score.value(), 100.0);
    assert_eq!(screen.traces[0].expansions, 1);
}

#[test]
fn a_transaction_after_the_block_asked_for_is_not_there_yet() {
    let chain = chain();
    let mut request = Request::new(Currency::Btc, Subject::Transaction("t2"));
    request.as_of_block = Some(3);
    let screen = screen_transaction(&chain, &chain, &Profile::built_in(), &request);
    assert_eq!(screen.unwrap_err(), SourceError::NotFound);
}

fn output(party: &str, amount: u64) -> crate::source::Output {
    crate::source::Output {
        party: Some(party.into()),
        amount: amount.into(),
    }
}

fn input(transaction: &str, output: u32, party: Option<&str>, amount: u64) -> crate::source::Input {
    crate::source::Input {
        transaction: transaction.into(),
        output,
        party: party.map(Into::into),
        amount: amount.into(),
    }
}

/// A chain of transactions, one per block.
fn chain_of(
    transactions: Vec<(&str, Vec<crate::source::Input>, Vec<crate::source::Output>)>,
    labels: &Value,
) -> Fixture {
    let mut chain = Fixture::from_json(&json!({ "labels": labels })).unwrap();
    for (height, (id, inputs, outputs)) in (1..).zip(transactions) {
        let mut transaction = Transaction::of_outputs(id.into(), inputs, outputs);
        transaction.position = Some(Position { height, index: 0 });
        chain.add(transaction);
    }
    chain
}

fn screen_of(chain: &Fixture, address: &str, change: impl FnOnce(&mut Request<'_>)) -> Screen {
    let mut request = Request::new(Currency::Btc, Subject::Address(address));
    change(&mut request);
    screen_address(chain, chain, &Profile::built_in(), &request).unwrap()
}

fn entity_share(screen: &Screen, name: &str) -> Option<Share> {
    screen.traces.iter().find_map(|trace| {
        let found = trace.exposures.iter().find(|exposure| exposure.entity == name)?;
        Some(trace.share(found))
    })
}

#[test]
fn parts_of_a_satoshi_are_not_lost() {
    // A pays one of three satoshis and B two. A third of a satoshi of A's goes to each of S, X and C.
    let chain = chain_of(
        vec![
            ("a", vec![], vec![output("A", 1)]),
            ("b", vec![], vec![output("B", 2)]),
            (
                "pay",
                vec![input("a", 0, Some("A"), 1), input("b", 0, Some("B"), 2)],
                vec![output("S", 1), output("X", 1), output("C", 1)],
            ),
        ],
        &json!({"S": {"name": "Listed", "category": "sanctions", "authority": true}}),
    );
    let screen = screen_of(&chain, "A", |_| {});
    assert_eq!(
        entity_share(&screen, "Listed"),
        Some(Share::new(1.into(), 3.into()))
    );
    assert_eq!(screen.score.value(), 100.0);
}

#[test]
fn what_an_unknown_input_paid_for_stays_unknown() {
    // The graph begins after `old` was created, so the amounts of the other inputs are unknown.
    let old = input("old", 0, None, 0);
    let chain = chain_of(
        vec![
            ("a", vec![], vec![output("A", 10)]),
            (
                "pay",
                vec![input("a", 0, Some("A"), 10), old],
                vec![output("S", 500), output("B", 400)],
            ),
        ],
        &json!({"S": {"name": "Listed", "category": "sanctions"}}),
    );
    let screen = screen_of(&chain, "A", |_| {});
    assert_eq!(entity_share(&screen, "Listed"), None);
    assert_eq!(
        screen.traces[1].cuts.get(&Cut::History),
        Some(&Share::from_integer(1.into()))
    );
    assert_eq!(screen.score.value(), 0.0);
    assert_eq!(screen.score.upper_bound, Share::from_integer(100.into()));
}

#[test]
fn the_touched_addresses_that_no_list_names_are_known() {
    let chain = chain_of(
        vec![
            ("a", vec![], vec![output("A", 10)]),
            (
                "pay",
                vec![input("a", 0, Some("A"), 10)],
                vec![output("S", 5), output("X", 5)],
            ),
        ],
        &json!({"S": {"name": "Listed", "category": "sanctions", "authority": true}}),
    );
    let screen = screen_of(&chain, "A", |_| {});
    let request = Request::new(Currency::Btc, Subject::Address("A"));
    let found = crate::later_listing::unlisted_addresses(&request, &chain, &screen);
    assert_eq!(found, ["A", "X"]);
}

#[test]
fn a_screening_reads_no_more_than_its_budget() {
    // One transaction with 20,000 inputs and 20,000 outputs paid all parties, and a thousand of them paid A.
    let many = 20_000u32;
    let inputs = (0..many)
        .map(|n| input("c", n, Some(&format!("i{n}")), 10))
        .collect();
    let outputs: Vec<_> = (0..many).map(|n| output(&format!("o{n}"), 10)).collect();
    let spent: Vec<_> = (0..1000)
        .map(|n| {
            let id = format!("p{n}");
            (id, input("big", n, Some(&format!("o{n}")), 10))
        })
        .collect();
    let mut transactions = vec![("big", inputs, outputs)];
    for (id, spent) in &spent {
        transactions.push((id.as_str(), vec![spent.clone()], vec![output("A", 10)]));
    }
    let chain = chain_of(transactions, &json!({}));
    let begun = std::time::Instant::now();
    let screen = screen_of(&chain, "A", |request| {
        request.options.epsilon = Share::default();
        request.options.max_nodes = 5000;
    });
    assert!(
        begun.elapsed() < std::time::Duration::from_secs(20),
        "{:?}",
        begun.elapsed()
    );
    let incoming = &screen.traces[0];
    assert!(incoming.nodes.len() < 300_000, "{}", incoming.nodes.len());
    assert!(
        incoming.cuts.contains_key(&Cut::Budget),
        "{:?}",
        incoming.cuts.keys()
    );
    let whole: Share = incoming.attributed() + incoming.unresolved() + &incoming.unattributed;
    assert_eq!(whole, Share::from_integer(1.into()));
    let coverage = serde_json::to_value(&screen.detail).unwrap()["exposures"]["coverage"].clone();
    assert_eq!(coverage["truncated"], true);
}
