//! Determines who counts as the second person.

use store::proposals;
use store::{Conn, Scope, Tx, staff};
use uuid::Uuid;

use super::change::MEMBER;
use crate::problem::{Kind, Problem};

/// Refuses proposals of a member who does not yet count as a separate person.
pub async fn may_propose(conn: &mut Conn, merchant_id: Uuid, staff_id: Option<Uuid>) -> Result<(), Problem> {
    let Some(staff_id) = staff_id else { return Ok(()) };
    let scope = Scope {
        merchant_id,
        sandbox: false,
    };
    if proposals::exists_with_prefix(conn, scope, MEMBER, &staff_id.to_string()).await? {
        let text = "A colleague must confirm that you are a separate person before your decisions count";
        return Err(Problem::new(Kind::Forbidden, text).named("not_counted"));
    }
    Ok(())
}

/// Refuses a second person who is the proposer, does not count, or joined after the proposal; and a proposal
/// whose proposer is no longer a member of the account.
pub async fn may_second(
    tx: &mut Tx,
    merchant_id: Uuid,
    (proposer, at): (Option<Uuid>, i64),
    staff_id: Uuid,
) -> Result<(), Problem> {
    let refuse = |slug, text: &str| Err(Problem::new(Kind::Forbidden, text).named(slug));
    if proposer == Some(staff_id) {
        return refuse("proposal_own", "A colleague must confirm your proposal");
    }
    may_propose(tx, merchant_id, Some(staff_id)).await?;
    // Locked, so that no member is shut out between this check and the act.
    staff::lock_member(tx, merchant_id, staff_id).await?;
    let member = staff::get_membership(tx, merchant_id, staff_id).await?;
    let Some(member) = member.filter(staff::Membership::is_active) else {
        return refuse("second_gone", "You are no longer a member of this account");
    };
    let Some(proposer) = proposer else { return Ok(()) };
    if member.created_at > at {
        let text = "You joined after this was proposed: a colleague who was already a member must confirm it";
        return refuse("second_too_new", text);
    }
    may_propose(tx, merchant_id, Some(proposer)).await?;
    let proposer = staff::get_membership(tx, merchant_id, proposer).await?;
    if !proposer.as_ref().is_some_and(staff::Membership::is_active) {
        let text =
            "The proposer is no longer a member of this account: reject the proposal and create a new one";
        return refuse("proposer_gone", text);
    }
    Ok(())
}
