//! Refuses members who do not count as the second person. `verification::four_eyes` has the rule.

use store::proposals;
use store::{Conn, Scope, Tx, staff};
use uuid::Uuid;
use verification::four_eyes::{Confirmer, Obstacle, Proposer, obstacle};

use super::change::MEMBER;
use crate::problem::{Kind, Problem};

/// Refuses proposals of a member who does not yet count as a separate person.
pub async fn may_propose(conn: &mut Conn, merchant_id: Uuid, staff_id: Option<Uuid>) -> Result<(), Problem> {
    let Some(staff_id) = staff_id else { return Ok(()) };
    if counts(conn, merchant_id, staff_id).await? {
        return Ok(());
    }
    Err(refusal(Obstacle::NotCounted))
}

/// Whether no proposal about the member is pending.
async fn counts(conn: &mut Conn, merchant_id: Uuid, staff_id: Uuid) -> Result<bool, Problem> {
    let scope = Scope {
        merchant_id,
        sandbox: false,
    };
    Ok(!proposals::exists_with_prefix(conn, scope, MEMBER, &staff_id.to_string()).await?)
}

/// Refuses a second person whom `verification::four_eyes` does not accept.
pub async fn may_second(
    tx: &mut Tx,
    merchant_id: Uuid,
    (proposer, at): (Option<Uuid>, i64),
    staff_id: Uuid,
) -> Result<(), Problem> {
    // Locked, so that no member is shut out between this check and the act.
    staff::lock_member(tx, merchant_id, staff_id).await?;
    let proposer = match proposer {
        None => Proposer::CommandLine,
        Some(id) => confirmer(tx, merchant_id, id)
            .await?
            .map_or(Proposer::Gone(id), Proposer::Member),
    };
    let reason = match confirmer(tx, merchant_id, staff_id).await? {
        None => Some(Obstacle::Role),
        Some(member) => obstacle(proposer, at, member),
    };
    reason.map_or(Ok(()), |reason| Err(refusal(reason)))
}

/// A member with access.
async fn confirmer(tx: &mut Tx, merchant_id: Uuid, id: Uuid) -> Result<Option<Confirmer>, Problem> {
    let member = staff::get_membership(tx, merchant_id, id).await?;
    let Some(member) = member.filter(staff::Membership::is_active) else {
        return Ok(None);
    };
    Ok(Some(Confirmer {
        id,
        joined_at: member.created_at,
        counts: counts(tx, merchant_id, id).await?,
    }))
}

pub(super) fn refusal(reason: Obstacle) -> Problem {
    let (slug, text) = match reason {
        Obstacle::Own => ("proposal_own", "A colleague must confirm your proposal"),
        Obstacle::Subject => ("proposal_own", "A different colleague must confirm this member"),
        Obstacle::Role => ("second_gone", "You are no longer a member of this account"),
        Obstacle::NotCounted => (
            "not_counted",
            "A colleague must confirm that you are a separate person before your decisions count",
        ),
        Obstacle::InviterNotCounted => (
            "inviter_not_counted",
            "The colleague who gave this member access must be confirmed first",
        ),
        Obstacle::TooNew => (
            "second_too_new",
            "You joined after this was proposed: a colleague who was already a member must confirm it",
        ),
        Obstacle::ProposerGone => (
            "proposer_gone",
            "The proposer is no longer a member of this account: reject the proposal and create a new one",
        ),
        Obstacle::ProposerNotCounted => (
            "proposer_not_counted",
            "A colleague must first confirm that the proposer is a separate person",
        ),
    };
    Problem::new(Kind::Forbidden, text).named(slug)
}
