//! Pictures of documents that a hosted session had read before its submission. Each row has a key of its own, which
//! seals the picture in the object store and what was read. The key goes with the row, and then the object.
//!
//! Rows go when their session ends, and an hour after they were made at the latest; so the renewal of keys leaves them
//! alone. Until then a later picture of the same side replaces no row, because what was shown to the person stays known.
//! This module does not know what was read.

use uuid::Uuid;
use zeroize::Zeroizing;

use crate::keyring::{DataKey, SealContext};
use crate::sql::{execute, fetch};
use crate::{Conn, Error, Scope, Tx, erasures, merchants};

/// How long a reading is stored at most (ms).
pub const KEPT_MS: i64 = 60 * 60 * 1_000;

/// Counts one more reading of an open session; returns how many it has left, or `None` if it had
/// none left or has ended.
pub async fn count(tx: &mut Tx, scope: Scope, session_id: Uuid, most: i64) -> Result<Option<i64>, Error> {
    let now = tx.now();
    const SQL: &str = "update sessions set readings = readings + 1
                   where merchant_id = $1 and sandbox = $2 and id = $3 and status = 'pending' and expires_at > $4
                       and readings < $5
                   returning readings";
    let counted = fetch!(optional, tx, scope, (i64,), SQL, session_id, now, most)?;
    Ok(counted.map(|(readings,)| most - readings))
}

/// Takes back a count of [`count`], because the reading gave no answer.
pub async fn count_back(tx: &mut Tx, scope: Scope, session_id: Uuid) -> Result<(), Error> {
    const SQL: &str = "update sessions set readings = readings - 1
               where merchant_id = $1 and sandbox = $2 and id = $3 and readings > 0";
    execute!(tx, scope, SQL, session_id).map(|_| ())
}

/// A reading to store. Its picture is in the object store already, under the same key and id.
pub struct NewReading<'a> {
    /// The id, by which the picture is named too: a UUID of version 7.
    pub id: Uuid,
    /// The form's field that the picture is for.
    pub file: &'a str,
    /// The key.
    pub key: &'a DataKey,
    /// What was read, as the service writes it.
    pub content: &'a [u8],
}

fn seal_context<'a>(scope: Scope, what: &'a str, id: &'a Uuid) -> SealContext<'a> {
    SealContext {
        merchant_id: scope.merchant_id,
        what,
        id: id.as_bytes(),
    }
}

const KEY: &str = "document_readings.wrapped_key";
const CONTENT: &str = "document_readings.content";

/// Stores a reading; returns whether the session was still open. If it was not, nothing is stored, and the picture's
/// object will be deleted.
pub async fn insert(
    tx: &mut Tx,
    scope: Scope,
    session_id: Uuid,
    new: &NewReading<'_>,
) -> Result<bool, Error> {
    // The session cannot end until this is committed.
    const HOLD: &str = "update sessions set readings = readings
               where merchant_id = $1 and sandbox = $2 and id = $3 and status = 'pending' and expires_at > $4";
    let now = tx.now();
    if execute!(tx, scope, HOLD, session_id, now)? == 0 {
        erasures::request_object_removal(tx, scope, new.id, None).await?;
        return Ok(false);
    }
    let merchant_key = merchants::key(tx, scope.merchant_id).await?;
    execute!(
        tx,
        scope,
        "insert into document_readings (merchant_id, sandbox, id, session_id, file, wrapped_key, content_sealed,
             created_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8)",
        new.id,
        session_id,
        new.file,
        merchant_key.wrap(&seal_context(scope, KEY, &new.id), new.key),
        new.key.seal(&seal_context(scope, CONTENT, &new.id), new.content),
        now
    )?;
    Ok(true)
}

/// A stored reading.
#[derive(Clone)]
pub struct Reading {
    /// The id, by which the picture is named too.
    pub id: Uuid,
    /// The form's field that the picture is for.
    pub file: String,
    /// The key of the picture.
    pub key: DataKey,
    /// What was read, as the service wrote it.
    pub content: Zeroizing<Vec<u8>>,
}

#[derive(sqlx::FromRow)]
struct Row {
    id: Uuid,
    file: String,
    wrapped_key: Vec<u8>,
    content_sealed: Vec<u8>,
}

/// A session's readings that are not too old, the earliest first.
///
/// # Errors
/// [`Error::Sealed`].
pub async fn of_session(conn: &mut Conn, scope: Scope, session_id: Uuid) -> Result<Vec<Reading>, Error> {
    const SQL: &str = "select id, file, wrapped_key, content_sealed from document_readings
               where merchant_id = $1 and sandbox = $2 and session_id = $3 and created_at > $4 order by id";
    let after = conn.now() - KEPT_MS;
    let rows = fetch!(all, conn, scope, Row, SQL, session_id, after)?;
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let merchant_key = merchants::key(conn, scope.merchant_id).await?;
    rows.into_iter()
        .map(|row| {
            let key = merchant_key.unwrap_key(&seal_context(scope, KEY, &row.id), &row.wrapped_key)?;
            let content = key.open(&seal_context(scope, CONTENT, &row.id), &row.content_sealed)?;
            Ok(Reading {
                id: row.id,
                file: row.file,
                key,
                content,
            })
        })
        .collect()
}

/// Deletes the readings of a session that ends, with their keys.
pub(crate) async fn delete_of_session(tx: &mut Tx, scope: Scope, session_id: Uuid) -> Result<(), Error> {
    const SQL: &str = "delete from document_readings
               where merchant_id = $1 and sandbox = $2 and session_id = $3 returning id";
    for (id,) in fetch!(all, tx, scope, (Uuid,), SQL, session_id)? {
        erasures::request_object_removal(tx, scope, id, None).await?;
    }
    Ok(())
}

/// Deletes the readings of sessions whose time is over, and those that are too old, at most `limit`; returns how many.
pub async fn sweep(tx: &mut Tx, limit: i64) -> Result<u64, Error> {
    let now = tx.now();
    const DUE: &str = "select r.merchant_id, r.sandbox, r.id from document_readings r join sessions s
                   on s.merchant_id = r.merchant_id and s.sandbox = r.sandbox and s.id = r.session_id
               where r.created_at <= $1 or s.expires_at <= $2 or s.status <> 'pending'
               order by r.created_at limit $3";
    const DELETE: &str = "delete from document_readings where merchant_id = $1 and sandbox = $2 and id = $3";
    let due = fetch!(
        all,
        tx,
        across_accounts("housekeeping deletes every account's readings"),
        (Uuid, bool, Uuid),
        DUE,
        now - KEPT_MS,
        now,
        limit
    )?;
    let mut swept = 0;
    for (merchant_id, sandbox, id) in due {
        let scope = Scope { merchant_id, sandbox };
        let deleted = execute!(tx, scope, DELETE, id)?;
        if deleted == 1 {
            erasures::request_object_removal(tx, scope, id, None).await?;
        }
        swept += deleted;
    }
    Ok(swept)
}
