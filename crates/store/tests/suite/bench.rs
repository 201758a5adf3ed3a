//! The environment of a test: an empty database, a keyring, a clock that the test sets, and two merchants.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use sqlx::AssertSqlSafe;
use store::merchants::{self, Merchant, MerchantStatus};
use store::{Conn, Db, Error, Keyring, Options, Scope};
use tempfile::TempDir;
use uuid::Uuid;

pub(crate) const START: i64 = 1_800_000_000_000;

pub(crate) struct Bench {
    pub(crate) db: Db,
    pub(crate) url: String,
    pub(crate) folder: TempDir,
    clock: Arc<AtomicI64>,
}

pub(crate) fn options() -> Options {
    Options {
        max_connections: 20,
        acquire_timeout: Duration::from_secs(60),
        busy_timeout: Duration::from_secs(60),
    }
}

impl Bench {
    pub(crate) async fn sqlite() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}/data/test.db", folder.path().display());
        Self::new(folder, url).await
    }

    pub(crate) async fn postgres() -> Self {
        let server = std::env::var("BONAFIDE_TEST_POSTGRES")
            .expect("this test needs PostgreSQL: run it through scripts/with-postgres");
        let name = format!("it_{}_{}", std::process::id(), Uuid::new_v4().simple());
        let admin = sqlx::PgPool::connect(&server).await.unwrap();
        sqlx::raw_sql(AssertSqlSafe(format!("create database {name}")))
            .execute(&admin)
            .await
            .unwrap();
        admin.close().await;
        let (base, _) = server.rsplit_once('/').unwrap();
        Self::new(tempfile::tempdir().unwrap(), format!("{base}/{name}")).await
    }

    async fn new(folder: TempDir, url: String) -> Self {
        let clock = Arc::new(AtomicI64::new(START));
        let bench = Self {
            db: connect(&url, folder.path()).await,
            url,
            folder,
            clock,
        };
        bench.db.migrate_if_empty().await.unwrap();
        let clock = bench.clock.clone();
        Self {
            db: bench.db.with_clock(move || clock.load(Ordering::SeqCst)),
            ..bench
        }
    }

    pub(crate) fn pass(&self, time: Duration) {
        self.clock
            .fetch_add(time.as_millis().try_into().unwrap(), Ordering::SeqCst);
    }

    pub(crate) async fn read(&self) -> Conn {
        self.db.read().await.unwrap()
    }

    /// An approved merchant.
    pub(crate) async fn merchant(&self) -> Merchant {
        store::transaction!(self.db, |tx| -> Result<Merchant, Error> {
            merchants::create(tx, "Example", MerchantStatus::Approved, "{}").await
        })
        .unwrap()
    }

    /// An approved merchant's sandbox.
    pub(crate) async fn scope(&self) -> Scope {
        Scope {
            merchant_id: self.merchant().await.id,
            sandbox: true,
        }
    }

    /// Runs SQL directly on the database.
    pub(crate) async fn sql(&self, sql: &str) {
        let sql = AssertSqlSafe(sql.to_owned());
        if self.db.is_postgres() {
            let pool = sqlx::PgPool::connect(&self.url).await.unwrap();
            sqlx::raw_sql(sql).execute(&pool).await.unwrap();
            pool.close().await;
        } else {
            let pool = sqlx::SqlitePool::connect(&self.url).await.unwrap();
            sqlx::raw_sql(sql).execute(&pool).await.unwrap();
            pool.close().await;
        }
    }

    /// Queries a number directly from the database.
    pub(crate) async fn count(&self, sql: &str) -> i64 {
        let sql = AssertSqlSafe(sql.to_owned());
        if self.db.is_postgres() {
            let pool = sqlx::PgPool::connect(&self.url).await.unwrap();
            sqlx::query_scalar(sql).fetch_one(&pool).await.unwrap()
        } else {
            let pool = sqlx::SqlitePool::connect(&self.url).await.unwrap();
            sqlx::query_scalar(sql).fetch_one(&pool).await.unwrap()
        }
    }
}

/// Connects with the keyring in the folder and the real clock.
pub(crate) async fn connect(url: &str, folder: &std::path::Path) -> Db {
    let (keyring, _) = Keyring::open_or_create(&folder.join("keyring.json")).unwrap();
    Db::connect(url, Arc::new(keyring), &options()).await.unwrap()
}
