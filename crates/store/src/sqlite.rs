//! One SQLite file: its reading connections, its writing connection and its write-ahead log. This module
//! knows only the table of the API log.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::{Duration, Instant};

use sqlx::migrate::Migrator;
use sqlx::pool::PoolOptions;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{ConnectOptions as _, Connection as _, Sqlite, SqlitePool};

use crate::error::{Error, is_busy};
use crate::files;
use crate::group_commit::{Member, Writer};
use crate::migrations;
use crate::options::Options;

/// A SQLite file and its connections.
#[derive(Clone)]
pub(crate) struct SqliteFile {
    readers: SqlitePool,
    writer: Writer,
    options: SqliteConnectOptions,
    acquire_timeout: Duration,
}

/// The options for connecting to the file of a `sqlite:` address.
pub(crate) fn options(url: &str) -> Result<SqliteConnectOptions, Error> {
    let options = SqliteConnectOptions::from_str(url)?;
    let is_file = !options.get_filename().as_os_str().is_empty();
    if url.contains(":memory:") || url.contains("mode=memory") || !is_file {
        return Err(Error::Config(
            "SQLite needs a file, because readers and the writer have separate connections".into(),
        ));
    }
    Ok(options)
}

/// The options for connecting to an existing file beside this process's other connections.
pub(crate) fn existing(file: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(file)
        .busy_timeout(Duration::from_secs(10))
}

/// The traffic file of a database: `NAME.traffic.db` in the same folder.
pub(crate) fn traffic_file(main: &Path) -> PathBuf {
    let name = main.file_name().unwrap_or_default().to_string_lossy();
    let name = name.strip_suffix(".db").unwrap_or(&name);
    main.with_file_name(format!("{name}.traffic.db"))
}

impl SqliteFile {
    /// Opens a file and creates it if it is missing.
    pub(crate) async fn open(
        connect: SqliteConnectOptions,
        synchronous: SqliteSynchronous,
        options: &Options,
    ) -> Result<Self, Error> {
        let path = connect.get_filename();
        files::prepare(path).map_err(|error| Error::Config(format!("{}: {error}", path.display())))?;
        Self::connect(connect.create_if_missing(true), synchronous, options).await
    }

    /// Opens an existing file for inspection. It creates nothing.
    pub(crate) async fn open_existing(
        connect: SqliteConnectOptions,
        options: &Options,
    ) -> Result<Self, Error> {
        let connect = connect.create_if_missing(false);
        Self::connect(connect, SqliteSynchronous::Full, options).await
    }

    async fn connect(
        connect: SqliteConnectOptions,
        synchronous: SqliteSynchronous,
        options: &Options,
    ) -> Result<Self, Error> {
        let connect = connect
            .foreign_keys(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(synchronous)
            .busy_timeout(options.busy_timeout)
            // Deleted content is overwritten, so an erasure reaches the file too.
            .pragma("secure_delete", "on");
        // The writer comes first, because it makes the empty file a database.
        let writer = retry_busy(options, || Writer::open(connect.clone(), options.acquire_timeout)).await?;
        let readers = PoolOptions::<Sqlite>::new()
            .acquire_timeout(options.acquire_timeout)
            .test_before_acquire(false)
            .max_connections(options.max_connections);
        let read_only = connect.clone().pragma("query_only", "on");
        let readers = retry_busy(options, || readers.clone().connect_with(read_only.clone())).await?;
        Ok(Self {
            readers,
            writer,
            options: connect,
            acquire_timeout: options.acquire_timeout,
        })
    }

    pub(crate) fn readers(&self) -> &SqlitePool {
        &self.readers
    }

    pub(crate) fn path(&self) -> &Path {
        self.options.get_filename()
    }

    pub(crate) async fn begin(&self) -> Result<Member, Error> {
        Ok(self.writer.begin().await?)
    }

    /// Migrates the file's schema.
    pub(crate) async fn migrate(&self, pending: &Migrator) -> Result<(), Error> {
        let mut alone = self.writer.exclusive().await?;
        let migrated = async {
            let mut tx = alone.conn().begin_with("begin immediate").await?;
            migrations::run(pending, &mut *tx).await?;
            Ok::<(), Error>(tx.commit().await?)
        }
        .await;
        if migrated.is_err() {
            // After a failed commit, sqlx has a wrong view of the connection.
            alone.replace().await;
        }
        migrated
    }

    /// Moves the API log here from the main file, where versions before the traffic file stored it. A call is
    /// durable here before it is deleted there, so no interruption loses one.
    pub(crate) async fn take_over_api_log(&self, main: &Self) -> Result<(), Error> {
        const AT_ONCE: i64 = 20_000;
        let path = main.path().to_str();
        let path = path.ok_or_else(|| Error::Config("the database's path must be UTF-8".into()))?;
        let mut alone = self.writer.exclusive().await?;
        let conn = alone.conn();
        let moved = async {
            sqlx::query("attach database $1 as durable")
                .bind(path)
                .execute(&mut *conn)
                .await?;
            sqlx::query("pragma main.synchronous = full")
                .execute(&mut *conn)
                .await?;
            // Most starts find nothing, and this query needs no write lock.
            let any = "select exists (select 1 from durable.api_log)";
            while sqlx::query_scalar::<_, bool>(any).fetch_one(&mut *conn).await? {
                let copied = "insert or ignore into main.api_log
                    select * from durable.api_log order by merchant_id, sandbox, id limit $1";
                sqlx::query(copied).bind(AT_ONCE).execute(&mut *conn).await?;
                let deleted = "delete from durable.api_log where (merchant_id, sandbox, id) in
                    (select old.merchant_id, old.sandbox, old.id from durable.api_log as old
                         join main.api_log as new on (new.merchant_id, new.sandbox, new.id)
                             = (old.merchant_id, old.sandbox, old.id)
                     order by old.merchant_id, old.sandbox, old.id limit $1)";
                sqlx::query(deleted).bind(AT_ONCE).execute(&mut *conn).await?;
            }
            Ok::<(), Error>(())
        }
        .await;
        // The next connection has neither the attached file nor full syncs.
        alone.replace().await;
        moved
    }

    /// Moves everything from the write-ahead log into the database file and empties the log.
    pub(crate) async fn truncate_wal(&self) -> Result<(), Error> {
        let begun = Instant::now();
        loop {
            // This process's own writer would prevent it.
            let alone = self.writer.exclusive().await?;
            let is_empty = self.try_truncate_wal().await?;
            drop(alone);
            if is_empty {
                return Ok(());
            }
            if begun.elapsed() > self.acquire_timeout {
                let text = "the write-ahead log cannot be emptied while it is being read";
                return Err(Error::Unavailable(sqlx::Error::Protocol(text.into())));
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    async fn try_truncate_wal(&self) -> Result<bool, sqlx::Error> {
        // A separate connection, because its short timeout must not become the writer's.
        let options = self.options.clone().busy_timeout(Duration::from_millis(200));
        let mut conn = options.connect().await?;
        let checkpoint = "pragma wal_checkpoint(truncate)";
        let (busy, _, _): (i64, i64, i64) = sqlx::query_as(checkpoint).fetch_one(&mut conn).await?;
        conn.close().await?;
        Ok(busy == 0)
    }

    pub(crate) async fn close(&self) {
        self.readers.close().await;
        self.writer.close().await;
    }
}

/// Retries, because switching a new file to WAL ignores the busy timeout if another process does the same.
async fn retry_busy<T, F>(options: &Options, open: impl Fn() -> F) -> Result<T, Error>
where
    F: Future<Output = Result<T, sqlx::Error>>,
{
    let begun = Instant::now();
    loop {
        match open().await {
            Err(sqlx::Error::Database(error))
                if is_busy(error.as_ref()) && begun.elapsed() < options.busy_timeout =>
            {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            opened => return Ok(opened?),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_database_has_its_own_traffic_file() {
        for (main, traffic) in [
            ("/data/bonafide.db", "/data/bonafide.traffic.db"),
            ("/data/live.v2", "/data/live.v2.traffic.db"),
            ("relative", "relative.traffic.db"),
        ] {
            assert_eq!(traffic_file(Path::new(main)), Path::new(traffic));
        }
    }
}
