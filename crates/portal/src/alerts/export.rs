//! The listed alerts as a CSV file. The audit trail records who exported how many, never whose they are.

use axum::extract::{RawQuery, State};
use axum::response::Response;
use http_server::error::Rejection;
use sanctions::changes::ChangeKind;
use serde_json::json;
use service::alerts::Finding;
use service::{Shared, actor, applicant_view};
use store::alerts::{self, Alert, AlertFilter};
use uuid::Uuid;

use super::parts::{FILTERS, parse_filter, score_text};
use crate::csv;
use crate::filters::Filters;
use crate::page::Page;
use crate::session::Member;

/// The most alerts in one file.
const MOST: usize = 10_000;
/// Alerts that are read at once.
const STEP: usize = 500;
const HEAD: [&str; 18] = [
    "id",
    "state",
    "opened_at",
    "changed_at",
    "log_id",
    "external_user_id",
    "facemap_id",
    "list",
    "version",
    "entry",
    "caption",
    "score",
    "known_score",
    "change",
    "claimed_by",
    "decided_by",
    "decided_at",
    "reason",
];

/// `GET /portal/alerts.csv`
pub(super) async fn export(
    State(app): State<Shared>,
    page: Page,
    member: Member,
    RawQuery(raw): RawQuery,
) -> Result<Response, Rejection> {
    let scope = member.scope()?;
    let filters = Filters::read(raw.as_deref(), &FILTERS)?;
    let mut filter: AlertFilter = parse_filter(&filters, None)?;
    let mut found: Vec<Alert> = Vec::new();
    let mut conn = app.db.read().await?;
    loop {
        let wanted = STEP.min(MOST - found.len());
        let rows = alerts::list(&mut conn, scope, &filter, wanted as i64).await?;
        let is_last = rows.len() < wanted;
        filter.before = rows.last().map(|last| last.id);
        found.extend(rows);
        if is_last || found.len() >= MOST {
            break;
        }
    }
    let people: Vec<Uuid> = found.iter().flat_map(mentioned).collect();
    let names = applicant_view::staff_names(&mut conn, people).await?;
    drop(conn);
    let counted = json!({ "alerts": found.len() });
    applicant_view::record_view(&app, scope, &member.actor(), "alerts.csv", &counted).await?;
    let name = |id: Uuid| names.get(&id).cloned().unwrap_or_else(|| id.to_string());
    let mut file = vec![HEAD.map(str::to_owned).to_vec()];
    file.extend(found.iter().map(|alert| {
        let decider = alert.decided_by.as_deref().map(|by| match actor::staff_id(by) {
            Some(id) => name(id),
            None => by.to_owned(),
        });
        row(&page, alert, alert.claimed_by.map(name), decider)
    }));
    if found.len() >= MOST {
        file.push(vec![page.t1("alerts.export.cut", "n", MOST)]);
    }
    Ok(csv::file("alerts", &file)?)
}

/// The members of staff that an alert names.
fn mentioned(alert: &Alert) -> Vec<Uuid> {
    let decider = alert.decided_by.as_deref().and_then(actor::staff_id);
    alert.claimed_by.into_iter().chain(decider).collect()
}

fn row(page: &Page, alert: &Alert, claimer: Option<String>, decider: Option<String>) -> Vec<String> {
    // The file contains the other columns of an alert that this version cannot read.
    let finding = Finding::of(alert).ok();
    let text = |read: fn(&Finding) -> String| finding.as_ref().map(read).unwrap_or_default();
    let change = |finding: &Finding| {
        let word = finding.change.map(|change| match change {
            ChangeKind::Added => "added",
            ChangeKind::Changed => "changed",
            ChangeKind::Removed => "removed",
        });
        word.unwrap_or_default().to_owned()
    };
    vec![
        alert.id.to_string(),
        alert.state.as_str().to_owned(),
        page.iso(alert.opened_at),
        page.iso(alert.changed_at),
        alert.log_id.to_string(),
        alert.external_user_id.clone(),
        alert.facemap_id.to_string(),
        alert.list.clone(),
        text(|finding| finding.version.clone()),
        text(|finding| finding.hit.id.clone()),
        text(|finding| finding.hit.caption.clone()),
        score_text(alert.score),
        text(|finding| finding.known_score.map(score_text).unwrap_or_default()),
        text(change),
        claimer.unwrap_or_default(),
        decider.unwrap_or_default(),
        alert.decided_at.map(|at| page.iso(at)).unwrap_or_default(),
        alert.reason.clone().unwrap_or_default(),
    ]
}
