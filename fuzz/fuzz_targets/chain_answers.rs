//! Reads responses of indexes, nodes and vendors. Every client gets the same bytes for every request.
#![no_main]

use std::sync::{Arc, LazyLock};

use chain::currency::Currency;
use chain_sources::evm::{Evm, EvmNode};
use chain_sources::ingest::node::{Bitcoind, EsploraNode, Node};
use chain_sources::ondemand::{
    Budget, Calls, Electrum, Esplora, HttpRequest, HttpResponse, Provider, Solana, Transport, TransportError,
};
use chain_sources::rpc::Rpc;
use chain::screen::Subject;
use chain_sources::upstream::Upstreams;
use libfuzzer_sys::fuzz_target;

/// A transport that gives every request the same response.
struct Always(Vec<u8>);

impl Transport for Always {
    fn send(&self, _request: &HttpRequest) -> Result<HttpResponse, TransportError> {
        Ok(HttpResponse {
            status: 200,
            body: self.0.clone(),
        })
    }
}

static UPSTREAMS: LazyLock<Option<Upstreams>> = LazyLock::new(|| {
    let members = r#"{"balance": "/b", "inputs": "/c", "timestamp": "/t", "entities": {"at": "/e", "name": "/~1"},
        "firstSeenReceiving": "/t", "numberOfTransactions": "/n", "exposures": "/o", "newAddress": "/w"}"#;
    let vendor = format!(r#"{{"name": "v", "url": "http://v/{{query}}", "score": "/a/0", "retries": 0, "members": {members}}}"#);
    Upstreams::read(&format!(r#"{{"upstreams": [{vendor}]}}"#)).ok()
});

const HASH: &str = "00000000000000000000000000000000000000000000000000000000000000aa";

fuzz_target!(|bytes: &[u8]| {
    let transport = Arc::new(Always(bytes.to_vec()));
    let budget = Budget {
        requests: 20,
        ..Budget::default()
    };
    let rpc = || Rpc::new("http://node");
    let evm_hash = format!("0x{HASH}");
    let providers: [(Box<dyn Provider>, &str, &str); 5] = [
        (Box::new(Esplora::new(Currency::Btc, "http://index")), "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa", HASH),
        (Box::new(Electrum::new(Currency::Btc, rpc())), "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa", HASH),
        (Box::new(Electrum::new(Currency::Btc, Rpc::new("tcp://node"))), "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa", HASH),
        (Box::new(Evm::new(Currency::Eth, rpc())), "0xde0B295669a9FD93d5F28D9Ec85E40f4cb697BAe", &evm_hash),
        (Box::new(Solana::new(rpc())), "11111111111111111111111111111111", "1"),
    ];
    for (provider, party, id) in &providers {
        let calls = Calls::new(&*transport, budget);
        let _ = provider.tip(&calls);
        let _ = provider.history(&calls, party, 50);
        let _ = provider.transaction(&calls, id);
        let _ = provider.spends(&calls, id);
    }
    let nodes: [Box<dyn Node>; 4] = [
        Box::new(Bitcoind::new(Currency::Btc, rpc(), transport.clone())),
        Box::new(Bitcoind::new(Currency::Zec, rpc(), transport.clone())),
        Box::new(EsploraNode::new(Currency::Btc, "http://index", transport.clone())),
        Box::new(EvmNode::new(Currency::Xdc, rpc(), transport.clone(), true)),
    ];
    for node in &nodes {
        let _ = node.height();
        let _ = node.hash_at(1);
        let _ = node.block(1, HASH);
    }
    if let Some(upstreams) = &*UPSTREAMS {
        for subject in [Subject::Transaction(HASH), Subject::Address("1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa")] {
            let _ = upstreams.ask(&*transport, Currency::Btc, subject);
        }
    }
});
