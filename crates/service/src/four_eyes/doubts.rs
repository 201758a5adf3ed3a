//! Members who may not be separate people, and who may confirm them.

use store::{Scope, Tx, proposals, staff};
use uuid::Uuid;
use verification::four_eyes::{Act, Obstacle, needs_second_person};

use super::change::{Change, MEMBER, PendingProposal};
use super::proposals::{Subject, propose};
use super::required::of_account;
use super::second_person::{may_propose, refusal};
use crate::actor::{By, actor_name, staff_id as staff_of};
use crate::permissions::{Action, Role, may};
use crate::problem::{Kind, Problem};

/// Whether a role may decide.
fn decides(role: Role) -> bool {
    may(Some(role), false, Action::Decide)
}

/// Refuses members who confirm themselves, or a member to whom they gave access.
pub(super) async fn may_vouch(
    tx: &mut Tx,
    scope: Scope,
    waiting: &PendingProposal,
    staff_id: Uuid,
) -> Result<(), Problem> {
    if waiting.subject.starts_with(&staff_id.to_string()) || waiting.staff_id == Some(staff_id) {
        return Err(refusal(Obstacle::Subject));
    }
    if let Some(inviter) = let_in_by(&waiting.subject)
        && proposals::exists_with_prefix(tx, scope, MEMBER, &inviter.to_string()).await?
    {
        return Err(refusal(Obstacle::InviterNotCounted));
    }
    may_propose(tx, scope.merchant_id, Some(staff_id)).await
}

/// The member who gave access to a doubted member; `None`: the command line.
pub(super) fn let_in_by(subject: &str) -> Option<Uuid> {
    staff_of(subject.split_once(' ')?.1)
}

/// Whether a member other than `staff_id` can confirm a doubted member.
pub(super) async fn others_vouch(
    tx: &mut Tx,
    scope: Scope,
    waiting: &PendingProposal,
    staff_id: Uuid,
) -> Result<bool, Problem> {
    for one in staff::of_merchant(tx, scope.merchant_id).await? {
        let id = one.member.id;
        let is_another = id != staff_id && !waiting.subject.starts_with(&id.to_string());
        let may_act = one.is_active();
        if is_another
            && may_act
            && one.role.parse().is_ok_and(decides)
            && !proposals::exists_with_prefix(tx, scope, MEMBER, &id.to_string()).await?
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Refuses a change by which a member with the role `before` stops deciding, if fewer than two deciders would
/// remain where two people are required. Otherwise a member could demote the second decider and invite a
/// second login in that place.
pub async fn keep_two_deciders(tx: &mut Tx, merchant_id: Uuid, before: Role) -> Result<(), Problem> {
    if !decides(before) || !needs_second_person(Act::CountMember, of_account(tx, merchant_id).await?) {
        return Ok(());
    }
    let members = staff::of_merchant(tx, merchant_id).await?;
    let deciders = members
        .iter()
        .filter(|member| member.role.parse().is_ok_and(decides));
    if deciders.count() == 1 {
        let text = "Decisions here need two people: give another member a role that decides first";
        return Err(Problem::new(Kind::Conflict, text));
    }
    Ok(())
}

/// Puts in doubt that a member is a separate person, where two people are required. The member's decisions do
/// not count until a colleague other than `by` confirms the member. A new member of an account with fewer
/// than two deciders is not doubted, or there could never be a second one.
pub async fn record_doubt(
    tx: &mut Tx,
    merchant_id: Uuid,
    (staff_id, role): (Uuid, Role),
    (doubt, by): (&str, By<'_>),
) -> Result<(), Problem> {
    let state = of_account(tx, merchant_id).await?;
    if !needs_second_person(Act::CountMember, state) || !decides(role) {
        return Ok(());
    }
    let members = staff::of_merchant(tx, merchant_id).await?;
    // Members who were shut out count here. Otherwise, a member could shut out the second decider and invite
    // a second login.
    let others = members
        .iter()
        .filter(|member| member.member.id != staff_id && member.role.parse().is_ok_and(decides));
    if doubt != "password" && others.count() < 2 {
        return Ok(());
    }
    let change = Change::Member {
        doubt: doubt.to_owned(),
    };
    // One proposal for each colleague who could sign in as this member, because none of them may confirm the
    // member.
    let id = format!("{staff_id} {}", actor_name(by.staff_id));
    let subject = Subject {
        id: &id,
        name: "",
        attempt: None,
    };
    let scope = Scope {
        merchant_id,
        sandbox: false,
    };
    propose(tx, scope, change, subject, Vec::new(), by)
        .await
        .map(|_| ())
}
