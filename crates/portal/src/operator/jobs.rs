//! Background work: each job on each process, the chains that are followed, deliveries, and queued jobs.

use std::collections::BTreeMap;

use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;
use chain::currency::Currency;
use chain_sources::follow::FollowProgress;
use http_server::error::Rejection;
use service::background::{Job, JobRun};
use service::nodes::{Report, SILENT_MS};
use service::{App, Shared, operations};
use store::jobs::JobState;
use store::nodes::Node;
use store::outbox::Backlog;

use super::params::{JOBS, MOST, parse_id};
use crate::page::{Page, done, html};
use crate::session::Member;

/// A job on one of the processes.
struct JobRow {
    job: Job,
    node: String,
    /// The last run; `None` if the job has not run there yet.
    ran: Option<JobRun>,
}

impl JobRow {
    /// When the job is due next (ms). If the time has passed, it may be running now.
    fn next(&self) -> Option<i64> {
        let every = i64::try_from(self.job.interval().as_millis()).unwrap_or(i64::MAX);
        self.ran.as_ref().map(|ran| ran.at.saturating_add(every))
    }
}

#[derive(Template)]
#[template(path = "portal/operator/jobs.html")]
struct JobsPage {
    page: Page,
    rows: Vec<JobRow>,
    chains: Vec<FollowProgress>,
    jobs: Vec<JobState>,
    backlog: Backlog,
}

pub(super) async fn jobs(State(app): State<Shared>, page: Page) -> Result<Response, Rejection> {
    let mut conn = app.db.read().await?;
    let now = conn.now();
    let nodes = store::nodes::list(&mut conn).await?;
    Ok(html(JobsPage {
        rows: rows(&app, nodes, now),
        chains: Currency::ALL
            .into_iter()
            .filter_map(|currency| FollowProgress::read(&app.config.data.data, currency))
            .collect(),
        jobs: store::jobs::list(&mut conn, JOBS).await?,
        backlog: store::outbox::backlog(&mut conn, MOST).await?,
        page,
    })?)
}

/// Every job of the serving processes. This process's data is current; other processes' data is from their
/// last report.
fn rows(app: &App, nodes: Vec<Node>, now: i64) -> Vec<JobRow> {
    let this = (app.presence.name().to_owned(), app.background.runs());
    let others = nodes
        .into_iter()
        .filter(|node| node.id != app.presence.id() && node.seen_at >= now - SILENT_MS)
        .map(|node| {
            let report = Report::read(&node.report);
            (node.name, report.jobs)
        });
    let processes: Vec<(String, BTreeMap<String, JobRun>)> = std::iter::once(this).chain(others).collect();
    let row = |job: Job| {
        processes.iter().map(move |(node, runs)| JobRow {
            job,
            node: node.clone(),
            ran: runs.get(job.as_str()).cloned(),
        })
    };
    Job::ALL.into_iter().flat_map(row).collect()
}

pub(super) async fn run_job(
    State(app): State<Shared>,
    member: Member,
    Path(id): Path<String>,
) -> Result<Response, Rejection> {
    let id = parse_id(&id)?;
    operations::run_job(&app.db, id, &member.actor()).await?;
    Ok(done("/portal/operator/jobs", "operator.job_due"))
}
