//! A second person's answers to proposals, and carrying out confirmed acts.

use serde_json::json;
use store::{Db, Scope, Tx, proposals};
use uuid::Uuid;

use super::change::{Change, PendingProposal};
use super::doubts::{may_vouch, others_vouch};
use super::proposals::{check_version, get, note};
use super::second_person::{may_propose, may_second};
use crate::actor::actor_name;
use crate::merging::{self, MergeRequest};
use crate::problem::{Kind, Problem};
use crate::splitting::{self, SplitRequest};
use crate::{alerts, flows, merchants, suppressions};

/// The result of a second person's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerOutcome {
    /// The act was carried out.
    Done,
    /// The command line had proposed the act; the person who agreed became the proposer.
    Adopted,
    /// The proposal was rejected or withdrawn.
    Dropped,
}

/// A second person confirms an act, which is then carried out in the same transaction, or rejects it. The
/// proposer can only withdraw it. An act is refused if its subject has changed since it was proposed. `seen`
/// is when the act was proposed or supported, as the page showed it.
pub async fn answer(
    db: &Db,
    scope: Scope,
    id: Uuid,
    (agrees, seen): (bool, i64),
    (staff_id, actor): (Uuid, &str),
) -> Result<AnswerOutcome, Problem> {
    store::transaction!(db, |tx| -> Result<AnswerOutcome, Problem> {
        let (scope, waiting) = get(tx, scope, id).await?;
        if agrees && waiting.change.identifies() {
            store::faces::lock(tx, scope).await?;
        }
        check_version(waiting.at, seen)?;
        let is_own = waiting.staff_id == Some(staff_id);
        let kind = waiting.change.kind();
        let detail = json!({"act": kind, "proposedBy": actor_name(waiting.staff_id)}).to_string();
        if agrees {
            let is_member = matches!(waiting.change, Change::Member { .. });
            if is_member {
                may_vouch(tx, scope, &waiting, staff_id).await?;
            } else {
                may_second(tx, scope.merchant_id, (waiting.staff_id, waiting.at), staff_id).await?;
            }
            // The person who confirms may be the one who typed the command, so two people confirm if there
            // are two.
            let needs_two = !is_member || others_vouch(tx, scope, &waiting, staff_id).await?;
            if waiting.staff_id.is_none() && needs_two {
                if !proposals::set_proposer(tx, scope, id, staff_id).await? {
                    return Err(
                        Problem::not_found("This proposal is no longer pending").named("proposal_gone")
                    );
                }
                note(tx, scope, actor, "change.adopted", &id, &detail).await?;
                return Ok(AnswerOutcome::Adopted);
            }
        }
        if !agrees && !is_own {
            // A member who does not count as a separate person must not hold up a colleague's act either.
            may_propose(tx, scope.merchant_id, Some(staff_id)).await?;
        }
        if !proposals::take(tx, scope, id).await? {
            let text = "This proposal is no longer pending";
            return Err(Problem::not_found(text).named("proposal_gone"));
        }
        if !agrees {
            if matches!(waiting.change, Change::Member { .. }) {
                let text = "A member cannot be rejected. Confirm the member, or remove the member's access";
                return Err(Problem::invalid(text).named("member_in_doubt"));
            }
            let action = if is_own {
                "change.withdrawn"
            } else {
                "change.rejected"
            };
            note(tx, scope, actor, action, &id, &detail).await?;
            return Ok(AnswerOutcome::Dropped);
        }
        carry_out(tx, scope, &waiting, (staff_id, actor)).await?;
        note(tx, scope, actor, "change.confirmed", &id, &detail).await?;
        Ok(AnswerOutcome::Done)
    })
}

/// The refusal of an act whose subject has changed.
fn stale() -> Problem {
    let text = "The subject of this proposal has changed in the meantime: reject it and create a new one";
    Problem::new(Kind::Conflict, text).named("proposal_stale")
}

async fn carry_out(
    tx: &mut Tx,
    scope: Scope,
    waiting: &PendingProposal,
    (staff_id, actor): (Uuid, &str),
) -> Result<(), Problem> {
    match &waiting.change {
        Change::SetAside { hit, why } => {
            let (Some(log_id), Some(proposer)) = (waiting.log_id, waiting.staff_id) else {
                return Err(Problem::internal("a hit is set aside on an attempt, by a person"));
            };
            suppressions::confirm(tx, scope, log_id, (hit, why), (proposer, staff_id), actor).await
        }
        Change::CloseAlert {
            alert,
            why,
            reason,
            seen,
        } => {
            let proposer = waiting
                .staff_id
                .ok_or_else(|| Problem::internal("an alert is closed by a person"))?;
            alerts::confirm(
                tx,
                scope,
                (*alert, *seen),
                (why, reason),
                (proposer, staff_id),
                actor,
            )
            .await
        }
        Change::MergePeople {
            kept,
            merged,
            reason,
            seen,
        } => {
            let proposer = waiting
                .staff_id
                .ok_or_else(|| Problem::internal("people are merged by a person"))?;
            let request = MergeRequest {
                people: (*kept, *merged),
                version: seen,
                reason,
            };
            merging::confirm(tx, scope, &request, (proposer, staff_id), actor).await
        }
        Change::SplitPerson {
            person,
            registrations,
            log_ids,
            reason,
            seen,
            faces,
        } => {
            let proposer = waiting
                .staff_id
                .ok_or_else(|| Problem::internal("people are split by a person"))?;
            let request = SplitRequest {
                facemap_id: *person,
                registrations,
                log_ids,
                version: seen,
                reason,
            };
            splitting::confirm(tx, scope, &request, faces, (proposer, staff_id), actor).await
        }
        Change::Flow {
            flow_id,
            seen,
            content,
        } => {
            let flow = store::flows::get_for_update(tx, scope, *flow_id).await?;
            flow.filter(|flow| flow.updated_at == *seen).ok_or_else(stale)?;
            flows::replace_content(tx, scope, *flow_id, content, actor)
                .await
                .map(|_| ())
        }
        Change::NewFlow { content } => flows::create_within_plan(tx, scope, content, actor)
            .await
            .map(|_| ()),
        Change::Settings { before, after } => {
            let merchant = store::merchants::get_for_update(tx, scope.merchant_id).await?;
            merchant
                .filter(|merchant| merchant.settings == *before)
                .ok_or_else(stale)?;
            merchants::put_settings(tx, scope.merchant_id, after, actor).await
        }
        Change::Member { .. } => Ok(()),
    }
}
