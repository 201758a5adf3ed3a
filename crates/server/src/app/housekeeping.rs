//! What must be tidied up as long as the server runs: expired rows, sessions whose time is up, calls and attempts past their retention, objects
//! that nothing refers to, samples of the metrics. Every node may do it at once.

use std::time::Duration;

use jiff::Timestamp;
use uuid::Uuid;

use super::{App, Shared, api_log, retention};

/// How often metrics are compacted.
const METRICS_EVERY: Duration = Duration::from_secs(5);
/// Expired rows are deleted every so many rounds.
const SWEEP_ROUNDS: u32 = 12;
/// Link tokens are kept this long after they expired, so that their use is still told from nonsense; and so are sessions that
/// nobody finished.
const LINKS_KEPT_MS: i64 = 30 * 24 * 60 * 60 * 1_000;
/// Webhook events are kept this long, to be seen and sent again.
const EVENTS_KEPT_MS: i64 = 30 * 24 * 60 * 60 * 1_000;
/// How often calls and attempts past their retention are looked for; the first time right after the start.
const RETENTION_EVERY: Duration = Duration::from_secs(60 * 60);
/// How often orphans are looked for; the first time right after the start.
const ORPHANS_EVERY: Duration = Duration::from_secs(24 * 60 * 60);
/// Objects are written before their attempt; whatever has none after this time never gets one.
const ORPHANS_AFTER_MS: i64 = 24 * 60 * 60 * 1_000;

/// Sessions whose time is up are ended so many at a time, so that nobody waits long for the database.
const SESSIONS_AT_ONCE: i64 = 200;

/// Tidies up for ever.
pub async fn run(app: Shared) {
    tokio::join!(rows(&app), old_calls(&app), old_attempts(&app), orphans(&app));
}

async fn old_calls(app: &App) {
    loop {
        if let Err(error) = api_log::sweep(app).await {
            tracing::warn!(%error, "old calls could not be removed from the API log");
        }
        tokio::time::sleep(RETENTION_EVERY).await;
    }
}

async fn old_attempts(app: &App) {
    loop {
        match retention::sweep(app).await {
            Ok(0) => {}
            Ok(attempts) => tracing::info!(attempts, "attempts past their retention were removed"),
            Err(problem) => tracing::warn!(%problem, "attempts past their retention could not be removed"),
        }
        tokio::time::sleep(RETENTION_EVERY).await;
    }
}

async fn orphans(app: &App) {
    loop {
        match sweep_orphans(app).await {
            Ok(0) => {}
            Ok(objects) => tracing::info!(objects, "objects that no attempt refers to were deleted"),
            Err(error) => tracing::warn!(%error, "orphaned objects could not be deleted"),
        }
        tokio::time::sleep(ORPHANS_EVERY).await;
    }
}

/// Deletes the objects of attempts that did not come to be (their node died in between) or are gone; answers how many. This may be
/// the wrong database, an older copy on the live objects: accounts that it does not know are left alone, and so is whatever is newer
/// than the newest attempt that it knows.
async fn sweep_orphans(app: &App) -> Result<usize, store::Error> {
    let before = Timestamp::now().as_millisecond() - ORPHANS_AFTER_MS;
    let merchants = store::merchants::list(&mut app.db.read().await?).await?;
    let mut swept = 0;
    for (scope, attempt_id) in app.objects.attempts_before(before).await? {
        let known = merchants.iter().any(|merchant| merchant.id == scope.merchant_id);
        let newest = store::attempts::newest_at(&mut app.db.read().await?, scope).await?;
        let known =
            known && made_at(attempt_id).is_some_and(|made| newest.is_some_and(|newest| made < newest));
        if known && !store::attempts::exists(&mut app.db.read().await?, scope, attempt_id).await? {
            swept += app.objects.delete_attempt(scope, attempt_id).await?;
        }
    }
    Ok(swept)
}

/// When an attempt's id was made (ms): ids are UUIDs of version 7.
fn made_at(attempt_id: Uuid) -> Option<i64> {
    let (seconds, nanos) = attempt_id.get_timestamp()?.to_unix();
    i64::try_from(seconds * 1_000 + u64::from(nanos) / 1_000_000).ok()
}

async fn rows(app: &App) {
    for round in 1_u32.. {
        tokio::time::sleep(METRICS_EVERY).await;
        app.metrics.run_upkeep();
        if round % SWEEP_ROUNDS == 0
            && let Err(error) = sweep(app).await
        {
            tracing::warn!(%error, "expired rows could not be deleted");
        }
    }
}

async fn sweep(app: &App) -> Result<(), store::Error> {
    store::transaction!(app.db, |tx| -> Result<(), store::Error> {
        store::limits::sweep(tx).await?;
        store::idempotency::sweep(tx).await?;
        let before = tx.now() - LINKS_KEPT_MS;
        store::sessions::sweep_links(tx, before).await?;
        store::sessions::sweep(tx, before).await?;
        let before = tx.now() - EVENTS_KEPT_MS;
        store::outbox::sweep(tx, before).await?;
        store::portal_sessions::sweep(tx).await?;
        let before = tx.now() - LINKS_KEPT_MS;
        store::invitations::sweep(tx, before).await?;
        Ok(())
    })?;
    loop {
        let ended = store::transaction!(app.db, |tx| -> Result<u64, store::Error> {
            store::sessions::expire(tx, SESSIONS_AT_ONCE).await
        })?;
        if ended == 0 {
            return Ok(());
        }
    }
}
