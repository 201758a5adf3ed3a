//! Acts that await a second person, in their stored form.

use serde::{Deserialize, Serialize};
use store::flows::FlowContent;
use store::proposals::ActProposal;
use uuid::Uuid;
use verification::four_eyes::{Act, Weakening};
use verification::json::describe_without_values;

use crate::attempt_detail::HeldFace;
use crate::permissions::Action;
use crate::problem::Problem;

/// An act that awaits a second person.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "act", rename_all = "snake_case", deny_unknown_fields)]
pub enum Change {
    /// A hit is set aside for an attempt's person.
    SetAside {
        /// The hit's reference.
        hit: String,
        /// The detail that does not fit, one of `suppressions::REASONS`.
        why: String,
    },
    /// An alert is closed, because its listing means somebody else.
    CloseAlert {
        /// The alert.
        alert: Uuid,
        /// The detail that does not fit, one of `suppressions::REASONS`.
        why: String,
        /// The reviewer's reason.
        reason: String,
        /// When the alert had last changed (ms), as it was proposed.
        seen: i64,
    },
    /// Two people become one.
    MergePeople {
        /// The person who remains.
        kept: Uuid,
        /// The person who becomes a part of that one.
        merged: Uuid,
        /// The reason.
        reason: String,
        /// The state that was reviewed, see [`crate::merging::Pair::version`].
        seen: String,
    },
    /// A person is split in two.
    SplitPerson {
        /// The person.
        person: Uuid,
        /// The registrations that leave.
        registrations: Vec<Uuid>,
        /// The attempts without a registration that leave.
        log_ids: Vec<i64>,
        /// The reason.
        reason: String,
        /// The state that was reviewed, see [`crate::splitting::Divisible::version`].
        seen: String,
        /// The faces of both people afterwards.
        faces: DividedFaces,
    },
    /// A Flow checks less.
    Flow {
        /// The Flow.
        flow_id: Uuid,
        /// When the Flow had last changed (ms), as it was proposed.
        seen: i64,
        /// The Flow after the change.
        content: FlowContent,
    },
    /// A new Flow is created.
    NewFlow {
        /// The Flow.
        content: FlowContent,
    },
    /// The account's settings check less.
    Settings {
        /// The settings on which the change was made.
        before: String,
        /// The settings after the change.
        after: String,
    },
    /// A member counts as a separate person.
    Member {
        /// The reason for the doubt: `joined`, `role` or `password`.
        doubt: String,
    },
}

impl Change {
    /// The kind of act, as it is stored and as text keys name it.
    pub fn kind(&self) -> &'static str {
        match self {
            Change::SetAside { .. } => "set_aside",
            Change::CloseAlert { .. } => "close_alert",
            Change::MergePeople { .. } => "merge_people",
            Change::SplitPerson { .. } => "split_person",
            Change::Flow { .. } => "flow",
            Change::NewFlow { .. } => "new_flow",
            Change::Settings { .. } => "settings",
            Change::Member { .. } => MEMBER,
        }
    }

    /// The act in the table of acts that need a second person.
    pub fn act(&self) -> Act {
        match self {
            Change::SetAside { .. } | Change::CloseAlert { .. } => Act::SetAside,
            Change::MergePeople { .. } => Act::MergePeople,
            Change::SplitPerson { .. } => Act::SplitPerson,
            Change::Flow { .. } => Act::WeakenFlow,
            Change::NewFlow { .. } => Act::MakeFlow,
            Change::Settings { .. } => Act::WeakenAccount,
            Change::Member { .. } => Act::CountMember,
        }
    }

    /// Whether the act changes who is who, so that the account's serial step must begin before anything else.
    pub(super) fn identifies(&self) -> bool {
        matches!(self, Change::MergePeople { .. } | Change::SplitPerson { .. })
    }

    /// The permission that is required to confirm or reject the act.
    pub fn action(&self) -> Action {
        match self {
            Change::SetAside { .. } | Change::CloseAlert { .. } => Action::Suppress,
            Change::MergePeople { .. } | Change::SplitPerson { .. } => Action::MergePeople,
            Change::Flow { .. } | Change::NewFlow { .. } => Action::ManageRules,
            Change::Settings { .. } => Action::ManageCompany,
            Change::Member { .. } => Action::Decide,
        }
    }
}

/// The enrolled faces of two people after a split.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DividedFaces {
    /// Those of the person.
    pub staying: Vec<HeldFace>,
    /// Those of the new person.
    pub leaving: Vec<HeldFace>,
}

/// The kind of [`Change::Member`].
pub(super) const MEMBER: &str = "member";

/// A value that an act changes.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChangedValue {
    /// The member, such as `settings.matchThreshold`.
    pub member: String,
    /// Before.
    pub from: String,
    /// After.
    pub to: String,
}

impl From<Weakening> for ChangedValue {
    fn from(Weakening { member, from, to }: Weakening) -> Self {
        ChangedValue { member, from, to }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Payload {
    pub(super) change: Change,
    pub(super) name: String,
    pub(super) lines: Vec<ChangedValue>,
}

/// A pending proposal, as the portal shows it.
#[derive(Clone, Debug)]
pub struct PendingProposal {
    /// Its id.
    pub id: Uuid,
    /// Whether it belongs to the sandbox.
    pub sandbox: bool,
    /// The act.
    pub change: Change,
    /// The id of its subject.
    pub subject: String,
    /// The subject's name for people: a Flow's name or a hit's caption; empty for a member.
    pub name: String,
    /// The values that it changes.
    pub lines: Vec<ChangedValue>,
    /// The attempt that it concerns.
    pub log_id: Option<i64>,
    /// Who proposed it; `None`: the command line.
    pub staff_id: Option<Uuid>,
    /// When (ms).
    pub at: i64,
}

/// Reads a stored proposal.
pub(super) fn read(row: ActProposal) -> Result<PendingProposal, Problem> {
    // An act that cannot be read is not carried out.
    let Payload { change, name, lines } = serde_json::from_str(&row.payload)
        .map_err(|error| Problem::internal(describe_without_values(&error)))?;
    if change.kind() != row.kind {
        return Err(Problem::internal("a proposal is not of its kind"));
    }
    Ok(PendingProposal {
        id: row.id,
        sandbox: row.sandbox,
        change,
        subject: row.subject,
        name,
        lines,
        log_id: row.log_id,
        staff_id: row.staff_id,
        at: row.at,
    })
}
