//! `bonafide lists …`: imports and removes sanctions lists, and shows which are active and how old they are.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::{Args, Subcommand};
use sanctions::freshness::unchanged_alert;
use sanctions::import::{ImportRefusal, Use};
use sanctions::{Guards, ImportReport, ListStore, Source, StoreError};
use service::config::DataConfig;
use service::installation_acts::{self, InstallationAct, Shrinkage};
use service::list_set;
use service::lists::PastWallets;
use service::operations::COMMAND_LINE;
use service::problem::Problem;
use store::Db;

use super::data;
use super::list_diff;
use super::output::{note, print_line};
use super::runtime::block_on;

/// `bonafide lists`.
#[derive(Args)]
pub(crate) struct ListsCommand {
    #[command(subcommand)]
    action: Action,
    #[command(flatten)]
    data: DataConfig,
}

#[derive(Subcommand)]
enum Action {
    /// Import list files (OFAC, UN, EU, UK, Switzerland, Canada, Australia, CSL, OpenSanctions; detected from the
    /// content) and activate them.
    Import {
        /// The files. OFAC's sdn, alt, add and comments CSV files of one folder are one list.
        #[arg(required = true)]
        files: Vec<PathBuf>,
        /// The publisher's SHA-256 of the (single) file.
        #[arg(long)]
        sha256: Option<String>,
        /// Accept a list that lost up to this share of its entities, in percent. Where two people are
        /// required, two operators must confirm a loss of more than 20 percent.
        #[arg(long)]
        max_shrink: Option<u8>,
        /// Print one JSON object for each list: what was read, rejected and made of every kind of value.
        #[arg(long)]
        json: bool,
    },
    /// Remove a list permanently.
    Remove {
        /// Its name, as `status` shows it.
        list: String,
    },
    /// Show what changed between two versions of a list. The last five replaced versions are kept.
    Diff {
        /// The list's name, as `status` shows it.
        list: String,
        /// The older version; by default the one that was replaced last.
        old: Option<String>,
        /// The newer version; by default the one in use.
        new: Option<String>,
        /// Print one JSON object instead of text.
        #[arg(long)]
        json: bool,
    },
    /// Show the active lists with their version and age.
    Status {
        /// Print one JSON array instead of a table.
        #[arg(long)]
        json: bool,
    },
}

pub(super) fn run(command: ListsCommand) -> anyhow::Result<()> {
    let data = command.data;
    match command.action {
        Action::Import {
            files,
            sha256,
            max_shrink,
            json,
        } => {
            let guards = Guards {
                expected_sha256: sha256,
                ..Guards::default()
            };
            block_on(import_all(&data, &files, guards, max_shrink, json))
        }
        Action::Diff { list, old, new, json } => {
            let versions = (old.as_deref(), new.as_deref());
            list_diff::run(&data.list_store()?, &list, versions, json)
        }
        Action::Remove { list } => block_on(remove(&data, &list)),
        Action::Status { json } => {
            let lists = data.list_store()?.status()?;
            if json {
                return print_line(&serde_json::to_string(&lists)?);
            }
            if lists.is_empty() {
                return print_line("No list is imported: `bonafide lists import FILE…`");
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
                let after = data.list_unchanged_imports;
                if let Some(alert) = unchanged_alert(&list.list, list.unchanged_imports, after) {
                    print_line(&format!("  {alert}"))?;
                }
            }
            Ok(())
        }
    }
}

/// Imports each list into this node's folder, then publishes it for the installation.
async fn import_all(
    config: &DataConfig,
    files: &[PathBuf],
    mut guards: Guards,
    max_shrink: Option<u8>,
    json: bool,
) -> anyhow::Result<()> {
    let db = data::open(config).await?.db;
    let store = config.list_store()?;
    let _lock = store.lock()?;
    guards.installed = list_set::installed(&db).await?;
    let mut refused = 0;
    for group in by_list(files) {
        match import_guarded(&db, &store, &group, &guards, max_shrink).await? {
            Ok(report) => {
                list_set::publish(&db, &store, (&report.list, report.format), COMMAND_LINE, true)
                    .await
                    .with_context(|| {
                        format!(
                            "{} is in this node's folder, but not in use: import it again",
                            report.list
                        )
                    })?;
                let text = if json {
                    serde_json::to_string(&report)?
                } else {
                    describe(&report)
                };
                print_line(&text)?;
                let after = config.list_unchanged_imports;
                if let Some(alert) = unchanged_alert(&report.list, report.unchanged, after) {
                    note!("bonafide: {alert}");
                }
            }
            Err(error) => {
                refused += 1;
                note!("bonafide: {error}");
            }
        }
    }
    PastWallets::remember(config, jiff::Timestamp::now().as_millisecond())?;
    anyhow::ensure!(
        refused == 0,
        "lists not activated: {refused}; the active versions did not change"
    );
    Ok(())
}

/// Imports a list that may shrink by `max_shrink` percent. Where two people are required, the command line
/// only proposes a larger shrinkage than the guards allow.
async fn import_guarded(
    db: &Db,
    store: &ListStore,
    files: &[&Path],
    guards: &Guards,
    max_shrink: Option<u8>,
) -> anyhow::Result<Result<ImportReport, String>> {
    let wide = Guards {
        max_shrink_percent: max_shrink.unwrap_or(guards.max_shrink_percent),
        ..guards.clone()
    };
    let failed = |problem: Problem| anyhow::anyhow!("{problem}");
    let is_wider = wide.max_shrink_percent > guards.max_shrink_percent;
    if !is_wider
        || !installation_acts::needs_two(&mut db.read().await?)
            .await
            .map_err(failed)?
    {
        return Ok(import(store, files, &wide).map_err(|error| error.to_string()));
    }
    let refused = match import(store, files, guards) {
        Err(StoreError::Refused {
            list,
            version,
            refusal: ImportRefusal::Shrinks { before, after, .. },
            report,
        }) => Shrinkage {
            list,
            version,
            sha256: report.sha256.values().cloned().collect(),
            before,
            after,
        },
        imported => return Ok(imported.map_err(|error| error.to_string())),
    };
    if installation_acts::take_confirmed(db, &refused)
        .await
        .map_err(failed)?
    {
        let imported = import(store, files, &wide).map_err(|error| error.to_string());
        // The file could have been replaced between the two reads. Only the confirmed version is published.
        return Ok(imported.and_then(|report| match refused.is_of(&report) {
            true => Ok(report),
            false => Err(format!(
                "{} was not imported: its file changed while it was read. Import the confirmed file again.",
                report.list
            )),
        }));
    }
    let Shrinkage {
        list, before, after, ..
    } = refused.clone();
    installation_acts::propose(db, &InstallationAct::ShrinkList(refused))
        .await
        .map_err(failed)?;
    Ok(Err(format!(
        "{list} was not imported: it shrinks from {before} to {after} entities, so two operators must confirm it in the console, under \
         \"Lists and models\". Then run this command again."
    )))
}

/// Removes a list from the installation's set, then from this node's folder. In this order, a crash leaves
/// only a file that is not in use. Where two people are required, the command line proposes the removal and
/// never confirms it.
async fn remove(config: &DataConfig, list: &str) -> anyhow::Result<()> {
    let db = data::open(config).await?.db;
    if propose_removal(&db, list).await? {
        return print_line(
            "Proposed. Two operators must confirm it in the console, under \"Lists and models\".",
        );
    }
    let store = config.list_store()?;
    let _lock = store.lock()?;
    let here = store.status()?.iter().any(|status| status.list == list);
    let was_used = list_set::remove(&db, list, COMMAND_LINE, here).await?;
    let was_here = store.remove(list)?;
    anyhow::ensure!(
        was_used || was_here,
        "no list {list}: `bonafide lists status` shows them"
    );
    PastWallets::remember(config, jiff::Timestamp::now().as_millisecond())?;
    print_line(&format!("{list} removed"))
}

/// Proposes the removal of a list if an account or a Flow requires two people. Returns whether one does.
async fn propose_removal(db: &Db, list: &str) -> anyhow::Result<bool> {
    let failed = |problem: Problem| anyhow::anyhow!("{problem}");
    let needs_two = installation_acts::needs_two(&mut db.read().await?)
        .await
        .map_err(failed)?;
    if needs_two {
        let act = InstallationAct::RemoveList(list.to_owned());
        installation_acts::propose(db, &act).await.map_err(failed)?;
    }
    Ok(needs_two)
}

fn import(store: &ListStore, files: &[&Path], guards: &Guards) -> Result<ImportReport, StoreError> {
    let sources = files
        .iter()
        .map(|file| Source::open(file))
        .collect::<Result<Vec<_>, _>>()?;
    store.import(sources, None, guards)
}

/// Groups the files by list. CSV files of one folder form one list (OFAC's legacy format has four files);
/// every other file is a list.
fn by_list(files: &[PathBuf]) -> Vec<Vec<&Path>> {
    let mut groups: BTreeMap<(Option<&Path>, Option<&Path>), Vec<&Path>> = BTreeMap::new();
    for file in files {
        let is_csv = file
            .extension()
            .is_some_and(|extension| extension.eq_ignore_ascii_case("csv"));
        let key = if is_csv {
            (file.parent(), None)
        } else {
            (file.parent(), Some(file.as_path()))
        };
        groups.entry(key).or_default().push(file);
    }
    groups.into_values().collect()
}

fn describe(report: &ImportReport) -> String {
    let mut text = format!(
        "{} {}: {} rows, {} entities, {} rejected",
        report.list, report.version, report.rows, report.entities, report.rejected
    );
    for reject in &report.rejects {
        text.push_str(&format!("\n  rejected at {}: {}", reject.line, reject.reason));
    }
    let unused = report.values.iter().filter(|value| value.used == Use::Unused);
    let unused: Vec<String> = unused
        .map(|value| format!("{} {}", value.name, value.count))
        .collect();
    if !unused.is_empty() {
        text.push_str(&format!("\n  not used: {}", unused.join(", ")));
    }
    if let Some(diff) = &report.diff {
        text.push_str(&format!(
            "\n  against {}: {} added, {} changed, {} removed",
            diff.from, diff.added, diff.changed, diff.removed
        ));
    }
    text
}
