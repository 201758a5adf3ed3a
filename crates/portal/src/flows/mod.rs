//! Flows: the list, the editor with its outlook and preview, duplication, deletion, and sandbox trials.
//!
//! `service::flows` validates Flows, for the API's PUT too. This module only shows them and collects input.

pub mod faults;
pub mod form;
pub mod sentences;

use askama::Template;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use axum_extra::extract::Form;
use http_server::error::Rejection;
use http_server::path::PathText;
use reference::languages::{Language, languages};
use reference::{Country, UTOPIA};
use service::flows::{self, Draft, SaveOutcome};
use service::permissions::Action;
use service::problem::Problem;
use service::{App, Shared, groups, hosted, merchants, sessions};
use store::flows::Flow;
use store::groups::Group;
use verification::consequences;

use self::faults::Faults;
use self::form::{FlowForm, FormFields, Object};
use self::sentences::Sentence;
use super::frame::frame_by_self;
use super::links::LinkMade;
use super::list_boxes::{ListBox, list_boxes};
use super::page::{Page, done, html};
use super::proposal::redirect_after_proposal;
use super::routes::Routes;
use super::session::Member;

/// The country whose consequences the editor's outlook shows first.
const DEFAULT_COUNTRY: &str = "DEU";

/// The action that confirms a change of a Flow, and the status message's key for a proposed change.
const NEW_RULES: (Action, &str) = (Action::ManageRules, "change_proposed");

/// This area's routes.
pub fn routes(routes: Routes) -> Routes {
    routes
        .get("/portal/flows", Action::ViewFlows, list)
        .get("/portal/flows/new", Action::EditFlows, new)
        .post("/portal/flows/new", Action::EditFlows, create)
        .post("/portal/flows/outlook", Action::ViewFlows, outlook)
        .post("/portal/flows/preview", Action::ViewFlows, preview)
        .get("/portal/flows/{flowId}", Action::ViewFlows, edit)
        .post("/portal/flows/{flowId}", Action::EditFlows, save)
        .post("/portal/flows/{flowId}/duplicate", Action::EditFlows, duplicate)
        .get("/portal/flows/{flowId}/delete", Action::EditFlows, ask_delete)
        .post("/portal/flows/{flowId}/delete", Action::EditFlows, delete)
        .post("/portal/flows/{flowId}/try", Action::EditFlows, try_out)
}

struct Row {
    flow: Flow,
    /// The Flow cannot be parsed, so its rules are not shown.
    is_damaged: bool,
    documents: String,
    biometric: &'static str,
    overrides: usize,
    groups: Vec<String>,
}

#[derive(Template)]
#[template(path = "portal/flows/list.html")]
struct ListPage {
    page: Page,
    rows: Vec<Row>,
}

async fn list(State(app): State<Shared>, member: Member, page: Page) -> Result<Response, Rejection> {
    let scope = member.scope()?;
    let groups = groups::list(&app, scope).await?;
    let mut rows = Vec::new();
    for flow in flows::list(&app, scope).await? {
        let mut row = Row {
            is_damaged: true,
            documents: String::new(),
            biometric: "",
            overrides: 0,
            groups: holding(&groups, &flow),
            flow,
        };
        // A damaged Flow does not prevent the others from being listed.
        if let Ok(rules) = flows::read(&row.flow.clone().into()) {
            let types = &rules.defaults.document_types;
            let names: Vec<String> = types
                .iter()
                .map(|each| sentences::document(&page, *each))
                .collect();
            row.is_damaged = false;
            row.documents = sentences::list(&page, &names, "or");
            row.overrides = rules.overrides.len();
            if !types.is_empty() {
                row.biometric = rules.defaults.biometric().as_str();
            }
        }
        rows.push(row);
    }
    Ok(html(ListPage { page, rows })?)
}

/// The names of the Groups that contain a Flow.
fn holding(groups: &[Group], flow: &Flow) -> Vec<String> {
    let holds = |group: &&Group| group.flows.iter().any(|each| each.id == flow.id);
    groups
        .iter()
        .filter(holds)
        .map(|group| group.name.clone())
        .collect()
}

/// The consequences of the form's current values.
struct Outlook {
    lines: Vec<Sentence>,
    countries: Vec<(&'static str, Vec<Sentence>)>,
    /// Errors that must be corrected before consequences can be computed.
    faults: Vec<String>,
}

#[derive(Template)]
#[template(path = "portal/flows/editor.html")]
struct EditorPage {
    page: Page,
    /// `None` for a new Flow.
    flow: Option<Flow>,
    form: FlowForm,
    faults: Faults,
    outlook: Outlook,
    look: String,
    countries: Vec<&'static Country>,
    person: [&'static str; 6],
    address: [&'static str; 6],
    types: [&'static str; 4],
    backs: [(&'static str, &'static str); 2],
    lists: Vec<ListBox>,
    /// The languages of the hosted page.
    languages: &'static [Language],
}

#[derive(Template)]
#[template(path = "portal/flows/outlook.html")]
struct OutlookPart {
    page: Page,
    outlook: Outlook,
}

/// What an editor page is rendered from.
struct Editor {
    page: Page,
    member: Member,
    flow: Option<Flow>,
    body: Object,
    look: String,
}

impl Editor {
    fn show(self, app: &App, faults: Faults) -> Result<Response, Problem> {
        let status = faults.status();
        let outlook = build_outlook(app, &self.page, &self.member, &self.body, &self.look)?;
        let live = !self.member.sandbox;
        let form = FlowForm::new(self.body);
        let shown = html(EditorPage {
            lists: list_boxes(app, &form.screening_lists()),
            languages: languages(),
            form,
            look: self.look,
            countries: countries(!live),
            person: form::PERSON,
            address: form::ADDRESS,
            types: reference::DocumentType::ALL.map(reference::DocumentType::as_str),
            backs: [("driversBack", "DRIVERS"), ("idCardBack", "ID_CARD")],
            page: self.page,
            flow: self.flow,
            outlook,
            faults,
        })?;
        Ok((status, shown).into_response())
    }
}

/// Every country by name, with Utopia (the specimen state) only in the sandbox.
fn countries(sandbox: bool) -> Vec<&'static Country> {
    let mut all: Vec<_> = reference::countries().iter().collect();
    all.sort_unstable_by_key(|country| country.name);
    all.extend(sandbox.then_some(&UTOPIA));
    all
}

/// The body with a placeholder name if it has none yet, because validation of the outlook requires one.
fn named(body: &Object) -> Object {
    let mut body = body.clone();
    if body.get("name").is_some_and(|name| name == "") {
        body.insert("name".into(), "Preview".into());
    }
    body
}

fn build_outlook(
    app: &App,
    page: &Page,
    member: &Member,
    body: &Object,
    look: &str,
) -> Result<Outlook, Problem> {
    let content = match flows::check(&named(body), member.sandbox) {
        Ok(content) => content,
        Err(problem) => {
            return Ok(Outlook {
                lines: Vec::new(),
                countries: Vec::new(),
                faults: Faults::of(page, &problem, body).all(),
            });
        }
    };
    let rules = flows::parse(&content)?;
    let blocked = merchants::settings(member.merchant()?)?.blocked_countries;
    let all = consequences::of_flow(&rules, &blocked);
    let webhook = content.webhook_url.as_deref();
    let webhook_fault = webhook.and_then(|url| app.config.webhook_fault(url, member.sandbox));
    let looked_at = verification::known_country(look, member.sandbox);
    let open = rules.overrides.iter().filter(|element| !element.restricted);
    let mut countries: Vec<&'static Country> = looked_at.into_iter().collect();
    countries.extend(
        open.map(|element| element.country)
            .filter(|country| Some(*country) != looked_at),
    );
    Ok(Outlook {
        lines: all
            .iter()
            .map(|each| sentences::sentence(page, each))
            .chain(webhook_fault.map(|fault| sentences::webhook_fault(page, fault)))
            .collect(),
        countries: countries
            .into_iter()
            .map(|country| {
                let found = consequences::of_country(&rules, country);
                (country.name, sentences::country_sentences(page, &found))
            })
            .collect(),
        faults: Vec::new(),
    })
}

async fn new(State(app): State<Shared>, member: Member, page: Page) -> Result<Response, Rejection> {
    Ok(Editor {
        page,
        member,
        flow: None,
        body: form::new_body(),
        look: DEFAULT_COUNTRY.into(),
    }
    .show(&app, Faults::default())?)
}

/// The page of a Flow that cannot be parsed. It shows the repair command instead of an editor that could not
/// save.
#[derive(Template)]
#[template(path = "portal/flows/damaged.html")]
struct DamagedPage {
    page: Page,
    flow: Flow,
    /// The member that cannot be parsed.
    member: String,
    /// The command that repairs it.
    command: String,
}

async fn edit(
    State(app): State<Shared>,
    member: Member,
    page: Page,
    PathText(id): PathText,
) -> Result<Response, Rejection> {
    let flow = flows::get(&app, member.scope()?, &id).await?;
    if let Err(fault) = flows::read(&flow.clone().into()) {
        let mode = if member.sandbox { " --sandbox" } else { "" };
        let merchant_id = member.merchant()?.id;
        return Ok(html(DamagedPage {
            command: format!(
                "bonafide flow update --merchant {merchant_id} --flow {}{mode} --file flow.json",
                flow.id
            ),
            member: fault.member().to_owned(),
            page,
            flow,
        })?);
    }
    Ok(Editor {
        page,
        member,
        body: form::body_of(&flow.clone().into()),
        flow: Some(flow),
        look: DEFAULT_COUNTRY.into(),
    }
    .show(&app, Faults::default())?)
}

type Pairs = Form<Vec<(String, String)>>;

async fn create(
    State(app): State<Shared>,
    member: Member,
    page: Page,
    Form(pairs): Pairs,
) -> Result<Response, Rejection> {
    let sent = FormFields(pairs);
    let body = form::merge(&form::new_body(), &sent, |action| member.may(action));
    store(&app, member, page, None, body, &sent).await
}

async fn save(
    State(app): State<Shared>,
    member: Member,
    page: Page,
    PathText(id): PathText,
    Form(pairs): Pairs,
) -> Result<Response, Rejection> {
    let sent = FormFields(pairs);
    let flow = flows::get(&app, member.scope()?, &id).await?;
    let body = form::merge(&form::body_of(&flow.clone().into()), &sent, |action| {
        member.may(action)
    });
    store(&app, member, page, Some(flow), body, &sent).await
}

/// Saves the Flow, or shows the form again: with errors, or because a button changed only the form.
async fn store(
    app: &Shared,
    member: Member,
    page: Page,
    flow: Option<Flow>,
    body: Object,
    sent: &FormFields,
) -> Result<Response, Rejection> {
    let caller = member.caller()?;
    let id = flow.as_ref().map(|flow| flow.id.to_string());
    let saved = match sent.one("do") {
        "save" => {
            let draft = match &id {
                Some(id) => Draft::Of(id, sent.one("updatedAt").parse().unwrap_or_default()),
                None => Draft::New,
            };
            Some(flows::save(app, &caller, draft, &body).await)
        }
        _ => None,
    };
    let faults = match saved {
        Some(Ok(SaveOutcome::Done(flow))) => return Ok(done(&format!("/portal/flows/{}", flow.id), "saved")),
        Some(Ok(SaveOutcome::Proposed)) => {
            return Ok(redirect_after_proposal(app, &member, "/portal/flows", NEW_RULES).await?);
        }
        Some(Err(problem)) => Faults::refused(&page, problem, &body)?,
        None => Faults::default(),
    };
    Ok(Editor {
        page,
        member,
        flow,
        body,
        look: sent.one("look").into(),
    }
    .show(app, faults)?)
}

/// The body from the form, applied to the stored Flow that it edits.
async fn body_sent(app: &Shared, member: &Member, sent: &FormFields) -> Result<Object, Problem> {
    let base = match sent.one("flow") {
        "" => form::new_body(),
        id => form::body_of(&flows::get(app, member.scope()?, id).await?.into()),
    };
    Ok(form::merge(&base, sent, |action| member.may(action)))
}

async fn outlook(
    State(app): State<Shared>,
    member: Member,
    page: Page,
    Form(pairs): Pairs,
) -> Result<Response, Rejection> {
    let sent = FormFields(pairs);
    let body = body_sent(&app, &member, &sent).await?;
    let outlook = build_outlook(&app, &page, &member, &body, sent.one("look"))?;
    Ok(html(OutlookPart { page, outlook })?)
}

#[derive(Template)]
#[template(path = "portal/flows/no-preview.html")]
struct NoPreviewPage {
    page: Page,
}

/// The hosted page for the form's current values, for a frame of the editor.
async fn preview(
    State(app): State<Shared>,
    member: Member,
    page: Page,
    headers: HeaderMap,
    Form(pairs): Pairs,
) -> Result<Response, Rejection> {
    let scope = member.scope()?;
    let body = body_sent(&app, &member, &FormFields(pairs)).await?;
    let Ok(content) = flows::check(&named(&body), scope.sandbox) else {
        let mut response = html(NoPreviewPage { page })?;
        frame_by_self(response.headers_mut());
        return Ok(response);
    };
    let merchant = member.merchant()?.clone();
    let rehearsal = hosted::rehearse(&merchant, scope, content)?;
    Ok(hosted_page::page::preview(merchant, rehearsal, &headers)?)
}

async fn duplicate(
    State(app): State<Shared>,
    member: Member,
    page: Page,
    PathText(id): PathText,
) -> Result<Response, Rejection> {
    let flow = flows::get(&app, member.scope()?, &id).await?;
    let taken = flows::list(&app, member.scope()?).await?;
    let mut body = form::body_of(&flow.clone().into());
    let name = (1..)
        .map(|n| match n {
            1 => page.t1("flows.copy", "name", &flow.name),
            n => page.tf("flows.copy.nth", &[("name", &flow.name), ("n", &n.to_string())]),
        })
        .find(|name| taken.iter().all(|flow| flow.name != *name))
        .unwrap_or_default();
    // The copy's name is truncated to 100 characters instead of being refused.
    body.insert("name".into(), name.chars().take(100).collect::<String>().into());
    match flows::save(&app, &member.caller()?, Draft::New, &body).await? {
        SaveOutcome::Done(copy) => Ok(done(&format!("/portal/flows/{}", copy.id), "copied")),
        SaveOutcome::Proposed => {
            Ok(redirect_after_proposal(&app, &member, "/portal/flows", NEW_RULES).await?)
        }
    }
}

#[derive(Template)]
#[template(path = "portal/flows/delete.html")]
struct DeletePage {
    page: Page,
    flow: Flow,
    groups: Vec<String>,
}

async fn ask_delete(
    State(app): State<Shared>,
    member: Member,
    page: Page,
    PathText(id): PathText,
) -> Result<Response, Rejection> {
    let flow = flows::get(&app, member.scope()?, &id).await?;
    let groups = holding(&groups::list(&app, member.scope()?).await?, &flow);
    Ok(html(DeletePage { page, flow, groups })?)
}

async fn delete(
    State(app): State<Shared>,
    member: Member,
    PathText(id): PathText,
) -> Result<Response, Rejection> {
    flows::delete(&app, &member.caller()?, &id).await?;
    Ok(done("/portal/flows", "deleted"))
}

/// Makes a sandbox link for the Flow. A live Flow is first copied to the sandbox under its name, so a trial
/// never verifies a real person.
async fn try_out(
    State(app): State<Shared>,
    member: Member,
    page: Page,
    PathText(id): PathText,
) -> Result<Response, Rejection> {
    let flow = flows::get(&app, member.scope()?, &id).await?;
    let mut caller = member.caller()?;
    caller.scope.sandbox = true;
    let tried = match member.sandbox {
        true => flow,
        false => copy_to_sandbox(&app, &caller, flow).await?,
    };
    let group = group_for(&app, &caller, &page, &tried).await?;
    let body = serde_json::json!({
        "userId": format!("try-{}", &uuid::Uuid::new_v4().simple().to_string()[..8]),
        "groupId": group, "flowId": tried.id,
    });
    let (_, url) = sessions::link(&app, &caller, &object(body)).await?;
    let link = LinkMade {
        url,
        flow: tried.name,
        tries: true,
        ..LinkMade::default()
    };
    Ok(link.show(&app, &member).await?)
}

async fn copy_to_sandbox(
    app: &Shared,
    caller: &service::caller::Caller,
    flow: Flow,
) -> Result<Flow, Problem> {
    let known = flows::list(app, caller.scope).await?;
    let known = known.into_iter().find(|each| each.name == flow.name);
    let mut body = form::body_of(&flow.into());
    // Live webhook receivers get no events of trials.
    body.insert("webhookUrl".into(), "".into());
    match known {
        Some(known) => {
            let id = known.id.to_string();
            flows::save_rehearsal(app, caller, Draft::Of(&id, known.updated_at), &body).await
        }
        None => flows::save_rehearsal(app, caller, Draft::New, &body).await,
    }
}

/// A Group that contains the Flow. If there is none, the Flow joins the Group for trials, which is created as
/// needed.
async fn group_for(
    app: &Shared,
    caller: &service::caller::Caller,
    page: &Page,
    flow: &Flow,
) -> Result<uuid::Uuid, Problem> {
    let all = groups::list(app, caller.scope).await?;
    if let Some(group) = all
        .iter()
        .find(|group| group.flows.iter().any(|each| each.id == flow.id))
    {
        return Ok(group.id);
    }
    let name = page.t("flows.try.group");
    if let Some(group) = all.iter().find(|group| group.name == name) {
        let ids: Vec<_> = group.flows.iter().map(|each| each.id).chain([flow.id]).collect();
        let body = object(serde_json::json!({"flowIds": ids}));
        let group = groups::update(app, caller, &group.id.to_string(), &body).await?;
        return Ok(group.id);
    }
    let body = object(serde_json::json!({"name": name, "flowIds": [flow.id]}));
    Ok(groups::make(app, caller, &body).await?.id)
}

fn object(value: serde_json::Value) -> Object {
    match value {
        serde_json::Value::Object(object) => object,
        _ => Object::new(),
    }
}
