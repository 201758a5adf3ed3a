//! `/v2/reports/screenings` and `/v2/reports/screening-alerts`: the screenings of names, and the alerts of ongoing
//! screening. Wallets have their own endpoints (`wallet_screenings`, `wallet_alerts`).

use axum::extract::{RawQuery, State};
use axum::response::Json;
use http_server::error::Rejection;
use http_server::gate::Authenticated;
use http_server::openapi::ApplicantErrors;
use http_server::query;
use serde::Serialize;
use service::alerts::Finding;
use service::applicants::AttemptRecord;
use service::problem::Problem;
use service::time::{iso, plain};
use service::{Shared, reports};
use store::alerts::{self, Alert, AlertFilter, StateFilter};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::attempts;

/// The number of alerts on a page, unless the caller sends another.
const LIMIT: u16 = 50;
/// The highest number.
const MOST: u16 = 100;

/// The screening of a person's names in one attempt.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(title = "NameScreening")]
pub struct NameScreeningBody {
    /// The attempt.
    pub log_id: i64,
    /// When it was made (`YYYY-MM-DD HH:MM:SS`, UTC).
    #[schema(example = "2026-11-21 02:38:42")]
    pub created_at: String,
    /// The person.
    pub facemap_id: Uuid,
    /// Your label for the person.
    pub external_user_id: String,
    /// The Flow.
    pub flow_id: Uuid,
    /// `kycResults` of the response: status, hits, the searched names, and the versions of the lists.
    #[schema(value_type = Object)]
    pub screening: serde_json::Value,
}

/// A page of screenings, newest first.
#[derive(Serialize, ToSchema)]
#[schema(title = "NameScreenings")]
pub struct NameScreeningsBody {
    /// The screenings.
    pub screenings: Vec<NameScreeningBody>,
    /// The value of `before` for the next page; null on the last page.
    pub next: Option<String>,
}

/// List the screenings of names, newest first.
///
/// Every attempt has one. `code=2702` restricts the list to matches.
#[utoipa::path(get, path = "/v2/reports/screenings", operation_id = "listNameScreenings", tag = "Applicants",
    security(("basic" = [])),
    params(("status" = Option<String>, Query, description = "Only attempts with this status", pattern = "^(approved|declined|failed|pending)$"),
        ("code" = Option<u16>, Query, description = "Only attempts with this failure code; 2702 is a match", minimum = 1000, maximum = 9999, example = 2702),
        ("flowId" = Option<Uuid>, Query, description = "Only attempts of this Flow"),
        ("groupId" = Option<Uuid>, Query, description = "Only attempts in this Group"),
        ("externalUserId" = Option<String>, Query, description = "Only attempts under this label"),
        ("facemapId" = Option<Uuid>, Query, description = "Only attempts of this person"),
        ("sessionId" = Option<Uuid>, Query, description = "Only attempts of this hosted session"),
        ("from" = Option<String>, Query, description = "Only attempts at this time or later: a time with its offset, or a date, which is its beginning in UTC", format = DateTime, example = "2026-11-01T00:00:00Z"),
        ("until" = Option<String>, Query, description = "Only attempts before this time", format = DateTime, example = "2026-12-01T00:00:00Z"),
        ("limit" = Option<u16>, Query, description = "The number of screenings on a page; 50 if absent", minimum = 1, maximum = 100),
        ("before" = Option<String>, Query, description = "`next` of the previous page", pattern = "^[0-9]{1,13}\\.[0-9]{1,18}$")),
    responses((status = 200, description = "A page of screenings", body = NameScreeningsBody), ApplicantErrors))]
pub async fn list(
    State(app): State<Shared>,
    Authenticated(caller): Authenticated,
    RawQuery(raw): RawQuery,
) -> Result<Json<NameScreeningsBody>, Rejection> {
    let query = query::parse(raw.as_deref().unwrap_or_default())?;
    let (filter, limit) = attempts::filter(&query)?;
    let page = reports::attempts(&app, caller.scope, filter, limit).await?;
    let next = attempts::next(&page);
    let body = |record: AttemptRecord| {
        Ok(NameScreeningBody {
            screening: reports::name_screening(&record)?,
            log_id: record.attempt.log_id,
            created_at: plain(record.attempt.created_at),
            facemap_id: record.attempt.facemap_id,
            external_user_id: record.attempt.external_user_id,
            flow_id: record.attempt.flow_id,
        })
    };
    let screenings = page.entries.into_iter().map(body);
    Ok(Json(NameScreeningsBody {
        screenings: screenings.collect::<Result<_, Problem>>()?,
        next,
    }))
}

/// A listing that resembles an approved person.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(title = "ScreeningAlert")]
pub struct ScreeningAlertBody {
    /// The id of the alert.
    pub alert_id: Uuid,
    /// `open`; `same_person` or `other_person`: a reviewer decided; `delisted`: the list no longer has the entry;
    /// `no_match`: the entry changed and no longer resembles the person.
    #[schema(pattern = "^(open|same_person|other_person|delisted|no_match)$")]
    pub state: String,
    /// The attempt under whose names the person was approved.
    pub log_id: i64,
    /// The person.
    pub facemap_id: Uuid,
    /// Your label for the person.
    pub external_user_id: String,
    /// The Flow of the attempt.
    pub flow_id: Uuid,
    /// Whether the person is still approved in a Group.
    pub approved: bool,
    /// The list.
    pub list: String,
    /// The version of the list.
    pub list_version: String,
    /// The hit, as in `kycResults.results`.
    #[schema(value_type = Object)]
    pub hit: serde_json::Value,
    /// When it was opened (ISO 8601).
    pub opened_at: String,
    /// When the hit last changed, or the alert was decided or closed (ISO 8601).
    pub changed_at: String,
}

/// A page of alerts, newest first.
#[derive(Serialize, ToSchema)]
#[schema(title = "ScreeningAlerts")]
pub struct ScreeningAlertsBody {
    /// The alerts.
    pub alerts: Vec<ScreeningAlertBody>,
    /// The value of `before` for the next page; null on the last page.
    pub next: Option<Uuid>,
}

fn alert_body(alert: Alert) -> Result<ScreeningAlertBody, Problem> {
    let finding = Finding::of(&alert)?;
    Ok(ScreeningAlertBody {
        alert_id: alert.id,
        state: alert.state.as_str().into(),
        log_id: alert.log_id,
        facemap_id: alert.facemap_id,
        external_user_id: alert.external_user_id,
        flow_id: alert.flow_id,
        approved: alert.is_approved,
        list: alert.list,
        list_version: finding.version,
        hit: serde_json::to_value(finding.hit).map_err(Problem::internal)?,
        opened_at: iso(alert.opened_at),
        changed_at: iso(alert.changed_at),
    })
}

/// List the alerts of ongoing screening, newest first.
///
/// An alert changes no status: a reviewer decides it in the portal.
#[utoipa::path(get, path = "/v2/reports/screening-alerts", operation_id = "listScreeningAlerts", tag = "Applicants",
    security(("basic" = [])),
    params(("state" = Option<String>, Query, description = "Only alerts in this state; all if absent", pattern = "^(open|same_person|other_person|delisted|no_match)$"),
        ("list" = Option<String>, Query, description = "Only alerts of this list"),
        ("limit" = Option<u16>, Query, description = "The number of alerts on a page; 50 if absent", minimum = 1, maximum = 100),
        ("before" = Option<Uuid>, Query, description = "`next` of the previous page")),
    responses((status = 200, description = "A page of alerts", body = ScreeningAlertsBody), ApplicantErrors))]
pub async fn alerts(
    State(app): State<Shared>,
    Authenticated(caller): Authenticated,
    RawQuery(raw): RawQuery,
) -> Result<Json<ScreeningAlertsBody>, Rejection> {
    let query = query::parse(raw.as_deref().unwrap_or_default())?;
    let mut errors = query.unknown(&["state", "list", "limit", "before"]);
    let states = "open, same_person, other_person, delisted or no_match";
    let state = query.read("state", states, &mut errors);
    let (limit, before) = query.page(LIMIT, MOST, &mut errors);
    if !errors.is_empty() {
        return Err(Problem::validation(errors).into());
    }
    let filter = AlertFilter {
        state: state.map_or(StateFilter::Any, StateFilter::In),
        list: query.get("list").map(str::to_owned),
        before,
    };
    let mut conn = app.db.read().await.map_err(Problem::from)?;
    // One more than requested, to detect whether there is another page.
    let found = alerts::list(&mut conn, caller.scope, &filter, i64::from(limit) + 1).await;
    let mut found = found.map_err(Problem::from)?;
    let has_more = found.len() > usize::from(limit);
    found.truncate(usize::from(limit));
    let next = found.last().filter(|_| has_more).map(|last| last.id);
    let alerts = found.into_iter().map(alert_body);
    Ok(Json(ScreeningAlertsBody {
        alerts: alerts.collect::<Result<_, Problem>>()?,
        next,
    }))
}
