//! How invitations of applicants count attempts, are reminded and renewed, and end. Sessions change them through this module,
//! which changes no session.
//!
//! Opening a session, counting an attempt, deciding and revoking lock the invitation before its sessions. Sweeps and
//! deletions of several rows may meet them in another order; then the database ends one transaction, which is repeated.

use uuid::Uuid;

use crate::sql::{execute, fetch};
use crate::text_enum::text_enum;
use crate::{Conn, Error, Scope, Tx};

text_enum! {
    /// The status of an invitation. All but the first two are final.
    InvitationStatus("invitation status") {
        /// The applicant can use it, or a session that it opened is still open.
        Open = "open",
        /// An attempt waits for a reviewer.
        InReview = "in_review",
        /// An attempt passed, or a reviewer approved it.
        Success = "success",
        /// Its attempts are used, or a reviewer declined one.
        Failed = "failed",
        /// Its time ended before the verification did. It is stored within minutes.
        Expired = "expired",
        /// The merchant ended it.
        Revoked = "revoked",
    }
}

/// Locks an invitation until the transaction ends; returns whether it exists.
pub async fn lock(tx: &mut Tx, scope: Scope, id: Uuid) -> Result<bool, Error> {
    const SQL: &str = "update applicant_invitations set attempts = attempts
               where merchant_id = $1 and sandbox = $2 and id = $3";
    Ok(execute!(tx, scope, SQL, id)? == 1)
}

/// Counts an attempt of one of its sessions; returns whether the invitation still allowed it.
pub(crate) async fn use_attempt(tx: &mut Tx, scope: Scope, id: Uuid) -> Result<bool, Error> {
    const SQL: &str = "update applicant_invitations set attempts = attempts + 1
               where merchant_id = $1 and sandbox = $2 and id = $3 and state = 'open' and attempts < max_attempts";
    Ok(execute!(tx, scope, SQL, id)? == 1)
}

/// Ends an open invitation, perhaps by one of its sessions; returns whether it was open.
pub(crate) async fn end(
    tx: &mut Tx,
    scope: Scope,
    id: Uuid,
    state: InvitationStatus,
    deciding_session: Option<Uuid>,
) -> Result<bool, Error> {
    let now = tx.now();
    const SQL: &str = "update applicant_invitations set state = $4, deciding_session = $5, ended_at = $6,
                   remind_at = null, expected_sealed = null, email_sealed = null
               where merchant_id = $1 and sandbox = $2 and id = $3 and state = 'open'";
    Ok(execute!(tx, scope, SQL, id, state.as_str(), deciding_session, now)? == 1)
}

/// Follows renewals: locks the last invitation of the chain, and returns it. This one must be locked.
pub async fn lock_newest(tx: &mut Tx, scope: Scope, id: Uuid) -> Result<Uuid, Error> {
    const SQL: &str = "select renewed_by from applicant_invitations
               where merchant_id = $1 and sandbox = $2 and id = $3";
    let mut newest = id;
    while let Some((Some(next),)) = fetch!(optional, tx, scope, (Option<Uuid>,), SQL, newest)? {
        lock(tx, scope, next).await?;
        newest = next;
    }
    Ok(newest)
}

/// Revokes the open invitations of a Flow or Group that is deleted, except those in review; returns how many. Their
/// sessions are left as they are.
pub async fn revoke_of_configuration(tx: &mut Tx, scope: Scope, flow_or_group: Uuid) -> Result<u64, Error> {
    // Whether a session is in review is read after the locks, because a decision or an attempt may hold them. So are
    // invitations that replaced an expired one meanwhile.
    const LOCK: &str = "update applicant_invitations set attempts = attempts
               where merchant_id = $1 and sandbox = $2 and (flow_id = $3 or group_id = $3)
                   and (state = 'open' or (state = 'expired' and email_sealed is not null))";
    execute!(tx, scope, LOCK, flow_or_group)?;
    let now = tx.now();
    const SQL: &str =
        "update applicant_invitations set state = 'revoked', ended_at = $4, remind_at = null, expected_sealed = null,
                   email_sealed = null
               where merchant_id = $1 and sandbox = $2 and state = 'open' and (flow_id = $3 or group_id = $3)
                   and not exists (select 1 from sessions s where s.merchant_id = $1 and s.sandbox = $2
                       and s.invitation_id = applicant_invitations.id and s.status = 'pending'
                       and s.stage = 'in_review')";
    let revoked = execute!(tx, scope, SQL, flow_or_group, now)?;
    // Expired ones are not renewed any more.
    const FORGET: &str = "update applicant_invitations set expected_sealed = null, email_sealed = null
               where merchant_id = $1 and sandbox = $2 and state = 'expired' and email_sealed is not null
                   and (flow_id = $3 or group_id = $3)";
    execute!(tx, scope, FORGET, flow_or_group)?;
    Ok(revoked)
}

/// How long after its time an invitation is still `open` if nothing ended it (ms). A press just before the end may have to
/// wait for other transactions; a status that was read as final must not change.
const GRACE_MS: i64 = 5 * 60 * 1_000;

/// What an invitation keeps when its time is over: what a renewal needs, if it can be renewed. `$1` is the most renewals.
macro_rules! expired {
    () => {
        "state = 'expired', ended_at = expires_at, remind_at = null,
             expected_sealed = case when email_sealed is not null and renewals < $1 and attempts < max_attempts
                 then expected_sealed end,
             email_sealed = case when renewals < $1 and attempts < max_attempts then email_sealed end"
    };
}

/// Ends the open invitations whose time is over and that have no open session; returns how many. Those that can be renewed
/// keep what that needs.
pub async fn expire(tx: &mut Tx, most_renewals: i64) -> Result<u64, Error> {
    let before = tx.now() - GRACE_MS;
    execute!(
        tx,
        across_accounts("housekeeping ends every account's invitations"),
        concat!(
            "update applicant_invitations set ",
            expired!(),
            " where state = 'open' and expires_at <= $2
                 and not exists (select 1 from sessions s where s.merchant_id = applicant_invitations.merchant_id
                     and s.sandbox = applicant_invitations.sandbox and s.invitation_id = applicant_invitations.id
                     and s.status = 'pending')"
        ),
        most_renewals,
        before
    )
}

/// Ends an open invitation whose time is over before [`expire`] does.
pub async fn end_by_time(tx: &mut Tx, scope: Scope, id: Uuid, most_renewals: i64) -> Result<(), Error> {
    execute!(
        tx,
        across_accounts("the invitation is named, and the text is that of the sweep"),
        concat!(
            "update applicant_invitations set ",
            expired!(),
            " where merchant_id = $2 and sandbox = $3 and id = $4 and state = 'open'"
        ),
        most_renewals,
        scope.merchant_id,
        scope.sandbox,
        id
    )
    .map(|_| ())
}

/// Deletes the address and the expected person of an invitation, so that it is not renewed.
pub async fn forget_contact(tx: &mut Tx, scope: Scope, id: Uuid) -> Result<(), Error> {
    const SQL: &str = "update applicant_invitations set email_sealed = null, expected_sealed = null
               where merchant_id = $1 and sandbox = $2 and id = $3";
    execute!(tx, scope, SQL, id).map(|_| ())
}

/// Sets when the next reminder is due, and how many there were.
pub async fn set_reminder(
    tx: &mut Tx,
    scope: Scope,
    id: Uuid,
    reminders: i64,
    remind_at: Option<i64>,
) -> Result<(), Error> {
    const SQL: &str = "update applicant_invitations set reminders = $4, remind_at = $5
               where merchant_id = $1 and sandbox = $2 and id = $3";
    execute!(tx, scope, SQL, id, reminders, remind_at).map(|_| ())
}

/// Moves a reminder that is due; `None`: there is no further one.
pub async fn postpone_reminder(
    tx: &mut Tx,
    scope: Scope,
    id: Uuid,
    remind_at: Option<i64>,
) -> Result<(), Error> {
    let now = tx.now();
    const SQL: &str = "update applicant_invitations set remind_at = $4
               where merchant_id = $1 and sandbox = $2 and id = $3 and state = 'open' and remind_at <= $5";
    execute!(tx, scope, SQL, id, remind_at, now).map(|_| ())
}

/// Invitations with an address whose reminder is due, the longest due first, at most `limit`. One may be in review.
pub async fn to_remind(conn: &mut Conn, limit: i64) -> Result<Vec<(Scope, Uuid)>, Error> {
    let now = conn.now();
    let rows = fetch!(
        all,
        conn,
        across_accounts("every account's reminders are sent"),
        (Uuid, bool, Uuid),
        "select merchant_id, sandbox, id from applicant_invitations
         where state = 'open' and remind_at <= $1 and email_sealed is not null order by remind_at limit $2",
        now,
        limit
    )?;
    let place = |(merchant_id, sandbox, id)| (Scope { merchant_id, sandbox }, id);
    Ok(rows.into_iter().map(place).collect())
}

/// Records that an invitation was replaced by another one, and deletes its address and its expected person.
pub async fn set_renewed(tx: &mut Tx, scope: Scope, id: Uuid, by: Uuid) -> Result<(), Error> {
    const SQL: &str =
        "update applicant_invitations set renewed_by = $4, email_sealed = null, expected_sealed = null,
                   remind_at = null
               where merchant_id = $1 and sandbox = $2 and id = $3";
    execute!(tx, scope, SQL, id, by).map(|_| ())
}

/// Deletes ended invitations that expired before a time (ms); returns how many.
pub async fn sweep(tx: &mut Tx, before: i64) -> Result<u64, Error> {
    execute!(
        tx,
        across_accounts("retention deletes every account's invitations"),
        "delete from applicant_invitations where expires_at < $1 and state <> 'open'",
        before
    )
}
