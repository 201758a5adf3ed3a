//! Links and sessions.

use std::time::Duration;

use secrecy::{ExposeSecret as _, SecretString};
use store::link_tokens::{self, LinkToken};
use store::sessions::{self, Link, Session, SessionStatus, Stage};
use store::{Error, Scope, admissions};
use uuid::Uuid;

use crate::bench::{Bench, START};

const TEN_MINUTES: i64 = 600_000;

fn link() -> Link {
    Link {
        group_id: Uuid::from_u128(1),
        flow_id: Uuid::from_u128(2),
        user_id: "ada@example.com".into(),
        expected: Some(r#"{"firstName":"Ada"}"#.into()),
    }
}

async fn create_link(bench: &Bench, scope: Scope) -> SecretString {
    store::transaction!(bench.db, |tx| -> Result<SecretString, Error> {
        Ok(link_tokens::create(tx, scope, &link(), TEN_MINUTES).await?.token)
    })
    .unwrap()
}

pub(crate) async fn a_link_is_redeemed_once(bench: Bench) {
    let scope = bench.scope().await;
    let token = create_link(&bench, scope).await;
    let peeked = link_tokens::peek(&mut bench.read().await, token.expose_secret())
        .await
        .unwrap();
    assert!(
        matches!(peeked, LinkToken::Valid { .. }),
        "looking uses nothing up"
    );
    let tasks: Vec<_> = (0..200)
        .map(|_| {
            let (db, token) = (bench.db.clone(), token.clone());
            tokio::spawn(async move {
                store::transaction!(db, |tx| -> Result<LinkToken, Error> {
                    link_tokens::redeem(tx, token.expose_secret()).await
                })
                .unwrap()
            })
        })
        .collect();
    let mut winners = 0;
    for task in tasks {
        match task.await.unwrap() {
            LinkToken::Valid {
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
    let redeem = link_tokens::redeem(&mut tx, late.expose_secret()).await.unwrap();
    assert!(matches!(redeem, LinkToken::Expired));
    for token in ["", "é", "short", &late.expose_secret()[..20], &"x".repeat(51)] {
        let redeem = link_tokens::redeem(&mut tx, token).await.unwrap();
        assert!(matches!(redeem, LinkToken::Invalid), "{token}");
    }
    assert_eq!(link_tokens::sweep(&mut tx, START + TEN_MINUTES).await.unwrap(), 0);
    assert_eq!(
        link_tokens::sweep(&mut tx, START + TEN_MINUTES + 1)
            .await
            .unwrap(),
        2
    );
}

async fn create(bench: &Bench, scope: Scope) -> (Session, SecretString) {
    store::transaction!(bench.db, |tx| -> Result<(Session, SecretString), Error> {
        sessions::create(tx, scope, link(), None, 3, TEN_MINUTES).await
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
        // Whom the merchant expects goes with the session's end.
        link: Link {
            expected: None,
            ..made.link.clone()
        },
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
                    admissions::admit(tx, scope, made.id).await?;
                    admissions::use_attempt(tx, scope, made.id).await
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

/// Actions on sessions for the tests of how a session ends.
struct Sessions<'a> {
    bench: &'a Bench,
    scope: Scope,
}

impl Sessions<'_> {
    async fn created(&self) -> Uuid {
        create(self.bench, self.scope).await.0.id
    }

    async fn admit(&self, id: Uuid) -> bool {
        store::transaction!(self.bench.db, |tx| -> Result<bool, Error> {
            admissions::admit(tx, self.scope, id).await
        })
        .unwrap()
    }

    async fn use_attempt(&self, id: Uuid) -> bool {
        store::transaction!(self.bench.db, |tx| -> Result<bool, Error> {
            Ok(admissions::use_attempt(tx, self.scope, id).await?.is_some())
        })
        .unwrap()
    }

    async fn advance(&self, id: Uuid, status: SessionStatus, stage: Stage) -> bool {
        store::transaction!(self.bench.db, |tx| -> Result<bool, Error> {
            sessions::advance(tx, self.scope, id, status, stage, Some(1)).await
        })
        .unwrap()
    }

    async fn settle(&self, id: Uuid) -> bool {
        let due = admissions::is_due(&mut self.bench.read().await, self.scope, id)
            .await
            .unwrap();
        let ended = store::transaction!(self.bench.db, |tx| -> Result<bool, Error> {
            admissions::expire_if_due(tx, self.scope, id).await
        })
        .unwrap();
        assert_eq!(due, ended, "is_due says what settle does");
        ended
    }

    async fn expire(&self) -> u64 {
        store::transaction!(self.bench.db, |tx| -> Result<u64, Error> {
            admissions::expire(tx, 100).await
        })
        .unwrap()
    }

    async fn stands(&self, id: Uuid) -> (SessionStatus, Stage, Option<i64>) {
        let found = sessions::get(&mut self.bench.read().await, self.scope, id)
            .await
            .unwrap()
            .unwrap();
        (found.status, found.stage, found.completed_at)
    }
}

const NOT_ENDED: (SessionStatus, Stage, Option<i64>) = (SessionStatus::Pending, Stage::Open, None);
const END: i64 = START + TEN_MINUTES;

/// The outcome of an expired session without attempts, with a failed attempt, and in review.
pub(crate) async fn sessions_end_with_their_time(bench: Bench) {
    let scope = bench.scope().await;
    let of = Sessions { bench: &bench, scope };
    let (idle, failed, reviewed) = (of.created().await, of.created().await, of.created().await);
    for (id, stage) in [(failed, Stage::Open), (reviewed, Stage::InReview)] {
        assert!(of.admit(id).await && of.use_attempt(id).await);
        assert!(of.advance(id, SessionStatus::Pending, stage).await);
    }
    bench.pass(Duration::from_millis(599_999));
    assert!(!of.settle(idle).await);
    assert_eq!(of.expire().await, 0);
    bench.pass(Duration::from_millis(1));
    assert_eq!(
        of.stands(idle).await,
        NOT_ENDED,
        "pending until it is written down"
    );
    assert!(!of.admit(idle).await && !of.admit(failed).await);
    assert!(
        !of.use_attempt(idle).await,
        "what was not admitted is not counted"
    );
    assert!(of.settle(idle).await && !of.settle(reviewed).await);
    let (first, second) = tokio::join!(of.expire(), of.expire());
    assert_eq!(first + second, 1, "two nodes at once");
    for (id, expected) in [
        (idle, (SessionStatus::Expired, Stage::Done, Some(END))),
        (failed, (SessionStatus::Failed, Stage::Done, Some(END))),
        (reviewed, (SessionStatus::Pending, Stage::InReview, None)),
    ] {
        assert_eq!(of.stands(id).await, expected);
    }
    assert!(of.admit(reviewed).await, "what is in review outlives the token");
    assert!(of.use_attempt(reviewed).await);
    assert!(!of.advance(failed, SessionStatus::Success, Stage::Done).await);
    assert!(of.advance(reviewed, SessionStatus::Success, Stage::Done).await);
    assert_eq!(of.expire().await, 0);
}

/// An attempt that was admitted in time keeps its session pending until it is recorded or withdrawn. If its
/// node dies, the session stays pending until the lease runs out.
pub(crate) async fn an_admitted_attempt_holds_its_session(bench: Bench) {
    let scope = bench.scope().await;
    let of = Sessions { bench: &bench, scope };
    let (recorded, withdrawn, dead, two) = (
        of.created().await,
        of.created().await,
        of.created().await,
        of.created().await,
    );
    bench.pass(Duration::from_millis(599_999));
    for id in [recorded, withdrawn, dead, two, two] {
        assert!(of.admit(id).await);
    }
    bench.pass(Duration::from_millis(29_999));
    assert_eq!(of.expire().await, 0, "what was admitted in time is on its way");
    for id in [recorded, withdrawn, dead, two] {
        assert!(!of.settle(id).await);
        assert_eq!(of.stands(id).await, NOT_ENDED);
    }
    store::transaction!(bench.db, |tx| -> Result<(), Error> {
        for id in [recorded, withdrawn, two] {
            admissions::renew(tx, scope, id).await?;
        }
        Ok(())
    })
    .unwrap();
    bench.pass(Duration::from_millis(1));
    let died = (
        SessionStatus::Expired,
        Stage::Done,
        Some(END - 1 + admissions::LEASE_MS),
    );
    assert!(of.settle(dead).await, "the dead node's promise ran out");
    assert_eq!(of.stands(dead).await, died);
    assert!(!of.use_attempt(dead).await, "it comes too late");
    assert_eq!(of.stands(dead).await, died);

    assert!(of.use_attempt(recorded).await);
    assert!(of.advance(recorded, SessionStatus::Success, Stage::Done).await);
    store::transaction!(bench.db, |tx| -> Result<(), Error> {
        admissions::withdraw(tx, scope, withdrawn).await?;
        admissions::withdraw(tx, scope, two).await
    })
    .unwrap();
    assert!(!of.settle(two).await, "another attempt is on its way");
    assert!(of.settle(withdrawn).await);
    assert!(of.use_attempt(two).await);
    assert!(of.settle(two).await);
    assert_eq!(of.stands(two).await.0, SessionStatus::Failed);
    assert_eq!(of.expire().await, 0);
}
