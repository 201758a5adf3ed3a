//! An Electrum server that serves real transactions must give the same answers as the graph.

use bitcoin::absolute::LockTime;
use bitcoin::consensus::Encodable;
use bitcoin::hashes::Hash as _;
use bitcoin::transaction::Version;
use bitcoin::{
    Block, BlockHash, CompactTarget, OutPoint, ScriptBuf, Sequence, TxIn, TxMerkleNode, TxOut, Witness,
};
use chain::currency::Currency;
use chain::profile::Profile;
use chain::screen::{Request, Subject, screen_address, screen_transaction};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::tests::{HolderLabels, holder, told};
use super::*;
use crate::graph::{Graph, NewBlock};
use crate::ingest::block::{RawBlock, hash_text};
use crate::rpc::Rpc;

fn bytes(value: &impl Encodable) -> Vec<u8> {
    let mut bytes = Vec::new();
    value.consensus_encode(&mut bytes).unwrap();
    bytes
}

fn script(holder: u8) -> ScriptBuf {
    ScriptBuf::from_bytes([&[0x76, 0xa9, 0x14][..], &[holder; 20], &[0x88, 0xac]].concat())
}

fn spending(inputs: &[OutPoint], outputs: &[(u8, u64)], mark: u32) -> bitcoin::Transaction {
    let input = |previous: &OutPoint| TxIn {
        previous_output: *previous,
        script_sig: ScriptBuf::from_bytes(mark.to_le_bytes().to_vec()),
        sequence: Sequence::MAX,
        witness: Witness::new(),
    };
    let output = |(to, value): &(u8, u64)| TxOut {
        value: bitcoin::Amount::from_sat(*value),
        script_pubkey: script(*to),
    };
    bitcoin::Transaction {
        version: Version::TWO,
        lock_time: LockTime::ZERO,
        input: inputs.iter().map(input).collect(),
        output: outputs.iter().map(output).collect(),
    }
}

/// Holder 1 mines and pays 3 and 4, who together pay 5. Holder 5 pays itself and 2.
fn blocks() -> Vec<Block> {
    let time = u32::try_from(jiff::Timestamp::now().as_second()).unwrap();
    let mined = spending(&[OutPoint::null()], &[(1, 1000)], 1);
    let out = |of: &bitcoin::Transaction, number: u32| OutPoint::new(of.compute_txid(), number);
    let paid = spending(&[out(&mined, 0)], &[(3, 600), (4, 390)], 2);
    let together = spending(&[out(&paid, 0), out(&paid, 1)], &[(5, 980)], 3);
    let last = spending(&[out(&together, 0)], &[(5, 480), (2, 490)], 4);
    let mut previous = BlockHash::all_zeros();
    let rows = [
        vec![mined],
        vec![spending(&[OutPoint::null()], &[(6, 50)], 5), paid],
        vec![spending(&[OutPoint::null()], &[(6, 50)], 6), together],
        vec![spending(&[OutPoint::null()], &[(6, 50)], 7), last],
    ];
    let made = rows.into_iter().enumerate().map(|(height, txdata)| {
        let mut block = Block {
            header: bitcoin::block::Header {
                version: bitcoin::block::Version::TWO,
                prev_blockhash: previous,
                merkle_root: TxMerkleNode::all_zeros(),
                time: time - 3000 + 600 * u32::try_from(height).unwrap(),
                bits: CompactTarget::from_consensus(0x207f_ffff),
                nonce: 7,
            },
            txdata,
        };
        block.header.merkle_root = block.compute_merkle_root().unwrap();
        previous = block.block_hash();
        block
    });
    made.collect()
}

/// The height of the first block, since Electrum uses height 0 for unconfirmed transactions.
const FIRST: u64 = 100;

struct FakeElectrum(Vec<Block>);

impl FakeElectrum {
    fn every(&self) -> impl Iterator<Item = (usize, &bitcoin::Transaction)> {
        let blocks = self.0.iter().enumerate();
        blocks.flat_map(|(height, block)| block.txdata.iter().map(move |made| (height, made)))
    }

    fn made(&self, id: &str) -> Option<(usize, &bitcoin::Transaction)> {
        self.every()
            .find(|(_, made)| made.compute_txid().to_string() == id)
    }

    /// The script of an input's output.
    fn spent(&self, input: &TxIn) -> Option<&TxOut> {
        let previous = input.previous_output;
        let (_, made) = self.made(&previous.txid.to_string())?;
        made.output.get(previous.vout as usize)
    }

    fn result(&self, call: &Value) -> Option<Value> {
        let text = call["params"][0].as_str().unwrap_or_default();
        let is_it =
            |output: &TxOut| hash_text(&Sha256::digest(output.script_pubkey.as_bytes()).into()) == text;
        Some(match call["method"].as_str()? {
            "server.version" => json!(["FakeElectrum 1.0", "1.4"]),
            "blockchain.headers.subscribe" => {
                json!({"height": FIRST + self.0.len() as u64 - 1, "hex": hex::encode(bytes(&self.0.last()?.header))})
            }
            "blockchain.block.header" => {
                let height = usize::try_from(call["params"][0].as_u64()?.checked_sub(FIRST)?).ok()?;
                hex::encode(bytes(&self.0.get(height)?.header)).into()
            }
            "blockchain.transaction.get" => hex::encode(bytes(self.made(text)?.1)).into(),
            "blockchain.scripthash.get_history" => {
                let concerned = self.every().filter(|(_, made)| {
                    made.output.iter().any(is_it)
                        || made
                            .input
                            .iter()
                            .any(|input| self.spent(input).is_some_and(is_it))
                });
                concerned
                    .map(|(height, made)| {
                        json!({"tx_hash": made.compute_txid().to_string(), "height": FIRST + height as u64})
                    })
                    .collect()
            }
            "blockchain.scripthash.listunspent" => {
                let spent = |id: &str, number: usize| {
                    self.every().any(|(_, made)| {
                        made.input.iter().any(|input| {
                            input.previous_output.txid.to_string() == id
                                && input.previous_output.vout as usize == number
                        })
                    })
                };
                let mut unspent = Vec::new();
                for (height, made) in self.every() {
                    let id = made.compute_txid().to_string();
                    for (number, output) in made.output.iter().enumerate() {
                        if is_it(output) && !spent(&id, number) {
                            unspent.push(json!({"tx_hash": id, "tx_pos": number, "height": FIRST + height as u64, "value": 1}));
                        }
                    }
                }
                unspent.into()
            }
            _ => return None,
        })
    }
}

impl Transport for FakeElectrum {
    fn send(&self, request: &HttpRequest) -> Result<HttpResponse, TransportError> {
        assert_eq!(request.url, "tcp://server:50001");
        let lines = request.body.as_ref().unwrap().lines();
        let replies: Vec<String> = lines
            .map(|line| {
                let call: Value = serde_json::from_str(line).unwrap();
                let reply = match self.result(&call) {
                    Some(result) => json!({"jsonrpc": "2.0", "id": call["id"], "result": result}),
                    None => {
                        json!({"jsonrpc": "2.0", "id": call["id"], "error": {"code": 1, "message": "no"}})
                    }
                };
                reply.to_string()
            })
            .rev()
            .collect();
        Ok(HttpResponse {
            status: 200,
            body: format!("{}\n", replies.join("\n")).into_bytes(),
        })
    }
}

fn index(transport: Arc<dyn Transport>) -> OnDemand {
    let provider = Box::new(Electrum::new(Currency::Btc, Rpc::new("tcp://server:50001")));
    OnDemand::new(provider, transport, Budget::default())
}

#[test]
fn an_electrum_server_gives_the_graphs_answers() {
    let folder = tempfile::tempdir().unwrap();
    let graph = Graph::open(folder.path(), Currency::Btc).unwrap();
    // Made once: their times are of this second.
    let chain = blocks();
    for (height, block) in (FIRST..).zip(&chain) {
        let raw = bytes(block);
        let raw = RawBlock::parse(Currency::Btc, &raw).unwrap();
        graph
            .append(&NewBlock::of_raw(Currency::Btc, height, &raw))
            .unwrap();
    }
    let index = index(Arc::new(FakeElectrum(chain.clone())));
    let profile = Profile::built_in();
    for number in 1..7 {
        let address = holder(number);
        let request = Request::new(Currency::Btc, Subject::Address(&address));
        let bulk = screen_address(&graph, &HolderLabels, &profile, &request).unwrap();
        let fetched = screen_address(&index.screening().unwrap(), &HolderLabels, &profile, &request).unwrap();
        assert_eq!(told(&bulk), told(&fetched), "{number}");
    }
    for block in chain {
        for made in &block.txdata {
            let id = made.compute_txid().to_string();
            let request = Request::new(Currency::Btc, Subject::Transaction(&id));
            let bulk = screen_transaction(&graph, &HolderLabels, &profile, &request).unwrap();
            let fetched =
                screen_transaction(&index.screening().unwrap(), &HolderLabels, &profile, &request).unwrap();
            assert_eq!(told(&bulk), told(&fetched), "{id}");
        }
    }
    let source = index.screening().unwrap();
    assert_eq!(source.transaction(&"0".repeat(64)), Err(SourceError::NotFound));
}

/// Answers every line with the same value.
struct Always(Value);

impl Transport for Always {
    fn send(&self, request: &HttpRequest) -> Result<HttpResponse, TransportError> {
        let lines = request.body.as_ref().unwrap().lines();
        let reply = |line: &str| {
            let call: Value = serde_json::from_str(line).unwrap();
            json!({"id": call["id"], "result": self.0}).to_string()
        };
        let body = lines.map(reply).collect::<Vec<_>>().join("\n");
        Ok(HttpResponse {
            status: 200,
            body: body.into_bytes(),
        })
    }
}

#[test]
fn bad_answers_are_told_apart() {
    for (answer, expected) in [
        (json!(null), "a member is missing"),
        (json!({"height": 1}), "hex is missing"),
        (json!({"height": 1, "hex": "zz"}), "a header is not hexadecimal"),
        (json!({"height": 1, "hex": "00"}), "a header is too short"),
        (
            json!({"height": -1, "hex": "00"}),
            "a member is missing or of another type",
        ),
    ] {
        let error = index(Arc::new(Always(answer))).screening().err().unwrap();
        assert!(error.to_string().contains(expected), "{error}");
    }
    let provider = Electrum::new(Currency::Btc, Rpc::new("tcp://server:50001"));
    for (answer, expected) in [
        (json!("zz"), "a transaction is not hexadecimal"),
        (json!("00"), "ends early"),
        (
            json!(hex::encode(bytes(&blocks()[0].txdata[0]))),
            "another transaction than was asked for",
        ),
    ] {
        let transport = Always(answer);
        let calls = Calls::new(&transport, Budget::default());
        let error = provider.transaction(&calls, &"1".repeat(64)).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    }
}
