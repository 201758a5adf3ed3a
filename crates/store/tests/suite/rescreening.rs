//! Ongoing screening: runs that one worker at a time continues, the names of approved people, and alerts.

use std::time::Duration;

use reference::status::{AttemptStatus, Decision};
use store::alerts::{self, AlertFilter, AlertState, NewAlert, StateFilter};
use store::attempts;
use store::rescreenings::{self, CountingLists, ListDigests, Request, Rescreening, Step, StoredNames};
use store::{Error, Scope};
use uuid::Uuid;

use crate::bench::Bench;
use crate::review::{attempt, log};

const LEASE: i64 = 60_000;

async fn begin(bench: &Bench, scope: Scope, target: &CountingLists, lease: Uuid) -> Option<Rescreening> {
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
    let lists = |digest: &str| CountingLists::from(ListDigests::from([("un".to_owned(), digest.to_owned())]));
    let (ada, bob) = (Uuid::from_u128(0xA), Uuid::from_u128(0xB));
    let begun = begin(&bench, scope, &lists("1"), ada).await.unwrap();
    assert_eq!((begun.done, begun.after), (CountingLists::default(), Uuid::nil()));
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
    // A sign of life extends the lease.
    bench.pass(Duration::from_secs(59));
    assert!(extend(&bench, scope, ada).await && !extend(&bench, scope, bob).await);
    bench.pass(Duration::from_secs(59));
    assert!(begin(&bench, scope, &lists("2"), bob).await.is_none());
    assert!(finish(&bench, scope, ada).await);
    assert!(!finish(&bench, scope, ada).await, "there is no run");
    let done = state(&bench, scope).await;
    assert_eq!(done.done, lists("2"));
    assert!(done.target.is_none() && done.finished_at.is_some());
}

async fn extend(bench: &Bench, scope: Scope, lease: Uuid) -> bool {
    store::transaction!(bench.db, |tx| -> Result<bool, Error> {
        rescreenings::extend(tx, scope, lease, LEASE).await
    })
    .unwrap()
}

async fn state(bench: &Bench, scope: Scope) -> Rescreening {
    let mut all = rescreenings::list(&mut bench.read().await).await.unwrap();
    let (of, state) = all.pop().unwrap();
    assert_eq!((all.len(), of), (0, scope));
    state.unwrap()
}

pub(crate) async fn what_a_run_may_have_got_wrong_is_looked_at_again(bench: Bench) {
    let scope = bench.scope().await;
    let lists = |un: &str, eu: Option<&str>| {
        let eu = eu.map(|digest| ("eu".to_owned(), digest.to_owned()));
        let un = ("un".to_owned(), un.to_owned());
        CountingLists::from(ListDigests::from_iter([un].into_iter().chain(eu)))
    };
    let (ada, bob) = (Uuid::from_u128(0xA), Uuid::from_u128(0xB));
    begin(&bench, scope, &lists("1", Some("1")), ada).await.unwrap();
    assert!(finish(&bench, scope, ada).await);
    // A run for other lists began and was abandoned: it may have opened alerts for UN 2, and closed those of the EU.
    begin(&bench, scope, &lists("2", None), ada).await.unwrap();
    bench.pass(Duration::from_secs(61));
    let back = begin(&bench, scope, &lists("1", Some("1")), bob).await.unwrap();
    assert_eq!(back.done, CountingLists::default());
    assert!(finish(&bench, scope, bob).await);
    // A list that the abandoned run left as it was is still known.
    begin(&bench, scope, &lists("2", Some("1")), ada).await.unwrap();
    bench.pass(Duration::from_secs(61));
    let back = begin(&bench, scope, &lists("3", Some("1")), bob).await.unwrap();
    assert_eq!(
        back.done,
        ListDigests::from([("eu".to_owned(), "1".to_owned())]).into()
    );
    // What was forgotten ends the run in progress.
    store::transaction!(bench.db, |tx| -> Result<(), Error> {
        rescreenings::forget(tx, scope).await
    })
    .unwrap();
    assert!(!advance(&bench, scope, bob, 6).await && !finish(&bench, scope, bob).await);
    let begun = begin(&bench, scope, &lists("3", None), ada).await.unwrap();
    assert_eq!((begun.done, begun.after), (CountingLists::default(), Uuid::nil()));
    // A row that cannot be read is no reason to forget the others.
    bench.sql("update rescreenings set done = 'x'").await;
    let all = rescreenings::list(&mut bench.read().await).await.unwrap();
    assert!(matches!(all.as_slice(), [(of, Err(_))] if *of == scope));
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
    let decided = store::transaction!(bench.db, |tx| -> Result<(bool, bool, bool), Error> {
        let seen = alerts::get(tx, scope, first).await?.unwrap();
        let stale = alerts::Alert {
            changed_at: seen.changed_at - 1,
            ..seen.clone()
        };
        let state = AlertState::OtherPerson;
        let changed = alerts::decide(tx, scope, &own, (&stale, state), ("staff:a", "unseen")).await?;
        let once = alerts::decide(tx, scope, &own, (&seen, state), ("staff:a", "born elsewhere")).await?;
        let again = alerts::decide(tx, scope, &own, (&seen, state), ("staff:a", "again")).await?;
        Ok((changed, once, again))
    })
    .unwrap();
    assert_eq!(decided, (false, true, false));
    let closed = store::transaction!(bench.db, |tx| -> Result<bool, Error> {
        alerts::close(tx, scope, second, AlertState::Delisted).await
    });
    assert!(closed.unwrap());
    let list = async |state: StateFilter| {
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
    assert_eq!(list(StateFilter::Waiting).await, []);
    assert_eq!(
        list(StateFilter::In(AlertState::OtherPerson)).await,
        [(first, Some("born elsewhere".to_owned()))]
    );
    assert_eq!(list(StateFilter::Any).await.len(), 2);
    // Only a reviewer's decision can be taken back.
    let reopened = store::transaction!(bench.db, |tx| -> Result<(bool, bool), Error> {
        Ok((
            alerts::reopen(tx, scope, first).await?,
            alerts::reopen(tx, scope, second).await?,
        ))
    });
    assert_eq!(reopened.unwrap(), (true, false));
    let waiting = async || {
        alerts::count_waiting(&mut bench.read().await, scope)
            .await
            .unwrap()
    };
    assert_eq!(waiting().await, 1);
    // A listing that means the person waits until the person is no longer approved.
    let registered = store::transaction!(bench.db, |tx| -> Result<Uuid, Error> {
        let seen = alerts::get(tx, scope, first).await?.unwrap();
        let how = (&seen, AlertState::SamePerson);
        alerts::decide(tx, scope, &own, how, ("staff:a", "the same date")).await?;
        let registration =
            store::registrations::create(tx, scope, own.facemap_id, None, "ada@example.com").await?;
        store::registrations::set_status(tx, scope, registration.id, Some(AttemptStatus::Approved)).await?;
        Ok(registration.id)
    })
    .unwrap();
    assert_eq!((waiting().await, list(StateFilter::Waiting).await.len()), (1, 1));
    store::transaction!(bench.db, |tx| -> Result<(), Error> {
        store::registrations::set_status(tx, scope, registered, Some(AttemptStatus::Declined)).await
    })
    .unwrap();
    assert_eq!((waiting().await, list(StateFilter::Waiting).await.len()), (0, 0));
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
    // Its registration is not the attempt's.
    assert_eq!(
        (found[0].flow_id, found[0].approved_registration),
        (own.flow_id, None)
    );
    bench
        .sql("update attempts set registration_id = (select id from registrations)")
        .await;
    assert!(names().await[0].approved_registration.is_some());
    // An attempt of an earlier version has no names beside its record.
    bench.sql("update attempts set names_sealed = null").await;
    assert_eq!(names().await[0].names, StoredNames::InRecord);
    store::transaction!(bench.db, |tx| -> Result<(), Error> {
        rescreenings::remember_names(tx, scope, &own, "{}").await
    })
    .unwrap();
    assert_eq!(names().await[0].names, StoredNames::Text("{}".into()));
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
    let asked = requested[0];
    assert_eq!(
        (requested.len(), asked.scope, asked.facemap_id),
        (1, scope, own.facemap_id)
    );
    let take = async |request: Request| {
        store::transaction!(bench.db, |tx| -> Result<bool, Error> {
            rescreenings::take_request(tx, request).await
        })
        .unwrap()
    };
    // Whoever asked again meanwhile gets another answer.
    ask().await;
    assert!(!take(asked).await);
    let asked = rescreenings::requested(&mut bench.read().await, 10)
        .await
        .unwrap()[0];
    assert!(take(asked).await && !take(asked).await);
    ask().await;
    // An earlier version gives no token.
    bench.sql("update rescreening_requests set token = null").await;
    let asked = rescreenings::requested(&mut bench.read().await, 10)
        .await
        .unwrap()[0];
    store::transaction!(bench.db, |tx| -> Result<(), Error> {
        rescreenings::postpone(tx, asked, 60_000).await
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
