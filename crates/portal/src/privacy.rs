//! Privacy: each Flow's retention period, the export of all data about a person, and the erasure of a person.

use askama::Template;
use axum::body::Body;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use axum_extra::extract::Form;
use http_server::error::Rejection;
use serde::Deserialize;
use service::flows::SaveOutcome;
use service::permissions::Action;
use service::privacy::{self, PersonSummary};
use service::problem::{Kind, Problem};
use service::retention::{self, Outlook};
use service::{Shared, erasure, subject_access};
use store::erasures::{self, Erasure};
use uuid::Uuid;

use super::page::{Page, done, html};
use super::proposal::redirect_after_proposal;
use super::routes::Routes;
use super::session::Member;

/// The most rows of the erasure ledger that are shown.
const LEDGER: i64 = 100;
/// The longest retention period, in days.
const MOST_DAYS: u32 = 36_500;

/// Adds this area's routes.
pub fn routes(routes: Routes) -> Routes {
    routes
        .get("/portal/privacy", Action::ManageRetention, overview)
        .post(
            "/portal/privacy/retention",
            Action::ManageRetention,
            set_retention,
        )
        .get("/portal/privacy/person", Action::ErasePerson, ask)
        .post("/portal/privacy/person", Action::ErasePerson, find)
        .post("/portal/privacy/export", Action::ExportPerson, export)
        .post("/portal/privacy/erase", Action::ErasePerson, erase)
}

#[derive(Template)]
#[template(path = "portal/privacy/overview.html")]
struct OverviewPage {
    page: Page,
    flows: Vec<Outlook>,
    default_days: Option<u32>,
    ledger: Vec<Erasure>,
    /// The Flow whose retention period was rejected, and why.
    wrong: Option<(Uuid, String)>,
    typed: String,
}

impl OverviewPage {
    fn error_of(&self, flow: &Outlook) -> Option<&str> {
        let (id, error) = self.wrong.as_ref()?;
        (*id == flow.flow_id).then_some(error)
    }

    fn days_of(&self, flow: &Outlook) -> String {
        match self.error_of(flow) {
            Some(_) => self.typed.clone(),
            None => flow.own_days.map(|days| days.to_string()).unwrap_or_default(),
        }
    }
}

async fn overview_page(
    app: &Shared,
    page: Page,
    member: &Member,
    wrong: Option<(Uuid, String)>,
    typed: String,
) -> Result<Response, Rejection> {
    let scope = member.scope()?;
    Ok(html(OverviewPage {
        flows: retention::outlook(app, scope).await?,
        default_days: app.config.retention_days,
        ledger: erasures::list(&mut app.db.read().await?, scope, LEDGER).await?,
        wrong,
        typed,
        page,
    })?)
}

async fn overview(State(app): State<Shared>, page: Page, member: Member) -> Result<Response, Rejection> {
    overview_page(&app, page, &member, None, String::new()).await
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct RetentionForm {
    flow_id: String,
    days: String,
}

async fn set_retention(
    State(app): State<Shared>,
    page: Page,
    member: Member,
    Form(form): Form<RetentionForm>,
) -> Result<Response, Rejection> {
    let flow_id = Uuid::parse_str(&form.flow_id).map_err(|_| Problem::not_found("Flow not found"))?;
    let text = form.days.trim();
    let days = match (text.is_empty(), text.parse::<u32>()) {
        (true, _) => None,
        (false, Ok(days)) if (1..=MOST_DAYS).contains(&days) => Some(days),
        _ => {
            let error = page.t("privacy.retention.wrong");
            let text = text.to_owned();
            let mut response = overview_page(&app, page, &member, Some((flow_id, error)), text).await?;
            *response.status_mut() = StatusCode::BAD_REQUEST;
            return Ok(response);
        }
    };
    match retention::set(&app, member.scope()?, flow_id, days, &member.actor()).await? {
        SaveOutcome::Done(_) => Ok(done("/portal/privacy", "saved")),
        SaveOutcome::Proposed => {
            let confirms = (Action::ManageRules, "change_proposed");
            Ok(redirect_after_proposal(&app, &member, "/portal/privacy", confirms).await?)
        }
    }
}

#[derive(Template)]
#[template(path = "portal/privacy/person.html")]
struct PersonPage {
    page: Page,
    asked: String,
    /// Whether a search was made.
    looked: bool,
    /// Every person whom the search may mean.
    found: Vec<PersonSummary>,
    error: String,
}

async fn ask(page: Page) -> Result<Response, Rejection> {
    Ok(html(PersonPage {
        page,
        asked: String::new(),
        looked: false,
        found: Vec::new(),
        error: String::new(),
    })?)
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct FindForm {
    person: String,
}

async fn find(
    State(app): State<Shared>,
    page: Page,
    member: Member,
    Form(form): Form<FindForm>,
) -> Result<Response, Rejection> {
    let found = privacy::find(&app, member.scope()?, &form.person, &member.actor()).await?;
    Ok(html(PersonPage {
        page,
        asked: form.person,
        looked: true,
        found,
        error: String::new(),
    })?)
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct PersonForm {
    facemap_id: String,
    typed: String,
}

impl PersonForm {
    fn facemap_id(&self) -> Result<Uuid, Problem> {
        Uuid::parse_str(&self.facemap_id).map_err(|_| Problem::not_found("No such person in this account"))
    }
}

async fn export(
    State(app): State<Shared>,
    member: Member,
    Form(form): Form<PersonForm>,
) -> Result<Response, Rejection> {
    let facemap_id = form.facemap_id()?;
    let stream = subject_access::export(&app, member.scope()?, facemap_id, &member.actor()).await?;
    let headers = [
        (CONTENT_TYPE, "application/zip".to_owned()),
        (
            CONTENT_DISPOSITION,
            format!("attachment; filename=\"person-{facemap_id}.zip\""),
        ),
    ];
    Ok((headers, Body::from_stream(stream)).into_response())
}

async fn erase(
    State(app): State<Shared>,
    page: Page,
    member: Member,
    Form(form): Form<PersonForm>,
) -> Result<Response, Rejection> {
    let (scope, actor) = (member.scope()?, member.actor());
    let facemap_id = form.facemap_id()?;
    let held = match privacy::summarise_person(&app, scope, facemap_id).await {
        // This person was erased before. Repeating the request completes an interrupted erasure.
        Err(problem) if problem.kind() == Kind::NotFound => None,
        held => Some(held?),
    };
    let confirmation = held
        .as_ref()
        .map_or_else(|| privacy::confirmation(facemap_id), PersonSummary::confirmation);
    if form.typed.trim() != confirmation {
        let held = held.ok_or_else(|| Problem::not_found("No such person in this account"))?;
        let shown = PersonPage {
            asked: form.facemap_id,
            looked: true,
            found: vec![held],
            error: page.t("privacy.erase.wrong"),
            page,
        };
        let mut response = html(shown)?;
        *response.status_mut() = StatusCode::BAD_REQUEST;
        return Ok(response);
    }
    erasure::in_background(app, scope, facemap_id, actor).await?;
    Ok(done("/portal/privacy", "privacy.erased"))
}
