//! A fake index that serves a graph must give the same answers as the graph, and each failure has its own
//! error.

use std::sync::atomic::AtomicUsize;

use chain::address::Address;
use chain::amount::Amount;
use chain::category::Category;
use chain::currency::Currency;
use chain::labels::{Label, Labels};
use chain::profile::Profile;
use chain::screen::{Request, Subject, screen_address, screen_transaction};
use chain::source::{Movement, Output};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::graph::{Graph, NewBlock, NewMovement, NewTransaction};

pub(super) fn holder(number: u8) -> String {
    let script = [&[0x76, 0xa9, 0x14][..], &[number; 20], &[0x88, 0xac]].concat();
    Address::of_script(Currency::Btc, &script).unwrap().canonical
}

/// A fake Esplora server over a graph.
struct FakeEsplora {
    graph: Arc<Graph>,
    requests: AtomicUsize,
}

impl FakeEsplora {
    fn told(&self, transaction: &Transaction) -> Value {
        let Movement::Outputs {
            coinbase,
            inputs,
            outputs,
        } = &transaction.movement
        else {
            unreachable!()
        };
        let held = |party: &Option<Arc<str>>, amount: &Amount| {
            let script = party.as_ref().map_or_else(
                || vec![0x6a],
                |party| Address::parse(Currency::Btc, party).unwrap().script().unwrap(),
            );
            json!({"scriptpubkey": hex::encode(script), "value": amount.to_string().parse::<u64>().unwrap(), "unknown": [1]})
        };
        let mut vin: Vec<Value> = inputs
            .iter()
            .map(|input| {
                json!({"txid": &*input.transaction, "vout": input.output, "is_coinbase": false,
                       "prevout": held(&input.party, &input.amount)})
            })
            .collect();
        if *coinbase {
            vin.push(json!({"txid": "0".repeat(64), "vout": u32::MAX, "prevout": null, "is_coinbase": true}));
        }
        let vout: Vec<Value> = outputs
            .iter()
            .map(|output| held(&output.party, &output.amount))
            .collect();
        let height = transaction.position.unwrap().height;
        let status = json!({"confirmed": true, "block_height": height, "block_time": transaction.time.unwrap() / 1000});
        json!({"txid": &*transaction.id, "vin": vin, "vout": vout, "status": status})
    }

    fn answer(&self, path: &str) -> Option<Value> {
        let parts: Vec<&str> = path.trim_start_matches("http://index/").split('/').collect();
        Some(match parts.as_slice() {
            ["blocks"] => {
                let tip = self.graph.newest()?;
                json!([{"id": tip.hash, "height": tip.height, "timestamp": tip.time? / 1000}])
            }
            ["tx", id] => self.told(&*self.graph.transaction(id).ok()?),
            ["tx", id, "outspends"] => self
                .graph
                .spends(id)
                .ok()?
                .iter()
                .map(|spend| match spend {
                    Some(id) => {
                        json!({"spent": true, "txid": &**id, "vin": 0, "status": {"confirmed": true}})
                    }
                    None => json!({"spent": false}),
                })
                .collect(),
            ["address", party, "txs", "chain", after @ ..] => {
                let window = Window {
                    up_to: None,
                    limit: usize::MAX,
                };
                let mut all = self.graph.history(party, window).ok()?.transactions;
                all.reverse();
                let skip = match after {
                    [id] => all.iter().position(|transaction| *transaction.id == **id)? + 1,
                    _ => 0,
                };
                all.iter()
                    .skip(skip)
                    .take(25)
                    .map(|transaction| self.told(transaction))
                    .collect()
            }
            ["address", _] => {
                json!({"chain_stats": {"funded_txo_sum": 1_000_000, "spent_txo_sum": 1, "tx_count": 4000}})
            }
            _ => return None,
        })
    }
}

impl Transport for FakeEsplora {
    fn send(&self, request: &HttpRequest) -> Result<HttpResponse, TransportError> {
        self.requests.fetch_add(1, Ordering::Relaxed);
        Ok(match self.answer(&request.url) {
            Some(body) => HttpResponse {
                status: 200,
                body: body.to_string().into_bytes(),
            },
            None => HttpResponse {
                status: 404,
                body: b"Transaction not found".to_vec(),
            },
        })
    }
}

/// Labels for two holders.
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
            _ if address == holder(1) => vec![label("Mixer", Category::Mixer)],
            _ if address == holder(2) => vec![label("Exchange", Category::Exchange)],
            _ => Vec::new(),
        }
    }

    fn version(&self) -> String {
        "test".to_owned()
    }
}

fn any_blocks() -> impl Strategy<Value = Vec<NewBlock>> {
    let spend = (
        prop::collection::vec(any::<prop::sample::Index>(), 1..4),
        0u8..7,
        0u8..7,
        1u64..9,
    );
    prop::collection::vec(prop::collection::vec(spend, 1..8), 1..8).prop_map(|made| {
        let mut unspent: Vec<(Arc<str>, u32, u64)> = Vec::new();
        let mut blocks: Vec<NewBlock> = Vec::new();
        for (height, spends) in (0u64..).zip(made) {
            let mut transactions = Vec::new();
            let mut add = |id: String,
                           spent: Vec<(Arc<str>, u32)>,
                           paid: [(u8, u64); 2],
                           unspent: &mut Vec<(Arc<str>, u32, u64)>| {
                let id: Arc<str> = id.into();
                unspent.extend([(id.clone(), 0, paid[0].1), (id.clone(), 1, paid[1].1)]);
                let outputs = paid
                    .iter()
                    .map(|(to, amount)| Output {
                        party: Some(holder(*to).into()),
                        amount: (*amount).into(),
                    })
                    .collect();
                transactions.push(NewTransaction {
                    id,
                    movement: NewMovement::Outputs(spent, outputs),
                    fee: None,
                    fee_payer: None,
                    extra: serde_json::Map::new(),
                });
            };
            add(
                format!("{:064x}", height + 1),
                Vec::new(),
                [(1, 5000), (2, 3000)],
                &mut unspent,
            );
            for (place, (choices, first, second, parts)) in (0u64..).zip(spends) {
                let mut inputs = Vec::new();
                let mut sum = 0;
                for choice in choices {
                    if !unspent.is_empty() {
                        let (id, output, amount) = unspent.swap_remove(choice.index(unspent.len()));
                        inputs.push((id, output));
                        sum += amount;
                    }
                }
                if !inputs.is_empty() {
                    let part = sum * parts / 10;
                    let id = format!("{:064x}", (height + 1) * 1000 + place);
                    add(id, inputs, [(first, part), (second, sum - part)], &mut unspent);
                }
            }
            let previous = blocks.last().map_or_else(String::new, |block| block.hash.clone());
            blocks.push(NewBlock {
                hash: format!("{height:064x}"),
                previous,
                height,
                // The blocks are from today: a graph with an old tip cannot state whether an address is new.
                time: Some(today() + i64::try_from(height).unwrap() * 600_000),
                transactions,
            });
        }
        blocks
    })
}

/// Today's midnight in milliseconds, which stays the same while proptest shrinks a case.
fn today() -> i64 {
    let now = jiff::Timestamp::now().as_millisecond();
    now - now % 86_400_000
}

fn on_demand(transport: Arc<dyn Transport>, budget: Budget) -> OnDemand {
    OnDemand::new(
        Box::new(Esplora::new(Currency::Btc, "http://index/")),
        transport,
        budget,
    )
}

pub(super) fn told(screen: &chain::screen::Screen) -> Value {
    let mut detail = serde_json::to_value(&screen.detail).unwrap();
    detail["exposures"]["source"] = Value::Null;
    detail["score"] = screen.score.value().into();
    detail
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    #[test]
    fn bulk_and_on_demand_give_the_same_answer(blocks in any_blocks()) {
        let folder = tempfile::tempdir().unwrap();
        let graph = Arc::new(Graph::open(folder.path(), Currency::Btc).unwrap());
        for block in &blocks {
            graph.append(block).unwrap();
        }
        let played = Arc::new(FakeEsplora { graph: graph.clone(), requests: AtomicUsize::new(0) });
        let index = on_demand(played.clone(), Budget { requests: 100_000, ..Budget::default() });
        let profile = Profile::built_in();
        for number in 0..7 {
            let address = holder(number);
            for block in [None, Some(1)] {
                let request = Request { as_of_block: block, ..Request::new(Currency::Btc, Subject::Address(&address)) };
                let bulk = screen_address(&*graph, &HolderLabels, &profile, &request).unwrap();
                let fetched = screen_address(&index.screening().unwrap(), &HolderLabels, &profile, &request).unwrap();
                prop_assert_eq!(told(&bulk), told(&fetched));
            }
        }
        for transaction in blocks.iter().flat_map(|block| &block.transactions) {
            let request = Request::new(Currency::Btc, Subject::Transaction(&transaction.id));
            let bulk = screen_transaction(&*graph, &HolderLabels, &profile, &request).unwrap();
            let fetched = screen_transaction(&index.screening().unwrap(), &HolderLabels, &profile, &request).unwrap();
            prop_assert_eq!(told(&bulk), told(&fetched));
        }
        // Everything is cached at this point.
        let before = played.requests.load(Ordering::Relaxed);
        let address = holder(0);
        let request = Request::new(Currency::Btc, Subject::Address(&address));
        screen_address(&index.screening().unwrap(), &HolderLabels, &profile, &request).unwrap();
        prop_assert_eq!(played.requests.load(Ordering::Relaxed), before);
    }
}

/// Answers every request with the same response.
struct Always(Result<HttpResponse, TransportError>);

impl Transport for Always {
    fn send(&self, _request: &HttpRequest) -> Result<HttpResponse, TransportError> {
        self.0.clone()
    }
}

#[test]
fn failures_are_told_apart() {
    let answered = |status, body: &str| {
        Ok(HttpResponse {
            status,
            body: body.as_bytes().to_vec(),
        })
    };
    for (answer, expected) in [
        (Err(TransportError::TimedOut), "took too long"),
        (
            Err(TransportError::Unreachable("refused".to_owned())),
            "cannot be reached: refused",
        ),
        (Err(TransportError::TooLarge), "nonsense: the answer is too large"),
        (answered(503, "busy"), "cannot be reached: it answered 503"),
        (answered(429, "slow down"), "cannot be reached: it answered 429"),
        (answered(404, "?"), "no such thing"),
        (answered(403, "no"), "nonsense: it answered 403"),
        (answered(200, "<html>"), "nonsense: no JSON"),
        (answered(200, "[]"), "nonsense: it has no block"),
        (
            answered(200, r#"[{"id": "x", "height": "tall", "timestamp": 1}]"#),
            "nonsense: a member is missing or of another type",
        ),
        (
            answered(200, r#"[{"id": "x", "height": 1}]"#),
            "nonsense: timestamp is missing",
        ),
    ] {
        let error = on_demand(Arc::new(Always(answer)), Budget::default())
            .screening()
            .err()
            .unwrap();
        assert!(error.to_string().contains(expected), "{error}");
    }
}

#[test]
fn a_spent_budget_cuts_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let graph = Arc::new(Graph::open(folder.path(), Currency::Btc).unwrap());
    let mut previous = String::new();
    let mut last: Vec<(Arc<str>, u32)> = Vec::new();
    for height in 0..5u64 {
        let id: Arc<str> = format!("{height:064x}").into();
        let to = Some(holder(u8::try_from(10 + height).unwrap()).into());
        let transactions = vec![NewTransaction {
            id: id.clone(),
            movement: NewMovement::Outputs(
                last.clone(),
                vec![Output {
                    party: to,
                    amount: 100.into(),
                }],
            ),
            fee: None,
            fee_payer: None,
            extra: serde_json::Map::new(),
        }];
        let hash = format!("{height:064x}");
        graph
            .append(&NewBlock {
                hash: hash.clone(),
                previous,
                height,
                time: Some(0),
                transactions,
            })
            .unwrap();
        previous = hash;
        last = vec![(id, 0)];
    }
    let played = Arc::new(FakeEsplora {
        graph,
        requests: AtomicUsize::new(0),
    });
    // The tip, the history and two transactions.
    let index = on_demand(
        played,
        Budget {
            requests: 4,
            ..Budget::default()
        },
    );
    let address = holder(14);
    let mut request = Request::new(Currency::Btc, Subject::Address(&address));
    request.cluster_budget = 1;
    let screen = screen_address(
        &index.screening().unwrap(),
        &HolderLabels,
        &Profile::built_in(),
        &request,
    )
    .unwrap();
    let detail = told(&screen);
    let coverage = &detail["exposures"]["coverage"];
    assert_eq!(coverage["unresolved"], 100.0);
    assert_eq!(coverage["cuts"], json!({"budget": 100.0}));
    assert_eq!(coverage["truncated"], true);
    assert_eq!(screen.score.value(), 0.0);
    assert_eq!(coverage["scoreUpperBound"], 100.0);
}
