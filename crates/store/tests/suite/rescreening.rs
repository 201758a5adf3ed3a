//! Ongoing screening: runs that one worker at a time continues, the names of approved people, and alerts.

use std::time::Duration;

use reference::status::{AttemptStatus, Decision};
use store::alerts::{self, AlertFilter, AlertState, NewAlert};
use store::attempts;
use store::rescreenings::{self, ListDigests, Rescreening, Step, StoredNames};
use store::{Error, Scope};
use uuid::Uuid;

use crate::bench::Bench;
use crate::review::{attempt, log};

const LEASE: i64 = 60_000;

async fn begin(bench: &Bench, scope: Scope, target: &ListDigests, lease: Uuid) -> Option<Rescreening> {
    store::transaction!(bench.db, |tx| -> Result<Option<Rescreening>, Error> {
        rescreenings::begin(tx, scope, target, lease, LEASE).await
    })
    .unwrap()
}

async fn advance(bench: &Bench, scope: Scope, lease: Uuid, after: u128) -> bool {
    let step = Step {
        after: Uuid::from_u128(after),
        people: 2,
        alerts: 1,
    };
    store::transaction!(bench.db, |tx| -> Result<bool, Error> {
        rescreenings::advance(tx, scope, lease, step, LEASE).await
    })
    .unwrap()
}

async fn finish(bench: &Bench, scope: Scope, lease: Uuid) -> bool {
    store::transaction!(bench.db, |tx| -> Result<bool, Error> {
        rescreenings::finish(tx, scope, lease).await
    })
    .unwrap()
}

pub(crate) async fn a_run_belongs_to_one_worker_and_is_continued(bench: Bench) {
    let scope = bench.scope().await;
    let lists = |digest: &str| ListDigests::from([("un".to_owned(), digest.to_owned())]);
    let (ada, bob) = (Uuid::from_u128(0xA), Uuid::from_u128(0xB));
    let begun = begin(&bench, scope, &lists("1"), ada).await.unwrap();
    assert_eq!((begun.done.len(), begun.after), (0, Uuid::nil()));
    assert!(
        begin(&bench, scope, &lists("1"), bob).await.is_none(),
        "it is leased"
    );
    assert!(advance(&bench, scope, ada, 5).await);
    // The first worker died: another one continues after the last person.
    bench.pass(Duration::from_secs(61));
    let continued = begin(&bench, scope, &lists("1"), bob).await.unwrap();
    assert_eq!(
        (continued.after, continued.people, continued.alerts),
        (Uuid::from_u128(5), 2, 1)
    );
    assert!(!advance(&bench, scope, ada, 6).await, "the lease is lost");
    assert!(!finish(&bench, scope, ada).await);
    // For other lists it begins at the first person.
    bench.pass(Duration::from_secs(61));
    let anew = begin(&bench, scope, &lists("2"), ada).await.unwrap();
    assert_eq!((anew.after, anew.people), (Uuid::nil(), 0));
    assert!(finish(&bench, scope, ada).await);
    assert!(!finish(&bench, scope, ada).await, "there is no run");
    let all = rescreenings::list(&mut bench.read().await).await.unwrap();
    let (of, done) = all.first().unwrap();
    assert_eq!((all.len(), *of, &done.done), (1, scope, &lists("2")));
    assert!(done.target.is_none() && done.finished_at.is_some());
}

pub(crate) async fn alerts_wait_and_close_and_go_with_their_attempt(bench: Bench) {
    let scope = bench.scope().await;
    let log_id = log(&bench, scope, Uuid::from_u128(1), (1, "[]", "[]", None)).await;
    let own = attempt(&bench, scope, log_id).await;
    let open = async |entity_id: &str| {
        let new = NewAlert {
            list: "un",
            entity_id,
            score: 8000,
            hit: "{\"secret\":1}",
        };
        store::transaction!(bench.db, |tx| -> Result<Uuid, Error> {
            alerts::open_new(tx, scope, &own, &new).await
        })
        .unwrap()
    };
    let (first, second) = (open("a").await, open("b").await);
    let of_person = alerts::of_person(&mut bench.read().await, scope, own.facemap_id)
        .await
        .unwrap();
    let ids: Vec<Uuid> = of_person.iter().map(|alert| alert.id).collect();
    assert_eq!(ids, [second, first], "newest first");
    let mut conn = bench.read().await;
    let listing = alerts::listing_ref(&conn, scope, "un", "a");
    assert_eq!(of_person[1].listing_ref, listing);
    assert_ne!(of_person[0].listing_ref, listing);
    assert_eq!(of_person[1].hit, "{\"secret\":1}");
    assert_eq!(alerts::lists_with_open(&mut conn, scope).await.unwrap(), ["un"]);
    drop(conn);
    // One reviewer at a time.
    let (ada, bob) = (Uuid::from_u128(0xA), Uuid::from_u128(0xB));
    let claim = async |staff: Uuid, until: i64| {
        store::transaction!(bench.db, |tx| -> Result<bool, Error> {
            alerts::claim(tx, scope, first, staff, until).await
        })
        .unwrap()
    };
    let later = bench.read().await.now() + 60_000;
    assert!(claim(ada, later).await && !claim(bob, later).await && claim(ada, 0).await);
    assert!(claim(bob, later).await, "the first one gave it back");
    let decided = store::transaction!(bench.db, |tx| -> Result<(bool, bool), Error> {
        let how = (first, AlertState::OtherPerson);
        let once = alerts::decide(tx, scope, &own, how, ("staff:a", "born elsewhere")).await?;
        let again = alerts::decide(tx, scope, &own, how, ("staff:a", "again")).await?;
        Ok((once, again))
    })
    .unwrap();
    assert_eq!(decided, (true, false));
    let closed = store::transaction!(bench.db, |tx| -> Result<bool, Error> {
        alerts::close(tx, scope, second, AlertState::Delisted).await
    });
    assert!(closed.unwrap());
    let list = async |state: Option<AlertState>| {
        let filter = AlertFilter {
            state,
            ..AlertFilter::default()
        };
        let found = alerts::list(&mut bench.read().await, scope, &filter, 10)
            .await
            .unwrap();
        found
            .into_iter()
            .map(|alert| (alert.id, alert.reason))
            .collect::<Vec<_>>()
    };
    assert_eq!(list(Some(AlertState::Open)).await, []);
    assert_eq!(
        list(Some(AlertState::OtherPerson)).await,
        [(first, Some("born elsewhere".to_owned()))]
    );
    assert_eq!(list(None).await.len(), 2);
    // Only a reviewer's decision can be taken back.
    let reopened = store::transaction!(bench.db, |tx| -> Result<(bool, bool), Error> {
        Ok((
            alerts::reopen(tx, scope, first).await?,
            alerts::reopen(tx, scope, second).await?,
        ))
    });
    assert_eq!(reopened.unwrap(), (true, false));
    assert_eq!(
        alerts::count_open(&mut bench.read().await, scope).await.unwrap(),
        1
    );
    store::transaction!(bench.db, |tx| -> Result<Option<Uuid>, Error> {
        attempts::delete(tx, scope, log_id).await
    })
    .unwrap();
    assert_eq!(bench.count("select count(*) from alerts").await, 0);
}

pub(crate) async fn names_are_read_of_approved_people_alone(bench: Bench) {
    let scope = bench.scope().await;
    let log_id = log(&bench, scope, Uuid::from_u128(1), (1, "[]", "[]", None)).await;
    let own = attempt(&bench, scope, log_id).await;
    let people = async || {
        rescreenings::approved_people(&mut bench.read().await, scope, Uuid::nil(), 10)
            .await
            .unwrap()
    };
    let names = async || {
        rescreenings::names_between(&mut bench.read().await, scope, Uuid::nil(), Uuid::max())
            .await
            .unwrap()
    };
    assert!(people().await.is_empty() && names().await.is_empty());
    store::transaction!(bench.db, |tx| -> Result<(), Error> {
        let registration =
            store::registrations::create(tx, scope, own.facemap_id, None, "ada@example.com").await?;
        store::registrations::set_status(tx, scope, registration.id, Some(AttemptStatus::Approved)).await?;
        let how = (AttemptStatus::Approved, Decision::Approve);
        attempts::decide(tx, scope, &own, how.0, how.1, "command line", None).await?;
        attempts::set_detail(tx, scope, &own, ("{}", "{\"names\":[1]}")).await
    })
    .unwrap();
    assert_eq!(people().await, [own.facemap_id]);
    let found = names().await;
    assert_eq!(
        (
            found.len(),
            found[0].log_id,
            found[0].is_approved,
            &found[0].names
        ),
        (1, log_id, true, &StoredNames::Text("{\"names\":[1]}".into()))
    );
    // An attempt of an earlier version has no names beside its record.
    bench.sql("update attempts set names_sealed = null").await;
    assert_eq!(names().await[0].names, StoredNames::InRecord);
    bench.sql("update attempts set names_sealed = wrapped_key").await;
    assert_eq!(names().await[0].names, StoredNames::Unreadable);
    // A request is answered once, and goes with its person.
    let ask = async || {
        store::transaction!(bench.db, |tx| -> Result<(), Error> {
            rescreenings::request(tx, scope, own.facemap_id).await?;
            rescreenings::request(tx, scope, own.facemap_id).await
        })
        .unwrap();
    };
    ask().await;
    let requested = rescreenings::requested(&mut bench.read().await, 10)
        .await
        .unwrap();
    assert_eq!(requested, [(scope, own.facemap_id)]);
    let taken = store::transaction!(bench.db, |tx| -> Result<(bool, bool), Error> {
        let take = rescreenings::take_request(tx, scope, own.facemap_id).await?;
        Ok((take, rescreenings::take_request(tx, scope, own.facemap_id).await?))
    });
    assert_eq!(taken.unwrap(), (true, false));
    ask().await;
    store::transaction!(bench.db, |tx| -> Result<(), Error> {
        rescreenings::postpone(tx, scope, own.facemap_id, 60_000).await
    })
    .unwrap();
    assert!(
        rescreenings::requested(&mut bench.read().await, 10)
            .await
            .unwrap()
            .is_empty()
    );
    bench.pass(Duration::from_secs(61));
    assert_eq!(
        rescreenings::requested(&mut bench.read().await, 10)
            .await
            .unwrap()
            .len(),
        1
    );
    store::transaction!(bench.db, |tx| -> Result<Vec<Uuid>, Error> {
        store::people::erase(tx, scope, own.facemap_id).await
    })
    .unwrap();
    assert_eq!(bench.count("select count(*) from rescreening_requests").await, 0);
}
