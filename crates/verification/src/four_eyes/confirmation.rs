//! Who may confirm a proposal as the second person.
//!
//! This module decides from facts about the members. It does not read them, and it does not know roles.

use uuid::Uuid;

/// A member with access to the account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Confirmer {
    /// The member's id.
    pub id: Uuid,
    /// When the member joined (ms).
    pub joined_at: i64,
    /// Whether the member counts as a separate person.
    pub counts: bool,
}

/// Who made a proposal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proposer {
    /// The command line.
    CommandLine,
    /// A member with access.
    Member(Confirmer),
    /// A member who left, or whose access was blocked.
    Gone(Uuid),
}

/// Why a member may not confirm a proposal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// The member proposed it.
    Own,
    /// It is about the member.
    Subject,
    /// The member has no access, or a role that does not allow it.
    Role,
    /// A colleague must first confirm that the member is a separate person.
    NotCounted,
    /// The colleague who gave the member access must be confirmed first.
    InviterNotCounted,
    /// The member joined after it was proposed.
    TooNew,
    /// The proposer left the account.
    ProposerGone,
    /// A colleague must first confirm that the proposer is a separate person.
    ProposerNotCounted,
}

/// Why a member may not confirm a proposal that was made at a moment (ms); `None`: the member may. The
/// proposal is about something other than a member. Whether the member's role allows it, the caller decides.
pub fn obstacle(proposer: Proposer, at: i64, member: Confirmer) -> Option<Obstacle> {
    let is_own = match proposer {
        Proposer::CommandLine => false,
        Proposer::Member(Confirmer { id, .. }) | Proposer::Gone(id) => id == member.id,
    };
    if is_own {
        return Some(Obstacle::Own);
    }
    if !member.counts {
        return Some(Obstacle::NotCounted);
    }
    match proposer {
        Proposer::CommandLine => None,
        _ if member.joined_at > at => Some(Obstacle::TooNew),
        Proposer::Gone(_) => Some(Obstacle::ProposerGone),
        Proposer::Member(proposer) => (!proposer.counts).then_some(Obstacle::ProposerNotCounted),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: i64 = 1_000;

    fn member(id: u128, joined_at: i64, counts: bool) -> Confirmer {
        Confirmer {
            id: Uuid::from_u128(id),
            joined_at,
            counts,
        }
    }

    #[test]
    fn another_member_who_counts_and_was_there_may_confirm() {
        use Obstacle::{NotCounted, Own, ProposerGone, ProposerNotCounted, TooNew};
        let me = member(1, AT, true);
        let colleague = Proposer::Member(member(2, 0, true));
        let doubted = Proposer::Member(member(2, 0, false));
        let gone = Proposer::Gone(Uuid::from_u128(2));
        let cases = [
            (colleague, me, None),
            (colleague, member(1, AT + 1, true), Some(TooNew)),
            (colleague, member(1, AT, false), Some(NotCounted)),
            (colleague, member(1, AT + 1, false), Some(NotCounted)),
            (doubted, me, Some(ProposerNotCounted)),
            (doubted, member(1, AT + 1, true), Some(TooNew)),
            (gone, me, Some(ProposerGone)),
            (gone, member(1, AT, false), Some(NotCounted)),
            (Proposer::Member(me), me, Some(Own)),
            (
                Proposer::Member(member(1, 0, false)),
                member(1, 0, false),
                Some(Own),
            ),
            (Proposer::Gone(me.id), me, Some(Own)),
            (Proposer::CommandLine, me, None),
            (Proposer::CommandLine, member(1, AT + 1, true), None),
            (Proposer::CommandLine, member(1, AT, false), Some(NotCounted)),
        ];
        for (proposer, member, expected) in cases {
            assert_eq!(
                obstacle(proposer, AT, member),
                expected,
                "{proposer:?} {member:?}"
            );
        }
    }
}
