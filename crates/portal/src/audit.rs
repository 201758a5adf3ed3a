//! The audit trail: who changed what, and whether the hash chain is intact. It contains no personal data of
//! applicants, and identifies staff by name.

use std::collections::HashMap;

use askama::Template;
use axum::extract::{RawQuery, State};
use axum::response::Response;
use http_server::error::Rejection;
use service::Shared;
use service::actor::{key_and_reviewer, of_staff};
use service::permissions::Action;
use service::problem::Problem;
use store::audit::{self, AuditCheck, AuditFilter, AuditRow};
use store::{Conn, staff};
use uuid::Uuid;

use super::csv;
use super::filters::{DAY_MS, Filters};
use super::page::{self, Page};
use super::routes::Routes;
use super::session::Member;

const PAGE: i64 = 50;
/// The most rows in one exported file.
const EXPORT: usize = 50_000;
const FILTERS: [&str; 6] = ["actor", "action", "subject", "mode", "from", "until"];

/// Adds this area's routes.
pub fn routes(routes: Routes) -> Routes {
    routes
        .get("/portal/audit", Action::ViewAudit, list)
        .post("/portal/audit/verify", Action::ViewAudit, verify)
        .get("/portal/audit/export", Action::ExportCsv, export)
}

#[derive(Template)]
#[template(path = "portal/audit.html")]
struct AuditPage {
    page: Page,
    filters: Filters,
    /// Each member's actor (`staff:ID`) and name.
    people: Vec<(String, String)>,
    rows: Vec<DisplayedRow>,
    older: Option<String>,
    newest: Option<String>,
    export: String,
    check: Option<AuditCheck>,
}

struct DisplayedRow {
    row: AuditRow,
    /// The actor's name, if the actor is or names a member of staff.
    name: Option<String>,
    detail: String,
}

async fn list(
    State(app): State<Shared>,
    page: Page,
    member: Member,
    RawQuery(raw): RawQuery,
) -> Result<Response, Rejection> {
    render(&app, page, &member, raw.as_deref(), None).await
}

/// Verifies the whole chain, which is slow for a long trail.
async fn verify(State(app): State<Shared>, page: Page, member: Member) -> Result<Response, Rejection> {
    let check = audit::verify(&mut app.db.read().await?, member.merchant()?.id).await?;
    render(&app, page, &member, None, Some(check)).await
}

async fn render(
    app: &Shared,
    page: Page,
    member: &Member,
    raw: Option<&str>,
    check: Option<AuditCheck>,
) -> Result<Response, Rejection> {
    let merchant_id = member.merchant()?.id;
    let filters = Filters::read(raw, &FILTERS)?;
    let before = Filters::read(raw, &["before"])?;
    let before = match before.get("before") {
        Some(text) => Some(
            text.parse()
                .map_err(|_| Problem::validation(vec!["before - is no row's number".into()]))?,
        ),
        None => None,
    };
    let mut conn = app.db.read().await?;
    let wanted = AuditFilter {
        before,
        ..parse_filter(&filters)?
    };
    let mut rows = audit::find(&mut conn, merchant_id, wanted, PAGE + 1).await?;
    let more = rows.len() as i64 > PAGE;
    rows.truncate(PAGE as usize);
    let last = rows.last().filter(|_| more);
    let older = last.map(|last| filters.address("/portal/audit", &[("before", &last.seq.to_string())]));
    let names = names(&mut conn, merchant_id).await?;
    let mut people: Vec<_> = names
        .iter()
        .map(|(id, name)| (id.clone(), name.clone()))
        .collect();
    people.sort_by(|a, b| a.1.cmp(&b.1));
    Ok(page::html(AuditPage {
        newest: before.map(|_| filters.address("/portal/audit", &[])),
        export: filters.address("/portal/audit/export", &[]),
        rows: rows.into_iter().map(|row| display_row(row, &names)).collect(),
        page,
        filters,
        people,
        older,
        check,
    })?)
}

fn parse_filter(filters: &Filters) -> Result<AuditFilter<'_>, Problem> {
    Ok(AuditFilter {
        actor: filters.get("actor"),
        action: filters.get("action"),
        subject: filters.get("subject"),
        sandbox: match filters.text("mode") {
            "live" => Some(false),
            "sandbox" => Some(true),
            _ => None,
        },
        from: filters.day("from")?,
        until: filters.day("until")?.map(|until| until + DAY_MS),
        before: None,
    })
}

/// Maps the trail's actors to the names of an account's current and former staff.
async fn names(conn: &mut Conn, merchant_id: Uuid) -> Result<HashMap<String, String>, Problem> {
    let staff = staff::of_merchant(conn, merchant_id).await?;
    let name =
        |membership: staff::Membership| (format!("staff:{}", membership.member.id), membership.member.name);
    Ok(staff.into_iter().map(name).collect())
}

/// The name of a row's actor: a member of staff, or an API key with the member whom it named.
fn name_of(actor: &str, names: &HashMap<String, String>) -> Option<String> {
    match key_and_reviewer(actor) {
        Some((key, reviewer)) => names
            .get(&of_staff(reviewer))
            .map(|name| format!("{key} ({name})")),
        None => names.get(actor).cloned(),
    }
}

fn display_row(row: AuditRow, names: &HashMap<String, String>) -> DisplayedRow {
    DisplayedRow {
        name: name_of(&row.actor, names),
        detail: if row.detail == "{}" {
            String::new()
        } else {
            row.detail.clone()
        },
        row,
    }
}

async fn export(
    State(app): State<Shared>,
    page: Page,
    member: Member,
    RawQuery(raw): RawQuery,
) -> Result<Response, Rejection> {
    let merchant_id = member.merchant()?.id;
    let filters = Filters::read(raw.as_deref(), &FILTERS)?;
    let mut conn = app.db.read().await?;
    let names = names(&mut conn, merchant_id).await?;
    let head = [
        "number", "time", "mode", "actor", "name", "action", "subject", "detail",
    ];
    let mut file = vec![head.map(str::to_owned).to_vec()];
    let mut before = None;
    while file.len() <= EXPORT {
        let wanted = AuditFilter {
            before,
            ..parse_filter(&filters)?
        };
        let rows = audit::find(&mut conn, merchant_id, wanted, 1_000).await?;
        let Some(last) = rows.last() else { break };
        before = Some(last.seq);
        file.extend(rows.into_iter().map(|row| {
            let mode = match row.mode() {
                Some(true) => "sandbox",
                Some(false) => "live",
                None => "",
            };
            let name = name_of(&row.actor, &names).unwrap_or_default();
            let number = row.seq.to_string();
            vec![
                number,
                page.iso(row.at),
                mode.to_owned(),
                row.actor,
                name,
                row.action,
                row.subject,
                row.detail,
            ]
        }));
    }
    if file.len() > EXPORT {
        file.push(vec![page.t("audit.export.cut")]);
    }
    Ok(csv::file("audit-trail", &file)?)
}
