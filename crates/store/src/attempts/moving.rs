//! Moves attempts to another facemap. No object moves: only the wrapping of the attempts' keys changes.

use std::collections::BTreeSet;

use uuid::Uuid;

use super::sealing::seal_context;
use crate::keyring::DataKey;
use crate::sql::{execute, fetch};
use crate::{Error, Scope, Tx};

/// Moves a facemap's attempts to another facemap and wraps their keys by its key.
pub(crate) async fn move_to(
    tx: &mut Tx,
    scope: Scope,
    from: (Uuid, &DataKey),
    into: (Uuid, &DataKey),
) -> Result<(), Error> {
    move_where(tx, scope, from, into, |_| true).await
}

/// Moves some of a facemap's attempts as [`move_to`] does.
pub(crate) async fn move_some(
    tx: &mut Tx,
    scope: Scope,
    from: (Uuid, &DataKey),
    into: (Uuid, &DataKey),
    log_ids: &BTreeSet<i64>,
) -> Result<(), Error> {
    move_where(tx, scope, from, into, |log_id| log_ids.contains(&log_id)).await
}

async fn move_where(
    tx: &mut Tx,
    scope: Scope,
    (from, from_key): (Uuid, &DataKey),
    (into, into_key): (Uuid, &DataKey),
    moves: impl Fn(i64) -> bool,
) -> Result<(), Error> {
    const SQL: &str = "select log_id, id, wrapped_key from attempts
               where merchant_id = $1 and sandbox = $2 and facemap_id = $3";
    let rows = fetch!(all, tx, scope, (i64, Uuid, Vec<u8>), SQL, from)?;
    for (_, id, wrapped) in rows.into_iter().filter(|(log_id, ..)| moves(*log_id)) {
        let place = seal_context(scope, "attempts.wrapped_key", &id);
        let wrapped = into_key.wrap(&place, &from_key.unwrap_key(&place, &wrapped)?);
        execute!(
            tx,
            scope,
            "update attempts set facemap_id = $4, wrapped_key = $5 where merchant_id = $1 and sandbox = $2 and id = $3",
            id,
            into,
            &wrapped
        )?;
    }
    Ok(())
}
