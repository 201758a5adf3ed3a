//! What must be tidied up as long as the server runs: expired rows, and samples of the metrics. Every node may do it at once.

use std::time::Duration;

use super::Shared;

/// How often metrics are compacted.
const METRICS_EVERY: Duration = Duration::from_secs(5);
/// Expired rows are deleted every so many rounds.
const SWEEP_ROUNDS: u32 = 12;
/// Link tokens are kept this long after they expired, so that their use is still told from nonsense.
const LINKS_KEPT_MS: i64 = 24 * 60 * 60 * 1_000;

/// Tidies up for ever.
pub async fn run(app: Shared) {
    for round in 1_u32.. {
        tokio::time::sleep(METRICS_EVERY).await;
        app.metrics.run_upkeep();
        if round % SWEEP_ROUNDS == 0
            && let Err(error) = sweep(&app).await
        {
            tracing::warn!(%error, "expired rows could not be deleted");
        }
    }
}

async fn sweep(app: &Shared) -> Result<(), store::Error> {
    store::transaction!(app.db, |tx| -> Result<(), store::Error> {
        store::limits::sweep(tx).await?;
        store::idempotency::sweep(tx).await?;
        let before = tx.now() - LINKS_KEPT_MS;
        store::sessions::sweep_links(tx, before).await?;
        Ok(())
    })
}
