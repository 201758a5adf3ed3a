//! `bonafide lists status`: the lists of this node's folder with their age, and how the last update of each ended. It
//! changes nothing, and shows the folder even if the database does not answer.

use std::collections::BTreeMap;

use jiff::Timestamp;
use sanctions::freshness::unchanged_alert;
use sanctions::store::ListStatus;
use serde::Serialize;
use service::config::DataConfig;
use store::Schema;
use store::list_updates::{self, ListUpdate};

use super::data;
use super::output::{note, print_line};

/// A list of the folder.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    #[serde(flatten)]
    status: ListStatus,
    /// Its last update from the publisher, if there was one.
    update: Option<UpdateRow>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct UpdateRow {
    attempted_at: Option<String>,
    succeeded_at: Option<String>,
    error: Option<String>,
    /// The version that a rollback took out of use.
    rolled_back: Option<String>,
}

pub(super) async fn run(config: &DataConfig, json: bool) -> anyhow::Result<()> {
    let lists = config.list_store()?.status()?;
    let mut updates = match updates(config).await {
        Ok(updates) => updates,
        Err(error) => {
            note!("bonafide: the last updates are unknown: {error:#}");
            BTreeMap::new()
        }
    };
    if json {
        let rows: Vec<Row> = lists
            .into_iter()
            .map(|status| Row {
                update: updates.remove(&status.list).map(row),
                status,
            })
            .collect();
        return print_line(&serde_json::to_string(&rows)?);
    }
    if lists.is_empty() {
        print_line("No list is imported: `bonafide lists import FILE…` or `bonafide lists update LIST…`")?;
    }
    for list in lists {
        let state = if list.active { "active" } else { "not active" };
        print_line(&format!(
            "{:24} {:10} {:>8} entities  version {}  imported {}",
            list.list, state, list.entities, list.version, list.imported_at
        ))?;
        if let Some(problem) = &list.problem {
            print_line(&format!("  {problem}"))?;
        }
        if let Some(alert) =
            unchanged_alert(&list.list, list.unchanged_imports, config.list_unchanged_imports)
        {
            print_line(&format!("  {alert}"))?;
        }
        if let Some(update) = updates.remove(&list.list) {
            print_update("  ", &update)?;
        }
    }
    // Lists that were never imported.
    for update in updates.values() {
        print_update(&format!("{}: ", update.list), update)?;
    }
    Ok(())
}

fn print_update(before: &str, update: &ListUpdate) -> anyhow::Result<()> {
    if let Some((_, version)) = &update.rolled_back {
        print_line(&format!("{before}version {version} was rolled back"))?;
    }
    let at = update.attempted_at.and_then(shown).unwrap_or_default();
    match (&update.error, update.attempted_at) {
        (Some(error), _) => print_line(&format!("{before}the update of {at} failed: {error}")),
        (None, Some(_)) => print_line(&format!("{before}updated from its publisher {at}")),
        (None, None) => Ok(()),
    }
}

/// The state of all updates, by list.
async fn updates(config: &DataConfig) -> anyhow::Result<BTreeMap<String, ListUpdate>> {
    let inspection = data::inspect(config).await?;
    let Some(db) = inspection.db.filter(|_| inspection.schema == Schema::Current) else {
        return Ok(BTreeMap::new());
    };
    let mut updates = list_updates::list(&mut db.read().await?).await?;
    // A list that was only imported has a row too.
    updates.retain(|update| update.attempted_at.is_some() || update.rolled_back.is_some());
    db.close().await;
    Ok(updates
        .into_iter()
        .map(|update| (update.list.clone(), update))
        .collect())
}

fn row(update: ListUpdate) -> UpdateRow {
    UpdateRow {
        attempted_at: update.attempted_at.and_then(shown),
        succeeded_at: update.succeeded_at.and_then(shown),
        error: update.error,
        rolled_back: update.rolled_back.map(|(_, version)| version),
    }
}

fn shown(ms: i64) -> Option<String> {
    Timestamp::from_millisecond(ms).ok().map(|at| format!("{at:.3}"))
}
