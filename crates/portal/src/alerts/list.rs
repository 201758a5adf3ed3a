//! The list of alerts, with its filters and the form that decides on several of them. It decides nothing itself.

use std::collections::{BTreeMap, BTreeSet};

use askama::Template;
use axum::extract::{RawQuery, State};
use axum::http::StatusCode;
use axum::response::Response;
use http_server::error::Rejection;
use service::alerts::Finding;
use service::permissions::Action;
use service::problem::Problem;
use service::{Shared, applicant_view, insight, suppressions};
use store::Conn;
use store::alerts::{self, Alert, AlertFilter, AlertState};
use store::wallet_alerts;
use uuid::Uuid;

use super::bulk_form::{BulkForm, BulkOutcome};
use super::parts::{FILTERS, HERE, STATES, novelties, parse_before, parse_filter, score_text};
use crate::filters::Filters;
use crate::page::{Page, html};
use crate::session::Member;
use crate::show_once;

/// Alerts on one page.
const PAGE: i64 = 50;

/// An alert as the list shows it.
struct Row {
    id: Uuid,
    /// See [`Alert::changed_at`].
    version: i64,
    state: AlertState,
    /// It means a person who is still approved, so somebody must act.
    must_withdraw: bool,
    /// The listing's name; empty if this version cannot read the alert.
    caption: String,
    external_user_id: String,
    list: String,
    list_version: String,
    score: String,
    news: Vec<String>,
    opened_at: i64,
    /// The claim's owner, and whether that is the reader.
    claim: Option<(String, bool)>,
}

#[derive(Template)]
#[template(path = "portal/alerts.html")]
struct AlertsPage {
    page: Page,
    rows: Vec<Row>,
    filters: Filters,
    /// The last alert of the previous page; empty on the first one.
    before: String,
    states: [AlertState; 5],
    lists: BTreeSet<String>,
    older: Option<String>,
    newest: Option<String>,
    export: Option<String>,
    /// How many wallet alerts are open.
    open_wallet_alerts: i64,
    outcome: Option<BulkOutcome>,
    /// Whether the rows can be chosen for a decision.
    may_choose: bool,
    may_suppress: bool,
    why: [&'static str; 5],
    /// The form as it was sent, if it was rejected.
    sent: BulkForm,
    /// The field at fault (empty if none in particular), and the error.
    fault: Option<(&'static str, String)>,
}

impl AlertsPage {
    /// A field's error, if it has one.
    fn fault(&self, field: &str) -> Option<&str> {
        let fault = self.fault.as_ref().filter(|(at, _)| *at == field);
        fault.map(|(_, text)| text.as_str())
    }

    /// The alert's value in the form: its ID and the version that the page shows.
    fn choice(&self, row: &Row) -> String {
        format!("{}:{}", row.id, row.version)
    }

    fn is_chosen(&self, row: &Row) -> bool {
        self.sent.ids.contains(&self.choice(row))
    }
}

/// `GET /portal/alerts`
pub(super) async fn page(
    State(app): State<Shared>,
    page: Page,
    member: Member,
    RawQuery(raw): RawQuery,
) -> Result<Response, Rejection> {
    let outcome = show_once::take(&app, &member, HERE).await?;
    let filters = Filters::read(raw.as_deref(), &FILTERS)?;
    let before = parse_before(raw.as_deref())?;
    let sent = BulkForm::default();
    render(&app, page, &member, (filters, before), outcome, sent, None).await
}

/// The list as it was, with the rejected form and the reason next to the field at fault.
pub(super) async fn render_refusal(
    app: &Shared,
    page: Page,
    member: &Member,
    position: (Filters, Option<Uuid>),
    sent: BulkForm,
    (status, fault): (StatusCode, (&'static str, String)),
) -> Result<Response, Rejection> {
    let mut response = render(app, page, member, position, None, sent, Some(fault)).await?;
    *response.status_mut() = status;
    Ok(response)
}

async fn render(
    app: &Shared,
    page: Page,
    member: &Member,
    (filters, before): (Filters, Option<Uuid>),
    outcome: Option<BulkOutcome>,
    sent: BulkForm,
    fault: Option<(&'static str, String)>,
) -> Result<Response, Rejection> {
    let scope = member.scope()?;
    let filter: AlertFilter = parse_filter(&filters, before)?;
    let mut conn = app.db.read().await?;
    let mut found = alerts::list(&mut conn, scope, &filter, PAGE + 1).await?;
    let more = found.len() as i64 > PAGE;
    found.truncate(PAGE as usize);
    let names = claimers(&mut conn, &found).await?;
    let mut lists: BTreeSet<String> = alerts::lists_with_open(&mut conn, scope)
        .await?
        .into_iter()
        .collect();
    let open_wallet_alerts = wallet_alerts::count_open(&mut conn, scope).await?;
    drop(conn);
    let used = insight::lists(app, scope.sandbox).await?;
    lists.extend(used.into_iter().map(|list| list.list));
    lists.extend(filter.list.clone());
    let shown: Vec<i64> = found.iter().map(|alert| alert.log_id).collect();
    applicant_view::record_queue_view(app, scope, &member.actor(), &shown).await?;
    let last = found.last().filter(|_| more).map(|last| last.id.to_string());
    let any_open = found.iter().any(|alert| alert.state == AlertState::Open);
    let rows = found
        .into_iter()
        .map(|alert| row(&page, member, &names, alert))
        .collect();
    Ok(html(AlertsPage {
        rows,
        before: before.map(|id| id.to_string()).unwrap_or_default(),
        states: STATES,
        lists,
        older: last.map(|last| filters.address(HERE, &[("before", &last)])),
        newest: before.map(|_| filters.address(HERE, &[])),
        export: member
            .may(Action::ExportCsv)
            .then(|| filters.address("/portal/alerts.csv", &[])),
        open_wallet_alerts,
        outcome,
        may_choose: member.may(Action::Decide) && any_open,
        may_suppress: member.may(Action::Suppress),
        why: suppressions::REASONS,
        sent,
        fault,
        filters,
        page,
    })?)
}

async fn claimers(conn: &mut Conn, found: &[Alert]) -> Result<BTreeMap<Uuid, String>, Problem> {
    let claimed = found.iter().filter_map(|alert| alert.claimed_by);
    applicant_view::staff_names(conn, claimed.collect()).await
}

fn row(page: &Page, member: &Member, names: &BTreeMap<Uuid, String>, alert: Alert) -> Row {
    // An alert that this version cannot read does not hide the others. Opening it states the error.
    let finding = Finding::of(&alert).ok();
    let claim = alert.claimed_by.map(|id| {
        let name = names.get(&id).cloned().unwrap_or_else(|| id.to_string());
        (name, id == member.staff_id)
    });
    Row {
        id: alert.id,
        version: alert.changed_at,
        state: alert.state,
        must_withdraw: alert.must_withdraw(),
        news: finding
            .as_ref()
            .map(|finding| novelties(page, finding))
            .unwrap_or_default(),
        external_user_id: alert.external_user_id,
        list: alert.list,
        score: score_text(alert.score),
        opened_at: alert.opened_at,
        claim,
        caption: finding
            .as_ref()
            .map(|finding| finding.hit.caption.clone())
            .unwrap_or_default(),
        list_version: finding.map(|finding| finding.version).unwrap_or_default(),
    }
}
