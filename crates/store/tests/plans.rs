//! Checks that SQLite finds the rows for the pages of large accounts by an index and never scans the account,
//! with or without `analyze`. The test does not measure time: it captures the statements that sqlx logs and
//! runs `explain query plan` on each. It is the only test of its program, because it captures all logs of the
//! process.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use reference::status::AttemptStatus;
use sqlx::{AssertSqlSafe, Row, SqlitePool};
use store::alerts::{self, AlertFilter, AlertState, StateFilter};
use store::api_log::{self, OutcomeFilter};
use store::attempts::AttemptFilter;
use store::audit::{self, AuditFilter};
use store::bulk::{self, PastAttempt, PastPerson};
use store::link_tokens::{self, LinkFilter};
use store::merchants::{self, MerchantStatus};
use store::outbox::{self, EventFilter};
use store::picture_fingerprints::{self, PictureIndex};
use store::registrations::RegistrationFilter;
use store::review::{self, Filter, QueueOrder, QueuePosition};
use store::wallet_alerts::{self, WalletAlertState};
use store::{
    Conn, Db, Error, Keyring, Options, Scope, applicant_letters, applicants, attempts, insight, monitoring,
    people, registrations, rescreenings, sessions,
};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};
use uuid::Uuid;

/// The statements run since they were last taken.
static RUN: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// Captures the statements that sqlx logs.
struct Statements;

impl Subscriber for Statements {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "sqlx::query"
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn event(&self, event: &Event<'_>) {
        event.record(&mut Statement);
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

struct Statement;

impl Visit for Statement {
    fn record_debug(&mut self, _: &Field, _: &dyn Debug) {}

    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "db.statement" {
            let statement = value.trim().to_owned();
            // Excludes migrations, the move of an older API log out of an attached file, and this test's own
            // queries.
            let is_asked = ["select", "update", "delete"]
                .iter()
                .any(|word| statement.starts_with(word));
            if is_asked && !statement.contains("durable.api_log") {
                RUN.lock().unwrap().insert(statement);
            }
        }
    }
}

/// SQLite's plans for the statements just run on a connection: statement and steps.
async fn plans(conn: &mut Conn, pool: &SqlitePool) -> Vec<(String, Vec<String>)> {
    // A connection's statements are logged in order but with a delay, so the last statement marks the end.
    merchants::get(conn, Uuid::nil()).await.unwrap();
    let is_last = |statement: &String| statement.contains("settings, created_at, updated_at from merchants");
    let patience = Instant::now() + Duration::from_secs(60);
    while !RUN.lock().unwrap().iter().any(is_last) {
        assert!(Instant::now() < patience, "statements are not logged");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let run = std::mem::take(&mut *RUN.lock().unwrap());
    let mut plans = Vec::new();
    for statement in run.into_iter().filter(|statement| !is_last(statement)) {
        let asked = AssertSqlSafe(format!("explain query plan {statement}"));
        let rows = sqlx::query(asked).fetch_all(pool).await.unwrap();
        plans.push((statement, rows.iter().map(|row| row.get("detail")).collect()));
    }
    plans
}

/// Whether a step scans a whole table or account. The results of earlier steps are also scanned by name, but
/// they are not tables.
fn is_unbounded(step: &str, made: &[&str]) -> bool {
    // This index has only the events that were not delivered.
    if step.contains("INDEX outbox_undelivered") {
        return false;
    }
    if let Some(scanned) = step.strip_prefix("SCAN ") {
        return !made.contains(&scanned) && scanned != "CONSTANT ROW";
    }
    step.ends_with("(merchant_id=? AND sandbox=?)") || step.ends_with("(merchant_id=?)")
}

/// Checks that no statement scans a table or an account, and that each index in `uses` is used. Without
/// `sorts`, no statement may sort.
async fn check(conn: &mut Conn, pool: &SqlitePool, what: &str, uses: &[&str], sorts: bool) {
    let plans = plans(conn, pool).await;
    assert!(!plans.is_empty(), "{what} ran nothing");
    let mut used = String::new();
    for (statement, steps) in plans {
        let made: Vec<&str> = steps
            .iter()
            .filter_map(|step| {
                step.strip_prefix("CO-ROUTINE ")
                    .or(step.strip_prefix("MATERIALIZE "))
            })
            .collect();
        for step in &steps {
            assert!(
                !is_unbounded(step, &made),
                "{what}: {step}\n{statement}\n{steps:#?}"
            );
            let is_sort = step.starts_with("USE TEMP B-TREE");
            assert!(sorts || !is_sort, "{what}: {step}\n{statement}\n{steps:#?}");
            used.push_str(step);
            used.push('\n');
        }
    }
    for index in uses {
        assert!(
            used.contains(&format!("INDEX {index} ")),
            "{what} does not use {index}:\n{used}"
        );
    }
}

async fn connect(folder: &Path) -> (Db, SqlitePool) {
    let (keyring, _) = Keyring::open_or_create(&folder.join("keyring.json")).unwrap();
    let url = format!("sqlite:{}/plans.db", folder.display());
    let db = Db::connect(&url, Arc::new(keyring), &Options::default())
        .await
        .unwrap();
    (db, SqlitePool::connect(&url).await.unwrap())
}

/// People with one attempt each. One attempt in eight is pending.
async fn fill(db: &Db, scope: Scope, count: u128) -> Uuid {
    let account = bulk::account(&mut db.read().await.unwrap(), scope).await.unwrap();
    let flow_id = Uuid::from_u128(2);
    let person = |number: u128| PastPerson {
        facemap_id: Uuid::from_u128(number << 64),
        face: None,
        proven: false,
        name_words: vec!["ada".into(), format!("number{number}")],
        external_user_id: format!("applicant-{number}"),
        grouping_id: None,
        status: None,
        created_at: number as i64,
        session: None,
        attempts: vec![PastAttempt {
            id: Uuid::from_u128(number << 32),
            flow_id,
            flow_name: "Flow".into(),
            status: if number.is_multiple_of(8) {
                AttemptStatus::Pending
            } else {
                AttemptStatus::Approved
            },
            success: true,
            codes: "[]".into(),
            document_types: r#"["PASSPORT"]"#.into(),
            request: "{}".into(),
            response: "{}".into(),
            detail: "{}".into(),
            names: r#"{"names":[],"identified":false}"#.to_owned(),
            country: Some("UTO".into()),
            took_ms: Some(1),
            priority: 4,
            created_at: number as i64,
            decision: None,
        }],
    };
    let sealed: Vec<_> = (1..=count).map(|number| account.seal(person(number))).collect();
    store::transaction!(db, |tx| -> Result<(), Error> {
        bulk::write(tx, &account, &sealed).await
    })
    .unwrap();
    flow_id
}

async fn ask_about_ongoing_screening(conn: &mut Conn, pool: &SqlitePool, scope: Scope, facemap_id: Uuid) {
    rescreenings::approved_people(conn, scope, Uuid::nil(), 500)
        .await
        .unwrap();
    rescreenings::names_between(conn, scope, Uuid::nil(), facemap_id)
        .await
        .unwrap();
    let uses = ["registrations_by_status", "attempts_by_facemap"];
    check(conn, pool, "the next people and their names", &uses, false).await;
    rescreenings::requested(conn, 200).await.unwrap();
    let uses = ["rescreening_requests_by_time"];
    check(conn, pool, "people for whom it was asked", &uses, false).await;
    for (state, index) in [
        (StateFilter::Waiting, "alerts_by_state"),
        (StateFilter::In(AlertState::Open), "alerts_by_state"),
        (StateFilter::Any, "sqlite_autoindex_alerts_1"),
    ] {
        let filter = AlertFilter {
            state,
            ..AlertFilter::default()
        };
        alerts::list(conn, scope, &filter, 50).await.unwrap();
        // Few alerts wait, so those may be sorted.
        let sorts = state == StateFilter::Waiting;
        check(conn, pool, "a page of alerts", &[index], sorts).await;
    }
    alerts::count_waiting(conn, scope).await.unwrap();
    check(conn, pool, "how many alerts wait", &["alerts_by_state"], false).await;
    alerts::of_person(conn, scope, facemap_id).await.unwrap();
    let uses = ["alerts_by_attempt", "attempts_by_facemap"];
    check(conn, pool, "a person's alerts", &uses, true).await;
    alerts::open_of_list(conn, scope, "un", Uuid::nil(), 200)
        .await
        .unwrap();
    alerts::lists_with_open(conn, scope).await.unwrap();
    check(conn, pool, "a list's alerts", &["alerts_by_list"], false).await;
}

async fn ask_about_wallet_alerts(conn: &mut Conn, pool: &SqlitePool, scope: Scope) {
    monitoring::list_between(conn, scope, (Uuid::nil(), Uuid::max()), 100)
        .await
        .unwrap();
    let uses = ["sqlite_autoindex_screenings_1"];
    check(conn, pool, "screenings to compare", &uses, false).await;
    for (state, index) in [
        (Some(WalletAlertState::Open), "wallet_alerts_by_state"),
        (None, "sqlite_autoindex_wallet_alerts_1"),
    ] {
        wallet_alerts::list(conn, scope, state, None, 50).await.unwrap();
        check(conn, pool, "a page of wallet alerts", &[index], false).await;
    }
    wallet_alerts::awaiting_score(conn, 50).await.unwrap();
    let due = ["wallet_alerts_by_score_due"];
    check(conn, pool, "wallet alerts without a score", &due, false).await;
    wallet_alerts::list_open_ids(conn, scope, None, 200)
        .await
        .unwrap();
    let open = ["wallet_alerts_by_state"];
    check(conn, pool, "ids of open wallet alerts", &open, false).await;
    wallet_alerts::count_open(conn, scope).await.unwrap();
    check(
        conn,
        pool,
        "open wallet alerts",
        &["wallet_alerts_by_state"],
        false,
    )
    .await;
}

/// The lists of the API. Sorts are bounded by a page, a person or a name.
async fn reports(conn: &mut Conn, pool: &SqlitePool, scope: Scope, flow_id: Uuid) {
    let everybody = AttemptFilter::default();
    for (what, filter, index) in [
        ("all attempts", everybody, "attempts_by_time"),
        (
            "attempts with a status and a code",
            AttemptFilter {
                status: Some(AttemptStatus::Declined),
                code: Some(2101),
                ..everybody
            },
            "attempts_by_time",
        ),
        (
            "attempts of a Flow",
            AttemptFilter {
                flow_id: Some(flow_id),
                ..everybody
            },
            "attempts_by_time",
        ),
        (
            "attempts under a label",
            AttemptFilter {
                external_user_id: Some("user-7"),
                ..everybody
            },
            "attempts_by_external_ref",
        ),
        (
            "attempts of a person",
            AttemptFilter {
                facemap_id: Some(Uuid::from_u128(7 << 64)),
                ..everybody
            },
            "attempts_by_facemap",
        ),
        (
            "attempts of a session",
            AttemptFilter {
                session_id: Some(Uuid::from_u128(7)),
                ..everybody
            },
            "attempts_by_session",
        ),
    ] {
        attempts::page(conn, scope, &filter, 51).await.unwrap();
        check(conn, pool, what, &[index], true).await;
    }
    registrations::page(conn, scope, &RegistrationFilter::default(), 51)
        .await
        .unwrap();
    check(
        conn,
        pool,
        "all registrations",
        &["registrations_by_creation"],
        false,
    )
    .await;
    let named = RegistrationFilter {
        name_words: vec!["ada".into(), "quill".into()],
        ..RegistrationFilter::default()
    };
    registrations::page(conn, scope, &named, 51).await.unwrap();
    check(
        conn,
        pool,
        "registrations by name",
        &["registrations_by_facemap"],
        true,
    )
    .await;
    link_tokens::page(conn, scope, &LinkFilter::default(), 51)
        .await
        .unwrap();
    check(conn, pool, "all links", &["link_tokens_by_creation"], false).await;
    let of_user = LinkFilter {
        user_id: Some("user-7"),
        ..LinkFilter::default()
    };
    link_tokens::page(conn, scope, &of_user, 51).await.unwrap();
    check(conn, pool, "links of a user", &["link_tokens_by_user"], true).await;
}

/// Runs every query of the pages and the applicant look-up.
async fn ask_everything(db: &Db, pool: &SqlitePool, scope: Scope, flow_id: Uuid) {
    let mut conn = db.read().await.unwrap();
    let conn = &mut conn;
    let facemap_id = Uuid::from_u128(7 << 64);
    plans(conn, pool).await;

    let filters = [
        Filter::default(),
        Filter {
            flow_id: Some(flow_id),
            code: Some(2702),
            document_type: Some("PASSPORT".into()),
            country: Some("UTO".into()),
            created_until: Some(i64::MAX),
            unclaimed: true,
            ..Filter::default()
        },
    ];
    for filter in &filters {
        for (order, index) in [
            (QueueOrder::Priority, "attempts_by_priority"),
            (QueueOrder::Oldest, "attempts_pending"),
        ] {
            let page = review::queue(conn, scope, filter, order, QueuePosition::default(), 51)
                .await
                .unwrap();
            assert!(!page.is_empty() || filter.code.is_some());
            let uses = [index, "sqlite_autoindex_attempts_1", "sqlite_autoindex_people_1"];
            check(conn, pool, "a page of the queue", &uses, false).await;
        }
        review::count(conn, scope, filter, 1_000).await.unwrap();
        check(conn, pool, "the queue's length", &[], false).await;
    }
    review::count_pending(conn, scope, 100).await.unwrap();
    insight::pending_backlog(conn, scope).await.unwrap();
    check(conn, pool, "what waits", &[], false).await;

    let attempt = attempts::get(conn, scope, 8).await.unwrap().unwrap();
    people::resolve(conn, scope, facemap_id).await.unwrap().unwrap();
    review::claim_of(conn, scope, 8).await.unwrap();
    review::proposal(conn, scope, &attempt).await.unwrap();
    attempts::decisions(conn, scope, &attempt).await.unwrap();
    people::aliases(conn, scope, facemap_id).await.unwrap();
    attempts::summaries_of_facemap(conn, scope, facemap_id, 100)
        .await
        .unwrap();
    attempts::newest_of_facemap(conn, scope, facemap_id)
        .await
        .unwrap();
    attempts::of_facemap(conn, scope, facemap_id).await.unwrap();
    let registered = registrations::of_facemap(conn, scope, facemap_id).await.unwrap();
    attempts::of_registration(conn, scope, registered[0].id)
        .await
        .unwrap();
    attempts::outcomes(conn, scope, registered[0].id).await.unwrap();
    let uses = [
        "attempts_by_facemap",
        "attempts_by_registration",
        "registrations_by_facemap",
    ];
    check(conn, pool, "an applicant", &uses, false).await;
    review::notes(conn, scope, &attempt).await.unwrap();
    check(conn, pool, "an attempt's notes", &[], true).await;

    people::find_by_name_words(conn, scope, &["ada", "number7"], 20_000, 25)
        .await
        .unwrap();
    check(
        conn,
        pool,
        "a search by name",
        &["sqlite_autoindex_name_words_1"],
        false,
    )
    .await;
    applicants::by_external_user_id(conn, scope, "applicant-7")
        .await
        .unwrap();
    registrations::of_external_user_id(conn, scope, "applicant-7")
        .await
        .unwrap();
    let uses = ["registrations_by_external_ref", "attempts_by_external_ref"];
    check(conn, pool, "a search by label", &uses, true).await;
    attempts::newest_of_session(conn, scope, Uuid::from_u128(1))
        .await
        .unwrap();
    attempts::any_pending_of_session(conn, scope, Uuid::from_u128(1))
        .await
        .unwrap();
    sessions::get(conn, scope, Uuid::from_u128(1)).await.unwrap();
    check(
        conn,
        pool,
        "a session's attempts",
        &["attempts_by_session"],
        false,
    )
    .await;

    ask_about_ongoing_screening(conn, pool, scope, facemap_id).await;
    ask_about_wallet_alerts(conn, pool, scope).await;

    let picture = PictureIndex {
        pixels: [7; 32],
        bands: Some([7; 16]),
    };
    picture_fingerprints::find(conn, scope, &picture, "applicant-7")
        .await
        .unwrap();
    let uses = [
        "sqlite_autoindex_picture_refs_1",
        "sqlite_autoindex_picture_fingerprints_1",
    ];
    check(conn, pool, "a picture's earlier attempts", &uses, true).await;

    let wanted = AuditFilter {
        subject: Some("7"),
        ..AuditFilter::default()
    };
    audit::find(conn, scope.merchant_id, wanted, 50).await.unwrap();
    check(conn, pool, "the trail of a subject", &["audit_by_subject"], false).await;
    let wanted = AuditFilter {
        actor: Some("staff:1"),
        ..AuditFilter::default()
    };
    audit::find(conn, scope.merchant_id, wanted, 50).await.unwrap();
    check(conn, pool, "the trail of an actor", &["audit_by_actor"], false).await;
    let wanted = AuditFilter {
        sandbox: Some(false),
        ..AuditFilter::default()
    };
    audit::find(conn, scope.merchant_id, wanted, 50).await.unwrap();
    check(conn, pool, "the trail of a mode", &["audit_by_mode"], false).await;
    audit::find(conn, scope.merchant_id, AuditFilter::default(), 50)
        .await
        .unwrap();
    check(conn, pool, "the trail", &["sqlite_autoindex_audit_1"], false).await;
    for (filter, index) in [
        (api_log::Filter::default(), "sqlite_autoindex_api_log_1"),
        (
            api_log::Filter {
                route: Some("/v2/idv/verify"),
                ..api_log::Filter::default()
            },
            "api_log_by_route",
        ),
        (
            api_log::Filter {
                key: Some("key"),
                ..api_log::Filter::default()
            },
            "api_log_by_key",
        ),
        (
            api_log::Filter {
                request_id: Some("request"),
                ..api_log::Filter::default()
            },
            "api_log_by_request",
        ),
        (
            api_log::Filter {
                outcome: OutcomeFilter::Refused,
                ..api_log::Filter::default()
            },
            "api_log_failures",
        ),
    ] {
        api_log::list(conn, scope, filter, 51).await.unwrap();
        check(conn, pool, "the API log", &[index], false).await;
    }
    insight::webhook_failures(conn, scope, 0).await.unwrap();
    check(
        conn,
        pool,
        "what was not delivered",
        &["outbox_undelivered"],
        false,
    )
    .await;
    outbox::find_with_bodies(conn, scope, &EventFilter::default(), 50)
        .await
        .unwrap();
    check(conn, pool, "webhook events", &[], false).await;
    reports(conn, pool, scope, flow_id).await;
    outbox::backlog(conn, 1_000).await.unwrap();
    applicant_letters::backlog(conn, 1_000).await.unwrap();
    check(
        conn,
        pool,
        "backlogs",
        &["outbox_due", "applicant_letters_due"],
        false,
    )
    .await;
    attempts::ages(conn, scope, flow_id, 5, 10).await.unwrap();
    attempts::made_before(conn, scope, 100, (0, 0), 10).await.unwrap();
    check(
        conn,
        pool,
        "retention",
        &["attempts_by_flow", "attempts_by_time"],
        false,
    )
    .await;
    let mut tx = db.begin().await.unwrap();
    store::admissions::expire(&mut tx, 200).await.unwrap();
    sessions::sweep(&mut tx, 5).await.unwrap();
    check(
        &mut tx,
        pool,
        "sessions to tidy up",
        &["sessions_open", "sessions_unused"],
        false,
    )
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_passes_over_an_account() {
    tracing::subscriber::set_global_default(Statements).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let (db, pool) = connect(folder.path()).await;
    let merchant = store::transaction!(db, |tx| -> Result<merchants::Merchant, Error> {
        merchants::create(tx, "Example", MerchantStatus::Approved, "{}").await
    })
    .unwrap();
    let scope = Scope {
        merchant_id: merchant.id,
        sandbox: true,
    };
    let flow_id = fill(&db, scope, 4_000).await;
    ask_everything(&db, &pool, scope, flow_id).await;
    // An operator may have run it.
    sqlx::query("analyze").execute(&pool).await.unwrap();
    db.close().await;
    pool.close().await;
    let (db, pool) = connect(folder.path()).await;
    ask_everything(&db, &pool, scope, flow_id).await;
}
