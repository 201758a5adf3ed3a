//! The operator console: the processes and what they found, merchants and their applications, lists and models, jobs and deliveries, who
//! else is an operator, and what operators did. Nothing of any applicant is shown here.

mod audit;
mod jobs;
mod lists;
mod merchants;
mod people;

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use http_server::error::Rejection;
use service::background::Stored;
use service::nodes::{Report, SILENT_MS};
use service::permissions::Action;
use service::problem::Problem;
use service::{Shared, checks};
use store::nodes::Node;
use store::outbox::Backlog;
use uuid::Uuid;

use super::page::{Page, html};
use super::routes::Routes;

/// Jobs that are shown.
const JOBS: i64 = 200;
/// Counted at most.
const MOST: i64 = 10_000;

/// This area's routes.
pub fn routes(routes: Routes) -> Routes {
    use Action::{ManageOperators, Operate};
    routes
        .get("/portal/operator", Operate, health)
        .get("/portal/operator/merchants", Operate, merchants::list)
        .get(
            "/portal/operator/merchants/{merchantId}",
            Operate,
            merchants::merchant,
        )
        .post(
            "/portal/operator/merchants/{merchantId}/decide",
            Operate,
            merchants::decide,
        )
        .post(
            "/portal/operator/merchants/{merchantId}/limits",
            Operate,
            merchants::limits,
        )
        .get("/portal/operator/sign-ups", Operate, people::sign_ups)
        .post("/portal/operator/sign-ups/{id}/link", Operate, people::answer)
        .post("/portal/operator/sign-ups/{id}/dismiss", Operate, people::dismiss)
        .get("/portal/operator/lists", Operate, lists::lists)
        .post("/portal/operator/lists/reload", Operate, lists::reload)
        .post(
            "/portal/operator/proposals/{proposalId}/confirm",
            Operate,
            lists::confirm,
        )
        .post(
            "/portal/operator/proposals/{proposalId}/reject",
            Operate,
            lists::reject,
        )
        .get("/portal/operator/jobs", Operate, jobs::jobs)
        .post("/portal/operator/jobs/{jobId}/run", Operate, jobs::run_job)
        .get("/portal/operator/operators", Operate, people::operators)
        .post(
            "/portal/operator/operators/invite",
            ManageOperators,
            people::invite,
        )
        .post(
            "/portal/operator/operators/{staffId}/access",
            ManageOperators,
            people::set_access,
        )
        .get("/portal/operator/audit", Operate, audit::list)
        .post("/portal/operator/audit/verify", Operate, audit::verify)
}

/// A process as the page shows it.
struct NodeRow {
    node: Node,
    report: Report,
    silent: bool,
}

#[derive(Template)]
#[template(path = "portal/operator/health.html")]
struct HealthPage {
    page: Page,
    parts: Vec<(&'static str, Option<String>)>,
    nodes: Vec<NodeRow>,
    backlog: Backlog,
    failed_jobs: usize,
    database: &'static str,
    database_mib: i64,
    objects: String,
    /// As the process that counted last found it.
    stored: Option<Stored>,
    disk: checks::Check,
}

impl HealthPage {
    fn mib(&self, bytes: &u64) -> u64 {
        bytes.div_ceil(1 << 20)
    }
}

async fn health(State(app): State<Shared>, page: Page) -> Result<Response, Rejection> {
    let mut conn = app.db.read().await?;
    let now = conn.now();
    let nodes = store::nodes::list(&mut conn).await?;
    let nodes = nodes.into_iter().map(|node| NodeRow {
        report: Report::read(&node.report),
        silent: node.seen_at < now - SILENT_MS,
        node,
    });
    let nodes: Vec<NodeRow> = nodes.collect();
    let stored = nodes.iter().filter_map(|row| row.report.stored);
    let stored = stored
        .chain(app.background.stored())
        .max_by_key(|stored| stored.at);
    let jobs = store::jobs::list(&mut conn, JOBS).await?;
    let backlog = store::outbox::backlog(&mut conn, MOST).await?;
    drop(conn);
    let parts = app.readiness().await;
    Ok(html(HealthPage {
        parts: parts
            .into_iter()
            .map(|(name, found)| (name, found.err()))
            .collect(),
        nodes,
        stored,
        backlog,
        failed_jobs: jobs.iter().filter(|job| job.last_error.is_some()).count(),
        database: checks::database_kind(&app.db),
        database_mib: app.db.size().await? / (1 << 20),
        objects: app.config.data.objects_url(),
        disk: checks::disk(&app.config.data.data),
        page,
    })?)
}

fn parse_id(id: &str) -> Result<Uuid, Problem> {
    Uuid::parse_str(id).map_err(|_| Problem::not_found("There is no such page"))
}
