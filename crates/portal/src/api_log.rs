//! The API log: the requests made with the account's keys and sessions, and their responses. Readers who may
//! not see personal data see only structure, IDs and codes. Showing a person's data here writes an audit row.

use std::sync::Arc;

use askama::Template;
use axum::Extension;
use axum::extract::{RawQuery, State};
use axum::response::Response;
use http_server::error::Rejection;
use http_server::openapi::DescribedPaths;
use http_server::path::PathText;
use service::api_log::{Exchange, masked};
use service::permissions::Action;
use service::problem::{Family, Problem};
use service::{Shared, audit_trail};
use store::api_log::{self, CallSummary, Filter, OutcomeFilter};
use store::audit::Entry;
use store::{attempts, credentials};
use uuid::Uuid;

use super::filters::{DAY_MS, Filters};
use super::page::{self, Page};
use super::routes::Routes;
use super::session::Member;

const PAGE: i64 = 50;
const FILTERS: [&str; 6] = ["route", "status", "key", "request", "from", "until"];

/// Adds this area's routes.
pub fn routes(routes: Routes) -> Routes {
    routes.get("/portal/api-log", Action::ViewApiLog, list).get(
        "/portal/api-log/{id}",
        Action::ViewApiLog,
        detail,
    )
}

#[derive(Template)]
#[template(path = "portal/api-log.html")]
struct ListPage {
    page: Page,
    filters: Filters,
    /// The API's route patterns, as the log records them.
    routes: Arc<[String]>,
    keys: Vec<String>,
    lines: Vec<CallSummary>,
    older: Option<String>,
    newest: Option<String>,
}

async fn list(
    State(app): State<Shared>,
    page: Page,
    member: Member,
    Extension(DescribedPaths(routes)): Extension<DescribedPaths>,
    RawQuery(raw): RawQuery,
) -> Result<Response, Rejection> {
    let scope = member.scope()?;
    let filters = Filters::read(raw.as_deref(), &FILTERS)?;
    let before = Filters::read(raw.as_deref(), &["before"])?;
    let before = before.get("before").map(id).transpose()?;
    let filter = Filter {
        route: filters.get("route"),
        outcome: answered(&filters)?,
        key: filters.get("key"),
        request_id: filters.get("request"),
        from: filters.day("from")?,
        until: filters.day("until")?.map(|until| until + DAY_MS),
        before,
    };
    // One connection at a time: with two, as many requests as the pool has connections would wait forever.
    let mut traffic = app.db.traffic().read().await?;
    let mut lines = api_log::list(&mut traffic, scope, filter, PAGE + 1).await?;
    drop(traffic);
    let more = lines.len() as i64 > PAGE;
    lines.truncate(PAGE as usize);
    let last = lines.last().filter(|_| more);
    let older = last.map(|last| filters.address("/portal/api-log", &[("before", &last.id.to_string())]));
    let keys = credentials::list(&mut app.db.read().await?, scope.merchant_id).await?;
    let keys = keys.into_iter().filter(|key| key.sandbox == scope.sandbox);
    Ok(page::html(ListPage {
        newest: before.map(|_| filters.address("/portal/api-log", &[])),
        page,
        filters,
        routes,
        keys: keys.map(|key| key.key).collect(),
        lines,
        older,
    })?)
}

fn id(text: &str) -> Result<Uuid, Problem> {
    Uuid::parse_str(text).map_err(|_| Problem::validation(vec!["before - is no id of a call".into()]))
}

fn answered(filters: &Filters) -> Result<OutcomeFilter, Problem> {
    Ok(match filters.text("status") {
        "" => OutcomeFilter::Any,
        "refused" => OutcomeFilter::Refused,
        status => OutcomeFilter::With(
            status
                .parse()
                .map_err(|_| Problem::validation(vec!["status - must be a number such as 404".into()]))?,
        ),
    })
}

/// A request or response body as the page shows it.
struct DisplayedBody {
    text: String,
    cut: bool,
}

#[derive(Template)]
#[template(path = "portal/api-log-call.html")]
struct CallPage {
    page: Page,
    line: CallSummary,
    address: String,
    request: Option<DisplayedBody>,
    response: Option<DisplayedBody>,
    /// The verification attempt that stores the content of this call.
    log_id: Option<i64>,
    /// The attempt's content was erased.
    erased: bool,
    masked: bool,
    /// Whether the log by design stores only a part of this call's bodies.
    partly_kept: bool,
}

async fn detail(
    State(app): State<Shared>,
    page: Page,
    member: Member,
    PathText(id): PathText,
) -> Result<Response, Rejection> {
    let scope = member.scope()?;
    let missing = || Problem::not_found("There is no such call in this account");
    let id = Uuid::parse_str(&id).map_err(|_| missing())?;
    let call = api_log::get(&mut app.db.traffic().read().await?, scope, id).await?;
    let mut conn = app.db.read().await?;
    let call = call.ok_or_else(missing)?.open(&mut conn).await?;
    let exchange: Exchange = serde_json::from_str(&call.exchange).map_err(Problem::internal)?;
    let family = Family::of(&call.summary.route);
    let sees_people = member.may(Action::ViewApplicant);
    // Group and Flow configuration contains no personal data.
    let masks = !sees_people && family != Family::GroupsAndFlows;
    let attempt = match exchange.log_id {
        Some(log_id) => attempts::get(&mut conn, scope, log_id).await?,
        None => None,
    };
    drop(conn);
    let erased = exchange.log_id.is_some() && attempt.is_none();
    let show = |text: &str, cut: bool| display_body(text, cut, masks);
    let (request, response) = match &attempt {
        Some(attempt) => (
            Some(show(&attempt.request, false)),
            Some(show(&attempt.response, false)),
        ),
        None => (
            exchange
                .request
                .as_ref()
                .map(|body| show(&body.text, body.is_cut())),
            exchange
                .response
                .as_ref()
                .map(|body| show(&body.text, body.is_cut())),
        ),
    };
    if let (Some(attempt), true) = (&attempt, sees_people) {
        let (actor, subject) = (member.actor(), attempt.log_id.to_string());
        let entry = Entry {
            actor: &actor,
            action: "person.viewed",
            subject: &subject,
            detail: r#"{"in":"api log"}"#,
        };
        audit_trail::write(&app.db, scope, &entry).await?;
    }
    Ok(page::html(CallPage {
        page,
        partly_kept: attempt.is_none() && !matches!(family, Family::GroupsAndFlows | Family::Monitoring),
        line: call.summary,
        address: exchange.address,
        request,
        response,
        log_id: attempt.map(|attempt| attempt.log_id),
        erased,
        masked: masks,
    })?)
}

fn display_body(text: &str, cut: bool, masks: bool) -> DisplayedBody {
    DisplayedBody {
        text: readable(text, masks),
        cut,
    }
}

/// Formats JSON for people, with values masked on request. Text that is not complete JSON cannot be masked
/// and is then not shown.
pub fn readable(text: &str, masks: bool) -> String {
    match chain::json::parse(text.as_bytes()) {
        Ok(value) => {
            let value = if masks { masked(&value) } else { value };
            serde_json::to_string_pretty(&value).unwrap_or_default()
        }
        Err(_) if masks => service::api_log::MASK.to_owned(),
        Err(_) => text.to_owned(),
    }
}
