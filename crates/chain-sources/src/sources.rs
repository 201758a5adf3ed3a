//! The sources of answers about chains on this server: its own graphs (`bonafide chain ingest`), indexes
//! queried on demand, and configured vendors. Each answer names its source.
//!
//! Graphs are files and the rest is configuration. Nothing here comes from the database, so restoring an
//! older database changes nothing.
//!
//! Everything here blocks: call it on a blocking thread.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::graph::Graph;
use crate::ondemand::{Budget, OnDemand, Transport};
use crate::upstream::{self, Upstreams};
use anyhow::Context;
use chain::address::{Address, Kind};
use chain::currency::{Currency, Ledger};
use chain::labels::Labels;
use chain::profile::Profile;
use chain::score::{Request, Screen, Subject, screen_address, screen_labels, screen_transaction};
use chain::source::{Source, SourceError, Tip};
use clap::Args;
use serde_json::{Map, Value};
use tokio::runtime::Handle;

use crate::follow::Follower;
use crate::nodes::{ChainEndpoint, of_chain};
use crate::transport::HttpTransport;

/// The configured sources in addition to the graphs of the data folder.
#[derive(Args, Clone, Debug, Default)]
pub struct ChainConfig {
    /// Indexes that list addresses' histories, such as `btc=http://localhost:3000` (Esplora),
    /// `ltc=tcp://localhost:50001` or `ltc=ssl://HOST:50002#sha256=HEX` (Electrum, over TLS with a pinned
    /// certificate), `eth=http://localhost:8545`, `sol=http://localhost:8899` (JSON-RPC); separate several
    /// with commas.
    #[arg(
        long = "chain-index",
        env = "BONAFIDE_CHAIN_INDEX",
        value_delimiter = ',',
        hide_env_values = true,
        global = true
    )]
    pub indexes: Vec<String>,
    /// Nodes whose tip the server follows into its own graph, such as `btc=http://localhost:8332` (JSON-RPC)
    /// or `btc=esplora+http://localhost:3000`; separate several with commas.
    #[arg(
        long = "chain-follow",
        env = "BONAFIDE_CHAIN_FOLLOW",
        value_delimiter = ',',
        hide_env_values = true,
        global = true
    )]
    pub follow: Vec<String>,
    /// Files that contain `user:password` for nodes that need it, such as
    /// `btc=/home/bitcoin/.bitcoin/.cookie`.
    #[arg(
        long = "chain-credentials",
        env = "BONAFIDE_CHAIN_CREDENTIALS",
        value_delimiter = ',',
        global = true
    )]
    pub credentials: Vec<String>,
    /// Seconds between two queries of a followed node.
    #[arg(
        long = "chain-poll-seconds",
        env = "BONAFIDE_CHAIN_POLL_SECONDS",
        default_value_t = 10,
        global = true
    )]
    pub poll_seconds: u64,
    /// Also follow EVM nodes that offer no traces; the values that contracts transfer are then missing.
    #[arg(
        long = "chain-without-traces",
        env = "BONAFIDE_CHAIN_WITHOUT_TRACES",
        global = true
    )]
    pub without_traces: bool,
    /// A JSON file that describes the vendors to query for scores.
    #[arg(long, env = "BONAFIDE_UPSTREAMS", global = true)]
    pub upstreams: Option<PathBuf>,
}

impl ChainConfig {
    /// The time between two queries of a followed node.
    pub fn poll_interval(&self) -> Duration {
        Duration::from_secs(self.poll_seconds.max(1))
    }

    /// The configured indexes.
    ///
    /// # Errors
    /// When one is not `CHAIN=URL`.
    pub fn indexes(&self) -> anyhow::Result<Vec<ChainEndpoint>> {
        self.places(&self.indexes).context("--chain-index")
    }

    /// The nodes to be followed.
    ///
    /// # Errors
    /// When one is not `CHAIN=URL`.
    pub fn followed(&self) -> anyhow::Result<Vec<ChainEndpoint>> {
        self.places(&self.follow).context("--chain-follow")
    }

    fn places(&self, texts: &[String]) -> anyhow::Result<Vec<ChainEndpoint>> {
        let mut files: HashMap<Currency, PathBuf> = HashMap::new();
        for text in &self.credentials {
            let (currency, file) = of_chain(text).context("--chain-credentials")?;
            files.insert(currency, file.into());
        }
        let place = |text: &String| {
            let (currency, url) = of_chain(text)?;
            let mut place = ChainEndpoint::new(currency, url, files.get(&currency).cloned());
            place.without_traces = self.without_traces;
            Ok(place)
        };
        texts.iter().map(place).collect()
    }

    /// The vendors of the configured file, if there is one.
    ///
    /// # Errors
    /// What is wrong with the file. The error repeats no value of it.
    pub fn upstreams(&self) -> anyhow::Result<Upstreams> {
        let Some(file) = &self.upstreams else {
            return Ok(Upstreams::default());
        };
        Upstreams::open(file).with_context(|| format!("the upstreams in {}", file.display()))
    }
}

/// A screening result and its source.
pub enum ChainAnswer {
    /// The result of our own engine, from a source or from labels alone.
    Own(Box<Screen>),
    /// A vendor's result.
    Upstream(upstream::Answer),
}

impl ChainAnswer {
    /// The score, 0-100.
    pub fn score(&self) -> f64 {
        match self {
            ChainAnswer::Own(screen) => screen.score.value(),
            ChainAnswer::Upstream(answer) => answer.score,
        }
    }

    /// The screening by our own engine; none for a vendor's result.
    pub fn own(&self) -> Option<&Screen> {
        match self {
            ChainAnswer::Own(screen) => Some(screen),
            ChainAnswer::Upstream(_) => None,
        }
    }

    /// The members that a detailed report adds.
    pub fn detail(&self) -> Map<String, Value> {
        match self {
            ChainAnswer::Own(screen) => match serde_json::to_value(&screen.detail) {
                Ok(Value::Object(detail)) => detail,
                _ => Map::new(),
            },
            ChainAnswer::Upstream(answer) => answer.members.clone(),
        }
    }

    /// Whether our own engine traced money, or a vendor answered.
    fn is_traced(&self) -> bool {
        self.own().is_none_or(|screen| !screen.traces.is_empty())
    }
}

/// The folder of a chain's graph.
pub fn graph_folder(data: &Path, currency: Currency) -> PathBuf {
    data.join("chain").join(currency.code())
}

/// Opens a chain's graph, or creates it.
///
/// # Errors
/// When the folder cannot be created, or another process has the graph's lock.
pub fn open_graph(folder: &Path, currency: Currency) -> anyhow::Result<Arc<Graph>> {
    let open = || -> anyhow::Result<Graph> {
        std::fs::create_dir_all(folder)?;
        Ok(Graph::open(folder, currency)?)
    };
    let graph = open().with_context(|| {
        let folder = folder.display();
        format!("the graph in {folder} cannot be opened")
    })?;
    Ok(Arc::new(graph))
}

/// Repeats a screening during which blocks were rolled back, since it may have read from both branches. The
/// third attempt counts in any case.
fn screen_at_stable_tip(
    graph: &Graph,
    screen: impl Fn() -> Result<Screen, SourceError>,
) -> Result<Screen, SourceError> {
    const TIMES: usize = 3;
    for _ in 1..TIMES {
        let tip = graph.newest();
        let answer = screen();
        let stands = match tip {
            Some(tip) => graph.hash_at(tip.height)? == Some(tip.hash),
            None => true,
        };
        if stands {
            return answer;
        }
    }
    screen()
}

/// An index and its origin.
struct Index {
    source: OnDemand,
    /// Scheme, host and port only.
    origin: String,
}

/// The newest block of a source.
pub enum NewestBlock {
    /// The newest block of one of this server's graphs; none when the graph is empty.
    Graph(Option<Tip>),
    /// Of an index.
    Index {
        /// Its kind.
        name: String,
        /// Its scheme, host and port.
        origin: String,
        /// The response of the index.
        answer: Result<Tip, SourceError>,
    },
}

/// The sources of all chains.
pub struct ChainSources {
    graphs: HashMap<Currency, Arc<Graph>>,
    indexes: HashMap<Currency, Index>,
    upstreams: Upstreams,
    transport: Arc<dyn Transport>,
}

impl ChainSources {
    /// The newest block of each source. This blocks. All indexes are queried at once, so that a dead one does
    /// not delay the others.
    pub fn newest_blocks(&self) -> Vec<(Currency, NewestBlock)> {
        let graphs = self.graphs.iter();
        let mut all: Vec<_> = graphs
            .map(|(&currency, graph)| (currency, NewestBlock::Graph(graph.newest())))
            .collect();
        std::thread::scope(|scope| {
            let queries: Vec<_> = self
                .indexes
                .iter()
                .map(|(&currency, index)| (currency, index, scope.spawn(|| index.source.tip())))
                .collect();
            for (currency, index, query) in queries {
                let failed = |_| Err(SourceError::Nonsense("asking it failed in this server".into()));
                let newest = NewestBlock::Index {
                    name: index.source.name().to_owned(),
                    origin: index.origin.clone(),
                    answer: query.join().unwrap_or_else(failed),
                };
                all.push((currency, newest));
            }
        });
        all
    }

    /// Opens the existing graphs of these chains, and the configured indexes and vendors.
    ///
    /// # Errors
    /// When a graph cannot be opened (another process has its lock), an index is not `CHAIN=URL`, or a
    /// vendor's description is not valid.
    pub fn open(
        data: &Path,
        config: &ChainConfig,
        runtime: Handle,
        chains: &[Currency],
    ) -> anyhow::Result<ChainSources> {
        let transport: Arc<dyn Transport> = Arc::new(HttpTransport::new(runtime)?);
        let mut sources = ChainSources {
            graphs: HashMap::new(),
            indexes: HashMap::new(),
            upstreams: config.upstreams()?,
            transport,
        };
        for &currency in chains {
            let folder = graph_folder(data, currency);
            if folder.is_dir() {
                sources.graphs.insert(currency, open_graph(&folder, currency)?);
            }
        }
        for place in config.indexes()? {
            let transport = Arc::clone(&sources.transport);
            let index = Index {
                source: OnDemand::new(place.provider()?, transport, Budget::default()),
                origin: place.origin(),
            };
            sources.indexes.insert(place.currency, index);
        }
        Ok(sources)
    }

    /// The followers of the configured nodes. Each follows into its chain's graph, which is created if it
    /// does not exist.
    ///
    /// # Errors
    /// When a graph cannot be opened or an address does not suit its chain's node.
    pub fn followers(&mut self, data: &Path, config: &ChainConfig) -> anyhow::Result<Vec<Follower>> {
        let mut followers = Vec::new();
        for place in config.followed()? {
            let currency = place.currency;
            let node = place.node(Arc::clone(&self.transport))?;
            let graph = match self.graphs.get(&currency) {
                Some(graph) => Arc::clone(graph),
                None => open_graph(&graph_folder(data, currency), currency)?,
            };
            self.graphs.insert(currency, Arc::clone(&graph));
            followers.push(Follower::new(data, currency, graph, node, place.origin(), 0));
        }
        Ok(followers)
    }

    /// Whether there is a graph, an index or a vendor for a chain.
    pub fn has_source(&self, currency: Currency) -> bool {
        let mut vendors = self.upstreams.vendors().iter();
        self.graphs.contains_key(&currency)
            || self.indexes.contains_key(&currency)
            || vendors.any(|vendor| vendor.serves(currency))
    }

    /// Why a screening on a chain found nothing.
    pub fn why_nothing(&self, currency: Currency) -> NothingFound {
        let has_vendor = self
            .upstreams
            .vendors()
            .iter()
            .any(|vendor| vendor.serves(currency));
        let has_index = self.indexes.contains_key(&currency);
        match self.graphs.get(&currency) {
            None if !has_index && !has_vendor => NothingFound::NoSource,
            Some(graph) if graph.newest().is_none() && !has_index && !has_vendor => NothingFound::EmptyGraph,
            _ => NothingFound::Unknown,
        }
    }

    /// Screens with our own sources and with vendors, in the configured order. A vendor never lowers the
    /// score of our own labels.
    ///
    /// # Errors
    /// [`SourceError::NotFound`] when no source has the address or transaction. Otherwise the failure of our
    /// own sources or, where they do not cover the chain, of the vendors.
    pub fn screen(
        &self,
        labels: &dyn Labels,
        profile: &Profile,
        request: &Request<'_>,
    ) -> Result<ChainAnswer, SourceError> {
        let ask = || {
            self.upstreams
                .ask(&*self.transport, request.chain, request.subject)
        };
        let own = || {
            let screen = self.own(labels, profile, request)?;
            Ok(ChainAnswer::Own(Box::new(screen)))
        };
        // Vendors have no history, so they cannot answer about an earlier day.
        if request.as_of_time || request.as_of_block.is_some() {
            return own();
        }
        if self.upstreams.first {
            match ask() {
                Ok(answer) => {
                    let labelled = ChainAnswer::Own(Box::new(screen_labels(labels, profile, request)));
                    return Ok(higher(labelled, answer));
                }
                Err(SourceError::NotFound | SourceError::Unsupported(_)) => return own(),
                Err(failed) => {
                    return own().map_err(|error| match error {
                        SourceError::NotFound => failed,
                        error => error,
                    });
                }
            }
        }
        match own() {
            // Only labels answered, so a vendor may still raise a score below 100.
            Ok(own) if !own.is_traced() && own.score() < 100.0 => match ask() {
                Ok(answer) => Ok(higher(own, answer)),
                Err(_) => Ok(own),
            },
            Ok(own) => Ok(own),
            Err(error) => match (ask(), error) {
                (Ok(answer), _) => Ok(ChainAnswer::Upstream(answer)),
                (Err(SourceError::Unsupported(_)), error) => Err(error),
                (Err(failed), SourceError::NotFound) => Err(failed),
                (Err(_), error) => Err(error),
            },
        }
    }

    /// Screens with our own source of the chain: its graph, its index, or labels alone.
    ///
    /// # Errors
    /// [`SourceError::NotFound`] when neither our sources nor our labels have the query. Otherwise why the
    /// source failed.
    pub fn own(
        &self,
        labels: &dyn Labels,
        profile: &Profile,
        request: &Request<'_>,
    ) -> Result<Screen, SourceError> {
        let traceable = traceable(request);
        if let Some(graph) = self.graphs.get(&request.chain).filter(|_| traceable) {
            let indexed = self.indexes.contains_key(&request.chain);
            match screen_at_stable_tip(graph, || screen(&**graph, labels, profile, request)) {
                // The graph may not have reached the block, so the index decides.
                Err(SourceError::NotFound) if indexed => {}
                answer => return answer,
            }
        }
        let index = self.indexes.get(&request.chain).filter(|_| traceable);
        let failed = match index.map(|index| index.source.screening()) {
            Some(Ok(source)) => return screen(&source, labels, profile, request),
            Some(Err(error)) => error,
            None => SourceError::NotFound,
        };
        let alone = screen_labels(labels, profile, request);
        if alone.labels.is_empty() {
            Err(failed)
        } else {
            Ok(Screen {
                failed: Some(failed),
                ..alone
            })
        }
    }
}

/// Why a screening found no label and no history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NothingFound {
    /// The chain has no graph, no index and no vendor.
    NoSource,
    /// The chain's only source is a graph that has not received a block yet.
    EmptyGraph,
    /// The chain's sources have not seen the address or transaction.
    Unknown,
}

impl NothingFound {
    /// The word in `reason` of the response.
    pub fn as_str(self) -> &'static str {
        match self {
            NothingFound::NoSource => "no_source",
            NothingFound::EmptyGraph => "empty_graph",
            NothingFound::Unknown => "unknown",
        }
    }
}

/// The vendor's answer, unless our own result has a higher score.
fn higher(labelled: ChainAnswer, answer: upstream::Answer) -> ChainAnswer {
    if labelled.score() > answer.score {
        labelled
    } else {
        ChainAnswer::Upstream(answer)
    }
}

/// Whether the chain's public ledger contains the address. Shielded and MWEB addresses are not in it, and
/// neither are account addresses on a UTXO chain.
fn traceable(request: &Request<'_>) -> bool {
    let Subject::Address(address) = request.subject else {
        return true;
    };
    Address::parse(request.chain, address).is_ok_and(|address| match address.kind {
        Kind::Mweb | Kind::Unified | Kind::Sapling | Kind::Sprout => false,
        Kind::Account => request.chain.ledger() == Ledger::Account,
        _ => true,
    })
}

fn screen(
    source: &dyn Source,
    labels: &dyn Labels,
    profile: &Profile,
    request: &Request<'_>,
) -> Result<Screen, SourceError> {
    match request.subject {
        Subject::Address(_) => screen_address(source, labels, profile, request),
        Subject::Transaction(_) => screen_transaction(source, labels, profile, request),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_scripts_cannot_name_is_not_asked_for() {
        let asks = |chain, address| traceable(&Request::new(chain, Subject::Address(address)));
        assert!(asks(Currency::Btc, "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa"));
        assert!(!asks(Currency::Sys, "0x0000000000000000000000000000000000000001"));
        assert!(asks(Currency::Eth, "0x0000000000000000000000000000000000000001"));
        assert!(asks(Currency::Sol, "11111111111111111111111111111111"));
    }
}
