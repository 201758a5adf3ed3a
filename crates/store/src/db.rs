//! The database behind its two native pools: connecting, migrating, and taking connections for reading and writing,
//! and the macro that composes functions into one transaction. It knows no table but the migrations' lock and the row that checks writes.

use std::str::FromStr;
use std::sync::Arc;

use sqlx::pool::PoolOptions;
use sqlx::postgres::PgConnectOptions;
use sqlx::sqlite::SqliteSynchronous;
use sqlx::{PgPool, Postgres};

use crate::conn::{Conn, Handle, Tx};
use crate::error::Error;
use crate::keyring::Keyring;
use crate::migrations;
use crate::options::Options;
use crate::sql::{checked, execute, fetch};
use crate::sqlite::{self, SqliteFile};

/// Milliseconds since 1970 UTC.
type Clock = Arc<dyn Fn() -> i64 + Send + Sync>;

/// The database, shared by cloning.
#[derive(Clone)]
pub struct Db {
    pools: Pools,
    part: Part,
    keyring: Arc<Keyring>,
    clock: Clock,
}

/// What a transaction's commit is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// It survives a power cut.
    Durable,
    /// The newest of it may be lost.
    Traffic,
}

#[derive(Clone)]
enum Pools {
    Sqlite {
        main: Box<SqliteFile>,
        traffic: Box<SqliteFile>,
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
            let file = sqlite::options(url)?;
            let beside = file.clone().filename(sqlite::traffic_file(file.get_filename()));
            // A power cut must lose nothing that was acknowledged: every commit syncs the log. Of the traffic it may.
            let main = Box::new(SqliteFile::open(file, SqliteSynchronous::Full, options).await?);
            let traffic = Box::new(SqliteFile::open(beside, SqliteSynchronous::Normal, options).await?);
            Pools::Sqlite { main, traffic }
        } else {
            connect_server(url, options).await?
        };
        let db = Self::of(pools, keyring);
        if !db.is_postgres() {
            db.migrate().await?;
        }
        Ok(db)
    }

    /// Connects to a database that exists: creates no file and changes no schema. `None`: there is no SQLite file.
    ///
    /// # Errors
    /// [`Error::Config`] for another kind of address; [`Error::Unavailable`].
    pub async fn connect_existing(
        url: &str,
        keyring: Arc<Keyring>,
        options: &Options,
    ) -> Result<Option<Self>, Error> {
        let pools = if url.starts_with("sqlite:") {
            let file = sqlite::options(url)?;
            if !file.get_filename().exists() {
                return Ok(None);
            }
            let main = Box::new(SqliteFile::open_existing(file, options).await?);
            // The traffic may be missing, and is not looked at.
            Pools::Sqlite {
                traffic: main.clone(),
                main,
            }
        } else {
            connect_server(url, options).await?
        };
        Ok(Some(Self::of(pools, keyring)))
    }

    fn of(pools: Pools, keyring: Arc<Keyring>) -> Self {
        Self {
            pools,
            part: Part::Durable,
            keyring,
            clock: Arc::new(now_ms),
        }
    }

    /// The same database with another keyring.
    #[must_use]
    pub fn with_keyring(self, keyring: Arc<Keyring>) -> Self {
        Self { keyring, ..self }
    }

    /// The same database with another clock (milliseconds since 1970 UTC): for tests of what expires.
    #[must_use]
    pub fn with_clock(mut self, clock: impl Fn() -> i64 + Send + Sync + 'static) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// The same database for traffic: rate limits and the API log, whose newest rows a power cut may take.
    /// Everything else belongs in the durable part, failed sign-ins above all. On SQLite this is a file of
    /// its own, so that what is not synced can never hold back or reorder what is; on PostgreSQL its commits
    /// do not wait for the disk.
    #[must_use]
    pub fn traffic(&self) -> Self {
        Self {
            part: Part::Traffic,
            ..self.clone()
        }
    }

    /// SQLite's file of this part.
    fn file<'a>(&self, main: &'a SqliteFile, traffic: &'a SqliteFile) -> &'a SqliteFile {
        match self.part {
            Part::Durable => main,
            Part::Traffic => traffic,
        }
    }

    /// The durable part's file on SQLite. PostgreSQL has its files elsewhere.
    #[must_use]
    pub fn path(&self) -> Option<&std::path::Path> {
        match &self.pools {
            Pools::Sqlite { main, .. } => Some(main.path()),
            Pools::Postgres(_) => None,
        }
    }

    /// Of the keyring that this process works with: see [`Keyring::fingerprint`].
    #[must_use]
    pub fn key_fingerprint(&self) -> String {
        self.keyring.fingerprint()
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
            Pools::Sqlite { main, traffic } => {
                Handle::Sqlite(self.file(main, traffic).readers().acquire().await?)
            }
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
            Pools::Sqlite { main, traffic } => Handle::SqliteTx(self.file(main, traffic).begin().await?),
            Pools::Postgres(pool) => {
                let mut tx = pool.begin().await?;
                if self.part == Part::Traffic {
                    sqlx::query("set local synchronous_commit = off")
                        .execute(&mut *tx)
                        .await?;
                }
                Handle::PostgresTx(tx)
            }
        };
        Ok(Tx::new(self.conn(handle)))
    }

    fn conn(&self, handle: Handle) -> Conn {
        Conn::new(handle, self.keyring.clone(), (self.clock)())
    }

    /// Brings the schema up to date, in one transaction, under a lock row of ours (advisory locks are not to be had
    /// behind every pooler or on every PostgreSQL-like database). Several nodes may call it at once.
    ///
    /// # Errors
    /// [`Error::Migration`] when a migration fails or an applied one was changed; [`Error::Unavailable`].
    pub async fn migrate(&self) -> Result<(), Error> {
        match &self.pools {
            Pools::Sqlite { main, traffic } => {
                main.migrate(&migrations::SQLITE).await?;
                traffic.migrate(&migrations::TRAFFIC).await?;
                traffic.take_over_api_log(main).await?;
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
                migrations::run(&migrations::POSTGRES, &mut *tx).await?;
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

    /// A cheap question that only a working database answers: for readiness checks.
    ///
    /// # Errors
    /// [`Error::Unavailable`] or [`Error::Database`].
    pub async fn ping(&self) -> Result<(), Error> {
        let mut conn = self.read().await?;
        fetch!(one, &mut conn, installation, (i64,), "select cast(1 as bigint)").map(|_| ())
    }

    /// Writes a row and deletes it: whether the database takes writes now, for readiness checks.
    ///
    /// # Errors
    /// [`Error::DatabaseFull`]; [`Error::Unavailable`] when its disk cannot be written; [`Error::Database`].
    pub async fn check_writes(&self) -> Result<(), Error> {
        let id = uuid::Uuid::new_v4();
        crate::transaction!(self, |tx| -> Result<(), Error> {
            let now = tx.now();
            execute!(
                tx,
                installation,
                "insert into write_checks (id, at) values ($1, $2)",
                id,
                now
            )?;
            execute!(tx, installation, "delete from write_checks where id = $1", id).map(|_| ())
        })
    }

    /// The bytes that the database takes on its disk, where it tells.
    ///
    /// # Errors
    /// [`Error::Unavailable`] or [`Error::Database`].
    pub async fn size(&self) -> Result<i64, Error> {
        let mut conn = self.read().await?;
        let sql = if self.is_postgres() {
            checked!(installation, "select pg_database_size(current_database())")
        } else {
            checked!(
                installation,
                "select page_count * page_size from pragma_page_count(), pragma_page_size()"
            )
        };
        fetch!(one, &mut conn, installation, (i64,), checked(sql)).map(|(bytes,)| bytes)
    }

    /// Moves everything from SQLite's write-ahead log into the database file and empties the log, so that no deleted
    /// value remains in it. Call it after an erasure. PostgreSQL manages its own log, so there it does nothing.
    ///
    /// # Errors
    /// [`Error::Unavailable`] when a reader keeps the log in use for longer than the acquire timeout.
    pub async fn truncate_wal(&self) -> Result<(), Error> {
        match &self.pools {
            Pools::Sqlite { main, traffic } => {
                main.truncate_wal().await?;
                traffic.truncate_wal().await
            }
            Pools::Postgres(_) => Ok(()),
        }
    }

    /// Waits for the connections in use and closes all.
    pub async fn close(&self) {
        match &self.pools {
            Pools::Sqlite { main, traffic } => {
                main.close().await;
                traffic.close().await;
            }
            Pools::Postgres(pool) => pool.close().await,
        }
    }
}

fn now_ms() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}

async fn connect_server(url: &str, options: &Options) -> Result<Pools, Error> {
    if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
        return Err(Error::Config(
            "the database's address must begin with sqlite: or postgres://".into(),
        ));
    }
    let connect = PgConnectOptions::from_str(url)?.application_name("bonafide");
    let pool = PoolOptions::<Postgres>::new()
        .max_connections(options.max_connections)
        .acquire_timeout(options.acquire_timeout)
        .connect_with(connect)
        .await?;
    Ok(Pools::Postgres(pool))
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
