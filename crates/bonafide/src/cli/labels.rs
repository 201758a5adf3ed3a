//! `bonafide labels`: imports label files and shows which sets are in use.

use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::Context;
use chain::labels::SetReport;
use clap::{Args, Subcommand};
use service::config::DataConfig;
use store::merchants;
use uuid::Uuid;

use super::data;
use super::output::{note, print_line};
use super::runtime::block_on;

/// `bonafide labels`.
#[derive(Args)]
pub(crate) struct LabelsCommand {
    #[command(subcommand)]
    action: Action,
    #[command(flatten)]
    data: DataConfig,
}

#[derive(Subcommand)]
enum Action {
    /// Import label files (TagPack YAML, CSV, JSON lines; detected from the content). Each file becomes a
    /// set.
    Import {
        /// The files. A file with the name of a set replaces it; labels missing from the new file end today.
        #[arg(required = true)]
        files: Vec<PathBuf>,
        /// Import into this account's own address book instead of the common sets.
        #[arg(long)]
        merchant: Option<Uuid>,
        /// Print one JSON object per file instead of a summary.
        #[arg(long)]
        json: bool,
    },
    /// Delete a set, including its history.
    Remove {
        /// Its name, as `status` shows it.
        set: String,
        /// Delete it from this account's own address book.
        #[arg(long)]
        merchant: Option<Uuid>,
    },
    /// Show the sets in use.
    Status {
        /// Print one JSON array instead of a table.
        #[arg(long)]
        json: bool,
        /// Show the sets of this account's own address book.
        #[arg(long)]
        merchant: Option<Uuid>,
    },
}

async fn must_exist(data: &DataConfig, merchant: Uuid) -> anyhow::Result<()> {
    let db = data::open(data).await?.db;
    let found = merchants::get(&mut db.read().await?, merchant).await?;
    anyhow::ensure!(
        found.is_some(),
        "no account {merchant}: `bonafide merchant list` shows them"
    );
    Ok(())
}

pub(super) fn run(command: LabelsCommand) -> anyhow::Result<()> {
    match command.action {
        Action::Import {
            files,
            merchant,
            json,
        } => {
            if let Some(merchant) = merchant {
                block_on(must_exist(&command.data, merchant))?;
            }
            let store = command.data.label_store(merchant)?;
            let now = jiff::Timestamp::now().as_millisecond();
            let mut refused = 0;
            for file in &files {
                let imported = File::open(file)
                    .context("cannot be read")
                    .and_then(|input| Ok(store.import(&set_name(file), input, now)?));
                if let Ok(report) = &imported
                    && report.ended >= 10
                    && report.ended > report.labels / 2
                {
                    note!(
                        "{}: {} labels are gone from it and ended today: if the file was cut off, import the whole one again",
                        report.set,
                        report.ended
                    );
                }
                match imported {
                    Ok(report) if json => print_line(&serde_json::to_string(&report)?)?,
                    Ok(report) => print_line(&describe(&report))?,
                    Err(error) => {
                        refused += 1;
                        note!("bonafide: {}: {error:#}", file.display());
                    }
                }
            }
            anyhow::ensure!(
                refused == 0,
                "files not imported: {refused}; the sets in use did not change"
            );
            Ok(())
        }
        Action::Remove { set, merchant } => {
            anyhow::ensure!(
                command.data.label_store(merchant)?.remove(&set)?,
                "no set {set}: `bonafide labels status` shows them"
            );
            print_line(&format!("{set} removed"))
        }
        Action::Status { json, merchant } => {
            let sets = command.data.label_store(merchant)?.status()?;
            if json {
                return print_line(&serde_json::to_string(&sets)?);
            }
            if sets.is_empty() {
                return print_line("No labels are imported: `bonafide labels import FILE…`");
            }
            for set in sets {
                print_line(&format!(
                    "{:40} {:>8} labels, {} ended  imported {}",
                    set.set, set.labels, set.ended, set.imported_at
                ))?;
            }
            Ok(())
        }
    }
}

fn set_name(file: &Path) -> String {
    file.file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

fn describe(report: &SetReport) -> String {
    let mut text = format!(
        "{}: {} labels, {} added, {} ended, {} rejected",
        report.set, report.labels, report.added, report.ended, report.rejected
    );
    for reject in &report.rejects {
        text.push_str(&format!("\n  rejected at {}: {}", reject.row, reject.reason));
    }
    for (category, rows) in &report.unknown_categories {
        text.push_str(&format!(
            "\n  unknown category {category:?} in {rows} rows: read as \"other\", which has no weight unless the row contains more details"
        ));
    }
    text
}
