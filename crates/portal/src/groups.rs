//! Groups: the list, and an editor for each Group's Flows and their order. `service::groups` validates
//! Groups, for the API too.

use std::collections::BTreeMap;

use askama::Template;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum_extra::extract::Form;
use http_server::error::Rejection;
use http_server::path::PathText;
use serde_json::{Map, Value, json};
use service::permissions::Action;
use service::problem::{Family, Kind, Problem};
use service::{Shared, flows, groups};
use store::flows::Flow;
use store::groups::Group;
use verification::group::GroupStatus;

use super::flows::form::FormFields;
use super::page::{Page, done, html};
use super::routes::Routes;
use super::session::Member;

/// Adds this area's routes.
pub fn routes(routes: Routes) -> Routes {
    routes
        .get("/portal/groups", Action::ViewFlows, list)
        .get("/portal/groups/new", Action::EditGroups, new)
        .post("/portal/groups/new", Action::EditGroups, create)
        .get("/portal/groups/{groupId}", Action::ViewFlows, edit)
        .post("/portal/groups/{groupId}", Action::EditGroups, save)
        .get("/portal/groups/{groupId}/delete", Action::EditGroups, ask_delete)
        .post("/portal/groups/{groupId}/delete", Action::EditGroups, delete)
}

#[derive(Template)]
#[template(path = "portal/groups/list.html")]
struct ListPage {
    page: Page,
    groups: Vec<Group>,
}

async fn list(State(app): State<Shared>, member: Member, page: Page) -> Result<Response, Rejection> {
    let groups = groups::list(&app, member.scope()?).await?;
    Ok(html(ListPage { page, groups })?)
}

/// A Flow in the form: whether the Group contains it, and at which position.
struct Choice {
    flow: Flow,
    place: Option<String>,
}

#[derive(Template)]
#[template(path = "portal/groups/editor.html")]
struct EditorPage {
    page: Page,
    group: Option<Group>,
    name: String,
    description: String,
    inactive: bool,
    choices: Vec<Choice>,
    faults: BTreeMap<String, String>,
}

impl EditorPage {
    fn fault(&self, field: &str) -> &str {
        self.faults.get(field).map_or("", String::as_str)
    }
}

/// The form for the stored values.
fn editor(page: Page, group: Option<Group>, flows: Vec<Flow>) -> EditorPage {
    let place = |flow: &Flow| {
        let group = group.as_ref()?;
        let place = group.flows.iter().position(|each| each.id == flow.id)?;
        Some((place + 1).to_string())
    };
    let mut choices: Vec<Choice> = flows
        .into_iter()
        .map(|flow| Choice {
            place: place(&flow),
            flow,
        })
        .collect();
    // The Group's own Flows come first, in their order.
    let rank = |choice: &Choice| {
        choice
            .place
            .as_ref()
            .map_or(usize::MAX, |place| place.parse().unwrap_or_default())
    };
    choices.sort_by_key(rank);
    EditorPage {
        page,
        name: group.as_ref().map(|group| group.name.clone()).unwrap_or_default(),
        description: group
            .as_ref()
            .and_then(|group| group.description.clone())
            .unwrap_or_default(),
        inactive: group
            .as_ref()
            .is_some_and(|group| group.status == GroupStatus::Inactive),
        group,
        choices,
        faults: BTreeMap::new(),
    }
}

async fn new(State(app): State<Shared>, member: Member, page: Page) -> Result<Response, Rejection> {
    let flows = flows::list(&app, member.scope()?).await?;
    Ok(html(editor(page, None, flows))?)
}

async fn edit(
    State(app): State<Shared>,
    member: Member,
    page: Page,
    PathText(id): PathText,
) -> Result<Response, Rejection> {
    let group = groups::get(&app, member.scope()?, &id).await?;
    let flows = flows::list(&app, member.scope()?).await?;
    Ok(html(editor(page, Some(group), flows))?)
}

type Pairs = Form<Vec<(String, String)>>;

/// The body that the API expects.
fn body_of(sent: &FormFields) -> Map<String, Value> {
    let place = |id: &str| sent.one(&format!("place.{id}")).parse().unwrap_or(u32::MAX);
    let mut ids: Vec<&str> = sent.all("flow").collect();
    ids.sort_by_key(|id| place(id));
    let description = sent.one("description");
    let body = json!({
        "name": sent.one("name"),
        "description": if description.is_empty() { Value::Null } else { description.into() },
        "status": if sent.one("inactive").is_empty() { "active" } else { "inactive" },
        "flowIds": ids,
    });
    body.as_object().cloned().unwrap_or_default()
}

async fn create(
    State(app): State<Shared>,
    member: Member,
    page: Page,
    Form(pairs): Pairs,
) -> Result<Response, Rejection> {
    let sent = FormFields(pairs);
    match groups::make(&app, &member.caller()?, &body_of(&sent)).await {
        Ok(_) => Ok(done("/portal/groups", "created")),
        Err(problem) => render_refusal(&app, &member, page, None, &sent, problem).await,
    }
}

async fn save(
    State(app): State<Shared>,
    member: Member,
    page: Page,
    PathText(id): PathText,
    Form(pairs): Pairs,
) -> Result<Response, Rejection> {
    let sent = FormFields(pairs);
    let group = groups::get(&app, member.scope()?, &id).await?;
    match groups::update(&app, &member.caller()?, &id, &body_of(&sent)).await {
        Ok(_) => Ok(done("/portal/groups", "saved")),
        Err(problem) => render_refusal(&app, &member, page, Some(group), &sent, problem).await,
    }
}

/// The form with the typed values and their errors.
async fn render_refusal(
    app: &Shared,
    member: &Member,
    page: Page,
    group: Option<Group>,
    sent: &FormFields,
    problem: Problem,
) -> Result<Response, Rejection> {
    let mut faults = BTreeMap::new();
    let status = problem.status(Family::System);
    match problem.kind() {
        Kind::Invalid => {
            for error in problem.errors() {
                let (field, reason) = error.split_once(" - ").unwrap_or(("form", error));
                let text = match field {
                    "flowIds" => page.t("groups.fault.flows"),
                    _ => page.t1("groups.fault", "reason", reason),
                };
                faults.insert(field.to_owned(), text);
            }
        }
        Kind::Conflict => {
            faults.insert("name".into(), page.t("groups.fault.name_taken"));
        }
        Kind::Forbidden => {
            faults.insert("form".into(), page.t("groups.fault.limit"));
        }
        _ => return Err(problem.into()),
    }
    let flows = flows::list(app, member.scope()?).await?;
    let mut form = editor(page, group, flows);
    form.name = sent.one("name").to_owned();
    form.description = sent.one("description").to_owned();
    form.inactive = !sent.one("inactive").is_empty();
    for choice in &mut form.choices {
        let id = choice.flow.id.to_string();
        let is_chosen = sent.all("flow").any(|chosen| chosen == id);
        choice.place = is_chosen.then(|| sent.one(&format!("place.{id}")).to_owned());
    }
    form.faults = faults;
    Ok((status, html(form)?).into_response())
}

#[derive(Template)]
#[template(path = "portal/groups/delete.html")]
struct DeletePage {
    page: Page,
    group: Group,
}

async fn ask_delete(
    State(app): State<Shared>,
    member: Member,
    page: Page,
    PathText(id): PathText,
) -> Result<Response, Rejection> {
    let group = groups::get(&app, member.scope()?, &id).await?;
    Ok(html(DeletePage { page, group })?)
}

async fn delete(
    State(app): State<Shared>,
    member: Member,
    PathText(id): PathText,
) -> Result<Response, Rejection> {
    groups::delete(&app, &member.caller()?, &id).await?;
    Ok(done("/portal/groups", "deleted"))
}
