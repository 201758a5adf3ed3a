//! The audit trail of the installation: who changed what, and whether the hash chain is intact.

use std::collections::HashMap;

use askama::Template;
use axum::extract::{Query, State};
use axum::response::Response;
use http_server::error::Rejection;
use serde::Deserialize;
use service::Shared;
use service::actor::of_staff;
use store::audit::{AuditCheck, AuditRow};
use store::{operator_audit, staff};

use crate::page::{Page, html};

/// Rows on one page.
const PAGE: i64 = 50;

#[derive(Template)]
#[template(path = "portal/operator/audit.html")]
struct AuditPage {
    page: Page,
    rows: Vec<AuditRow>,
    /// Operators' names by the trail's actor.
    names: HashMap<String, String>,
    older: Option<i64>,
    check: Option<AuditCheck>,
}

impl AuditPage {
    fn name(&self, row: &AuditRow) -> String {
        let name = self.names.get(&row.actor);
        name.unwrap_or(&row.actor).clone()
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct PageQuery {
    before: Option<i64>,
}

async fn render(
    app: &Shared,
    page: Page,
    before: Option<i64>,
    check: Option<AuditCheck>,
) -> Result<Response, Rejection> {
    let mut conn = app.db.read().await?;
    let mut rows = operator_audit::list(&mut conn, before, PAGE + 1).await?;
    let is_more = rows.len() as i64 > PAGE;
    rows.truncate(PAGE as usize);
    let names = staff::operators(&mut conn).await?;
    Ok(html(AuditPage {
        older: rows.last().filter(|_| is_more).map(|row| row.seq),
        names: names
            .into_iter()
            .map(|member| (of_staff(member.id), member.name))
            .collect(),
        rows,
        page,
        check,
    })?)
}

pub(super) async fn list(
    State(app): State<Shared>,
    page: Page,
    Query(wanted): Query<PageQuery>,
) -> Result<Response, Rejection> {
    render(&app, page, wanted.before, None).await
}

pub(super) async fn verify(State(app): State<Shared>, page: Page) -> Result<Response, Rejection> {
    let check = operator_audit::verify(&mut app.db.read().await?).await?;
    render(&app, page, None, Some(check)).await
}
