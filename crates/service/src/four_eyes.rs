//! Four eyes: where two people are required, who counts as the second one, and acts that wait for that person.
//!
//! Which act needs a second person is `verification::four_eyes`' table. Decisions on attempts wait as proposals of [`super::reviews`];
//! everything else waits here.

use serde::{Deserialize, Serialize};
use serde_json::json;
use store::attempts::Attempt;
use store::audit::{self, Entry};
use store::flows::FlowContent;
use store::proposals::{self, NewProposal, Proposed};
use store::{Conn, Db, Scope, Tx, staff};
use uuid::Uuid;
use verification::four_eyes::{Act, State, Weakening, needs_second};
use verification::json::fault;

use super::seen::Detail;
use super::{flows, merchants, suppressions};
use crate::permissions::{Action, Role, may};
use crate::problem::{Kind, Problem};

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

const MEMBER: &str = "member";

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
struct Payload {
    change: Change,
    name: String,
    lines: Vec<Line>,
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

fn read(row: Proposed) -> Result<Waiting, Problem> {
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

/// Who acts: a member of staff, or the command line, which does not count as a person.
#[derive(Clone, Copy, Debug)]
pub struct By<'a> {
    /// The member of staff.
    pub staff_id: Option<Uuid>,
    /// As the audit trail names them.
    pub actor: &'a str,
}

impl<'a> By<'a> {
    /// The command line.
    pub const COMMAND_LINE: By<'static> = By {
        staff_id: None,
        actor: "command line",
    };

    /// The member of staff whom an actor names.
    pub fn actor(actor: &'a str) -> Self {
        By {
            staff_id: super::applicant_view::staff_id(actor),
            actor,
        }
    }
}

/// A proposer, as the audit trail names them.
pub fn named(staff_id: Option<Uuid>) -> String {
    staff_id.map_or_else(
        || By::COMMAND_LINE.actor.to_owned(),
        |staff_id| format!("staff:{staff_id}"),
    )
}

/// Whether the account requires two people, and whether any of its Flows does.
pub async fn of_account(conn: &mut Conn, merchant_id: Uuid) -> Result<State, Problem> {
    let merchant = store::merchants::get(conn, merchant_id)
        .await?
        .ok_or_else(|| Problem::not_found("No such merchant"))?;
    let account = merchants::settings(&merchant)?.four_eyes;
    of_flows(conn, merchant_id, account).await
}

/// Whether the account's settings or any of its Flows require two people. A Flow that cannot be read counts as one that does.
pub async fn of_flows(conn: &mut Conn, merchant_id: Uuid, account: bool) -> Result<State, Problem> {
    let flows = flows_of(conn, merchant_id).await?;
    Ok(State {
        account,
        any_flow: flows.into_iter().any(|flow| requires_two(&flow.into())),
        ..State::default()
    })
}

/// Whether a Flow requires two people; one that cannot be read does.
pub fn requires_two(flow: &FlowContent) -> bool {
    flows::parse(flow).map_or(true, |flow| flow.settings.four_eyes)
}

async fn flows_of(conn: &mut Conn, merchant_id: Uuid) -> Result<Vec<store::flows::Flow>, Problem> {
    let mut all = Vec::new();
    for sandbox in [false, true] {
        all.extend(store::flows::list(conn, Scope { merchant_id, sandbox }).await?);
    }
    Ok(all)
}

/// Whether two people are required about an attempt: the account requires it, or the attempt's Flow does now, or either did when the
/// attempt was made. A change of a Flow therefore never lowers what a waiting attempt needs.
pub async fn of_attempt(conn: &mut Conn, scope: Scope, attempt: &Attempt) -> Result<State, Problem> {
    let detail = Detail::of(attempt)?;
    let mut state = of_account(conn, scope.merchant_id).await?;
    state.flow = detail.four_eyes;
    state.flow |= match store::flows::get(conn, scope, attempt.flow_id).await? {
        Some(flow) => requires_two(&flow.into()),
        None => store::flows::kept_four_eyes(conn, scope, attempt.flow_id).await?,
    };
    Ok(state)
}

/// Refuses proposals of a member who does not count as a separate person yet.
pub async fn may_propose(conn: &mut Conn, merchant_id: Uuid, staff_id: Option<Uuid>) -> Result<(), Problem> {
    let Some(staff_id) = staff_id else { return Ok(()) };
    let scope = Scope {
        merchant_id,
        sandbox: false,
    };
    if proposals::waits(conn, scope, MEMBER, &staff_id.to_string()).await? {
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
    let member = staff::member(tx, merchant_id, staff_id).await?;
    let Some(member) = member.filter(|member| member.disabled_at.is_none()) else {
        return refuse("second_gone", "You are no longer a member of this account");
    };
    let Some(proposer) = proposer else { return Ok(()) };
    if member.created_at > at {
        let text = "You joined after this was proposed: a colleague who was already a member must confirm it";
        return refuse("second_too_new", text);
    }
    may_propose(tx, merchant_id, Some(proposer)).await?;
    let proposer = staff::member(tx, merchant_id, proposer).await?;
    if proposer.is_none_or(|member| member.disabled_at.is_some()) {
        let text =
            "The proposer is no longer a member of this account: reject the proposal and create a new one";
        return refuse("proposer_gone", text);
    }
    Ok(())
}

/// What an act concerns.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// An id. One act of each kind can wait for it.
    pub id: &'a str,
    /// For people.
    pub name: &'a str,
    /// The attempt.
    pub attempt: Option<&'a Attempt>,
}

/// Records an act that waits for a second person, in place of one of its kind for the same subject that no other person
/// stands behind.
///
/// # Errors
/// A conflict while another person's is pending.
pub async fn propose(
    tx: &mut Tx,
    scope: Scope,
    change: Change,
    subject: Subject<'_>,
    lines: Vec<Line>,
    by: By<'_>,
) -> Result<Uuid, Problem> {
    if !matches!(change, Change::Member { .. }) {
        may_propose(tx, scope.merchant_id, by.staff_id).await?;
        let pending = proposals::list(tx, scope).await?;
        let is_same = |row: &Proposed| row.kind == change.kind() && row.subject == subject.id;
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

async fn note(
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

/// The scopes whose acts are listed in a mode: those of the account itself have no mode and are listed in the
/// live one.
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

/// Whether an act is the account's, whatever the mode.
fn is_of_account(change: &Change) -> bool {
    matches!(change, Change::Settings { .. } | Change::Member { .. })
}

/// The acts that wait for a second person in a mode, oldest first.
pub async fn waiting(conn: &mut Conn, scope: Scope) -> Result<Vec<Waiting>, Problem> {
    let mut all = Vec::new();
    for place in scopes(scope) {
        for row in proposals::list(conn, place).await? {
            let id = row.id;
            match read(row) {
                Ok(waiting) if place == scope || is_of_account(&waiting.change) => all.push(waiting),
                Ok(_) => {}
                // It hides no other, and nobody can confirm it.
                Err(problem) => tracing::error!(proposal = %id, "a proposal cannot be read: {problem}"),
            }
        }
    }
    all.sort_by_key(|waiting| waiting.at);
    Ok(all)
}

/// One of [`waiting`], with its own scope; 404 when it is no longer pending.
pub async fn get(conn: &mut Conn, scope: Scope, id: Uuid) -> Result<(Scope, Waiting), Problem> {
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

/// Refuses an answer to a proposal in another state than the page showed. Otherwise a person who only wanted to support a proposal of
/// the command line could confirm a colleague's.
pub(super) fn check_version(at: i64, seen: i64) -> Result<(), Problem> {
    if at == seen {
        return Ok(());
    }
    let text = "This proposal has changed since you opened the page: read it again, then answer it";
    Err(Problem::new(Kind::Conflict, text).named("proposal_changed"))
}

/// What became of a second person's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answered {
    /// The act is carried out.
    Done,
    /// The command line proposed it: the person who agreed is the proposer now.
    Adopted,
    /// The act is dropped.
    Dropped,
}

/// A second person confirms an act, which is then carried out in the same transaction, or rejects it. The
/// proposer can only withdraw it. An act is refused when what it concerns has changed since it was proposed.
/// `seen`: when the act was proposed or supported, as the page showed it.
pub async fn answer(
    db: &Db,
    scope: Scope,
    id: Uuid,
    (agrees, seen): (bool, i64),
    (staff_id, actor): (Uuid, &str),
) -> Result<Answered, Problem> {
    store::transaction!(db, |tx| -> Result<Answered, Problem> {
        let (scope, waiting) = get(tx, scope, id).await?;
        check_version(waiting.at, seen)?;
        let is_own = waiting.staff_id == Some(staff_id);
        let kind = waiting.change.kind();
        let detail = json!({"act": kind, "proposedBy": named(waiting.staff_id)}).to_string();
        if agrees {
            let is_member = matches!(waiting.change, Change::Member { .. });
            if is_member {
                may_vouch(tx, scope, &waiting, staff_id).await?;
            } else {
                may_second(tx, scope.merchant_id, (waiting.staff_id, waiting.at), staff_id).await?;
            }
            // Whoever confirms may be who typed the command, so two people confirm where there are two.
            let needs_two = !is_member || others_vouch(tx, scope, &waiting, staff_id).await?;
            if waiting.staff_id.is_none() && needs_two {
                if !proposals::adopt(tx, scope, id, staff_id).await? {
                    return Err(
                        Problem::not_found("This proposal is no longer pending").named("proposal_gone")
                    );
                }
                note(tx, scope, actor, "change.adopted", &id, &detail).await?;
                return Ok(Answered::Adopted);
            }
        }
        if !agrees && !is_own {
            // A member who does not count as a separate person must not hold up a colleague's act either.
            may_propose(tx, scope.merchant_id, Some(staff_id)).await?;
        }
        if !proposals::take(tx, scope, id).await? {
            let text = "This proposal is no longer pending";
            return Err(Problem::not_found(text).named("proposal_gone"));
        }
        if !agrees {
            if matches!(waiting.change, Change::Member { .. }) {
                let text = "A member cannot be rejected: confirm the member, or shut the member out";
                return Err(Problem::invalid(text).named("member_in_doubt"));
            }
            let action = if is_own {
                "change.withdrawn"
            } else {
                "change.rejected"
            };
            note(tx, scope, actor, action, &id, &detail).await?;
            return Ok(Answered::Dropped);
        }
        carry_out(tx, scope, &waiting, (staff_id, actor)).await?;
        note(tx, scope, actor, "change.confirmed", &id, &detail).await?;
        Ok(Answered::Done)
    })
}

/// The refusal of an act whose subject has changed.
fn stale() -> Problem {
    let text = "The subject of this proposal has changed in the meantime: reject it and create a new one";
    Problem::new(Kind::Conflict, text).named("proposal_stale")
}

async fn carry_out(
    tx: &mut Tx,
    scope: Scope,
    waiting: &Waiting,
    (staff_id, actor): (Uuid, &str),
) -> Result<(), Problem> {
    match &waiting.change {
        Change::SetAside { hit, why } => {
            let (Some(log_id), Some(proposer)) = (waiting.log_id, waiting.staff_id) else {
                return Err(Problem::internal("a hit is set aside on an attempt, by a person"));
            };
            suppressions::confirm(tx, scope, log_id, (hit, why), (proposer, staff_id), actor).await
        }
        Change::Flow {
            flow_id,
            seen,
            content,
        } => {
            let flow = store::flows::get_for_update(tx, scope, *flow_id).await?;
            flow.filter(|flow| flow.updated_at == *seen).ok_or_else(stale)?;
            flows::put(tx, scope, *flow_id, content, actor).await.map(|_| ())
        }
        Change::NewFlow { content } => flows::add(tx, scope, content, actor).await.map(|_| ()),
        Change::Settings { before, after } => {
            let merchant = store::merchants::get_for_update(tx, scope.merchant_id).await?;
            merchant
                .filter(|merchant| merchant.settings == *before)
                .ok_or_else(stale)?;
            merchants::put_settings(tx, scope.merchant_id, after, actor).await
        }
        Change::Member { .. } => Ok(()),
    }
}

/// The roles that decide.
fn decides(role: Role) -> bool {
    may(Some(role), false, Action::Decide)
}

/// Refuses members who confirm themselves or a member whom they let in.
async fn may_vouch(tx: &mut Tx, scope: Scope, waiting: &Waiting, staff_id: Uuid) -> Result<(), Problem> {
    if waiting.subject.starts_with(&staff_id.to_string()) || waiting.staff_id == Some(staff_id) {
        let text = "A different colleague must confirm this member";
        return Err(Problem::new(Kind::Forbidden, text).named("proposal_own"));
    }
    if let Some(inviter) = let_in_by(&waiting.subject)
        && proposals::waits(tx, scope, MEMBER, &inviter.to_string()).await?
    {
        let text = "The colleague who gave this member access must be confirmed first";
        return Err(Problem::new(Kind::Forbidden, text).named("inviter_not_counted"));
    }
    may_propose(tx, scope.merchant_id, Some(staff_id)).await
}

/// The member who gave access to the member of a doubt's subject; `None`: the command line.
fn let_in_by(subject: &str) -> Option<Uuid> {
    super::applicant_view::staff_id(subject.split_once(' ')?.1)
}

/// Whether anybody besides a member of staff can confirm a member who is in doubt.
async fn others_vouch(tx: &mut Tx, scope: Scope, waiting: &Waiting, staff_id: Uuid) -> Result<bool, Problem> {
    for one in staff::of_merchant(tx, scope.merchant_id).await? {
        let id = one.member.id;
        let is_another = id != staff_id && !waiting.subject.starts_with(&id.to_string());
        let may_act = one.disabled_at.is_none() && one.member.disabled_at.is_none();
        if is_another
            && may_act
            && one.role.parse().is_ok_and(decides)
            && !proposals::waits(tx, scope, MEMBER, &id.to_string()).await?
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Refuses that a member who had a role `before` leaves an account with fewer than two deciders, where two people are required.
/// Otherwise a member could demote the second decider and invite a second login in that place.
pub async fn keep_two_deciders(tx: &mut Tx, merchant_id: Uuid, before: Role) -> Result<(), Problem> {
    if !decides(before) || !needs_second(Act::CountMember, of_account(tx, merchant_id).await?) {
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
pub async fn doubt(
    tx: &mut Tx,
    merchant_id: Uuid,
    (staff_id, role): (Uuid, Role),
    (doubt, by): (&str, By<'_>),
) -> Result<(), Problem> {
    let state = of_account(tx, merchant_id).await?;
    if !needs_second(Act::CountMember, state) || !decides(role) {
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
    let id = format!("{staff_id} {}", named(by.staff_id));
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

pub mod pages;
#[cfg(test)]
mod tests;
