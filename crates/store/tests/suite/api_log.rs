//! The API log.

use store::api_log::{self, Call, CallSummary, Filter, OutcomeFilter};
use store::{Error, Scope};
use uuid::Uuid;

use crate::bench::{Bench, START};

const MINUTE: i64 = 60_000;

/// A call made `minute` minutes after the start.
fn call(scope: Scope, minute: i64, route: &str, status: u16, key: &str) -> Call {
    let at = START + minute * MINUTE;
    Call {
        scope,
        summary: CallSummary {
            id: Uuid::from_u128((u128::from(at.unsigned_abs()) << 80) | 7),
            request_id: format!("request-{minute}"),
            at,
            method: "GET".into(),
            route: route.into(),
            status,
            ms: 12,
            key: key.into(),
        },
        exchange: format!("{{\"address\":\"secret-{minute}\"}}"),
    }
}

async fn minutes(bench: &Bench, scope: Scope, filter: Filter<'_>) -> Vec<i64> {
    let lines = api_log::list(&mut bench.db.traffic().read().await.unwrap(), scope, filter, 10).await;
    let minute = |line: CallSummary| (line.at - START) / MINUTE;
    lines.unwrap().into_iter().map(minute).collect()
}

pub(crate) async fn calls_are_found_and_swept(bench: Bench) {
    let (scope, other) = (bench.scope().await, bench.scope().await);
    let live = Scope {
        sandbox: false,
        ..scope
    };
    let calls = [
        call(scope, 0, "/groups", 200, "a"),
        call(scope, 1, "/groups", 404, "a"),
        call(scope, 2, "/verify", 503, "b"),
        call(scope, 3, "/verify", 200, "b"),
        call(other, 4, "/verify", 200, "c"),
        call(live, 5, "/verify", 200, "d"),
    ];
    let keys = api_log::keys(&mut bench.read().await, &calls).await.unwrap();
    store::transaction!(bench.db.traffic(), |tx| -> Result<(), Error> {
        api_log::insert(tx, &keys, &calls).await
    })
    .unwrap();

    let any = Filter::default();
    for (filter, found) in [
        (any, &[3, 2, 1, 0][..]),
        (
            Filter {
                route: Some("/groups"),
                ..any
            },
            &[1, 0],
        ),
        (
            Filter {
                key: Some("b"),
                ..any
            },
            &[3, 2],
        ),
        (
            Filter {
                request_id: Some("request-2"),
                ..any
            },
            &[2],
        ),
        (
            Filter {
                outcome: OutcomeFilter::Refused,
                ..any
            },
            &[2, 1],
        ),
        (
            Filter {
                outcome: OutcomeFilter::With(404),
                ..any
            },
            &[1],
        ),
        (
            Filter {
                outcome: OutcomeFilter::With(200),
                ..any
            },
            &[3, 0],
        ),
        (
            Filter {
                from: Some(START + MINUTE),
                until: Some(START + 3 * MINUTE),
                ..any
            },
            &[2, 1],
        ),
        (
            Filter {
                before: Some(calls[2].summary.id),
                ..any
            },
            &[1, 0],
        ),
        (
            Filter {
                before: Some(calls[2].summary.id),
                until: Some(START + MINUTE),
                ..any
            },
            &[0],
        ),
    ] {
        assert_eq!(minutes(&bench, scope, filter).await, found, "{filter:?}");
    }

    let id = calls[1].summary.id;
    let mut traffic = bench.db.traffic().read().await.unwrap();
    let found = api_log::get(&mut traffic, scope, id).await.unwrap().unwrap();
    assert_eq!(found.open(&mut bench.read().await).await.unwrap(), calls[1]);
    for stranger in [other, live] {
        let found = api_log::get(&mut traffic, stranger, id).await;
        assert!(found.unwrap().is_none());
    }

    let swept = store::transaction!(bench.db.traffic(), |tx| -> Result<u64, Error> {
        api_log::sweep(tx, START + 2 * MINUTE, 1).await
    });
    assert_eq!(swept.unwrap(), 1, "no more than asked for");
    assert_eq!(minutes(&bench, scope, any).await, [3, 2, 1]);
    let swept = store::transaction!(bench.db.traffic(), |tx| -> Result<u64, Error> {
        api_log::sweep(tx, START + 2 * MINUTE, 10).await
    });
    assert_eq!(swept.unwrap(), 1);
    assert_eq!(minutes(&bench, scope, any).await, [3, 2]);
}
