//! The reviewers' conclusions about hits: dispositions, proposals for a second person, and suppressions.

use store::attempts;
use store::proposals::{self, NewProposal};
use store::suppressions::{self, Suppression};
use store::{Error, Scope, dispositions, people};
use uuid::Uuid;

use crate::bench::{Bench, START};
use crate::review::{attempt, log, staff};

pub(crate) async fn dispositions_and_acts_wait_sealed(bench: Bench) {
    let scope = bench.scope().await;
    let elsewhere = bench.scope().await;
    let [ada, bob] = staff(&bench).await;
    let log_id = log(&bench, scope, Uuid::nil(), (1, "[2702]", "[]", None)).await;
    let logged = attempt(&bench, scope, log_id).await;
    let act = |subject: &'static str, payload: &'static str| NewProposal {
        kind: "set_aside",
        subject,
        attempt: None,
        staff_id: None,
        payload,
    };
    let id = store::transaction!(bench.db, |tx| -> Result<Uuid, Error> {
        dispositions::add(tx, scope, &logged, ("ofac-7", "unclear", "no date"), "staff:a").await?;
        dispositions::add(
            tx,
            scope,
            &logged,
            ("ofac-7", "other_person", "born 1950"),
            "command line",
        )
        .await?;
        proposals::put(tx, scope, &act("flow", "{\"secret\":1}")).await?;
        let of_attempt = NewProposal {
            attempt: Some(&logged),
            staff_id: Some(ada),
            ..act("1 0", "{\"hit\":\"ofac-7\"}")
        };
        proposals::put(tx, scope, &of_attempt).await?;
        proposals::put(tx, scope, &act("flow", "{\"secret\":2}")).await
    })
    .unwrap();
    let mut conn = bench.read().await;
    let found = dispositions::of_attempt(&mut conn, scope, &logged).await.unwrap();
    let found: Vec<_> = found
        .iter()
        .map(|one| {
            (
                one.hit.as_str(),
                one.disposition.as_str(),
                one.reason.as_str(),
                one.actor.as_str(),
            )
        })
        .collect();
    assert_eq!(
        found,
        [
            ("ofac-7", "unclear", "no date", "staff:a"),
            ("ofac-7", "other_person", "born 1950", "command line")
        ]
    );
    let waiting = proposals::list(&mut conn, scope).await.unwrap();
    let waiting: Vec<_> = waiting
        .iter()
        .map(|one| {
            (
                one.subject.as_str(),
                one.payload.as_str(),
                one.log_id,
                one.staff_id,
            )
        })
        .collect();
    assert_eq!(
        waiting,
        [
            ("1 0", "{\"hit\":\"ofac-7\"}", Some(log_id), Some(ada)),
            ("flow", "{\"secret\":2}", None, None)
        ],
        "one of a kind for each subject, the newest"
    );
    for (kind, subject, waits) in [
        ("set_aside", "flow", true),
        ("set_aside", "fl", true),
        ("set_aside", "low", false),
        ("member", "flow", false),
    ] {
        let found = proposals::exists_with_prefix(&mut conn, scope, kind, subject)
            .await
            .unwrap();
        assert_eq!(found, waits, "{kind} {subject}");
    }
    assert!(proposals::list(&mut conn, elsewhere).await.unwrap().is_empty());
    assert_eq!(proposals::get(&mut conn, elsewhere, id).await.unwrap(), None);
    drop(conn);
    let adopted = async |staff_id: Uuid| {
        store::transaction!(bench.db, |tx| -> Result<bool, Error> {
            proposals::set_proposer(tx, scope, id, staff_id).await
        })
        .unwrap()
    };
    assert!(adopted(bob).await);
    assert!(!adopted(ada).await, "somebody proposed it by now");
    let taken = async |scope: Scope| {
        store::transaction!(bench.db, |tx| -> Result<bool, Error> {
            proposals::take(tx, scope, id).await
        })
        .unwrap()
    };
    assert!(!taken(elsewhere).await);
    assert!(taken(scope).await);
    assert!(!taken(scope).await);
    store::transaction!(bench.db, |tx| -> Result<(), Error> {
        attempts::delete(tx, scope, log_id).await.map(|_| ())
    })
    .unwrap();
    assert_eq!(bench.count("select count(*) from proposals").await, 0);
    assert_eq!(bench.count("select count(*) from hit_dispositions").await, 0);
}

pub(crate) async fn suppressions_stay_with_their_person(bench: Bench) {
    let scope = bench.scope().await;
    let made = async |proven: bool| {
        store::transaction!(bench.db, |tx| -> Result<Uuid, Error> {
            Ok(people::create(tx, scope, proven).await?.facemap_id)
        })
        .unwrap()
    };
    let (provisional, person, stranger) = (made(false).await, made(true).await, made(true).await);
    let listed = |entity_id: &str, score| Suppression {
        list: "ofac".into(),
        entity_id: entity_id.into(),
        score,
        staff_id: Uuid::from_u128(9),
        reason: "birth_date".into(),
        at: START,
        confirmed_by: (score == 9000).then_some(Uuid::from_u128(8)),
        matched: score == 9000,
    };
    store::transaction!(bench.db, |tx| -> Result<(), Error> {
        suppressions::put(tx, scope, provisional, &listed("ofac-1", 7000)).await?;
        suppressions::put(tx, scope, provisional, &listed("ofac-2", 7000)).await?;
        suppressions::put(tx, scope, person, &listed("ofac-2", 9000)).await?;
        people::merge(tx, scope, provisional, person).await
    })
    .unwrap();
    let of = async |who: Uuid| {
        suppressions::of_person(&mut bench.read().await, scope, who)
            .await
            .unwrap()
    };
    assert_eq!(of(person).await, [listed("ofac-1", 7000), listed("ofac-2", 9000)]);
    assert!(of(stranger).await.is_empty());
    let mut conn = bench.read().await;
    assert_eq!(
        people::aliases(&mut conn, scope, person).await.unwrap(),
        [provisional]
    );
    let elsewhere = bench.scope().await;
    assert!(
        suppressions::of_person(&mut conn, elsewhere, person)
            .await
            .unwrap()
            .is_empty()
    );
    drop(conn);
    store::transaction!(bench.db, |tx| -> Result<(), Error> {
        assert!(suppressions::remove(tx, scope, person, "ofac", "ofac-1").await?);
        assert!(!suppressions::remove(tx, scope, person, "ofac", "ofac-1").await?);
        people::erase(tx, scope, person).await.map(|_| ())
    })
    .unwrap();
    assert_eq!(bench.count("select count(*) from suppressions").await, 0);
}
