//! Follows chains' tips into the graphs. One thread per chain queries its node and appends or rolls back
//! blocks. It writes its progress to a file, so that a command in another process can report it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::graph::Graph;
use crate::ingest::load::{LoadReport, follow};
use crate::ingest::node::Node;
use chain::currency::Currency;
use chain::source::Tip;
use serde::{Deserialize, Serialize};

/// How often the progress is written during a long round.
const WRITTEN_EVERY: Duration = Duration::from_secs(5);
/// How long a stopping server waits for the threads to end.
const PATIENCE: Duration = Duration::from_secs(5);

/// How far a chain is followed, as the progress file states it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FollowProgress {
    /// The chain.
    pub currency: Currency,
    /// The node's scheme, host and port.
    pub node: String,
    /// The newest block in the graph.
    pub tip: Option<Tip>,
    /// The node's newest height.
    pub node_height: Option<u64>,
    /// Blocks of the node that the graph does not have yet.
    pub lag: Option<u64>,
    /// Blocks appended since following began.
    pub appended: u64,
    /// Blocks rolled back since following began.
    pub rolled_back: u64,
    /// Why the last round ended early.
    pub last_error: Option<String>,
    /// When this was written (ISO 8601).
    pub at: String,
}

impl FollowProgress {
    /// The progress file of a chain.
    pub fn file(data: &Path, currency: Currency) -> PathBuf {
        data.join("chain").join(format!("{currency}.follow.json"))
    }

    /// The progress that was last written for a chain; none when there is no readable file.
    pub fn read(data: &Path, currency: Currency) -> Option<FollowProgress> {
        let text = std::fs::read(FollowProgress::file(data, currency)).ok()?;
        serde_json::from_slice(&text).ok()
    }
}

/// Follows one chain from its node into its graph.
pub struct Follower {
    /// The chain's graph.
    pub graph: Arc<Graph>,
    /// The node that provides the blocks.
    pub node: Box<dyn Node>,
    /// The first height to load when the graph is empty.
    pub first_height: u64,
    file: PathBuf,
    state: FollowProgress,
}

impl Follower {
    /// A follower from a node into a graph; `origin` names the node without its credentials.
    pub fn new(
        data: &Path,
        currency: Currency,
        graph: Arc<Graph>,
        node: Box<dyn Node>,
        origin: String,
        first_height: u64,
    ) -> Follower {
        let state = FollowProgress {
            currency,
            node: origin,
            tip: graph.newest(),
            node_height: None,
            lag: None,
            appended: 0,
            rolled_back: 0,
            last_error: None,
            at: jiff::Timestamp::now().to_string(),
        };
        let mut follower = Follower {
            graph,
            node,
            first_height,
            file: FollowProgress::file(data, currency),
            state,
        };
        // This process has the graph's lock from now on, so other processes can only read the progress file.
        write(&mut follower.state, &follower.graph, &follower.file);
        follower
    }

    /// Follows up to the node's newest block, or until `stop` is set.
    pub fn round(&mut self, stop: &AtomicBool) -> &FollowProgress {
        let before = self.state.clone();
        let mut written = Instant::now();
        let outcome = self.node.height().map_err(Into::into).and_then(|height| {
            self.state.node_height = Some(height);
            let (graph, first) = (Arc::clone(&self.graph), self.first_height);
            let node = &*self.node;
            let (state, file) = (&mut self.state, &self.file);
            let counted = |loaded: &LoadReport, state: &mut FollowProgress| {
                state.appended = before.appended + loaded.appended;
                state.rolled_back = before.rolled_back + loaded.rolled_back;
            };
            follow(&graph, first, node, |loaded| {
                counted(loaded, state);
                if written.elapsed() > WRITTEN_EVERY {
                    written = Instant::now();
                    write(state, &graph, file);
                }
                !stop.load(Ordering::Relaxed)
            })
        });
        let error = outcome
            .err()
            .map(|error: crate::ingest::load::LoadError| error.to_string());
        if error.is_some() && error != before.last_error {
            let error = error.as_deref();
            tracing::warn!(
                chain = %self.state.currency,
                error,
                "the chain's node cannot be followed. Start it, or correct its address (--chain-follow) or --chain-credentials"
            );
        }
        if self.state.rolled_back > before.rolled_back {
            let blocks = self.state.rolled_back - before.rolled_back;
            tracing::info!(chain = %self.state.currency, blocks, "the chain was reorganised");
        }
        self.state.last_error = error;
        write(&mut self.state, &self.graph, &self.file);
        &self.state
    }

    /// Follows round after round, with pauses between, until `stop` is set. Every round ends with a callback.
    pub fn run(&mut self, stop: &AtomicBool, pause: Duration, mut on_round: impl FnMut(&FollowProgress)) {
        while !stop.load(Ordering::Relaxed) {
            on_round(self.round(stop));
            let until = Instant::now() + pause;
            while Instant::now() < until && !stop.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(100));
            }
        }
    }
}

fn write(state: &mut FollowProgress, graph: &Graph, file: &Path) {
    state.tip = graph.newest();
    let reached = state.tip.as_ref().map(|tip| tip.height);
    state.lag = state
        .node_height
        .map(|newest| reached.map_or(newest + 1, |reached| newest.saturating_sub(reached)));
    state.at = jiff::Timestamp::now().to_string();
    let fresh = file.with_extension("new");
    let text = serde_json::to_vec(state).unwrap_or_default();
    // The rename is atomic, so a concurrent reader gets the old or the new text, never a part of one.
    let written = std::fs::write(&fresh, text).and_then(|()| std::fs::rename(&fresh, file));
    if let Err(error) = written {
        tracing::warn!(chain = %state.currency, %error, "how far the chain is followed cannot be written down");
        let unwritten = || format!("{} cannot be written: {error}", file.display());
        state.last_error.get_or_insert_with(unwritten);
    }
}

/// The follower threads of a running server.
pub struct FollowerThreads {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl FollowerThreads {
    /// Starts a thread for each follower.
    ///
    /// # Errors
    /// When the system cannot start a thread.
    pub fn start(followers: Vec<Follower>, pause: Duration) -> std::io::Result<FollowerThreads> {
        let stop = Arc::new(AtomicBool::new(false));
        let start = |mut follower: Follower| {
            let stop = Arc::clone(&stop);
            let name = format!("follow-{}", follower.state.currency);
            std::thread::Builder::new()
                .name(name)
                .spawn(move || follower.run(&stop, pause, |_| {}))
        };
        let threads = followers.into_iter().map(start).collect::<Result<_, _>>()?;
        Ok(FollowerThreads { stop, threads })
    }

    /// Sets `stop` and waits for at most five seconds. A process that ends earlier leaves only whole blocks.
    pub fn stop(self) {
        self.stop.store(true, Ordering::Relaxed);
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until && !self.threads.iter().all(JoinHandle::is_finished) {
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}
