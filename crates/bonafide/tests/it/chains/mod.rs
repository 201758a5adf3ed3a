//! Following a node into the server's own chain graph. The tests simulate a bitcoind, reorganise it three
//! blocks deep, stop it, and query it with the wrong password.

mod evm;
mod following;
mod listed_later;
mod replay;
mod staleness;

use std::path::Path;
use std::sync::{Arc, LazyLock, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use base64::Engine;
use serde_json::{Value, json};

use crate::harness::{Key, Server, eventually};

/// The time at which all blocks are mined, in seconds since 1970. A block's time must not change between
/// queries or servers.
static MINED: LazyLock<u64> = LazyLock::new(|| {
    std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap()
        .as_secs()
});

const PATH: &str = "/v2/public/transaction-monitoring";

const PASSWORD: &str = "__cookie__:7f3a-node-secret";

/// Blocks by height, each with its hash and the holder that it pays.
#[derive(Clone, Default)]
struct Bitcoind {
    blocks: Arc<Mutex<Vec<(String, u8)>>>,
    password: Arc<Mutex<String>>,
    /// The age of its blocks, in seconds.
    age: u64,
}

fn script(holder: u8) -> String {
    format!("76a914{}88ac", hex::encode([holder; 20]))
}

fn holder(number: u8) -> String {
    let script = hex::decode(script(number)).unwrap();
    let address = chain::address::Address::of_script(chain::currency::Currency::Btc, &script);
    address.unwrap().canonical
}

fn id(block: &str, number: u8) -> String {
    format!("{:02x}{}", number, &block[2..])
}

impl Bitcoind {
    /// Appends blocks that each pay `holder`. Another `fork` gives them other hashes.
    fn mine(&self, count: usize, fork: u8, holder: u8) {
        let mut blocks = self.blocks.lock().unwrap();
        for _ in 0..count {
            let height = blocks.len();
            blocks.push((format!("00{fork:02x}{height:060x}"), holder));
        }
    }

    fn forget(&self, count: usize) {
        let mut blocks = self.blocks.lock().unwrap();
        let left = blocks.len() - count;
        blocks.truncate(left);
    }

    fn block(&self, hash: &str) -> Option<Value> {
        let blocks = self.blocks.lock().unwrap();
        let height = blocks.iter().position(|(known, _)| known == hash)?;
        let (_, holder) = blocks[height];
        let coinbase = json!({"txid": id(hash, 1), "vin": [{"coinbase": "00", "sequence": 1}],
            "vout": [{"value": 0, "n": 0, "scriptPubKey": {"hex": script(holder), "type": "pubkeyhash"}}]});
        let mut transactions = vec![coinbase];
        if height > 0 {
            transactions.push(json!({"txid": id(hash, 2), "unknown": {"more": [null]},
                "vin": [{"txid": id(&blocks[height - 1].0, 1), "vout": 0}],
                "vout": [{"value": 0, "n": 0, "scriptPubKey": {"hex": script(0xaa)}}]}));
        }
        let mut told = json!({"hash": hash, "height": height, "time": *MINED - self.age, "tx": transactions, "confirmations": 1});
        if height > 0 {
            told["previousblockhash"] = blocks[height - 1].0.clone().into();
        }
        Some(told)
    }

    fn answer(&self, call: &Value) -> Result<Value, i64> {
        let known = self.blocks.lock().unwrap().clone();
        match call["method"].as_str().unwrap() {
            "getblockcount" => Ok((known.len() - 1).into()),
            "getblockhash" => {
                let height = usize::try_from(call["params"][0].as_u64().unwrap()).unwrap();
                known.get(height).map(|(hash, _)| json!(hash)).ok_or(-8)
            }
            "getblock" => self.block(call["params"][0].as_str().unwrap()).ok_or(-5),
            _ => Err(-32601),
        }
    }
}

async fn answered(State(node): State<Bitcoind>, headers: HeaderMap, body: Bytes) -> Response {
    let wanted = base64::engine::general_purpose::STANDARD.encode(node.password.lock().unwrap().as_bytes());
    let given = headers
        .get(header::AUTHORIZATION)
        .map(|value| value.to_str().unwrap());
    if given != Some(&format!("Basic {wanted}")) {
        return StatusCode::UNAUTHORIZED.into_response();
    }
    let call: Value = serde_json::from_slice(&body).unwrap();
    match node.answer(&call) {
        Ok(result) => {
            let text = json!({"result": result, "error": null, "id": call["id"]}).to_string();
            // bitcoind writes amounts as numbers with eight decimal places.
            text.replace("\"value\":0,", "\"value\":50.00000001,")
                .into_response()
        }
        Err(code) => {
            let body = json!({"result": null, "error": {"code": code, "message": "no"}, "id": call["id"]});
            (StatusCode::INTERNAL_SERVER_ERROR, body.to_string()).into_response()
        }
    }
}

/// The address of a simulated node, and the arguments that make a server follow it. The node's password is in
/// the folder's `.cookie`.
async fn followed(node: &Bitcoind, folder: &Path) -> (String, Vec<String>) {
    let cookie = folder.join(".cookie");
    std::fs::write(&cookie, PASSWORD).unwrap();
    let origin = play(node).await;
    let flags = [
        "--chain-follow",
        &format!("btc={origin}"),
        "--chain-credentials",
        &format!("btc={}", cookie.display()),
        "--chain-poll-seconds",
        "1",
    ];
    (origin.clone(), flags.map(str::to_owned).to_vec())
}

fn flags<'a>(first: &'a [String], more: &[&'a str]) -> Vec<&'a str> {
    first
        .iter()
        .map(String::as_str)
        .chain(more.iter().copied())
        .collect()
}

async fn play(node: &Bitcoind) -> String {
    *node.password.lock().unwrap() = PASSWORD.to_owned();
    let router = Router::new().route("/", post(answered)).with_state(node.clone());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });
    origin
}

fn status(server: &Server) -> Value {
    let all: Value = serde_json::from_str(&server.bonafide(&["chain", "status", "--json"])).unwrap();
    all[0]["following"].clone()
}

/// Waits until the state of following is as expected.
async fn until(server: &Server, expected: impl Fn(&Value) -> bool) -> Value {
    eventually(async || {
        let state = status(server);
        match expected(&state) {
            true => Ok(state),
            false => Err(state.to_string()),
        }
    })
    .await
}

/// Waits until a screening's score is as expected, because the server loads labels every few seconds.
async fn until_scored(server: &Server, key: &Key, body: &Value, expected: impl Fn(f64) -> bool) -> Value {
    eventually(async || {
        let (status, answer) = server.post(PATH, key, body.clone()).await;
        match status == 200 && expected(answer["score"].as_f64().unwrap()) {
            true => Ok(answer),
            false => Err(format!("{status} {answer}")),
        }
    })
    .await
}
