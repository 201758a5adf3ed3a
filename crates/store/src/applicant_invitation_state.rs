//! How invitations of applicants count attempts and end. Sessions change them through this module, which knows no session.
//!
//! Opening a session, counting an attempt, deciding and revoking lock the invitation before its sessions. Sweeps and
//! deletions of several rows may meet them in another order; then the database ends one transaction, which is repeated.

use uuid::Uuid;

use crate::sql::execute;
use crate::text_enum::text_enum;
use crate::{Error, Scope, Tx};

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
                   expected_sealed = null
               where merchant_id = $1 and sandbox = $2 and id = $3 and state = 'open'";
    Ok(execute!(tx, scope, SQL, id, state.as_str(), deciding_session, now)? == 1)
}
