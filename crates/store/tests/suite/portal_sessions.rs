//! Sessions of the portal: their start, idle time and end, and the results that a page shows once.

use std::time::Duration;

use secrecy::{ExposeSecret as _, SecretString};
use store::Error;
use store::portal_sessions::{self, ActiveSession, NewSession, PageResult, Stage};
use store::{staff, staff_devices};
use uuid::Uuid;

use crate::bench::{Bench, START};
use crate::staff::member;

async fn session(
    bench: &Bench,
    staff_id: Uuid,
    merchant_id: Option<Uuid>,
    stage: Stage,
) -> (Uuid, SecretString) {
    let new = NewSession {
        staff_id,
        merchant_id,
        sandbox: true,
        stage,
        device: "{\"browser\":\"Firefox\"}",
    };
    store::transaction!(bench.db, |tx| -> Result<(Uuid, SecretString), Error> {
        portal_sessions::create(tx, &new).await
    })
    .unwrap()
}

async fn found(bench: &Bench, token: &SecretString) -> Option<ActiveSession> {
    portal_sessions::find(&mut bench.read().await, token.expose_secret())
        .await
        .unwrap()
}

pub(crate) async fn sessions_idle_out_and_end(bench: Bench) {
    let merchant = bench.merchant().await;
    let ada = member(&bench, "ada@example.com").await;
    store::transaction!(bench.db, |tx| -> Result<(), Error> {
        staff::join(tx, merchant.id, ada.id, "owner").await
    })
    .unwrap();
    let (id, token) = session(&bench, ada.id, Some(merchant.id), Stage::Full).await;
    assert_eq!(token.expose_secret().len(), 43, "256 bits in base64");
    let hashed = "select count(*) from portal_sessions where length(token_ref) = 32";
    assert_eq!(
        bench.count(hashed).await,
        1,
        "the database has a hash, not the token"
    );
    let signed_in = found(&bench, &token).await.unwrap();
    assert_eq!(
        (signed_in.session_id, signed_in.role.as_deref(), signed_in.stage),
        (id, Some("owner"), Stage::Full)
    );
    assert_eq!(
        (signed_in.merchant, signed_in.staff, signed_in.sandbox),
        (Some(merchant.clone()), ada.clone(), true)
    );
    let mut tampered = token.expose_secret().to_owned();
    tampered.replace_range(0..1, if tampered.starts_with('A') { "B" } else { "A" });
    for other in [
        tampered.as_str(),
        "",
        "' or 1=1 --",
        &token.expose_secret()[1..],
        &id.to_string(),
    ] {
        assert!(found(&bench, &other.to_owned().into()).await.is_none(), "{other}");
    }
    // A session that is used every 20 minutes lasts for twelve hours.
    for _ in 0..35 {
        bench.pass(Duration::from_secs(20 * 60));
        assert!(found(&bench, &token).await.is_some());
        store::transaction!(bench.db, |tx| -> Result<(), Error> {
            portal_sessions::touch(tx, id).await
        })
        .unwrap();
    }
    bench.pass(Duration::from_secs(20 * 60));
    assert!(found(&bench, &token).await.is_none(), "12 hours are over");
    // An unused session ends after half an hour.
    let (_, token) = session(&bench, ada.id, Some(merchant.id), Stage::Full).await;
    bench.pass(Duration::from_secs(30 * 60 - 1));
    assert!(found(&bench, &token).await.is_some());
    bench.pass(Duration::from_secs(1));
    assert!(found(&bench, &token).await.is_none());
    let swept = store::transaction!(bench.db, |tx| -> Result<u64, Error> {
        portal_sessions::sweep(tx).await
    });
    assert_eq!(swept.unwrap(), 2);
    // The second factor must follow within ten minutes.
    let (_, token) = session(&bench, ada.id, None, Stage::Password).await;
    assert_eq!(found(&bench, &token).await.unwrap().stage, Stage::Password);
    assert_eq!(
        portal_sessions::list(&mut bench.read().await, ada.id)
            .await
            .unwrap(),
        [],
        "not signed in"
    );
    bench.pass(Duration::from_secs(10 * 60));
    assert!(found(&bench, &token).await.is_none());
}

pub(crate) async fn every_proof_brings_another_token(bench: Bench) {
    let ada = member(&bench, "ada@example.com").await;
    let (id, first) = session(&bench, ada.id, None, Stage::Password).await;
    bench.pass(Duration::from_secs(60));
    let second = store::transaction!(bench.db, |tx| -> Result<SecretString, Error> {
        portal_sessions::renew_authenticated(tx, id).await
    })
    .unwrap();
    assert!(
        found(&bench, &first).await.is_none(),
        "the token before it is void"
    );
    let signed_in = found(&bench, &second).await.unwrap();
    bench.pass(Duration::from_secs(60));
    let third = store::transaction!(bench.db, |tx| -> Result<SecretString, Error> {
        portal_sessions::renew(tx, id).await
    })
    .unwrap();
    assert!(found(&bench, &second).await.is_none());
    let renewed = found(&bench, &third).await.unwrap();
    assert_eq!(
        renewed.authenticated_at, signed_in.authenticated_at,
        "no proof was given"
    );
    assert_eq!(
        (signed_in.stage, signed_in.authenticated_at, signed_in.expires_at),
        (
            Stage::Full,
            START + 60_000,
            START + 60_000 + portal_sessions::LIFE_MS
        )
    );
    bench.pass(Duration::from_secs(60));
    let fourth = store::transaction!(bench.db, |tx| -> Result<SecretString, Error> {
        portal_sessions::renew_authenticated(tx, id).await
    })
    .unwrap();
    assert!(found(&bench, &third).await.is_none());
    assert_eq!(
        found(&bench, &fourth).await.unwrap().expires_at,
        signed_in.expires_at,
        "a proof lengthens no life"
    );
}

pub(crate) async fn sessions_end_with_the_member(bench: Bench) {
    let (merchant, other) = (bench.merchant().await, bench.merchant().await);
    let ada = member(&bench, "ada@example.com").await;
    store::transaction!(bench.db, |tx| -> Result<(), Error> {
        staff::join(tx, merchant.id, ada.id, "admin").await?;
        staff::join(tx, other.id, ada.id, "reviewer").await
    })
    .unwrap();
    let again = store::transaction!(bench.db, |tx| -> Result<(), Error> {
        staff::join(tx, merchant.id, ada.id, "owner").await
    });
    assert!(
        matches!(again, Err(Error::Conflict)),
        "no second membership, no other role: {again:?}"
    );
    let (_, here) = session(&bench, ada.id, Some(merchant.id), Stage::Full).await;
    let (there_id, there) = session(&bench, ada.id, Some(other.id), Stage::Full).await;
    let listed = portal_sessions::list(&mut bench.read().await, ada.id)
        .await
        .unwrap();
    assert_eq!(listed.len(), 2);
    assert_eq!(listed[0].device, "{\"browser\":\"Firefox\"}");

    store::transaction!(bench.db, |tx| -> Result<(), Error> {
        staff::set_membership_disabled(tx, merchant.id, ada.id, true).await?;
        Ok(())
    })
    .unwrap();
    assert_eq!(found(&bench, &here).await.unwrap().role, None, "no role at once");
    let theirs = staff::merchants_of(&mut bench.read().await, ada.id)
        .await
        .unwrap();
    assert_eq!(theirs, [(other.clone(), "reviewer".to_owned())]);
    store::transaction!(bench.db, |tx| -> Result<(), Error> {
        assert_eq!(portal_sessions::end_in_account(tx, merchant.id, ada.id).await?, 1);
        assert!(!portal_sessions::end(tx, Uuid::new_v4(), there_id).await?);
        assert_eq!(portal_sessions::end_all(tx, ada.id, Some(there_id)).await?, 0);
        Ok(())
    })
    .unwrap();
    assert!(found(&bench, &here).await.is_none());
    assert_eq!(
        found(&bench, &there).await.unwrap().role.as_deref(),
        Some("reviewer"),
        "the other account is not touched"
    );
    let set = async |disabled| {
        store::transaction!(bench.db, |tx| -> Result<(), Error> {
            staff::set_disabled(tx, ada.id, disabled).await
        })
        .unwrap();
    };
    set(true).await;
    assert!(found(&bench, &there).await.is_none(), "shut out everywhere");
    set(false).await;
    assert!(found(&bench, &there).await.is_some());
    let members = staff::of_merchant(&mut bench.read().await, merchant.id)
        .await
        .unwrap();
    assert_eq!((members.len(), members[0].disabled_at), (1, Some(START)));
    let elsewhere = staff::get_membership(&mut bench.read().await, bench.merchant().await.id, ada.id).await;
    assert_eq!(elsewhere.unwrap(), None);
}

pub(crate) async fn a_changed_password_ends_sessions_that_begin_with_the_old(bench: Bench) {
    const OLD: &str = "$argon2id$…";
    const PAUSE: Duration = Duration::from_millis(100);
    let id = member(&bench, "ada@example.com").await.id;
    let new = NewSession {
        staff_id: id,
        merchant_id: None,
        sandbox: true,
        stage: Stage::Full,
        device: "{}",
    };
    for sign_in_is_first in [true, false] {
        let (sign_in_after, change_after) = if sign_in_is_first {
            (Duration::ZERO, PAUSE / 2)
        } else {
            (PAUSE / 2, Duration::ZERO)
        };
        let sign_in = async {
            tokio::time::sleep(sign_in_after).await;
            store::transaction!(bench.db, |tx| -> Result<(), Error> {
                if staff::lock_password(tx, id, OLD).await? {
                    tokio::time::sleep(PAUSE).await;
                    portal_sessions::create(tx, &new).await?;
                }
                Ok(())
            })
            .unwrap();
        };
        let change = async {
            tokio::time::sleep(change_after).await;
            store::transaction!(bench.db, |tx| -> Result<(), Error> {
                staff::set_password(tx, id, "another").await?;
                tokio::time::sleep(PAUSE).await;
                portal_sessions::end_all(tx, id, None).await?;
                Ok(())
            })
            .unwrap();
        };
        tokio::join!(sign_in, change);
        assert_eq!(
            bench.count("select count(*) from portal_sessions").await,
            0,
            "sign-in first: {sign_in_is_first}"
        );
        store::transaction!(bench.db, |tx| -> Result<(), Error> {
            staff::set_password(tx, id, OLD).await
        })
        .unwrap();
    }
    let holds = store::transaction!(bench.db, |tx| -> Result<bool, Error> {
        staff::lock_password(tx, id, OLD).await
    });
    assert!(holds.unwrap());
}

pub(crate) async fn what_is_to_be_shown_waits_five_minutes(bench: Bench) {
    let ada = member(&bench, "ada@example.com").await;
    let (id, _) = session(&bench, ada.id, None, Stage::Full).await;
    let keep = async |text: &str| {
        store::transaction!(bench.db, |tx| -> Result<(), Error> {
            portal_sessions::store_page_result(tx, ada.id, id, text).await
        })
        .unwrap();
    };
    let shown = async || {
        portal_sessions::page_result(&mut bench.read().await, ada.id, id)
            .await
            .unwrap()
    };
    let forget = async |what: &PageResult| {
        store::transaction!(bench.db, |tx| -> Result<bool, Error> {
            portal_sessions::take_page_result(tx, id, what).await
        })
        .unwrap()
    };
    keep("first").await;
    let first = shown().await.unwrap();
    assert_eq!(first.text, "first");
    keep("second").await;
    assert!(!forget(&first).await, "another one lies there by now");
    let second = shown().await.unwrap();
    assert_eq!(second.text, "second");
    assert!(forget(&second).await && !forget(&second).await, "once");
    assert_eq!(shown().await, None);
    // The sweep deletes a result only after its time.
    let sweep = async || {
        store::transaction!(bench.db, |tx| -> Result<u64, Error> {
            portal_sessions::sweep(tx).await
        })
        .unwrap()
    };
    let kept = "select count(*) from portal_sessions where shown_sealed is not null";
    keep("third").await;
    bench.pass(Duration::from_secs(5 * 60 - 1));
    assert!(shown().await.is_some());
    assert_eq!(sweep().await, 0);
    bench.pass(Duration::from_secs(1));
    assert_eq!(shown().await, None, "too late, swept or not");
    assert_eq!(bench.count(kept).await, 1);
    assert_eq!(sweep().await, 1);
    assert_eq!(bench.count(kept).await, 0);
    assert_eq!(bench.count("select count(*) from portal_sessions").await, 1);
}

pub(crate) async fn browsers_are_recognised_by_their_owner_only(bench: Bench) {
    let (ada, bob) = (
        member(&bench, "ada@example.com").await,
        member(&bench, "bob@example.com").await,
    );
    let mut tx = bench.db.begin().await.unwrap();
    let first = staff_devices::new_token();
    staff_devices::register(&mut tx, ada.id, first.expose_secret())
        .await
        .unwrap();
    assert!(staff_devices::is_token(first.expose_secret()));
    for other in ["", "short", "=", &first.expose_secret()[1..], &"é".repeat(22)] {
        assert!(!staff_devices::is_token(other), "{other}");
    }
    tx.commit().await.unwrap();
    let knows = async |staff_id: Uuid, token: &str| {
        let mut tx = bench.db.begin().await.unwrap();
        let known = staff_devices::recognise(&mut tx, staff_id, token).await.unwrap();
        tx.commit().await.unwrap();
        known
    };
    assert!(knows(ada.id, first.expose_secret()).await);
    assert!(!knows(bob.id, first.expose_secret()).await && !knows(ada.id, "").await);

    // Each use prolongs its life.
    let most = Duration::from_millis(staff_devices::LIFE_MS.unsigned_abs());
    bench.pass(most - Duration::from_millis(1));
    assert!(knows(ada.id, first.expose_secret()).await);
    bench.pass(Duration::from_millis(1));
    assert!(knows(ada.id, first.expose_secret()).await);

    // Of many, the one that was used least recently goes.
    let mut last = None;
    for _ in 0..20 {
        bench.pass(Duration::from_millis(1));
        let mut tx = bench.db.begin().await.unwrap();
        let token = staff_devices::new_token();
        staff_devices::register(&mut tx, ada.id, token.expose_secret())
            .await
            .unwrap();
        last = Some(token);
        tx.commit().await.unwrap();
    }
    assert_eq!(bench.count("select count(*) from staff_devices").await, 20);
    assert!(!knows(ada.id, first.expose_secret()).await);
    let last = last.unwrap();
    assert!(knows(ada.id, last.expose_secret()).await);

    let mut tx = bench.db.begin().await.unwrap();
    // Two members share a browser.
    staff_devices::register(&mut tx, bob.id, last.expose_secret())
        .await
        .unwrap();
    staff_devices::forget(&mut tx, ada.id, Some(last.expose_secret()))
        .await
        .unwrap();
    tx.commit().await.unwrap();
    assert_eq!(bench.count("select count(*) from staff_devices").await, 2);
    assert!(knows(ada.id, last.expose_secret()).await && knows(bob.id, last.expose_secret()).await);
    let mut tx = bench.db.begin().await.unwrap();
    staff_devices::forget(&mut tx, ada.id, None).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(bench.count("select count(*) from staff_devices").await, 1);
    bench.pass(most);
    let mut tx = bench.db.begin().await.unwrap();
    assert_eq!(staff_devices::sweep(&mut tx).await.unwrap(), 1);
    tx.commit().await.unwrap();
}
