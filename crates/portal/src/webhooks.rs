//! Webhooks: each Flow's receiver with its secret and a test message, and every delivery with its result.

use askama::Template;
use axum::extract::{Query, State};
use axum::response::Response;
use axum_extra::extract::Form;
use http_server::error::Rejection;
use http_server::path::PathText;
use secrecy::ExposeSecret;
use serde::Deserialize;
use service::permissions::Action;
use service::problem::Problem;
use service::webhook_address::AddressFault;
use service::{Shared, flows, webhooks};
use store::flows::Flow;
use store::outbox::{self, EventFilter, EventProgress, EventState};
use uuid::Uuid;

use super::api_log::readable;
use super::page::{Page, done, html};
use super::routes::Routes;
use super::session::Member;

/// Deliveries on one page.
const ON_A_PAGE: usize = 50;
/// The periods for which all events can be sent again, in days.
const SINCE_DAYS: [i64; 4] = [1, 3, 7, 30];
const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

/// Adds this area's routes. Secrets require recent proof of identity, as API keys do.
pub fn routes(routes: Routes) -> Routes {
    routes
        .get("/portal/webhooks", Action::ManageWebhooks, list)
        .post("/portal/webhooks/resend", Action::ManageWebhooks, resend_all)
        .get("/portal/webhooks/events/{eventId}", Action::ManageWebhooks, event)
        .post(
            "/portal/webhooks/events/{eventId}",
            Action::ManageWebhooks,
            resend,
        )
        .post("/portal/webhooks/{flowId}/test", Action::ManageWebhooks, test)
        .get("/portal/webhooks/{flowId}/secret", Action::ViewKeys, secret)
        .post("/portal/webhooks/{flowId}/secret", Action::ViewKeys, rotate)
}

/// The filters of the deliveries.
#[derive(Default, Deserialize)]
#[serde(default)]
struct EventQuery {
    flow: String,
    state: String,
    before: String,
}

impl EventQuery {
    fn filter(&self) -> EventFilter {
        EventFilter {
            flow_id: Uuid::parse_str(&self.flow).ok(),
            progress: EventProgress::try_from(self.state.clone()).ok(),
            before: Uuid::parse_str(&self.before).ok(),
            kind: None,
        }
    }
}

/// A Flow with a webhook URL.
struct Endpoint {
    flow: Flow,
    url: String,
    /// Whether deliveries stopped because the receiver answered 410 at this URL.
    stopped: bool,
    /// Why no event is ever sent to this URL.
    fault: Option<AddressFault>,
}

struct Row {
    event: EventState,
    flow: String,
}

#[derive(Template)]
#[template(path = "portal/webhooks/list.html")]
struct ListPage {
    page: Page,
    endpoints: Vec<Endpoint>,
    flows: Vec<Flow>,
    rows: Vec<Row>,
    asked: EventQuery,
    /// The last event on this page, if more follow.
    next: Option<Uuid>,
    states: [&'static str; 3],
    days: [i64; 4],
    has_given_up: bool,
}

async fn list(
    State(app): State<Shared>,
    member: Member,
    page: Page,
    Query(asked): Query<EventQuery>,
) -> Result<Response, Rejection> {
    let filter = asked.filter();
    // Invalid filters are not repeated in the form.
    let asked = EventQuery {
        flow: filter.flow_id.map(|id| id.to_string()).unwrap_or_default(),
        state: filter
            .progress
            .map(|state| state.as_str().to_owned())
            .unwrap_or_default(),
        before: filter.before.map(|id| id.to_string()).unwrap_or_default(),
    };
    let scope = member.scope()?;
    let flows = flows::list(&app, scope).await?;
    let mut conn = app.db.read().await?;
    let stopped = store::webhooks::stopped(&mut conn, scope).await?;
    let mut events = outbox::find(&mut conn, scope, &filter, ON_A_PAGE as i64 + 1).await?;
    let given_up = EventFilter {
        progress: Some(EventProgress::GivenUp),
        ..EventFilter::default()
    };
    let has_given_up = !outbox::find(&mut conn, scope, &given_up, 1).await?.is_empty();
    drop(conn);
    let has_more = events.len() > ON_A_PAGE;
    events.truncate(ON_A_PAGE);
    let next = events.last().filter(|_| has_more).map(|event| event.id);
    let endpoints = flows
        .iter()
        .filter_map(|flow| {
            let url = flow.webhook_url.clone()?;
            Some(Endpoint {
                fault: app.config.webhook_fault(&url, scope.sandbox),
                stopped: stopped.iter().any(|(id, at)| *id == flow.id && *at == url),
                flow: flow.clone(),
                url,
            })
        })
        .collect();
    let name = |id| {
        let flow = flows.iter().find(|flow| flow.id == id);
        flow.map(|flow| flow.name.clone()).unwrap_or_default()
    };
    let rows = events
        .into_iter()
        .map(|event| Row {
            flow: name(event.flow_id),
            event,
        })
        .collect();
    Ok(html(ListPage {
        page,
        endpoints,
        rows,
        flows,
        asked,
        next,
        states: [
            EventProgress::Waiting,
            EventProgress::Delivered,
            EventProgress::GivenUp,
        ]
        .map(EventProgress::as_str),
        days: SINCE_DAYS,
        has_given_up,
    })?)
}

#[derive(Template)]
#[template(path = "portal/webhooks/event.html")]
struct EventPage {
    page: Page,
    event: EventState,
    flow: Option<Flow>,
    body: Option<String>,
    masked: bool,
}

async fn event(
    State(app): State<Shared>,
    member: Member,
    page: Page,
    PathText(id): PathText,
) -> Result<Response, Rejection> {
    let scope = member.scope()?;
    let found = match Uuid::parse_str(&id) {
        Ok(id) => outbox::get(&mut app.db.read().await?, scope, id).await?,
        Err(_) => None,
    };
    let (event, body) = found.ok_or_else(|| Problem::not_found("No such event"))?;
    let flow = flows::get(&app, scope, &event.flow_id.to_string()).await.ok();
    let masked = !member.may(Action::ViewApplicant);
    Ok(html(EventPage {
        page,
        event,
        flow,
        body: body.map(|body| readable(&body, masked)),
        masked,
    })?)
}

async fn resend(
    State(app): State<Shared>,
    member: Member,
    PathText(id): PathText,
) -> Result<Response, Rejection> {
    let id = Uuid::parse_str(&id).map_err(|_| Problem::not_found("No such event"))?;
    webhooks::resend(&app, &member.caller()?, id).await?;
    Ok(done(&format!("/portal/webhooks/events/{id}"), "resent"))
}

/// The form that sends events again.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Since {
    flow: String,
    days: i64,
}

async fn resend_all(
    State(app): State<Shared>,
    member: Member,
    page: Page,
    Form(since): Form<Since>,
) -> Result<Response, Rejection> {
    let longest = SINCE_DAYS[SINCE_DAYS.len() - 1];
    let from = page.now() - since.days.clamp(1, longest) * DAY_MS;
    let flow_id = Uuid::parse_str(&since.flow).ok();
    webhooks::resend_given_up(&app, &member.caller()?, flow_id, from).await?;
    Ok(done("/portal/webhooks", "resent"))
}

/// Finds a Flow of the account.
async fn flow(app: &Shared, member: &Member, id: &str) -> Result<Flow, Problem> {
    flows::get(app, member.scope()?, id).await
}

async fn test(
    State(app): State<Shared>,
    member: Member,
    PathText(id): PathText,
) -> Result<Response, Rejection> {
    let flow = flow(&app, &member, &id).await?;
    let event = webhooks::send_test(&app.db, member.scope()?, flow.id).await?;
    Ok(done(&format!("/portal/webhooks/events/{event}"), "tested"))
}

#[derive(Template)]
#[template(path = "portal/webhooks/secret.html")]
struct SecretPage {
    page: Page,
    flow: Flow,
    secret: String,
}

async fn secret(
    State(app): State<Shared>,
    member: Member,
    page: Page,
    PathText(id): PathText,
) -> Result<Response, Rejection> {
    let flow = flow(&app, &member, &id).await?;
    let secret = webhooks::show_secret(&app, &member.caller()?, flow.id).await?;
    Ok(html(SecretPage {
        page,
        flow,
        secret: secret.expose_secret().to_owned(),
    })?)
}

async fn rotate(
    State(app): State<Shared>,
    member: Member,
    PathText(id): PathText,
) -> Result<Response, Rejection> {
    let flow = flow(&app, &member, &id).await?;
    webhooks::rotate_for(&app, &member.caller()?, flow.id).await?;
    Ok(done(
        &format!("/portal/webhooks/{}/secret", flow.id),
        "webhooks.rotated",
    ))
}
