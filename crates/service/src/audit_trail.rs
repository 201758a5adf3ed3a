//! Writes rows of the audit trail. A row about a view or a search has its own transaction; a change writes
//! its row in the transaction that makes it.

use store::audit::{self, Entry};
use store::{Db, Scope, Tx};

use crate::problem::Problem;

/// Writes a row in its own transaction.
pub async fn write(db: &Db, scope: Scope, entry: &Entry<'_>) -> Result<(), Problem> {
    store::transaction!(db, |tx| -> Result<(), Problem> {
        Ok(audit::write(tx, scope, entry).await?)
    })
}

/// Writes a row about an attempt, in the transaction that changes it.
pub(crate) async fn note(
    tx: &mut Tx,
    scope: Scope,
    actor: &str,
    action: &str,
    log_id: i64,
    detail: &str,
) -> Result<(), Problem> {
    let subject = log_id.to_string();
    let entry = Entry {
        actor,
        action,
        subject: &subject,
        detail,
    };
    Ok(audit::write(tx, scope, &entry).await?)
}
