//! The data that an erasure must delete in addition to the person's key.

use std::collections::BTreeSet;

use store::applicant_invitations::{self, NewInvitation, Recipient};
use store::applicant_letters::{self, LetterKind};
use store::erasure_journal::KeyId;
use store::idempotency::{self, KeyState, ResponseSubject};
use store::monitoring::{self, NewScreening};
use store::sessions::{self, Link};
use store::wallet_alerts::{self, NewWalletAlert};
use store::{Error, Scope, attempts, earlier_rows, erasures, link_tokens, people};
use uuid::Uuid;

use crate::bench::Bench;
use crate::people::{GROUP, passes};
use crate::verification::verify;

/// Creates a link, a session, a monitoring query and its idempotency response under a label.
pub(crate) async fn leave_traces(bench: &Bench, scope: Scope, label: &str) {
    let link = Link {
        group_id: Uuid::new_v4(),
        flow_id: Uuid::new_v4(),
        user_id: label.into(),
        expected: Some(r#"{"firstName":"Ada"}"#.into()),
    };
    store::transaction!(bench.db, |tx| -> Result<(), Error> {
        link_tokens::create(tx, scope, &link, 600_000).await?;
        let new = NewInvitation {
            recipient: Some(Recipient {
                email: "ada@example.com".into(),
                language: "en".into(),
            }),
            ..NewInvitation::new(link.clone(), 3, tx.now() + 600_000)
        };
        let (invitation, _) = applicant_invitations::create(tx, scope, new).await?;
        applicant_invitations::add_token(tx, scope, invitation.id).await?;
        applicant_letters::enqueue(tx, scope, invitation.id, LetterKind::Invitation).await?;
        sessions::create(tx, scope, link.clone(), Some(invitation.id), 3, 600_000).await?;
        let screening = NewScreening {
            id: Uuid::now_v7(),
            kind: "address",
            currency: "btc",
            query: "1Query",
            canonical: "1query",
            label,
            status: 200,
            score: Some(1.0),
            response: "{}",
            evidence: Some("{}"),
            failure: None,
            coverage: None,
        };
        monitoring::insert(tx, scope, &screening).await?;
        let new = NewWalletAlert {
            screening_id: screening.id,
            subject_ref: label.as_bytes(),
            finding: "{}",
            awaits_score: true,
        };
        let alert = wallet_alerts::open_new(tx, scope, &new).await?.unwrap();
        assert_eq!(wallet_alerts::open_new(tx, scope, &new).await?, None);
        wallet_alerts::close_reviewed(tx, scope, alert, ("staff:a", "known")).await?;
        let begun = idempotency::claim_key(tx, scope, "monitoring", label, b"body", 60_000).await?;
        let KeyState::Claimed(ticket) = begun else {
            panic!("{begun:?}")
        };
        idempotency::complete(
            tx,
            scope,
            &ticket,
            (200, b"answer"),
            ResponseSubject::Label(label),
        )
        .await
    })
    .unwrap();
}

async fn erase(bench: &Bench, scope: Scope, facemap_id: Uuid) {
    store::transaction!(bench.db, |tx| -> Result<(), Error> {
        people::erase(tx, scope, facemap_id).await.map(|_| ())
    })
    .unwrap();
}

async fn traces(bench: &Bench) -> [i64; 8] {
    [
        bench.count("select count(*) from applicant_invitations").await,
        bench.count("select count(*) from link_tokens").await,
        bench.count("select count(*) from sessions").await,
        bench.count("select count(*) from screenings").await,
        bench.count("select count(*) from screening_evidence").await,
        bench.count("select count(*) from wallet_alerts").await,
        bench.count("select count(*) from outbox").await,
        bench
            .count("select count(*) from idempotency_keys where answer_sealed is not null")
            .await,
    ]
}

pub(crate) async fn an_erasure_reaches_what_the_account_key_seals(bench: Bench) {
    let scope = bench.scope().await;
    let ada = verify(&bench.db, scope, passes("ada", GROUP, b"ada"))
        .await
        .unwrap();
    verify(&bench.db, scope, passes("bob", GROUP, b"bob"))
        .await
        .unwrap();
    leave_traces(&bench, scope, "ada").await;
    leave_traces(&bench, scope, "bob").await;
    assert_eq!(traces(&bench).await, [2; 8]);
    erase(&bench, scope, ada.facemap_id()).await;
    assert_eq!(traces(&bench).await, [1; 8]);
    // The people of the other mode are not affected.
    let live = Scope {
        sandbox: false,
        ..scope
    };
    assert!(
        !erasures::is_erased(&mut bench.read().await, live, ada.facemap_id())
            .await
            .unwrap()
    );
    assert!(
        erasures::is_erased(&mut bench.read().await, scope, ada.facemap_id())
            .await
            .unwrap()
    );
    let left = erasures::object_removals_of(&mut bench.read().await, scope, ada.facemap_id())
        .await
        .unwrap();
    assert_eq!(left.len(), 1);
    let unfinished = async |label: &str| {
        erasures::find_unfinished(&mut bench.read().await, scope, label)
            .await
            .unwrap()
    };
    assert_eq!(unfinished("ada").await, Some(ada.facemap_id()));
    assert_eq!(unfinished("bob").await, None);
    store::transaction!(bench.db, |tx| -> Result<(), Error> {
        erasures::finish_object_removal(tx, &left[0]).await
    })
    .unwrap();
    assert!(
        erasures::list_object_removals(&mut bench.read().await, 9)
            .await
            .unwrap()
            .is_empty()
    );
}

pub(crate) async fn a_label_of_two_people_stays_with_the_other(bench: Bench) {
    let scope = bench.scope().await;
    verify(&bench.db, scope, passes("ada", GROUP, b"ada"))
        .await
        .unwrap();
    // Another person uses her label: the attempt is logged, and the label still belongs to her.
    let other = verify(&bench.db, scope, passes("ada", GROUP, b"mallory"))
        .await
        .unwrap();
    leave_traces(&bench, scope, "ada").await;
    let before = traces(&bench).await;
    erase(&bench, scope, other.facemap_id()).await;
    let mut after = before;
    after[6] -= 1;
    assert_eq!(traces(&bench).await, after, "only the other's event goes");
}

pub(crate) async fn rows_of_an_earlier_version_are_reached_too(bench: Bench) {
    let scope = bench.scope().await;
    let ada = verify(&bench.db, scope, passes("ada", GROUP, b"ada"))
        .await
        .unwrap();
    leave_traces(&bench, scope, "ada").await;
    bench.sql("update link_tokens set user_ref = null").await;
    bench.sql("update sessions set user_ref = null").await;
    // The suite's events have an empty body, which does not name the person.
    bench.sql("update outbox set facemap_id = null").await;
    bench
        .sql("update idempotency_keys set lease_id = null, label_ref = null")
        .await;
    assert!(earlier_rows::any(&mut bench.read().await).await.unwrap());
    let index = async || {
        store::transaction!(bench.db, |tx| -> Result<usize, Error> {
            earlier_rows::index(tx, 100).await
        })
        .unwrap()
    };
    assert_eq!(index().await, 3);
    assert_eq!(index().await, 0);
    assert!(!earlier_rows::any(&mut bench.read().await).await.unwrap());
    erase(&bench, scope, ada.facemap_id()).await;
    assert_eq!(traces(&bench).await, [0, 0, 0, 0, 0, 0, 1, 0]);
}

pub(crate) async fn answers_go_with_their_attempt(bench: Bench) {
    let scope = bench.scope().await;
    let ada = verify(&bench.db, scope, passes("ada", GROUP, b"ada"))
        .await
        .unwrap();
    let attempt = attempts::get(&mut bench.read().await, scope, ada.log_id())
        .await
        .unwrap()
        .unwrap();
    let begin = async |key: &str| {
        store::transaction!(bench.db, |tx| -> Result<KeyState, Error> {
            idempotency::claim_key(tx, scope, "verify", key, b"body", 60_000).await
        })
        .unwrap()
    };
    for key in ["erased", "removed with its row only"] {
        let KeyState::Claimed(ticket) = begin(key).await else {
            panic!("fresh")
        };
        store::transaction!(bench.db, |tx| -> Result<(), Error> {
            let describes = ResponseSubject::Attempt {
                id: attempt.id,
                key: &attempt.key,
            };
            idempotency::complete(tx, scope, &ticket, (200, b"answer"), describes).await
        })
        .unwrap();
        let KeyState::Replay { body, .. } = begin(key).await else {
            panic!("replay")
        };
        assert_eq!(body, b"answer");
    }
    // The account's key does not seal it.
    let sealed_by_account = bench
        .count("select count(*) from idempotency_keys where attempt_id is null")
        .await;
    assert_eq!(sealed_by_account, 0);
    store::transaction!(bench.db, |tx| -> Result<(), Error> {
        attempts::delete(tx, scope, ada.log_id()).await.map(|_| ())
    })
    .unwrap();
    let begun = begin("erased").await;
    assert!(matches!(begun, KeyState::Erased), "{begun:?}");
    let kept =
        "select count(*) from idempotency_keys where answer_sealed is not null or length(body_ref) > 0";
    assert_eq!(bench.count(kept).await, 0);
}

pub(crate) async fn keys_keep_their_ids(bench: Bench) {
    let scope = bench.scope().await;
    let (from, into) = store::transaction!(bench.db, |tx| -> Result<(Uuid, Uuid), Error> {
        let from = people::create(tx, scope, false).await?.facemap_id;
        Ok((from, people::create(tx, scope, true).await?.facemap_id))
    })
    .unwrap();
    let mut conn = bench.read().await;
    let before: BTreeSet<KeyId> = [from, into]
        .iter()
        .map(|facemap| KeyId::of_facemap(&conn, scope, *facemap))
        .collect();
    assert_eq!(before.len(), 2);
    assert!(
        !before.contains(&KeyId::of_attempt(&conn, scope, from)),
        "another kind of key"
    );
    let live = Scope {
        sandbox: false,
        ..scope
    };
    assert!(
        !before.contains(&KeyId::of_facemap(&conn, live, from)),
        "another mode"
    );
    assert_eq!(erasures::keys_of(&mut conn, scope, into).await.unwrap().len(), 1);
    drop(conn);
    store::transaction!(bench.db, |tx| -> Result<(), Error> {
        people::merge(tx, scope, from, into).await
    })
    .unwrap();
    // A backup from before the merge contains both keys, so the erasure names both.
    assert_eq!(
        erasures::keys_of(&mut bench.read().await, scope, into)
            .await
            .unwrap(),
        before
    );
}
