//! The durability of commits, the separation of the two files, and what remains of deleted values.

use std::num::NonZeroU32;
use std::time::Duration;

use store::api_log::{self, Filter};
use store::limits::{self, Bucket, Quota};
use store::{Error, Scope, merchants};
use uuid::Uuid;

use crate::bench::{Bench, START, connect};

fn log_of(bench: &Bench) -> Option<std::path::PathBuf> {
    let file = bench.url.strip_prefix("sqlite:")?;
    Some(format!("{file}-wal").into())
}

pub(crate) async fn the_log_is_emptied_on_demand(bench: Bench) {
    let merchant = bench.merchant().await;
    let mut reader = bench.read().await;
    merchants::get(&mut reader, merchant.id).await.unwrap().unwrap();
    bench.db.truncate_wal().await.unwrap();
    if let Some(log) = log_of(&bench) {
        assert_eq!(std::fs::metadata(log).unwrap().len(), 0);
    }
    assert!(merchants::get(&mut reader, merchant.id).await.unwrap().is_some());
    bench.merchant().await;
}

pub(crate) async fn writes_are_checked_without_a_trace(bench: Bench) {
    for _ in 0..3 {
        bench.db.check_writes().await.unwrap();
    }
    assert_eq!(bench.count("select count(*) from write_checks").await, 0);
}

pub(crate) async fn traffic_and_the_rest_are_apart(bench: Bench) {
    let quota = Quota {
        limit: NonZeroU32::MIN,
        per: Duration::from_secs(60),
    };
    let take = |db: store::Db| async move {
        let bucket = Bucket {
            merchant_id: Uuid::nil(),
            name: "n",
        };
        let verdict = store::transaction!(db, |tx| -> Result<limits::RateLimitResult, Error> {
            limits::take(tx, bucket, quota).await
        });
        verdict.unwrap().allowed
    };
    assert!(take(bench.db.traffic()).await);
    assert!(!take(bench.db.traffic()).await);
    // SQLite has two files; PostgreSQL has one table for both.
    assert_eq!(take(bench.db.clone()).await, !bench.db.is_postgres());
}

pub(crate) async fn transactions_that_come_together_are_all_kept(bench: Bench) {
    let tasks: Vec<_> = (0..100)
        .map(|number| {
            let db = bench.db.clone();
            tokio::spawn(async move {
                store::transaction!(db, |tx| -> Result<(), Error> {
                    let status = merchants::MerchantStatus::Draft;
                    merchants::create(tx, &format!("{number}"), status, "{}").await?;
                    if number % 3 == 0 {
                        return Err(Error::LimitReached);
                    }
                    Ok(())
                })
            })
        })
        .collect();
    let mut kept = 0;
    for (number, task) in tasks.into_iter().enumerate() {
        let result = task.await.unwrap();
        assert_eq!(result.is_ok(), number % 3 != 0, "{number}: {result:?}");
        kept += i64::from(result.is_ok());
    }
    assert_eq!(bench.count("select count(*) from merchants").await, kept);
}

pub(crate) async fn a_cancelled_transaction_takes_no_other_with_it(bench: Bench) {
    let tasks: Vec<_> = (0..60)
        .map(|number| {
            let db = bench.db.clone();
            tokio::spawn(async move {
                let mut tx = db.begin().await.unwrap();
                let status = merchants::MerchantStatus::Draft;
                let made = merchants::create(&mut tx, "x", status, "{}");
                if number % 3 == 0 {
                    // The transaction is dropped during its first statement or before the second.
                    let _ = tokio::time::timeout(Duration::from_micros(number * 10), made).await;
                    return None;
                }
                let made = made.await.unwrap();
                tx.commit().await.unwrap();
                Some(made.id)
            })
        })
        .collect();
    let mut kept = 0;
    for task in tasks {
        let Some(id) = task.await.unwrap() else { continue };
        assert!(
            merchants::get(&mut bench.read().await, id)
                .await
                .unwrap()
                .is_some()
        );
        kept += 1;
    }
    assert_eq!(bench.count("select count(*) from merchants").await, kept);
}

pub(crate) async fn a_stopping_database_is_unavailable(bench: Bench) {
    if !bench.db.is_postgres() {
        return;
    }
    let mut tx = bench.db.begin().await.unwrap();
    let status = merchants::MerchantStatus::Draft;
    merchants::create(&mut tx, "before", status, "{}").await.unwrap();
    // `pg_ctl stop -m fast` does this with every session.
    bench
        .sql("select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = 'bonafide'")
        .await;
    let stopped = merchants::create(&mut tx, "after", status, "{}").await;
    assert!(matches!(stopped, Err(Error::Unavailable(_))), "{stopped:?}");
}

#[tokio::test]
async fn the_api_log_of_an_earlier_version_moves_to_the_traffic() {
    let bench = Bench::sqlite().await;
    let merchant_id = bench.merchant().await.id;
    let insert = format!(
        "insert into api_log (merchant_id, sandbox, id, request_id, at, method, route, status, ms, key, exchange_sealed)
         select id, 1, randomblob(16), 'r', {START}, 'GET', '/groups', 200, 1, 'k', x'00' from merchants"
    );
    bench.db.close().await;
    bench.sql(&insert).await;
    let db = connect(&bench.url, bench.folder.path()).await;
    let scope = Scope {
        merchant_id,
        sandbox: true,
    };
    let any = Filter::default();
    let found = api_log::list(&mut db.traffic().read().await.unwrap(), scope, any, 10).await;
    assert_eq!(found.unwrap().len(), 1);
    assert_eq!(bench.count("select count(*) from api_log").await, 0);
}

#[tokio::test]
async fn the_traffic_has_the_tables_of_the_rest() {
    let bench = Bench::sqlite().await;
    let file = bench.url.strip_prefix("sqlite:").unwrap();
    let traffic = file.replace("test.db", "test.traffic.db");
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(file);
    let mut conn = sqlx::ConnectOptions::connect(&options).await.unwrap();
    sqlx::query("attach database $1 as traffic")
        .bind(traffic)
        .execute(&mut conn)
        .await
        .unwrap();
    let schema = async |database: &str, conn: &mut sqlx::SqliteConnection| {
        let sql = format!(
            "select m.name || coalesce(c.name || c.type || c.\"notnull\" || c.pk, '') from {database}.sqlite_master m
                 left join pragma_table_info(m.name, '{database}') c
                 where m.tbl_name in ('api_log', 'rate_limits') order by 1"
        );
        let rows = sqlx::query_scalar::<_, String>(sqlx::AssertSqlSafe(sql))
            .fetch_all(conn)
            .await;
        rows.unwrap()
    };
    let main = schema("main", &mut conn).await;
    assert!(main.len() > 20, "{main:?}");
    assert_eq!(main, schema("traffic", &mut conn).await);
}
