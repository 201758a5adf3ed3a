//! One row per account and mode: the sequences of its face changes and of its log, and the lock of the
//! account.

use crate::sql::{execute, fetch};
use crate::{Error, Scope, Tx};

/// Makes every other transaction that locks the same account and mode wait until this one ends.
pub(crate) async fn lock(tx: &mut Tx, scope: Scope) -> Result<(), Error> {
    // An update without a change locks the row on both databases. SQLite has no `for update`.
    const SQL: &str = "update counters set face_seq = face_seq where merchant_id = $1 and sandbox = $2";
    match execute!(tx, scope, SQL)? {
        0 => Err(Error::Missing("merchant")),
        _ => Ok(()),
    }
}

/// The next number of the account's verification log.
pub(crate) async fn next_log_id(tx: &mut Tx, scope: Scope) -> Result<i64, Error> {
    const SQL: &str =
        "update counters set log_seq = log_seq + 1 where merchant_id = $1 and sandbox = $2 returning log_seq";
    let row = fetch!(optional, tx, scope, (i64,), SQL)?;
    row.map(|(log_id,)| log_id).ok_or(Error::Missing("merchant"))
}
