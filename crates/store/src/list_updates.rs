//! The updates of sanctions lists from their publishers: when each is due, which worker does it, how the last one ended,
//! and what the publisher offered then. Also which version a rollback took out of use. The lists in use are in
//! [`list_sets`](super::list_sets); nothing here decides what is screened against.
//!
//! An update belongs to the worker with its lease, so each list is updated once per period by all nodes together, and
//! another node continues after one that died.

use uuid::Uuid;

use crate::sql::{execute, fetch};
use crate::{Conn, Error, Tx};

const UPDATE: &str = "list update";

/// The state of a list's updates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListUpdate {
    /// The list.
    pub list: String,
    /// When servers update it next (ms).
    pub due_at: i64,
    /// When the last attempt ended (ms).
    pub attempted_at: Option<i64>,
    /// Why it failed. It contains no address with a token.
    pub error: Option<String>,
    /// When an attempt last found the publisher's file (ms).
    pub succeeded_at: Option<i64>,
    /// What it found then.
    pub offered: Option<Offered>,
    /// When any node last imported the list or found that it had not changed (ms), and SHA-256 of its entities.
    pub confirmed: Option<(i64, [u8; 32])>,
    /// The content that a rollback took out of use, and its version.
    pub rolled_back: Option<([u8; 32], String)>,
    /// Whether the list was last imported from OpenSanctions' files; `None`: not known.
    pub is_open_sanctions: Option<bool>,
    /// When the list was removed (ms). Servers do not update it until somebody imports it.
    pub removed_at: Option<i64>,
}

/// What a publisher offered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offered {
    /// SHA-256 of the list's entities.
    pub digest: [u8; 32],
    /// SHA-256 of the file.
    pub file_digest: [u8; 32],
    /// SHA-256 of the file's address; `None` for a file from a folder.
    pub address_digest: Option<[u8; 32]>,
    /// The server's `ETag`.
    pub etag: Option<String>,
    /// The server's `Last-Modified`.
    pub last_modified: Option<String>,
}

#[derive(sqlx::FromRow)]
struct Row {
    list: String,
    due_at: i64,
    attempted_at: Option<i64>,
    error: Option<String>,
    succeeded_at: Option<i64>,
    offered_digest: Option<Vec<u8>>,
    file_digest: Option<Vec<u8>>,
    address_digest: Option<Vec<u8>>,
    etag: Option<String>,
    last_modified: Option<String>,
    confirmed_at: Option<i64>,
    confirmed_digest: Option<Vec<u8>>,
    rolled_back_digest: Option<Vec<u8>>,
    rolled_back_version: Option<String>,
    is_open_sanctions: Option<bool>,
    removed_at: Option<i64>,
}

impl TryFrom<Row> for ListUpdate {
    type Error = Error;

    fn try_from(row: Row) -> Result<Self, Error> {
        let digest = |bytes: Option<Vec<u8>>| -> Result<Option<[u8; 32]>, Error> {
            bytes
                .map(|bytes| bytes.try_into().map_err(|_| Error::Unreadable(UPDATE)))
                .transpose()
        };
        let offered = match (digest(row.offered_digest)?, digest(row.file_digest)?) {
            (Some(content), Some(file_digest)) => Some(Offered {
                digest: content,
                file_digest,
                address_digest: digest(row.address_digest)?,
                etag: row.etag,
                last_modified: row.last_modified,
            }),
            _ => None,
        };
        Ok(ListUpdate {
            list: row.list,
            due_at: row.due_at,
            attempted_at: row.attempted_at,
            error: row.error,
            succeeded_at: row.succeeded_at,
            offered,
            confirmed: row.confirmed_at.zip(digest(row.confirmed_digest)?),
            rolled_back: digest(row.rolled_back_digest)?.zip(row.rolled_back_version),
            is_open_sanctions: row.is_open_sanctions,
            removed_at: row.removed_at,
        })
    }
}

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "select list, due_at, attempted_at, error, succeeded_at, offered_digest, file_digest, address_digest,
                    etag, last_modified, confirmed_at, confirmed_digest, rolled_back_digest, rolled_back_version,
                    is_open_sanctions, removed_at
             from list_updates ",
            $rest
        )
    };
}

/// The state of every list that was ever updated, due to be or rolled back, in order.
///
/// # Errors
/// [`Error::Unreadable`] for a row that no version of this program writes.
pub async fn list(conn: &mut Conn) -> Result<Vec<ListUpdate>, Error> {
    const SQL: &str = select!("order by list");
    let rows = fetch!(all, conn, installation, Row, SQL)?;
    rows.into_iter().map(Row::try_into).collect()
}

/// The state of one list; empty before its first update.
///
/// # Errors
/// As [`list`].
pub async fn get(conn: &mut Conn, name: &str) -> Result<ListUpdate, Error> {
    const SQL: &str = select!("where list = $1");
    match fetch!(optional, conn, installation, Row, SQL, name)? {
        Some(row) => row.try_into(),
        None => Ok(ListUpdate {
            list: name.to_owned(),
            ..ListUpdate::default()
        }),
    }
}

async fn insert(tx: &mut Tx, name: &str) -> Result<(), Error> {
    const SQL: &str = "insert into list_updates (list, due_at, leased_until) values ($1, 0, 0)
               on conflict (list) do nothing";
    execute!(tx, installation, SQL, name).map(|_| ())
}

/// Takes an update that is due, for `lease_ms`. `false`: it is not due, another worker has it, or the list was removed. An
/// update is also due if it would wait longer than `period_ms`, because the period was shortened.
pub async fn begin(
    tx: &mut Tx,
    name: &str,
    lease: Uuid,
    lease_ms: i64,
    period_ms: i64,
) -> Result<bool, Error> {
    insert(tx, name).await?;
    let now = tx.now();
    const SQL: &str = "update list_updates set lease = $2, leased_until = $3
               where list = $1 and removed_at is null and leased_until <= $4 and (due_at <= $4 or due_at > $5)";
    Ok(execute!(
        tx,
        installation,
        SQL,
        name,
        lease,
        now + lease_ms,
        now,
        now + period_ms
    )? == 1)
}

/// Extends the lease of an update. `false`: another worker has it.
pub async fn extend(tx: &mut Tx, name: &str, lease: Uuid, lease_ms: i64) -> Result<bool, Error> {
    let until = tx.now() + lease_ms;
    const SQL: &str = "update list_updates set leased_until = $3 where list = $1 and lease = $2";
    Ok(execute!(tx, installation, SQL, name, lease, until)? == 1)
}

/// Ends an update that [`begin`] took; the next one is due after `pause_ms`.
pub async fn finish(tx: &mut Tx, name: &str, lease: Uuid, pause_ms: i64) -> Result<(), Error> {
    let due = tx.now() + pause_ms;
    const SQL: &str = "update list_updates set lease = null, leased_until = 0, due_at = $3
               where list = $1 and lease = $2";
    execute!(tx, installation, SQL, name, lease, due).map(|_| ())
}

/// Records an attempt that failed.
pub async fn record_failure(tx: &mut Tx, name: &str, error: &str) -> Result<(), Error> {
    insert(tx, name).await?;
    let now = tx.now();
    const SQL: &str =
        "update list_updates set attempted_at = $2, error = $3 where list = $1 and removed_at is null";
    execute!(tx, installation, SQL, name, now, error).map(|_| ())
}

/// Records an attempt that found the publisher's file. `None`: the publisher still offers what it did before.
pub async fn record_success(tx: &mut Tx, name: &str, offered: Option<&Offered>) -> Result<(), Error> {
    insert(tx, name).await?;
    let now = tx.now();
    const SUCCESS: &str =
        "update list_updates set attempted_at = $2, succeeded_at = $2, error = null where list = $1";
    execute!(tx, installation, SUCCESS, name, now)?;
    let Some(offered) = offered else { return Ok(()) };
    const OFFERED: &str = "update list_updates
               set offered_digest = $2, file_digest = $3, address_digest = $4, etag = $5, last_modified = $6
               where list = $1";
    execute!(
        tx,
        installation,
        OFFERED,
        name,
        offered.digest.as_slice(),
        offered.file_digest.as_slice(),
        offered.address_digest.as_ref().map(|digest| digest.as_slice()),
        offered.etag.as_deref(),
        offered.last_modified.as_deref()
    )
    .map(|_| ())
}

/// Records that a list with this content was imported now, or found unchanged.
pub async fn record_confirmation(tx: &mut Tx, name: &str, digest: &[u8; 32]) -> Result<(), Error> {
    insert(tx, name).await?;
    let now = tx.now();
    const SQL: &str = "update list_updates set confirmed_at = $2, confirmed_digest = $3 where list = $1";
    execute!(tx, installation, SQL, name, now, digest.as_slice()).map(|_| ())
}

/// Records an import: whether from OpenSanctions' files, and that the list is no longer removed.
pub async fn record_import(tx: &mut Tx, name: &str, is_open_sanctions: bool) -> Result<(), Error> {
    insert(tx, name).await?;
    const SQL: &str = "update list_updates set is_open_sanctions = $2, removed_at = null where list = $1";
    execute!(tx, installation, SQL, name, is_open_sanctions).map(|_| ())
}

/// Records that a rollback took a content out of use.
pub async fn record_rollback(tx: &mut Tx, name: &str, digest: &[u8; 32], version: &str) -> Result<(), Error> {
    insert(tx, name).await?;
    const SQL: &str =
        "update list_updates set rolled_back_digest = $2, rolled_back_version = $3 where list = $1";
    execute!(tx, installation, SQL, name, digest.as_slice(), version).map(|_| ())
}

/// Forgets a rollback, because another content became active.
pub async fn clear_rollback(tx: &mut Tx, name: &str) -> Result<(), Error> {
    const SQL: &str =
        "update list_updates set rolled_back_digest = null, rolled_back_version = null where list = $1";
    execute!(tx, installation, SQL, name).map(|_| ())
}

/// Forgets everything about a list's updates except that the list was removed now. This also ends the lease of an update.
pub async fn record_removal(tx: &mut Tx, name: &str) -> Result<(), Error> {
    execute!(tx, installation, "delete from list_updates where list = $1", name)?;
    insert(tx, name).await?;
    let now = tx.now();
    const SQL: &str = "update list_updates set removed_at = $2 where list = $1";
    execute!(tx, installation, SQL, name, now).map(|_| ())
}
