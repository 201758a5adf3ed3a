//! A simulated EVM node, followed into a graph and queried on demand.

use axum::Router;
use axum::body::Bytes;
use axum::routing::post;
use serde_json::{Value, json};

use super::{MINED, PATH, until};
use crate::harness::{Key, Server, on_both};

fn account(number: u8) -> String {
    format!("0x{}", hex::encode([number; 20]))
}

/// Responses of an EVM node with an index of traces: account 0x11 pays a contract, which pays 0x22
/// internally.
fn ethereum(call: &Value) -> Result<Value, i64> {
    let now = *MINED;
    let (block, id) = (format!("0x{:064x}", 0xb0), format!("0x{:064x}", 0xa0));
    let head = |transactions: Value| {
        json!({"hash": block, "parentHash": format!("0x{:064x}", 0), "number": "0x0", "timestamp": format!("{now:#x}"),
            "transactions": transactions})
    };
    let sent = json!({"hash": id, "from": account(0x11), "to": account(0x99), "value": "0xde0b6b3a7640000", "gasPrice": "0x1",
        "blockHash": block, "blockNumber": "0x0", "transactionIndex": "0x0"});
    let receipt = json!({"transactionHash": id, "status": "0x1", "gasUsed": "0x10000", "effectiveGasPrice": "0x1", "logs": []});
    let frame = |at: &[u8], from: u8, to: u8| {
        json!({"type": "call", "traceAddress": at, "transactionHash": id, "transactionPosition": 0, "blockNumber": 0,
            "action": {"callType": "call", "from": account(from), "to": account(to), "value": "0xde0b6b3a7640000"}})
    };
    let frames = [frame(&[], 0x11, 0x99), frame(&[0], 0x99, 0x22)];
    let params = &call["params"];
    Ok(match call["method"].as_str().unwrap() {
        "eth_blockNumber" => json!("0x0"),
        "eth_getBlockByNumber" if params[0] != "latest" && params[0] != "0x0" => Value::Null,
        "eth_getBlockByNumber" | "eth_getBlockByHash" => head(if params[1] == true {
            json!([sent])
        } else {
            json!([id])
        }),
        "eth_getBlockReceipts" => json!([receipt]),
        "eth_getTransactionByHash" => sent,
        "eth_getTransactionReceipt" => receipt,
        "trace_block" | "trace_transaction" => json!(frames),
        "trace_filter" => {
            let fits = |frame: &&Value| {
                let side = |name: &str, key: &str| {
                    params[0][name].is_null() || params[0][name][0] == frame["action"][key]
                };
                side("fromAddress", "from") && side("toAddress", "to")
            };
            json!(frames.iter().filter(fits).collect::<Vec<_>>())
        }
        "eth_getLogs" => json!([]),
        _ => return Err(-32601),
    })
}

async fn ethereum_answered(body: Bytes) -> String {
    let reply = |call: &Value| match ethereum(call) {
        Ok(result) => json!({"jsonrpc": "2.0", "id": call["id"], "result": result}),
        Err(code) => json!({"jsonrpc": "2.0", "id": call["id"], "error": {"code": code, "message": "no"}}),
    };
    match serde_json::from_slice(&body).unwrap() {
        Value::Array(calls) => calls.iter().map(reply).collect::<Value>().to_string(),
        call => reply(&call).to_string(),
    }
}

on_both!(an_evm_node_is_followed_and_asked_on_demand_alike, |backend| {
    let router = Router::new().route("/", post(ethereum_answered));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });
    let (index, follow) = (format!("eth={origin}"), format!("etc={origin}"));
    let (server, demo) = Server::demo(backend, &["--chain-index", &index, "--chain-follow", &follow]).await;
    let key = Key::of_demo(&demo);
    until(&server, |state| state["tip"]["height"] == 0).await;
    for number in [0x11, 0x22, 0x99, 0x33] {
        let mut answers = Vec::new();
        for currency in ["eth", "etc"] {
            let body = json!({"type": "address", "query": account(number), "currency": currency, "report": "detailed"});
            let (status, mut body) = server.post(PATH, &key, body).await;
            assert_eq!(status, 200, "{body}");
            assert_eq!(
                body["exposures"]["source"],
                if currency == "eth" { "evm" } else { "graph" }
            );
            for member in ["queryId", "currency"] {
                body[member] = Value::Null;
            }
            body["exposures"]["source"] = Value::Null;
            answers.push(body);
        }
        assert_eq!(answers[0], answers[1]);
        assert_eq!(answers[0]["newAddress"], number == 0x33);
        if number == 0x22 {
            assert_eq!(answers[0]["receivedAmount"], "1");
        }
    }
});
