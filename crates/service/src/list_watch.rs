//! Loads newer sanctions lists and labels while the server runs. `list_set` records which lists count, and
//! `node::lists` loads them.

use std::sync::Arc;

use node::background::Job;

use crate::Shared;

/// Checks for newer lists and labels for as long as the server runs.
pub async fn watch(app: Shared) {
    loop {
        tokio::time::sleep(Job::Lists.interval()).await;
        app.lists.refresh_expected(&app.db).await;
        app.lists.reload_changed().await;
        let labels = Arc::clone(&app);
        let looked = tokio::task::spawn_blocking(move || labels.labels.reload_changed()).await;
        // The number of lists in use, or why none can be used.
        let looked = match looked {
            Ok(()) => app.lists.screener().map(|screener| screener.lists().len() as u64),
            Err(_) => {
                tracing::error!("looking after the labels failed");
                Err("looking after the labels failed".into())
            }
        };
        app.background.record_run(Job::Lists, &looked);
    }
}
