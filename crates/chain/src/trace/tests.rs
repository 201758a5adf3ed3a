//! Traces of small chains with results calculated by hand, and properties of random chains.

use num_traits::{One, Zero};
use proptest::prelude::*;
use rustc_hash::FxHashSet;
use serde_json::{Value, json};

use super::*;
use crate::fixture::Fixture;
use crate::source::Party;

fn run(case: &Value) -> Trace {
    Fixture::from_json(case).unwrap().trace(case).unwrap()
}

fn shares(trace: &Trace) -> Vec<(String, u32, String)> {
    trace
        .exposures
        .iter()
        .map(|exposure| {
            let share = parts::lowest(&trace.share(exposure)).to_string();
            (exposure.entity.clone(), exposure.hop, share)
        })
        .collect()
}

fn share(text: &str) -> Share {
    text.parse::<crate::profile::Fraction>().unwrap().0
}

/// P mixes a thief's 20 and an exchange's 30, then pays first A and then Q.
fn mixed(options: Value) -> Value {
    json!({
        "txs": {
            "a": {"in": [], "out": [["thief", 20]]},
            "b": {"in": [], "out": [["exchange", 30]]},
            "mix": {"in": [["a", 0], ["b", 0]], "out": [["P", 25], ["R", 20]]},
            "pay": {"in": [["mix", 0]], "out": [["A", 10], ["Q", 15]]},
        },
        "labels": {
            "thief": {"name": "Thief", "category": "stolen_funds"},
            "exchange": {"name": "Exchange", "category": "exchange"},
        },
        "received": [["pay", 0]],
        "options": options,
    })
}

#[test]
fn methods_tell_mixed_money_apart() {
    let haircut = run(&mixed(json!({})));
    assert_eq!(
        shares(&haircut),
        [
            ("Exchange".to_owned(), 2, "3/5".to_owned()),
            ("Thief".to_owned(), 2, "2/5".to_owned())
        ]
    );
    // P's 25 are the thief's 20 and 5 of the exchange's.
    let fifo = run(&mixed(json!({"method": "fifo"})));
    assert_eq!(
        shares(&fifo),
        [
            ("Exchange".to_owned(), 2, "1/5".to_owned()),
            ("Thief".to_owned(), 2, "4/5".to_owned())
        ]
    );
    let poison = run(&mixed(json!({"method": "poison"})));
    assert_eq!(
        shares(&poison),
        [
            ("Exchange".to_owned(), 2, "1".to_owned()),
            ("Thief".to_owned(), 2, "1".to_owned())
        ]
    );
}

#[test]
fn the_way_is_told() {
    let trace = run(&mixed(json!({})));
    let thief = trace
        .exposures
        .iter()
        .find(|exposure| exposure.entity == "Thief")
        .unwrap();
    let way: Vec<(&str, Option<&str>)> = thief
        .path
        .iter()
        .map(|via| (via.transaction.as_str(), via.address.as_deref()))
        .collect();
    assert_eq!(way, [("pay", Some("P")), ("mix", Some("thief"))]);
}

#[test]
fn limits_leave_the_rest_unresolved_and_say_why() {
    for (options, why) in [
        (json!({"max_hops": 1}), Cut::Hops),
        (json!({"eps": "1"}), Cut::Hops),
        (json!({"budget": 1}), Cut::Nodes),
    ] {
        let mut options = options;
        if options.get("eps").is_some() {
            options["max_hops"] = 1.into();
        }
        let trace = run(&mixed(options));
        assert_eq!(trace.unresolved(), Share::one());
        assert_eq!(trace.cuts.keys().collect::<Vec<_>>(), [&why]);
    }
    let two = json!({
        "txs": {
            "dust": {"in": [], "out": [["X", 1]]},
            "d": {"in": [["dust", 0]], "out": [["A", 1]]},
            "m": {"in": [], "out": [["A", 9999]]},
        },
        "received": [["d", 0], ["m", 0]],
    });
    let trace = run(&two);
    assert_eq!(trace.cuts[&Cut::Epsilon], share("1/10000"));
}

#[test]
fn accounts_replay_the_payers_own_pool() {
    let case = |method: &str| {
        json!({
            "txs": {
                "1": {"transfers": [["mixer", "P", 3]]},
                "2": {"transfers": [["exchange", "P", 7]]},
                "3": {"transfers": [["P", "Q", 4]]},
                "4": {"transfers": [["P", "P", 6]]},
                "5": {"transfers": [["P", "A", 6]]},
                "6": {"transfers": [["thief", "P", 1000]]},
            },
            "labels": {
                "mixer": {"name": "Mixer", "category": "mixer"},
                "exchange": {"name": "Exchange", "category": "exchange"},
                "thief": {"name": "Thief", "category": "stolen_funds"},
            },
            "received": [["5", 0]],
            "options": {"method": method},
        })
    };
    let exposed = |exchange: &str, mixer: Option<&str>| {
        let mut all = vec![("Exchange".to_owned(), 2, exchange.to_owned())];
        all.extend(mixer.map(|mixer| ("Mixer".to_owned(), 2, mixer.to_owned())));
        all
    };
    assert_eq!(shares(&run(&case("haircut"))), exposed("7/10", Some("3/10")));
    assert_eq!(shares(&run(&case("fifo"))), exposed("1", None));
    assert_eq!(shares(&run(&case("lifo"))), exposed("1/2", Some("1/2")));
    assert_eq!(shares(&run(&case("poison"))), exposed("1", Some("1")));
}

#[test]
fn money_that_no_history_explains_is_not_guessed() {
    let case = json!({
        "txs": {
            "1": {"transfers": [["mixer", "P", 1]]},
            "2": {"transfers": [["P", "A", 4]]},
            "3": {"transfers": [[null, "A", 4]]},
        },
        "labels": {"mixer": {"name": "Mixer", "category": "mixer"}},
        "received": [["2", 0], ["3", 0]],
    });
    let trace = run(&case);
    assert_eq!(
        shares(&trace),
        [
            ("coinbase".to_owned(), 1, "1/2".to_owned()),
            ("Mixer".to_owned(), 2, "1/8".to_owned())
        ]
    );
    assert_eq!(trace.cuts[&Cut::History], share("3/8"));
}

#[test]
fn cycles_self_transfers_and_nothing_at_all_end() {
    for case in [
        json!({"txs": {"t": {"in": [["t", 0]], "out": [["A", 5]]}}, "received": [["t", 0]]}),
        json!({"txs": {"t": {"in": [["u", 0]], "out": [["P", 5]]}, "u": {"in": [["t", 0]], "out": [["A", 5]]}},
               "received": [["u", 0]]}),
        json!({"txs": {"t": {"transfers": [["A", "A", 5]]}}, "received": [["t", 0]]}),
        json!({"txs": {"t": {"in": [["t", 0]], "out": [["B", 0], ["A", 5]]}}, "received": [["t", 1]]}),
    ] {
        let trace = run(&case);
        assert_eq!(trace.unresolved(), Share::one(), "{case}");
        assert!(trace.expansions <= 1000);
    }
    let nothing = run(&json!({"txs": {"t": {"in": [], "out": [["A", 0]]}}, "received": [["t", 0]]}));
    assert_eq!(nothing.exposures, []);
    assert_eq!(nothing.unresolved(), Share::default());
}

#[test]
fn members_that_nobody_knows_change_nothing() {
    let plain = mixed(json!({}));
    let mut more = plain.clone();
    more["comment"] = json!({"nested": [1, null]});
    more["txs"]["mix"]["witness"] = json!("00");
    more["labels"]["thief"]["colour"] = json!("red");
    assert_eq!(run(&more), run(&plain));
}

#[test]
fn twenty_thousand_inputs_are_one_step() {
    let mut transactions = serde_json::Map::new();
    for number in 0..20_000 {
        let party = if number % 4 == 0 {
            "mixer".to_owned()
        } else {
            format!("p{number}")
        };
        transactions.insert(format!("c{number}"), json!({"in": [], "out": [[party, 5]]}));
    }
    let inputs: Vec<Value> = (0..20_000)
        .map(|number| json!([format!("c{number}"), 0]))
        .collect();
    transactions.insert("big".to_owned(), json!({"in": inputs, "out": [["A", 100_000]]}));
    let case = json!({
        "txs": transactions,
        "labels": {"mixer": {"name": "Mixer", "category": "mixer"}},
        "received": [["big", 0]],
    });
    let trace = run(&case);
    assert_eq!(shares(&trace), [("Mixer".to_owned(), 1, "1/4".to_owned())]);
    assert_eq!(trace.cuts[&Cut::Epsilon], share("3/4"));
    assert_eq!(trace.expansions, 1);
}

/// A pays itself repeatedly (no hop), each time together with another party's coin; all sums are coprime.
fn mixing(steps: u64) -> Value {
    let mut transactions = serde_json::Map::new();
    transactions.insert("t0".to_owned(), json!({"in": [], "out": [["A", 1_000_003]]}));
    let mut own = 1_000_003u64;
    for step in 1..=steps {
        let mixed = 900_007 + 1_234 * step;
        let from = ["thief", "exchange", "gambler"][step as usize % 3];
        transactions.insert(format!("c{step}"), json!({"in": [], "out": [[from, mixed]]}));
        let inputs = json!([[format!("t{}", step - 1), 0], [format!("c{step}"), 0]]);
        let kept = (own + mixed) / 2 + step;
        transactions.insert(
            format!("t{step}"),
            json!({"in": inputs, "out": [["A", kept], ["shop", own + mixed - kept]]}),
        );
        own = kept;
    }
    json!({
        "txs": transactions,
        "labels": {
            "thief": {"name": "Thief", "category": "stolen_funds"},
            "exchange": {"name": "Exchange", "category": "exchange"},
            "gambler": {"name": "Casino", "category": "gambling"},
        },
        "received": [[format!("t{steps}"), 0]],
        "options": {"eps": "0", "budget": 10_000},
    })
}

#[test]
fn long_chains_of_mixing_stay_small_and_say_what_was_lost() {
    for (steps, exact) in [(10, true), (40, true), (400, false)] {
        let trace = run(&mixing(steps));
        assert!(trace.whole.bits() <= parts::MOST_BITS);
        let lost = trace.cuts.get(&Cut::Precision).cloned().unwrap_or_default();
        assert_eq!(lost.is_zero(), exact, "{steps}");
        assert!(lost < Share::new(1.into(), num_bigint::BigInt::one() << 500));
        assert_eq!(trace.attributed() + trace.unresolved(), Share::one());
        assert!(
            trace
                .exposures
                .iter()
                .all(|exposure| trace.share(exposure).denom().bits() <= parts::MOST_BITS)
        );
    }
}

#[test]
fn a_label_of_the_cluster_absorbs() {
    // P has no label; it once spent together with the mixer's address.
    let case = |heuristics: bool| {
        json!({
            "txs": {
                "m": {"in": [], "out": [["mixer", 7]]},
                "p": {"in": [], "out": [["P", 5]]},
                "q": {"in": [], "out": [["P", 9]]},
                "together": {"in": [["m", 0], ["p", 0]], "out": [["shop", 11], ["rest", 1]]},
                "pay": {"in": [["q", 0]], "out": [["A", 9]]},
            },
            "labels": {"mixer": {"name": "Mixer", "category": "mixer"}},
            "received": [["pay", 0]],
            "options": {"heuristics": heuristics},
        })
    };
    let trace = run(&case(true));
    assert_eq!(shares(&trace), [("Mixer".to_owned(), 1, "1".to_owned())]);
    assert_eq!(trace.clusters, 1);
    let trace = run(&case(false));
    assert_eq!(shares(&trace), [("coinbase".to_owned(), 2, "1".to_owned())]);
    assert_eq!(trace.clusters, 0);
}

#[test]
fn a_duplicated_id_and_empty_outputs_end() {
    // Both transactions spend and create the same id; all other amounts are zero.
    let case = json!({
        "txs": {
            "zero": {"in": [], "out": [["thief", 0], ["A", 0]]},
            "t": {"in": [["zero", 0], ["zero", 0], ["t", 0]], "out": [["A", 0]]},
        },
        "labels": {"thief": {"name": "Thief", "category": "stolen_funds"}},
        "received": [["t", 0], ["zero", 1]],
    });
    let trace = run(&case);
    assert_eq!(
        (trace.attributed(), trace.unresolved()),
        (Share::zero(), Share::zero())
    );
    let burnt = json!({
        "txs": {"c": {"in": [], "out": [["A", 5]]}, "t": {"in": [["c", 0]], "out": [["B", 0]]}},
        "received": [["c", 0]],
    });
    let fixture = Fixture::from_json(&burnt).unwrap();
    let seeds = Seeds::of([(Start::Coin(Coin::Output("c".into(), 0)), 1u8.into())]);
    let none = FxHashSet::default();
    let on = trace_of(&fixture, &none, Direction::Outgoing, seeds);
    assert_eq!(on.unattributed, Share::one(), "all was paid to the miner");
}

fn trace_of(source: &Fixture, own: &FxHashSet<Party>, direction: Direction, seeds: Seeds) -> Trace {
    trace(source, &|_| None, own, direction, seeds, &Options::default()).unwrap()
}

#[test]
fn amounts_beyond_64_bits_are_exact() {
    let large = "115792089237316195423570985008687907853269984665640564039457584007913129639935";
    let case = json!({
        "txs": {
            "1": {"transfers": [["mixer", "P", large]]},
            "2": {"transfers": [["exchange", "P", large]]},
            "3": {"transfers": [["P", "A", large]]},
        },
        "labels": {"mixer": {"name": "Mixer", "category": "mixer"}, "exchange": {"name": "E", "category": "exchange"}},
        "received": [["3", 0]],
    });
    assert_eq!(run(&case).attributed(), Share::one());
    assert_eq!(shares(&run(&case))[1].2, "1/2");
}

/// A random chain, in which each transaction spends some earlier outputs and pays some of eight parties.
fn any_chain() -> impl Strategy<Value = Value> {
    prop::collection::vec(
        (
            prop::collection::vec((0usize..30, 0u32..2), 0..4),
            0usize..8,
            0u64..50,
            1u64..50,
        ),
        1..30,
    )
    .prop_map(|made| {
        let mut transactions = serde_json::Map::new();
        for (number, (inputs, party, first, second)) in made.iter().enumerate() {
            let inputs: Vec<Value> = inputs
                .iter()
                .filter(|(before, _)| *before < number)
                .map(|(before, output)| json!([format!("t{before}"), output]))
                .collect();
            let outputs = json!([[format!("p{party}"), first], ["A", second]]);
            transactions.insert(format!("t{number}"), json!({"in": inputs, "out": outputs}));
        }
        let received: Vec<Value> = (0..made.len())
            .map(|number| json!([format!("t{number}"), 1]))
            .collect();
        json!({
            "txs": transactions,
            "labels": {"p0": {"name": "M", "category": "mixer"}, "p1": {"name": "X", "category": "exchange"}},
            "received": received,
        })
    })
}

proptest! {
    #[test]
    fn masses_sum_to_one(chain in any_chain(), method in prop::sample::select(vec!["haircut", "fifo", "lifo"])) {
        let mut chain = chain;
        chain["options"] = json!({"method": method, "budget": 50});
        let trace = run(&chain);
        prop_assert_eq!(trace.attributed() + trace.unresolved() + &trace.unattributed, Share::one());
        let again = run(&chain);
        prop_assert_eq!(trace, again);
    }

    #[test]
    fn poison_is_never_less_than_haircut(chain in any_chain()) {
        let mut chain = chain;
        chain["options"] = json!({"eps": "0", "budget": 100_000});
        let haircut = run(&chain);
        chain["options"]["method"] = "poison".into();
        let poison = run(&chain);
        for exposure in &haircut.exposures {
            let spoilt = poison.exposures.iter().find(|other| {
                (other.category, &other.entity, other.hop) == (exposure.category, &exposure.entity, exposure.hop)
            });
            prop_assert!(spoilt.is_some_and(|other| poison.share(other) >= haircut.share(exposure)));
        }
    }
}
