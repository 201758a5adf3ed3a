//! The keys below a new master key: everything is renewed and stays readable.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use secrecy::ExposeSecret as _;
use sqlx::AssertSqlSafe;
use store::key_renewal::{Progress, pending};
use store::proposals::{self, NewProposal};
use store::{
    Db, Error, Keyring, Scope, attempts, faces, merchant_profiles, merchants, registrations, staff,
    staff_passkeys, webhooks,
};
use uuid::Uuid;

use crate::bench::{Bench, options};
use crate::configuration::flow;
use crate::erasure::leave_traces;
use crate::people::{GROUP, passes};
use crate::staff::member;
use crate::verification::{Outcome, verify};

/// The sealed columns that get other keys.
const RENEWED: [&str; 28] = [
    "applicant_invitations.email_sealed",
    "applicant_invitations.expected_sealed",
    "applicant_invitations.user_id_sealed",
    "attempts.wrapped_key",
    "faces.embedding_sealed",
    "link_tokens.expected_sealed",
    "link_tokens.user_id_sealed",
    "merchant_profiles.profile_sealed",
    "merchants.wrapped_key",
    "outbox.body_sealed",
    "people.wrapped_key",
    "proposals.payload_sealed",
    "registrations.external_id_sealed",
    "screening_evidence.evidence_sealed",
    "screenings.label_sealed",
    "screenings.query_sealed",
    "screenings.response_sealed",
    "sessions.expected_sealed",
    "sessions.user_id_sealed",
    "staff.email_sealed",
    "staff.name_sealed",
    "staff.totp_sealed",
    "staff.wrapped_key",
    "staff_passkeys.passkey_sealed",
    "wallet_alerts.finding_sealed",
    "wallet_alerts.reason_sealed",
    "webhook_endpoints.previous_sealed",
    "webhook_endpoints.secret_sealed",
];

/// The other sealed columns.
const OTHERS: [&str; 24] = [
    // The key of an attempt seals them, and stays.
    "alerts.hit_sealed",
    "alerts.reason_sealed",
    "attempts.detail_sealed",
    "attempts.external_id_sealed",
    "attempts.names_sealed",
    "attempts.request_sealed",
    "attempts.response_sealed",
    "decisions.reason_sealed",
    "hit_dispositions.disposition_sealed",
    "picture_fingerprints.fingerprint_sealed",
    "review_notes.text_sealed",
    "review_proposals.reason_sealed",
    // They expire within weeks.
    "api_log.exchange_sealed",
    "challenges.state_sealed",
    "document_readings.content_sealed",
    "document_readings.wrapped_key",
    "idempotency_keys.answer_sealed",
    "invitations.email_sealed",
    "portal_sessions.device_sealed",
    "portal_sessions.shown_sealed",
    "sign_ups.company_sealed",
    "sign_ups.email_sealed",
    "sign_ups.wrapped_key",
    // `keys rewrap` seals the check value of the keyring again.
    "installation.key_sealed",
];

async fn texts(bench: &Bench, sql: &str) -> BTreeSet<String> {
    let sql = AssertSqlSafe(sql.to_owned());
    let rows: Vec<String> = if bench.db.is_postgres() {
        let pool = sqlx::PgPool::connect(&bench.url).await.unwrap();
        sqlx::query_scalar(sql).fetch_all(&pool).await.unwrap()
    } else {
        let pool = sqlx::SqlitePool::connect(&bench.url).await.unwrap();
        sqlx::query_scalar(sql).fetch_all(&pool).await.unwrap()
    };
    rows.into_iter().collect()
}

/// The ids of the keys that sealed each renewed column.
async fn key_ids(bench: &Bench) -> BTreeMap<&'static str, BTreeSet<String>> {
    let mut found = BTreeMap::new();
    for name in RENEWED {
        let (table, column) = name.split_once('.').unwrap();
        let id = match bench.db.is_postgres() {
            true => format!("encode(substr({column}, 2, 4), 'hex')"),
            false => format!("hex(substr({column}, 2, 4))"),
        };
        let sql = format!("select {id} from {table} where {column} is not null");
        found.insert(name, texts(bench, &sql).await);
    }
    found
}

fn passkey() -> staff_passkeys::Credential {
    staff_passkeys::Credential {
        name: "Ada's phone".into(),
        credential_id: b"credential".to_vec(),
        transports: 0,
        public_key: b"key".to_vec(),
    }
}

/// The bench's database with a new master key, under which accounts and staff have new keys.
async fn rotated(bench: &Bench) -> Db {
    let keyring = Keyring::rotate(&bench.folder.path().join("keyring.json")).unwrap();
    let db = Db::connect(&bench.url, Arc::new(keyring), &options())
        .await
        .unwrap();
    let done = store::transaction!(db, |tx| -> Result<(u64, u64), Error> {
        Ok((merchants::rewrap_keys(tx).await?, staff::rewrap_keys(tx).await?))
    });
    assert_ne!(done.unwrap().0, 0);
    // What the newest master key wrapped is not renewed again.
    let again = store::transaction!(db, |tx| -> Result<(u64, u64), Error> {
        Ok((merchants::rewrap_keys(tx).await?, staff::rewrap_keys(tx).await?))
    });
    assert_eq!(again.unwrap(), (0, 0));
    db
}

async fn renew(db: &Db, merchant_id: Uuid) -> Progress {
    let mut progress = Progress::begin(&mut db.read().await.unwrap(), merchant_id)
        .await
        .unwrap();
    loop {
        let from = &progress;
        let (next, is_done) = store::transaction!(db, |tx| -> Result<(Progress, bool), Error> {
            from.clone().step(tx).await
        })
        .unwrap();
        progress = next;
        if is_done {
            return progress;
        }
    }
}

async fn waiting(db: &Db) -> Vec<Uuid> {
    let found = pending(&mut db.read().await.unwrap()).await.unwrap();
    found.into_iter().map(|(merchant_id, _)| merchant_id).collect()
}

/// Everything readable about an account's people, for a comparison.
async fn all_people(db: &Db, scope: Scope, labels: &[String]) -> Vec<String> {
    let mut conn = db.read().await.unwrap();
    let mut all = Vec::new();
    for label in labels {
        for registration in registrations::of_external_user_id(&mut conn, scope, label)
            .await
            .unwrap()
        {
            let attempts = attempts::of_registration(&mut conn, scope, registration.id)
                .await
                .unwrap();
            let attempts = attempts
                .iter()
                .map(|one| (&one.request, &one.response, &one.external_user_id));
            all.push(format!("{registration:?} {:?}", attempts.collect::<Vec<_>>()));
        }
    }
    for face in faces::list_after(&mut conn, scope, 0, 1_000).await.unwrap() {
        all.push(format!("{face:?}"));
    }
    all
}

async fn webhook_secrets(db: &Db, scope: Scope, flow_id: Uuid) -> [String; 2] {
    let found = store::transaction!(db, |tx| -> Result<webhooks::Endpoint, Error> {
        Ok(webhooks::get_or_create(tx, scope, flow_id).await?.unwrap())
    })
    .unwrap();
    let previous = found.previous.unwrap();
    [&found.secret, &previous].map(|secret| secret.expose_secret().to_owned())
}

#[tokio::test]
async fn every_sealed_column_is_renewed_or_has_a_reason() {
    let bench = Bench::sqlite().await;
    let columns = texts(
        &bench,
        "select t.name || '.' || c.name from sqlite_master t, pragma_table_info(t.name) c
         where t.type = 'table' and (c.name like '%\\_sealed' escape '\\' or c.name = 'wrapped_key')",
    )
    .await;
    let known: BTreeSet<String> = RENEWED
        .iter()
        .chain(&OTHERS)
        .map(|name| (*name).to_owned())
        .collect();
    assert_eq!(columns, known);
}

pub(crate) async fn a_new_master_key_reaches_everything(bench: Bench) {
    let merchant = bench.merchant().await;
    let scope = Scope {
        merchant_id: merchant.id,
        sandbox: true,
    };
    // More people than one batch renews.
    let labels: Vec<String> = (0..55).map(|n| format!("label {n}")).collect();
    for label in &labels {
        verify(&bench.db, scope, passes(label, GROUP, label.as_bytes()))
            .await
            .unwrap();
    }
    leave_traces(&bench, scope, "label 0").await;
    let staff_id = member(&bench, "ada@example.com").await.id;
    let flow_id = flow(&bench, scope, "Flow").await.unwrap().id;
    store::transaction!(bench.db, |tx| -> Result<(), Error> {
        webhooks::rotate(tx, scope, flow_id, None, 600_000).await?;
        staff::set_totp(tx, staff_id, b"secret", 1).await?;
        staff_passkeys::add(tx, staff_id, "localhost", &passkey(), b"state").await?;
        merchant_profiles::save(tx, merchant.id, "{\"website\":\"a\"}").await?;
        let proposal = NewProposal {
            kind: "delete_flow",
            subject: "flow",
            attempt: None,
            staff_id: None,
            payload: "{}",
        };
        proposals::put(tx, scope, &proposal).await.map(|_| ())
    })
    .unwrap();
    let before = key_ids(&bench).await;
    let empty: Vec<_> = before.iter().filter(|(_, ids)| ids.is_empty()).collect();
    assert!(empty.is_empty(), "nothing to renew: {empty:?}");
    let people = all_people(&bench.db, scope, &labels).await;
    assert_eq!(people.len(), 110);
    let secrets = webhook_secrets(&bench.db, scope, flow_id).await;

    let db = rotated(&bench).await;
    assert_eq!(waiting(&db).await, [merchant.id]);
    assert_eq!(
        all_people(&db, scope, &labels).await,
        people,
        "before the renewal"
    );
    let done = renew(&db, merchant.id).await;
    assert_eq!(done.unreadable, 0);
    assert!(done.renewed > 55, "{}", done.renewed);
    assert!(waiting(&db).await.is_empty());
    assert_eq!(all_people(&db, scope, &labels).await, people, "after the renewal");
    for (column, ids) in key_ids(&bench).await {
        let left: Vec<_> = ids.intersection(&before[column]).collect();
        assert!(left.is_empty(), "{column} is sealed under an earlier key");
    }
    assert_eq!(webhook_secrets(&db, scope, flow_id).await, secrets);
    let mut conn = db.read().await.unwrap();
    let profile = merchant_profiles::get(&mut conn, merchant.id).await.unwrap();
    assert_eq!(profile.unwrap().profile, "{\"website\":\"a\"}");
    let member = staff::get(&mut conn, staff_id).await.unwrap().unwrap();
    assert_eq!(member.email, "ada@example.com");
    let passkeys = staff_passkeys::of_member(&mut conn, staff_id).await.unwrap();
    assert_eq!(passkeys[0].credential, passkey());
    assert_eq!(renew(&db, merchant.id).await.renewed, 0);
}

/// A transaction that had read the earlier key writes a row that the renewal has already passed.
pub(crate) async fn a_row_behind_the_renewal_is_renewed_too(bench: Bench) {
    let scope = bench.scope().await;
    verify(&bench.db, scope, passes("ada", GROUP, b"ada"))
        .await
        .unwrap();
    leave_traces(&bench, scope, "ada").await;
    let is_postgres = bench.db.is_postgres();
    let hex = match is_postgres {
        true => "encode(user_id_sealed, 'hex')",
        false => "hex(user_id_sealed)",
    };
    let sealed = texts(&bench, &format!("select {hex} from sessions")).await;
    let [sealed]: [String; 1] = Vec::from_iter(sealed).try_into().unwrap();
    let before = key_ids(&bench).await;
    let is_renewed = async || {
        let now = key_ids(&bench).await;
        now["sessions.user_id_sealed"].is_disjoint(&before["sessions.user_id_sealed"])
    };
    let db = rotated(&bench).await;
    let mut progress = Progress::begin(&mut db.read().await.unwrap(), scope.merchant_id)
        .await
        .unwrap();
    let mut is_written = false;
    loop {
        let from = &progress;
        let (next, is_done) = store::transaction!(db, |tx| -> Result<(Progress, bool), Error> {
            from.clone().step(tx).await
        })
        .unwrap();
        progress = next;
        if is_done {
            break;
        }
        if !is_written && is_renewed().await {
            let sealed = match is_postgres {
                true => format!("'\\x{sealed}'::bytea"),
                false => format!("X'{sealed}'"),
            };
            bench
                .sql(&format!("update sessions set user_id_sealed = {sealed}"))
                .await;
            assert!(!is_renewed().await);
            is_written = true;
        }
    }
    assert!(is_written);
    assert!(is_renewed().await, "the row kept its earlier key");
    assert!(waiting(&db).await.is_empty());
}

pub(crate) async fn a_renewal_beside_verifications_loses_nobody(bench: Bench) {
    const PEOPLE: usize = 12;
    let scope = bench.scope().await;
    let labels: Vec<String> = (0..PEOPLE).map(|n| format!("label {n}")).collect();
    let everybody = async |db: &Db| -> Vec<Outcome> {
        let mut tasks = Vec::new();
        for label in labels.clone() {
            let db = db.clone();
            tasks.push(tokio::spawn(async move {
                verify(&db, scope, passes(&label, GROUP, label.as_bytes()))
                    .await
                    .unwrap()
            }));
        }
        let mut outcomes = Vec::new();
        for task in tasks {
            outcomes.push(task.await.unwrap());
        }
        outcomes
    };
    everybody(&bench.db).await;
    let db = rotated(&bench).await;
    // Each person comes back while the keys are renewed.
    let ((), again) = tokio::join!(
        async { drop(renew(&db, scope.merchant_id).await) },
        everybody(&db)
    );
    let facemaps: BTreeSet<Uuid> = again.iter().map(Outcome::facemap_id).collect();
    assert_eq!(facemaps.len(), PEOPLE);
    assert_eq!(bench.count("select count(*) from people").await, PEOPLE as i64);
    let mut conn = db.read().await.unwrap();
    for label in &labels {
        let registered = registrations::of_external_user_id(&mut conn, scope, label)
            .await
            .unwrap();
        let attempts = attempts::of_registration(&mut conn, scope, registered[0].id)
            .await
            .unwrap();
        assert_eq!(attempts.len(), 2, "{label}");
    }
}

pub(crate) async fn a_row_that_does_not_open_stays_as_it_is(bench: Bench) {
    let scope = bench.scope().await;
    for label in ["ada", "bob"] {
        verify(&bench.db, scope, passes(label, GROUP, label.as_bytes()))
            .await
            .unwrap();
    }
    leave_traces(&bench, scope, "ada").await;
    // One byte of zeros may stand there already; eight never do.
    let damaged = match bench.db.is_postgres() {
        true => "overlay(user_id_sealed placing '\\x0000000000000000'::bytea from 20)",
        false => {
            "cast(substr(user_id_sealed, 1, 19) || x'0000000000000000' || substr(user_id_sealed, 28) as blob)"
        }
    };
    bench
        .sql(&format!("update sessions set user_id_sealed = {damaged}"))
        .await;
    let db = rotated(&bench).await;
    let done = renew(&db, scope.merchant_id).await;
    assert_eq!(done.unreadable, 1);
    assert!(waiting(&db).await.is_empty(), "it does not block the others");
    let labels = ["ada".to_owned(), "bob".to_owned()];
    assert_eq!(all_people(&db, scope, &labels).await.len(), 4);
}
