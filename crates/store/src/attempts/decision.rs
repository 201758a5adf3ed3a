//! The reviewers' decisions on attempts. Rows are only added, and the newest one is in force.

use reference::status::{self, AttemptStatus};

use super::Attempt;
use super::sealing::{seal_context, seal_reason};
use crate::sql::{execute, fetch};
use crate::text_enum::Word;
use crate::{Conn, Error, Scope, Tx};

/// A person's decision on an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The decision.
    pub decision: status::Decision,
    /// Who decided.
    pub actor: String,
    /// Why (sealed).
    pub reason: Option<String>,
    /// When (ms); set by [`decide`].
    pub at: i64,
}

/// Stores a decision and the attempt's new status. The attempt comes from
/// [`get_for_update`](super::get_for_update) in the same transaction.
pub async fn decide(
    tx: &mut Tx,
    scope: Scope,
    attempt: &Attempt,
    status: AttemptStatus,
    decision: status::Decision,
    actor: &str,
    reason: Option<&str>,
) -> Result<(), Error> {
    let reason = reason.map(|reason| seal_reason(scope, &attempt.key, &attempt.id, reason));
    let now = tx.now();
    const SQL: &str = "update attempts set status = $4, decided_at = $5
               where merchant_id = $1 and sandbox = $2 and log_id = $3";
    execute!(tx, scope, SQL, attempt.log_id, status.as_str(), now)?;
    execute!(
        tx,
        scope,
        "insert into decisions (merchant_id, sandbox, log_id, seq, decision, actor, reason_sealed, at)
         select $1, $2, $3, count(*) + 1, $4, $5, $6, $7 from decisions
         where merchant_id = $1 and sandbox = $2 and log_id = $3",
        attempt.log_id,
        decision.as_str(),
        actor,
        reason.as_deref(),
        now
    )
    .map(|_| ())
}

/// The decisions on an attempt, oldest first.
///
/// # Errors
/// [`Error::Sealed`].
pub async fn decisions(conn: &mut Conn, scope: Scope, attempt: &Attempt) -> Result<Vec<Decision>, Error> {
    const SQL: &str = "select decision, actor, reason_sealed, at from decisions
               where merchant_id = $1 and sandbox = $2 and log_id = $3 order by seq";
    type Row = (Word<status::Decision>, String, Option<Vec<u8>>, i64);
    let rows = fetch!(all, conn, scope, Row, SQL, attempt.log_id)?;
    let place = seal_context(scope, "decisions.reason", &attempt.id);
    let open = |(Word(decision), actor, sealed, at): Row| {
        let reason = sealed
            .map(|sealed| attempt.key.open_text(&place, &sealed))
            .transpose()?;
        Ok(Decision {
            decision,
            actor,
            reason,
            at,
        })
    };
    rows.into_iter().map(open).collect()
}
