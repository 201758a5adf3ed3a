//! The schedule of list updates in a server: each list that the settings name is updated once per period by one of the
//! nodes. Nothing is downloaded unless the settings name a list.
//!
//! The database leases each update to one node, so a node that dies loses nothing and no two nodes download the same
//! file. A failure is logged and recorded; the version in use stays in use.

use std::sync::Arc;
use std::time::{Duration, Instant};

use node::background::Job;
use store::list_updates;
use uuid::Uuid;

use super::Shared;
use super::list_update::{ListUpdater, UpdateError, UpdateFrom, Updated};

/// Another node continues after this time without a sign of life.
const LEASE: Duration = Duration::from_mins(5);
/// The pause after a failure of the publisher's server, unless the period is shorter.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_hours(1);
/// Who updates, in the operators' trail.
const ACTOR: &str = "server";

fn ms(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// Updates lists for as long as the server runs.
pub async fn run(app: Shared) {
    if app.config.update_lists.is_empty() {
        return;
    }
    if let Err(error) = warn_of_removed(&app).await {
        tracing::warn!(%error, "the updates of the sanctions lists cannot be read");
    }
    loop {
        let swept = sweep(&app).await;
        app.background.record_run(Job::ListUpdates, &swept);
        tokio::time::sleep(Job::ListUpdates.interval()).await;
    }
}

/// Names the lists of the settings that were removed, because no server updates them.
async fn warn_of_removed(app: &Shared) -> Result<(), store::Error> {
    let removed = list_updates::list(&mut app.db.read().await?).await?;
    for update in removed.iter().filter(|update| update.removed_at.is_some()) {
        if app
            .config
            .update_lists
            .iter()
            .any(|list| list.trim() == update.list)
        {
            tracing::warn!(
                list = update.list,
                "a list that should be updated was removed: run `bonafide lists update` for it once, or take it out of the setting"
            );
        }
    }
    Ok(())
}

/// Updates every list that is due and that no other node updates. Returns how many it updated.
///
/// # Errors
/// The first failure, after all lists had their turn.
pub async fn sweep(app: &Shared) -> anyhow::Result<u64> {
    let config = &app.config;
    let period = Duration::from_hours(config.update_lists_hours);
    let updater = ListUpdater::new(
        (app.db.clone(), app.objects.clone()),
        &config.data,
        &config.list_sources,
        ACTOR,
    )?;
    let mut updated = 0;
    let mut first_failure = None;
    for list in config
        .update_lists
        .iter()
        .map(|list| list.trim())
        .filter(|list| !list.is_empty())
    {
        match update_if_due(app, &updater, list, period).await {
            Ok(is_done) => updated += u64::from(is_done),
            Err(error) => {
                tracing::warn!(list, %error, "a sanctions list was not updated");
                first_failure.get_or_insert(error);
            }
        }
    }
    first_failure.map_or(Ok(updated), |error| Err(error.into()))
}

async fn update_if_due(
    app: &Shared,
    updater: &ListUpdater,
    list: &str,
    period: Duration,
) -> Result<bool, UpdateError> {
    let lease = Uuid::new_v4();
    let begun = store::transaction!(app.db, |tx| -> Result<bool, store::Error> {
        list_updates::begin(tx, list, lease, ms(LEASE), ms(period)).await
    })?;
    if !begun {
        return Ok(false);
    }
    let updated = tokio::select! {
        updated = updater.update(list, &UpdateFrom::Publisher, None, &|_| {}) => updated,
        lost = stay_alive(app, list, lease) => Err(lost),
    };
    let pause = match &updated {
        Err(error) if error.may_pass() => period.min(PAUSE_AFTER_FAILURE),
        _ => period,
    };
    let finished = store::transaction!(app.db, |tx| -> Result<(), store::Error> {
        list_updates::finish(tx, list, lease, ms(pause)).await
    });
    if let Err(error) = finished {
        // The lease ends by itself.
        tracing::warn!(list, %error, "the end of an update cannot be recorded");
    }
    match updated? {
        Updated::Unchanged { version, .. } => {
            tracing::info!(list, version, "the publisher offers the version in use");
        }
        Updated::Imported(report) => {
            tracing::info!(
                list,
                version = report.version,
                entities = report.entities,
                "a sanctions list was updated"
            );
            app.lists.refresh_expected(&app.db).await;
            Arc::clone(&app.lists).reload_changed().await;
        }
    }
    Ok(true)
}

/// Extends the lease until another node has it, or may have it because the database has not answered for so long.
async fn stay_alive(app: &Shared, list: &str, lease: Uuid) -> UpdateError {
    let mut extended_at = Instant::now();
    loop {
        tokio::time::sleep(LEASE / 5).await;
        let extended = store::transaction!(app.db, |tx| -> Result<bool, store::Error> {
            list_updates::extend(tx, list, lease, ms(LEASE)).await
        });
        match extended {
            Ok(true) => extended_at = Instant::now(),
            Ok(false) => {
                return UpdateError::Internal(format!("another node continues the update of {list}"));
            }
            Err(error) if extended_at.elapsed() > LEASE * 3 / 5 => return error.into(),
            Err(error) => tracing::warn!(list, %error, "the lease of an update cannot be extended yet"),
        }
    }
}
