//! Where chains' histories come from on this server: its own graphs (`bonafide chain ingest`), then indexes asked on demand;
//! what answered is named.
//!
//! Everything here blocks: call it on a blocking thread.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use chain::address::{Address, Kind};
use chain::currency::{Currency, Ledger};
use chain::graph::Graph;
use chain::labels::Labels;
use chain::ondemand::{
    Budget, Esplora, HttpRequest, HttpResponse, LARGEST_BODY, OnDemand, Transport, TransportError,
};
use chain::profile::Profile;
use chain::score::{Request, Screen, Subject, screen_address, screen_labels, screen_transaction};
use chain::source::{Source, SourceError};
use clap::Args;
use tokio::runtime::Handle;

/// Which sources there are besides the graphs of the data folder.
#[derive(Args, Clone, Debug, Default)]
pub struct ChainConfig {
    /// An Esplora server for a chain, such as `btc=http://localhost:3000`; several with commas.
    #[arg(
        long = "chain-index",
        env = "BONAFIDE_CHAIN_INDEX",
        value_delimiter = ',',
        global = true
    )]
    pub indexes: Vec<String>,
}

/// The folder of a chain's graph.
pub fn graph_folder(data: &Path, currency: Currency) -> PathBuf {
    data.join("chain").join(currency.code())
}

/// The sources of all chains.
#[derive(Default)]
pub struct ChainSources {
    graphs: HashMap<Currency, Graph>,
    indexes: HashMap<Currency, OnDemand>,
}

impl ChainSources {
    /// Opens the graphs that exist, and remembers the indexes.
    ///
    /// # Errors
    /// When a graph cannot be opened (another process holds it) or an index is not `CHAIN=URL`.
    pub fn open(data: &Path, config: &ChainConfig, runtime: Handle) -> anyhow::Result<ChainSources> {
        let mut sources = ChainSources::default();
        for currency in Currency::ALL {
            let folder = graph_folder(data, currency);
            if folder.is_dir() {
                let graph = Graph::open(&folder, currency)
                    .with_context(|| format!("the graph in {} cannot be opened", folder.display()))?;
                sources.graphs.insert(currency, graph);
            }
        }
        let transport: Arc<dyn Transport> = Arc::new(HttpTransport::new(runtime)?);
        for index in &config.indexes {
            let (currency, url) = index.split_once('=').context("a chain index is CHAIN=URL")?;
            let currency: Currency = currency
                .parse()
                .context("a chain index begins with a chain's code")?;
            anyhow::ensure!(
                currency.ledger() == Ledger::Utxo && currency != Currency::Ada,
                "a chain index is an Esplora server, which {currency} has none of"
            );
            anyhow::ensure!(
                url.starts_with("http://") || url.starts_with("https://"),
                "a chain index is CHAIN=URL, with http or https"
            );
            let provider = Box::new(Esplora::new(currency, url));
            let index = OnDemand::new(provider, Arc::clone(&transport), Budget::default());
            sources.indexes.insert(currency, index);
        }
        Ok(sources)
    }

    /// Screens with whatever knows the chain: its graph, its index, or labels alone.
    ///
    /// # Errors
    /// [`SourceError::NotFound`] when no source and no label knows the query; otherwise why the source did not answer.
    pub fn screen(
        &self,
        labels: &dyn Labels,
        profile: &Profile,
        request: &Request<'_>,
    ) -> Result<Screen, SourceError> {
        let traceable = traceable(request);
        if let Some(graph) = self.graphs.get(&request.chain).filter(|_| traceable) {
            let indexed = self.indexes.contains_key(&request.chain);
            match screen(graph, labels, profile, request) {
                // A graph that has not reached it says nothing about what the index knows.
                Err(SourceError::NotFound) if indexed => {}
                answer => return answer,
            }
        }
        let alone = || screen_labels(labels, profile, request);
        let Some(index) = self.indexes.get(&request.chain).filter(|_| traceable) else {
            let screen = alone();
            return if screen.labels.is_empty() {
                Err(SourceError::NotFound)
            } else {
                Ok(screen)
            };
        };
        match index.screening() {
            Ok(source) => screen(&source, labels, profile, request),
            Err(error) => {
                let screen = alone();
                if screen.labels.is_empty() {
                    Err(error)
                } else {
                    Ok(screen)
                }
            }
        }
    }
}

/// Whether the chain's scripts can name the address: shielded, MWEB and account addresses on a chain of outputs they cannot.
fn traceable(request: &Request<'_>) -> bool {
    let Subject::Address(address) = request.subject else {
        return true;
    };
    Address::parse(request.chain, address).is_ok_and(|address| {
        !matches!(
            address.kind,
            Kind::Mweb | Kind::Account | Kind::Unified | Kind::Sapling | Kind::Sprout
        )
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

/// HTTP for the engine, by reqwest; redirects are not followed, so credentials stay where they were meant for.
pub struct HttpTransport {
    client: reqwest::Client,
    runtime: Handle,
}

impl HttpTransport {
    /// A transport whose requests run on a runtime.
    ///
    /// # Errors
    /// When TLS cannot be set up.
    pub fn new(runtime: Handle) -> anyhow::Result<HttpTransport> {
        let client = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(concat!("Bonafide/", env!("CARGO_PKG_VERSION")))
            .build()?;
        Ok(HttpTransport { client, runtime })
    }

    async fn sent(&self, request: &HttpRequest) -> Result<HttpResponse, reqwest::Error> {
        let mut sending = match &request.body {
            None => self.client.get(&request.url),
            Some(body) => self
                .client
                .post(&request.url)
                .header("content-type", "application/json")
                .body(body.clone()),
        };
        for (name, value) in &request.headers {
            sending = sending.header(name, value);
        }
        let mut answer = sending.timeout(request.timeout).send().await?;
        let status = answer.status().as_u16();
        let mut body = Vec::new();
        while let Some(chunk) = answer.chunk().await? {
            body.extend_from_slice(&chunk);
            if body.len() > LARGEST_BODY {
                break;
            }
        }
        Ok(HttpResponse { status, body })
    }
}

impl Transport for HttpTransport {
    fn send(&self, request: &HttpRequest) -> Result<HttpResponse, TransportError> {
        match self.runtime.block_on(self.sent(request)) {
            Ok(answer) if answer.body.len() > LARGEST_BODY => Err(TransportError::TooLarge),
            Ok(answer) => Ok(answer),
            Err(error) if error.is_timeout() => Err(TransportError::TimedOut),
            // The URL holds the address asked about, perhaps a credential.
            Err(error) => Err(TransportError::Unreachable(error.without_url().to_string())),
        }
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
    }
}
