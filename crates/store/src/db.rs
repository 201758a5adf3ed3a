//! The database behind its two native pools: connecting, migrating, reading, writing, and the macros that let one SQL
//! text with `$1` binds serve both. It knows no table but the migrations' lock.

use std::ops::{ControlFlow, Deref, DerefMut};
use std::str::FromStr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sqlx::migrate::{Migrate, MigrateError, Migrator};
use sqlx::pool::{PoolConnection, PoolOptions};
use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqliteSynchronous};
use sqlx::{PgPool, Postgres, Sqlite, SqlitePool, Transaction};

use crate::error::{Error, is_busy, is_serialization_failure};
use crate::keyring::Keyring;

static SQLITE_MIGRATIONS: Migrator = sqlx::migrate!("migrations/sqlite");
static POSTGRES_MIGRATIONS: Migrator = sqlx::migrate!("migrations/postgres");

/// How often a transaction is run again when the database cannot serialise it.
const MAX_TRIES: u32 = 8;

/// How to connect.
#[derive(Clone, Debug)]
pub struct Options {
    /// Connections kept at most (on SQLite: readers; there is one writer besides).
    pub max_connections: u32,
    /// How long to wait for a free connection before [`Error::Unavailable`].
    pub acquire_timeout: Duration,
    /// SQLite: how long to wait for another process's write lock.
    pub busy_timeout: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            max_connections: 16,
            acquire_timeout: Duration::from_secs(10),
            busy_timeout: Duration::from_secs(10),
        }
    }
}

/// Milliseconds since 1970 UTC.
type Clock = Arc<dyn Fn() -> i64 + Send + Sync>;

/// The database, shared by cloning.
#[derive(Clone)]
pub struct Db {
    pools: Pools,
    keyring: Arc<Keyring>,
    clock: Clock,
}

#[derive(Clone)]
enum Pools {
    /// SQLite has one writer at a time: a pool of one makes waiting for it a fair queue instead of polling.
    Sqlite {
        readers: SqlitePool,
        writer: SqlitePool,
    },
    Postgres(PgPool),
}

impl std::fmt::Debug for Db {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.is_postgres() {
            "Db::Postgres"
        } else {
            "Db::Sqlite"
        })
    }
}

impl Db {
    /// Connects to `sqlite:PATH` or `postgres://…`. A SQLite database is created where missing and brought up to
    /// date; on PostgreSQL [`Db::migrate`] is an explicit step.
    ///
    /// # Errors
    /// [`Error::Config`] for another kind of address; [`Error::Unavailable`]; SQLite: [`Error::Migration`].
    pub async fn connect(url: &str, keyring: Arc<Keyring>, options: &Options) -> Result<Self, Error> {
        let pools = if url.starts_with("sqlite:") {
            connect_sqlite(url, options).await?
        } else if url.starts_with("postgres://") || url.starts_with("postgresql://") {
            connect_postgres(url, options).await?
        } else {
            return Err(Error::Config(
                "the database's address must begin with sqlite: or postgres://".into(),
            ));
        };
        let db = Self {
            pools,
            keyring,
            clock: Arc::new(now_ms),
        };
        if !db.is_postgres() {
            db.migrate().await?;
        }
        Ok(db)
    }

    /// The same database with another clock (milliseconds since 1970 UTC): for tests of what expires.
    #[must_use]
    pub fn with_clock(mut self, clock: impl Fn() -> i64 + Send + Sync + 'static) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// Whether this is PostgreSQL (else SQLite).
    #[must_use]
    pub fn is_postgres(&self) -> bool {
        matches!(self.pools, Pools::Postgres(_))
    }

    /// A connection for reading. Each statement sees one state; SQLite refuses to write through it.
    ///
    /// # Errors
    /// [`Error::Unavailable`] when none is free in time.
    pub async fn read(&self) -> Result<Conn, Error> {
        let handle = match &self.pools {
            Pools::Sqlite { readers, .. } => Handle::Sqlite(readers.acquire().await?),
            Pools::Postgres(pool) => Handle::Postgres(pool.acquire().await?),
        };
        Ok(self.conn(handle))
    }

    /// Begins a transaction for writing (SQLite: `begin immediate`). Dropping it rolls it back. Prefer
    /// [`transaction!`](crate::transaction), which also runs again what the database could not serialise.
    ///
    /// # Errors
    /// [`Error::Unavailable`] when no connection, or SQLite's write lock, is free in time.
    pub async fn begin(&self) -> Result<Tx, Error> {
        let handle = match &self.pools {
            Pools::Sqlite { writer, .. } => Handle::SqliteTx(writer.begin_with("begin immediate").await?),
            Pools::Postgres(pool) => Handle::PostgresTx(pool.begin().await?),
        };
        Ok(Tx(self.conn(handle)))
    }

    fn conn(&self, handle: Handle) -> Conn {
        Conn {
            handle,
            keyring: self.keyring.clone(),
            now: (self.clock)(),
            unserializable: false,
        }
    }

    /// Brings the schema up to date, in one transaction, under a lock row of ours (advisory locks are not to be had
    /// behind every pooler or on every PostgreSQL-like database). Several nodes may call it at once.
    ///
    /// # Errors
    /// [`Error::Migration`] when a migration fails or an applied one was changed; [`Error::Unavailable`].
    pub async fn migrate(&self) -> Result<(), Error> {
        match &self.pools {
            Pools::Sqlite { writer, .. } => {
                let mut tx = writer.begin_with("begin immediate").await?;
                run_migrations(&SQLITE_MIGRATIONS, &mut *tx).await?;
                tx.commit().await?;
            }
            Pools::Postgres(pool) => {
                // Of sessions that race to create the table all but one may fail; by then it exists.
                let sql = "create table if not exists migration_lock (id bigint primary key)";
                if sqlx::raw_sql(sql).execute(pool).await.is_err() {
                    sqlx::raw_sql(sql).execute(pool).await?;
                }
                sqlx::query("insert into migration_lock (id) values (1) on conflict do nothing")
                    .execute(pool)
                    .await?;
                let mut tx = pool.begin().await?;
                sqlx::query("update migration_lock set id = 1 where id = 1")
                    .execute(&mut *tx)
                    .await?;
                run_migrations(&POSTGRES_MIGRATIONS, &mut *tx).await?;
                tx.commit().await?;
            }
        }
        Ok(())
    }

    /// [`Db::migrate`], but only where there is no schema at all: for throw-away databases and demonstrations.
    ///
    /// # Errors
    /// As [`Db::migrate`]; [`Error::Schema`] when the schema is there but not this version's.
    pub async fn migrate_if_empty(&self) -> Result<(), Error> {
        if self.applied_migrations().await?.is_empty() {
            return self.migrate().await;
        }
        self.check_schema().await
    }

    /// Whether the schema is this version's: to be asked before serving.
    ///
    /// # Errors
    /// [`Error::Schema`] when it is not; [`Error::Unavailable`].
    pub async fn check_schema(&self) -> Result<(), Error> {
        let known = if self.is_postgres() {
            &POSTGRES_MIGRATIONS
        } else {
            &SQLITE_MIGRATIONS
        };
        let known: Vec<i64> = known.iter().map(|migration| migration.version).collect();
        if self.applied_migrations().await? == known {
            Ok(())
        } else {
            Err(Error::Schema)
        }
    }

    async fn applied_migrations(&self) -> Result<Vec<i64>, Error> {
        let mut conn = self.read().await?;
        let (there,): (bool,) = if self.is_postgres() {
            fetch!(
                one,
                &mut conn,
                (bool,),
                "select to_regclass('_sqlx_migrations') is not null"
            )?
        } else {
            let sql = "select exists (select 1 from sqlite_master where name = '_sqlx_migrations')";
            fetch!(one, &mut conn, (bool,), sql)?
        };
        if !there {
            return Ok(Vec::new());
        }
        let sql = "select version from _sqlx_migrations where success order by version";
        Ok(fetch!(all, &mut conn, (i64,), sql)?
            .into_iter()
            .map(|(version,)| version)
            .collect())
    }

    /// A cheap question that only a working database answers: for readiness checks.
    ///
    /// # Errors
    /// [`Error::Unavailable`] or [`Error::Database`].
    pub async fn ping(&self) -> Result<(), Error> {
        let mut conn = self.read().await?;
        fetch!(one, &mut conn, (i64,), "select cast(1 as bigint)").map(|_| ())
    }

    /// The bytes that the database takes on its disk, where it tells.
    ///
    /// # Errors
    /// [`Error::Unavailable`] or [`Error::Database`].
    pub async fn size(&self) -> Result<i64, Error> {
        let mut conn = self.read().await?;
        let sql = if self.is_postgres() {
            "select pg_database_size(current_database())"
        } else {
            "select page_count * page_size from pragma_page_count(), pragma_page_size()"
        };
        fetch!(one, &mut conn, (i64,), sql).map(|(bytes,)| bytes)
    }

    /// Waits for the connections in use and closes all.
    pub async fn close(&self) {
        match &self.pools {
            Pools::Sqlite { readers, writer } => {
                readers.close().await;
                writer.close().await;
            }
            Pools::Postgres(pool) => pool.close().await,
        }
    }
}

fn now_ms() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}

/// Runs migrations without sqlx's own (advisory) lock.
async fn run_migrations<C: Migrate>(migrations: &Migrator, conn: &mut C) -> Result<(), MigrateError> {
    let mut unlocked = Migrator {
        migrations: migrations.migrations.clone(),
        ..Migrator::DEFAULT
    };
    unlocked.set_locking(false);
    // Not `run`: the compiler cannot see that its future is `Send`.
    unlocked.run_direct(None, conn, false).await
}

async fn connect_sqlite(url: &str, options: &Options) -> Result<Pools, Error> {
    let connect = SqliteConnectOptions::from_str(url)?
        .create_if_missing(true)
        .foreign_keys(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Normal)
        .busy_timeout(options.busy_timeout)
        // What is deleted is overwritten: erased means erased from the file too.
        .pragma("secure_delete", "on");
    let path = connect.get_filename();
    if url.contains(":memory:") || url.contains("mode=memory") || path.as_os_str().is_empty() {
        return Err(Error::Config(
            "SQLite needs a file: readers and writer are connections of their own".into(),
        ));
    }
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)
            .map_err(|error| Error::Config(format!("{}: {error}", folder.display())))?;
    }
    let pool = PoolOptions::<Sqlite>::new()
        .acquire_timeout(options.acquire_timeout)
        .test_before_acquire(false);
    // The writer first: it creates the file.
    let writer = open_sqlite(pool.clone().max_connections(1), connect.clone(), options).await?;
    let readers = pool.max_connections(options.max_connections);
    let readers = open_sqlite(readers, connect.pragma("query_only", "on"), options).await?;
    Ok(Pools::Sqlite { readers, writer })
}

/// Opens a pool. Switching a new file to WAL does not heed the busy timeout when another process does the same.
async fn open_sqlite(
    pool: PoolOptions<Sqlite>,
    connect: SqliteConnectOptions,
    options: &Options,
) -> Result<SqlitePool, Error> {
    let begun = Instant::now();
    loop {
        match pool.clone().connect_with(connect.clone()).await {
            Err(sqlx::Error::Database(error))
                if is_busy(error.as_ref()) && begun.elapsed() < options.busy_timeout =>
            {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            opened => return Ok(opened?),
        }
    }
}

async fn connect_postgres(url: &str, options: &Options) -> Result<Pools, Error> {
    let connect = PgConnectOptions::from_str(url)?.application_name("bonafide");
    let pool = PoolOptions::<Postgres>::new()
        .max_connections(options.max_connections)
        .acquire_timeout(options.acquire_timeout)
        .connect_with(connect)
        .await?;
    Ok(Pools::Postgres(pool))
}

/// A connection, as functions that only read take it. A [`Tx`] is one too.
pub struct Conn {
    handle: Handle,
    keyring: Arc<Keyring>,
    now: i64,
    unserializable: bool,
}

enum Handle {
    Sqlite(PoolConnection<Sqlite>),
    Postgres(PoolConnection<Postgres>),
    SqliteTx(Transaction<'static, Sqlite>),
    PostgresTx(Transaction<'static, Postgres>),
}

/// What the macros run statements on.
pub(crate) enum Raw<'c> {
    Sqlite(&'c mut SqliteConnection),
    Postgres(&'c mut PgConnection),
}

impl Conn {
    /// When this connection was taken or this transaction began, in milliseconds since 1970 UTC: all it writes bears
    /// this one time.
    #[must_use]
    pub fn now(&self) -> i64 {
        self.now
    }

    pub(crate) fn is_postgres(&self) -> bool {
        matches!(self.handle, Handle::Postgres(_) | Handle::PostgresTx(_))
    }

    pub(crate) fn keyring(&self) -> &Arc<Keyring> {
        &self.keyring
    }

    pub(crate) fn raw(&mut self) -> Raw<'_> {
        match &mut self.handle {
            Handle::Sqlite(conn) => Raw::Sqlite(conn),
            Handle::Postgres(conn) => Raw::Postgres(conn),
            Handle::SqliteTx(tx) => Raw::Sqlite(tx),
            Handle::PostgresTx(tx) => Raw::Postgres(tx),
        }
    }

    /// Types a statement's error and remembers whether the transaction is worth another try.
    pub(crate) fn outcome<T>(&mut self, result: Result<T, sqlx::Error>) -> Result<T, Error> {
        result.map_err(|error| {
            self.unserializable |= is_serialization_failure(&error);
            Error::from(error)
        })
    }
}

/// A transaction, as functions that write take it.
pub struct Tx(Conn);

impl Deref for Tx {
    type Target = Conn;
    fn deref(&self) -> &Conn {
        &self.0
    }
}

impl DerefMut for Tx {
    fn deref_mut(&mut self) -> &mut Conn {
        &mut self.0
    }
}

impl Tx {
    /// Makes it so.
    ///
    /// # Errors
    /// [`Error::Database`] when the database could not serialise it; [`Error::Unavailable`].
    pub async fn commit(self) -> Result<(), Error> {
        Ok(self.commit_raw().await?)
    }

    async fn commit_raw(self) -> Result<(), sqlx::Error> {
        match self.0.handle {
            Handle::SqliteTx(tx) => tx.commit().await,
            Handle::PostgresTx(tx) => tx.commit().await,
            Handle::Sqlite(_) | Handle::Postgres(_) => Ok(()),
        }
    }

    /// Ends one try of [`transaction!`](crate::transaction): commits or rolls back; `Continue` asks for another try.
    #[doc(hidden)]
    pub async fn finish<T, E: From<Error>>(
        self,
        result: Result<T, E>,
        tries: &mut u32,
    ) -> ControlFlow<Result<T, E>> {
        *tries += 1;
        let (result, again) = match result {
            Ok(value) => match self.commit_raw().await {
                Ok(()) => (Ok(value), false),
                Err(error) => {
                    let again = is_serialization_failure(&error);
                    (Err(E::from(Error::from(error))), again)
                }
            },
            // Dropping `self` rolls back.
            Err(error) => (Err(error), self.unserializable),
        };
        if !again || *tries >= MAX_TRIES {
            return ControlFlow::Break(result);
        }
        let pause = rand::random_range(1..=4_u64 << *tries);
        tokio::time::sleep(Duration::from_millis(pause)).await;
        ControlFlow::Continue(())
    }
}

/// Runs a block as one transaction, and again from its start when the database could not serialise it (so the block
/// must not change anything but the database). An `Err` rolls back. The type after the arrow is the block's. See the
/// crate's documentation for an example.
#[macro_export]
macro_rules! transaction {
    ($db:expr, |$tx:ident| -> Result<$ok:ty, $err:ty> $body:block) => {{
        let db: &$crate::Db = &$db;
        let mut tries = 0_u32;
        loop {
            let mut handle = match db.begin().await {
                Ok(handle) => handle,
                Err(error) => break Err(<$err>::from(error)),
            };
            let result: Result<$ok, $err> = {
                let $tx = &mut handle;
                async { $body }.await
            };
            match handle.finish(result, &mut tries).await {
                ::std::ops::ControlFlow::Break(result) => break result,
                ::std::ops::ControlFlow::Continue(()) => {}
            }
        }
    }};
}

/// `execute!(conn, "sql", binds…)` runs a statement on whichever database it is and answers the number of rows it
/// touched.
macro_rules! execute {
    ($conn:expr, $sql:expr $(, $bind:expr)* $(,)?) => {{
        let conn: &mut $crate::Conn = $conn;
        let result = match conn.raw() {
            $crate::db::Raw::Sqlite(raw) => {
                sqlx::query($sql)$(.bind($bind))*.execute(raw).await.map(|done| done.rows_affected())
            }
            $crate::db::Raw::Postgres(raw) => {
                sqlx::query($sql)$(.bind($bind))*.execute(raw).await.map(|done| done.rows_affected())
            }
        };
        conn.outcome(result)
    }};
}

/// `fetch!(one | optional | all, conn, Type, "sql", binds…)` runs a statement and maps its rows to a type that derives
/// `sqlx::FromRow`, or to a tuple.
macro_rules! fetch {
    (one, $($rest:tt)*) => { fetch!(@ fetch_one, $($rest)*) };
    (optional, $($rest:tt)*) => { fetch!(@ fetch_optional, $($rest)*) };
    (all, $($rest:tt)*) => { fetch!(@ fetch_all, $($rest)*) };
    (@ $fetch:ident, $conn:expr, $row:ty, $sql:expr $(, $bind:expr)* $(,)?) => {{
        let conn: &mut $crate::Conn = $conn;
        let result = match conn.raw() {
            $crate::db::Raw::Sqlite(raw) => {
                sqlx::query_as::<_, $row>($sql)$(.bind($bind))*.$fetch(raw).await
            }
            $crate::db::Raw::Postgres(raw) => {
                sqlx::query_as::<_, $row>($sql)$(.bind($bind))*.$fetch(raw).await
            }
        };
        conn.outcome(result)
    }};
}

pub(crate) use {execute, fetch};
