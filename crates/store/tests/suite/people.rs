//! People, their faces, registrations and attempts.

use std::time::Duration;

use reference::status::{AttemptStatus, Decision};
use store::applicants::{self, Applicant};
use store::attempts::{self, Attempt};
use store::objects::{ObjectName, Objects};
use store::people::Person;
use store::{Error, Scope, faces, people, registrations};
use uuid::Uuid;

use crate::bench::{Bench, START};
use crate::verification::{Outcome, Submission, verify};

pub(crate) const GROUP: Option<Uuid> = Some(Uuid::from_u128(1));
const OTHER_GROUP: Option<Uuid> = Some(Uuid::from_u128(2));

pub(crate) fn passes<'a>(label: &'a str, group: Option<Uuid>, face: &'a [u8]) -> Submission<'a> {
    Submission {
        label,
        group,
        face: Some(face),
        status: AttemptStatus::Approved,
    }
}

fn fails(label: &str, group: Option<Uuid>) -> Submission<'_> {
    Submission {
        label,
        group,
        face: None,
        status: AttemptStatus::Failed,
    }
}

pub(crate) async fn a_person_is_recorded_and_found(bench: Bench) {
    let scope = bench.scope().await;
    let label = "ada@example.com";
    let first = verify(&bench.db, scope, passes(label, GROUP, b"ada"))
        .await
        .unwrap();
    bench.pass(Duration::from_secs(5));
    let second = verify(&bench.db, scope, passes(label, OTHER_GROUP, b"ada"))
        .await
        .unwrap();
    let facemap_id = first.facemap_id();
    assert_eq!(second.facemap_id(), facemap_id, "one face, one facemap");
    assert_eq!((first.log_id(), second.log_id()), (1, 2));

    let mut conn = bench.read().await;
    let found = applicants::by_external_user_id(&mut conn, scope, label)
        .await
        .unwrap();
    let applicant = |grouping_id, at| Applicant {
        facemap_id,
        grouping_id,
        status: Some(AttemptStatus::Approved),
        registered: true,
        created_at: at,
        last_active: at,
    };
    assert_eq!(
        found,
        [applicant(OTHER_GROUP, START + 5000), applicant(GROUP, START)]
    );
    let person = people::resolve(&mut conn, scope, facemap_id).await.unwrap();
    assert_eq!(
        person,
        Some(Person {
            facemap_id,
            proven: true,
            created_at: START
        })
    );
    let registrations = registrations::of_facemap(&mut conn, scope, facemap_id)
        .await
        .unwrap();
    assert_eq!(registrations.len(), 2);
    assert_eq!(registrations[1].external_user_id, label);
    let attempts = attempts::of_registration(&mut conn, scope, registrations[1].id)
        .await
        .unwrap();
    assert_eq!(attempts.len(), 1);
    assert_eq!(attempts[0].request, "{\"firstName\":\"Ada\"}");
    assert_eq!(attempts[0].external_user_id, label);

    for elsewhere in [
        Scope {
            sandbox: false,
            ..scope
        },
        bench.scope().await,
    ] {
        assert!(
            applicants::by_external_user_id(&mut conn, elsewhere, label)
                .await
                .unwrap()
                .is_empty()
        );
        assert_eq!(
            people::resolve(&mut conn, elsewhere, facemap_id).await.unwrap(),
            None
        );
        assert!(attempts::get(&mut conn, elsewhere, 1).await.unwrap().is_none());
        let same = verify(&bench.db, elsewhere, passes(label, GROUP, b"ada"))
            .await
            .unwrap();
        assert_ne!(same.facemap_id(), facemap_id, "faces do not cross either");
    }
}

pub(crate) async fn one_new_face_makes_one_person(bench: Bench) {
    let scope = bench.scope().await;
    let tasks: Vec<_> = (0..12)
        .map(|n| {
            let db = bench.db.clone();
            tokio::spawn(async move {
                let label = format!("label {n}");
                verify(&db, scope, passes(&label, GROUP, b"the same new face"))
                    .await
                    .unwrap()
            })
        })
        .collect();
    let mut outcomes = Vec::new();
    for task in tasks {
        outcomes.push(task.await.unwrap());
    }
    let facemap_id = outcomes[0].facemap_id();
    assert!(outcomes.iter().all(|outcome| outcome.facemap_id() == facemap_id));
    let registered = outcomes
        .iter()
        .filter(|outcome| matches!(outcome, Outcome::Registered { .. }))
        .count();
    assert_eq!(registered, 1, "the others are duplicates");
    let mut log_ids: Vec<i64> = outcomes.iter().map(Outcome::log_id).collect();
    log_ids.sort_unstable();
    assert_eq!(log_ids, (1..=12).collect::<Vec<_>>());
    assert_eq!(faces::sequence(&mut bench.read().await, scope).await.unwrap(), 1);
}

pub(crate) async fn labels_and_faces_register_once_per_group(bench: Bench) {
    let scope = bench.scope().await;
    let mut tx = bench.db.begin().await.unwrap();
    let a = people::create(&mut tx, scope, true).await.unwrap().facemap_id;
    let b = people::create(&mut tx, scope, true).await.unwrap().facemap_id;
    registrations::create(&mut tx, scope, a, None, "label")
        .await
        .unwrap();
    registrations::create(&mut tx, scope, a, GROUP, "label")
        .await
        .unwrap();
    tx.commit().await.unwrap();
    for (facemap_id, group, label) in [(a, None, "other"), (b, None, "label"), (a, GROUP, "other")] {
        let mut tx = bench.db.begin().await.unwrap();
        let again = registrations::create(&mut tx, scope, facemap_id, group, label).await;
        assert!(matches!(again, Err(Error::Conflict)), "{again:?}");
    }
    let mut tx = bench.db.begin().await.unwrap();
    let nobody = registrations::create(&mut tx, scope, Uuid::new_v4(), None, "x").await;
    assert!(matches!(nobody, Err(Error::Missing("person"))));
}

pub(crate) async fn a_merge_keeps_everything_readable(bench: Bench) {
    let scope = bench.scope().await;
    let failed = verify(&bench.db, scope, fails("in group two", OTHER_GROUP))
        .await
        .unwrap();
    bench.pass(Duration::from_secs(1));
    let known = verify(&bench.db, scope, passes("in group one", GROUP, b"ada"))
        .await
        .unwrap();
    assert_ne!(failed.facemap_id(), known.facemap_id(), "provisional");
    let mut tx = bench.db.begin().await.unwrap();
    people::index_name(&mut tx, scope, failed.facemap_id(), ["lovelace"])
        .await
        .unwrap();
    tx.commit().await.unwrap();
    let objects = Objects::open(&format!("file:{}/objects", bench.folder.path().display()), &[]).unwrap();
    let before = attempts::get(&mut bench.read().await, scope, failed.log_id())
        .await
        .unwrap()
        .unwrap();
    let name = ObjectName {
        scope,
        attempt_id: before.id,
        file: "selfie",
    };
    objects.put(&before.key, &name, b"picture").await.unwrap();

    // The retry proves a known face, so the provisional facemap is merged into the person's.
    let proven = verify(&bench.db, scope, passes("in group two", OTHER_GROUP, b"ada"))
        .await
        .unwrap();
    assert_eq!(
        proven,
        Outcome::Registered {
            facemap_id: known.facemap_id(),
            log_id: 3
        }
    );
    let mut conn = bench.read().await;
    let person = people::resolve(&mut conn, scope, failed.facemap_id())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(person.facemap_id, known.facemap_id(), "the old id keeps working");
    assert_eq!(person.created_at, START, "first seen as the provisional one");
    assert_eq!(
        people::find_by_name_word(&mut conn, scope, "lovelace", 9)
            .await
            .unwrap(),
        [known.facemap_id()]
    );
    let registration = registrations::find(&mut conn, scope, OTHER_GROUP, "in group two")
        .await
        .unwrap()
        .unwrap();
    assert_eq!(registration.facemap_id, known.facemap_id());
    let attempts = attempts::of_registration(&mut conn, scope, registration.id)
        .await
        .unwrap();
    assert_eq!(
        attempts.iter().map(|attempt| attempt.log_id).collect::<Vec<_>>(),
        [3, 1],
        "newest first"
    );
    assert_eq!(attempts[1].request, before.request);
    assert_eq!(
        objects.get(&attempts[1].key, &name).await.unwrap().as_slice(),
        b"picture",
        "no object moved"
    );

    // Aliases of a merged facemap move along.
    let mut tx = bench.db.begin().await.unwrap();
    let a = people::create(&mut tx, scope, false).await.unwrap().facemap_id;
    let b = people::create(&mut tx, scope, false).await.unwrap().facemap_id;
    people::merge(&mut tx, scope, a, b).await.unwrap();
    people::merge(&mut tx, scope, b, known.facemap_id())
        .await
        .unwrap();
    assert_eq!(
        people::resolve(&mut tx, scope, a).await.unwrap(),
        Some(person.clone())
    );
    for (from, into) in [(known.facemap_id(), person.facemap_id), (a, known.facemap_id())] {
        let refused = people::merge(&mut tx, scope, from, into).await;
        assert!(
            matches!(refused, Err(Error::Missing(_))),
            "only provisional facemaps merge, once"
        );
    }
    tx.commit().await.unwrap();
}

pub(crate) async fn an_erased_person_is_gone(bench: Bench) {
    let scope = bench.scope().await;
    let gone = verify(&bench.db, scope, passes("gone", GROUP, b"gone"))
        .await
        .unwrap();
    verify(&bench.db, scope, passes("gone too", GROUP, b"gone"))
        .await
        .unwrap();
    let stays = verify(&bench.db, scope, passes("stays", GROUP, b"stays"))
        .await
        .unwrap();
    let before = attempts::of_facemap(&mut bench.read().await, scope, gone.facemap_id())
        .await
        .unwrap();
    assert_eq!(before.len(), 2);
    let mut tx = bench.db.begin().await.unwrap();
    people::index_name(&mut tx, scope, gone.facemap_id(), ["ada"])
        .await
        .unwrap();
    let mut erased = people::erase(&mut tx, scope, gone.facemap_id()).await.unwrap();
    assert!(matches!(
        people::erase(&mut tx, scope, gone.facemap_id()).await,
        Err(Error::Missing(_))
    ));
    tx.commit().await.unwrap();
    let mut expected: Vec<Uuid> = before.iter().map(|attempt| attempt.id).collect();
    erased.sort();
    expected.sort();
    assert_eq!(erased, expected);

    let mut conn = bench.read().await;
    assert_eq!(
        people::resolve(&mut conn, scope, gone.facemap_id())
            .await
            .unwrap(),
        None
    );
    assert!(
        applicants::by_external_user_id(&mut conn, scope, "gone")
            .await
            .unwrap()
            .is_empty()
    );
    assert!(
        people::find_by_name_word(&mut conn, scope, "ada", 9)
            .await
            .unwrap()
            .is_empty()
    );
    let changes = faces::list_after(&mut conn, scope, 0, 99).await.unwrap();
    let told: Vec<_> = changes
        .iter()
        .map(|change| (change.facemap_id, change.embedding.is_some()))
        .collect();
    assert_eq!(
        told,
        [(stays.facemap_id(), true), (gone.facemap_id(), false)],
        "indexes learn of it"
    );
    assert_eq!(bench.count("select count(*) from erasures").await, 1);
    let again = verify(&bench.db, scope, passes("gone", GROUP, b"gone"))
        .await
        .unwrap();
    assert_ne!(again.facemap_id(), gone.facemap_id(), "a stranger now");
}

pub(crate) async fn log_only_attempts_are_found(bench: Bench) {
    let scope = bench.scope().await;
    let ada = verify(&bench.db, scope, passes("ada", GROUP, b"ada"))
        .await
        .unwrap()
        .facemap_id();
    bench.pass(Duration::from_secs(1));
    let duplicate = verify(&bench.db, scope, passes("ada again", GROUP, b"ada"))
        .await
        .unwrap();
    assert_eq!(
        duplicate,
        Outcome::Duplicate {
            facemap_id: ada,
            log_id: 2
        }
    );
    bench.pass(Duration::from_secs(1));
    verify(&bench.db, scope, passes("ada again", GROUP, b"ada"))
        .await
        .unwrap();
    let taken = verify(&bench.db, scope, passes("ada", GROUP, b"somebody else"))
        .await
        .unwrap();
    assert!(matches!(taken, Outcome::LabelTaken { .. }));
    let mut conn = bench.read().await;
    let found = applicants::by_external_user_id(&mut conn, scope, "ada again")
        .await
        .unwrap();
    let log_only = Applicant {
        facemap_id: ada,
        grouping_id: GROUP,
        status: None,
        registered: false,
        created_at: START + 1000,
        last_active: START + 2000,
    };
    assert_eq!(found, std::slice::from_ref(&log_only));
    let found = applicants::by_external_user_id(&mut conn, scope, "ada")
        .await
        .unwrap();
    let somebody = Applicant {
        facemap_id: taken.facemap_id(),
        created_at: START + 2000,
        last_active: START + 2000,
        ..log_only.clone()
    };
    let registered = Applicant {
        status: Some(AttemptStatus::Approved),
        registered: true,
        created_at: START,
        last_active: START,
        ..log_only
    };
    assert_eq!(found, [somebody, registered], "most recently active first");
    assert!(
        applicants::by_external_user_id(&mut conn, scope, "ADA")
            .await
            .unwrap()
            .is_empty()
    );
}

pub(crate) async fn reviewers_decide(bench: Bench) {
    let scope = bench.scope().await;
    let submission = Submission {
        status: AttemptStatus::Pending,
        ..passes("ada", GROUP, b"ada")
    };
    let pending = verify(&bench.db, scope, submission).await.unwrap();
    verify(&bench.db, scope, passes("bob", GROUP, b"bob"))
        .await
        .unwrap();
    let queue = attempts::pending(&mut bench.read().await, scope, 0, 10)
        .await
        .unwrap();
    assert_eq!(
        queue.iter().map(|attempt| attempt.log_id).collect::<Vec<_>>(),
        [pending.log_id()]
    );
    assert_eq!(queue[0].external_user_id, "ada");
    assert!(
        attempts::pending(&mut bench.read().await, scope, pending.log_id(), 10)
            .await
            .unwrap()
            .is_empty()
    );

    // Of two simultaneous reviewers, one decides, and the other sees the decision.
    bench.pass(Duration::from_secs(60));
    let tasks: Vec<_> = [
        (AttemptStatus::Declined, Decision::Decline),
        (AttemptStatus::Approved, Decision::Approve),
    ]
    .map(|(status, decision)| {
        let (db, log_id) = (bench.db.clone(), pending.log_id());
        tokio::spawn(async move {
            store::transaction!(db, |tx| -> Result<bool, Error> {
                let attempt = attempts::get_for_update(tx, scope, log_id).await?.unwrap();
                if attempt.status != AttemptStatus::Pending {
                    return Ok(false);
                }
                attempts::decide(tx, scope, &attempt, status, decision, "reviewer", Some("looked")).await?;
                Ok(true)
            })
            .unwrap()
        })
    })
    .into();
    let mut decided = 0;
    for task in tasks {
        decided += u32::from(task.await.unwrap());
    }
    assert_eq!(decided, 1);
    let mut conn = bench.read().await;
    let attempt: Attempt = attempts::get(&mut conn, scope, pending.log_id())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(attempt.decided_at, Some(START + 60_000));
    let outcomes = attempts::outcomes(&mut conn, scope, attempt.registration_id.unwrap())
        .await
        .unwrap();
    assert_eq!(outcomes.len(), 1);
    assert_eq!(
        (outcomes[0].log_id, &outcomes[0].status),
        (attempt.log_id, &attempt.status)
    );
    let decisions = attempts::decisions(&mut conn, scope, &attempt).await.unwrap();
    assert_eq!(decisions.len(), 1);
    assert_eq!(decisions[0].reason.as_deref(), Some("looked"));
    assert!(
        attempts::pending(&mut conn, scope, 0, 10)
            .await
            .unwrap()
            .is_empty()
    );
}

pub(crate) async fn names_are_found_by_whole_words(bench: Bench) {
    let scope = bench.scope().await;
    let mut tx = bench.db.begin().await.unwrap();
    let ada = people::create(&mut tx, scope, false).await.unwrap().facemap_id;
    people::index_name(&mut tx, scope, ada, ["ada", "lovelace", "ada"])
        .await
        .unwrap();
    tx.commit().await.unwrap();
    let mut conn = bench.read().await;
    for (word, found) in [("ada", true), ("lovelace", true), ("love", false), ("Ada", false)] {
        let people = people::find_by_name_word(&mut conn, scope, word, 10)
            .await
            .unwrap();
        assert_eq!(people == [ada], found, "{word}");
    }
}
