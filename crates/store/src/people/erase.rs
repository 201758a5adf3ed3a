//! The erasure of a person from every table. It deletes no object: [`erasures`] records those that must be
//! deleted.

use uuid::Uuid;

use crate::sql::{execute, fetch};
use crate::{Error, Scope, Tx, counters, erasures, faces, idempotency, people};

/// Erases a person: the key, faces, registrations, attempts, names, aliases, and every row about the person
/// under the account's key ([`erasures`]). Returns the ids of the attempts. The same transaction records that
/// their objects must be deleted, and adds the person to the ledger.
///
/// The caller must append the person's keys ([`erasures::keys_of`]) to the journal before this transaction
/// commits. An earlier backup still contains the sealed data and the wrapped key.
///
/// # Errors
/// [`Error::Missing`] if there is no such person. Aliases are not followed.
pub async fn erase(tx: &mut Tx, scope: Scope, facemap_id: Uuid) -> Result<Vec<Uuid>, Error> {
    counters::lock(tx, scope).await?;
    people::get(tx, scope, facemap_id)
        .await?
        .ok_or(Error::Missing("person"))?;
    faces::remove(tx, scope, facemap_id).await?;
    erasures::erase_traces(tx, scope, facemap_id).await?;
    let attempts = fetch!(
        all,
        tx,
        scope,
        (Uuid, Vec<u8>),
        "delete from attempts where merchant_id = $1 and sandbox = $2 and facemap_id = $3 returning id, external_ref",
        facemap_id
    )?;
    execute!(
        tx,
        scope,
        "delete from registrations where merchant_id = $1 and sandbox = $2 and facemap_id = $3",
        facemap_id
    )?;
    people::delete(tx, scope, facemap_id).await?;
    for (attempt_id, external_ref) in &attempts {
        idempotency::erase_attempt(tx, scope, *attempt_id).await?;
        erasures::request_object_removal(tx, scope, *attempt_id, Some((facemap_id, external_ref))).await?;
    }
    erasures::write(tx, scope, facemap_id).await?;
    Ok(attempts.into_iter().map(|(id, _)| id).collect())
}
