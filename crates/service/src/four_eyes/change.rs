//! The acts that wait for a second person, as they are stored.

use serde::{Deserialize, Serialize};
use store::flows::FlowContent;
use store::proposals::Proposed;
use uuid::Uuid;
use verification::four_eyes::{Act, Weakening};
use verification::json::fault;

use crate::permissions::Action;
use crate::problem::Problem;

/// An act that waits for a second person.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "act", rename_all = "snake_case", deny_unknown_fields)]
pub enum Change {
    /// A hit is set aside for the person of an attempt.
    SetAside {
        /// The hit.
        hit: String,
        /// Which of its details do not fit.
        why: String,
    },
    /// A Flow checks less.
    Flow {
        /// The Flow.
        flow_id: Uuid,
        /// When it had last changed (ms).
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
        /// The settings that the change was made on.
        before: String,
        /// The settings after it.
        after: String,
    },
    /// A member counts as a separate person.
    Member {
        /// Why that is in doubt: `joined`, `role` or `password`.
        doubt: String,
    },
}

impl Change {
    /// The kind of act, as it is stored and as text keys name it.
    pub fn kind(&self) -> &'static str {
        match self {
            Change::SetAside { .. } => "set_aside",
            Change::Flow { .. } => "flow",
            Change::NewFlow { .. } => "new_flow",
            Change::Settings { .. } => "settings",
            Change::Member { .. } => MEMBER,
        }
    }

    /// The act that needs the second person.
    pub fn act(&self) -> Act {
        match self {
            Change::SetAside { .. } => Act::SetAside,
            Change::Flow { .. } => Act::WeakenFlow,
            Change::NewFlow { .. } => Act::MakeFlow,
            Change::Settings { .. } => Act::WeakenAccount,
            Change::Member { .. } => Act::CountMember,
        }
    }

    /// The permission that is required to confirm or reject it.
    pub fn action(&self) -> Action {
        match self {
            Change::SetAside { .. } => Action::Suppress,
            Change::Flow { .. } | Change::NewFlow { .. } => Action::ManageRules,
            Change::Settings { .. } => Action::ManageCompany,
            Change::Member { .. } => Action::Decide,
        }
    }
}

/// The kind of [`Change::Member`].
pub(super) const MEMBER: &str = "member";

/// A value that an act changes.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Line {
    /// The member, such as `settings.matchThreshold`.
    pub member: String,
    /// Before.
    pub from: String,
    /// After.
    pub to: String,
}

impl From<Weakening> for Line {
    fn from(Weakening { member, from, to }: Weakening) -> Self {
        Line { member, from, to }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Payload {
    pub(super) change: Change,
    pub(super) name: String,
    pub(super) lines: Vec<Line>,
}

/// An act that waits, as the portal shows it.
#[derive(Clone, Debug)]
pub struct Waiting {
    /// Its id.
    pub id: Uuid,
    /// Sandbox or live.
    pub sandbox: bool,
    /// The act.
    pub change: Change,
    /// The id of what it concerns.
    pub subject: String,
    /// What it concerns, for people: a Flow's name, a hit's caption; empty for a member.
    pub name: String,
    /// What it changes.
    pub lines: Vec<Line>,
    /// The attempt that it concerns.
    pub log_id: Option<i64>,
    /// Who proposed it; `None`: the command line.
    pub staff_id: Option<Uuid>,
    /// When (ms).
    pub at: i64,
}

/// A stored act.
pub(super) fn read(row: Proposed) -> Result<Waiting, Problem> {
    // What cannot be read is not carried out.
    let Payload { change, name, lines } =
        serde_json::from_str(&row.payload).map_err(|error| Problem::internal(fault(&error)))?;
    if change.kind() != row.kind {
        return Err(Problem::internal("a proposal is not of its kind"));
    }
    Ok(Waiting {
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
