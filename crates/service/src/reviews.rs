//! Manual decisions (`docs/decisions/0016-manual-decisions.md`), and the registration status that follows
//! from attempts. `verification::status` has the rules.

use serde_json::json;
use store::attempts::{self, Attempt};
use store::review::{self, Filter, Proposal, QueueOrder, QueuePosition};
use store::{Conn, Db, Scope, Tx, registrations, rescreenings};
use uuid::Uuid;
use verification::four_eyes::{Act, KeyEffect, effect_by_key, needs_second_person};
use verification::hits::Disposition;
use verification::status::{
    AttemptStatus, Decision, DecisionError, MAX_NOTE, MAX_REASON, StatusEvent, apply_decision,
    registration_status,
};

use super::audit_trail::note;
use super::dispositions::{self, HitConclusion};
use super::face_replicas::{FaceReplicas, Replica};
use super::{events, four_eyes, held_faces, sessions};
use crate::problem::{Kind, Problem};

/// Attempts that await a review, oldest first.
pub async fn pending(db: &Db, scope: Scope, after: i64, limit: i64) -> Result<Vec<Attempt>, Problem> {
    Ok(attempts::pending(&mut db.read().await?, scope, after, limit).await?)
}

/// A reviewer's request to decide on an attempt.
#[derive(Clone, Copy, Debug)]
pub struct DecisionRequest<'a> {
    /// The attempt.
    pub log_id: i64,
    /// The decision.
    pub decision: Decision,
    /// The reason; required to decline.
    pub reason: Option<&'a str>,
    /// The actor, for the decision and the audit trail.
    pub actor: &'a str,
    /// The actor's id if it is a member of staff, for claims and four eyes.
    pub staff_id: Option<Uuid>,
    /// The member whom the request of an API key names as responsible; `None`: no key decides.
    pub reviewer: Option<Uuid>,
    /// The [`version`] that was reviewed; `None`: the current one.
    pub version: Option<i64>,
    /// Dispositions of hits that are recorded with the decision, each with its reason.
    pub dispositions: &'a [(String, Disposition)],
}

/// The result of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is decided.
    Decided(AttemptStatus),
    /// A second person must confirm it.
    Proposed,
}

/// The result of a second person's answer to a proposal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecondOutcome {
    /// The proposal was carried out.
    Decided(AttemptStatus),
    /// No person had proposed it: this person is now its proposer, and another one must confirm it.
    Adopted,
    /// The proposal was rejected, or withdrawn by its proposer.
    Dropped,
}

/// A proposer's name in the audit trail.
pub fn proposer(proposal: &Proposal) -> String {
    match (&proposal.staff_id, &proposal.key_actor) {
        (None, Some(key_actor)) => key_actor.clone(),
        _ => four_eyes::actor_name(proposal.staff_id),
    }
}

/// A version of an attempt's state for decisions. A decision that was made on one state must not apply to
/// another.
pub fn version(attempt: &Attempt, proposal: Option<&Proposal>, concluded: &[HitConclusion]) -> i64 {
    attempt
        .decided_at
        .unwrap_or(0)
        .max(proposal.map_or(0, |proposal| proposal.at))
        .max(concluded.iter().map(|one| one.at).max().unwrap_or(0))
}

/// The audit action of a decision that was carried out.
fn audit_action(decision: Decision) -> &'static str {
    match decision {
        Decision::Approve => "verification.approved",
        Decision::Decline => "verification.declined",
        Decision::Reopen => "verification.reopened",
    }
}

/// Decides on an attempt: updates its status and the registration's, and writes an audit row and a webhook
/// event, in one transaction. Where two people are required, the first person's decision becomes a proposal.
/// If two people decide at once, the second is refused.
pub async fn decide(
    db: &Db,
    faces: &FaceReplicas,
    scope: Scope,
    wish: &DecisionRequest<'_>,
) -> Result<Outcome, Problem> {
    let mut replica = match wish.decision {
        Decision::Approve => held_faces::replica_for(db, faces, scope, wish.log_id).await?,
        Decision::Decline | Decision::Reopen => None,
    };
    store::transaction!(db, |tx| -> Result<Outcome, Problem> {
        let (attempt, proposal) = lock_reviewed_attempt(tx, scope, wish.log_id, wish.version).await?;
        may_decide(tx, scope, wish).await?;
        // An impossible decision is refused before it becomes a proposal.
        status_after(&attempt, wish)?;
        if let Some(proposal) = &proposal {
            let (slug, text) = if proposal.decision == wish.decision {
                ("proposed", "A decision is proposed already: confirm or reject it")
            } else {
                (
                    "proposed_other",
                    "Another decision is proposed already: confirm or reject it first",
                )
            };
            return Err(Problem::new(Kind::Conflict, text).named(slug));
        }
        for (hit, disposition) in wish.dispositions {
            let row = (hit.as_str(), *disposition, wish.reason.unwrap_or_default());
            dispositions::record(tx, scope, &attempt, row, wish.actor).await?;
        }
        if wish.decision == Decision::Approve {
            dispositions::allow_approval(tx, scope, &attempt, wish.reason).await?;
        }
        let act = Act::of_decision(wish.decision, attempt.status == AttemptStatus::Declined);
        let state = four_eyes::of_attempt(tx, scope, &attempt).await?;
        let is_proposal = match wish.reviewer.map(|_| effect_by_key(act, state)) {
            None => needs_second_person(act, state),
            Some(KeyEffect::Propose) => true,
            Some(KeyEffect::CarryOut) => false,
            Some(KeyEffect::Refuse) => {
                let text = "Only a person may do this, in the portal";
                return Err(Problem::new(Kind::Forbidden, text).named("not_by_key"));
            }
        };
        if is_proposal {
            four_eyes::may_propose(tx, scope.merchant_id, wish.staff_id).await?;
            let key_actor = wish.reviewer.map(|_| wish.actor);
            let by = (wish.staff_id, key_actor);
            review::propose(tx, scope, &attempt, wish.decision, by, wish.reason).await?;
            if wish.staff_id.is_some() {
                review::release(tx, scope, wish.log_id, wish.staff_id).await?;
            }
            let detail = json!({"decision": wish.decision}).to_string();
            note(
                tx,
                scope,
                wish.actor,
                "verification.decision_proposed",
                wish.log_id,
                &detail,
            )
            .await?;
            return Ok(Outcome::Proposed);
        }
        carry_out(tx, replica.as_deref_mut(), scope, &attempt, wish, "{}")
            .await
            .map(Outcome::Decided)
    })
}

/// A second person confirms a proposed decision, which is then carried out, or rejects it. The proposer can
/// only withdraw it.
pub async fn second(
    db: &Db,
    faces: &FaceReplicas,
    scope: Scope,
    log_id: i64,
    confirmed: bool,
    (staff_id, actor): (Uuid, &str),
    version: Option<i64>,
) -> Result<SecondOutcome, Problem> {
    let mut replica = match confirmed {
        true => held_faces::replica_for(db, faces, scope, log_id).await?,
        false => None,
    };
    store::transaction!(db, |tx| -> Result<SecondOutcome, Problem> {
        let (attempt, proposal) = lock_reviewed_attempt(tx, scope, log_id, version).await?;
        let proposal = proposal.ok_or_else(|| {
            Problem::new(Kind::Conflict, "The proposed decision is no longer pending").named("proposal_gone")
        })?;
        let own = proposal.staff_id == Some(staff_id);
        if confirmed {
            four_eyes::may_second(tx, scope.merchant_id, (proposal.staff_id, proposal.at), staff_id).await?;
        } else if !own {
            four_eyes::may_propose(tx, scope.merchant_id, Some(staff_id)).await?;
        }
        let wish = DecisionRequest {
            log_id,
            decision: proposal.decision,
            reason: proposal.reason.as_deref(),
            actor,
            staff_id: Some(staff_id),
            reviewer: None,
            version: None,
            dispositions: &[],
        };
        may_decide(tx, scope, &wish).await?;
        let proposer = proposer(&proposal);
        let detail = json!({"decision": proposal.decision, "proposedBy": proposer}).to_string();
        let act = Act::of_decision(proposal.decision, attempt.status == AttemptStatus::Declined);
        let needs_two = needs_second_person(act, four_eyes::of_attempt(tx, scope, &attempt).await?);
        if confirmed && proposal.staff_id.is_none() && needs_two {
            // Neither the command line nor an API key counts as a person: the first person who agrees becomes the
            // proposer, and a second one confirms.
            review::set_proposer(tx, scope, log_id, staff_id).await?;
            // The proposer has nothing more to do here: their claim must not hold up the second person.
            review::release(tx, scope, log_id, Some(staff_id)).await?;
            note(tx, scope, actor, "verification.proposal_adopted", log_id, &detail).await?;
            return Ok(SecondOutcome::Adopted);
        }
        if !review::drop_proposal(tx, scope, log_id).await? {
            let text = "The proposed decision is no longer pending";
            return Err(Problem::new(Kind::Conflict, text).named("proposal_gone"));
        }
        if !confirmed {
            let action = if own {
                "verification.proposal_withdrawn"
            } else {
                "verification.proposal_rejected"
            };
            note(tx, scope, actor, action, log_id, &detail).await?;
            return Ok(SecondOutcome::Dropped);
        }
        carry_out(tx, replica.as_deref_mut(), scope, &attempt, &wish, &detail)
            .await
            .map(SecondOutcome::Decided)
    })
}

/// Locks the account's serial step and reads the attempt with its proposal. It is a conflict if the attempt
/// is no longer in the reviewed state.
async fn lock_reviewed_attempt(
    tx: &mut Tx,
    scope: Scope,
    log_id: i64,
    seen: Option<i64>,
) -> Result<(Attempt, Option<Proposal>), Problem> {
    let attempt = attempts::get_for_update(tx, scope, log_id)
        .await?
        .ok_or_else(|| Problem::not_found(format!("no attempt {log_id} in this account")))?;
    let proposal = review::proposal(tx, scope, &attempt).await?;
    let concluded = dispositions::of_attempt(tx, scope, &attempt).await?;
    if seen.is_some_and(|seen| seen != version(&attempt, proposal.as_ref(), &concluded)) {
        let text = "Someone has decided this attempt since you opened it. Review it again";
        return Err(Problem::new(Kind::Conflict, text).named("decided_meanwhile"));
    }
    Ok((attempt, proposal))
}

/// Refuses a decision on an attempt that a colleague has claimed.
async fn may_decide(tx: &mut Tx, scope: Scope, wish: &DecisionRequest<'_>) -> Result<(), Problem> {
    let claim = review::claim_of(tx, scope, wish.log_id).await?;
    match (claim, wish.staff_id.or(wish.reviewer)) {
        (Some(claim), Some(staff_id)) if claim.staff_id != staff_id => {
            let text = "A colleague is reviewing this attempt. Take it over first";
            Err(Problem::new(Kind::Conflict, text).named("claimed"))
        }
        _ => Ok(()),
    }
}

/// Whether an approval of an attempt needs a second person.
pub async fn approval_needs_second_person(
    conn: &mut Conn,
    scope: Scope,
    attempt: &Attempt,
) -> Result<bool, Problem> {
    let state = four_eyes::of_attempt(conn, scope, attempt).await?;
    Ok(needs_second_person(Act::Approve, state))
}

fn status_after(attempt: &Attempt, wish: &DecisionRequest<'_>) -> Result<AttemptStatus, Problem> {
    if wish
        .reason
        .is_some_and(|reason| reason.chars().count() > MAX_REASON)
    {
        let text = format!("reason - must have at most {MAX_REASON} characters");
        return Err(Problem::invalid(text).named("reason_length"));
    }
    apply_decision(wish.decision, attempt.status, wish.reason).map_err(|error| {
        let slug = match error {
            DecisionError::NoChange(_) => "no_change",
            DecisionError::ReasonRequired => "reason_required",
        };
        Problem::invalid(error.to_string()).named(slug)
    })
}

async fn carry_out(
    tx: &mut Tx,
    replica: Option<&mut Replica>,
    scope: Scope,
    attempt: &Attempt,
    wish: &DecisionRequest<'_>,
    detail: &str,
) -> Result<AttemptStatus, Problem> {
    let status = status_after(attempt, wish)?;
    if status == AttemptStatus::Approved {
        dispositions::allow_approval(tx, scope, attempt, wish.reason).await?;
    }
    // `lock_reviewed_attempt` began the account's serial step.
    let attempt = match status {
        AttemptStatus::Approved => &held_faces::prove(tx, replica, scope, attempt).await?,
        AttemptStatus::Declined => &held_faces::unbind(tx, scope, attempt).await?,
        _ => attempt,
    };
    attempts::decide(tx, scope, attempt, status, wish.decision, wish.actor, wish.reason).await?;
    if let Some(registration_id) = attempt.registration_id
        && refresh_status(tx, scope, registration_id).await? == Some(AttemptStatus::Approved)
    {
        // The lists may have changed since its attempts were screened, or while it was not approved.
        rescreenings::request(tx, scope, attempt.facemap_id).await?;
    }
    if let Some(session_id) = attempt.session_id {
        sessions::apply_decision(tx, scope, session_id, wish.log_id, status).await?;
    }
    review::release(tx, scope, wish.log_id, None).await?;
    let action = audit_action(wish.decision);
    note(tx, scope, wish.actor, action, wish.log_id, detail).await?;
    events::announce(tx, scope, attempt, events::REVIEW_DECIDED, status).await?;
    Ok(status)
}

/// How long a claim lasts.
const CLAIM_MS: i64 = 10 * 60 * 1_000;

/// Claims an attempt for a member of staff. Returns false if a colleague has claimed it. With `take_over` it
/// succeeds in any case, and a takeover is recorded in the audit trail.
pub async fn claim(
    db: &Db,
    scope: Scope,
    log_id: i64,
    (staff_id, actor): (Uuid, &str),
    take_over: bool,
) -> Result<bool, Problem> {
    store::transaction!(db, |tx| -> Result<bool, Problem> {
        attempts::get(tx, scope, log_id)
            .await?
            .ok_or_else(|| Problem::not_found("No such attempt"))?;
        let until = tx.now() + CLAIM_MS;
        if review::claim(tx, scope, log_id, staff_id, until).await? {
            return Ok(true);
        }
        if !take_over {
            return Ok(false);
        }
        let from = review::claim_of(tx, scope, log_id).await?;
        review::take_over(tx, scope, log_id, staff_id, until).await?;
        let detail = json!({"from": from.map(|claim| format!("staff:{}", claim.staff_id))}).to_string();
        note(tx, scope, actor, "review.taken_over", log_id, &detail).await?;
        Ok(true)
    })
}

/// Ends the member's own claim; 404 for an unknown attempt.
pub async fn release(db: &Db, scope: Scope, log_id: i64, staff_id: Uuid) -> Result<(), Problem> {
    store::transaction!(db, |tx| -> Result<(), Problem> {
        attempts::get(tx, scope, log_id)
            .await?
            .ok_or_else(|| Problem::not_found("No such attempt"))?;
        Ok(review::release(tx, scope, log_id, Some(staff_id)).await?)
    })
}

/// Claims the first unclaimed attempt of a filtered queue, except the member's own proposals (they await
/// another person) and `not`. `None`: no attempt is left.
pub async fn claim_next(
    db: &Db,
    scope: Scope,
    filter: &Filter,
    order: QueueOrder,
    (staff_id, actor): (Uuid, &str),
    not: Option<i64>,
) -> Result<Option<i64>, Problem> {
    let filter = Filter {
        unclaimed: true,
        claimed_by: None,
        not_proposed_by: Some(staff_id),
        ..filter.clone()
    };
    let page = review::queue(
        &mut db.read().await?,
        scope,
        &filter,
        order,
        QueuePosition::default(),
        10,
    )
    .await?;
    for waiting in page.iter().filter(|waiting| Some(waiting.log_id) != not) {
        if claim(db, scope, waiting.log_id, (staff_id, actor), false).await? {
            return Ok(Some(waiting.log_id));
        }
    }
    Ok(None)
}

/// Adds a reviewer's note to an attempt.
pub async fn add_note(
    db: &Db,
    scope: Scope,
    log_id: i64,
    (staff_id, actor): (Uuid, &str),
    text: &str,
) -> Result<(), Problem> {
    let text = text.trim();
    if text.is_empty() || text.chars().count() > MAX_NOTE {
        let text = format!("note - must have 1 to {MAX_NOTE} characters");
        return Err(Problem::invalid(text).named("note_length"));
    }
    store::transaction!(db, |tx| -> Result<(), Problem> {
        let attempt = attempts::get(tx, scope, log_id)
            .await?
            .ok_or_else(|| Problem::not_found("No such attempt"))?;
        review::add_note(tx, scope, &attempt, staff_id, text).await?;
        note(tx, scope, actor, "review.noted", log_id, "{}").await
    })
}

/// Sets a registration's status from its attempts, and returns it.
pub async fn refresh_status(
    tx: &mut Tx,
    scope: Scope,
    registration_id: Uuid,
) -> Result<Option<AttemptStatus>, Problem> {
    // Oldest first: of equal times the later attempt wins. An attempt with an unreadable status is an error,
    // because the others alone could make the person approved.
    let outcomes = attempts::outcomes(tx, scope, registration_id).await?;
    let events: Vec<StatusEvent> = outcomes
        .iter()
        .rev()
        .map(|outcome| StatusEvent {
            status: outcome.status,
            at: outcome.decided_at.unwrap_or(outcome.created_at),
        })
        .collect();
    let status = registration_status(&events);
    registrations::set_status(tx, scope, registration_id, status).await?;
    Ok(status)
}
