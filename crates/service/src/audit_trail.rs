//! Rows of the audit trail that stand alone: what somebody looked at or searched for, without changing anything. Changes write their row
//! in the transaction that makes them.

use store::audit::{self, Entry};
use store::{Db, Scope};

use crate::problem::Problem;

/// Writes a row.
pub async fn write(db: &Db, scope: Scope, entry: &Entry<'_>) -> Result<(), Problem> {
    store::transaction!(db, |tx| -> Result<(), Problem> {
        Ok(audit::write(tx, scope, entry).await?)
    })
}
