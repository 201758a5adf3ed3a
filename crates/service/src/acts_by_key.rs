//! What an API key with permissions does to people: it reads the evidence of an attempt, decides, writes notes, erases and
//! exports. `key_permissions` decides whether it may, and `verification::four_eyes` what becomes of a decision.

use std::io;

use bytes::Bytes;
use futures_util::Stream;
use serde_json::{Value, json};
use store::attempts::{self, Attempt};
use store::review;
use uuid::Uuid;
use verification::request_by_key::{DecisionByKey, NoteByKey};
use verification::status::{AttemptStatus, DecisionError, apply_decision};

use super::{
    App, Shared, applicant_view, attempt_detail, dispositions, erasure, pictures, reviews, subject_access,
};
use crate::actor::of_key;
use crate::caller::Caller;
use crate::dispositions::HitConclusion;
use crate::erasure::Erased;
use crate::key_permissions::{KeyAct, check, responsible};
use crate::pictures::Original;
use crate::problem::Problem;
use crate::reviews::{DecisionRequest, Outcome};

/// Everything that reviewers see about an attempt beside the submission and the response.
pub struct Evidence {
    /// The attempt.
    pub attempt: Attempt,
    /// The version of its state, for a decision on exactly this state.
    pub version: i64,
    /// The measures and comparisons, without biometric templates.
    pub findings: Value,
    /// The decisions, oldest first.
    pub decisions: Vec<attempts::Decision>,
    /// The decision that waits for people, if any.
    pub proposal: Option<review::Proposal>,
    /// The notes, oldest first.
    pub notes: Vec<review::Note>,
    /// The conclusions about hits.
    pub conclusions: Vec<HitConclusion>,
    /// The names of its files.
    pub files: Vec<String>,
}

/// The evidence of an attempt. The audit trail records that it was read.
///
/// # Errors
/// 403 without the permission; 404 for an unknown attempt; 503 if a record cannot be read.
pub async fn evidence(app: &App, caller: &Caller, log_id: &str) -> Result<Evidence, Problem> {
    check(caller, KeyAct::ReadEvidence)?;
    let scope = caller.scope;
    let mut conn = app.db.read().await?;
    let attempt = attempts::get(&mut conn, scope, number(log_id)?)
        .await?
        .ok_or_else(missing)?;
    let proposal = review::proposal(&mut conn, scope, &attempt).await?;
    let conclusions = dispositions::of_attempt(&mut conn, scope, &attempt).await?;
    let mut evidence = Evidence {
        version: reviews::version(&attempt, proposal.as_ref(), &conclusions),
        findings: attempt_detail::for_reviewers(&attempt)?,
        decisions: attempts::decisions(&mut conn, scope, &attempt).await?,
        notes: review::notes(&mut conn, scope, &attempt).await?,
        proposal,
        conclusions,
        files: Vec::new(),
        attempt,
    };
    drop(conn);
    evidence.files = app.objects.files(scope, evidence.attempt.id).await?;
    evidence.files.retain(|file| pictures::is_file(file));
    evidence.files.sort();
    applicant_view::record_view(app, scope, &caller.key, log_id, &json!({})).await?;
    Ok(evidence)
}

/// One file of an attempt, as it was uploaded. The audit trail records that it was read.
///
/// # Errors
/// 403 without the permission; 404 for an unknown attempt or file.
pub async fn file(app: &App, caller: &Caller, log_id: &str, name: &str) -> Result<Original, Problem> {
    check(caller, KeyAct::ReadEvidence)?;
    let original = pictures::original(app, caller.scope, number(log_id)?, name).await?;
    let detail = json!({"file": name, "saved": true});
    applicant_view::record_view(app, caller.scope, &caller.key, log_id, &detail).await?;
    Ok(original)
}

/// Declines an attempt, or proposes a decision that people must confirm. A repetition of the same decision by the same
/// key changes nothing and has the same outcome.
///
/// # Errors
/// 403 without the permission, or for a decision that only a person may make; 404 for an unknown attempt; otherwise as
/// [`reviews::decide`].
pub async fn decide(
    app: &App,
    caller: &Caller,
    log_id: &str,
    wish: &DecisionByKey,
) -> Result<(Outcome, AttemptStatus), Problem> {
    let mut conn = app.db.read().await?;
    responsible(&mut conn, caller, KeyAct::Decide, wish.reviewer).await?;
    let actor = of_key(&caller.key, wish.reviewer);
    let log_id = number(log_id)?;
    let attempt = attempts::get(&mut conn, caller.scope, log_id)
        .await?
        .ok_or_else(missing)?;
    let decided = apply_decision(wish.decision, attempt.status, wish.reason.as_deref());
    if decided == Err(DecisionError::ReasonRequired) {
        let fault = "reason - is required to decline";
        return Err(Problem::validation(vec![fault.into()]));
    }
    if let Some(outcome) = repeated(&mut conn, caller, &attempt, (wish, &actor)).await? {
        return Ok((outcome, attempt.status));
    }
    drop(conn);
    let request = DecisionRequest {
        log_id,
        decision: wish.decision,
        reason: wish.reason.as_deref(),
        actor: &actor,
        staff_id: None,
        reviewer: Some(wish.reviewer),
        version: wish.version,
        dispositions: &[],
    };
    let outcome = reviews::decide(&app.db, &app.faces, caller.scope, &request).await?;
    let status = match outcome {
        Outcome::Decided(status) => status,
        Outcome::Proposed => attempt.status,
    };
    Ok((outcome, status))
}

/// The outcome of an identical decision that is already recorded.
async fn repeated(
    conn: &mut store::Conn,
    caller: &Caller,
    attempt: &Attempt,
    (wish, actor): (&DecisionByKey, &str),
) -> Result<Option<Outcome>, Problem> {
    let proposal = review::proposal(conn, caller.scope, attempt).await?;
    if let Some(proposal) = proposal {
        let is_same = proposal.decision == wish.decision
            && proposal.staff_id.is_none()
            && proposal.key_actor.as_deref() == Some(actor)
            && proposal.reason == wish.reason;
        return Ok(is_same.then_some(Outcome::Proposed));
    }
    let decisions = attempts::decisions(conn, caller.scope, attempt).await?;
    let is_same = decisions.last().is_some_and(|last| {
        last.decision == wish.decision && last.actor == actor && last.reason == wish.reason
    });
    Ok((is_same && attempt.status == AttemptStatus::Declined).then_some(Outcome::Decided(attempt.status)))
}

/// Adds a note to an attempt, in the name of a member.
///
/// # Errors
/// 403 without the permission; 404 for an unknown attempt; 400 for an empty or too long note.
pub async fn add_note(app: &App, caller: &Caller, log_id: &str, note: &NoteByKey) -> Result<(), Problem> {
    let mut conn = app.db.read().await?;
    responsible(&mut conn, caller, KeyAct::Decide, note.reviewer).await?;
    drop(conn);
    let actor = of_key(&caller.key, note.reviewer);
    let by = (note.reviewer, actor.as_str());
    reviews::add_note(&app.db, caller.scope, number(log_id)?, by, &note.text).await
}

/// Erases a person. A repetition finishes what an earlier request could not.
///
/// # Errors
/// 403 without the permission; otherwise as [`erasure::erase`].
pub async fn erase(
    app: &Shared,
    caller: &Caller,
    facemap_id: &str,
    reviewer: Uuid,
) -> Result<Erased, Problem> {
    let mut conn = app.db.read().await?;
    responsible(&mut conn, caller, KeyAct::Erase, reviewer).await?;
    drop(conn);
    let actor = of_key(&caller.key, reviewer);
    let (app, scope, facemap_id) = (app.clone(), caller.scope, facemap(facemap_id)?);
    erasure::in_background(app, scope, facemap_id, actor).await
}

/// All data about a person as a ZIP file, which is created while it is sent.
///
/// # Errors
/// 403 without the permission; otherwise as [`subject_access::export`].
pub async fn export(
    app: &Shared,
    caller: &Caller,
    facemap_id: &str,
    reviewer: Uuid,
) -> Result<impl Stream<Item = io::Result<Bytes>> + use<>, Problem> {
    let mut conn = app.db.read().await?;
    responsible(&mut conn, caller, KeyAct::Export, reviewer).await?;
    drop(conn);
    let actor = of_key(&caller.key, reviewer);
    subject_access::export(app, caller.scope, facemap(facemap_id)?, &actor).await
}

fn number(log_id: &str) -> Result<i64, Problem> {
    log_id.parse().map_err(|_| missing())
}

fn missing() -> Problem {
    Problem::not_found("No such attempt in this account")
}

fn facemap(id: &str) -> Result<Uuid, Problem> {
    id.parse()
        .map_err(|_| Problem::not_found("No such person in this account"))
}
