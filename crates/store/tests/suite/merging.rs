//! Merging two people with proven faces, and splitting a person.

use std::collections::BTreeSet;
use std::time::Duration;

use store::proposals::{self, NewProposal};
use store::{Error, attempts, faces, people, registrations};
use uuid::Uuid;

use crate::bench::Bench;
use crate::people::{GROUP, passes};
use crate::verification::verify;

const OTHER_GROUP: Option<Uuid> = Some(Uuid::from_u128(2));

pub(crate) async fn a_merge_of_two_people_moves_their_faces(bench: Bench) {
    let scope = bench.scope().await;
    let kept = verify(&bench.db, scope, passes("one", GROUP, b"ada"))
        .await
        .unwrap();
    bench.pass(Duration::from_secs(1));
    let merged = verify(&bench.db, scope, passes("two", GROUP, b"eda"))
        .await
        .unwrap();
    let elsewhere = verify(&bench.db, scope, passes("three", OTHER_GROUP, b"eda"))
        .await
        .unwrap();
    let (kept, merged) = (kept.facemap_id(), merged.facemap_id());
    assert_eq!(elsewhere.facemap_id(), merged);
    let two = registrations::find(&mut bench.read().await, scope, GROUP, "two")
        .await
        .unwrap()
        .unwrap();

    let mut tx = bench.db.begin().await.unwrap();
    faces::lock(&mut tx, scope).await.unwrap();
    let both_registered = people::merge_people(&mut tx, scope, merged, kept, &[]).await;
    assert!(
        matches!(both_registered, Err(Error::Conflict)),
        "{both_registered:?}"
    );
    drop(tx);
    let mut tx = bench.db.begin().await.unwrap();
    faces::lock(&mut tx, scope).await.unwrap();
    let provisional = people::create(&mut tx, scope, false).await.unwrap().facemap_id;
    for (from, into) in [(kept, kept), (provisional, kept), (kept, provisional)] {
        let refused = people::merge_people(&mut tx, scope, from, into, &[]).await;
        assert!(matches!(refused, Err(Error::Missing(_))), "{refused:?}");
    }
    people::merge_people(&mut tx, scope, merged, kept, &[two.id])
        .await
        .unwrap();
    tx.commit().await.unwrap();

    let mut conn = bench.read().await;
    let person = people::resolve(&mut conn, scope, merged).await.unwrap().unwrap();
    assert_eq!(person.facemap_id, kept, "the old facemap is an alias");
    let faces = faces::of_person(&mut conn, scope, kept).await.unwrap();
    let faces: Vec<&[u8]> = faces.iter().map(|(_, face)| face.as_slice()).collect();
    assert_eq!(faces, [b"ada", b"eda"]);
    let changes = faces::list_after(&mut conn, scope, 2, 9).await.unwrap();
    let changes: Vec<_> = changes
        .iter()
        .map(|change| (change.facemap_id, change.embedding.is_some()))
        .collect();
    assert_eq!(changes, [(merged, false), (kept, true)], "indexes learn both");
    let groups: Vec<_> = registrations::of_facemap(&mut conn, scope, kept).await.unwrap();
    let labels: Vec<&str> = groups.iter().map(|one| one.external_user_id.as_str()).collect();
    assert_eq!(labels, ["three", "one"], "the ended registration is gone");
    let attempts = attempts::of_facemap(&mut conn, scope, kept).await.unwrap();
    let registered: Vec<bool> = attempts.iter().map(|one| one.registration_id.is_some()).collect();
    assert_eq!(registered, [true, false, true], "its attempt stays in the log");
    drop(conn);
    // The face is recognised under the person who remains.
    let again = verify(&bench.db, scope, passes("three", OTHER_GROUP, b"eda"))
        .await
        .unwrap();
    assert_eq!(again.facemap_id(), kept);

    // What somebody proposed about the facemap that is an alias now ends with the person.
    let other = Uuid::from_u128(7);
    store::transaction!(bench.db, |tx| -> Result<(), Error> {
        for (kind, subject) in [
            ("merge_people", format!("{merged} {other}")),
            ("split_person", kept.to_string()),
            ("split_person", other.to_string()),
        ] {
            let proposal = NewProposal {
                kind,
                subject: &subject,
                attempt: None,
                staff_id: None,
                payload: "{}",
            };
            proposals::put(tx, scope, &proposal).await?;
        }
        people::erase(tx, scope, kept).await.map(|_| ())
    })
    .unwrap();
    let waiting = proposals::list(&mut bench.read().await, scope).await.unwrap();
    let waiting: Vec<&str> = waiting.iter().map(|one| one.subject.as_str()).collect();
    assert_eq!(waiting, [other.to_string()]);
}

pub(crate) async fn a_split_moves_what_was_chosen(bench: Bench) {
    let scope = bench.scope().await;
    let person = verify(&bench.db, scope, passes("one", GROUP, b"ada"))
        .await
        .unwrap()
        .facemap_id();
    verify(&bench.db, scope, passes("two", OTHER_GROUP, b"ada"))
        .await
        .unwrap();
    let two = registrations::find(&mut bench.read().await, scope, OTHER_GROUP, "two")
        .await
        .unwrap()
        .unwrap();
    let words = |words: &[&str]| words.iter().map(ToString::to_string).collect::<BTreeSet<_>>();
    let mut tx = bench.db.begin().await.unwrap();
    faces::lock(&mut tx, scope).await.unwrap();
    people::index_name(&mut tx, scope, person, ["lovelace", "byron"])
        .await
        .unwrap();
    let departure = people::Departure {
        registrations: vec![two.id],
        log_ids: BTreeSet::from([2]),
        staying_faces: vec![("m".to_owned(), b"ada".to_vec())],
        leaving_faces: vec![("m".to_owned(), b"eda".to_vec())],
        staying_words: words(&["lovelace"]),
        leaving_words: words(&["byron"]),
    };
    let new = people::split(&mut tx, scope, person, &departure).await.unwrap();
    let nobody = people::split(&mut tx, scope, Uuid::new_v4(), &departure).await;
    assert!(matches!(nobody, Err(Error::Missing(_))), "{nobody:?}");
    tx.commit().await.unwrap();

    let mut conn = bench.read().await;
    for (facemap, label, log_id, face, word) in [
        (person, "one", 1, b"ada", "lovelace"),
        (new, "two", 2, b"eda", "byron"),
    ] {
        assert!(
            people::resolve(&mut conn, scope, facemap)
                .await
                .unwrap()
                .unwrap()
                .proven
        );
        let registered = registrations::of_facemap(&mut conn, scope, facemap)
            .await
            .unwrap();
        let labels: Vec<&str> = registered
            .iter()
            .map(|one| one.external_user_id.as_str())
            .collect();
        assert_eq!(labels, [label]);
        let attempts = attempts::of_facemap(&mut conn, scope, facemap).await.unwrap();
        let numbers: Vec<i64> = attempts.iter().map(|attempt| attempt.log_id).collect();
        assert_eq!(numbers, [log_id], "its key opens it");
        let faces = faces::of_person(&mut conn, scope, facemap).await.unwrap();
        assert_eq!(faces, [("m".to_owned(), face.to_vec())]);
        let named = people::find_by_name_word(&mut conn, scope, word, 9)
            .await
            .unwrap();
        assert_eq!(named, [facemap]);
    }
    drop(conn);
    let mut tx = bench.db.begin().await.unwrap();
    let erased = people::erase(&mut tx, scope, new).await.unwrap();
    assert_eq!(erased.len(), 1, "the other person's attempt stays");
    tx.commit().await.unwrap();
    assert_eq!(
        attempts::log_ids(&mut bench.read().await, scope, person)
            .await
            .unwrap(),
        [1]
    );
}
