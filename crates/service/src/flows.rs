//! Use cases of Flows. `verification::flow` and `verification::flow_body` have the rules, `store::flows` the
//! SQL.

pub mod from_file;

use serde_json::{Map, Value, json};
use store::audit::{self, Entry};
use store::flows::{self, Flow, FlowContent};
use store::{Error, Scope, Tx, rescreenings};
use uuid::Uuid;
use verification::flow_body::FlowChanges;
use verification::four_eyes::{
    Act, Defaults, FourEyesScope, Weakening, flow_weakenings, needs_second_person,
};

use super::actor::By;
use super::four_eyes::{self, Change, ChangedValue};
use super::{App, applicant_invitations, merchants};
use crate::caller::Caller;
pub use crate::flow_content::{parse, read};
use crate::flow_content::{settings_after_deletion, watches_its_people};
use crate::problem::{Kind, Problem};

/// All Flows of the account, newest first.
pub async fn list(app: &App, scope: Scope) -> Result<Vec<Flow>, Problem> {
    Ok(flows::list(&mut app.db.read().await?, scope).await?)
}

/// One Flow, or 404.
pub async fn get(app: &App, scope: Scope, id: &str) -> Result<Flow, Problem> {
    let id = parse_id(id)?;
    flows::get(&mut app.db.read().await?, scope, id)
        .await?
        .ok_or_else(not_found)
}

/// Changes a Flow. Every submitted member replaces its whole value.
pub async fn update(
    app: &App,
    caller: &Caller,
    id: &str,
    body: &Map<String, Value>,
) -> Result<Flow, Problem> {
    let id = parse_id(id)?;
    get(app, caller.scope, &id.to_string()).await?;
    let changes = FlowChanges::parse(body, caller.scope.sandbox)?;
    store::transaction!(app.db, |tx| -> Result<Flow, Problem> {
        let flow = flows::get_for_update(tx, caller.scope, id)
            .await?
            .ok_or_else(not_found)?;
        let before: FlowContent = flow.into();
        let content = apply_changes(before.clone(), &changes)?;
        let flow = write(tx, caller.scope, id, (&before, &content)).await?;
        // As the contract allows, an API key can weaken a Flow without a second person. The audit trail names
        // the members.
        let weaker = weakenings(&before, &content, app.config.retention_days)?;
        let entry = Entry {
            actor: &caller.key,
            action: "flow.updated",
            subject: &id.to_string(),
            detail: &detail(&weaker),
        };
        audit::write(tx, caller.scope, &entry).await?;
        Ok(flow)
    })
}

/// The result of a change.
#[expect(clippy::large_enum_variant, reason = "one per request, never in bulk")]
#[derive(Clone, Debug)]
pub enum SaveOutcome {
    /// It is in effect.
    Done(Flow),
    /// It waits for a second person.
    Proposed,
}

impl SaveOutcome {
    /// The Flow; an error if the change waits, because this caller needs the change in effect.
    pub fn flow(self) -> Result<Flow, String> {
        match self {
            SaveOutcome::Done(flow) => Ok(flow),
            SaveOutcome::Proposed => Err("the change needs a second approval".into()),
        }
    }
}

/// The Flow that the portal's editor saves. Its body may contain all members of PUT, and `settings`.
pub enum Draft<'a> {
    /// A Flow that is not there yet.
    New,
    /// An existing Flow: its id, and when it had last changed (ms) as the editor opened it.
    Of(&'a str, i64),
}

/// Saves the portal editor's body by the same rules as PUT. If a colleague has changed the Flow since, the
/// response is a conflict. A change that weakens the Flow waits for a second person where the Flow or the
/// account requires one.
pub async fn save(
    app: &App,
    caller: &Caller,
    draft: Draft<'_>,
    body: &Map<String, Value>,
) -> Result<SaveOutcome, Problem> {
    save_as(app, caller, draft, body, false).await
}

/// Saves a sandbox copy of a live Flow to try it out. No applicant passes in the sandbox, so no second
/// approval is needed.
pub async fn save_rehearsal(
    app: &App,
    caller: &Caller,
    draft: Draft<'_>,
    body: &Map<String, Value>,
) -> Result<Flow, Problem> {
    if !caller.scope.sandbox {
        return Err(Problem::internal("a Flow is tried out in the sandbox"));
    }
    match save_as(app, caller, draft, body, true).await? {
        SaveOutcome::Done(flow) => Ok(flow),
        SaveOutcome::Proposed => Err(Problem::internal("a sandbox copy needs no second approval")),
    }
}

async fn save_as(
    app: &App,
    caller: &Caller,
    draft: Draft<'_>,
    body: &Map<String, Value>,
    is_rehearsal: bool,
) -> Result<SaveOutcome, Problem> {
    let (scope, by) = (caller.scope, By::actor(&caller.key));
    let Draft::Of(id, seen) = draft else {
        let content = check(body, scope.sandbox)?;
        return store::transaction!(app.db, |tx| -> Result<SaveOutcome, Problem> {
            let is_asked = new_flow_needs_second(tx, scope).await? && !is_rehearsal;
            if is_asked {
                return propose_new(tx, scope, content.clone(), by).await;
            }
            create_within_plan(tx, scope, &content, by.actor)
                .await
                .map(SaveOutcome::Done)
        });
    };
    let id = parse_id(id)?;
    get(app, scope, &id.to_string()).await?;
    store::transaction!(app.db, |tx| -> Result<SaveOutcome, Problem> {
        let flow = flows::get_for_update(tx, caller.scope, id)
            .await?
            .ok_or_else(not_found)?;
        if flow.updated_at != seen {
            return Err(Problem::new(Kind::Conflict, CHANGED_MEANWHILE));
        }
        let content = apply_draft(flow.clone().into(), body, scope.sandbox)?;
        if is_rehearsal {
            return replace_content(tx, scope, id, &content, by.actor)
                .await
                .map(SaveOutcome::Done);
        }
        change(tx, scope, flow, content, app.config.retention_days, by).await
    })
}

/// Whether a new Flow needs a second person.
async fn new_flow_needs_second(tx: &mut Tx, scope: Scope) -> Result<bool, Problem> {
    let state = four_eyes::of_account(tx, scope.merchant_id).await?;
    Ok(needs_second_person(Act::MakeFlow, state))
}

async fn propose_new(
    tx: &mut Tx,
    scope: Scope,
    content: FlowContent,
    by: By<'_>,
) -> Result<SaveOutcome, Problem> {
    let name = content.name.clone();
    let subject = four_eyes::Subject {
        id: &name,
        name: &name,
        attempt: None,
    };
    let lines = new_flow_values(&content)?;
    four_eyes::propose(tx, scope, Change::NewFlow { content }, subject, lines, by).await?;
    Ok(SaveOutcome::Proposed)
}

/// The content of a new Flow, for the person who confirms it.
fn new_flow_values(content: &FlowContent) -> Result<Vec<ChangedValue>, Problem> {
    let members = [
        ("defaultFields", &content.default_fields),
        ("defaultDocumentTypes", &content.default_document_types),
        ("countryOverrides", &content.country_overrides),
        ("geoBlockedCountries", &content.geo_blocked_countries),
        ("settings", &content.settings),
    ];
    Ok(members
        .into_iter()
        .map(|(member, value)| ChangedValue {
            member: member.to_owned(),
            from: "–".to_owned(),
            to: value.clone(),
        })
        .collect())
}

/// Changes a Flow, or proposes the change where it weakens the Flow and two people are required.
pub(super) async fn change(
    tx: &mut Tx,
    scope: Scope,
    flow: Flow,
    content: FlowContent,
    retention_days: Option<u32>,
    by: By<'_>,
) -> Result<SaveOutcome, Problem> {
    let (flow_id, seen, name) = (flow.id, flow.updated_at, flow.name.clone());
    let before: FlowContent = flow.into();
    if read(&before).is_err() && by.actor == By::COMMAND_LINE.actor {
        return repair(tx, scope, flow_id, &before, &content, by).await;
    }
    let weaker = weakenings(&before, &content, retention_days)?;
    let mut state = four_eyes::of_account(tx, scope.merchant_id).await?;
    state.flow = parse(&before)?.settings.four_eyes;
    if weaker.is_empty() || !needs_second_person(Act::WeakenFlow, state) {
        return replace_content(tx, scope, flow_id, &content, by.actor)
            .await
            .map(SaveOutcome::Done);
    }
    let id = flow_id.to_string();
    let subject = four_eyes::Subject {
        id: &id,
        name: &name,
        attempt: None,
    };
    let change = Change::Flow {
        flow_id,
        seen,
        content,
    };
    let lines = weaker.into_iter().map(ChangedValue::from).collect();
    four_eyes::propose(tx, scope, change, subject, lines, by).await?;
    Ok(SaveOutcome::Proposed)
}

/// Replaces a Flow's content that cannot be read. No second person can confirm such a change, so the new
/// content must not check less than the readable part of the old one.
async fn repair(
    tx: &mut Tx,
    scope: Scope,
    id: Uuid,
    before: &FlowContent,
    after: &FlowContent,
    by: By<'_>,
) -> Result<SaveOutcome, Problem> {
    let merchant = store::merchants::get(tx, scope.merchant_id)
        .await?
        .ok_or_else(not_found)?;
    let account = merchants::settings(&merchant)?.four_eyes;
    let kept = readable_content(before, after);
    let state = FourEyesScope {
        account,
        flow: parse(&kept)?.settings.four_eyes,
        ..FourEyesScope::default()
    };
    let weaker = weakenings(&kept, after, None)?;
    if weaker.is_empty() || !needs_second_person(Act::WeakenFlow, state) {
        return replace_content(tx, scope, id, after, by.actor)
            .await
            .map(SaveOutcome::Done);
    }
    let members: Vec<String> = weaker
        .into_iter()
        .map(|one| format!("{} ({})", one.member, one.from))
        .collect();
    let text = format!(
        "The stored Flow cannot be read, and two people are required to check less. Repair it with {}; two members can then change \
         it in the portal",
        members.join(" and ")
    );
    Err(Problem::new(Kind::Conflict, text))
}

/// The readable members of a Flow that cannot be read as a whole; the others come from `after`. A `fourEyes`
/// that cannot be read counts as set.
fn readable_content(before: &FlowContent, after: &FlowContent) -> FlowContent {
    let mut kept = after.clone();
    let parts: [fn(&FlowContent, &mut FlowContent); 6] = [
        |from, to| to.default_fields.clone_from(&from.default_fields),
        |from, to| to.default_document_types.clone_from(&from.default_document_types),
        |from, to| to.country_overrides.clone_from(&from.country_overrides),
        |from, to| to.geo_blocked_countries.clone_from(&from.geo_blocked_countries),
        |from, to| to.min_age = from.min_age,
        |from, to| to.max_age = from.max_age,
    ];
    for take in parts {
        let mut trial = kept.clone();
        take(before, &mut trial);
        if read(&trial).is_ok() {
            kept = trial;
        }
    }
    let object = |text: &str| serde_json::from_str::<Map<String, Value>>(text).ok();
    let Some(mut settings) = object(&after.settings) else {
        return kept;
    };
    let with = |settings: &Map<String, Value>| FlowContent {
        settings: Value::Object(settings.clone()).to_string(),
        ..kept.clone()
    };
    let Some(stored) = object(&before.settings) else {
        settings.insert("fourEyes".into(), Value::Bool(true));
        return with(&settings);
    };
    for (name, value) in stored {
        let is_four_eyes = name == "fourEyes";
        let mut trial = settings.clone();
        trial.insert(name.clone(), value);
        if read(&with(&trial)).is_ok() {
            settings = trial;
        } else if is_four_eyes {
            settings.insert(name, Value::Bool(true));
        }
    }
    with(&settings)
}

/// The members by which a Flow checks less after a change.
fn weakenings(
    before: &FlowContent,
    after: &FlowContent,
    retention_days: Option<u32>,
) -> Result<Vec<Weakening>, Problem> {
    let defaults = Defaults {
        match_threshold: f64::from(faces::MATCH_SIMILARITY),
        review_band: f64::from(faces::REVIEW_SIMILARITY),
        retention_days,
    };
    Ok(flow_weakenings(&parse(before)?, &parse(after)?, defaults))
}

/// The audit row's detail: the members by which a change weakens the Flow.
fn detail(weaker: &[Weakening]) -> String {
    match weaker {
        [] => "{}".to_owned(),
        weaker => {
            let members: Vec<&str> = weaker.iter().map(|one| one.member.as_str()).collect();
            json!({ "weakens": members }).to_string()
        }
    }
}

async fn write(
    tx: &mut Tx,
    scope: Scope,
    id: Uuid,
    (before, content): (&FlowContent, &FlowContent),
) -> Result<Flow, Problem> {
    if !watches_its_people(before) && watches_its_people(content) {
        // Nobody looked at its people meanwhile.
        rescreenings::forget(tx, scope).await?;
    }
    flows::update(tx, scope, id, content)
        .await
        .map_err(refused)?
        .ok_or_else(not_found)
}

/// Writes a Flow's content, with an audit row. The caller has checked whether a second person is needed.
pub(super) async fn replace_content(
    tx: &mut Tx,
    scope: Scope,
    id: Uuid,
    content: &FlowContent,
    actor: &str,
) -> Result<Flow, Problem> {
    let before = flows::get_for_update(tx, scope, id)
        .await?
        .ok_or_else(not_found)?
        .into();
    let flow = write(tx, scope, id, (&before, content)).await?;
    let entry = Entry {
        actor,
        action: "flow.updated",
        subject: &id.to_string(),
        detail: "{}",
    };
    audit::write(tx, scope, &entry).await?;
    Ok(flow)
}

/// Makes a Flow within the account's plan, with an audit row. The caller has checked whether a second person
/// is needed.
pub(super) async fn create_within_plan(
    tx: &mut Tx,
    scope: Scope,
    content: &FlowContent,
    actor: &str,
) -> Result<Flow, Problem> {
    let merchant = store::merchants::get(tx, scope.merchant_id)
        .await?
        .ok_or_else(|| Problem::not_found("No such merchant"))?;
    let limit = merchants::settings(&merchant)?.max_flows;
    let flow = flows::create(tx, scope, content, limit).await.map_err(refused)?;
    let entry = Entry {
        actor,
        action: "flow.created",
        subject: &flow.id.to_string(),
        detail: "{}",
    };
    audit::write(tx, scope, &entry).await?;
    Ok(flow)
}

/// The refusal of a change to a Flow that another person has changed since.
pub const CHANGED_MEANWHILE: &str = "Someone else has changed this Flow since you opened it";

/// The content that a whole body would create, if the rules allow it. It does not check that the name is
/// free; saving does.
pub fn check(body: &Map<String, Value>, sandbox: bool) -> Result<FlowContent, Problem> {
    apply_draft(empty(), body, sandbox)
}

/// The content after the editor's changes, or all faults at once. If some members are invalid, the rules that
/// span members are applied to the others.
fn apply_draft(
    content: FlowContent,
    body: &Map<String, Value>,
    sandbox: bool,
) -> Result<FlowContent, Problem> {
    let refusal = match FlowChanges::parse_with_settings(body, sandbox) {
        Ok(changes) => return apply_changes(content, &changes),
        Err(refusal) => refusal,
    };
    let mut faults = refusal.errors;
    let is_wrong = |name: &str| {
        let is_about = |fault: &String| {
            let rest = fault.strip_prefix(name);
            rest.is_some_and(|rest| rest.starts_with([' ', '.', '[']))
        };
        faults.iter().any(is_about)
    };
    let right = body.iter().filter(|(name, _)| !is_wrong(name));
    let right = right.map(|(name, value)| (name.clone(), value.clone())).collect();
    if let Ok(changes) = FlowChanges::parse_with_settings(&right, sandbox)
        && let Err(spanning) = apply_changes(content, &changes)
    {
        faults.extend_from_slice(spanning.errors());
    }
    Err(Problem::validation(faults))
}

/// Deletes a Flow and removes it from every Group.
pub async fn delete(app: &App, caller: &Caller, id: &str) -> Result<(), Problem> {
    let id = parse_id(id)?;
    let subject = id.to_string();
    store::transaction!(app.db, |tx| -> Result<(), Problem> {
        let flow = flows::get_for_update(tx, caller.scope, id)
            .await?
            .ok_or_else(not_found)?;
        let content: FlowContent = flow.into();
        if !watches_its_people(&content) {
            // People of a Flow that was deleted are watched, and nobody looked at them meanwhile.
            rescreenings::forget(tx, caller.scope).await?;
        }
        // Its people are still screened against its lists. Fewer would need a second person.
        if let Some(settings) = settings_after_deletion(&content.settings) {
            flows::record_deleted_lists(tx, caller.scope, id, &settings).await?;
        }
        // Pending attempts still need the two people that their Flow required.
        if four_eyes::requires_two(&content) {
            flows::record_deleted_four_eyes(tx, caller.scope, id).await?;
        }
        if !flows::delete(tx, caller.scope, id).await? {
            return Err(not_found());
        }
        let detail = applicant_invitations::revoke_of_configuration(tx, caller.scope, id).await?;
        let entry = Entry {
            detail: &detail,
            ..caller.audit_entry("flow.deleted", &subject)
        };
        audit::write(tx, caller.scope, &entry).await?;
        Ok(())
    })
}

/// The content after a change, if the rules that span members allow it.
fn apply_changes(mut content: FlowContent, changes: &FlowChanges) -> Result<FlowContent, Problem> {
    let replace = |value: &mut String, change: &Option<String>| {
        if let Some(change) = change {
            value.clone_from(change);
        }
    };
    replace(&mut content.name, &changes.name);
    replace(&mut content.default_fields, &changes.default_fields);
    replace(
        &mut content.default_document_types,
        &changes.default_document_types,
    );
    replace(&mut content.country_overrides, &changes.country_overrides);
    replace(&mut content.geo_blocked_countries, &changes.geo_blocked_countries);
    replace(&mut content.settings, &changes.settings);
    content.webhook_url = changes.webhook_url.clone().unwrap_or(content.webhook_url);
    content.min_age = changes.min_age.unwrap_or(content.min_age);
    content.max_age = changes.max_age.unwrap_or(content.max_age);
    parse(&content)?.check()?;
    Ok(content)
}

fn empty() -> FlowContent {
    FlowContent {
        name: String::new(),
        default_fields: "{}".into(),
        default_document_types: "[]".into(),
        country_overrides: "[]".into(),
        geo_blocked_countries: "[]".into(),
        webhook_url: None,
        min_age: None,
        max_age: None,
        settings: "{}".into(),
    }
}

fn parse_id(id: &str) -> Result<Uuid, Problem> {
    Uuid::parse_str(id).map_err(|_| not_found())
}

fn not_found() -> Problem {
    Problem::not_found("Flow not found")
}

fn refused(error: Error) -> Problem {
    match error {
        Error::Conflict => Problem::new(Kind::Conflict, "A flow with this name already exists"),
        Error::LimitReached => Problem::new(Kind::Forbidden, "The plan's limit of flows is reached"),
        error => error.into(),
    }
}

fn explain(refusal: verification::refusal::Refusal) -> String {
    Problem::from(refusal).to_string()
}

fn for_people(error: Error) -> String {
    match error {
        Error::Conflict => "A flow with this name already exists".into(),
        error => error.to_string(),
    }
}
