//! The console's first page: the processes, their latest reports, and how full the installation is. It
//! changes nothing.

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use http_server::error::Rejection;
use service::background::StoredObjects;
use service::nodes::{Report, SILENT_MS};
use service::{Shared, checks};
use store::nodes::Node;
use store::outbox::Backlog;

use super::params::{JOBS, MOST};
use crate::page::{Page, html};

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
    /// The stored sizes, as the last process to count them reported.
    stored: Option<StoredObjects>,
    disk: checks::Check,
}

impl HealthPage {
    fn mib(&self, bytes: &u64) -> u64 {
        bytes.div_ceil(1 << 20)
    }
}

pub(super) async fn health(State(app): State<Shared>, page: Page) -> Result<Response, Rejection> {
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
