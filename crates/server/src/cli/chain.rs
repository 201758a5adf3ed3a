//! `bonafide chain`: feed a chain's graph and see what it holds.

use std::path::PathBuf;

use anyhow::Context;
use chain::currency::Currency;
use chain::graph::Graph;
use chain::ingest::{blk, load};
use clap::{Args, Subcommand};

use super::{Unusable, say};
use crate::app::chain_sources::graph_folder;
use crate::config::DataConfig;

/// `bonafide chain`.
#[derive(Args)]
pub(crate) struct ChainCommand {
    #[command(subcommand)]
    action: Action,
    #[command(flatten)]
    data: DataConfig,
}

#[derive(Subcommand)]
enum Action {
    /// Append the best chain of a node's block files; run it again for what came since, reorganisations included.
    Ingest {
        /// The chain's code, such as btc.
        currency: Currency,
        /// The node's `blocks` folder, or one `blk*.dat`.
        blocks: PathBuf,
        /// The height of the files' first block, when the graph is empty and the files do not begin with the chain.
        #[arg(long, default_value_t = 0)]
        first_height: u64,
    },
    /// What the graphs hold.
    Status {
        /// One JSON array instead of a table.
        #[arg(long)]
        json: bool,
    },
}

/// Runs it.
pub(super) fn run(command: &ChainCommand) -> anyhow::Result<()> {
    match &command.action {
        Action::Ingest {
            currency,
            blocks,
            first_height,
        } => ingest(&command.data, *currency, blocks, *first_height),
        Action::Status { json } => status(&command.data, *json),
    }
}

fn ingest(
    data: &DataConfig,
    currency: Currency,
    blocks: &std::path::Path,
    first_height: u64,
) -> anyhow::Result<()> {
    if !blk::is_supported(currency) {
        return Err(Unusable(format!("{currency} keeps no block files that are read here")).into());
    }
    let folder = graph_folder(&data.data, currency);
    std::fs::create_dir_all(&folder).with_context(|| format!("{} cannot be made", folder.display()))?;
    let graph = Graph::open(&folder, currency)
        .with_context(|| format!("{} cannot be opened (does a server hold it?)", folder.display()))?;
    let loaded = load::load(&graph, currency, blocks, first_height, |loaded| {
        eprintln!("{} blocks", loaded.appended);
    })?;
    for file in &loaded.cut_files {
        eprintln!("{file} ends within a block; the rest comes with the next run");
    }
    say(&serde_json::to_string(&loaded)?)
}

fn status(data: &DataConfig, json: bool) -> anyhow::Result<()> {
    let mut all = Vec::new();
    for currency in Currency::ALL {
        let folder = graph_folder(&data.data, currency);
        if folder.is_dir() {
            let graph = Graph::open(&folder, currency)
                .with_context(|| format!("{} cannot be opened (does a server hold it?)", folder.display()))?;
            all.push(graph.status()?);
        }
    }
    if json {
        return say(&serde_json::to_string(&all)?);
    }
    if all.is_empty() {
        return say("No chain is kept here: `bonafide chain ingest CURRENCY BLOCKS`");
    }
    all.iter().try_for_each(|status| {
        let tip = status
            .tip
            .as_ref()
            .map_or_else(|| "empty".to_owned(), |tip| format!("up to {}", tip.height));
        say(&format!(
            "{:5} {tip:>16} {:>10} blocks {:>12} transactions {:>8} MiB",
            status.currency,
            status.blocks,
            status.transactions,
            status.disk_bytes >> 20
        ))
    })
}
