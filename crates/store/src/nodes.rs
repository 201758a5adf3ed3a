//! The nodes, which are the processes that serve, with their latest reports. This module does not interpret
//! reports.

use uuid::Uuid;

use crate::sql::{execute, fetch};
use crate::{Conn, Error, Tx, installation};

/// A node.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct Node {
    /// Created when the process starts.
    pub id: Uuid,
    /// The name shown to people.
    pub name: String,
    /// The program's version.
    pub version: String,
    /// The report as JSON, without personal data.
    pub report: String,
    /// The fingerprint of its keyring ([`Keyring::fingerprint`](crate::Keyring::fingerprint)); empty for an
    /// older version.
    pub key_fingerprint: String,
    /// When it started (ms).
    pub started_at: i64,
    /// When it last reported (ms). [`report`] sets it.
    pub seen_at: i64,
}

/// Registers a node or updates its report. A node whose key does not belong to this database writes nothing.
///
/// # Errors
/// As [`installation::confirm`].
pub async fn report(tx: &mut Tx, node: &Node) -> Result<(), Error> {
    installation::confirm(tx).await?;
    let now = tx.now();
    execute!(
        tx,
        installation,
        "insert into nodes (id, name, version, report, key_fingerprint, started_at, seen_at)
         values ($1, $2, $3, $4, $5, $6, $7)
         on conflict (id) do update set name = excluded.name, report = excluded.report,
             key_fingerprint = excluded.key_fingerprint, seen_at = excluded.seen_at",
        node.id,
        &node.name,
        &node.version,
        &node.report,
        &node.key_fingerprint,
        node.started_at,
        now
    )
    .map(|_| ())
}

/// All nodes, the latest start first.
pub async fn list(conn: &mut Conn) -> Result<Vec<Node>, Error> {
    const SQL: &str = "select id, name, version, report, key_fingerprint, started_at, seen_at
               from nodes order by started_at desc, id";
    fetch!(all, conn, installation, Node, SQL)
}

/// Removes a node that stops.
pub async fn forget(tx: &mut Tx, id: Uuid) -> Result<(), Error> {
    execute!(tx, installation, "delete from nodes where id = $1", id).map(|_| ())
}

/// Removes the nodes that last reported before a time (ms); returns how many.
pub async fn sweep(tx: &mut Tx, before: i64) -> Result<u64, Error> {
    execute!(tx, installation, "delete from nodes where seen_at < $1", before)
}
