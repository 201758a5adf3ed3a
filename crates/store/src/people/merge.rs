//! Merges two facemaps in every table that refers to one. This module does not decide that they are one
//! person.

use uuid::Uuid;

use crate::sql::execute;
use crate::{Error, Scope, Tx, attempts, faces, outbox, people, registrations, rescreenings, suppressions};

/// Merges a provisional facemap into the person whose face was proven. Registrations, attempts, suppressions,
/// webhook events, names and aliases move, their keys are wrapped again, and the old id becomes an alias. No
/// object moves.
///
/// # Errors
/// [`Error::Missing`] if `from` is not a provisional facemap or `into` does not exist; [`Error::Conflict`] if
/// both are registered in one group (check with [`registrations::of_facemap`] first).
pub async fn merge(tx: &mut Tx, scope: Scope, from: Uuid, into: Uuid) -> Result<(), Error> {
    let from_person = people::get(tx, scope, from)
        .await?
        .filter(|person| !person.proven && from != into);
    let from_person = from_person.ok_or(Error::Missing("provisional facemap"))?;
    move_all(tx, scope, &from_person, into).await
}

/// Merges a person into another one. Both have proven faces. In addition to what [`merge`] moves, the faces move, and
/// the `ended` registrations of both end. The caller has taken the account's [lock](faces::lock).
///
/// # Errors
/// [`Error::Missing`] if one of them is no person with a proven face; [`Error::Conflict`] if both are still registered
/// in one group.
pub async fn merge_people(
    tx: &mut Tx,
    scope: Scope,
    from: Uuid,
    into: Uuid,
    ended: &[Uuid],
) -> Result<(), Error> {
    let mut proven = [None, None];
    for (found, id) in proven.iter_mut().zip([from, into]) {
        *found = people::get(tx, scope, id)
            .await?
            .filter(|person| person.proven && from != into);
    }
    let [Some(from_person), Some(_)] = proven else {
        return Err(Error::Missing("person with a proven face"));
    };
    for registration in ended {
        registrations::end(tx, scope, *registration).await?;
    }
    faces::move_to(tx, scope, from, into).await?;
    move_all(tx, scope, &from_person, into).await
}

async fn move_all(tx: &mut Tx, scope: Scope, from_person: &people::Person, into: Uuid) -> Result<(), Error> {
    let from = from_person.facemap_id;
    let from_key = people::key(tx, scope, from).await?;
    let into_key = people::key(tx, scope, into).await?;
    registrations::move_to(tx, scope, (from, &from_key), (into, &into_key)).await?;
    attempts::move_to(tx, scope, (from, &from_key), (into, &into_key)).await?;
    suppressions::move_to(tx, scope, from, into).await?;
    outbox::move_to(tx, scope, from, into).await?;
    execute!(
        tx,
        scope,
        "insert into name_words (merchant_id, sandbox, word_ref, facemap_id)
         select merchant_id, sandbox, word_ref, $4 from name_words
         where merchant_id = $1 and sandbox = $2 and facemap_id = $3 on conflict do nothing",
        from,
        into
    )?;
    execute!(
        tx,
        scope,
        "update facemap_aliases set facemap_id = $4
               where merchant_id = $1 and sandbox = $2 and facemap_id = $3",
        from,
        into
    )?;
    execute!(
        tx,
        scope,
        "insert into facemap_aliases (merchant_id, sandbox, alias, facemap_id) values ($1, $2, $3, $4)",
        from,
        into
    )?;
    execute!(
        tx,
        scope,
        "update people set created_at = $4
         where merchant_id = $1 and sandbox = $2 and facemap_id = $3 and created_at > $4",
        into,
        from_person.created_at
    )?;
    people::delete(tx, scope, from).await?;
    // A run that has passed one of them, and not the other, would not meet the other's names.
    rescreenings::request(tx, scope, into).await
}
