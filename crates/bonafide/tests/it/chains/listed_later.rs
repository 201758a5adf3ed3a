//! A party that money came from is listed after the screening: an alert states the role and the new score.

use serde_json::{Value, json};

use super::{Bitcoind, flags, followed, holder, until, until_scored};
use crate::harness::{Key, Server, eventually, on_both};

const ALERTS: &str = "/v2/public/transaction-monitoring/alerts";

on_both!(a_traced_party_that_is_listed_later_raises_an_alert, |backend| {
    let folder = tempfile::tempdir().unwrap();
    let node = Bitcoind::default();
    node.mine(4, 1, 0x11);
    let (_, follow) = followed(&node, folder.path()).await;
    let (server, demo) = Server::demo(backend, &flags(&follow, &[])).await;
    let key = Key::of_demo(&demo);
    until(&server, |state| state["tip"]["height"] == 3 && state["lag"] == 0).await;
    let query = json!({"type": "address", "query": holder(0xaa), "currency": "btc"});
    let first = until_scored(&server, &key, &query, |_| true).await;
    let file = server.dir.path().join("invented.ftm.json");
    let wallet = json!({"id": "w", "schema": "CryptoWallet", "caption": "Invented Wallet", "last_seen": "2026-01-01",
        "properties": {"publicKey": [holder(0x11)], "topics": ["sanction"]}});
    let person = json!({"id": "p", "schema": "Person", "last_seen": "2026-01-01",
        "properties": {"name": ["Zebulon Quartermain"]}});
    std::fs::write(&file, format!("{wallet}\n{person}\n")).unwrap();
    server.bonafide(&["lists", "import", "--max-shrink", "100", file.to_str().unwrap()]);
    let alert: Value = eventually(async || {
        let (status, body) = server.get(ALERTS, &key).await;
        match body["alerts"].as_array().map(Vec::as_slice) {
            Some([alert]) if alert["scoreNow"].is_number() => Ok(alert.clone()),
            _ => Err(format!("{status} {body}")),
        }
    })
    .await;
    assert_eq!(
        (&alert["role"], &alert["address"], &alert["score"]),
        (&json!("touched"), &json!(holder(0x11)), &first["score"])
    );
    let (then, now) = (alert["score"].as_f64(), alert["scoreNow"].as_f64());
    assert!(now > then, "{alert}");
});
