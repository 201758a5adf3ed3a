//! Merchants, API keys and secrets.

use std::sync::Arc;
use std::time::Duration;

use secrecy::ExposeSecret as _;
use store::credentials::{self, AuthOutcome, NewCredential};
use store::logos::{self, Logo};
use store::merchants::{self, Merchant, MerchantStatus};
use store::{Db, Error, Keyring, KeyringOrigin, Scope};
use uuid::Uuid;

use crate::bench::{Bench, START, options};

pub(crate) async fn a_logo_is_replaced_and_removed(bench: Bench) {
    let (first, second) = (bench.merchant().await.id, bench.merchant().await.id);
    let logo = |version: &str| Logo {
        media_type: "image/png".into(),
        bytes: version.as_bytes().to_vec(),
        version: version.into(),
    };
    let stored = async |id| logos::get(&mut bench.read().await, id).await.unwrap();
    assert_eq!(stored(first).await, None);
    for version in ["1", "2"] {
        store::transaction!(bench.db, |tx| -> Result<(), Error> {
            logos::set(tx, first, &logo(version)).await
        })
        .unwrap();
        assert_eq!(stored(first).await, Some(logo(version)));
    }
    assert_eq!(stored(second).await, None);
    store::transaction!(bench.db, |tx| -> Result<(), Error> {
        logos::delete(tx, first).await
    })
    .unwrap();
    assert_eq!(stored(first).await, None);
    let unknown = store::transaction!(bench.db, |tx| -> Result<(), Error> {
        logos::set(tx, Uuid::new_v4(), &logo("1")).await
    });
    assert!(unknown.is_err());
}

pub(crate) async fn merchants_are_listed_and_changed(bench: Bench) {
    let first = bench.merchant().await;
    let second = bench.merchant().await;
    assert_eq!(first.created_at, START);
    bench.pass(Duration::from_secs(1));
    let mut tx = bench.db.begin().await.unwrap();
    assert!(
        merchants::set_status(&mut tx, first.id, MerchantStatus::Suspended)
            .await
            .unwrap()
    );
    assert!(
        merchants::set_settings(&mut tx, first.id, "{\"geoUnknown\":\"block\"}")
            .await
            .unwrap()
    );
    assert!(
        !merchants::set_status(&mut tx, Uuid::new_v4(), MerchantStatus::Draft)
            .await
            .unwrap()
    );
    tx.commit().await.unwrap();
    let mut conn = bench.read().await;
    let changed = merchants::by_short_id(&mut conn, &first.short_id)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        changed,
        Merchant {
            status: MerchantStatus::Suspended,
            settings: "{\"geoUnknown\":\"block\"}".into(),
            updated_at: START + 1000,
            ..first
        }
    );
    assert_eq!(merchants::list(&mut conn).await.unwrap(), [second, changed]);
    assert_eq!(merchants::get(&mut conn, Uuid::new_v4()).await.unwrap(), None);
}

async fn new_key(bench: &Bench, merchant: &Merchant, sandbox: bool) -> NewCredential {
    store::transaction!(bench.db, |tx| -> Result<NewCredential, Error> {
        credentials::create(tx, merchant.id, sandbox).await
    })
    .unwrap()
}

/// The scope of a valid key and secret.
async fn opens(bench: &Bench, key: &str, secret: &str) -> Option<Scope> {
    match credentials::authenticate(&mut bench.read().await, key, secret)
        .await
        .unwrap()
    {
        AuthOutcome::Accepted(caller) => {
            assert_eq!(caller.key, key);
            Some(caller.scope)
        }
        AuthOutcome::Rejected => None,
    }
}

pub(crate) async fn keys_open_their_own_mode_only(bench: Bench) {
    let (merchant, other) = (bench.merchant().await, bench.merchant().await);
    let live = new_key(&bench, &merchant, false).await;
    let sandbox = new_key(&bench, &merchant, true).await;
    let foreign = new_key(&bench, &other, true).await;
    assert!(
        live.key.starts_with(&format!("bf_live_{}", merchant.short_id)),
        "{}",
        live.key
    );
    assert!(
        sandbox.key.starts_with(&format!("bf_test_{}", merchant.short_id)),
        "{}",
        sandbox.key
    );
    assert_eq!(live.secret.expose_secret().len(), 43, "256 bits in base64");
    for (key, expected) in [(&live, false), (&sandbox, true)] {
        let scope = Scope {
            merchant_id: merchant.id,
            sandbox: expected,
        };
        assert_eq!(
            opens(&bench, &key.key, key.secret.expose_secret()).await,
            Some(scope)
        );
    }
    for (key, secret) in [
        (live.key.as_str(), sandbox.secret.expose_secret()),
        (&sandbox.key, foreign.secret.expose_secret()),
        (&live.key, ""),
        ("", live.secret.expose_secret()),
        ("bf_live_", live.secret.expose_secret()),
        ("bf_live_ééééééééé", live.secret.expose_secret()),
        (&live.key[..live.key.len() - 1], live.secret.expose_secret()),
        (&live.key.replace("live", "test"), live.secret.expose_secret()),
        ("' or 1 = 1 --", "' or 1 = 1 --"),
    ] {
        assert_eq!(opens(&bench, key, secret).await, None, "{key}");
    }
}

pub(crate) async fn two_secrets_work_during_a_rotation(bench: Bench) {
    let merchant = bench.merchant().await;
    let first = new_key(&bench, &merchant, true).await;
    let rotate = async || {
        store::transaction!(bench.db, |tx| -> Result<NewCredential, Error> {
            credentials::rotate(tx, merchant.id, &first.key, 1000).await
        })
        .unwrap()
    };
    let second = rotate().await;
    let works = async |secret: &NewCredential| {
        opens(&bench, &first.key, secret.secret.expose_secret())
            .await
            .is_some()
    };
    assert!(works(&first).await && works(&second).await);
    bench.pass(Duration::from_millis(999));
    assert!(works(&first).await);
    let third = rotate().await;
    assert!(
        !works(&first).await && works(&second).await && works(&third).await,
        "two at most"
    );
    bench.pass(Duration::from_millis(1000));
    assert!(!works(&second).await && works(&third).await);
}

pub(crate) async fn restrictions_follow_a_key_until_it_is_revoked(bench: Bench) {
    let merchant = bench.merchant().await;
    let other = bench.merchant().await;
    let key = new_key(&bench, &merchant, true).await;
    let restrictions = async || {
        let (id, secret) = (&key.key, key.secret.expose_secret());
        match credentials::authenticate(&mut bench.read().await, id, secret)
            .await
            .unwrap()
        {
            AuthOutcome::Accepted(caller) => Some(caller.restrictions),
            AuthOutcome::Rejected => None,
        }
    };
    assert_eq!(
        restrictions().await.as_deref(),
        Some("{}"),
        "a new key may do everything"
    );
    let mut tx = bench.db.begin().await.unwrap();
    let set = r#"{"networks":["10.0.0.1/32"]}"#;
    assert!(
        !credentials::set_restrictions(&mut tx, other.id, &key.key, "{\"x\":1}")
            .await
            .unwrap()
    );
    assert!(
        credentials::set_restrictions(&mut tx, merchant.id, &key.key, set)
            .await
            .unwrap()
    );
    tx.commit().await.unwrap();
    assert_eq!(restrictions().await.as_deref(), Some(set));
    let mut tx = bench.db.begin().await.unwrap();
    credentials::rotate(&mut tx, merchant.id, &key.key, 1000)
        .await
        .unwrap();
    tx.commit().await.unwrap();
    assert_eq!(
        restrictions().await.as_deref(),
        Some(set),
        "a new secret changes nothing"
    );
    let mut tx = bench.db.begin().await.unwrap();
    assert!(credentials::revoke(&mut tx, merchant.id, &key.key).await.unwrap());
    assert!(
        !credentials::set_restrictions(&mut tx, merchant.id, &key.key, "{}")
            .await
            .unwrap()
    );
    tx.commit().await.unwrap();
    assert_eq!(restrictions().await, None);
}

pub(crate) async fn a_revoked_key_works_no_more(bench: Bench) {
    let merchant = bench.merchant().await;
    let key = new_key(&bench, &merchant, true).await;
    let mut tx = bench.db.begin().await.unwrap();
    assert!(credentials::revoke(&mut tx, merchant.id, &key.key).await.unwrap());
    assert!(!credentials::revoke(&mut tx, merchant.id, &key.key).await.unwrap());
    assert!(matches!(
        credentials::rotate(&mut tx, merchant.id, &key.key, 0).await,
        Err(Error::Missing("API key"))
    ));
    tx.commit().await.unwrap();
    assert_eq!(opens(&bench, &key.key, key.secret.expose_secret()).await, None);
    let listed = credentials::list(&mut bench.read().await, merchant.id)
        .await
        .unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0].revoked_at, Some(START));
}

pub(crate) async fn rotated_master_keys_rewrap_every_account(bench: Bench) {
    let merchant = bench.merchant().await;
    let path = bench.folder.path().join("keyring.json");
    let (_, origin) = Keyring::open_or_create(&path).unwrap();
    assert_eq!(origin, KeyringOrigin::Found);
    let keyring = Keyring::rotate(&path).unwrap();
    let db = Db::connect(&bench.url, Arc::new(keyring), &options())
        .await
        .unwrap();
    let mut tx = db.begin().await.unwrap();
    assert_eq!(merchants::rewrap_keys(&mut tx).await.unwrap(), 1);
    merchants::key(&mut tx, merchant.id).await.unwrap();
    tx.commit().await.unwrap();
    let old = merchants::key(&mut bench.read().await, merchant.id).await;
    assert!(
        matches!(old, Err(Error::Sealed)),
        "the new master key is needed now"
    );
}
