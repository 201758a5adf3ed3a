//! `bonafide lists update`: downloads lists from their publishers, or takes them from a folder, and imports those that
//! changed. One list's failure does not stop the others.

use std::path::PathBuf;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use list_sources::download::Progress;
use list_sources::publishers::known_lists;
use list_sources::sources::ListSourceConfig;
use sanctions::freshness::unchanged_alert;
use serde_json::json;
use service::config::DataConfig;
use service::list_update::{ListUpdater, Stage, UpdateFrom, Updated};
use service::operations::COMMAND_LINE;

use super::data;
use super::list_report::print_report;
use super::output::{note, print_line};

/// The pause between two lines about the bytes of a download.
const BYTES_EVERY: Duration = Duration::from_secs(2);

/// What to update.
pub(super) struct Request {
    /// The lists; empty: all in use whose publisher is known.
    pub(super) lists: Vec<String>,
    /// A folder with files, instead of the publishers.
    pub(super) from: Option<PathBuf>,
    /// As for an import.
    pub(super) max_shrink: Option<u8>,
    /// Print JSON.
    pub(super) json: bool,
}

pub(super) async fn run(
    config: &DataConfig,
    sources: &ListSourceConfig,
    request: Request,
) -> anyhow::Result<()> {
    ListUpdater::check(sources)?;
    let data = data::open(config).await?;
    let updater = ListUpdater::new((data.db, data.objects), config, sources, COMMAND_LINE)?;
    let lists = match request.lists.is_empty() {
        true => updater.known_lists_in_use().await?,
        false => request.lists,
    };
    anyhow::ensure!(
        !lists.is_empty(),
        "no list with a known publisher is in use. Name the lists to update, such as `bonafide lists update us_ofac_sdn un_sc_sanctions`. \
         Addresses are built in for {}",
        known_lists().join(", ")
    );
    let from = request.from.map_or(UpdateFrom::Publisher, UpdateFrom::Folder);
    let mut failed = 0;
    for list in &lists {
        let reporter = Reporter::of(list);
        let show = |stage| reporter.show(&stage);
        match updater.update(list, &from, request.max_shrink, &show).await {
            Ok(Updated::Imported(report)) => {
                print_report(&report, config.list_unchanged_imports, request.json)?;
            }
            Ok(Updated::Unchanged { version, imports }) => {
                print_line(&match request.json {
                    true => json!({"list": list, "version": version, "unchanged": imports}).to_string(),
                    false => format!("{list} {version}: the publisher offers the version in use"),
                })?;
                if let Some(alert) = unchanged_alert(list, imports, config.list_unchanged_imports) {
                    note!("bonafide: {alert}");
                }
            }
            Err(error) => {
                failed += 1;
                note!("bonafide: {error}");
            }
        }
    }
    anyhow::ensure!(
        failed == 0,
        "lists not updated: {failed} of {}; their active versions did not change",
        lists.len()
    );
    Ok(())
}

/// Reports the progress of one list's update on stderr.
struct Reporter<'a> {
    list: &'a str,
    /// When bytes were last reported.
    reported: Mutex<Instant>,
}

impl Reporter<'_> {
    fn of(list: &str) -> Reporter<'_> {
        Reporter {
            list,
            reported: Mutex::new(Instant::now()),
        }
    }

    fn show(&self, stage: &Stage) {
        let list = self.list;
        match stage {
            Stage::Download(Progress::Request(address)) => note!("{list}: requesting {address}"),
            Stage::Download(Progress::Retry { why, pause }) => {
                note!("{why}. Next try in {} s", pause.as_secs_f32().ceil());
            }
            Stage::Download(Progress::Received { bytes, total }) => {
                let Ok(mut reported) = self.reported.lock() else {
                    return;
                };
                if reported.elapsed() >= BYTES_EVERY {
                    *reported = Instant::now();
                    match total {
                        Some(total) => note!("{list}: {} of {}", mebibytes(*bytes), mebibytes(*total)),
                        None => note!("{list}: {}", mebibytes(*bytes)),
                    }
                }
            }
            Stage::Import(Some(bytes)) => note!("{list}: reading {}", mebibytes(*bytes)),
            Stage::Import(None) => note!("{list}: reading the file"),
        }
    }
}

fn mebibytes(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
}
