//! Loads newer sanctions lists and labels while the server runs. `list_set` records which lists count, and
//! `node::lists` loads them. It downloads nothing.

use std::sync::Arc;

use node::background::Job;
use sanctions::freshness::ListDates;
use store::list_updates;

use crate::Shared;

/// Checks for newer lists and labels for as long as the server runs.
pub async fn watch(app: Shared) {
    loop {
        tokio::time::sleep(Job::Lists.interval()).await;
        app.lists.refresh_expected(&app.db).await;
        if let Err(error) = confirm_lists(&app).await {
            tracing::warn!(%error, "the last updates of the sanctions lists cannot be read");
        }
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

/// Renews the import of this node's lists whose content another node imported later, or found unchanged.
async fn confirm_lists(app: &Shared) -> anyhow::Result<()> {
    let updates = list_updates::list(&mut app.db.read().await?).await?;
    let node = Arc::clone(app);
    let confirmed = tokio::task::spawn_blocking(move || -> anyhow::Result<()> {
        let store = node.lists.store();
        let (dates, now) = (store.dates()?, jiff::Timestamp::now().as_millisecond());
        for update in updates {
            let Some((at, digest)) = update.confirmed else {
                continue;
            };
            // The database's clock may be ahead of this node's.
            let at = at.min(now);
            let is_older = |dates: &ListDates| dates.list == update.list && dates.imported_at < at;
            if dates.iter().any(is_older) {
                store.confirm(&update.list, &hex::encode(digest), at)?;
            }
        }
        Ok(())
    });
    confirmed.await?
}

/// Publishes the age of each list in this node's folder, and how many imports in a row changed nothing.
fn measure(app: &Shared) {
    for list in app.lists.store().status().unwrap_or_default() {
        let label = [("list", list.list)];
        metrics::gauge!("bonafide_list_age_seconds", &label).set(list.age_seconds as f64);
        metrics::gauge!("bonafide_list_import_age_seconds", &label).set(list.import_age_seconds as f64);
        metrics::gauge!("bonafide_list_unchanged_imports", &label).set(f64::from(list.unchanged_imports));
    }
}
