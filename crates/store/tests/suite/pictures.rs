//! Fingerprints of pictures: found by blind indexes, and deleted with their attempt and person.

use store::picture_fingerprints::{self, MOST_FOUND, PictureIndex};
use store::{Error, Scope, attempts, people};
use uuid::Uuid;

use crate::bench::Bench;
use crate::people::{GROUP, passes};
use crate::verification::{Outcome, verify};

/// The bands of an invented picture.
fn bands(first: u16) -> [u16; 16] {
    std::array::from_fn(|at| first + at as u16)
}

fn index(pixels: u8, bands: Option<[u16; 16]>) -> PictureIndex {
    PictureIndex {
        pixels: [pixels; 32],
        bands,
    }
}

/// An attempt of a person with a label, and its picture.
async fn attempt(bench: &Bench, scope: Scope, label: &str, picture: &PictureIndex) -> Outcome {
    let outcome = verify(&bench.db, scope, passes(label, GROUP, label.as_bytes()))
        .await
        .unwrap();
    store::transaction!(bench.db, |tx| -> Result<(), Error> {
        let attempt = attempts::get(tx, scope, outcome.log_id()).await?.unwrap();
        let sealed = (attempt.id, &attempt.key);
        let fingerprint = label.as_bytes();
        picture_fingerprints::insert(tx, scope, sealed, "selfie", picture, fingerprint).await
    })
    .unwrap();
    outcome
}

/// The attempts and fingerprints that a picture under a label finds.
async fn find(bench: &Bench, scope: Scope, label: &str, picture: &PictureIndex) -> Vec<(i64, String)> {
    let found = picture_fingerprints::find(&mut bench.read().await, scope, picture, label)
        .await
        .unwrap();
    found
        .into_iter()
        .map(|earlier| {
            assert_eq!(earlier.file, "selfie");
            (
                earlier.log_id,
                String::from_utf8(earlier.fingerprint.to_vec()).unwrap(),
            )
        })
        .collect()
}

async fn rows(bench: &Bench) -> [i64; 2] {
    [
        bench.count("select count(*) from picture_fingerprints").await,
        bench.count("select count(*) from picture_refs").await,
    ]
}

pub(crate) async fn a_picture_is_found_under_another_label_only(bench: Bench) {
    let scope = bench.scope().await;
    attempt(&bench, scope, "ada", &index(1, Some(bands(100)))).await;
    let ada = [(1, "ada".to_owned())];
    let same = index(1, None);
    assert_eq!(find(&bench, scope, "bob", &same).await, ada, "the same pixels");
    let mut others = bands(5_000);
    others[7] = 107;
    let alike = index(2, Some(others));
    assert_eq!(
        find(&bench, scope, "bob", &alike).await,
        ada,
        "one band in common"
    );
    others[7] = 5_007;
    others[8] = 107;
    let moved = index(2, Some(others));
    assert!(
        find(&bench, scope, "bob", &moved).await.is_empty(),
        "a band has its place"
    );
    assert!(
        find(&bench, scope, "ada", &same).await.is_empty(),
        "an applicant's own retry"
    );
    for elsewhere in [
        Scope {
            sandbox: false,
            ..scope
        },
        bench.scope().await,
    ] {
        assert!(find(&bench, elsewhere, "bob", &same).await.is_empty());
    }
}

pub(crate) async fn the_most_alike_and_the_newest_pictures_are_found(bench: Bench) {
    let scope = bench.scope().await;
    let many = MOST_FOUND + 3;
    let mut shared = bands(9_000);
    shared[0] = 100;
    attempt(&bench, scope, "exact", &index(1, Some(bands(20_000)))).await;
    attempt(&bench, scope, "near", &index(2, Some(bands(100)))).await;
    for number in 0..many {
        attempt(&bench, scope, &format!("far {number}"), &index(3, Some(shared))).await;
    }
    let found = find(&bench, scope, "bob", &index(1, Some(bands(100)))).await;
    assert_eq!(found.len() as i64, MOST_FOUND);
    let labels: Vec<&str> = found.iter().map(|(_, label)| label.as_str()).collect();
    let newest = format!("far {}", many - 1);
    assert_eq!(labels[..3], ["exact", "near", newest.as_str()]);
}

pub(crate) async fn fingerprints_go_with_their_attempt_and_their_person(bench: Bench) {
    let scope = bench.scope().await;
    let picture = index(1, Some(bands(100)));
    let ada = attempt(&bench, scope, "ada", &picture).await;
    let eve = attempt(&bench, scope, "eve", &picture).await;
    attempt(&bench, scope, "kim", &index(1, None)).await;
    assert_eq!(rows(&bench).await, [3, 17 + 17 + 1]);
    store::transaction!(bench.db, |tx| -> Result<(), Error> {
        attempts::delete(tx, scope, ada.log_id()).await.map(|_| ())
    })
    .unwrap();
    assert_eq!(rows(&bench).await, [2, 17 + 1], "retention");
    store::transaction!(bench.db, |tx| -> Result<Vec<Uuid>, Error> {
        people::erase(tx, scope, eve.facemap_id()).await
    })
    .unwrap();
    assert_eq!(rows(&bench).await, [1, 1], "erasure");
    assert_eq!(
        find(&bench, scope, "bob", &picture).await,
        [(3, "kim".to_owned())]
    );
}

pub(crate) async fn a_fingerprint_moves_with_a_merge(bench: Bench) {
    let scope = bench.scope().await;
    let picture = index(1, None);
    let ada = verify(&bench.db, scope, passes("ada", None, b"ada"))
        .await
        .unwrap();
    let unproven = crate::verification::Submission {
        face: None,
        ..passes("eve", GROUP, b"")
    };
    let eve = verify(&bench.db, scope, unproven).await.unwrap();
    store::transaction!(bench.db, |tx| -> Result<(), Error> {
        let attempt = attempts::get(tx, scope, eve.log_id()).await?.unwrap();
        let sealed = (attempt.id, &attempt.key);
        picture_fingerprints::insert(tx, scope, sealed, "selfie", &picture, b"eve").await?;
        people::merge(tx, scope, eve.facemap_id(), ada.facemap_id()).await
    })
    .unwrap();
    assert_eq!(
        find(&bench, scope, "bob", &picture).await,
        [(eve.log_id(), "eve".to_owned())]
    );
}
