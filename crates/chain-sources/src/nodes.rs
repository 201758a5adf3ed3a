//! Chooses the client for an index or node at a configured address, from the chain and the address's scheme
//! alone.
//!
//! Errors name the chain and never the address, which may contain a key.

use std::path::PathBuf;
use std::sync::Arc;

use crate::evm::{Evm, EvmNode};
use crate::ingest::blk;
use crate::ingest::node::{Bitcoind, EsploraNode, Node};
use crate::ondemand::{Electrum, Esplora, Provider, Solana, Transport};
use crate::rpc::{Rpc, is_bare};
use anyhow::{Context, ensure};
use chain::currency::{Currency, Ledger};

use crate::tls::Address;

/// The address of a chain's index or node.
#[derive(Clone, Debug)]
pub struct ChainEndpoint {
    /// The chain.
    pub currency: Currency,
    url: String,
    credentials: Option<PathBuf>,
    /// Whether to follow an EVM node without traces, which lacks the values that contracts transfer.
    pub without_traces: bool,
}

/// Splits `CHAIN=REST`.
///
/// # Errors
/// When the text has another form or the chain is unknown.
pub fn of_chain(text: &str) -> anyhow::Result<(Currency, &str)> {
    let (currency, rest) = text.split_once('=').context("it must be CHAIN=…")?;
    let currency = currency.parse().context("it must begin with a chain's code")?;
    Ok((currency, rest))
}

impl ChainEndpoint {
    /// An endpoint at an address, with the file of its credentials.
    pub fn new(currency: Currency, url: &str, credentials: Option<PathBuf>) -> ChainEndpoint {
        ChainEndpoint {
            currency,
            url: url.to_owned(),
            credentials,
            without_traces: false,
        }
    }

    fn is_http(&self) -> bool {
        self.url.starts_with("http://") || self.url.starts_with("https://")
    }

    fn rpc(&self) -> Rpc {
        Rpc::new(&self.url).with_credentials(self.credentials.clone())
    }

    fn is_utxo(&self) -> bool {
        self.currency.ledger() == Ledger::Utxo && self.currency != Currency::Ada
    }

    /// The address of an `ssl://` URL, if the URL is one.
    pub fn tls(&self) -> Option<Address> {
        Address::parse(&self.url).ok().flatten()
    }

    /// The URL's scheme, host and port, without path and credentials.
    pub fn origin(&self) -> String {
        let (scheme, rest) = self.url.split_once("://").unwrap_or(("", &self.url));
        let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
        format!("{scheme}://{host}")
    }

    /// The provider that lists addresses' histories at this address.
    ///
    /// # Errors
    /// When no provider supports this chain and scheme.
    pub fn provider(&self) -> anyhow::Result<Box<dyn Provider>> {
        let currency = self.currency;
        Ok(if self.is_utxo() && self.is_http() {
            Box::new(Esplora::new(currency, &self.url))
        } else if self.is_utxo() && is_bare(&self.url) {
            Address::parse(&self.url)?;
            Box::new(Electrum::new(currency, self.rpc()))
        } else if currency.is_evm() && self.is_http() {
            Box::new(Evm::new(currency, self.rpc()))
        } else if currency == Currency::Sol && self.is_http() {
            Box::new(Solana::new(self.rpc()))
        } else {
            anyhow::bail!(
                "{currency} has no index that is read from such an address: Bitcoin's kind has Esplora (http, https) and \
                 Electrum (tcp, ssl), the EVM family and Solana have JSON-RPC (http, https)"
            )
        })
    }

    /// The node that provides blocks at this address.
    ///
    /// # Errors
    /// When no node client supports this chain and scheme.
    pub fn node(&self, transport: Arc<dyn Transport>) -> anyhow::Result<Box<dyn Node>> {
        let currency = self.currency;
        if let Some(url) = self.url.strip_prefix("esplora+") {
            ensure!(
                self.is_utxo() && blk::is_supported(currency) && url.starts_with("http"),
                "{currency} is not followed by Esplora"
            );
            return Ok(Box::new(EsploraNode::new(currency, url, transport)));
        }
        Ok(if self.is_utxo() && self.is_http() {
            Box::new(Bitcoind::new(currency, self.rpc(), transport))
        } else if currency.is_evm() && self.is_http() {
            Box::new(EvmNode::new(currency, self.rpc(), transport, self.without_traces))
        } else {
            anyhow::bail!(
                "{currency} is not followed at such an address: Bitcoin's kind is by a node's JSON-RPC (http, https) or Esplora \
                 (esplora+http, esplora+https), the EVM family by JSON-RPC"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_tells_the_kind() {
        for (chain, url, expected) in [
            (Currency::Btc, "http://localhost:3000", Some("esplora")),
            (Currency::Btc, "tcp://localhost:50001", Some("electrum")),
            (Currency::Ltc, "ssl://localhost:50002", Some("electrum")),
            (Currency::Ltc, "tls://electrum.example:50002", Some("electrum")),
            (Currency::Ltc, "ssl://electrum.example", None),
            (Currency::Zec, "tcp://localhost:50001", Some("electrum")),
            (Currency::Eth, "https://node", Some("evm")),
            (Currency::Xdc, "https://node", Some("evm")),
            (Currency::Sol, "https://node", Some("solana")),
            (Currency::Xrp, "https://node", None),
            (Currency::Ada, "https://node", None),
            (Currency::Eth, "tcp://node", None),
            (Currency::Eth, "ssl://node:50002", None),
            (Currency::Btc, "ftp://node", None),
        ] {
            let provider = ChainEndpoint::new(chain, url, None).provider();
            assert_eq!(provider.as_ref().ok().map(|provider| provider.name()), expected);
        }
        let origin = ChainEndpoint::new(
            Currency::Eth,
            "https://u:key@node.example:8545/v3/key?k=key",
            None,
        )
        .origin();
        assert_eq!(origin, "https://node.example:8545");
        assert!(of_chain("btc").is_err() && of_chain("usdt=http://x").is_err());
    }
}
