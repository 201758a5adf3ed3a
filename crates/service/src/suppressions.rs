//! "Not this person": a reviewer found that a listing does not mean a person. Screening still finds it, but
//! it no longer counts for this person. It counts again if the hit becomes stronger than the reviewed one, or
//! if another list adds the entry.

use serde_json::{Value, json};
use store::attempts::{self, Attempt};
use store::audit::{self, Entry};
use store::suppressions::{self, Suppression};
use store::{Conn, Db, Error, Scope, Tx, people, review};
use uuid::Uuid;
use verification::four_eyes::{Act, needs_second_person};
use verification::hits::Disposition;
use verification::screening::ScreeningHit;
use verification::suppression::{self, ClearedListing};

use super::actor::{By, actor_name};
use super::attempt_detail::Detail;
use super::four_eyes::Change;
use super::stored_hits::{hits, is_match, references, stored_screening};
use super::{dispositions, four_eyes};
use crate::problem::{Kind, Problem};

/// Why a listing does not mean a person. Only fixed words, because they are stored unsealed.
pub const REASONS: [&str; 5] = ["name", "birth_date", "nationality", "gender", "other"];

/// Converts rows to the rule's type.
pub fn cleared(known: &[Suppression]) -> Vec<ClearedListing> {
    let listing = |row: &Suppression| ClearedListing {
        list: row.list.clone(),
        entity_id: row.entity_id.clone(),
        score: row.score,
        is_confirmed: row.confirmed_by.is_some(),
        matched: row.matched,
    };
    known.iter().map(listing).collect()
}

/// Whether a reviewer found every listing of a hit not to mean the person: see [`suppression::is_covered`].
pub fn covers(known: &[Suppression], hit: &ScreeningHit) -> bool {
    suppression::is_covered(&cleared(known), hit)
}

/// The listings that were found not to mean an attempt's person. `None` if they do not concern the attempt,
/// which depends on whether its face was proven ([`Detail::face_proven`]): see [`suppression::dispositions_apply`].
pub async fn of_attempt(
    conn: &mut Conn,
    scope: Scope,
    facemap_id: Uuid,
    face_proven: bool,
) -> Result<Option<Vec<Suppression>>, Error> {
    let person = people::resolve(conn, scope, facemap_id).await?;
    if !suppression::dispositions_apply(face_proven, person.is_some_and(|person| person.proven)) {
        return Ok(None);
    }
    suppressions::of_person(conn, scope, facemap_id).await.map(Some)
}

/// The result of setting a hit aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetAsideOutcome {
    /// It is in effect.
    Done,
    /// It waits for a second person.
    Proposed,
}

/// Sets a hit of an attempt aside: the listing does not mean the attempt's person. The attempt itself stays
/// as it is, with the hit's disposition; a reviewer decides on it separately. Where two people are required,
/// a second one must confirm first.
pub async fn suppress(
    db: &Db,
    scope: Scope,
    log_id: i64,
    hit_id: &str,
    why: &str,
    (staff_id, actor): (Uuid, &str),
) -> Result<SetAsideOutcome, Problem> {
    store::transaction!(db, |tx| -> Result<SetAsideOutcome, Problem> {
        let (attempt, hit) = find_settable_hit(tx, scope, log_id, (hit_id, why)).await?;
        let known = hits(&attempt)?.0;
        let place = known.iter().position(|known| known == hit_id);
        if review::proposal(tx, scope, &attempt).await?.is_none() {
            let reason = format!("Not this person: {}", why.replace('_', " "));
            let row = (hit_id, Disposition::OtherPerson, reason.as_str());
            dispositions::record(tx, scope, &attempt, row, actor).await?;
        }
        let state = four_eyes::of_attempt(tx, scope, &attempt).await?;
        if !needs_second_person(Act::SetAside, state) {
            insert(tx, scope, &attempt, &hit, why, (staff_id, None), actor).await?;
            return Ok(SetAsideOutcome::Done);
        }
        let subject = four_eyes::Subject {
            // The subject's id must not reveal the listing, so it contains the hit's position.
            id: &format!("{log_id} {}", place.unwrap_or_default()),
            name: &hit.caption,
            attempt: Some(&attempt),
        };
        let change = Change::SetAside {
            hit: hit_id.to_owned(),
            why: why.to_owned(),
        };
        let by = By {
            staff_id: Some(staff_id),
            actor,
        };
        four_eyes::propose(tx, scope, change, subject, Vec::new(), by).await?;
        Ok(SetAsideOutcome::Proposed)
    })
}

/// Carries out a proposal that a second person confirmed.
pub(super) async fn confirm(
    tx: &mut Tx,
    scope: Scope,
    log_id: i64,
    (hit_id, why): (&str, &str),
    (proposer, second): (Uuid, Uuid),
    actor: &str,
) -> Result<(), Problem> {
    let (attempt, hit) = find_settable_hit(tx, scope, log_id, (hit_id, why)).await?;
    insert(tx, scope, &attempt, &hit, why, (proposer, Some(second)), actor).await
}

/// The attempt and its hit, if this attempt allows setting the hit aside.
async fn find_settable_hit(
    tx: &mut Tx,
    scope: Scope,
    log_id: i64,
    (hit_id, why): (&str, &str),
) -> Result<(Attempt, ScreeningHit), Problem> {
    if !REASONS.contains(&why) {
        let text = format!("reason - must be one of {}", REASONS.join(", "));
        return Err(Problem::invalid(text).named("why_required"));
    }
    let attempt = attempts::get_for_update(tx, scope, log_id)
        .await?
        .ok_or_else(|| Problem::not_found("No such attempt"))?;
    let detail = Detail::of(&attempt)?;
    if of_attempt(tx, scope, attempt.facemap_id, detail.face_proven)
        .await?
        .is_none()
    {
        let text = "No face proved that this attempt belongs to this person, so its hits cannot be set aside";
        return Err(Problem::new(Kind::Conflict, text).named("unproven"));
    }
    let results = stored_screening(&attempt)?.results;
    let known = references(&results);
    let hit = known
        .iter()
        .position(|known| known == hit_id)
        .and_then(|place| results.into_iter().nth(place))
        .ok_or_else(|| Problem::not_found("The attempt has no such hit"))?;
    Ok((attempt, hit))
}

/// Sets the listings of a hit aside for an attempt's person.
pub(super) async fn insert(
    tx: &mut Tx,
    scope: Scope,
    attempt: &Attempt,
    hit: &ScreeningHit,
    why: &str,
    (staff_id, confirmed_by): (Uuid, Option<Uuid>),
    actor: &str,
) -> Result<(), Problem> {
    for (list, entity_id) in suppression::listings(hit) {
        let suppression = Suppression {
            list: list.to_owned(),
            entity_id: entity_id.to_owned(),
            score: suppression::score(hit),
            staff_id,
            reason: why.to_owned(),
            at: tx.now(),
            confirmed_by,
            matched: is_match(hit),
        };
        suppressions::put(tx, scope, attempt.facemap_id, &suppression).await?;
        // The row contains neither list nor entry, because audit rows are never erased.
        let detail = json!({
            "reason": why, "logId": attempt.log_id,
            "foundBy": actor_name(Some(staff_id)), "confirmedBy": confirmed_by.map(|id| actor_name(Some(id))),
        });
        write(
            tx,
            scope,
            actor,
            "person.listing_suppressed",
            attempt.facemap_id,
            &detail,
        )
        .await?;
    }
    Ok(())
}

/// Reverts it: the listing counts again for the person's next attempts.
pub async fn restore_listing(
    db: &Db,
    scope: Scope,
    facemap_id: Uuid,
    (list, entity_id): (&str, &str),
    actor: &str,
) -> Result<(), Problem> {
    store::transaction!(db, |tx| -> Result<(), Problem> {
        let missing = || Problem::not_found("No such listing is set aside for this person");
        let person = store::people::resolve(tx, scope, facemap_id)
            .await?
            .ok_or_else(missing)?;
        if !suppressions::remove(tx, scope, person.facemap_id, list, entity_id).await? {
            return Err(missing());
        }
        let action = "person.listing_restored";
        write(tx, scope, actor, action, person.facemap_id, &json!({})).await
    })
}

async fn write(
    tx: &mut store::Tx,
    scope: Scope,
    actor: &str,
    action: &str,
    facemap_id: Uuid,
    detail: &Value,
) -> Result<(), Problem> {
    let (subject, detail) = (facemap_id.to_string(), detail.to_string());
    let entry = Entry {
        actor,
        action,
        subject: &subject,
        detail: &detail,
    };
    Ok(audit::write(tx, scope, &entry).await?)
}
