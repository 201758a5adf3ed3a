//! Screenings of crypto addresses and transactions.

use store::monitoring::{self, Filter, NewScreening, Screening};
use store::{Error, Scope, risk_profiles};
use uuid::Uuid;

use crate::bench::{Bench, START};

fn screening<'a>(id: u128, canonical: &'a str, label: &'a str) -> NewScreening<'a> {
    NewScreening {
        id: Uuid::from_u128(id),
        kind: "address",
        currency: "eth",
        query: "0xABC",
        canonical,
        label,
        status: 200,
        score: Some(12.3456),
        response: "{\"score\":12.3456}",
        evidence: Some("{\"at\":7}"),
        failure: None,
        coverage: Some(("money", 45.6789)),
    }
}

async fn insert(bench: &Bench, scope: Scope, new: NewScreening<'_>) {
    store::transaction!(bench.db, |tx| -> Result<(), Error> {
        monitoring::insert(tx, scope, &new).await
    })
    .unwrap();
}

async fn ids(bench: &Bench, scope: Scope, filter: Filter<'_>, limit: i64) -> Vec<u128> {
    let found = monitoring::list(&mut bench.read().await, scope, filter, limit).await;
    found.unwrap().iter().map(|s| s.id.as_u128()).collect()
}

pub(crate) async fn screenings_are_found(bench: Bench) {
    let merchant = bench.merchant().await;
    let scope = Scope {
        merchant_id: merchant.id,
        sandbox: true,
    };
    for (id, canonical, label) in [(1, "a", "Order 1"), (2, "b", "Order 1"), (3, "a", "Order 2")] {
        insert(&bench, scope, screening(id, canonical, label)).await;
    }
    let failed = NewScreening {
        status: 404,
        score: None,
        evidence: None,
        failure: Some("unreachable"),
        coverage: None,
        ..screening(4, "c", "Order 3")
    };
    insert(&bench, scope, failed).await;

    let one = monitoring::get(&mut bench.read().await, scope, Uuid::from_u128(1)).await;
    let expected = Screening {
        id: Uuid::from_u128(1),
        kind: "address".into(),
        currency: "eth".into(),
        query: "0xABC".into(),
        label: "Order 1".into(),
        status: 200,
        score: Some(12.346),
        response: "{\"score\":12.3456}".into(),
        failure: None,
        coverage: Some(("money".into(), 45.679)),
        created_at: START,
    };
    assert_eq!(one.unwrap(), Some(expected));
    let failed = monitoring::get(&mut bench.read().await, scope, Uuid::from_u128(4)).await;
    let failed = failed.unwrap().unwrap();
    assert_eq!(
        (failed.failure.as_deref(), failed.coverage),
        (Some("unreachable"), None)
    );

    let all = Filter::default();
    assert_eq!(ids(&bench, scope, all, 10).await, [4, 3, 2, 1]);
    assert_eq!(ids(&bench, scope, all, 2).await, [4, 3]);
    let before = Filter {
        before: Some(Uuid::from_u128(3)),
        ..all
    };
    assert_eq!(ids(&bench, scope, before, 10).await, [2, 1]);
    let (a, a_or_c) = (["a".to_owned()], ["a".to_owned(), "c".to_owned()]);
    let of_a = Filter {
        canonical: &a,
        currency: Some("eth"),
        ..all
    };
    assert_eq!(ids(&bench, scope, of_a, 10).await, [3, 1]);
    let elsewhere = Filter {
        currency: Some("etc"),
        ..of_a
    };
    assert!(
        ids(&bench, scope, elsewhere, 10).await.is_empty(),
        "the same address on another chain"
    );
    let order = Filter {
        label: Some("Order 1"),
        ..of_a
    };
    assert_eq!(ids(&bench, scope, order, 10).await, [1]);
    let either = Filter {
        canonical: &a_or_c,
        ..all
    };
    assert_eq!(ids(&bench, scope, either, 10).await, [4, 3, 1]);

    let evidence = async |scope, id| {
        monitoring::evidence(&mut bench.read().await, scope, Uuid::from_u128(id))
            .await
            .unwrap()
    };
    assert_eq!(evidence(scope, 1).await.as_deref(), Some("{\"at\":7}"));
    assert_eq!(evidence(scope, 4).await, None, "a failure has none");

    for other in [
        Scope {
            sandbox: false,
            ..scope
        },
        Scope {
            merchant_id: bench.merchant().await.id,
            ..scope
        },
    ] {
        assert!(
            ids(&bench, other, all, 10).await.is_empty(),
            "nothing crosses accounts or modes"
        );
        assert_eq!(evidence(other, 1).await, None);
    }
}

pub(crate) async fn a_profile_is_followed_by_another(bench: Bench) {
    let (merchant, other) = (bench.merchant().await, bench.merchant().await);
    let newest = async |id| risk_profiles::newest(&mut bench.read().await, id).await.unwrap();
    assert_eq!(newest(merchant.id).await, None);
    let add = async |version: i64, profile: &str| {
        store::transaction!(bench.db, |tx| -> Result<(), Error> {
            risk_profiles::insert(tx, merchant.id, version, profile).await
        })
    };
    add(1, "{}").await.unwrap();
    add(2, "{\"a\":1}").await.unwrap();
    assert!(matches!(add(2, "{}").await, Err(Error::Conflict)));
    let profile = newest(merchant.id).await.unwrap();
    assert_eq!((profile.version, profile.profile.as_str()), (2, "{\"a\":1}"));
    let first = risk_profiles::get(&mut bench.read().await, merchant.id, 1).await;
    assert_eq!(first.unwrap().unwrap().profile, "{}");
    assert_eq!(newest(other.id).await, None);
}
