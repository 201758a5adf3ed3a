//! Migrations and transactions.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use store::{Error, Schema, Scope, merchants};
use uuid::Uuid;

use crate::bench::{Bench, connect};

#[test]
fn both_schemas_are_one() {
    let folder = |name: &str| {
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("migrations")
            .join(name)
    };
    let names = |kind: &str| {
        let mut names: Vec<_> = fs::read_dir(folder(kind))
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        names.sort();
        names
    };
    assert_eq!(names("postgres"), names("sqlite"));
    for name in names("postgres") {
        let read = |kind: &str| fs::read_to_string(folder(kind).join(&name)).unwrap();
        same_but_for_types(&read("postgres"), &read("sqlite"));
    }
}

fn same_but_for_types(postgres: &str, sqlite: &str) {
    let statements = |text: &str| {
        let lines = text.lines().filter(|line| !line.trim_start().starts_with("--"));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    let translate = |line: String| {
        let words = line
            .split(' ')
            .map(|word| match word.trim_end_matches([',', ';']) {
                "uuid" | "bytea" => word.replace("uuid", "blob").replace("bytea", "blob"),
                "bigint" | "boolean" => word.replace("bigint", "integer").replace("boolean", "integer"),
                ")" if line == ");" => ") strict;".to_owned(),
                _ => word.to_owned(),
            });
        words.collect::<Vec<_>>().join(" ")
    };
    let translated: Vec<String> = statements(postgres).into_iter().map(translate).collect();
    pretty_equal(&translated, &statements(sqlite));
}

fn pretty_equal(expected: &[String], found: &[String]) {
    for (expected, found) in expected.iter().zip(found) {
        assert_eq!(expected, found);
    }
    assert_eq!(expected.len(), found.len());
}

pub(crate) async fn migrating_twice_changes_nothing(bench: Bench) {
    let merchant = bench.merchant().await;
    bench.db.migrate().await.unwrap();
    bench.db.migrate_if_empty().await.unwrap();
    bench.db.check_schema().await.unwrap();
    bench.db.ping().await.unwrap();
    assert!(
        merchants::get(&mut bench.read().await, merchant.id)
            .await
            .unwrap()
            .is_some()
    );
    bench
        .sql("update _sqlx_migrations set version = version + 1000")
        .await;
    assert!(matches!(bench.db.check_schema().await, Err(Error::Schema)));
    assert!(matches!(bench.db.migrate_if_empty().await, Err(Error::Schema)));
    assert!(
        matches!(bench.db.migrate().await, Err(Error::Migration(_))),
        "another version's schema is left alone"
    );
}

/// The first migration that states what it breaks.
const FIRST_STATED: u32 = 63;

#[test]
fn a_migration_states_what_earlier_versions_cannot_live_with() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations/postgres");
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let sql = fs::read_to_string(&path).unwrap();
        let stated = sql.contains("update schema_compatibility");
        if name[..4].parse::<u32>().unwrap() >= FIRST_STATED {
            assert!(
                stated || !breaks_earlier_programs(&sql),
                "{name} must update schema_compatibility"
            );
        }
    }
    for (sql, breaks) in [
        ("-- drop table a\nalter table a add column b bigint;", false),
        ("alter table a add column b bigint not null default 0;", false),
        ("drop index a_by_b;\ncreate index a_by_b on a (b);", false),
        ("alter table a add column b bigint not null;", true),
        ("alter table a drop column b;", true),
        ("drop table a;", true),
        ("alter table a rename to b;", true),
        ("alter table a alter column b set not null;", true),
        ("alter table a add constraint c unique (b);", true),
    ] {
        assert_eq!(breaks_earlier_programs(sql), breaks, "{sql}");
    }
}

/// Whether a program that does not know a migration could fail after it.
fn breaks_earlier_programs(sql: &str) -> bool {
    let lines = sql.lines().filter(|line| !line.trim_start().starts_with("--"));
    let text = lines.collect::<Vec<_>>().join(" ");
    text.split(';').any(|statement| {
        let has = |word: &str| statement.contains(word);
        let needs_value = has("add column") && has("not null") && !has("default");
        needs_value
            || [
                "drop table",
                "drop column",
                "rename",
                "alter column",
                "add constraint",
                "create unique index",
            ]
            .into_iter()
            .any(has)
    })
}

pub(crate) async fn a_neighbouring_version_s_schema_is_served(bench: Bench) {
    let later = "insert into _sqlx_migrations (version, description, installed_on, success, checksum, execution_time)
        select version + 1000, description, installed_on, success, checksum, execution_time from _sqlx_migrations
        order by version desc limit 1";
    bench.sql(later).await;
    assert_eq!(bench.db.check_schema().await.unwrap(), Schema::Newer);
    bench.db.migrate_if_empty().await.unwrap();
    assert!(
        matches!(bench.db.migrate().await, Err(Error::Migration(_))),
        "an earlier version migrates nothing"
    );
    bench.sql("update schema_compatibility set oldest = 1062").await;
    assert!(matches!(bench.db.check_schema().await, Err(Error::Schema)));
    bench.sql("delete from schema_compatibility").await;
    assert!(matches!(bench.db.check_schema().await, Err(Error::Schema)));
}

pub(crate) async fn several_nodes_may_migrate_at_once(bench: Bench) {
    if bench.db.is_postgres() {
        bench
            .sql("drop schema public cascade; create schema public")
            .await;
        assert!(matches!(bench.db.check_schema().await, Err(Error::Schema)));
    }
    let tasks: Vec<_> = (0..8)
        .map(|_| {
            let folder = bench.folder.path().to_owned();
            let url = if bench.db.is_postgres() {
                bench.url.clone()
            } else {
                bench.url.replace("test.db", "new.db")
            };
            tokio::spawn(async move {
                let db = connect(&url, &folder).await;
                db.migrate().await.unwrap();
                db.check_schema().await.unwrap();
                db.close().await;
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
}

pub(crate) async fn an_aborted_transaction_leaves_nothing(bench: Bench) {
    let scope = Scope {
        merchant_id: bench.merchant().await.id,
        sandbox: true,
    };
    let failed = store::transaction!(bench.db, |tx| -> Result<(), Error> {
        merchants::set_settings(tx, scope.merchant_id, "{\"changed\":true}").await?;
        Err(Error::LimitReached)
    });
    assert!(matches!(failed, Err(Error::LimitReached)));
    // A request whose client disconnects is dropped during its transaction.
    let db = bench.db.clone();
    let (written, is_written) = tokio::sync::oneshot::channel();
    let dropped = tokio::spawn(async move {
        let mut tx = db.begin().await.unwrap();
        merchants::set_settings(&mut tx, scope.merchant_id, "{\"changed\":true}")
            .await
            .unwrap();
        written.send(()).unwrap();
        std::future::pending::<()>().await;
    });
    is_written.await.unwrap();
    dropped.abort();
    let merchant = merchants::get(&mut bench.read().await, scope.merchant_id)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(merchant.settings, "{}");
    store::transaction!(bench.db, |tx| -> Result<bool, Error> {
        merchants::set_settings(tx, scope.merchant_id, "{\"after\":true}").await
    })
    .expect("the writer is free again");
    let refused = merchants::get(&mut bench.read().await, Uuid::new_v4())
        .await
        .unwrap();
    assert_eq!(refused, None);
}

pub(crate) async fn what_cannot_be_serialised_runs_again(bench: Bench) {
    // Two transactions lock two rows in opposite orders, each its second row when both have their first.
    // PostgreSQL resolves the deadlock by failing one of them. SQLite runs one after the other.
    let is_postgres = bench.db.is_postgres();
    let both_have_one = Arc::new(tokio::sync::Barrier::new(2));
    let (a, b) = (bench.merchant().await.id, bench.merchant().await.id);
    let runs = Arc::new(AtomicU32::new(0));
    let tasks: Vec<_> = [(a, b), (b, a)]
        .map(|(first, second)| {
            let (db, runs, both_have_one) = (bench.db.clone(), runs.clone(), both_have_one.clone());
            tokio::spawn(async move {
                store::transaction!(db, |tx| -> Result<(), Error> {
                    let run = runs.fetch_add(1, Ordering::SeqCst);
                    merchants::set_settings(tx, first, "{\"done\":true}").await?;
                    if is_postgres && run < 2 {
                        both_have_one.wait().await;
                    }
                    merchants::set_settings(tx, second, "{\"done\":true}").await?;
                    Ok(())
                })
                .unwrap();
            })
        })
        .into();
    for task in tasks {
        task.await.unwrap();
    }
    let expected = if is_postgres { 3 } else { 2 };
    assert_eq!(runs.load(Ordering::SeqCst), expected);
}
