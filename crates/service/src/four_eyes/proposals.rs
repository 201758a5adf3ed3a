//! Proposes, lists and finds acts that await a second person.

use serde_json::json;
use store::attempts::Attempt;
use store::audit::{self, Entry};
use store::proposals::{self, ActProposal, NewProposal};
use store::{Conn, Scope, Tx};
use uuid::Uuid;

use super::change::{Change, ChangedValue, Payload, PendingProposal, read};
use super::second_person::may_propose;
use crate::actor::By;
use crate::problem::{Kind, Problem};

/// The subject of an act.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The subject's id. Only one act of each kind can be pending for it.
    pub id: &'a str,
    /// The subject's name, for people.
    pub name: &'a str,
    /// The attempt that it belongs to, if any.
    pub attempt: Option<&'a Attempt>,
}

/// Records a proposal. It replaces a pending one of the same kind for the same subject, unless another person
/// proposed that one.
///
/// # Errors
/// A conflict while another person's proposal is pending.
pub async fn propose(
    tx: &mut Tx,
    scope: Scope,
    change: Change,
    subject: Subject<'_>,
    lines: Vec<ChangedValue>,
    by: By<'_>,
) -> Result<Uuid, Problem> {
    if !matches!(change, Change::Member { .. }) {
        may_propose(tx, scope.merchant_id, by.staff_id).await?;
        let pending = proposals::list(tx, scope).await?;
        let is_same = |row: &ActProposal| row.kind == change.kind() && row.subject == subject.id;
        if pending
            .into_iter()
            .any(|row| is_same(&row) && row.staff_id.is_some() && row.staff_id != by.staff_id)
        {
            let text = "Another person's proposal is pending for this: confirm or reject it under Needs second approval first";
            return Err(Problem::new(Kind::Conflict, text).named("proposal_pending"));
        }
    }
    let kind = change.kind();
    let members: Vec<&str> = lines.iter().map(|line| line.member.as_str()).collect();
    let detail = json!({"act": kind, "members": members}).to_string();
    let payload = Payload {
        name: subject.name.to_owned(),
        change,
        lines: lines.clone(),
    };
    let payload = serde_json::to_string(&payload).map_err(Problem::internal)?;
    let new = NewProposal {
        kind,
        subject: subject.id,
        attempt: subject.attempt,
        staff_id: by.staff_id,
        payload: &payload,
    };
    let id = proposals::put(tx, scope, &new).await?;
    note(tx, scope, by.actor, "change.proposed", &id, &detail).await?;
    Ok(id)
}

/// Writes a row of the audit trail about a proposal.
pub(super) async fn note(
    tx: &mut Tx,
    scope: Scope,
    actor: &str,
    action: &str,
    id: &Uuid,
    detail: &str,
) -> Result<(), Problem> {
    let subject = id.to_string();
    let entry = Entry {
        actor,
        action,
        subject: &subject,
        detail,
    };
    Ok(audit::write(tx, scope, &entry).await?)
}

/// The scopes whose proposals a mode lists. Proposals about the account itself have no mode: they are stored
/// as live, and listed in both modes.
fn scopes(scope: Scope) -> Vec<Scope> {
    let account = Scope {
        sandbox: false,
        ..scope
    };
    if scope.sandbox {
        vec![scope, account]
    } else {
        vec![scope]
    }
}

/// Whether an act concerns the account itself, in either mode.
fn is_of_account(change: &Change) -> bool {
    matches!(change, Change::Settings { .. } | Change::Member { .. })
}

/// The pending proposals of a mode, oldest first.
pub async fn pending_proposals(conn: &mut Conn, scope: Scope) -> Result<Vec<PendingProposal>, Problem> {
    let mut all = Vec::new();
    for place in scopes(scope) {
        for row in proposals::list(conn, place).await? {
            let id = row.id;
            match read(row) {
                Ok(waiting) if place == scope || is_of_account(&waiting.change) => all.push(waiting),
                Ok(_) => {}
                // An unreadable proposal does not hide the others, and it cannot be confirmed.
                Err(problem) => tracing::error!(proposal = %id, "a proposal cannot be read: {problem}"),
            }
        }
    }
    all.sort_by_key(|waiting| waiting.at);
    Ok(all)
}

/// A pending proposal, with its own scope; 404 if it is no longer pending.
pub async fn get(conn: &mut Conn, scope: Scope, id: Uuid) -> Result<(Scope, PendingProposal), Problem> {
    for place in scopes(scope) {
        if let Some(row) = proposals::get(conn, place, id).await? {
            let waiting = read(row)?;
            if place == scope || is_of_account(&waiting.change) {
                return Ok((place, waiting));
            }
        }
    }
    Err(Problem::not_found("This proposal is no longer pending").named("proposal_gone"))
}

/// Refuses an answer to a proposal that has changed since the page showed it. Otherwise a person who only
/// wanted to support a proposal of the command line could confirm a colleague's.
pub(crate) fn check_version(at: i64, seen: i64) -> Result<(), Problem> {
    if at == seen {
        return Ok(());
    }
    let text = "This proposal has changed since you opened the page: read it again, then answer it";
    Err(Problem::new(Kind::Conflict, text).named("proposal_changed"))
}
