//! What can go wrong in the store. Texts name no personal data: neither values nor keys.

/// Why a store operation failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A name (of a Group, of a Flow) or another unique value is taken.
    #[error("the value is already taken")]
    Conflict,
    /// The account's plan allows no more of these.
    #[error("the plan's limit is reached")]
    LimitReached,
    /// A row that an operation builds upon is not there (any more).
    #[error("no such {0}")]
    Missing(&'static str),
    /// The database has no schema, or another version's: run `migrate`.
    #[error("the database's schema is not this version's: run `bonafide migrate`")]
    Schema,
    /// A migration could not be applied.
    #[error("migration failed: {0}")]
    Migration(#[from] sqlx::migrate::MigrateError),
    /// No connection, or none became free in time. Trying again later may help.
    #[error("the database is not available: {0}")]
    Unavailable(#[source] sqlx::Error),
    /// The database refused a statement.
    #[error("database error: {0}")]
    Database(#[source] sqlx::Error),
    /// Sealed data do not open: wrong key, changed bytes, or bytes of another row.
    #[error("sealed data do not open")]
    Sealed,
    /// The keyring's file cannot be used.
    #[error("keyring {path}: {reason}")]
    Keyring {
        /// The file.
        path: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A setting (an address, a path) cannot be used.
    #[error("{0}")]
    Config(String),
    /// An object could not be written, read or deleted.
    #[error("object store: {0}")]
    Objects(#[from] object_store::Error),
}

impl From<sqlx::Error> for Error {
    fn from(error: sqlx::Error) -> Self {
        match &error {
            sqlx::Error::Database(database) if database.is_unique_violation() => Self::Conflict,
            sqlx::Error::Database(database) if is_busy(database.as_ref()) => Self::Unavailable(error),
            sqlx::Error::PoolTimedOut
            | sqlx::Error::PoolClosed
            | sqlx::Error::Io(_)
            | sqlx::Error::Tls(_)
            | sqlx::Error::WorkerCrashed => Self::Unavailable(error),
            _ => Self::Database(error),
        }
    }
}

/// Whether the same transaction, run again from its start, may well succeed.
pub(crate) fn is_serialization_failure(error: &sqlx::Error) -> bool {
    // SQLSTATE 40001 serialization_failure, 40P01 deadlock_detected.
    error
        .as_database_error()
        .and_then(|database| database.code())
        .is_some_and(|code| code == "40001" || code == "40P01")
}

/// SQLITE_BUSY and its extended codes: another process held the write lock for longer than the busy timeout.
pub(crate) fn is_busy(error: &dyn sqlx::error::DatabaseError) -> bool {
    error.try_downcast_ref::<sqlx::sqlite::SqliteError>().is_some()
        && error
            .code()
            .and_then(|code| code.parse::<i32>().ok())
            .is_some_and(|code| code & 0xff == 5)
}
