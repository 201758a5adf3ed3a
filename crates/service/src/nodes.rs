//! The reports of all serving processes to one another, every 30 s, for the operator console. A process
//! registers with its version, the fingerprint of its key file and its lists. `keys rewrap` waits for nodes
//! with another key, and liveness challenges wait until the nodes can carry them. Nothing else depends on the
//! reports. They contain no personal data. A process whose key does not belong to the database writes nothing. If
//! the database returns to an earlier state, the next report restores this process's row.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use store::nodes::{self, Node};

use crate::background::{JobRun, StoredObjects};
use crate::challenge_capacity::MOST_PER_WORKER;
use crate::checks::{self, Check};
use crate::cpu::Capacity;
use crate::{App, Shared};

const REPORT_INTERVAL: Duration = Duration::from_secs(30);
/// How long the data folder may take to answer.
const FOLDER_WITHIN: Duration = Duration::from_secs(5);
/// The row of a process that has been silent for this long is deleted.
const KEPT_MS: i64 = 24 * 60 * 60 * 1_000;
/// The most challenges that count for one node, even if its report states more.
const MOST_OF_A_NODE: usize = 1_000;
/// A process that has been silent for this long no longer counts as serving.
pub const SILENT_MS: i64 = 90 * 1_000;

/// A process's report. Members that an older version did not write are empty.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Report {
    /// All its checks.
    pub checks: Vec<Check>,
    /// Its capacity for heavy work.
    pub capacity: Capacity,
    /// How many liveness challenges it carries at once; 0 from an older version.
    pub challenges: usize,
    /// Versions of the sanctions lists in use, by name.
    pub lists: BTreeMap<String, String>,
    /// The contents of the lists in this node's folder: SHA-256 in hexadecimal, by name.
    pub list_digests: BTreeMap<String, String>,
    /// The results of its jobs' last runs, by job name.
    pub jobs: BTreeMap<String, JobRun>,
    /// What the object store contained when this process last counted it.
    pub stored: Option<StoredObjects>,
    /// The versions of its models, by name; empty until it has loaded them.
    pub models: BTreeMap<String, String>,
}

impl Report {
    /// Reads a process's report. An unreadable one becomes a failed check, because a newer version wrote it
    /// or it was changed.
    pub fn read(text: &str) -> Report {
        serde_json::from_str(text).unwrap_or_else(|_| Report {
            checks: vec![Check::bad(
                "report",
                "this process's report cannot be read: a newer version wrote it, or it was changed in the database",
            )],
            ..Report::default()
        })
    }
}

/// Deletes this process's report when it stops.
pub async fn remove_report(app: &App) -> Result<(), store::Error> {
    store::transaction!(app.db, |tx| -> Result<(), store::Error> {
        nodes::forget(tx, app.presence.id()).await
    })
}

async fn write_report(app: &Shared) -> Result<(), store::Error> {
    let node = Node {
        id: app.presence.id(),
        name: app.presence.name().to_owned(),
        version: env!("CARGO_PKG_VERSION").into(),
        report: serde_json::to_string(&report(app).await).unwrap_or_default(),
        key_fingerprint: app.db.key_fingerprint(),
        started_at: app.presence.started_at(),
        seen_at: 0,
    };
    store::transaction!(app.db, |tx| -> Result<(), store::Error> {
        nodes::report(tx, &node).await?;
        let before = tx.now() - KEPT_MS;
        nodes::sweep(tx, before).await.map(|_| ())
    })
}

/// Reports as long as the process serves.
pub async fn run(app: Shared) {
    loop {
        if let Err(error) = write_report(&app).await {
            tracing::warn!(%error, "this process could not report");
        }
        tokio::time::sleep(REPORT_INTERVAL).await;
    }
}

/// How many liveness challenges the serving processes carry together.
pub async fn challenges(app: &App, conn: &mut store::Conn) -> Result<usize, store::Error> {
    let own = app.challenges.challenges(app.config.workers());
    let serving_since = conn.now() - SILENT_MS;
    let others = nodes::list(conn).await?;
    let others = others
        .iter()
        .filter(|node| node.id != app.presence.id() && node.seen_at > serving_since)
        .map(|node| carried_by(&Report::read(&node.report), app.config.workers()));
    Ok(others.fold(own, usize::saturating_add))
}

/// How many liveness challenges a process carries by its report. One that does not say is taken for a process with
/// this many workers.
fn carried_by(report: &Report, workers: usize) -> usize {
    match report.challenges {
        0 => workers * MOST_PER_WORKER,
        carried => carried.min(MOST_OF_A_NODE),
    }
}

/// Creates this process's current report.
pub async fn report(app: &Shared) -> Report {
    let files = {
        let app = Arc::clone(app);
        let look = move || {
            let data = &app.config.data;
            let status = app.lists.store().status();
            let digests: BTreeMap<String, String> = status
                .iter()
                .flatten()
                .map(|list| (list.list.clone(), list.digest.clone()))
                .collect();
            // The folder's lists count only if the installation uses them.
            let lists = match app.lists.screener() {
                Err(reason) => Check::bad("lists", reason),
                Ok(_) => checks::lists(status, data.list_unchanged_imports),
            };
            let found = vec![lists, checks::keys(data), checks::disk(&data.data)];
            (found, digests)
        };
        tokio::time::timeout(FOLDER_WITHIN, tokio::task::spawn_blocking(look))
    };
    let engines = app.engines.known();
    let models = match &engines {
        Ok(Some(engines)) => {
            let differing = with_other_models(app, &engines.models).await;
            models_check(&engines.models, &differing)
        }
        Ok(None) => Check::ok("models", "loaded with the first file"),
        Err(reason) => Check::bad("models", reason),
    };
    let versions = match &engines {
        Ok(Some(engines)) => engines.models.clone(),
        _ => BTreeMap::new(),
    };
    let mut found = vec![
        checks::machine(),
        checks::clock(),
        models,
        checks::database(&app.db).await,
        checks::objects(&app.objects, &app.config.data.objects_url()).await,
    ];
    if let Ok(Some(engines)) = engines {
        found.push(checks::faces(&app.db, &engines.face_model).await);
    }
    let (of_folder, list_digests) = match files.await {
        Ok(Ok(files)) => files,
        _ => (
            vec![Check::bad("folder", "the data folder does not answer")],
            BTreeMap::new(),
        ),
    };
    found.extend(of_folder);
    // Without an answer, the check of the database reports it.
    let updates = async { store::list_updates::list(&mut app.db.read().await?).await };
    found.extend(checks::list_updates(&updates.await.unwrap_or_default()));
    found.extend(app.background.chains());
    found.push(checks::public_url(&app.config));
    let challenges = app.challenges.challenges(app.config.workers());
    metrics::gauge!("bonafide_challenge_capacity").set(challenges as f64);
    Report {
        checks: found,
        capacity: app.cpu.capacity(),
        challenges,
        lists: app
            .lists
            .screener()
            .map(|screener| screener.lists().clone())
            .unwrap_or_default(),
        list_digests,
        jobs: app.background.runs(),
        stored: app.background.stored(),
        models: versions,
    }
}

/// The names of the other serving processes that have loaded other models.
async fn with_other_models(app: &Shared, models: &BTreeMap<String, String>) -> Vec<String> {
    let others = async {
        let mut conn = app.db.read().await?;
        let now = conn.now();
        let mut nodes = nodes::list(&mut conn).await?;
        nodes.retain(|node| node.id != app.presence.id() && node.seen_at > now - SILENT_MS);
        Ok::<_, store::Error>(nodes)
    };
    // Without a database, the check of the database says so.
    let others = others.await.unwrap_or_default();
    others
        .into_iter()
        .filter(|node| {
            let loaded = Report::read(&node.report).models;
            !loaded.is_empty() && loaded != *models
        })
        .map(|node| node.name)
        .collect()
}

/// The check of loaded models. `differing` are the other processes whose models are not the same.
fn models_check(models: &BTreeMap<String, String>, differing: &[String]) -> Check {
    let mut text = "loaded".to_owned();
    for kind in ["pad", "embedder"] {
        if let Some(version) = models.get(kind) {
            text.push_str(&format!("; custom model ({kind}): {version}"));
        }
    }
    if differing.is_empty() {
        return Check::ok("models", text);
    }
    let names = differing.join(", ");
    Check::attention(
        "models",
        format!(
            "{text}; other models decide on {names}. Install the same models on all nodes, and restart them"
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::State;

    #[test]
    fn nodes_with_other_models_are_named() {
        let models = |pad: Option<&str>| -> BTreeMap<String, String> {
            pad.map(|pad| ("pad".to_owned(), pad.to_owned()))
                .into_iter()
                .collect()
        };
        let check = models_check(&models(None), &[]);
        assert_eq!((check.state, check.text.as_str()), (State::Ok, "loaded"));
        let check = models_check(&models(Some("acme@0123456789ab")), &["b".into(), "c".into()]);
        assert_eq!(check.state, State::Look);
        for said in ["acme@0123456789ab", "b, c"] {
            assert!(check.text.contains(said), "{}", check.text);
        }
    }

    #[test]
    fn a_node_carries_what_it_reports_or_what_its_like_would() {
        for (report, expected) in [
            (r#"{"challenges": 3}"#, 3),
            (r#"{"challenges": 1000001}"#, MOST_OF_A_NODE),
            ("{}", 2 * MOST_PER_WORKER),
            ("of a newer version", 2 * MOST_PER_WORKER),
        ] {
            assert_eq!(carried_by(&Report::read(report), 2), expected, "{report}");
        }
    }
}
