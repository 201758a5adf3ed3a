//! Attempts that a session admitted in time, and the end of sessions that have expired. A terminal status is
//! always stored before anyone reads it, by the update that admissions compete with, so it never changes.
//! This module does not know the outcome of an attempt.
//!
//! A node [`admit`]s an attempt before it works on it and [`renew`]s the lease while it works. It ends the
//! lease with [`use_attempt`] in the transaction that records the attempt, or with [`withdraw`]. Until then
//! the session stays pending. If a node dies, its lease runs out and [`expire_if_due`] or [`expire`] ends the
//! session.

use uuid::Uuid;

use crate::sessions::{self, Session, SessionStatus};
use crate::sql::{execute, fetch};
use crate::{Error, Scope, Tx, applicant_invitation_state, document_readings};

/// How long a node's lease on an admitted attempt lasts (ms).
pub const LEASE_MS: i64 = 30_000;

/// Whether a session has expired at `$now` and has no admitted attempt in progress.
macro_rules! is_due {
    ($now:literal) => {
        concat!(
            "status = 'pending' and stage <> 'in_review' and expires_at <= ",
            $now,
            " and (in_flight = 0 or coalesce(admitted_until, 0) <= ",
            $now,
            ")"
        )
    };
}

/// Admits an attempt if the session is still open; returns whether it did. Any number of attempts may be
/// admitted at once, but only as many are recorded as the session has left.
pub async fn admit(tx: &mut Tx, scope: Scope, id: Uuid) -> Result<bool, Error> {
    let now = tx.now();
    let changed = execute!(
tx,
scope,
// A lease that ran out belonged to a dead node, so its attempt does not count.
        "update sessions set in_flight = case when admitted_until > $4 then in_flight + 1 else 1 end,
             admitted_until = $5
         where merchant_id = $1 and sandbox = $2 and id = $3 and status = 'pending' and attempts < max_attempts
             and (stage = 'in_review' or expires_at > $4)",
id,
now,
now + LEASE_MS
)?;
    Ok(changed == 1)
}

/// Renews the lease on an admitted attempt.
pub async fn renew(tx: &mut Tx, scope: Scope, id: Uuid) -> Result<(), Error> {
    let until = tx.now() + LEASE_MS;
    const SQL: &str = "update sessions set admitted_until = $4
               where merchant_id = $1 and sandbox = $2 and id = $3 and status = 'pending' and in_flight > 0";
    execute!(tx, scope, SQL, id, until).map(|_| ())
}

/// Ends an admission whose attempt is not recorded, because it was refused or its client disconnected.
pub async fn withdraw(tx: &mut Tx, scope: Scope, id: Uuid) -> Result<(), Error> {
    let now = tx.now();
    const SQL: &str = "update sessions set in_flight = in_flight - 1,
                   admitted_until = case when in_flight = 1 then $4 else admitted_until end
               where merchant_id = $1 and sandbox = $2 and id = $3 and status = 'pending' and in_flight > 0";
    execute!(tx, scope, SQL, id, now).map(|_| ())
}

/// Counts an admitted attempt, also for the invitation that opened the session, and ends its admission. `None` if the
/// session is terminal, its invitation has ended or was deleted, either has no attempts left, or if the lease ran out and
/// the session ended without the attempt. The caller then rolls back.
///
/// # Errors
/// [`Error::Sealed`].
pub async fn use_attempt(tx: &mut Tx, scope: Scope, id: Uuid) -> Result<Option<Session>, Error> {
    let now = tx.now();
    if let Some(invitation_id) = sessions::invitation_of(tx, scope, id).await?
        && !applicant_invitation_state::use_attempt(tx, scope, invitation_id).await?
    {
        return Ok(None);
    }
    const SQL: &str = "update sessions set attempts = attempts + 1, in_flight = in_flight - 1,
                   admitted_until = case when in_flight = 1 then $4 else admitted_until end
               where merchant_id = $1 and sandbox = $2 and id = $3 and status = 'pending'
                   and attempts < max_attempts and in_flight > 0";
    match execute!(tx, scope, SQL, id, now)? {
        0 => Ok(None),
        _ => sessions::get(tx, scope, id).await,
    }
}

/// The terminal status of an expired session: failed if it has an attempt, otherwise expired (decisions §3).
fn timed_out(attempts: i64) -> SessionStatus {
    if attempts > 0 {
        SessionStatus::Failed
    } else {
        SessionStatus::Expired
    }
}

/// Whether [`expire_if_due`] would end the session now.
pub async fn is_due(conn: &mut crate::Conn, scope: Scope, id: Uuid) -> Result<bool, Error> {
    let now = conn.now();
    const SQL: &str = concat!(
        "select exists (select 1 from sessions where merchant_id = $1 and sandbox = $2 and id = $3 and ",
        is_due!("$4"),
        ")"
    );
    let (is_due,) = fetch!(one, conn, scope, (bool,), SQL, id, now)?;
    Ok(is_due)
}

/// Ends an expired session unless an admitted attempt is in progress; returns whether it ended.
pub async fn expire_if_due(tx: &mut Tx, scope: Scope, id: Uuid) -> Result<bool, Error> {
    const SQL: &str = "select attempts from sessions where merchant_id = $1 and sandbox = $2 and id = $3";
    let row = fetch!(optional, tx, scope, (i64,), SQL, id)?;
    match row {
        Some((attempts,)) => end(tx, scope, id, attempts).await,
        None => Ok(false),
    }
}

/// Ends a session in one conditional update. Of this update and a simultaneous admission or attempt, only one
/// succeeds.
async fn end(tx: &mut Tx, scope: Scope, id: Uuid, attempts: i64) -> Result<bool, Error> {
    let now = tx.now();
    const SQL: &str = concat!(
        "update sessions set status = $5, stage = 'done', expected_sealed = null,
             completed_at = case when admitted_until > expires_at then admitted_until else expires_at end
         where merchant_id = $1 and sandbox = $2 and id = $3 and attempts = $4 and ",
        is_due!("$6")
    );
    let status = timed_out(attempts).as_str();
    let changed = execute!(tx, scope, SQL, id, attempts, status, now)?;
    if changed == 1 {
        document_readings::delete_of_session(tx, scope, id).await?;
    }
    Ok(changed == 1)
}

/// Ends a session whose time may not be over, because its invitation opens another or ends. A session that waits for a
/// reviewer, or for an attempt that it has admitted, is left as it is. The status is that of [`timed_out`]. Returns whether
/// the session has ended now.
pub async fn end_early(tx: &mut Tx, scope: Scope, id: Uuid) -> Result<bool, Error> {
    let now = tx.now();
    const SQL: &str = "update sessions set status = case when attempts > 0 then 'failed' else 'expired' end, stage = 'done',
             expected_sealed = null, completed_at = case when expires_at > $4 then $4
                 when admitted_until > expires_at then admitted_until else expires_at end
         where merchant_id = $1 and sandbox = $2 and id = $3 and status = 'pending' and stage <> 'in_review'
             and (in_flight = 0 or coalesce(admitted_until, 0) <= $4)";
    let changed = execute!(tx, scope, SQL, id, now)?;
    if changed == 1 {
        document_readings::delete_of_session(tx, scope, id).await?;
        return Ok(true);
    }
    const OPEN: &str = "select exists (select 1 from sessions
               where merchant_id = $1 and sandbox = $2 and id = $3 and status = 'pending')";
    let (is_open,) = fetch!(one, tx, scope, (bool,), OPEN, id)?;
    Ok(!is_open)
}

/// Ends at most `limit` expired sessions; returns how many. Several nodes may call it at once.
pub async fn expire(tx: &mut Tx, limit: i64) -> Result<u64, Error> {
    let now = tx.now();
    const SQL: &str = concat!(
        "select merchant_id, sandbox, id, attempts from sessions where ",
        is_due!("$1"),
        " order by expires_at, id limit $2"
    );
    let mut ended = 0;
    for (merchant_id, sandbox, id, attempts) in fetch!(
        all,
        tx,
        across_accounts("housekeeping ends every account's sessions"),
        (Uuid, bool, Uuid, i64),
        SQL,
        now,
        limit
    )? {
        let scope = Scope { merchant_id, sandbox };
        ended += u64::from(end(tx, scope, id, attempts).await?);
    }
    Ok(ended)
}
