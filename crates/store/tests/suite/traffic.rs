//! Rate limits, idempotency keys, the audit trail, the webhook outbox and jobs.

use std::num::NonZeroU32;
use std::time::Duration;

use store::audit::{self, AuditCheck, Entry};
use store::idempotency::{self, KeyLease, KeyState, ResponseSubject};
use store::jobs::{self, Job, NewJob};
use store::limits::{self, Bucket, Quota, RateLimitResult};
use store::outbox::{self, Delivery, NewEvent};
use store::{Error, Scope};
use uuid::Uuid;

use crate::bench::{Bench, START};

fn quota(limit: u32) -> Quota {
    Quota {
        limit: NonZeroU32::new(limit).unwrap(),
        per: Duration::from_secs(60),
    }
}

async fn take(bench: &Bench, bucket: Bucket<'_>, quota: Quota) -> RateLimitResult {
    store::transaction!(bench.db, |tx| -> Result<RateLimitResult, Error> {
        limits::take(tx, bucket, quota).await
    })
    .unwrap()
}

pub(crate) async fn a_bucket_empties_and_fills(bench: Bench) {
    let merchant_id = Uuid::new_v4();
    let bucket = Bucket {
        merchant_id,
        name: "verify",
    };
    let verdict = |allowed, remaining, reset_s, retry_after_s| RateLimitResult {
        allowed,
        limit: 3,
        remaining,
        reset_s,
        retry_after_s,
    };
    let peek = async || {
        limits::peek(&mut bench.read().await, bucket, quota(3))
            .await
            .unwrap()
    };
    assert_eq!(peek().await, verdict(true, 3, 0, 0));
    assert_eq!(take(&bench, bucket, quota(3)).await, verdict(true, 2, 20, 0));
    assert_eq!(take(&bench, bucket, quota(3)).await, verdict(true, 1, 40, 0));
    assert_eq!(take(&bench, bucket, quota(3)).await, verdict(true, 0, 60, 20));
    assert_eq!(take(&bench, bucket, quota(3)).await, verdict(false, 0, 60, 20));
    assert_eq!(peek().await, verdict(false, 0, 60, 20));
    let other = Bucket {
        merchant_id,
        name: "reads",
    };
    assert!(take(&bench, other, quota(3)).await.allowed, "buckets are apart");
    bench.pass(Duration::from_millis(19_999));
    assert_eq!(take(&bench, bucket, quota(3)).await, verdict(false, 0, 41, 1));
    bench.pass(Duration::from_millis(1));
    assert_eq!(take(&bench, bucket, quota(3)).await, verdict(true, 0, 60, 20));
    bench.pass(Duration::from_secs(3600));
    assert_eq!(
        take(&bench, bucket, quota(3)).await,
        verdict(true, 2, 20, 0),
        "no more than full"
    );
    bench.pass(Duration::from_secs(3600));
    let mut tx = bench.db.begin().await.unwrap();
    assert_eq!(limits::sweep(&mut tx).await.unwrap(), 2);
}

pub(crate) async fn a_bucket_gives_no_more_than_it_holds(bench: Bench) {
    let tasks: Vec<_> = (0..50)
        .map(|_| {
            let db = bench.db.clone();
            tokio::spawn(async move {
                let bucket = Bucket {
                    merchant_id: Uuid::nil(),
                    name: "exchange",
                };
                store::transaction!(db, |tx| -> Result<RateLimitResult, Error> {
                    limits::take(tx, bucket, quota(10)).await
                })
                .unwrap()
                .allowed
            })
        })
        .collect();
    let mut allowed = 0;
    for task in tasks {
        allowed += u32::from(task.await.unwrap());
    }
    assert_eq!(allowed, 10);
}

async fn begin(bench: &Bench, scope: Scope, operation: &str, key: &str, body: &[u8]) -> KeyState {
    store::transaction!(bench.db, |tx| -> Result<KeyState, Error> {
        idempotency::claim_key(tx, scope, operation, key, body, LEASE_MS).await
    })
    .unwrap()
}

const LEASE_MS: i64 = 60_000;

async fn complete(
    bench: &Bench,
    scope: Scope,
    ticket: &KeyLease,
    status: u16,
    body: &[u8],
) -> Result<(), Error> {
    store::transaction!(bench.db, |tx| -> Result<(), Error> {
        idempotency::complete(tx, scope, ticket, (status, body), ResponseSubject::Configuration).await
    })
}

async fn renew(bench: &Bench, scope: Scope, ticket: &KeyLease) -> bool {
    store::transaction!(bench.db, |tx| -> Result<bool, Error> {
        idempotency::renew(tx, scope, ticket, LEASE_MS).await
    })
    .unwrap()
}

pub(crate) async fn a_key_is_answered_once(bench: Bench) {
    let scope = bench.scope().await;
    let KeyState::Claimed(ticket) = begin(&bench, scope, "verify", "k", b"one").await else {
        panic!("fresh")
    };
    assert!(matches!(
        begin(&bench, scope, "verify", "k", b"one").await,
        KeyState::InProgress
    ));
    assert!(matches!(
        begin(&bench, scope, "verify", "k", b"two").await,
        KeyState::Mismatch
    ));
    assert!(matches!(
        begin(&bench, scope, "groups", "k", b"one").await,
        KeyState::Claimed(_)
    ));
    let live = Scope {
        sandbox: false,
        ..scope
    };
    assert!(matches!(
        begin(&bench, live, "verify", "k", b"one").await,
        KeyState::Claimed(_)
    ));
    complete(&bench, scope, &ticket, 201, b"answer").await.unwrap();
    let KeyState::Replay { status, body } = begin(&bench, scope, "verify", "k", b"one").await else {
        panic!("replay")
    };
    assert_eq!((status, body.as_slice()), (201, b"answer".as_slice()));
    assert!(matches!(
        begin(&bench, scope, "verify", "k", b"two").await,
        KeyState::Mismatch
    ));
    bench.pass(Duration::from_secs(24 * 60 * 60));
    let KeyState::Claimed(ticket) = begin(&bench, scope, "verify", "k", b"two").await else {
        panic!("expired")
    };
    let mut tx = bench.db.begin().await.unwrap();
    idempotency::abandon(&mut tx, scope, &ticket).await.unwrap();
    tx.commit().await.unwrap();
    assert!(matches!(
        begin(&bench, scope, "verify", "k", b"one").await,
        KeyState::Claimed(_)
    ));
    bench.pass(Duration::from_secs(24 * 60 * 60));
    let mut tx = bench.db.begin().await.unwrap();
    assert_eq!(idempotency::sweep(&mut tx).await.unwrap(), 3);
}

pub(crate) async fn a_dead_request_is_taken_over(bench: Bench) {
    let scope = bench.scope().await;
    let KeyState::Claimed(dead) = begin(&bench, scope, "verify", "k", b"one").await else {
        panic!("fresh")
    };
    bench.pass(Duration::from_secs(60));
    let KeyState::Claimed(heir) = begin(&bench, scope, "verify", "k", b"one").await else {
        panic!("taken over")
    };
    assert!(!renew(&bench, scope, &dead).await);
    let late = complete(&bench, scope, &dead, 200, b"too late").await;
    assert!(matches!(late, Err(Error::LeaseLost)), "{late:?}");
    let mut tx = bench.db.begin().await.unwrap();
    idempotency::abandon(&mut tx, scope, &dead).await.unwrap();
    tx.commit().await.unwrap();
    assert!(matches!(
        begin(&bench, scope, "verify", "k", b"one").await,
        KeyState::InProgress
    ));
    complete(&bench, scope, &heir, 200, b"in time").await.unwrap();
    let KeyState::Replay { body, .. } = begin(&bench, scope, "verify", "k", b"one").await else {
        panic!("replay")
    };
    assert_eq!(body, b"in time");
    let twice = complete(&bench, scope, &heir, 200, b"twice").await;
    assert!(matches!(twice, Err(Error::LeaseLost)), "{twice:?}");
}

pub(crate) async fn a_renewed_lease_is_not_taken_over(bench: Bench) {
    let scope = bench.scope().await;
    let KeyState::Claimed(ticket) = begin(&bench, scope, "verify", "k", b"one").await else {
        panic!("fresh")
    };
    for _ in 0..3 {
        bench.pass(Duration::from_secs(59));
        assert!(renew(&bench, scope, &ticket).await);
        let repeated = begin(&bench, scope, "verify", "k", b"one").await;
        assert!(matches!(repeated, KeyState::InProgress), "{repeated:?}");
    }
    complete(&bench, scope, &ticket, 200, b"in time").await.unwrap();
    assert!(!renew(&bench, scope, &ticket).await, "it was answered");
    // A row of an earlier version has no lease and is taken over after five minutes.
    let KeyState::Claimed(earlier) = begin(&bench, scope, "verify", "l", b"one").await else {
        panic!("fresh")
    };
    bench
        .sql("update idempotency_keys set lease_id = null, lease_until = null where status is null")
        .await;
    bench.pass(Duration::from_secs(299));
    let repeated = begin(&bench, scope, "verify", "l", b"one").await;
    assert!(matches!(repeated, KeyState::InProgress), "{repeated:?}");
    bench.pass(Duration::from_secs(1));
    let heir = begin(&bench, scope, "verify", "l", b"one").await;
    assert!(matches!(heir, KeyState::Claimed(_)), "{heir:?}");
    let late = complete(&bench, scope, &earlier, 200, b"too late").await;
    assert!(matches!(late, Err(Error::LeaseLost)), "{late:?}");
}

async fn note(bench: &Bench, scope: Scope, action: &str) {
    let entry = Entry {
        actor: "test",
        action,
        subject: "subject",
        detail: "{}",
    };
    store::transaction!(bench.db, |tx| -> Result<(), Error> {
        audit::write(tx, scope, &entry).await
    })
    .unwrap();
}

pub(crate) async fn the_audit_chain_shows_tampering(bench: Bench) {
    let (scope, other) = (bench.scope().await, bench.scope().await);
    for n in 0..5 {
        note(
            &bench,
            Scope {
                sandbox: n % 2 == 0,
                ..scope
            },
            &format!("action {n}"),
        )
        .await;
    }
    note(&bench, other, "elsewhere").await;
    let check = async |scope: Scope| {
        audit::verify(&mut bench.read().await, scope.merchant_id)
            .await
            .unwrap()
    };
    assert_eq!(check(scope).await, AuditCheck::Intact { rows: 5 });
    let rows = audit::list(&mut bench.read().await, scope.merchant_id, Some(5), 2)
        .await
        .unwrap();
    assert_eq!(
        rows.iter().map(|row| row.action.as_str()).collect::<Vec<_>>(),
        ["action 3", "action 2"]
    );

    bench
        .sql("update audit set action = 'action x' where action = 'action 2'")
        .await;
    assert_eq!(check(scope).await, AuditCheck::Broken { seq: 3 });
    bench
        .sql("update audit set action = 'action 2' where action = 'action x'")
        .await;
    assert_eq!(check(scope).await, AuditCheck::Intact { rows: 5 });
    bench.sql("delete from audit where action = 'action 4'").await;
    assert_eq!(
        check(scope).await,
        AuditCheck::Broken { seq: 5 },
        "cut off at the end"
    );
    bench.sql("delete from audit where action = 'action 1'").await;
    assert_eq!(
        check(scope).await,
        AuditCheck::Broken { seq: 2 },
        "missing within"
    );
    assert_eq!(check(other).await, AuditCheck::Intact { rows: 1 });
}

pub(crate) async fn audit_rows_share_the_transaction(bench: Bench) {
    let scope = bench.scope().await;
    let entry = Entry {
        actor: "test",
        action: "never",
        subject: "",
        detail: "{}",
    };
    let failed = store::transaction!(bench.db, |tx| -> Result<(), Error> {
        audit::write(tx, scope, &entry).await?;
        Err(Error::LimitReached)
    });
    assert!(matches!(failed, Err(Error::LimitReached)));
    let tasks: Vec<_> = (0..20)
        .map(|_| {
            let db = bench.db.clone();
            tokio::spawn(async move {
                store::transaction!(db, |tx| -> Result<(), Error> {
                    audit::write(tx, scope, &entry).await
                })
                .unwrap();
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    let check = audit::verify(&mut bench.read().await, scope.merchant_id)
        .await
        .unwrap();
    assert_eq!(check, AuditCheck::Intact { rows: 20 });
}

async fn claim(bench: &Bench, limit: i64) -> Vec<Delivery> {
    store::transaction!(bench.db, |tx| -> Result<Vec<Delivery>, Error> {
        outbox::claim(tx, limit, 15_000).await
    })
    .unwrap()
}

pub(crate) async fn events_are_claimed_once_and_again_after_their_lease(bench: Bench) {
    let scope = bench.scope().await;
    let flow_id = Uuid::new_v4();
    let mut tx = bench.db.begin().await.unwrap();
    let mut ids = Vec::new();
    for n in 0..3 {
        let body = format!("{{\"n\":{n}}}");
        let event = NewEvent {
            flow_id,
            kind: "verification.completed",
            body: &body,
            facemap_id: None,
        };
        ids.push(outbox::enqueue(&mut tx, scope, &event).await.unwrap());
    }
    tx.commit().await.unwrap();
    let (first, second) = tokio::join!(claim(&bench, 2), claim(&bench, 2));
    let mut claimed: Vec<Delivery> = first.into_iter().chain(second).collect();
    claimed.sort_by_key(|delivery| delivery.id);
    assert_eq!(
        claimed.iter().map(|delivery| delivery.id).collect::<Vec<_>>(),
        ids,
        "each once"
    );
    assert_eq!(claimed[1].body.as_deref(), Some("{\"n\":1}"));
    assert!(claim(&bench, 9).await.is_empty());

    let mut tx = bench.db.begin().await.unwrap();
    outbox::mark_delivered(&mut tx, &claimed[0], 204).await.unwrap();
    outbox::mark_failed(&mut tx, &claimed[1], Some(500), "HTTP 500", Some(START + 20_000))
        .await
        .unwrap();
    tx.commit().await.unwrap();
    bench.pass(Duration::from_secs(15));
    let again = claim(&bench, 9).await;
    assert_eq!(again.len(), 1, "the one whose deliverer died");
    assert_eq!((again[0].id, again[0].tries), (ids[2], 2));
    let mut tx = bench.db.begin().await.unwrap();
    outbox::mark_delivered(&mut tx, &claimed[2], 200).await.unwrap();
    outbox::mark_failed(&mut tx, &again[0], None, "410 Gone", None)
        .await
        .unwrap();
    tx.commit().await.unwrap();
    bench.pass(Duration::from_secs(5));
    let retried = claim(&bench, 9).await;
    assert_eq!(
        retried.iter().map(|delivery| delivery.id).collect::<Vec<_>>(),
        [ids[1]]
    );

    let states = outbox::list(&mut bench.read().await, scope, 9).await.unwrap();
    assert_eq!(
        states.iter().map(|state| state.id).collect::<Vec<_>>(),
        [ids[2], ids[1], ids[0]]
    );
    assert_eq!(states[0].delivered_at, None, "a lost claim reports nothing");
    assert_eq!(states[0].next_try_at, None, "given up");
    assert_eq!(
        (states[2].delivered_at, states[2].last_status),
        (Some(START), Some(204))
    );
    let mut tx = bench.db.begin().await.unwrap();
    assert!(outbox::resend(&mut tx, scope, ids[0]).await.unwrap());
    assert!(
        !outbox::resend(
            &mut tx,
            Scope {
                sandbox: false,
                ..scope
            },
            ids[0]
        )
        .await
        .unwrap()
    );
    tx.commit().await.unwrap();
    assert_eq!(claim(&bench, 9).await[0].id, ids[0]);
}

async fn lease(bench: &Bench, kind: &str) -> Option<Job> {
    store::transaction!(bench.db, |tx| -> Result<Option<Job>, Error> {
        jobs::claim(tx, kind, 1000).await
    })
    .unwrap()
}

pub(crate) async fn jobs_are_leased_to_one_worker(bench: Bench) {
    let job = |unique_name, run_at| NewJob {
        merchant_id: None,
        kind: "sweep",
        unique_name,
        payload: "{}",
        run_at,
    };
    let mut tx = bench.db.begin().await.unwrap();
    assert!(jobs::enqueue(&mut tx, &job(Some("daily"), START)).await.unwrap());
    assert!(!jobs::enqueue(&mut tx, &job(Some("daily"), START)).await.unwrap());
    assert!(jobs::enqueue(&mut tx, &job(None, START + 10)).await.unwrap());
    assert!(jobs::enqueue(&mut tx, &job(None, START + 10)).await.unwrap());
    tx.commit().await.unwrap();
    let (a, b) = tokio::join!(lease(&bench, "sweep"), lease(&bench, "sweep"));
    assert!(
        a.is_some() != b.is_some(),
        "only one is due, and only one worker gets it"
    );
    let first = a.or(b).unwrap();
    assert!(lease(&bench, "other").await.is_none());
    bench.pass(Duration::from_millis(1000));
    let leased = [
        lease(&bench, "sweep").await,
        lease(&bench, "sweep").await,
        lease(&bench, "sweep").await,
    ];
    let again = leased
        .iter()
        .flatten()
        .find(|job| job.id == first.id)
        .expect("its lease ran out");
    let mut tx = bench.db.begin().await.unwrap();
    assert!(
        !jobs::finish(&mut tx, &first).await.unwrap(),
        "the lease was lost"
    );
    assert!(jobs::retry(&mut tx, again, START + 2000, "later").await.unwrap());
    for done in leased.iter().flatten().filter(|job| job.id != first.id) {
        assert!(jobs::finish(&mut tx, done).await.unwrap());
    }
    tx.commit().await.unwrap();
    assert!(lease(&bench, "sweep").await.is_none());
    bench.pass(Duration::from_millis(999));
    assert!(lease(&bench, "sweep").await.is_none());
    bench.pass(Duration::from_millis(1));
    let mut tx = bench.db.begin().await.unwrap();
    let last = jobs::claim(&mut tx, "sweep", 1000).await.unwrap().unwrap();
    assert_eq!(last.tries, 3);
    assert!(jobs::finish(&mut tx, &last).await.unwrap());
    assert!(
        jobs::enqueue(&mut tx, &job(Some("daily"), START)).await.unwrap(),
        "a finished job's name is free"
    );
    tx.commit().await.unwrap();
}
