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
        let node = Arc::clone(&app);
        let looked = tokio::task::spawn_blocking(move || {
            node.labels.reload_changed();
            measure(&node);
        })
        .await;
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

/// Publishes the age of each list in this node's folder, and how many imports in a row changed nothing.
fn measure(app: &Shared) {
    for list in app.lists.store().status().unwrap_or_default() {
        let label = [("list", list.list)];
        metrics::gauge!("bonafide_list_age_seconds", &label).set(list.age_seconds as f64);
        metrics::gauge!("bonafide_list_unchanged_imports", &label).set(f64::from(list.unchanged_imports));
    }
}
