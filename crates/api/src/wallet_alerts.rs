//! `GET /v2/public/transaction-monitoring/alerts`: screenings that touched an address that a list named later.

use axum::extract::{RawQuery, State};
use axum::response::Json;
use chain::later_listing::ListedRole;
use http_server::error::Rejection;
use http_server::gate::Authenticated;
use http_server::query;
use serde::Serialize;
use service::problem::Problem;
use service::wallet_alerts::WalletFinding;
use service::{Shared, time, wallet_alerts};
use store::wallet_alerts::WalletAlert;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::monitoring::MonitoringErrors;

/// The number of alerts on a page, unless the caller sends another.
const LIMIT: u16 = 50;
/// The highest number.
const MOST: u16 = 100;

/// An address that a sanctions list named after one of your screenings had touched it.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(title = "WalletAlert")]
pub struct WalletAlertBody {
    /// The id of the alert.
    pub alert_id: Uuid,
    /// The id of the screening.
    pub query_id: Uuid,
    /// `open`; `reviewed`: a person closed it; `delisted`: no list that you screen against names the address
    /// any more.
    #[schema(pattern = "^(open|reviewed|delisted)$")]
    pub state: String,
    /// The screening: `address` or `transaction`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The screened address or transaction as it was sent.
    pub query: String,
    /// The chain's code.
    pub currency: String,
    /// The caller's label of the screening.
    pub label: String,
    /// The listed address.
    pub address: String,
    /// `screened`: it is the screened address; `touched`: the screening found it.
    #[schema(pattern = "^(screened|touched)$")]
    pub role: String,
    /// The list that names it.
    pub list: String,
    /// The version of that list.
    pub list_version: String,
    /// The listed party.
    pub party: String,
    /// The score of the screening; null if it had none.
    #[schema(minimum = 0, maximum = 100)]
    pub score: Option<f64>,
    /// The score of the same decision with the new lists; null until it is computed, or if it cannot be.
    #[schema(minimum = 0, maximum = 100)]
    pub score_now: Option<f64>,
    /// When the alert was opened (ISO 8601).
    pub opened_at: String,
    /// When it was opened or closed (ISO 8601).
    pub changed_at: String,
}

/// A page of alerts, newest first.
#[derive(Serialize, ToSchema)]
#[schema(title = "WalletAlerts")]
pub struct WalletAlertsBody {
    /// The alerts.
    pub alerts: Vec<WalletAlertBody>,
    /// The value of `before` for the next page; null on the last page.
    pub next: Option<Uuid>,
}

fn body((alert, finding): (WalletAlert, WalletFinding)) -> WalletAlertBody {
    let role: ListedRole = finding.role;
    WalletAlertBody {
        alert_id: alert.id,
        query_id: alert.screening_id,
        state: alert.state.as_str().to_owned(),
        kind: finding.kind,
        query: finding.query,
        currency: finding.currency,
        label: finding.label,
        address: finding.address,
        role: role.as_str().to_owned(),
        list: finding.list,
        list_version: finding.version,
        party: finding.party,
        score: finding.score,
        score_now: finding.score_now,
        opened_at: time::iso(alert.opened_at),
        changed_at: time::iso(alert.changed_at),
    }
}

/// List the alerts about your screenings, newest first.
#[utoipa::path(get, path = "/v2/public/transaction-monitoring/alerts", operation_id = "listWalletAlerts", tag = "Transaction monitoring",
    security(("basic" = [])),
    params(("state" = Option<String>, Query, description = "Only alerts in this state; all if absent", pattern = "^(open|reviewed|delisted)$"),
        ("limit" = Option<u16>, Query, description = "The number of alerts on a page; 50 if absent", minimum = 1, maximum = 100),
        ("before" = Option<Uuid>, Query, description = "`next` of the previous page")),
    responses((status = 200, description = "A page of alerts", body = WalletAlertsBody), MonitoringErrors))]
pub async fn list(
    State(app): State<Shared>,
    Authenticated(caller): Authenticated,
    RawQuery(raw): RawQuery,
) -> Result<Json<WalletAlertsBody>, Rejection> {
    let query = query::parse(raw.as_deref().unwrap_or_default())?;
    let mut errors = query.unknown(&["state", "limit", "before"]);
    let state = query.read("state", "open, reviewed or delisted", &mut errors);
    let (limit, before) = query.page(LIMIT, MOST, &mut errors);
    if !errors.is_empty() {
        return Err(Problem::validation(errors).into());
    }
    let mut conn = app.db.read().await.map_err(Problem::from)?;
    let page = wallet_alerts::page(&mut conn, caller.scope, (state, before), limit).await?;
    // An alert of a newer version is left out: the portal lists it, and the log names it.
    let readable = |(alert, finding): (WalletAlert, Option<WalletFinding>)| Some(body((alert, finding?)));
    Ok(Json(WalletAlertsBody {
        alerts: page.alerts.into_iter().filter_map(readable).collect(),
        next: page.next,
    }))
}
