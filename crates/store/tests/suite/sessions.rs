//! Links and sessions.

use std::time::Duration;

use secrecy::{ExposeSecret as _, SecretString};
use store::sessions::{self, Link, LinkToken, Session, SessionStatus, Stage};
use store::{Error, Scope};
use uuid::Uuid;

use crate::bench::{Bench, START};

const TEN_MINUTES: i64 = 600_000;

fn link() -> Link {
    Link {
        group_id: Uuid::from_u128(1),
        flow_id: Uuid::from_u128(2),
        user_id: "ada@example.com".into(),
    }
}

async fn create_link(bench: &Bench, scope: Scope) -> SecretString {
    store::transaction!(bench.db, |tx| -> Result<SecretString, Error> {
        sessions::create_link(tx, scope, &link(), TEN_MINUTES).await
    })
    .unwrap()
}

pub(crate) async fn a_link_is_redeemed_once(bench: Bench) {
    let scope = bench.scope().await;
    let token = create_link(&bench, scope).await;
    let peeked = sessions::peek_link(&mut bench.read().await, token.expose_secret())
        .await
        .unwrap();
    assert!(
        matches!(peeked, LinkToken::Good { .. }),
        "looking uses nothing up"
    );
    let tasks: Vec<_> = (0..200)
        .map(|_| {
            let (db, token) = (bench.db.clone(), token.clone());
            tokio::spawn(async move {
                store::transaction!(db, |tx| -> Result<LinkToken, Error> {
                    sessions::redeem_link(tx, token.expose_secret()).await
                })
                .unwrap()
            })
        })
        .collect();
    let mut winners = 0;
    for task in tasks {
        match task.await.unwrap() {
            LinkToken::Good {
                scope: of,
                link: made_for,
                merchant,
                expires_at,
            } => {
                assert_eq!((of, made_for, merchant.id), (scope, link(), scope.merchant_id));
                assert_eq!(expires_at, START + TEN_MINUTES);
                winners += 1;
            }
            LinkToken::Used => {}
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(winners, 1);

    let late = create_link(&bench, scope).await;
    bench.pass(Duration::from_secs(600));
    let mut tx = bench.db.begin().await.unwrap();
    let redeem = sessions::redeem_link(&mut tx, late.expose_secret())
        .await
        .unwrap();
    assert!(matches!(redeem, LinkToken::Expired));
    for token in ["", "é", "short", &late.expose_secret()[..20], &"x".repeat(51)] {
        let redeem = sessions::redeem_link(&mut tx, token).await.unwrap();
        assert!(matches!(redeem, LinkToken::Invalid), "{token}");
    }
    assert_eq!(
        sessions::sweep_links(&mut tx, START + TEN_MINUTES).await.unwrap(),
        0
    );
    assert_eq!(
        sessions::sweep_links(&mut tx, START + TEN_MINUTES + 1)
            .await
            .unwrap(),
        2
    );
}

async fn create(bench: &Bench, scope: Scope) -> (Session, SecretString) {
    store::transaction!(bench.db, |tx| -> Result<(Session, SecretString), Error> {
        sessions::create(tx, scope, link(), 3, TEN_MINUTES).await
    })
    .unwrap()
}

pub(crate) async fn a_session_runs_its_course(bench: Bench) {
    let scope = bench.scope().await;
    let (made, token) = create(&bench, scope).await;
    let mut conn = bench.read().await;
    let (merchant, of, found) = sessions::by_access_token(&mut conn, token.expose_secret())
        .await
        .unwrap()
        .unwrap();
    assert_eq!((merchant.id, of, found), (scope.merchant_id, scope, made.clone()));
    assert_eq!(
        sessions::get(&mut conn, scope, made.id).await.unwrap(),
        Some(made.clone())
    );
    let live = Scope {
        sandbox: false,
        ..scope
    };
    assert_eq!(sessions::get(&mut conn, live, made.id).await.unwrap(), None);

    let advance = async |status, stage, log_id| {
        store::transaction!(bench.db, |tx| -> Result<bool, Error> {
            sessions::advance(tx, scope, made.id, status, stage, log_id).await
        })
        .unwrap()
    };
    assert!(advance(SessionStatus::Pending, Stage::InReview, Some(7)).await);
    bench.pass(Duration::from_secs(30));
    assert!(advance(SessionStatus::Success, Stage::Done, None).await);
    assert!(
        !advance(SessionStatus::Failed, Stage::Done, Some(8)).await,
        "terminal states do not change"
    );
    let done = sessions::get(&mut bench.read().await, scope, made.id)
        .await
        .unwrap()
        .unwrap();
    let expected = Session {
        status: SessionStatus::Success,
        stage: Stage::Done,
        log_id: Some(7),
        completed_at: Some(START + 30_000),
        ..made
    };
    assert_eq!(done, expected);
    bench.pass(Duration::from_secs(570));
    let late = sessions::by_access_token(&mut bench.read().await, token.expose_secret())
        .await
        .unwrap();
    assert!(late.is_none(), "the token expires, the session stays");
}

pub(crate) async fn attempts_are_counted_out(bench: Bench) {
    let scope = bench.scope().await;
    let (made, _) = create(&bench, scope).await;
    let tasks: Vec<_> = (0..10)
        .map(|_| {
            let db = bench.db.clone();
            tokio::spawn(async move {
                store::transaction!(db, |tx| -> Result<Option<Session>, Error> {
                    sessions::use_attempt(tx, scope, made.id, START).await
                })
                .unwrap()
                .is_some()
            })
        })
        .collect();
    let mut allowed = 0;
    for task in tasks {
        allowed += u32::from(task.await.unwrap());
    }
    assert_eq!(allowed, 3);
}

/// What a session without attempts, one after a failed attempt, and one in review come to, read before and after the
/// job that writes it down.
pub(crate) async fn sessions_end_with_their_time(bench: Bench) {
    let scope = bench.scope().await;
    let mut made = Vec::new();
    for _ in 0..3 {
        made.push(create(&bench, scope).await.0.id);
    }
    let [idle, failed, reviewed] = made.try_into().unwrap();
    let attempt = async |id| {
        store::transaction!(bench.db, |tx| -> Result<Option<Session>, Error> {
            let now = tx.now();
            sessions::use_attempt(tx, scope, id, now).await
        })
        .unwrap()
        .is_some()
    };
    let advance = async |id, status, stage, log_id| {
        store::transaction!(bench.db, |tx| -> Result<bool, Error> {
            sessions::advance(tx, scope, id, status, stage, log_id).await
        })
        .unwrap()
    };
    let expire = async || {
        store::transaction!(bench.db, |tx| -> Result<u64, Error> {
            sessions::expire(tx, 100).await
        })
        .unwrap()
    };
    assert!(attempt(failed).await && attempt(reviewed).await);
    assert!(advance(failed, SessionStatus::Pending, Stage::Open, Some(1)).await);
    assert!(advance(reviewed, SessionStatus::Pending, Stage::InReview, Some(2)).await);
    bench.pass(Duration::from_millis(599_999));
    assert_eq!(expire().await, 0);
    bench.pass(Duration::from_millis(1));
    let end = Some(START + TEN_MINUTES);
    let expected = [
        (idle, SessionStatus::Expired, Stage::Done, end),
        (failed, SessionStatus::Failed, Stage::Done, end),
        (reviewed, SessionStatus::Pending, Stage::InReview, None),
    ];
    for after_the_job in [false, true] {
        for (id, status, stage, completed_at) in expected {
            let found = sessions::get(&mut bench.read().await, scope, id)
                .await
                .unwrap()
                .unwrap();
            let stands = (found.status, found.stage, found.completed_at);
            assert_eq!(
                stands,
                (status, stage, completed_at),
                "after the job: {after_the_job}"
            );
        }
        assert!(!attempt(idle).await && !attempt(failed).await);
        if !after_the_job {
            assert_eq!(
                expire().await,
                0,
                "what was admitted in time is still being recorded"
            );
            bench.pass(Duration::from_secs(60));
            let (first, second) = tokio::join!(expire(), expire());
            assert_eq!(first + second, 2, "two nodes at once");
        }
        bench.pass(Duration::from_secs(60));
    }
    assert!(attempt(reviewed).await, "what is in review outlives the token");
    assert!(!advance(failed, SessionStatus::Success, Stage::Done, None).await);
    assert!(advance(reviewed, SessionStatus::Success, Stage::Done, None).await);
    assert_eq!(expire().await, 0);
}
