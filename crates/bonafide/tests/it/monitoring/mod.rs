//! Contract §2.7, §4.9 and the transaction monitoring part of §7; see
//! `docs/decisions/0018-transaction-monitoring.md`.

mod answers;
mod records;

use serde_json::{Value, json};

use crate::harness::{Merchant, Server, eventually};

const PATH: &str = "/v2/public/transaction-monitoring";

/// An address without labels.
const UNKNOWN: &str = "1BoatSLRHtKNngkdXEeobR76b53LETtpyT";

const SATOSHI: &str = "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa";

/// A wallet of the demo list of sanctions.
const LISTED: &str = "0xDE00000000000000000000000000000000000DE0";

fn ask(kind: &str, currency: &str, query: &str) -> Value {
    json!({"type": kind, "query": query, "currency": currency})
}

fn detailed(currency: &str, query: &str) -> Value {
    json!({"type": "address", "query": query, "currency": currency, "report": "detailed", "label": "Order 7"})
}

/// Imports a list, so that sanctions lists are available.
fn import_list(server: &Server, name: &str, lines: &[Value]) {
    let file = server.dir.path().join(name);
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    std::fs::write(&file, text).unwrap();
    server.bonafide(&["lists", "import", "--max-shrink", "100", file.to_str().unwrap()]);
}

fn person(id: usize) -> Value {
    json!({"id": format!("p-{id}"), "schema": "Person", "properties": {"name": [format!("Invented Person {id}")]},
        "last_seen": "2026-01-01"})
}

fn wallet(address: &str, seen: &str) -> Value {
    json!({"id": "w", "schema": "CryptoWallet", "caption": "Invented Wallet", "properties":
        {"publicKey": [address], "topics": ["sanction"]}, "last_seen": seen})
}

/// Waits until the running server's response is as expected, because it checks its folders every few seconds.
async fn until(
    server: &Server,
    merchant: &Merchant,
    body: &Value,
    expected: impl Fn(u16, &Value) -> bool,
) -> Value {
    eventually(async || {
        let (status, answer) = server.post(PATH, &merchant.live, body.clone()).await;
        match expected(status, &answer) {
            true => Ok(answer),
            false => Err(format!("{status} {answer}")),
        }
    })
    .await
}
