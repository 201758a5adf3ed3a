//! "Not this person": a reviewer found that a listing does not mean somebody. Screening still finds it, but for this person it does not
//! count any more, until the hit grows stronger than the one that was looked at or another list takes the entry up.

use serde_json::{Value, json};
use store::attempts::{self, Attempt};
use store::audit::{self, Entry};
use store::suppressions::{self, Suppression};
use store::{Conn, Db, Error, Scope, people};
use uuid::Uuid;
use verification::screening::{Screening, ScreeningHit, StoredScreening};
use verification::suppression::{self, ClearedListing};

use super::seen::{self, Detail};
use crate::error::{Kind, Problem};

/// Why a listing does not mean a person. Words of ours only: they are kept unsealed.
pub const REASONS: [&str; 5] = ["name", "birth_date", "nationality", "gender", "other"];

/// The rows as the rule reads them.
fn cleared(known: &[Suppression]) -> Vec<ClearedListing> {
    let listing = |row: &Suppression| ClearedListing {
        list: row.list.clone(),
        entity_id: row.entity_id.clone(),
        score: row.score,
    };
    known.iter().map(listing).collect()
}

/// Whether a reviewer found every listing of a hit not to mean the person: see [`suppression::covers`].
pub fn covers(known: &[Suppression], hit: &ScreeningHit) -> bool {
    suppression::covers(&cleared(known), hit)
}

/// What was found not to mean the person of an attempt; `None` where that must not concern the attempt: the person was proven by a face,
/// and the attempt's own face did not prove that it is theirs ([`Detail::face_proven`]). The label alone is anybody's who submits it.
pub async fn of_attempt(
    conn: &mut Conn,
    scope: Scope,
    facemap_id: Uuid,
    face_proven: bool,
) -> Result<Option<Vec<Suppression>>, Error> {
    let person = people::resolve(conn, scope, facemap_id).await?;
    if !face_proven && person.is_some_and(|person| person.proven) {
        return Ok(None);
    }
    suppressions::of_person(conn, scope, facemap_id).await.map(Some)
}

/// The screening as it counts for a person, and the hits that do not count: see [`suppression::apply`].
pub fn apply(known: &[Suppression], screening: &Screening) -> (Screening, Vec<ScreeningHit>) {
    suppression::apply(&cleared(known), screening)
}

/// The screening in an attempt's stored response. A response that cannot be read refuses: it must never look like one without hits.
pub fn stored_screening(attempt: &Attempt) -> Result<StoredScreening, Problem> {
    StoredScreening::of_response(&attempt.response)
        .map_err(|fault| seen::unreadable(attempt.log_id, "response", &fault))
}

/// Notes that a hit of an attempt does not mean its person. The attempt itself stays as it is: somebody decides on it.
pub async fn suppress(
    db: &Db,
    scope: Scope,
    log_id: i64,
    hit_id: &str,
    reason: &str,
    (staff_id, actor): (Uuid, &str),
) -> Result<(), Problem> {
    if !REASONS.contains(&reason) {
        let text = format!("reason - must be one of {}", REASONS.join(", "));
        return Err(Problem::invalid(text).named("why_required"));
    }
    store::transaction!(db, |tx| -> Result<(), Problem> {
        let attempt = attempts::get_for_update(tx, scope, log_id)
            .await?
            .ok_or_else(|| Problem::not_found("No such attempt"))?;
        let detail = Detail::of(&attempt)?;
        if of_attempt(tx, scope, attempt.facemap_id, detail.face_proven)
            .await?
            .is_none()
        {
            let text =
                "No face proved that this attempt is this person's: nothing is set aside for them by it";
            return Err(Problem::new(Kind::Conflict, text).named("unproven"));
        }
        let screening = stored_screening(&attempt)?;
        let hit = screening
            .results
            .iter()
            .find(|hit| hit.id == hit_id)
            .ok_or_else(|| Problem::not_found("The attempt has no such hit"))?;
        for (list, entity_id) in suppression::listings(hit) {
            let suppression = Suppression {
                list: list.to_owned(),
                entity_id: entity_id.to_owned(),
                score: suppression::score(hit),
                staff_id,
                reason: reason.to_owned(),
                at: tx.now(),
            };
            suppressions::put(tx, scope, attempt.facemap_id, &suppression).await?;
            let detail = json!({
                "list": suppression.list, "entry": suppression.entity_id, "reason": reason, "logId": log_id,
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
    })
}

/// Takes it back: the listing counts again for the person's next attempts.
pub async fn undo(
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
        let detail = json!({"list": list, "entry": entity_id});
        write(
            tx,
            scope,
            actor,
            "person.listing_restored",
            person.facemap_id,
            &detail,
        )
        .await
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
