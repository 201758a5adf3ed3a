//! "Wallet alerts": screened wallets and transactions that touched an address that a sanctions list named later. This
//! module renders alerts and closes them through `service::wallet_alerts`. It compares nothing.

use askama::Template;
use axum::extract::{Path, RawQuery, State};
use axum::http::StatusCode;
use axum::response::Response;
use axum_extra::extract::Form;
use http_server::error::Rejection;
use serde::Deserialize;
use service::permissions::Action;
use service::problem::{Family, Problem};
use service::wallet_alerts::{self, WalletFinding};
use service::{Shared, actor, applicant_view};
use store::wallet_alerts::{WalletAlert, WalletAlertState};
use uuid::Uuid;

use super::filters::Filters;
use super::page::{Page, done, html};
use super::routes::Routes;
use super::session::Member;

/// The address of the list.
const HERE: &str = "/portal/wallet-alerts";
/// Alerts on one page.
const PAGE: u16 = 50;
const STATES: [WalletAlertState; 3] = [
    WalletAlertState::Open,
    WalletAlertState::Reviewed,
    WalletAlertState::Delisted,
];

/// Adds this area's routes.
pub(crate) fn routes(routes: Routes) -> Routes {
    routes
        .get(HERE, Action::Screen, list)
        .get("/portal/wallet-alerts/{id}", Action::Screen, detail)
        .post("/portal/wallet-alerts/{id}/close", Action::Decide, close)
}

#[derive(Template)]
#[template(path = "portal/wallet-alerts.html")]
struct ListPage {
    page: Page,
    rows: Vec<(WalletAlert, Option<WalletFinding>)>,
    filters: Filters,
    states: [WalletAlertState; 3],
    older: Option<String>,
    newest: Option<String>,
}

#[derive(Template)]
#[template(path = "portal/wallet-alert.html")]
struct AlertPage {
    page: Page,
    alert: WalletAlert,
    finding: WalletFinding,
    /// Who closed it.
    closed_by: String,
    /// The reason as it was sent, and the error, if the form was rejected.
    sent: String,
    fault: Option<String>,
    may_close: bool,
}

/// The form that closes an alert.
#[derive(Deserialize, Default)]
#[serde(default)]
struct CloseForm {
    reason: String,
}

/// A score with one digit, or a dash.
fn score(score: &Option<f64>) -> String {
    score.map_or_else(|| "–".to_owned(), |score| format!("{score:.1}"))
}

fn no_such_value(field: &str) -> Problem {
    Problem::invalid(format!("{field} - this filter has no such value"))
}

/// `GET /portal/wallet-alerts`. Without a state, open alerts are listed.
async fn list(
    State(app): State<Shared>,
    page: Page,
    member: Member,
    RawQuery(raw): RawQuery,
) -> Result<Response, Rejection> {
    let filters = Filters::read(raw.as_deref(), &["state"])?;
    let state = match filters.text("state") {
        "" => Some(WalletAlertState::Open),
        "all" => None,
        word => Some(word.parse().map_err(|_| no_such_value("state"))?),
    };
    let before = Filters::read(raw.as_deref(), &["before"])?;
    let before = before.get("before").map(Uuid::parse_str).transpose();
    let before = before.map_err(|_| no_such_value("before"))?;
    let mut conn = app.db.read().await.map_err(Problem::from)?;
    let found = wallet_alerts::page(&mut conn, member.scope()?, (state, before), PAGE).await?;
    let next = found.next.map(|next| next.to_string());
    Ok(html(ListPage {
        rows: found.alerts,
        states: STATES,
        older: next.map(|next| filters.address(HERE, &[("before", &next)])),
        newest: before.map(|_| filters.address(HERE, &[])),
        filters,
        page,
    })?)
}

/// `GET /portal/wallet-alerts/{id}`
async fn detail(
    State(app): State<Shared>,
    page: Page,
    member: Member,
    Path(id): Path<Uuid>,
) -> Result<Response, Rejection> {
    render(&app, page, &member, id, (String::new(), None)).await
}

async fn render(
    app: &Shared,
    page: Page,
    member: &Member,
    id: Uuid,
    (sent, fault): (String, Option<String>),
) -> Result<Response, Rejection> {
    let mut conn = app.db.read().await.map_err(Problem::from)?;
    let (alert, finding) = wallet_alerts::find(&mut conn, member.scope()?, id).await?;
    let closer = alert.closed_by.as_deref().and_then(actor::staff_id);
    let names = applicant_view::staff_names(&mut conn, closer.into_iter().collect()).await?;
    let name = closer.and_then(|closer| names.get(&closer).cloned());
    Ok(html(AlertPage {
        closed_by: name.or_else(|| alert.closed_by.clone()).unwrap_or_default(),
        alert,
        finding,
        sent,
        fault,
        may_close: member.may(Action::Decide),
        page,
    })?)
}

/// `POST /portal/wallet-alerts/{id}/close`
async fn close(
    State(app): State<Shared>,
    page: Page,
    member: Member,
    Path(id): Path<Uuid>,
    Form(form): Form<CloseForm>,
) -> Result<Response, Rejection> {
    let closed = wallet_alerts::close(&app.db, member.scope()?, id, &form.reason, &member.actor()).await;
    let Err(problem) = closed else {
        return Ok(done(&format!("{HERE}/{id}"), "wallet_alert_closed"));
    };
    let status = problem.status(Family::System);
    if !matches!(status, StatusCode::BAD_REQUEST | StatusCode::CONFLICT) {
        return Err(problem.into());
    }
    let key = format!("alerts.refused.{}", problem.word(Family::System));
    let fault = page.text_or(&key, &page.refusal(&problem));
    let mut response = render(&app, page, &member, id, (form.reason, Some(fault))).await?;
    *response.status_mut() = status;
    Ok(response)
}
