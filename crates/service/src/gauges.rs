//! Gauges that are measured on each scrape of `/metrics`, not when something happens. A part that does not answer keeps
//! its last figures. It changes nothing.

use std::time::Duration;

use metrics::gauge;
use node::background::Job;
use store::applicant_letters::{self, LetterBacklog};
use store::outbox::{self, Backlog};

use crate::{App, Shared, metric_table};

/// Backlogs are counted up to this number.
const MOST: i64 = 100_000;
/// How long the database may take.
const WITHIN: Duration = Duration::from_secs(2);

/// Reads all figures of this process and the backlogs of the installation.
pub async fn read(app: &Shared) {
    metrics_of_process(app);
    for (part, state) in app.readiness().await {
        gauge!("bonafide_ready", "part" => part).set(flag(state.is_ok()));
    }
    match tokio::time::timeout(WITHIN, backlogs(app)).await {
        Ok(Ok((events, letters, now))) => {
            let age = |oldest: Option<i64>| {
                let ms = oldest.map_or(0, |oldest| now.saturating_sub(oldest).max(0));
                ms as f64 / 1_000.0
            };
            gauge!("bonafide_webhook_events_waiting").set(events.waiting as f64);
            gauge!("bonafide_webhook_events_failing").set(events.failing as f64);
            gauge!("bonafide_webhook_events_given_up").set(events.given_up as f64);
            gauge!("bonafide_webhook_oldest_seconds").set(age(events.oldest));
            gauge!("bonafide_letters_waiting").set(letters.waiting as f64);
            gauge!("bonafide_letter_oldest_seconds").set(age(letters.oldest));
        }
        Ok(Err(error)) => tracing::warn!(%error, "the backlogs cannot be measured"),
        Err(_) => tracing::warn!("the backlogs cannot be measured: the database does not answer"),
    }
}

async fn backlogs(app: &App) -> Result<(Backlog, LetterBacklog, i64), store::Error> {
    let mut conn = app.db.read().await?;
    let events = outbox::backlog(&mut conn, MOST).await?;
    let letters = applicant_letters::backlog(&mut conn, MOST).await?;
    Ok((events, letters, conn.now()))
}

fn metrics_of_process(app: &App) {
    metric_table::read_process();
    gauge!("bonafide_build_info", "version" => env!("CARGO_PKG_VERSION")).set(1.0);
    for (pool, in_use) in [
        ("verifications", &app.cpu),
        ("films", &app.films),
        ("screenings", &app.screenings),
        ("passwords", &app.passwords),
    ] {
        let capacity = in_use.capacity();
        gauge!("bonafide_capacity_workers", "pool" => pool).set(capacity.workers as f64);
        gauge!("bonafide_capacity_running", "pool" => pool).set(capacity.running as f64);
        gauge!("bonafide_capacity_waiting", "pool" => pool).set(capacity.waiting as f64);
    }
    let connections = app.db.connections();
    for (state, count) in [
        ("busy", connections.busy),
        ("idle", connections.idle),
        ("most", connections.most),
    ] {
        gauge!("bonafide_database_connections", "state" => state).set(f64::from(count));
    }
    gauge!("bonafide_engine_workers").set(app.engines.count() as f64);
    if let Ok(Some(engines)) = app.engines.known() {
        for (model, version) in engines.models {
            gauge!("bonafide_model_info", "model" => model, "version" => version).set(1.0);
        }
    }
    let now = jiff::Timestamp::now().as_millisecond();
    let runs = app.background.runs();
    for job in Job::ALL {
        let run = runs.get(job.as_str());
        // These run only if they have something to do.
        if run.is_none() && matches!(job, Job::Letters | Job::ListUpdates) {
            continue;
        }
        let since = run.map_or(app.presence.started_at(), |run| run.at);
        let age = now.saturating_sub(since).max(0) as f64 / 1_000.0;
        gauge!("bonafide_job_run_age_seconds", "task" => job.as_str()).set(age);
        let has_failed = run.is_some_and(|run| run.error.is_some());
        gauge!("bonafide_job_failed", "task" => job.as_str()).set(flag(has_failed));
    }
    if let Some(stored) = app.background.stored() {
        gauge!("bonafide_stored_objects").set(stored.objects as f64);
        gauge!("bonafide_stored_bytes").set(stored.bytes as f64);
    }
}

fn flag(holds: bool) -> f64 {
    if holds { 1.0 } else { 0.0 }
}
