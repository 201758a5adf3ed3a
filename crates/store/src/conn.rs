//! A connection for reading and a transaction for writing, on either database. This module runs no statement
//! itself.

use std::ops::{ControlFlow, Deref, DerefMut};
use std::sync::Arc;
use std::time::Duration;

use sqlx::pool::PoolConnection;
use sqlx::postgres::PgConnection;
use sqlx::sqlite::SqliteConnection;
use sqlx::{Postgres, Sqlite, Transaction};

use crate::error::{Error, is_serialization_failure};
use crate::group_commit::Member;
use crate::keyring::Keyring;

/// How many times a transaction is tried while the database cannot serialise it.
const MAX_TRIES: u32 = 8;

/// A connection, as functions that only read take it. A [`Tx`] dereferences to one.
pub struct Conn {
    handle: Handle,
    keyring: Arc<Keyring>,
    now: i64,
    unserializable: bool,
}

/// What runs the statements of a connection: a pooled connection or a transaction.
pub(crate) enum Handle {
    Sqlite(PoolConnection<Sqlite>),
    Postgres(PoolConnection<Postgres>),
    SqliteTx(Member),
    PostgresTx(Transaction<'static, Postgres>),
}

/// The database connection that the macros run statements on.
pub(crate) enum Raw<'c> {
    Sqlite(&'c mut SqliteConnection),
    Postgres(&'c mut PgConnection),
}

impl Conn {
    pub(crate) fn new(handle: Handle, keyring: Arc<Keyring>, now: i64) -> Self {
        Self {
            handle,
            keyring,
            now,
            unserializable: false,
        }
    }

    /// The time when this connection was taken or this transaction began (milliseconds since 1970 UTC).
    /// Everything that it writes gets this one time.
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
            Handle::SqliteTx(tx) => Raw::Sqlite(tx.conn()),
            Handle::PostgresTx(tx) => Raw::Postgres(tx),
        }
    }

    /// Converts a statement's error and records whether the transaction may succeed if it is tried again.
    pub(crate) fn outcome<T>(&mut self, result: Result<T, sqlx::Error>) -> Result<T, Error> {
        result.map_err(|error| {
            self.unserializable |= is_serialization_failure(&error);
            if let Handle::SqliteTx(tx) = &mut self.handle {
                tx.failed(&error);
            }
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
    pub(crate) fn new(conn: Conn) -> Self {
        Self(conn)
    }

    /// Commits the transaction.
    ///
    /// # Errors
    /// [`Error::Database`] when the database could not serialise it; [`Error::Unavailable`].
    pub async fn commit(self) -> Result<(), Error> {
        Ok(self.commit_raw().await?)
    }

    /// Rolls back. An error means that this transaction read rows that were never committed, so a refusal
    /// based on them is not valid.
    async fn rollback(self) -> Result<(), Error> {
        match self.0.handle {
            // The transaction's own error is more precise than the group's.
            Handle::SqliteTx(tx) if tx.is_broken() => {
                drop(tx);
                Ok(())
            }
            Handle::SqliteTx(tx) => Ok(tx.rollback().await?),
            // Dropping rolls back.
            _ => Ok(()),
        }
    }

    async fn commit_raw(self) -> Result<(), sqlx::Error> {
        match self.0.handle {
            Handle::SqliteTx(tx) => tx.commit().await,
            Handle::PostgresTx(tx) => tx.commit().await,
            Handle::Sqlite(_) | Handle::Postgres(_) => Ok(()),
        }
    }

    /// Ends one try of [`transaction!`](crate::transaction): commits or rolls back. `Continue` requests
    /// another try.
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
            Err(error) => {
                let again = self.unserializable;
                let error = self.rollback().await.map_or_else(E::from, |()| error);
                (Err(error), again)
            }
        };
        if !again || *tries >= MAX_TRIES {
            return ControlFlow::Break(result);
        }
        let pause = rand::random_range(1..=4_u64 << *tries);
        tokio::time::sleep(Duration::from_millis(pause)).await;
        ControlFlow::Continue(())
    }
}
