//! Dispositions of screening hits: a reviewer's conclusion about each hit. An attempt is not approved before
//! all its hits have one (`docs/decisions/0026-hit-dispositions.md`). `verification::hits` has the rule.

use serde_json::json;
use store::attempts::{self, Attempt};
use store::dispositions;
use store::{Conn, Db, Scope, Tx, review};
use verification::hits::{Disposition, HitsRefusal, check_approval};
use verification::status::MAX_REASON;

use super::audit_trail::note;
use super::stored_hits::hits;
use crate::problem::{Kind, Problem};

/// A conclusion about one hit.
#[derive(Clone, Debug)]
pub struct HitConclusion {
    /// The hit's reference from [`super::stored_hits::hits`].
    pub hit: String,
    /// The conclusion.
    pub disposition: Disposition,
    /// Why.
    pub reason: String,
    /// Who recorded it.
    pub actor: String,
    /// When (ms).
    pub at: i64,
}

/// Every conclusion about an attempt's hits, oldest first. The last conclusion about a hit counts.
pub async fn of_attempt(
    conn: &mut Conn,
    scope: Scope,
    attempt: &Attempt,
) -> Result<Vec<HitConclusion>, Problem> {
    let read = |row: dispositions::HitDisposition| {
        let unknown = |()| Problem::from(store::Error::Unreadable("disposition of a hit"));
        Ok(HitConclusion {
            disposition: row.disposition.parse().map_err(unknown)?,
            hit: row.hit,
            reason: row.reason,
            actor: row.actor,
            at: row.at,
        })
    };
    let rows = dispositions::of_attempt(conn, scope, attempt).await?;
    rows.into_iter().map(read).collect()
}

/// The conclusion that counts for a hit.
pub fn latest<'a>(all: &'a [HitConclusion], hit: &str) -> Option<&'a HitConclusion> {
    all.iter().rev().find(|concluded| concluded.hit == hit)
}

/// Records a conclusion about a hit of an attempt. Dispositions cannot change while a decision needs a second
/// approval, so the second person confirms what the proposer saw.
pub async fn conclude(
    db: &Db,
    scope: Scope,
    log_id: i64,
    (hit, disposition, reason): (&str, &str, &str),
    actor: &str,
) -> Result<(), Problem> {
    let disposition = disposition.parse().map_err(|()| {
        let text = "disposition - must be same_person, other_person or unclear";
        Problem::invalid(text).named("disposition_required")
    })?;
    store::transaction!(db, |tx| -> Result<(), Problem> {
        let attempt = attempts::get_for_update(tx, scope, log_id)
            .await?
            .ok_or_else(|| Problem::not_found("No such attempt"))?;
        record(tx, scope, &attempt, (hit, disposition, reason), actor).await
    })
}

/// Does the same inside a transaction that has locked the attempt.
pub(super) async fn record(
    tx: &mut Tx,
    scope: Scope,
    attempt: &Attempt,
    (hit, disposition, reason): (&str, Disposition, &str),
    actor: &str,
) -> Result<(), Problem> {
    let reason = reason.trim();
    if reason.is_empty() || reason.chars().count() > MAX_REASON {
        let text = format!("reason - a disposition needs a reason of at most {MAX_REASON} characters");
        return Err(Problem::invalid(text).named("disposition_reason"));
    }
    let known = hits(attempt)?.0;
    if !known.iter().any(|reference| reference == hit) {
        let of_id = |reference: &&String| reference.rsplit_once('/').is_some_and(|(_, id)| id == hit);
        let shared: Vec<&str> = known.iter().filter(of_id).map(String::as_str).collect();
        if shared.is_empty() {
            return Err(Problem::not_found("The attempt has no such hit"));
        }
        let text = format!(
            "Several lists have an entry with this id. Name the hit with its list (`bonafide review approve … --disposition HIT=VALUE`): {}",
            shared.join(", ")
        );
        return Err(Problem::new(Kind::Conflict, text).named("hit_ambiguous"));
    }
    if review::proposal(tx, scope, attempt).await?.is_some() {
        let text = "A decision needs a second approval: confirm or reject it before you change a disposition";
        return Err(Problem::new(Kind::Conflict, text).named("disposition_frozen"));
    }
    let row = (hit, disposition.as_str(), reason);
    dispositions::add(tx, scope, attempt, row, actor).await?;
    // The row contains neither hit nor reason, because the audit trail contains no personal data.
    let detail = json!({"disposition": disposition.as_str()}).to_string();
    note(
        tx,
        scope,
        actor,
        "verification.hit_disposed",
        attempt.log_id,
        &detail,
    )
    .await
}

/// Whether an attempt's hits allow its approval.
///
/// # Errors
/// 409 with what is missing; 503 when hits or dispositions cannot be read.
pub async fn allow_approval(
    conn: &mut Conn,
    scope: Scope,
    attempt: &Attempt,
    reason: Option<&str>,
) -> Result<(), Problem> {
    let (ids, unlisted) = hits(attempt)?;
    let all = of_attempt(conn, scope, attempt).await?;
    let found: Vec<Option<Disposition>> = ids
        .iter()
        .map(|id| latest(&all, id).map(|concluded| concluded.disposition))
        .collect();
    let has_reason = reason.is_some_and(|reason| !reason.trim().is_empty());
    check_approval(&found, unlisted, has_reason).map_err(|refusal| match refusal {
        HitsRefusal::Undecided(_) => {
            Problem::new(Kind::Conflict, refusal.to_string()).named("hits_undecided")
        }
        HitsRefusal::Unclear => Problem::new(Kind::Conflict, refusal.to_string()).named("hit_unclear"),
        HitsRefusal::ReasonRequired => Problem::invalid(refusal.to_string()).named("approval_reason"),
    })
}
