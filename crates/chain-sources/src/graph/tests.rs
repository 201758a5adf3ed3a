//! Compares the graph with a fixture of the same chain; tests exact rollback and hostile input.

use std::collections::BTreeMap;

use chain::fixture::Fixture;
use chain::source::{History, Movement, Party, Position, Source, SourceError, Totals, Transaction, Window};
use chain::trace::{Attribution, Coin, Direction, Options, Seeds, Share, Start, trace};
use proptest::prelude::*;

use super::*;

fn paid(party: &str, amount: u64) -> Output {
    Output {
        party: Some(party.into()),
        amount: Amount::from(amount),
    }
}

fn spending(id: &str, inputs: &[(&str, u32)], outputs: &[(&str, u64)]) -> NewTransaction {
    NewTransaction {
        id: id.into(),
        movement: NewMovement::Outputs(
            inputs
                .iter()
                .map(|(id, output)| ((*id).into(), *output))
                .collect(),
            outputs
                .iter()
                .map(|(party, amount)| paid(party, *amount))
                .collect(),
        ),
        fee: None,
        fee_payer: None,
        extra: serde_json::Map::new(),
    }
}

fn block(height: u64, fork: &str, previous: &str, transactions: Vec<NewTransaction>) -> NewBlock {
    NewBlock {
        hash: format!("{fork}{height}"),
        previous: previous.to_owned(),
        height,
        time: Some(1_500_000_000_000 + i64::try_from(height).unwrap() * 600_000),
        transactions,
    }
}

fn open() -> (tempfile::TempDir, Graph) {
    let folder = tempfile::tempdir().unwrap();
    let graph = Graph::open(folder.path(), Currency::Btc).unwrap();
    (folder, graph)
}

/// All entries of the store, to compare states exactly.
fn contents(graph: &Graph) -> BTreeMap<(&'static str, Vec<u8>), Vec<u8>> {
    let mut all = BTreeMap::new();
    let spaces = [
        ("blocks", &graph.blocks),
        ("records", &graph.records),
        ("ids", &graph.ids),
        ("parties", &graph.parties),
        ("visits", &graph.visits),
        ("spends", &graph.spends),
    ];
    for (name, space) in spaces {
        for entry in space.iter() {
            let (key, value) = entry.into_inner().unwrap();
            all.insert((name, key.to_vec()), value.to_vec());
        }
    }
    all
}

fn chain() -> Vec<NewBlock> {
    vec![
        block(0, "a", "", vec![spending("c0", &[], &[("miner", 50)])]),
        block(
            1,
            "a",
            "a0",
            vec![
                spending("c1", &[], &[("mixer", 50)]),
                spending("t1", &[("c0", 0)], &[("A", 30), ("miner", 19)]),
            ],
        ),
        block(
            2,
            "a",
            "a1",
            vec![
                spending("c2", &[], &[("miner", 51)]),
                spending("t2", &[("c1", 0)], &[("P", 50)]),
                // Spends an output of the same block.
                spending("t3", &[("t2", 0)], &[("A", 49)]),
            ],
        ),
        // The same id again, as in blocks 91842 and 91880 of Bitcoin.
        block(
            3,
            "a",
            "a2",
            vec![
                spending("c0", &[], &[("miner", 50)]),
                spending("t4", &[("t1", 0), ("t3", 0)], &[("B", 79), ("void", 0)]),
            ],
        ),
    ]
}

#[test]
fn a_reorganisation_three_blocks_deep_leaves_nothing_behind() {
    let (_folder, graph) = open();
    let (_other, straight) = open();
    let blocks = chain();
    for block in &blocks {
        graph.append(block).unwrap();
    }
    straight.append(&blocks[0]).unwrap();
    for height in [2, 1, 0] {
        assert_eq!(graph.roll_back().unwrap().unwrap().height, height);
    }
    assert_eq!(contents(&graph), contents(&straight));
    let mut previous = "a0".to_owned();
    for height in 1..5 {
        let coinbase = format!("n{height}");
        let fork = block(
            height,
            "b",
            &previous,
            vec![spending(&coinbase, &[], &[("other", 50)])],
        );
        previous.clone_from(&fork.hash);
        graph.append(&fork).unwrap();
        straight.append(&fork).unwrap();
    }
    assert_eq!(contents(&graph), contents(&straight));
    assert_eq!(graph.newest().unwrap().hash, "b4");
    assert_eq!(
        graph.spends("c0").unwrap(),
        [None],
        "the spend went with its block"
    );
    while graph.roll_back().unwrap().is_some() {}
    assert!(contents(&graph).is_empty());
    assert_eq!(graph.newest(), None);
}

#[test]
fn a_hidden_duplicate_comes_back_when_its_successor_goes() {
    let (_folder, graph) = open();
    for block in &chain() {
        graph.append(block).unwrap();
    }
    assert_eq!(
        graph.transaction("c0").unwrap().position,
        Some(Position { height: 3, index: 0 })
    );
    assert_eq!(graph.spends("c0").unwrap(), [None]);
    graph.roll_back().unwrap();
    assert_eq!(
        graph.transaction("c0").unwrap().position,
        Some(Position { height: 0, index: 0 })
    );
    assert_eq!(graph.spends("c0").unwrap(), [Some("t1".into())]);
}

#[test]
fn a_block_that_does_not_follow_is_refused_and_changes_nothing() {
    let (_folder, graph) = open();
    let blocks = chain();
    graph.append(&blocks[0]).unwrap();
    let before = contents(&graph);
    assert!(matches!(graph.append(&blocks[2]), Err(GraphError::NotNext)));
    assert!(matches!(
        graph.append(&block(1, "b", "b0", Vec::new())),
        Err(GraphError::NotNext)
    ));
    assert_eq!(contents(&graph), before);
}

#[test]
fn histories_keep_to_their_window() {
    let (folder, graph) = open();
    for block in &chain() {
        graph.append(block).unwrap();
    }
    drop(graph);
    let graph = Graph::open(folder.path(), Currency::Btc).unwrap();
    let ids = |up_to, limit| {
        let history = graph.history("A", Window { up_to, limit }).unwrap();
        let ids: Vec<String> = history
            .transactions
            .iter()
            .map(|transaction| transaction.id.to_string())
            .collect();
        (ids, history.complete)
    };
    let all = ["t1", "t3", "t4"].map(str::to_owned);
    assert_eq!(ids(None, 10), (all.to_vec(), true));
    assert_eq!(ids(None, 2), (all[1..].to_vec(), false));
    assert_eq!(ids(Some(Position::end_of(2)), 10), (all[..2].to_vec(), true));
    assert_eq!(
        ids(Some(Position { height: 2, index: 1 }), 10),
        (all[..1].to_vec(), true)
    );
    assert_eq!(ids(Some(Position::end_of(99)), 10), (all.to_vec(), true));
    assert_eq!(
        graph
            .history(
                "nobody",
                Window {
                    up_to: None,
                    limit: 1
                }
            )
            .unwrap(),
        History {
            complete: true,
            ..History::default()
        }
    );
    assert_eq!(graph.transaction("none").unwrap_err(), SourceError::NotFound);
    assert_eq!(graph.spends("none").unwrap_err(), SourceError::NotFound);
    let status = graph.status().unwrap();
    assert_eq!((status.blocks, status.transactions), (4, 8));
    drop(graph);
    assert!(matches!(
        Graph::open(folder.path(), Currency::Ltc),
        Err(GraphError::Other { .. })
    ));
}

#[test]
fn a_graph_begun_in_the_middle_does_not_guess() {
    let (_folder, graph) = open();
    let unknown = spending("t", &[("older", 0), ("older", 1)], &[("A", 10)]);
    graph
        .append(&block(700_000, "a", "unseen", vec![unknown]))
        .unwrap();
    let none = rustc_hash::FxHashSet::default();
    let seeds = Seeds::of([(Start::Coin(Coin::Output("t".into(), 0)), 1u8.into())]);
    let found = trace(
        &graph,
        &|_| None,
        &none,
        Direction::Incoming,
        seeds,
        &Options::default(),
    )
    .unwrap();
    assert_eq!(found.unresolved(), num_traits::One::one());
}

/// Random blocks, in which every transaction spends unspent outputs of earlier ones.
fn any_blocks() -> impl Strategy<Value = Vec<NewBlock>> {
    prop::collection::vec(
        prop::collection::vec(
            (
                prop::collection::vec(any::<prop::sample::Index>(), 0..4),
                0u8..6,
                1u64..9,
            ),
            1..5,
        ),
        1..6,
    )
    .prop_map(|made| {
        let mut unspent: Vec<(String, u32, u64)> = Vec::new();
        let mut blocks = Vec::new();
        for (height, transactions) in (0u64..).zip(made) {
            let mut built = vec![spending(
                &format!("c{height}"),
                &[],
                &[("miner", 50), ("mixer", 20)],
            )];
            unspent.extend([(format!("c{height}"), 0, 50), (format!("c{height}"), 1, 20)]);
            for (place, (spends, party, parts)) in transactions.into_iter().enumerate() {
                let mut inputs = Vec::new();
                let mut sum = 0;
                for index in spends {
                    if !unspent.is_empty() {
                        let (id, output, amount) = unspent.swap_remove(index.index(unspent.len()));
                        inputs.push((id, output));
                        sum += amount;
                    }
                }
                if inputs.is_empty() {
                    continue;
                }
                let id = format!("t{height}-{place}");
                let first = sum * parts / 10;
                let inputs: Vec<(&str, u32)> =
                    inputs.iter().map(|(id, output)| (id.as_str(), *output)).collect();
                built.push(spending(
                    &id,
                    &inputs,
                    &[(&format!("p{party}"), first), ("A", sum - first)],
                ));
                unspent.extend([(id.clone(), 0, first), (id, 1, sum - first)]);
            }
            let previous = if height == 0 {
                String::new()
            } else {
                format!("a{}", height - 1)
            };
            blocks.push(block(height, "a", &previous, built));
        }
        blocks
    })
}

/// What a source answers about A's history and exposure.
fn answer(source: &dyn Source) -> (Vec<Transaction>, Vec<(String, u32, Share)>) {
    let history = source
        .history(
            "A",
            Window {
                up_to: None,
                limit: 1000,
            },
        )
        .unwrap();
    let mut seeds = Vec::new();
    for transaction in &history.transactions {
        if let Movement::Outputs { outputs, .. } = &transaction.movement {
            let count = outputs
                .iter()
                .filter(|output| output.party.as_deref() == Some("A"))
                .count();
            assert!(count > 0 || transaction.fee.is_some());
        }
        seeds.push((Start::Coin(Coin::Output(transaction.id.clone(), 0)), 1u8.into()));
    }
    let attribute = |party: &str| {
        (party == "mixer").then(|| Attribution {
            name: "Mixer".to_owned(),
            category: chain::category::Category::Mixer,
            confidence: 100,
        })
    };
    let none = rustc_hash::FxHashSet::default();
    let found = [Direction::Incoming, Direction::Outgoing].map(|direction| {
        trace(
            source,
            &attribute,
            &none,
            direction,
            Seeds::of(seeds.clone()),
            &Options::default(),
        )
        .unwrap()
    });
    let exposures = found
        .iter()
        .flat_map(|trace| trace.exposures.iter().map(move |exposure| (trace, exposure)))
        .map(|(trace, exposure)| (exposure.entity.clone(), exposure.hop, trace.share(exposure)))
        .collect();
    (
        history
            .transactions
            .iter()
            .map(|transaction| Transaction::clone(transaction))
            .collect(),
        exposures,
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn graph_and_fixture_tell_the_same(blocks in any_blocks(), depth in 0usize..4) {
        let (_folder, graph) = open();
        let mut fixture = Fixture::default();
        let mut outputs: std::collections::HashMap<(TxId, u32), Output> = std::collections::HashMap::new();
        for block in &blocks {
            graph.append(block).unwrap();
            for (new, index) in block.transactions.iter().zip(0u32..) {
                let NewMovement::Outputs(spent, made) = &new.movement else { unreachable!() };
                let inputs = spent.iter().map(|(id, output)| {
                    let known = &outputs[&(id.clone(), *output)];
                    Input { transaction: id.clone(), output: *output, party: known.party.clone(), amount: known.amount.clone() }
                }).collect();
                for (output, number) in made.iter().zip(0u32..) {
                    outputs.insert((new.id.clone(), number), output.clone());
                }
                let mut transaction = Transaction::of_outputs(new.id.clone(), inputs, made.clone());
                transaction.position = Some(Position { height: block.height, index });
                transaction.time = block.time;
                fixture.add(transaction);
            }
        }
        prop_assert_eq!(answer(&graph), answer(&fixture));
        for party in ["A", "B", "miner", "mixer"] {
            for limit in [1, 3, 1000] {
                let window = Window { up_to: None, limit };
                let [found, expected] = [&graph as &dyn Source, &fixture].map(|source| source.joint_spends(party, window).unwrap());
                prop_assert_eq!((found.transactions, found.complete), (expected.transactions, expected.complete));
            }
            let party: Party = party.into();
            let whole = fixture.history(&party, Window { up_to: None, limit: 1000 }).unwrap();
            let mut counted = Totals::default();
            for transaction in &whole.transactions {
                counted += &transaction.sides()[&party];
            }
            let kept = graph.history(&party, Window { up_to: None, limit: 0 }).unwrap().totals;
            prop_assert_eq!(kept.unwrap_or_default(), counted);
        }
        let before = contents(&graph);
        let depth = depth.min(blocks.len());
        for _ in 0..depth {
            graph.roll_back().unwrap();
        }
        for block in &blocks[blocks.len() - depth..] {
            graph.append(block).unwrap();
        }
        prop_assert_eq!(contents(&graph), before);
    }
}

#[test]
fn what_a_graph_cannot_know_is_not_called_clean() {
    use chain::screen::{Request, Subject, screen_address};
    let profile = chain::profile::Profile::built_in();
    let labels = chain::labels::LabelIndex::new([]);
    let (_folder, graph) = open();
    for block in &chain() {
        graph.append(block).unwrap();
    }
    // The newest block is years old.
    let request = Request::new(Currency::Btc, Subject::Address("nobody"));
    let screen = screen_address(&graph, &labels, &profile, &request);
    assert_eq!(screen.unwrap_err(), SourceError::NotFound);
    // The latest transaction alone does not represent the whole history.
    let limited = graph
        .history(
            "A",
            Window {
                up_to: None,
                limit: 1,
            },
        )
        .unwrap();
    let totals = limited.totals.unwrap();
    assert_eq!(
        (totals.received, totals.sent, totals.transactions),
        (Amount::from(79), Amount::from(79), 3)
    );
    let mut request = Request::new(Currency::Btc, Subject::Address("A"));
    request.options.max_history = 1;
    let screen = screen_address(&graph, &labels, &profile, &request).unwrap();
    assert_eq!(screen.detail.exposures().coverage.unresolved, 100.0);
}

#[test]
fn an_input_from_before_the_graph_leaves_the_whole_open() {
    let (_folder, graph) = open();
    graph
        .append(&block(
            700_000,
            "a",
            "unseen",
            vec![
                spending("c", &[], &[("thief", 1)]),
                spending("t", &[("c", 0), ("older", 0)], &[("A", 10)]),
            ],
        ))
        .unwrap();
    let seeds = Seeds::of([(Start::Coin(Coin::Output("t".into(), 0)), 1u8.into())]);
    let none = rustc_hash::FxHashSet::default();
    let found = trace(
        &graph,
        &|_| None,
        &none,
        Direction::Incoming,
        seeds,
        &Options::default(),
    )
    .unwrap();
    assert_eq!(
        found.cuts.get(&chain::trace::Cut::History),
        Some(&num_traits::One::one())
    );
}

#[test]
fn hostile_shapes_are_kept_and_screened() {
    use chain::screen::{Request, Subject, screen_address, screen_transaction};
    let (_folder, graph) = open();
    let many = 20_000u32;
    let coins = (0..many).map(|number| {
        let mut coin = spending(&format!("c{number}"), &[], &[]);
        coin.movement = NewMovement::Outputs(Vec::new(), vec![paid(&format!("p{number}"), 10)]);
        coin
    });
    graph.append(&block(0, "a", "", coins.collect())).unwrap();
    let ids: Vec<String> = (0..many).map(|number| format!("c{number}")).collect();
    let all: Vec<(&str, u32)> = ids.iter().map(|id| (id.as_str(), 0)).collect();
    let shapes = vec![
        spending("big", &all, &[("X", 150_000), ("X", 40_000)]),
        // An output that is spent twice, an output of zero, and transactions that spend their own or a later
        // output.
        spending("again", &[("big", 1), ("big", 1)], &[("X", 0), ("X", 80_000)]),
        spending("knot", &[("knot", 0), ("tied", 0)], &[("Y", 5)]),
        spending("tied", &[("knot", 0)], &[("Y", 5)]),
        spending("self", &[("again", 1)], &[("X", 80_000)]),
        spending("self", &[("self", 0)], &[("X", 80_000)]),
        spending("end", &[("big", 0), ("self", 0)], &[("A", 230_000)]),
    ];
    graph.append(&block(1, "a", "a0", shapes)).unwrap();
    let labels = chain::labels::LabelIndex::new([]);
    let profile = chain::profile::Profile::built_in();
    let whole = Share::from_integer(1.into());
    for party in ["A", "X", "Y", "p7"] {
        let request = Request::new(Currency::Btc, Subject::Address(party));
        let screen = screen_address(&graph, &labels, &profile, &request).unwrap();
        for trace in screen.traces {
            let seen = trace.attributed() + trace.unresolved() + &trace.unattributed;
            assert!(seen == whole || seen == Share::default(), "{party}");
        }
    }
    for id in ["big", "again", "knot", "tied", "self", "end"] {
        let request = Request::new(Currency::Btc, Subject::Transaction(id));
        screen_transaction(&graph, &labels, &profile, &request).unwrap();
    }
    let spender = graph.spender("big", 0).unwrap();
    assert_eq!(spender, Some(graph.transaction("end").unwrap()));
    assert_eq!(graph.spender("end", 0).unwrap(), None);
    assert_eq!(graph.spender("end", 99).unwrap(), None);
    assert_eq!(graph.spender("none", 0).unwrap_err(), SourceError::NotFound);
    while graph.roll_back().unwrap().is_some() {}
    assert!(contents(&graph).is_empty());
}

#[test]
fn a_graph_of_outputs_is_taken_over_from_layout_3_and_one_of_accounts_refused() {
    for (currency, is_taken_over) in [(Currency::Btc, true), (Currency::Eth, false)] {
        let folder = tempfile::tempdir().unwrap();
        let graph = Graph::open(folder.path(), currency).unwrap();
        let meta = graph
            .database
            .keyspace("meta", fjall::KeyspaceCreateOptions::default)
            .unwrap();
        meta.insert("is", format!("{currency}, layout 3")).unwrap();
        graph.persist().unwrap();
        drop((meta, graph));
        for _ in 0..2 {
            let opened = Graph::open(folder.path(), currency);
            assert_eq!(opened.is_ok(), is_taken_over, "{:?}", opened.err());
        }
    }
}
