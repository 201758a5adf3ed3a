//! The ledger of who was erased and when. [`people::erase`](crate::people::erase) writes it; nothing ever takes a line out.

use uuid::Uuid;

use crate::db::fetch;
use crate::{Conn, Error, Scope};

/// Somebody who was erased.
#[derive(Clone, Copy, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct Erasure {
    /// The account.
    pub merchant_id: Uuid,
    /// Its mode.
    pub sandbox: bool,
    /// Who it was.
    pub facemap_id: Uuid,
    /// When (ms).
    pub at: i64,
}

/// An account's latest, newest first, at most `limit`.
///
/// # Errors
/// Database errors.
pub async fn list(conn: &mut Conn, scope: Scope, limit: i64) -> Result<Vec<Erasure>, Error> {
    fetch!(
        all,
        conn,
        Erasure,
        "select merchant_id, sandbox, facemap_id, at from erasures
         where merchant_id = $1 and sandbox = $2 order by at desc, facemap_id limit $3",
        scope.merchant_id,
        scope.sandbox,
        limit,
    )
}

/// Everybody's, oldest first: for backups.
///
/// # Errors
/// Database errors.
pub async fn all(conn: &mut Conn) -> Result<Vec<Erasure>, Error> {
    let sql = "select merchant_id, sandbox, facemap_id, at from erasures order by at, facemap_id";
    fetch!(all, conn, Erasure, sql)
}
