//! The hosted page's records: hand-offs, consents and events.

use std::time::Duration;

use secrecy::{ExposeSecret as _, SecretString};
use store::handoffs::{self, HandoffToken};
use store::session_events::{self, Event, EventSource, FunnelFilter};
use store::sessions::{self, Link, Session};
use store::{Error, Scope, consents};
use uuid::Uuid;

use crate::bench::{Bench, START};

const TEN_MINUTES: i64 = 600_000;
pub(crate) const DESKTOP: EventSource<'_> = EventSource {
    device: "desktop",
    country: None,
    language: None,
    is_handoff: false,
};
/// The session's second device.
pub(crate) const PHONE: EventSource<'_> = EventSource {
    device: "phone",
    country: Some("DE"),
    language: Some("fr"),
    is_handoff: true,
};

pub(crate) async fn session(bench: &Bench, scope: Scope) -> Session {
    let link = Link {
        group_id: Uuid::from_u128(1),
        flow_id: Uuid::from_u128(2),
        user_id: "u".into(),
        expected: None,
    };
    store::transaction!(bench.db, |tx| -> Result<(Session, SecretString), Error> {
        sessions::create(tx, scope, link.clone(), None, 3, TEN_MINUTES).await
    })
    .unwrap()
    .0
}

async fn handoff(bench: &Bench, scope: Scope, session: &Session) -> SecretString {
    store::transaction!(bench.db, |tx| -> Result<SecretString, Error> {
        handoffs::create(tx, scope, session.id, 47, session.expires_at).await
    })
    .unwrap()
}

async fn claim(bench: &Bench, token: &SecretString) -> (HandoffToken, Option<SecretString>) {
    let (db, token) = (bench.db.clone(), token.clone());
    store::transaction!(db, |tx| -> Result<(HandoffToken, Option<SecretString>), Error> {
        handoffs::claim(tx, token.expose_secret()).await
    })
    .unwrap()
}

pub(crate) async fn append(
    bench: &Bench,
    scope: Scope,
    session: &Session,
    source: EventSource<'static>,
    events: &[Event<'_>],
) -> usize {
    store::transaction!(bench.db, |tx| -> Result<usize, Error> {
        session_events::append(tx, scope, (session.id, session.link.flow_id), source, events, 10).await
    })
    .unwrap()
}

pub(crate) fn event(step: &'static str, kind: &'static str, ms: i64) -> Event<'static> {
    Event {
        step,
        kind,
        ms,
        detail: None,
    }
}

pub(crate) async fn a_handoff_is_claimed_once(bench: Bench) {
    let scope = bench.scope().await;
    let made = session(&bench, scope).await;
    let token = handoff(&bench, scope, &made).await;
    let peeked = handoffs::peek(&mut bench.read().await, token.expose_secret())
        .await
        .unwrap();
    let HandoffToken::Valid { session, handoff, .. } = peeked else {
        panic!("looking uses nothing up")
    };
    assert_eq!(
        (*session, handoff.number, handoff.claimed),
        (made.clone(), 47, false)
    );

    let (db, shared) = (bench.db.clone(), token.clone());
    let tasks: Vec<_> = (0..50)
        .map(|_| {
            let (db, token) = (db.clone(), shared.clone());
            tokio::spawn(async move {
                store::transaction!(db, |tx| -> Result<(HandoffToken, Option<SecretString>), Error> {
                    handoffs::claim(tx, token.expose_secret()).await
                })
                .unwrap()
            })
        })
        .collect();
    let mut winners = Vec::new();
    for task in tasks {
        match task.await.unwrap() {
            (
                HandoffToken::Valid {
                    scope: of, session, ..
                },
                Some(access),
            ) => {
                assert_eq!((of, session.id), (scope, made.id));
                winners.push(access);
            }
            (HandoffToken::Used, None) => {}
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(winners.len(), 1);
    let access = winners[0].expose_secret();

    let mut conn = bench.read().await;
    let (_, of, found) = sessions::by_access_token(&mut conn, access)
        .await
        .unwrap()
        .unwrap();
    assert_eq!((of, found.id), (scope, made.id));
    assert!(
        handoffs::is_second_device(&mut conn, scope, made.id, access)
            .await
            .unwrap()
    );
    assert!(
        !handoffs::is_second_device(&mut conn, scope, made.id, "x")
            .await
            .unwrap()
    );
    assert!(
        handoffs::of_session(&mut conn, scope, made.id)
            .await
            .unwrap()
            .unwrap()
            .claimed
    );

    let reject = async || {
        store::transaction!(bench.db, |tx| -> Result<bool, Error> {
            handoffs::reject(tx, scope, made.id, access).await
        })
        .unwrap()
    };
    assert!(reject().await && !reject().await);
    assert!(
        sessions::by_access_token(&mut conn, access)
            .await
            .unwrap()
            .is_none()
    );
    assert_eq!(
        handoffs::of_session(&mut conn, scope, made.id).await.unwrap(),
        None
    );
    assert!(matches!(claim(&bench, &token).await, (HandoffToken::Used, None)));
}

pub(crate) async fn a_new_handoff_voids_the_earlier(bench: Bench) {
    let scope = bench.scope().await;
    let made = session(&bench, scope).await;
    let first = handoff(&bench, scope, &made).await;
    let (_, access) = claim(&bench, &first).await;
    let second = handoff(&bench, scope, &made).await;
    let mut conn = bench.read().await;
    let old = sessions::by_access_token(&mut conn, access.unwrap().expose_secret()).await;
    assert!(old.unwrap().is_none(), "the earlier device is out");
    assert!(matches!(claim(&bench, &first).await.0, HandoffToken::Invalid));
    bench.pass(Duration::from_secs(600));
    assert!(matches!(claim(&bench, &second).await.0, HandoffToken::Expired));
    for token in ["", "é", &"x".repeat(51)] {
        let claimed = claim(&bench, &SecretString::from(token)).await;
        assert!(matches!(claimed, (HandoffToken::Invalid, None)), "{token}");
    }
}

pub(crate) async fn the_last_word_counts(bench: Bench) {
    let scope = bench.scope().await;
    let made = session(&bench, scope).await;
    for accepted in [false, true] {
        let at = store::transaction!(bench.db, |tx| -> Result<i64, Error> {
            consents::record(tx, scope, made.id, "2026-11", "de", accepted).await
        });
        assert_eq!(at.unwrap(), START);
    }
    let consent = consents::of_session(&mut bench.read().await, scope, made.id)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        (
            consent.version.as_str(),
            consent.language.as_str(),
            consent.accepted
        ),
        ("2026-11", "de", true)
    );
}

pub(crate) async fn the_second_devices_step_is_followed(bench: Bench) {
    let scope = bench.scope().await;
    let (first, second) = (session(&bench, scope).await, session(&bench, scope).await);
    append(&bench, scope, &first, PHONE, &[event("front", "reached", 0)]).await;
    let token = handoff(&bench, scope, &second).await;
    claim(&bench, &token).await;
    let told = [event("front", "reached", 1), event("back", "reached", 2)];
    append(&bench, scope, &second, PHONE, &told).await;
    append(&bench, scope, &second, DESKTOP, &[event("device", "reached", 3)]).await;
    let step = async |session: &Session| {
        session_events::handoff_step(&mut bench.read().await, scope, session.id)
            .await
            .unwrap()
    };
    assert_eq!(
        step(&second).await.as_deref(),
        Some("back"),
        "the second device's"
    );
    assert_eq!(step(&first).await, None);
}

pub(crate) async fn everything_goes_with_the_session(bench: Bench) {
    let scope = bench.scope().await;
    let made = session(&bench, scope).await;
    handoff(&bench, scope, &made).await;
    append(&bench, scope, &made, PHONE, &[event("open", "reached", 0)]).await;
    store::transaction!(bench.db, |tx| -> Result<i64, Error> {
        consents::record(tx, scope, made.id, "1", "en", true).await
    })
    .unwrap();
    bench.sql("delete from sessions").await;
    let mut conn = bench.read().await;
    assert_eq!(
        handoffs::of_session(&mut conn, scope, made.id).await.unwrap(),
        None
    );
    assert_eq!(
        consents::of_session(&mut conn, scope, made.id).await.unwrap(),
        None
    );
    assert_eq!(
        session_events::funnel(&mut conn, scope, FunnelFilter::default())
            .await
            .unwrap(),
        []
    );
}
