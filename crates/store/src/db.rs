//! The database with its connection pools: connecting, migrating, and connections for reading and writing.
//! The macro [`transaction!`](crate::transaction) runs a block as one transaction. This module knows only the
//! tables for the migration lock and for write checks.

use std::str::FromStr;
use std::sync::Arc;

use sqlx::pool::PoolOptions;
use sqlx::postgres::PgConnectOptions;
use sqlx::sqlite::SqliteSynchronous;
use sqlx::{PgPool, Postgres, Transaction};

use crate::clock::DatabaseClock;
use crate::conn::{Conn, Handle, Tx};
use crate::error::Error;
use crate::keyring::Keyring;
use crate::migrations;
use crate::options::Options;
use crate::sql::{checked, execute, fetch};
use crate::sqlite::{self, SqliteFile};

/// Returns milliseconds since 1970 UTC.
type Clock = Arc<dyn Fn() -> i64 + Send + Sync>;

/// The database. Clones share its connections.
#[derive(Clone)]
pub struct Db {
    pools: Pools,
    durability: Durability,
    keyring: Arc<Keyring>,
    clock: Clock,
    /// The clock of PostgreSQL, from which `clock` reads unless a test replaced it.
    shared: Arc<DatabaseClock>,
}

/// How durable a commit is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Durability {
    /// It survives a power cut.
    Durable,
    /// A power cut may lose the newest commits.
    Traffic,
}

#[derive(Clone)]
enum Pools {
    Sqlite {
        main: Box<SqliteFile>,
        traffic: Box<SqliteFile>,
    },
    Postgres(PgPool, Pooling),
}

/// Who decides on which of PostgreSQL's sessions a statement runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pooling {
    /// A connection is a session. Statements are prepared once for each connection.
    Session,
    /// A connection pooler runs each transaction on any session (PgBouncer's transaction mode). Every
    /// statement therefore runs in a transaction, where nothing that was prepared before exists. The
    /// address chooses this with `statement-cache-capacity=0`.
    Transaction,
}

/// The connections of a process to its database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connections {
    /// In use now.
    pub busy: u32,
    /// Open and free.
    pub idle: u32,
    /// The maximum.
    pub most: u32,
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
    /// Connects to `sqlite:PATH` or `postgres://…`. A missing SQLite database is created, and an older one is
    /// migrated. On PostgreSQL, [`Db::migrate`] is a separate step.
    ///
    /// # Errors
    /// [`Error::Config`] for another kind of address; [`Error::Unavailable`]; SQLite: [`Error::Migration`].
    pub async fn connect(url: &str, keyring: Arc<Keyring>, options: &Options) -> Result<Self, Error> {
        let pools = if url.starts_with("sqlite:") {
            let file = sqlite::options(url)?;
            let beside = file.clone().filename(sqlite::traffic_file(file.get_filename()));
            // After a power cut every acknowledged commit must be there, so each one syncs the log. The
            // traffic may lose some.
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

    /// Connects to an existing database without creating a file or changing the schema. `None` if the SQLite
    /// file does not exist.
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
            // The traffic file may be missing and is not opened.
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
        let shared = Arc::new(DatabaseClock::new(now_ms));
        let clock = Arc::clone(&shared);
        Self {
            pools,
            durability: Durability::Durable,
            keyring,
            clock: Arc::new(move || clock.now()),
            shared,
        }
    }

    /// The same database with a different keyring.
    #[must_use]
    pub fn with_keyring(self, keyring: Arc<Keyring>) -> Self {
        Self { keyring, ..self }
    }

    /// The same database with a different clock (milliseconds since 1970 UTC), for tests of expiry.
    #[must_use]
    pub fn with_clock(mut self, clock: impl Fn() -> i64 + Send + Sync + 'static) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// The part of the database for traffic: rate limits and the API log, whose newest rows a power cut may
    /// lose. Everything else belongs in the durable part, failed sign-ins above all. On SQLite it is a
    /// separate file, so that its unsynced writes can neither delay nor reorder durable ones. On PostgreSQL
    /// its commits do not wait for the disk.
    #[must_use]
    pub fn traffic(&self) -> Self {
        Self {
            durability: Durability::Traffic,
            ..self.clone()
        }
    }

    /// The SQLite file of this part.
    fn file<'a>(&self, main: &'a SqliteFile, traffic: &'a SqliteFile) -> &'a SqliteFile {
        match self.durability {
            Durability::Durable => main,
            Durability::Traffic => traffic,
        }
    }

    /// The connections of this process to the database; on SQLite, those that read the durable part.
    #[must_use]
    pub fn connections(&self) -> Connections {
        let (size, idle, most) = match &self.pools {
            Pools::Sqlite { main, .. } => {
                let pool = main.readers();
                (pool.size(), pool.num_idle(), pool.options().get_max_connections())
            }
            Pools::Postgres(pool, _) => (pool.size(), pool.num_idle(), pool.options().get_max_connections()),
        };
        // `size` and `idle` are read separately, so `idle` could exceed `size`.
        let idle = u32::try_from(idle).unwrap_or(u32::MAX).min(size);
        Connections {
            busy: size - idle,
            idle,
            most,
        }
    }

    /// The path of the durable part's SQLite file; `None` on PostgreSQL.
    #[must_use]
    pub fn path(&self) -> Option<&std::path::Path> {
        match &self.pools {
            Pools::Sqlite { main, .. } => Some(main.path()),
            Pools::Postgres(..) => None,
        }
    }

    /// The durable part's SQLite file.
    pub(crate) fn sqlite_file(&self) -> Result<&std::path::Path, Error> {
        self.path()
            .ok_or_else(|| Error::Config("this needs a SQLite database".into()))
    }

    pub(crate) fn postgres_pool(&self) -> Result<&PgPool, Error> {
        match &self.pools {
            Pools::Postgres(pool, _) => Ok(pool),
            Pools::Sqlite { .. } => Err(Error::Config("this needs a PostgreSQL database".into())),
        }
    }

    /// The time by this database's clock (ms).
    pub(crate) fn now(&self) -> i64 {
        (self.clock)()
    }

    /// The installation of this process's keyring: see [`Keyring::installation_id`].
    #[must_use]
    pub fn installation_id(&self) -> String {
        self.keyring.installation_id()
    }

    /// The fingerprint of this process's keyring: see [`Keyring::fingerprint`].
    #[must_use]
    pub fn key_fingerprint(&self) -> String {
        self.keyring.fingerprint()
    }

    /// Whether this is PostgreSQL; otherwise it is SQLite.
    #[must_use]
    pub fn is_postgres(&self) -> bool {
        matches!(self.pools, Pools::Postgres(..))
    }

    /// A connection for reading. Each statement sees one consistent state. On SQLite the connection refuses
    /// writes.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if no connection becomes free in time.
    pub async fn read(&self) -> Result<Conn, Error> {
        let handle = match &self.pools {
            Pools::Sqlite { main, traffic } => {
                Handle::Sqlite(self.file(main, traffic).readers().acquire().await?)
            }
            Pools::Postgres(pool, Pooling::Session) => Handle::Postgres(pool.acquire().await?),
            Pools::Postgres(_, Pooling::Transaction) => Handle::PostgresTx(self.begin_postgres().await?),
        };
        self.conn(handle).await
    }

    /// Begins a transaction for writing (on SQLite, `begin immediate`). Dropping it rolls it back. Prefer
    /// [`transaction!`](crate::transaction), which also retries what the database could not serialise.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if no connection, or SQLite's write lock, becomes free in time.
    pub async fn begin(&self) -> Result<Tx, Error> {
        let handle = match &self.pools {
            Pools::Sqlite { main, traffic } => Handle::SqliteTx(self.file(main, traffic).begin().await?),
            Pools::Postgres(..) => {
                let mut tx = self.begin_postgres().await?;
                if self.durability == Durability::Traffic {
                    sqlx::raw_sql("set local synchronous_commit = off")
                        .execute(&mut *tx)
                        .await?;
                }
                Handle::PostgresTx(tx)
            }
        };
        Ok(Tx::new(self.conn(handle).await?))
    }

    /// Begins a transaction on PostgreSQL.
    pub(crate) async fn begin_postgres(&self) -> Result<Transaction<'static, Postgres>, Error> {
        // sqlx names its statements, and the session may have some of the same names from other connections.
        self.begin_postgres_with("begin", "begin; deallocate all").await
    }

    /// Begins a transaction on PostgreSQL that reads one state and writes nothing.
    pub(crate) async fn begin_postgres_snapshot(&self) -> Result<Transaction<'static, Postgres>, Error> {
        // `deallocate` counts as a query, and the isolation cannot be set after one.
        self.begin_postgres_with(
            "begin isolation level repeatable read, read only",
            "begin isolation level repeatable read, read only; deallocate all",
        )
        .await
    }

    async fn begin_postgres_with(
        &self,
        in_session: &'static str,
        in_pooler: &'static str,
    ) -> Result<Transaction<'static, Postgres>, Error> {
        match &self.pools {
            Pools::Postgres(pool, Pooling::Session) => Ok(pool.begin_with(in_session).await?),
            Pools::Postgres(pool, Pooling::Transaction) => Ok(pool.begin_with(in_pooler).await?),
            Pools::Sqlite { .. } => Err(Error::Config("this needs a PostgreSQL database".into())),
        }
    }

    /// A connection with the time now. Nodes share PostgreSQL's clock; SQLite has one machine's.
    async fn conn(&self, mut handle: Handle) -> Result<Conn, Error> {
        match &mut handle {
            Handle::Postgres(conn) => self.shared.refresh(conn).await?,
            Handle::PostgresTx(tx) => self.shared.refresh(tx).await?,
            Handle::Sqlite(_) | Handle::SqliteTx(_) => {}
        }
        Ok(Conn::new(handle, self.keyring.clone(), (self.clock)()))
    }

    /// Migrates the schema in one transaction, which a row of `migration_lock` protects. Advisory locks do
    /// not work behind every connection pooler or on every PostgreSQL-like database. Several nodes may call
    /// it at once.
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
            Pools::Postgres(pool, _) => {
                // If sessions race to create the table, all but one may fail. Then the table exists.
                let sql = "create table if not exists migration_lock (id bigint primary key)";
                if sqlx::raw_sql(sql).execute(pool).await.is_err() {
                    sqlx::raw_sql(sql).execute(pool).await?;
                }
                sqlx::raw_sql("insert into migration_lock (id) values (1) on conflict do nothing")
                    .execute(pool)
                    .await?;
                let mut tx = self.begin_postgres().await?;
                sqlx::query("update migration_lock set id = 1 where id = 1")
                    .execute(&mut *tx)
                    .await?;
                migrations::run(&migrations::POSTGRES, &mut *tx).await?;
                tx.commit().await?;
            }
        }
        Ok(())
    }

    /// [`Db::migrate`] for a database without any schema: for throw-away databases and demonstrations.
    ///
    /// # Errors
    /// As [`Db::migrate`]; [`Error::Schema`] when the schema is there but not this version's.
    pub async fn migrate_if_empty(&self) -> Result<(), Error> {
        if self.applied_migrations().await?.is_empty() {
            return self.migrate().await;
        }
        self.check_schema().await.map(|_| ())
    }

    /// Runs a trivial query, which needs a working database: for readiness checks.
    ///
    /// # Errors
    /// [`Error::Unavailable`] or [`Error::Database`].
    pub async fn ping(&self) -> Result<(), Error> {
        let mut conn = self.read().await?;
        fetch!(one, &mut conn, installation, (i64,), "select cast(1 as bigint)").map(|_| ())
    }

    /// Writes and deletes a row to check that the database accepts writes: for readiness checks.
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

    /// The size of the database on its disk in bytes.
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

    /// Moves everything from SQLite's write-ahead log into the database file and empties the log, so that it
    /// contains no deleted values. Call it after an erasure. It does nothing on PostgreSQL, which manages its
    /// own log.
    ///
    /// # Errors
    /// [`Error::Unavailable`] when a reader keeps the log in use for longer than the acquire timeout.
    pub async fn truncate_wal(&self) -> Result<(), Error> {
        match &self.pools {
            Pools::Sqlite { main, traffic } => {
                main.truncate_wal().await?;
                traffic.truncate_wal().await
            }
            Pools::Postgres(..) => Ok(()),
        }
    }

    /// Waits until all connections are returned and closes them.
    pub async fn close(&self) {
        match &self.pools {
            Pools::Sqlite { main, traffic } => {
                main.close().await;
                traffic.close().await;
            }
            Pools::Postgres(pool, _) => pool.close().await,
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
    let pooling = match caches_statements(url) {
        true => Pooling::Session,
        false => Pooling::Transaction,
    };
    let pool = PoolOptions::<Postgres>::new()
        .max_connections(options.max_connections)
        .acquire_timeout(options.acquire_timeout)
        .connect_with(connect)
        .await?;
    Ok(Pools::Postgres(pool, pooling))
}

/// Whether the address permits prepared statements that outlive a transaction.
fn caches_statements(url: &str) -> bool {
    let query = url.split_once('?').map_or("", |(_, query)| query);
    !query.split('&').any(|pair| pair == "statement-cache-capacity=0")
}

/// Runs a block as one transaction. If the database could not serialise it, the block runs again from its
/// start, so it must change nothing but the database. An `Err` rolls back. The type after the arrow is the
/// block's. The crate's documentation has an example.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_capacity_of_zero_means_a_pooler_of_transactions() {
        for (url, expected) in [
            ("postgres://u@h/d", true),
            ("postgres:///d?host=::1&user=u", true),
            (
                "postgres:///d?host=/run/postgresql&statement-cache-capacity=0",
                false,
            ),
            ("postgres://u@h/d?statement-cache-capacity=10", true),
            ("postgres://u@h/d?statement-cache-capacity=0", false),
            (
                "postgres://u@h/d?sslmode=disable&statement-cache-capacity=0",
                false,
            ),
        ] {
            PgConnectOptions::from_str(url).unwrap();
            assert_eq!(caches_statements(url), expected, "{url}");
        }
    }
}
