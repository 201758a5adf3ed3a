//! `bonafide chain`: imports blocks into the chain graphs and shows their state.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use chain::currency::Currency;
use chain_sources::follow::{FollowProgress, Follower};
use chain_sources::graph::{Graph, GraphError, Status};
use chain_sources::ingest::{blk, load};
use chain_sources::nodes::ChainEndpoint;
use chain_sources::ondemand::Transport;
use chain_sources::sources::{graph_folder, open_graph};
use chain_sources::transport::HttpTransport;
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use service::config::DataConfig;

use super::errors::Unusable;
use super::output::{note, print_line};

/// The pause between two polls of a followed node.
const PAUSE: Duration = Duration::from_secs(10);

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
    /// Append a chain's blocks from a node's block files or from a node. Run it again to add newer blocks and
    /// apply reorganisations.
    Ingest(Ingest),
    /// Show the contents of the graphs and how far each has followed its chain.
    Status {
        /// Print one JSON array instead of a table.
        #[arg(long)]
        json: bool,
    },
}

#[derive(Args)]
struct Ingest {
    /// The chain's code, such as btc.
    currency: Currency,
    /// The node's `blocks` folder, or one `blk*.dat`.
    #[arg(required_unless_present = "node", conflicts_with = "node")]
    blocks: Option<PathBuf>,
    /// Read from a node instead: `http://localhost:8332` (JSON-RPC) or `esplora+http://localhost:3000`.
    #[arg(long, env = "BONAFIDE_CHAIN_NODE", hide_env_values = true)]
    node: Option<String>,
    /// A file with `user:password` for the node, such as bitcoind's `.cookie`.
    #[arg(long, requires = "node")]
    credentials: Option<PathBuf>,
    /// Follow new blocks until stopped.
    #[arg(long, requires = "node")]
    follow: bool,
    /// Accept an EVM node without traces. Transfers made by contracts are then missing.
    #[arg(long, requires = "node")]
    without_traces: bool,
    /// The height of the first block, if the graph is empty and does not start with the chain's first block.
    /// Block files since BIP 34 contain it.
    #[arg(long)]
    first_height: Option<u64>,
}

pub(super) fn run(command: &ChainCommand) -> anyhow::Result<()> {
    let data = &command.data.data;
    match &command.action {
        Action::Ingest(ingest) => match (&ingest.node, &ingest.blocks) {
            (Some(url), _) => from_node(data, ingest, url),
            (None, Some(blocks)) => from_files(data, ingest, blocks),
            (None, None) => Err(Unusable("name the block files or --node".to_owned()).into()),
        },
        Action::Status { json } => status(data, *json),
    }
}

fn from_files(data: &Path, ingest: &Ingest, blocks: &Path) -> anyhow::Result<()> {
    let currency = ingest.currency;
    if !blk::is_supported(currency) {
        return Err(Unusable(format!("block files of {currency} are not supported")).into());
    }
    let graph = open_graph(&graph_folder(data, currency), currency)?;
    let loaded = load::load(&graph, currency, blocks, ingest.first_height, |loaded| {
        note!("{} blocks", loaded.appended);
    })?;
    if loaded.height_unknown {
        note!(
            "the files do not start with the chain's first block and do not state their height, so blocks are numbered \
             from 0. If that is wrong, delete {} and ingest again with --first-height",
            graph_folder(data, currency).display()
        );
    }
    for file in &loaded.cut_files {
        note!("{file} ends within a block; the rest comes with the next run");
    }
    print_line(&serde_json::to_string(&loaded)?)
}

fn from_node(data: &Path, ingest: &Ingest, url: &str) -> anyhow::Result<()> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()?;
    let transport: Arc<dyn Transport> = Arc::new(HttpTransport::new(runtime.handle().clone())?);
    let currency = ingest.currency;
    let mut place = ChainEndpoint::new(currency, url, ingest.credentials.clone());
    place.without_traces = ingest.without_traces;
    let node = place
        .node(transport)
        .map_err(|error| Unusable(error.to_string()))?;
    let graph = open_graph(&graph_folder(data, currency), currency)?;
    let first = ingest.first_height.unwrap_or(0);
    let mut follower = Follower::new(data, currency, graph, node, place.origin(), first);
    let never = AtomicBool::new(false);
    if !ingest.follow {
        let state = follower.round(&never);
        print_line(&serde_json::to_string(state)?)?;
        return match &state.last_error {
            Some(error) => Err(anyhow::anyhow!("{error}")),
            None => Ok(()),
        };
    }
    let mut last = Value::Null;
    follower.run(&never, PAUSE, |state| {
        let mut line = json!(state);
        line["at"] = Value::Null;
        // A round without changes prints nothing. A closed stdout does not stop the follower.
        if line != last {
            let _ = print_line(&json!(state).to_string());
            last = line;
        }
    });
    Ok(())
}

/// The state of a graph that another process has open without recording its progress.
const GRAPH_IN_USE: &str = "open in another process (a running server, or `chain ingest`), so it cannot be read here. The newest block is \
                    `exposures.asOfBlock` in that process's detailed responses. Stop the process to see more, or let the \
                    server follow the node (--chain-follow), which records its progress";

/// The state of a chain's graph: from the graph itself, or from the last record of its follower.
struct GraphState {
    currency: Currency,
    /// `None` if another process has the graph open.
    status: Option<Status>,
    following: Option<FollowProgress>,
}

fn read_graph_state(data: &Path, currency: Currency) -> anyhow::Result<Option<GraphState>> {
    let folder = graph_folder(data, currency);
    if !folder.is_dir() {
        return Ok(None);
    }
    let status = match Graph::open(&folder, currency) {
        Ok(graph) => Some(graph.status()?),
        Err(GraphError::Locked) => None,
        Err(error) => {
            let folder = folder.display();
            return Err(anyhow::anyhow!("{folder} cannot be opened: {error}"));
        }
    };
    Ok(Some(GraphState {
        currency,
        status,
        following: FollowProgress::read(data, currency),
    }))
}

impl GraphState {
    fn json(&self) -> Value {
        let mut value = match (&self.status, &self.following) {
            (Some(status), _) => json!(status),
            (None, Some(following)) => json!({"currency": self.currency, "tip": following.tip}),
            (None, None) => json!({"currency": self.currency, "tip": null}),
        };
        value["held"] = self.status.is_none().into();
        value["following"] = json!(self.following);
        value
    }

    fn line(&self) -> String {
        if let (None, None) = (&self.status, &self.following) {
            return format!("{:5} {GRAPH_IN_USE}", self.currency);
        }
        let tip = match (&self.status, &self.following) {
            (Some(status), _) => status.tip.as_ref(),
            (None, following) => following.as_ref().and_then(|following| following.tip.as_ref()),
        };
        let tip = tip.map_or_else(|| "empty".to_owned(), |tip| format!("up to {}", tip.height));
        let mut line = format!("{:5} {tip:>16}", self.currency);
        if let Some(status) = &self.status {
            line.push_str(&format!(
                " {:>10} blocks {:>12} transactions {:>8} MiB",
                status.blocks,
                status.transactions,
                status.disk_bytes >> 20
            ));
        } else {
            line.push_str(" held");
        }
        if let Some(following) = &self.following {
            let lag = following
                .lag
                .map_or_else(|| "?".to_owned(), |lag| lag.to_string());
            line.push_str(&format!("  {lag} behind {} ({})", following.node, following.at));
            if let Some(error) = &following.last_error {
                line.push_str(&format!(": {error}"));
            }
        }
        line
    }
}

fn status(data: &Path, json: bool) -> anyhow::Result<()> {
    let mut all = Vec::new();
    for currency in Currency::ALL {
        all.extend(read_graph_state(data, currency)?);
    }
    if json {
        return print_line(&all.iter().map(GraphState::json).collect::<Value>().to_string());
    }
    if all.is_empty() {
        return print_line(
            "There is no chain graph yet. Import one with `bonafide chain ingest CURRENCY BLOCKS`",
        );
    }
    all.iter().try_for_each(|known| print_line(&known.line()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_held_graph_is_told_and_not_opened() {
        let data = tempfile::tempdir().unwrap();
        assert!(read_graph_state(data.path(), Currency::Btc).unwrap().is_none());
        let graph = open_graph(&graph_folder(data.path(), Currency::Btc), Currency::Btc).unwrap();
        let told = read_graph_state(data.path(), Currency::Btc).unwrap().unwrap();
        assert_eq!(
            told.json(),
            json!({"currency": "btc", "tip": null, "held": true, "following": null})
        );
        assert!(told.line().contains("open in another process"), "{}", told.line());

        let following = json!({"currency": "btc", "node": "http://node", "tip": null, "nodeHeight": 7, "lag": 8,
            "appended": 0, "rolledBack": 0, "lastError": null, "at": "2026-01-01T00:00:00Z"});
        std::fs::write(
            FollowProgress::file(data.path(), Currency::Btc),
            following.to_string(),
        )
        .unwrap();
        let told = read_graph_state(data.path(), Currency::Btc).unwrap().unwrap();
        assert_eq!(
            (&told.json()["held"], &told.json()["following"]),
            (&json!(true), &following)
        );
        assert!(
            told.line().contains("held") && told.line().contains("8 behind http://node"),
            "{}",
            told.line()
        );

        drop(graph);
        let told = read_graph_state(data.path(), Currency::Btc).unwrap().unwrap();
        assert_eq!(
            (&told.json()["held"], &told.json()["blocks"]),
            (&json!(false), &json!(0))
        );
    }
}
