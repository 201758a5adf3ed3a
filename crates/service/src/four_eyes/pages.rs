//! Determines, for the pages that list pending proposals, whether a proposal is outdated and why a member may
//! not confirm it.
//!
//! This module only reads; `verification::four_eyes` decides. [`super::answer`] and `reviews::second` refuse invalid answers, each in its own
//! transaction.

use std::collections::BTreeSet;

use store::proposals;
use store::review::Proposal;
use store::staff;
use store::{Conn, Scope};
use uuid::Uuid;
pub use verification::four_eyes::Obstacle;
use verification::four_eyes::{Act, Confirmer, FourEyesScope, Proposer, needs_second_person, obstacle};
use verification::status::AttemptStatus;

use super::change::{Change, MEMBER, PendingProposal};
use super::doubts::let_in_by;
use crate::merging::Pair;
use crate::permissions::{Action, Role, may};
use crate::problem::Problem;
use crate::splitting::Divisible;

/// Why an act cannot be confirmed by any member: its subject has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outdated {
    /// The Flow or the settings have changed since, or the Flow was deleted.
    Changed,
    /// Another Flow has the new Flow's name.
    NameTaken,
}

/// Whether the subject of a proposal has changed since it was proposed.
pub async fn outdated(
    conn: &mut Conn,
    merchant_id: Uuid,
    waiting: &PendingProposal,
) -> Result<Option<Outdated>, Problem> {
    let scope = Scope {
        merchant_id,
        sandbox: waiting.sandbox,
    };
    let changed = |is_same: bool| (!is_same).then_some(Outdated::Changed);
    Ok(match &waiting.change {
        Change::Flow { flow_id, seen, .. } => {
            let flow = store::flows::get(conn, scope, *flow_id).await?;
            changed(flow.is_some_and(|flow| flow.updated_at == *seen))
        }
        Change::Settings { before, .. } => {
            let merchant = store::merchants::get(conn, merchant_id).await?;
            changed(merchant.is_some_and(|merchant| merchant.settings == *before))
        }
        Change::NewFlow { content } => {
            let mut flows = store::flows::list(conn, scope).await?.into_iter();
            flows
                .any(|flow| flow.name == content.name)
                .then_some(Outdated::NameTaken)
        }
        Change::MergePeople {
            kept, merged, seen, ..
        } => {
            let pair = Pair::load(conn, scope, (*kept, *merged)).await;
            changed(pair.is_ok_and(|pair| pair.version() == *seen))
        }
        Change::SplitPerson { person, seen, .. } => {
            let divisible = Divisible::load(conn, scope, *person).await;
            changed(divisible.is_ok_and(|divisible| divisible.version() == *seen))
        }
        Change::CloseAlert { alert, seen, .. } => {
            let found = store::alerts::get(conn, scope, *alert).await?;
            changed(found.is_some_and(|found| found.changed_at == *seen))
        }
        Change::SetAside { .. } | Change::Member { .. } => None,
    })
}

/// The facts of a proposal that determine who may confirm it.
#[derive(Clone, Copy, Debug)]
pub struct ProposalFacts {
    /// Who proposed it; `None`: no person, but the command line or an API key.
    pub by: Option<Uuid>,
    /// When (ms).
    pub at: i64,
    /// The permission that is required to confirm it.
    pub action: Action,
    /// The member whom it is about.
    pub about: Option<Uuid>,
    /// The member who gave that member access; `None`: the command line.
    pub let_in_by: Option<Uuid>,
    /// Whether two people must agree if no person proposed it.
    pub needs_two: bool,
}

impl From<&PendingProposal> for ProposalFacts {
    fn from(waiting: &PendingProposal) -> Self {
        ProposalFacts {
            by: waiting.staff_id,
            at: waiting.at,
            action: waiting.change.action(),
            about: match waiting.change {
                Change::Member { .. } => member_of(&waiting.subject),
                _ => None,
            },
            let_in_by: match waiting.change {
                Change::Member { .. } => let_in_by(&waiting.subject),
                _ => None,
            },
            needs_two: true,
        }
    }
}

impl ProposalFacts {
    /// The facts of a proposed decision on an attempt. An API key can propose one where two people are not required.
    pub fn of_decision(proposal: &Proposal, state: FourEyesScope, status: AttemptStatus) -> Self {
        let act = Act::of_decision(proposal.decision, status == AttemptStatus::Declined);
        ProposalFacts {
            needs_two: needs_second_person(act, state),
            by: proposal.staff_id,
            at: proposal.at,
            action: Action::Decide,
            about: None,
            let_in_by: None,
        }
    }
}

/// The member whom a proposal about a member concerns.
fn member_of(subject: &str) -> Option<Uuid> {
    subject.split(' ').next()?.parse().ok()
}

#[derive(Clone, Debug)]
struct MemberFacts {
    id: Uuid,
    role: Option<Role>,
    joined_at: i64,
    is_active: bool,
    counts: bool,
}

impl MemberFacts {
    fn confirmer(&self) -> Confirmer {
        Confirmer {
            id: self.id,
            joined_at: self.joined_at,
            counts: self.counts,
        }
    }
}

/// The members of an account, with the facts that determine which proposals they may confirm.
#[derive(Clone, Debug)]
pub struct Members(Vec<MemberFacts>);

impl Members {
    /// Reads the members of an account.
    pub async fn of(conn: &mut Conn, merchant_id: Uuid) -> Result<Members, Problem> {
        let scope = Scope {
            merchant_id,
            sandbox: false,
        };
        let pending = proposals::list(conn, scope).await?.into_iter();
        let doubted: BTreeSet<Uuid> = pending
            .filter(|row| row.kind == MEMBER)
            .filter_map(|row| member_of(&row.subject))
            .collect();
        let members = staff::of_merchant(conn, merchant_id).await?;
        let one = |membership: staff::Membership| MemberFacts {
            id: membership.member.id,
            role: membership.role.parse().ok(),
            joined_at: membership.created_at,
            is_active: membership.is_active(),
            counts: !doubted.contains(&membership.member.id),
        };
        Ok(Members(members.into_iter().map(one).collect()))
    }

    fn find(&self, id: Uuid) -> Option<&MemberFacts> {
        self.0.iter().find(|one| one.id == id && one.is_active)
    }

    fn is_doubted(&self, id: Uuid) -> bool {
        self.0.iter().any(|one| one.id == id && !one.counts)
    }

    /// Why a member may not confirm a proposal; `None`: the member may.
    pub fn obstacle(&self, proposed: &ProposalFacts, staff_id: Uuid) -> Option<Obstacle> {
        if proposed.by == Some(staff_id) {
            return Some(Obstacle::Own);
        }
        if proposed.about == Some(staff_id) {
            return Some(Obstacle::Subject);
        }
        let Some(one) = self
            .find(staff_id)
            .filter(|one| may(one.role, false, proposed.action))
        else {
            return Some(Obstacle::Role);
        };
        let proposer = match proposed.by {
            // Any member who counts may confirm a doubted member, whenever they joined.
            _ if proposed.about.is_some() => Proposer::CommandLine,
            None => Proposer::CommandLine,
            Some(by) => self
                .find(by)
                .map_or(Proposer::Gone(by), |by| Proposer::Member(by.confirmer())),
        };
        let of_inviter = proposed.let_in_by.filter(|by| self.is_doubted(*by));
        obstacle(proposer, proposed.at, one.confirmer()).or(of_inviter.map(|_| Obstacle::InviterNotCounted))
    }

    /// Whether a member may reject a proposal, or withdraw their own. A member in doubt cannot be rejected.
    pub fn may_drop(&self, proposed: &ProposalFacts, staff_id: Uuid) -> bool {
        let may_reject = |one: &MemberFacts| one.counts && may(one.role, false, proposed.action);
        proposed.about.is_none()
            && (proposed.by == Some(staff_id) || self.find(staff_id).is_some_and(may_reject))
    }

    /// The number of members who may confirm a proposal.
    fn able(&self, proposed: &ProposalFacts) -> usize {
        let is_able = |one: &&MemberFacts| one.is_active && self.obstacle(proposed, one.id).is_none();
        self.0.iter().filter(is_able).count()
    }

    /// Whether agreement makes a member only the proposer, so that a second person must confirm. This is so
    /// if no person proposed an act that needs two.
    pub fn is_support(&self, proposed: &ProposalFacts) -> bool {
        proposed.by.is_none() && proposed.needs_two && (proposed.about.is_none() || self.able(proposed) > 1)
    }

    /// Whether too few members may confirm a proposal, so that it cannot be carried out.
    pub fn is_stuck(&self, proposed: &ProposalFacts) -> bool {
        self.able(proposed) < if self.is_support(proposed) { 2 } else { 1 }
    }

    /// Whether no member other than `staff_id` could confirm a proposal that `staff_id` makes now.
    pub fn is_alone(&self, staff_id: Uuid, action: Action) -> bool {
        self.is_stuck(&ProposalFacts {
            by: Some(staff_id),
            at: i64::MAX,
            action,
            about: None,
            let_in_by: None,
            needs_two: true,
        })
    }
}
