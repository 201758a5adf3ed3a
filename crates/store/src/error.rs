//! The store's error type. Its texts contain no personal data: neither values nor keys.

use reference::status::UnknownWord;
use sqlx::error::DatabaseError;

/// Why a store operation failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A name (of a Group or Flow) or another unique value is taken.
    #[error("the value is already taken")]
    Conflict,
    /// The account's plan does not allow more of these.
    #[error("the plan's limit is reached")]
    LimitReached,
    /// Another request has taken over the idempotency key, so the transaction must not commit.
    #[error("another request holds this Idempotency-Key")]
    LeaseLost,
    /// An entry of the erasure journal cannot be read.
    #[error(
        "the erasure journal's entry {0} is malformed or was written by a newer program; restore it from a copy"
    )]
    Journal(String),
    /// A row that the operation needs does not exist.
    #[error("no such {0}")]
    Missing(&'static str),
    /// The database has no schema, or the schema of another version. `bonafide migrate` fixes it.
    #[error("the database's schema is not this version's: run `bonafide migrate`")]
    Schema,
    /// A migration could not be applied.
    #[error("migration failed: {0}")]
    Migration(sqlx::migrate::MigrateError),
    /// There is no connection, or none became free in time. A later try may succeed.
    #[error("the database is not available: {0}")]
    Unavailable(sqlx::Error),
    /// The database's disk is full. The same statement succeeds once there is space.
    #[error("the database's disk is full: {0}")]
    DatabaseFull(sqlx::Error),
    /// The database refused a statement.
    #[error("database error: {0}")]
    Database(sqlx::Error),
    /// Sealed data do not open: wrong key, changed bytes, or bytes of another row.
    #[error("sealed data do not open")]
    Sealed,
    /// The keyring's file cannot be used.
    #[error("keyring {path}: {reason}. {fix}")]
    Keyring {
        /// The file.
        path: String,
        /// What is wrong with it.
        reason: String,
        /// What to do, as a sentence without its full stop.
        fix: &'static str,
    },
    /// The keyring's file does not exist.
    #[error("keyring {path}: no such file")]
    NoKeyring {
        /// The file.
        path: String,
    },
    /// The keyring belongs to another installation.
    #[error("the master key does not belong to this database")]
    ForeignKey,
    /// The keyring lacks the master key that currently wraps the installation's keys.
    #[error("the master key file is an older copy: it lacks the master key in use")]
    OutdatedKey,
    /// A row that decides something is unreadable: a newer version wrote it, or it was changed.
    #[error("the {0} in the database cannot be read: a newer version wrote it, or it was changed")]
    Unreadable(&'static str),
    /// A setting (an address, a path) cannot be used.
    #[error("{0}")]
    Config(String),
    /// An object could not be written, read or deleted.
    #[error("object store: {0}")]
    Objects(object_store::Error),
    /// The object store's disk has no space left.
    #[error("the object store's disk is full: {0}")]
    ObjectsFull(object_store::Error),
}

// The texts above include their causes. With a `source`, `{:#}` would print each cause twice.
impl From<sqlx::migrate::MigrateError> for Error {
    fn from(error: sqlx::migrate::MigrateError) -> Self {
        Self::Migration(error)
    }
}

impl From<object_store::Error> for Error {
    fn from(error: object_store::Error) -> Self {
        let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(&error);
        while let Some(found) = cause {
            if found.downcast_ref().is_some_and(no_space) {
                return Self::ObjectsFull(error);
            }
            cause = found.source();
        }
        Self::Objects(error)
    }
}

/// Whether the operating system reports a full disk or an exhausted quota.
fn no_space(error: &std::io::Error) -> bool {
    use std::io::ErrorKind;
    matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
}

/// Whether a statement failed because the database's disk is full.
pub(crate) fn is_full(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(error) => no_space(error),
        // SQLITE_FULL; SQLSTATE 53100 disk_full.
        sqlx::Error::Database(error) => match sqlite_code(error.as_ref()) {
            Some(code) => code == 13,
            None => error.code().is_some_and(|code| code == "53100"),
        },
        _ => false,
    }
}

impl From<sqlx::Error> for Error {
    fn from(error: sqlx::Error) -> Self {
        match &error {
            _ if is_full(&error) => Self::DatabaseFull(error),
            sqlx::Error::Database(database) if database.is_unique_violation() => Self::Conflict,
            sqlx::Error::Database(database) if is_temporary(database.as_ref()) => Self::Unavailable(error),
            sqlx::Error::Database(database) if lacks_statements(database.as_ref()) => Self::Config(format!(
                "a connection pooler runs statements of one connection on several sessions ({database}): add \
                 `?statement-cache-capacity=0` to the database's address"
            )),
            sqlx::Error::PoolTimedOut
            | sqlx::Error::PoolClosed
            | sqlx::Error::Io(_)
            | sqlx::Error::Protocol(_)
            | sqlx::Error::Tls(_)
            | sqlx::Error::WorkerCrashed => Self::Unavailable(error),
            sqlx::Error::ColumnDecode { source, .. } => match source.downcast_ref::<UnknownWord>() {
                // No default may replace it, because the word decides about a person.
                Some(unknown) => Self::Unreadable(unknown.enumeration),
                None => Self::Database(error),
            },
            _ => Self::Database(error),
        }
    }
}

/// Whether the unchanged statement can succeed later: the database is busy, full, stopping or unreachable.
fn is_temporary(error: &dyn DatabaseError) -> bool {
    let Some(code) = error.code() else { return false };
    match sqlite_code(error) {
        // SQLITE_BUSY, SQLITE_LOCKED, SQLITE_NOMEM, SQLITE_IOERR, SQLITE_FULL, SQLITE_CANTOPEN.
        Some(code) => matches!(code, 5 | 6 | 7 | 10 | 13 | 14),
        // Connection exceptions, failed serialisation (after every retry), exhausted resources, shutdown and
        // recovery, system errors such as a failing disk. 25006: the server became a read-only replica.
        None => {
            ["08", "40", "53", "57P", "58"]
                .iter()
                .any(|class| code.starts_with(class))
                || code == "25006"
        }
    }
}

/// Whether PostgreSQL's session has other prepared statements than the connection has made.
fn lacks_statements(error: &dyn DatabaseError) -> bool {
    // 42P05 duplicate_prepared_statement, 26000 invalid_sql_statement_name.
    error
        .code()
        .is_some_and(|code| code == "42P05" || code == "26000")
}

/// Whether an error may have ended SQLite's transaction, regardless of the statement that reported it.
pub(crate) fn ends_transaction(error: &sqlx::Error) -> bool {
    match error {
        // Only these errors leave the transaction as it was: SQLITE_ERROR, SQLITE_TOOBIG, SQLITE_CONSTRAINT,
        // SQLITE_MISMATCH, SQLITE_RANGE.
        sqlx::Error::Database(error) => {
            sqlite_code(error.as_ref()).is_some_and(|code| !matches!(code, 1 | 18 | 19 | 20 | 25))
        }
        sqlx::Error::WorkerCrashed | sqlx::Error::Io(_) | sqlx::Error::Protocol(_) => true,
        _ => false,
    }
}

/// SQLite's primary result code; `None` for an error of PostgreSQL.
fn sqlite_code(error: &dyn DatabaseError) -> Option<i32> {
    error.try_downcast_ref::<sqlx::sqlite::SqliteError>()?;
    error.code()?.parse::<i32>().ok().map(|code| code & 0xff)
}

/// Whether the same transaction may succeed if it runs again from its start.
pub(crate) fn is_serialization_failure(error: &sqlx::Error) -> bool {
    // SQLSTATE 40001 serialization_failure, 40P01 deadlock_detected.
    error
        .as_database_error()
        .and_then(|database| database.code())
        .is_some_and(|code| code == "40001" || code == "40P01")
}

/// SQLITE_BUSY and its extended codes: another process held the write lock for longer than the busy timeout.
pub(crate) fn is_busy(error: &dyn DatabaseError) -> bool {
    sqlite_code(error) == Some(5)
}
