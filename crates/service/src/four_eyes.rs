//! Four eyes: where two people are required, who counts as the second person, and proposals that await that
//! person.
//!
//! The table in `verification::four_eyes` determines which acts need a second person. Decisions on attempts
//! are proposals of [`super::reviews`]; all other proposals are here.

mod answers;
mod change;
mod doubts;
pub mod pages;
mod proposals;
mod required;
mod second_person;
#[cfg(test)]
mod tests;

pub use self::answers::{AnswerOutcome, answer};
pub use self::change::{Change, ChangedValue, DividedFaces, PendingProposal};
pub use self::doubts::{keep_two_deciders, record_doubt};
pub(crate) use self::proposals::check_version;
pub use self::proposals::{Subject, get, pending_proposals, propose};
pub use self::required::{of_account, of_attempt, of_flows, requires_two};
pub use self::second_person::{may_propose, may_second};
pub use crate::actor::{By, actor_name};
