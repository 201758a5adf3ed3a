//! Consistent copies of the database, for backups, and the state of a database that a backup is restored to. The only
//! table defined here is the one that marks an unfinished restore. `backup` runs PostgreSQL's own tools.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, PgConnection, SqliteConnection};

use crate::db::Db;
use crate::{Error, sqlite};

/// The table that exists while a restore is not finished. It is not part of the schema.
pub const MARKER: &str = "unfinished_restore";

/// The number of rows of each table.
pub type TableCounts = BTreeMap<String, i64>;

/// A snapshot of a PostgreSQL database. `pg_dump --snapshot` can copy it while this value exists.
pub struct PostgresSnapshot {
    /// The snapshot's name.
    pub name: String,
    /// The schema with the tables.
    pub schema: String,
    /// When it was taken, by the database's clock (ms).
    pub at: i64,
    /// The rows that it contains.
    pub tables: TableCounts,
    /// The transaction that keeps the snapshot.
    _keeps: sqlx::Transaction<'static, sqlx::Postgres>,
}

impl Db {
    /// Writes a copy of SQLite's durable file at one moment while other processes use it. Returns the moment
    /// (ms): everything that was committed earlier is in the copy.
    ///
    /// # Errors
    /// [`Error::Config`] on PostgreSQL; [`Error::Database`] if the copy cannot be written.
    pub async fn copy_sqlite_file(&self, to: &Path) -> Result<i64, Error> {
        let file = self.sqlite_file()?;
        let to = to
            .to_str()
            .ok_or_else(|| Error::Config("the path of the copy must be UTF-8".into()))?;
        let at = self.now();
        // A separate connection, because the others refuse writes or wait for each other.
        let mut conn = sqlite::existing(file).connect().await?;
        sqlx::query("vacuum into $1").bind(to).execute(&mut conn).await?;
        conn.close().await?;
        Ok(at)
    }

    /// Takes a snapshot of PostgreSQL.
    ///
    /// # Errors
    /// [`Error::Config`] on SQLite.
    pub async fn postgres_snapshot(&self) -> Result<PostgresSnapshot, Error> {
        let mut tx = self.begin_postgres_snapshot().await?;
        let sql =
            "select pg_export_snapshot(), current_schema()::text, (extract(epoch from now()) * 1000)::bigint";
        let (name, schema, at): (String, String, i64) = sqlx::query_as(sql).fetch_one(&mut *tx).await?;
        let tables = counts_of_postgres(&mut tx).await?;
        Ok(PostgresSnapshot {
            name,
            schema,
            at,
            tables,
            _keeps: tx,
        })
    }

    /// The number of rows of each table.
    ///
    /// # Errors
    /// [`Error::Unavailable`] or [`Error::Database`].
    pub async fn table_counts(&self) -> Result<TableCounts, Error> {
        if self.is_postgres() {
            return counts_of_postgres(&mut *self.begin_postgres().await?).await;
        }
        file_counts(self.sqlite_file()?).await
    }

    /// Marks a PostgreSQL database as being restored, so that no server uses it if the restore is
    /// interrupted.
    /// Call it before the backup is copied into it.
    ///
    /// # Errors
    /// [`Error::Config`] on SQLite, whose file gets its name only when the restore has finished.
    pub async fn begin_restore(&self) -> Result<(), Error> {
        let sql =
            format!("create table if not exists {MARKER} (begun_at timestamptz not null default now())");
        sqlx::raw_sql(AssertSqlSafe(sql))
            .execute(self.postgres_pool()?)
            .await?;
        Ok(())
    }

    /// Drops every table that an interrupted restore left in a PostgreSQL database.
    ///
    /// # Errors
    /// [`Error::Config`] unless the database is marked as being restored.
    pub async fn clear_restore(&self) -> Result<(), Error> {
        if !self.is_being_restored().await? {
            return Err(Error::Config("the database is not being restored".into()));
        }
        for name in self.table_counts().await?.keys() {
            let sql = AssertSqlSafe(format!("drop table {} cascade", quoted(name)));
            sqlx::raw_sql(sql).execute(self.postgres_pool()?).await?;
        }
        Ok(())
    }

    /// The major version of the PostgreSQL server.
    ///
    /// # Errors
    /// [`Error::Config`] on SQLite.
    pub async fn postgres_version(&self) -> Result<u32, Error> {
        let sql = "select current_setting('server_version_num')::bigint / 10000";
        let mut tx = self.begin_postgres().await?;
        let major: i64 = sqlx::query_scalar(sql).fetch_one(&mut *tx).await?;
        u32::try_from(major).map_err(|error| Error::Config(error.to_string()))
    }

    /// Removes the mark of [`Db::begin_restore`].
    ///
    /// # Errors
    /// As [`Db::begin_restore`].
    pub async fn finish_restore(&self) -> Result<(), Error> {
        sqlx::raw_sql(AssertSqlSafe(format!("drop table {MARKER}")))
            .execute(self.postgres_pool()?)
            .await?;
        Ok(())
    }

    /// Whether a restore into this database has begun and not finished.
    ///
    /// # Errors
    /// [`Error::Unavailable`] or [`Error::Database`].
    pub async fn is_being_restored(&self) -> Result<bool, Error> {
        if !self.is_postgres() {
            return Ok(false);
        }
        let sql = "select to_regclass($1) is not null";
        let mut tx = self.begin_postgres().await?;
        let found = sqlx::query_scalar(sql).bind(MARKER).fetch_one(&mut *tx);
        Ok(found.await?)
    }

    /// Whether a PostgreSQL database has any table except the migration lock and the mark of a restore.
    ///
    /// # Errors
    /// [`Error::Config`] on SQLite.
    pub async fn has_tables(&self) -> Result<bool, Error> {
        let sql = "select exists (select 1 from pg_tables where schemaname = current_schema()
                   and tablename not in ($1, 'migration_lock'))";
        let mut tx = self.begin_postgres().await?;
        let found = sqlx::query_scalar(sql).bind(MARKER).fetch_one(&mut *tx);
        Ok(found.await?)
    }
}

/// The name of the folder for the copy of the database while a restore is not finished.
pub const RESTORE_FOLDER: &str = "restore-work-database";

/// The folder that exists beside a SQLite file while a restore of it is not finished.
#[must_use]
pub fn restore_folder(database: &Path) -> PathBuf {
    database.with_file_name(RESTORE_FOLDER)
}

/// The file of a `sqlite:` address.
///
/// # Errors
/// [`Error::Config`] if the address names no file.
pub fn sqlite_path(url: &str) -> Result<PathBuf, Error> {
    Ok(sqlite::options(url)?.get_filename().to_owned())
}

/// Checks a SQLite file: its pages, indexes and references. Returns the number of rows of each table.
///
/// # Errors
/// [`Error::Config`] with what is wrong with the file; [`Error::Database`] if it is no database.
pub async fn check_sqlite_file(path: &Path) -> Result<TableCounts, Error> {
    let mut conn = sqlite::existing(path).read_only(true).connect().await?;
    let found: Vec<String> = sqlx::query_scalar("pragma integrity_check(3)")
        .fetch_all(&mut conn)
        .await?;
    if found != ["ok"] {
        return Err(Error::Config(format!(
            "the database is damaged: {}",
            found.join("; ")
        )));
    }
    let orphans = sqlx::query("pragma foreign_key_check")
        .fetch_optional(&mut conn)
        .await?;
    if orphans.is_some() {
        return Err(Error::Config(
            "the database has rows that refer to missing rows".into(),
        ));
    }
    conn.close().await?;
    file_counts(path).await
}

async fn file_counts(path: &Path) -> Result<TableCounts, Error> {
    let mut conn: SqliteConnection = sqlite::existing(path).read_only(true).connect().await?;
    let sql = "select name from sqlite_master where type = 'table' and name not like 'sqlite_%'";
    let names: Vec<String> = sqlx::query_scalar(sql).fetch_all(&mut conn).await?;
    let mut counts = TableCounts::new();
    for name in names {
        let sql = AssertSqlSafe(format!("select count(*) from {}", quoted(&name)));
        let count = sqlx::query_scalar(sql).fetch_one(&mut conn).await?;
        counts.insert(name, count);
    }
    conn.close().await?;
    Ok(counts)
}

async fn counts_of_postgres(conn: &mut PgConnection) -> Result<TableCounts, Error> {
    let sql = "select tablename::text from pg_tables where schemaname = current_schema()";
    let names: Vec<String> = sqlx::query_scalar(sql).fetch_all(&mut *conn).await?;
    let mut counts = TableCounts::new();
    for name in names.into_iter().filter(|name| name != MARKER) {
        let sql = AssertSqlSafe(format!("select count(*) from {}", quoted(&name)));
        let count = sqlx::query_scalar(sql).fetch_one(&mut *conn).await?;
        counts.insert(name, count);
    }
    Ok(counts)
}

/// A name in SQL. Use it only for names from a database's own catalogue.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
