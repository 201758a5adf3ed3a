//! Loads newer sanctions lists and labels while the server runs. Which lists count is `list_set`'s; how they are loaded, `node::lists`'s.

use std::sync::Arc;

use node::background::Job;

use crate::Shared;

/// Looks after the lists and the labels as long as the server runs.
pub async fn watch(app: Shared) {
    loop {
        tokio::time::sleep(Job::Lists.every()).await;
        app.lists.expect(&app.db).await;
        app.lists.look().await;
        let labels = Arc::clone(&app);
        let looked = tokio::task::spawn_blocking(move || labels.labels.look()).await;
        // How many lists are in use, or why none is.
        let looked = match looked {
            Ok(()) => app.lists.screener().map(|screener| screener.lists().len() as u64),
            Err(_) => {
                tracing::error!("looking after the labels failed");
                Err("looking after the labels failed".into())
            }
        };
        app.background.ran(Job::Lists, &looked);
    }
}
