//! Cleans up for as long as the server runs: expired rows, sessions that have run out of time, calls and
//! attempts past their retention, objects without an attempt, keys below an earlier master key, faces of an
//! earlier model, and samples of the metrics. Every node may do this at the same time.

use std::collections::BTreeSet;
use std::time::Duration;

use uuid::Uuid;

use verification::invitation::MOST_RENEWALS;

use super::background::Job;
use super::list_copies;
use super::{App, Shared, api_log, erasure, key_renewal, reindex, retention};

/// How often metrics are compacted.
const METRICS_EVERY: Duration = Duration::from_secs(5);
/// Expired link tokens are stored this long, so that their use is still distinguished from an invalid token.
/// Unfinished sessions are stored as long.
const LINKS_KEPT_MS: i64 = 30 * 24 * 60 * 60 * 1_000;
/// Webhook events are stored this long, so that they can be viewed and sent again.
const EVENTS_KEPT_MS: i64 = 30 * 24 * 60 * 60 * 1_000;
/// Objects are written before their attempt. An object that has no attempt after this time never gets one.
const ORPHANS_AFTER_MS: i64 = 24 * 60 * 60 * 1_000;

/// Liveness challenges are stored so long after their last call.
const CHALLENGES_KEPT_MS: i64 = 60 * 60 * 1_000;
/// How many overdue sessions or readings one transaction ends, so that no other writer waits long.
const AT_ONCE: i64 = 200;

/// Cleans up for as long as the server runs.
pub async fn run(app: Shared) {
    tokio::join!(
        metrics(&app),
        rows(&app),
        old_calls(&app),
        old_attempts(&app),
        orphans(&app),
        keys(&app),
        faces(&app)
    );
}

async fn old_calls(app: &App) {
    loop {
        let swept = api_log::sweep(app).await;
        if let Err(error) = &swept {
            tracing::warn!(%error, "old calls could not be removed from the API log");
        }
        app.background.record_run(Job::ApiLog, &swept);
        tokio::time::sleep(Job::ApiLog.interval()).await;
    }
}

async fn old_attempts(app: &App) {
    loop {
        let removed = retention::sweep(app).await.map(|attempts| attempts as u64);
        match &removed {
            Ok(0) => {}
            Ok(attempts) => tracing::info!(attempts, "attempts past their retention were removed"),
            Err(problem) => tracing::warn!(%problem, "attempts past their retention could not be removed"),
        }
        app.background.record_run(Job::Retention, &removed);
        tokio::time::sleep(Job::Retention.interval()).await;
    }
}

async fn keys(app: &App) {
    loop {
        let renewed = key_renewal::sweep(&app.db).await;
        match &renewed {
            Ok(0) => {}
            Ok(records) => tracing::info!(
                records,
                "people and rows received new keys after a rotation of the master key"
            ),
            Err(error) => tracing::warn!(%error, "data keys could not be renewed"),
        }
        app.background.record_run(Job::KeyRenewal, &renewed);
        tokio::time::sleep(Job::KeyRenewal.interval()).await;
    }
}

/// After an upgrade with another face model, the servers embed the known faces again.
async fn faces(app: &App) {
    let mut left = BTreeSet::new();
    loop {
        // Engines that start on demand are not started for this.
        let renewed = match app.engines.known() {
            Ok(Some(engines)) => reindex::sweep(app, &engines.face_model, &mut left)
                .await
                .map(|done| done.renewed),
            Ok(None) | Err(_) => Ok(0),
        };
        match &renewed {
            Ok(0) => {}
            Ok(people) => tracing::info!(people, "faces of an earlier model were embedded again"),
            Err(problem) => tracing::warn!(%problem, "faces of an earlier model could not be embedded again"),
        }
        app.background.record_run(Job::Faces, &renewed);
        tokio::time::sleep(Job::Faces.interval()).await;
    }
}

async fn orphans(app: &App) {
    loop {
        let swept = sweep_orphans(app).await.map(|objects| objects as u64);
        match &swept {
            Ok(0) => {}
            Ok(objects) => tracing::info!(objects, "objects that are no longer used were deleted"),
            Err(error) => tracing::warn!(%error, "orphaned objects could not be deleted"),
        }
        app.background.record_run(Job::Orphans, &swept);
        tokio::time::sleep(Job::Orphans.interval()).await;
    }
}

/// Deletes the objects of attempts that were never recorded (because their node died) or are gone, and copies of lists
/// that are no longer used, and returns how many. The database may be an older copy used with the live objects. So objects of accounts
/// that it does not know stay, and so do objects newer than its newest attempt.
async fn sweep_orphans(app: &App) -> Result<usize, store::Error> {
    // The installation's time, because this machine's clock may be wrong.
    let before = app.db.read().await?.now() - ORPHANS_AFTER_MS;
    let merchants = store::merchants::list(&mut app.db.read().await?).await?;
    let mut swept = 0;
    let stock = app.objects.inventory(before).await?;
    app.background.record_stored(stock.objects, stock.bytes);
    for (scope, attempt_id) in stock.old_attempts {
        let known = merchants.iter().any(|merchant| merchant.id == scope.merchant_id);
        let newest = store::attempts::newest_at(&mut app.db.read().await?, scope).await?;
        let known =
            known && made_at(attempt_id).is_some_and(|made| newest.is_some_and(|newest| made < newest));
        if known && !store::attempts::exists(&mut app.db.read().await?, scope, attempt_id).await? {
            swept += app.objects.delete_attempt(scope, attempt_id).await?;
        }
    }
    swept += list_copies::sweep(&app.db, &app.objects).await?;
    Ok(swept)
}

/// When an attempt's id was created (ms). Ids are UUIDs of version 7.
fn made_at(attempt_id: Uuid) -> Option<i64> {
    let (seconds, nanos) = attempt_id.get_timestamp()?.to_unix();
    i64::try_from(seconds * 1_000 + u64::from(nanos) / 1_000_000).ok()
}

async fn metrics(app: &App) {
    loop {
        tokio::time::sleep(METRICS_EVERY).await;
        app.metrics.run_upkeep();
    }
}

async fn rows(app: &App) {
    loop {
        let (swept, finished) = (sweep(app).await, erasure::finish_earlier(app).await);
        let swept = swept.and_then(|rows| Ok(rows + finished?));
        if let Err(error) = &swept {
            tracing::warn!(%error, "expired rows could not be deleted");
        }
        app.background.record_run(Job::Expiry, &swept);
        tokio::time::sleep(Job::Expiry.interval()).await;
    }
}

/// Deletes the readings of sessions that have ended, and those that are too old. Returns how many.
async fn sweep_readings(app: &App) -> Result<u64, store::Error> {
    let mut swept = 0;
    loop {
        let deleted = store::transaction!(app.db, |tx| -> Result<u64, store::Error> {
            store::document_readings::sweep(tx, AT_ONCE).await
        })?;
        if deleted == 0 {
            return Ok(swept);
        }
        swept += deleted;
    }
}

/// Deletes expired rows, ends sessions that have run out of time, and deletes the readings of sessions that have ended.
/// Returns the number of rows.
async fn sweep(app: &App) -> Result<u64, store::Error> {
    let mut swept = sweep_readings(app).await?;
    swept += store::transaction!(app.db, |tx| -> Result<u64, store::Error> {
        let links_before = tx.now() - LINKS_KEPT_MS;
        let events_before = tx.now() - EVENTS_KEPT_MS;
        let challenges_before = tx.now() - CHALLENGES_KEPT_MS;
        Ok(store::limits::sweep(tx).await?
            + store::idempotency::sweep(tx).await?
            + store::link_tokens::sweep(tx, links_before).await?
            + store::link_tokens::forget_expected(tx).await?
            + store::applicant_invitations::expire(tx, MOST_RENEWALS).await?
            + store::applicant_invitations::sweep(tx, links_before).await?
            + store::sessions::forget_expected(tx).await?
            + store::sessions::sweep(tx, links_before).await?
            + store::challenges::sweep(tx, challenges_before).await?
            + store::outbox::sweep(tx, events_before).await?
            + store::portal_sessions::sweep(tx).await?
            + store::sign_ups::sweep(tx).await?
            + store::staff_devices::sweep(tx).await?
            + store::staff_passkeys::sweep(tx).await?
            + store::invitations::sweep(tx, links_before).await?)
    })?;
    swept += store::transaction!(app.db.traffic(), |tx| -> Result<u64, store::Error> {
        store::limits::sweep(tx).await
    })?;
    loop {
        let ended = store::transaction!(app.db, |tx| -> Result<u64, store::Error> {
            store::admissions::expire(tx, AT_ONCE).await
        })?;
        if ended == 0 {
            return Ok(swept);
        }
        swept += ended;
    }
}
