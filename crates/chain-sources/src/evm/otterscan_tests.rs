//! Nodes whose Otterscan index lists an address's transactions completely, or not at all.

use std::sync::Arc;

use chain::source::{Source, SourceError, Window};

use super::fake_node::{FakeNode, FakeTransaction, Traces, canonical, plain};
use super::tests::index;

#[test]
fn the_index_of_otterscan_lists_addresses_too() {
    // A block has 60 payments, which is more than one page.
    let full: Vec<FakeTransaction> = (0..60).map(|_| plain(1, 4, 1)).collect();
    let blocks = vec![
        vec![plain(1, 4, 1)],
        full,
        vec![plain(4, 3, 2), plain(1, 3, 1)],
        vec![],
    ];
    for (largest, known) in [(25, None), (100, Some(62)), (10, None)] {
        let played = Arc::new(FakeNode {
            otterscan: Some(largest),
            ..FakeNode::new(blocks.clone(), Traces::Parity)
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
            // A partial list must never count as complete.
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

#[test]
fn a_search_of_traces_that_breaks_off_leaves_nothing_behind() {
    // The first side has more transactions than a page. None of them may remain in the list.
    let sent: Vec<Vec<FakeTransaction>> = (0..60).map(|_| vec![plain(4, 3, 1)]).collect();
    let paid = vec![vec![plain(1, 4, 100)]];
    let blocks = [paid, sent].concat();
    let played = |otterscan| {
        Arc::new(FakeNode {
            otterscan,
            one_sided: true,
            ..FakeNode::new(blocks.clone(), Traces::Parity)
        })
    };
    let window = Window {
        up_to: None,
        limit: 1000,
    };
    let listed = index(&played(Some(25)));
    let history = listed
        .screening()
        .unwrap()
        .history(&canonical(4), window)
        .unwrap();
    assert_eq!((history.transactions.len(), history.complete), (61, true));
    let neither = index(&played(None));
    let history = neither.screening().unwrap().history(&canonical(4), window);
    assert_eq!(history, Err(SourceError::NotFound));
}
