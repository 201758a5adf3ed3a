//! Acts on the whole installation that need two operators if any account or Flow requires two people:
//! removing a list, accepting a shrunken list, returning to an earlier version of a list, and counting a new operator as a separate person. They concern
//! every account and contain no personal data.
//!
//! The command line only proposes. It never carries out what it proposed.

use std::collections::BTreeSet;

use sanctions::ImportReport;
use serde::{Deserialize, Serialize};
use store::proposals::{self, InstallationProposal};
use store::staff::StaffMember;
use store::{Conn, Db, audit, operator_audit, staff};
use uuid::Uuid;
use verification::four_eyes::{Act, needs_second_person};
use verification::json::describe_without_values;

use super::actor::By;
use super::four_eyes::{self, AnswerOutcome};
use crate::problem::{Kind, Problem};

/// The kinds of acts, as they are stored.
const REMOVE_LIST: &str = "remove_list";
const SHRINK_LIST: &str = "shrink_list";
/// A shrinkage that two operators confirmed and that no import has used yet.
const SHRINK_CONFIRMED: &str = "shrink_list_confirmed";
/// A rollback, and one that two operators confirmed and that no command has carried out yet.
const ROLL_BACK: &str = "roll_back_list";
const ROLL_BACK_CONFIRMED: &str = "roll_back_list_confirmed";
const OPERATOR: &str = "operator";

/// A version of a list with far fewer entities than the version in use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shrinkage {
    /// The list.
    pub list: String,
    /// The new version.
    pub version: String,
    /// The SHA-256 of its files in hexadecimal, ordered by file name.
    pub sha256: Vec<String>,
    /// The number of entities in the version in use.
    pub before: usize,
    /// The number of entities in the new version.
    pub after: usize,
}

impl Shrinkage {
    /// Whether an import read exactly this version.
    pub fn is_of(&self, report: &ImportReport) -> bool {
        (&self.list, &self.version, self.after) == (&report.list, &report.version, report.entities)
            && self.sha256.iter().eq(report.sha256.values())
    }
}

/// A return of a list to an earlier version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rollback {
    /// The list.
    pub list: String,
    /// The version in use.
    pub from: String,
    /// The earlier version.
    pub version: String,
    /// The SHA-256 of its entities in hexadecimal.
    pub digest: String,
}

/// An act on the installation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InstallationAct {
    /// A list is removed.
    RemoveList(String),
    /// A list may shrink.
    ShrinkList(Shrinkage),
    /// A list returns to an earlier version.
    RollBackList(Rollback),
    /// An operator counts as a separate person.
    Operator {
        /// The operator in doubt.
        staff_id: Uuid,
        /// The operator who let this one in; `None`: the command line.
        let_in_by: Option<Uuid>,
    },
}

impl InstallationAct {
    fn kind(&self) -> &'static str {
        match self {
            Self::RemoveList(_) => REMOVE_LIST,
            Self::ShrinkList(_) => SHRINK_LIST,
            Self::RollBackList(_) => ROLL_BACK,
            Self::Operator { .. } => OPERATOR,
        }
    }

    /// The kind of the confirmed act, for acts that the command line carries out once they are confirmed.
    fn confirmed_kind(&self) -> Option<&'static str> {
        match self {
            Self::ShrinkList(_) => Some(SHRINK_CONFIRMED),
            Self::RollBackList(_) => Some(ROLL_BACK_CONFIRMED),
            Self::RemoveList(_) | Self::Operator { .. } => None,
        }
    }

    /// The act's subject in its stored form.
    fn subject(&self) -> Result<String, Problem> {
        Ok(match self {
            Self::RemoveList(list) => list.clone(),
            Self::ShrinkList(shrinkage) => serde_json::to_string(shrinkage).map_err(Problem::internal)?,
            Self::RollBackList(rollback) => serde_json::to_string(rollback).map_err(Problem::internal)?,
            Self::Operator { staff_id, let_in_by } => {
                format!("{staff_id} {}", four_eyes::actor_name(*let_in_by))
            }
        })
    }

    /// Reads a stored row. `None` if its kind is no pending act.
    fn read(row: &InstallationProposal) -> Option<Result<Self, Problem>> {
        // The error texts do not repeat stored values.
        let unreadable = |why: String| Problem::internal(format!("a proposal cannot be read: {why}"));
        Some(match row.kind.as_str() {
            REMOVE_LIST => Ok(Self::RemoveList(row.subject.clone())),
            SHRINK_LIST => serde_json::from_str(&row.subject)
                .map(Self::ShrinkList)
                .map_err(|error| unreadable(describe_without_values(&error))),
            ROLL_BACK => serde_json::from_str(&row.subject)
                .map(Self::RollBackList)
                .map_err(|error| unreadable(describe_without_values(&error))),
            OPERATOR => operator_of(&row.subject).ok_or_else(|| unreadable("it names no operator".into())),
            _ => return None,
        })
    }

    /// The list that the act concerns; empty for an operator.
    pub fn list(&self) -> &str {
        match self {
            Self::RemoveList(list) => list,
            Self::ShrinkList(shrinkage) => &shrinkage.list,
            Self::RollBackList(rollback) => &rollback.list,
            Self::Operator { .. } => "",
        }
    }

    /// The act's subject in the operators' trail.
    fn named(&self) -> String {
        match self {
            Self::RemoveList(list) => list.clone(),
            Self::ShrinkList(shrinkage) => format!("{} {}", shrinkage.list, shrinkage.version),
            Self::RollBackList(rollback) => format!("{} {}", rollback.list, rollback.version),
            Self::Operator { staff_id, .. } => staff_id.to_string(),
        }
    }

    /// The name of a step in the operators' trail.
    fn step(&self, step: &str) -> String {
        let act = match self {
            Self::RemoveList(_) => "lists.removal",
            Self::ShrinkList(_) => "lists.shrinkage",
            Self::RollBackList(_) => "lists.rollback",
            Self::Operator { .. } => "operator.doubt",
        };
        format!("{act}_{step}")
    }
}

fn operator_of(subject: &str) -> Option<InstallationAct> {
    let (staff_id, by) = subject.split_once(' ')?;
    let let_in_by = match by == By::COMMAND_LINE.actor {
        true => None,
        false => Some(super::actor::staff_id(by)?),
    };
    let staff_id = staff_id.parse().ok()?;
    Some(InstallationAct::Operator { staff_id, let_in_by })
}

/// An act that awaits operators.
#[derive(Clone, Debug)]
pub struct PendingAct {
    /// Its id.
    pub id: Uuid,
    /// The act.
    pub act: InstallationAct,
    /// The operator who proposed it; `None`: the command line.
    pub staff_id: Option<Uuid>,
    /// When (ms).
    pub at: i64,
}

/// Whether an act on the installation needs two operators.
pub async fn needs_two(conn: &mut Conn) -> Result<bool, Problem> {
    for merchant in store::merchants::list(conn).await? {
        let state = four_eyes::of_account(conn, merchant.id).await?;
        if needs_second_person(Act::RemoveList, state) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Records an act that the command line proposes.
pub async fn propose(db: &Db, act: &InstallationAct) -> Result<(), Problem> {
    let subject = act.subject()?;
    store::transaction!(db, |tx| -> Result<(), Problem> {
        proposals::put_installation(tx, act.kind(), &subject, None).await?;
        note(tx, By::COMMAND_LINE.actor, act, "proposed").await
    })
}

async fn note(tx: &mut store::Tx, actor: &str, act: &InstallationAct, step: &str) -> Result<(), Problem> {
    let entry = audit::Entry {
        actor,
        action: &act.step(step),
        subject: &act.named(),
        detail: "{}",
    };
    Ok(operator_audit::write(tx, &entry).await?)
}

/// The acts that wait for operators, oldest first.
pub async fn pending_acts(conn: &mut Conn) -> Result<Vec<PendingAct>, Problem> {
    let mut all = Vec::new();
    for row in proposals::list_installation(conn).await? {
        match InstallationAct::read(&row) {
            Some(Ok(act)) => all.push(PendingAct {
                id: row.id,
                act,
                staff_id: row.staff_id,
                at: row.at,
            }),
            // An unreadable act does not hide the others, and it cannot be confirmed.
            Some(Err(problem)) => tracing::error!(proposal = %row.id, "{problem}"),
            None => {}
        }
    }
    Ok(all)
}

/// Why an operator may not confirm an act.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// The operator proposed the act, or invited the operator in doubt.
    Own,
    /// It is about the operator.
    Subject,
    /// Another operator must first confirm that this one is a separate person.
    NotCounted,
    /// The operator who invited the one in doubt must be confirmed first.
    InviterNotCounted,
    /// The operator's login is newer than the proposal.
    TooNew,
    /// The proposer is no operator any more, or is in doubt.
    ProposerGone,
}

/// The operators, with the facts that determine which acts they may confirm.
pub struct Operators {
    active: Vec<StaffMember>,
    doubted: BTreeSet<Uuid>,
}

impl Operators {
    /// Reads the operators who have access, and which of them are in doubt.
    pub async fn of(conn: &mut Conn) -> Result<Operators, Problem> {
        // A doubt counts even if the rest of its subject cannot be read.
        let doubted = |row: InstallationProposal| {
            let id = row.subject.split(' ').next()?.parse().ok();
            id.filter(|_| row.kind == OPERATOR)
        };
        let doubted = proposals::list_installation(conn)
            .await?
            .into_iter()
            .filter_map(doubted);
        let operators = staff::operators(conn).await?.into_iter();
        Ok(Operators {
            doubted: doubted.collect(),
            active: operators.filter(|one| one.disabled_at.is_none()).collect(),
        })
    }

    /// Why an operator may not confirm an act; `None`: the operator may.
    pub fn obstacle(&self, waiting: &PendingAct, me: Uuid) -> Option<Obstacle> {
        let active = |id: Uuid| self.active.iter().find(|one| one.id == id);
        if self.doubted.contains(&me) {
            return Some(Obstacle::NotCounted);
        }
        if waiting.staff_id == Some(me) {
            return Some(Obstacle::Own);
        }
        if let InstallationAct::Operator { staff_id, let_in_by } = waiting.act {
            let is_inviter_doubted = let_in_by.is_some_and(|by| self.doubted.contains(&by));
            return match staff_id == me {
                true => Some(Obstacle::Subject),
                false => is_inviter_doubted.then_some(Obstacle::InviterNotCounted),
            };
        }
        let proposer = waiting.staff_id?;
        if active(proposer).is_none() || self.doubted.contains(&proposer) {
            return Some(Obstacle::ProposerGone);
        }
        let is_new = active(me).is_none_or(|me| me.created_at > waiting.at);
        is_new.then_some(Obstacle::TooNew)
    }

    /// Whether another operator could confirm an act after `me`.
    fn another_confirms(&self, waiting: &PendingAct, me: Uuid) -> bool {
        let mut others = self.active.iter().filter(|other| other.id != me);
        others.any(|other| self.obstacle(waiting, other.id).is_none())
    }

    /// Whether too few operators may confirm an act, so that it cannot be carried out.
    pub fn nobody_confirms(&self, waiting: &PendingAct) -> bool {
        let able = self
            .active
            .iter()
            .filter(|one| self.obstacle(waiting, one.id).is_none());
        able.count() < if waiting.staff_id.is_none() { 2 } else { 1 }
    }
}

fn refusal(obstacle: Obstacle) -> Problem {
    let (slug, text) = match obstacle {
        Obstacle::NotCounted => (
            "not_counted",
            "Another operator must confirm that you are a separate person before your answer counts",
        ),
        Obstacle::InviterNotCounted => (
            "inviter_not_counted",
            "The operator who invited this one must be confirmed first",
        ),
        Obstacle::Subject => ("proposal_own", "A different operator must confirm this one"),
        Obstacle::Own | Obstacle::TooNew => (
            "proposal_own",
            "Another operator, who had access when this was proposed, must confirm it",
        ),
        Obstacle::ProposerGone => (
            "proposer_gone",
            "The proposer is no longer an operator whose answer counts: reject this and run the command again",
        ),
    };
    Problem::new(Kind::Forbidden, text).named(slug)
}

/// Why an operator may not be a separate person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// The operator joined by a link that another person made.
    Joined,
    /// Another person made a link to set the operator's password.
    Password,
}

/// Puts in doubt that an operator is a separate person, where two people are required. The first two
/// operators of an installation are not doubted when they join, or there could never be a second one; an
/// operator who was dismissed counts as one of them. A person who can set an operator's password can sign in
/// as that operator, however few operators there are.
pub async fn record_doubt(tx: &mut store::Tx, staff_id: Uuid, why: Doubt, by: By<'_>) -> Result<(), Problem> {
    if !needs_two(tx).await? {
        return Ok(());
    }
    let others = staff::operators(tx).await?;
    let others = others.iter().filter(|one| one.id != staff_id).count();
    let is_first = why == Doubt::Joined && others < 2;
    if is_first && !operator_audit::has_action(tx, "operator.dismissed").await? {
        return Ok(());
    }
    let act = InstallationAct::Operator {
        staff_id,
        let_in_by: by.staff_id,
    };
    proposals::put_installation(tx, OPERATOR, &act.subject()?, by.staff_id).await?;
    note(tx, by.actor, &act, "noted").await
}

/// Answers a pending act as an operator. The first operator who agrees to a proposal of the command line
/// becomes its proposer. A second one confirms, and the caller then carries out a removal. `seen` is when the
/// act was proposed or supported, as the page showed it.
pub async fn answer(
    db: &Db,
    id: Uuid,
    (agrees, seen): (bool, i64),
    staff_id: Uuid,
) -> Result<(AnswerOutcome, InstallationAct), Problem> {
    store::transaction!(db, |tx| -> Result<(AnswerOutcome, InstallationAct), Problem> {
        if !staff::lock_operator(tx, staff_id).await? {
            return Err(Problem::new(Kind::Forbidden, "You are no operator any more"));
        }
        let gone = || Problem::not_found("This proposal is no longer pending").named("proposal_gone");
        let is_it = |one: &PendingAct| one.id == id;
        let waiting = pending_acts(tx).await?.into_iter().find(is_it).ok_or_else(gone)?;
        four_eyes::check_version(waiting.at, seen)?;
        if let Some(proposer) = waiting.staff_id {
            // The lock comes before the operators are read, so that the proposer is not dismissed between
            // that read and the act.
            staff::lock_operator(tx, proposer).await?;
        }
        let operators = Operators::of(tx).await?;
        let actor = four_eyes::actor_name(Some(staff_id));
        match operators.obstacle(&waiting, staff_id) {
            // A login that is in doubt must not hold up another operator's act either.
            Some(obstacle) if agrees || obstacle == Obstacle::NotCounted => return Err(refusal(obstacle)),
            _ => {}
        }
        let is_of_operator = matches!(waiting.act, InstallationAct::Operator { .. });
        // The operator who confirms may be the person who typed the command, so two operators confirm if
        // there are two.
        let needs_two = !is_of_operator || operators.another_confirms(&waiting, staff_id);
        let PendingAct {
            act,
            staff_id: proposer,
            ..
        } = waiting;
        if agrees {
            if proposer.is_none() && needs_two {
                if !proposals::set_installation_proposer(tx, id, staff_id).await? {
                    return Err(gone());
                }
                note(tx, &actor, &act, "adopted").await?;
                return Ok((AnswerOutcome::Adopted, act));
            }
        } else if matches!(act, InstallationAct::Operator { .. }) {
            let text =
                "An operator cannot be rejected. Confirm the operator, or remove the operator's access";
            return Err(Problem::invalid(text).named("member_in_doubt"));
        }
        if !proposals::take_installation(tx, id).await? {
            return Err(gone());
        }
        if let (true, Some(kind)) = (agrees, act.confirmed_kind()) {
            proposals::put_installation(tx, kind, &act.subject()?, Some(staff_id)).await?;
        }
        let (answered, step) = match agrees {
            true => (AnswerOutcome::Done, "confirmed"),
            false => (AnswerOutcome::Dropped, "rejected"),
        };
        note(tx, &actor, &act, step).await?;
        Ok((answered, act))
    })
}

/// Uses up a confirmed act. Returns whether two operators had confirmed exactly this one.
pub async fn take_confirmed(db: &Db, act: &InstallationAct) -> Result<bool, Problem> {
    let subject = act.subject()?;
    let Some(kind) = act.confirmed_kind() else {
        return Ok(false);
    };
    store::transaction!(db, |tx| -> Result<bool, Problem> {
        let rows = proposals::list_installation(tx).await?;
        let is_it = |row: &&InstallationProposal| row.kind == kind && row.subject == subject;
        match rows.iter().find(is_it) {
            Some(row) => Ok(proposals::take_installation(tx, row.id).await?),
            None => Ok(false),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_act_is_read_as_it_was_stored() {
        let shrinkage = Shrinkage {
            list: "invented".into(),
            version: "2026-01-02".into(),
            sha256: vec!["ab".into()],
            before: 20,
            after: 3,
        };
        let rollback = Rollback {
            list: "invented".into(),
            from: "2026-01-02".into(),
            version: "2026-01-01".into(),
            digest: "ab".into(),
        };
        let operator = |let_in_by| InstallationAct::Operator {
            staff_id: Uuid::from_u128(1),
            let_in_by,
        };
        for act in [
            InstallationAct::RemoveList("a list".into()),
            InstallationAct::ShrinkList(shrinkage),
            InstallationAct::RollBackList(rollback),
            operator(None),
            operator(Some(Uuid::from_u128(2))),
        ] {
            let row = |subject| InstallationProposal {
                id: Uuid::nil(),
                kind: act.kind().to_owned(),
                subject,
                staff_id: None,
                at: 0,
            };
            let read = InstallationAct::read(&row(act.subject().unwrap()));
            assert_eq!(read.unwrap().unwrap(), act);
        }
        let confirmed = InstallationProposal {
            id: Uuid::nil(),
            kind: SHRINK_CONFIRMED.into(),
            subject: "{}".into(),
            staff_id: None,
            at: 0,
        };
        assert!(InstallationAct::read(&confirmed).is_none(), "it no longer waits");
    }

    #[test]
    fn what_is_not_understood_is_no_act() {
        for (kind, subject) in [
            (SHRINK_LIST, "{}"),
            (ROLL_BACK, "{}"),
            (SHRINK_LIST, "{\"newer\":1}"),
            (OPERATOR, ""),
            (OPERATOR, "x command line"),
            (OPERATOR, "00000000-0000-0000-0000-000000000001 somebody"),
        ] {
            let row = InstallationProposal {
                id: Uuid::nil(),
                kind: kind.into(),
                subject: subject.into(),
                staff_id: None,
                at: 0,
            };
            assert!(InstallationAct::read(&row).unwrap().is_err(), "{kind} {subject}");
        }
    }
}
