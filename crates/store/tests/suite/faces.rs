//! The sequence of an account's face changes.

use store::{Error, faces};

use crate::bench::Bench;
use crate::people::{GROUP, passes};
use crate::verification::verify;

pub(crate) async fn face_changes_arrive_in_order(bench: Bench) {
    let scope = bench.scope().await;
    for n in 0..5_u8 {
        verify(&bench.db, scope, passes(&format!("label {n}"), GROUP, &[n; 512]))
            .await
            .unwrap();
    }
    let mut conn = bench.read().await;
    let (mut seen, mut found) = (0, Vec::new());
    loop {
        let page = faces::list_after(&mut conn, scope, seen, 2).await.unwrap();
        let Some(last) = page.last() else { break };
        seen = last.at.seq;
        found.extend(page.into_iter().map(|change| change.embedding.unwrap()[0]));
    }
    assert_eq!(found, [0, 1, 2, 3, 4]);
    assert_eq!(seen, faces::sequence(&mut conn, scope).await.unwrap());
    // An embedding that was moved to another row does not open.
    bench.sql("update faces set seq = 9 where seq = 5").await;
    assert!(matches!(
        faces::list_after(&mut conn, scope, 4, 9).await,
        Err(Error::Sealed)
    ));
}

pub(crate) async fn faces_of_another_model_are_replaced(bench: Bench) {
    let (scope, other) = (bench.scope().await, bench.scope().await);
    let mut facemaps = Vec::new();
    for (scope, label, face) in [
        (scope, "ada", b"ada"),
        (scope, "bob", b"bob"),
        (other, "eve", b"eve"),
    ] {
        let outcome = verify(&bench.db, scope, passes(label, GROUP, face))
            .await
            .unwrap();
        facemaps.push(outcome.facemap_id());
    }
    let [ada, bob, eve] = facemaps[..] else {
        unreachable!()
    };
    let outdated = async |model| {
        let mut conn = bench.read().await;
        let mut found = faces::outdated_people(&mut conn, scope, model).await.unwrap();
        found.sort();
        (found, faces::count_outdated(&mut conn, model).await.unwrap())
    };
    let first = faces::list_after(&mut bench.read().await, scope, 0, 1)
        .await
        .unwrap();
    let model = first[0].model.clone();
    assert_eq!(outdated(&model).await, (vec![], 0));
    let mut both = vec![ada, bob];
    both.sort();
    assert_eq!(outdated("new").await, (both.clone(), 3));
    // A missing version differs from every version, even from another missing one.
    bench.sql("update faces set model = ''").await;
    for unknown in ["", "new"] {
        assert_eq!(outdated(unknown).await, (both.clone(), 3));
    }
    bench.sql(&format!("update faces set model = '{model}'")).await;

    let replace = async |facemap_id, face: &[u8]| {
        store::transaction!(bench.db, |tx| -> Result<(), Error> {
            faces::lock(tx, scope).await?;
            faces::replace(tx, scope, facemap_id, &[("new".to_owned(), face.to_vec())]).await
        })
    };
    let seen = faces::sequence(&mut bench.read().await, scope).await.unwrap();
    replace(ada, b"ada, seen anew").await.unwrap();
    assert!(replace(eve, b"eve").await.is_err(), "another account's");
    assert_eq!(outdated("new").await, (vec![bob], 2));
    let news = faces::list_after(&mut bench.read().await, scope, seen, 9)
        .await
        .unwrap();
    let [gone, news] = news.as_slice() else {
        panic!("{news:?}")
    };
    assert_eq!((gone.facemap_id, &gone.embedding), (ada, &None), "indexes forget");
    assert_eq!((news.facemap_id, news.model.as_str()), (ada, "new"));
    assert_eq!(news.embedding.as_deref(), Some(&b"ada, seen anew"[..]));
    // A face that a custom embedder measured also has the numbers of the built-in networks.
    bench
        .sql("update faces set model = 'new+own' where model = 'new'")
        .await;
    assert_eq!(outdated("new").await, (vec![bob], 2));
    assert_eq!(outdated("new+own").await, (vec![bob], 2));
    assert_eq!(outdated("new+two").await, (both.clone(), 3));
}

/// A database that was restored and continued reuses a number with a different token.
pub(crate) async fn a_fork_of_the_face_changes_is_noticed(bench: Bench) {
    let scope = bench.scope().await;
    let register = async |label: &str| {
        verify(&bench.db, scope, passes(label, GROUP, label.as_bytes()))
            .await
            .unwrap();
        let head = faces::sequence(&mut bench.read().await, scope).await.unwrap();
        let changes = faces::list_after(&mut bench.read().await, scope, head - 1, 9)
            .await
            .unwrap();
        changes[0].at
    };
    let contains = async |position| {
        faces::contains(&mut bench.read().await, scope, position)
            .await
            .unwrap()
    };
    assert!(contains(faces::Position::default()).await, "nothing was read yet");
    let first = register("ada").await;
    let second = register("bob").await;
    assert_eq!((first.seq, second.seq), (1, 2));
    assert!(contains(first).await && contains(second).await);
    bench
        .sql("delete from faces where seq = 2; update counters set face_seq = 1 where face_seq = 2")
        .await;
    assert!(
        contains(first).await && !contains(second).await,
        "the database is behind"
    );
    let fork = register("eve").await;
    assert_eq!(fork.seq, second.seq);
    assert!(
        contains(fork).await && !contains(second).await,
        "the database went another way"
    );
}
