//! Following a chain's node into a graph of the server's own: a bitcoind played on a port, reorganised three blocks deep,
//! stopped, and asked with the wrong password.

use std::path::Path;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use base64::Engine;
use serde_json::{Value, json};

use crate::harness::{Backend, Key, Server, on_both};
use crate::portal::Browser;

/// When every block here was mined, in seconds: a block keeps its time, however often and by however many servers it is asked for.
static MINED: LazyLock<u64> = LazyLock::new(|| {
    std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap()
        .as_secs()
});

const PATH: &str = "/v2/public/transaction-monitoring";
const PASSWORD: &str = "__cookie__:7f3a-node-secret";

/// Blocks by height, each with whom its coinbase pays and whom it pays on.
#[derive(Clone, Default)]
struct Bitcoind {
    blocks: Arc<Mutex<Vec<(String, u8)>>>,
    password: Arc<Mutex<String>>,
    /// So many seconds ago its blocks were mined.
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
    /// Puts blocks at the end, each paying a holder of its own; `fork` makes their hashes other ones.
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
            // As bitcoind writes coins: a number with eight places.
            text.replace("\"value\":0,", "\"value\":50.00000001,")
                .into_response()
        }
        Err(code) => {
            let body = json!({"result": null, "error": {"code": code, "message": "no"}, "id": call["id"]});
            (StatusCode::INTERNAL_SERVER_ERROR, body.to_string()).into_response()
        }
    }
}

/// What makes a server follow a played node, and where it is. The node's password lies in the folder's `.cookie`.
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

/// Waits until following is as expected.
async fn until(server: &Server, expected: impl Fn(&Value) -> bool) -> Value {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let state = status(server);
        if expected(&state) {
            return state;
        }
        assert!(Instant::now() < deadline, "{state}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

on_both!(
    a_node_is_followed_through_a_reorganisation_and_restarts,
    |backend| {
        let folder = tempfile::tempdir().unwrap();
        let node = Bitcoind::default();
        node.mine(4, 1, 0x11);
        node.mine(3, 1, 0x22);
        let (origin, follow) = followed(&node, folder.path()).await;
        let (server, demo) = Server::demo(backend, &flags(&follow, &[])).await;
        let key = Key::of_demo(&demo);
        let screened = async |server: &Server, number: u8| {
            let body =
                json!({"type": "address", "query": holder(number), "currency": "btc", "report": "detailed"});
            server.post(PATH, &key, body).await
        };
        let state = until(&server, |state| state["tip"]["height"] == 6 && state["lag"] == 0).await;
        assert_eq!(
            (&state["node"], &state["lastError"]),
            (&json!(origin), &Value::Null)
        );
        let (code, body) = screened(&server, 0x22).await;
        assert_eq!(
            (code, &body["receivedAmount"], &body["exposures"]["source"]),
            (200, &json!("150.00000003"), &json!("graph")),
            "{body}"
        );
        assert_eq!(body["newAddress"], false);

        // The node's last three blocks turn out not to be the chain's.
        node.forget(3);
        node.mine(4, 2, 0x33);
        let state = until(&server, |state| state["tip"]["height"] == 7).await;
        assert_eq!(
            (&state["rolledBack"], &state["appended"]),
            (&json!(3), &json!(11))
        );
        let (_, body) = screened(&server, 0x22).await;
        assert_eq!(
            (&body["newAddress"], &body["numberOfTransactions"]),
            (&json!(true), &json!(0))
        );
        let (_, body) = screened(&server, 0x33).await;
        assert_eq!(body["receivedAmount"], "200.00000004");

        // A node that starts again has another password; the file is read again.
        *node.password.lock().unwrap() = "__cookie__:other".to_owned();
        node.mine(1, 2, 0x33);
        let state = until(&server, |state| !state["lastError"].is_null()).await;
        assert_eq!(state["tip"]["height"], 7);
        let error = state["lastError"].as_str().unwrap();
        assert!(
            error.contains("it answered 401") && !error.contains("secret"),
            "{error}"
        );
        std::fs::write(folder.path().join(".cookie"), "__cookie__:other\n").unwrap();
        until(&server, |state| {
            state["tip"]["height"] == 8 && state["lastError"].is_null()
        })
        .await;

        // Killed in between, it goes on where it was.
        node.mine(2, 2, 0x44);
        let server = server.kill_and_restart(&flags(&follow, &["--demo"]));
        let state = until(&server, |state| state["tip"]["height"] == 10 && state["lag"] == 0).await;
        assert!(
            state["appended"].as_u64().unwrap() <= 2 && state["rolledBack"] == 0,
            "{state}"
        );
        let (_, body) = screened(&server, 0x44).await;
        assert_eq!(body["receivedAmount"], "100.00000002");
        let log = std::fs::read_to_string(server.dir.path().join("server.log")).unwrap();
        assert!(!log.contains("secret") && !log.contains("__cookie__"), "{log}");
    }
);

/// Waits until a text that is asked for again and again holds all of these.
async fn until_told(mut ask: impl AsyncFnMut() -> String, wanted: &[&str]) {
    let deadline = Instant::now() + Duration::from_secs(240);
    loop {
        let told = ask().await;
        let missing = wanted.iter().find(|wanted| !told.contains(**wanted));
        let Some(missing) = missing else { return };
        assert!(Instant::now() < deadline, "{missing}: {told}");
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

/// A chain whose newest block is hours old, and an index that is not there: the answer, its page, the log, `doctor`, the Health page and
/// the metrics say so.
#[tokio::test(flavor = "multi_thread")]
async fn a_stale_source_warns_everybody() {
    let folder = tempfile::tempdir().unwrap();
    let node = Bitcoind {
        age: 5 * 3600,
        ..Bitcoind::default()
    };
    node.mine(7, 1, 0x11);
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let nobody = nobody.local_addr().unwrap();
    let (_, follow) = followed(&node, folder.path()).await;
    let index = format!("ltc=http://{nobody}");
    let chains = flags(&follow, &["--chain-index", &index]);
    let more = ["--metrics-token", "for-figures"];
    let (server, demo) = Server::demo(Backend::Sqlite, &[&chains[..], &more].concat()).await;
    let key = Key::of_demo(&demo);
    until(&server, |state| state["tip"]["height"] == 6 && state["lag"] == 0).await;
    let body = json!({"type": "address", "query": holder(0xaa), "currency": "btc", "report": "detailed"});
    let (status, answer) = server.post(PATH, &key, body).await;
    assert_eq!(
        (
            status,
            &answer["score"],
            &answer["exposures"]["coverage"]["stale"]
        ),
        (200, &json!(0.0), &json!(true)),
        "{answer}"
    );
    assert!(answer["exposures"]["asOfTime"].is_string(), "{answer}");

    let auditor = Browser::sign_up(&server, demo["merchantId"].as_str().unwrap(), "auditor").await;
    let id = answer["queryId"].as_str().unwrap();
    let page = auditor.get(&format!("/portal/monitoring/{id}")).await.page();
    for text in [
        "0.0 · Out of date",
        "This does not mean clean",
        "too old for this chain",
    ] {
        assert!(page.contains(text), "{text}: {page}");
    }
    let list = auditor.get("/portal/monitoring").await.page();
    assert!(
        list.contains("0.0 · Out of date") && !list.contains("badge good"),
        "{list}"
    );

    let log = async || std::fs::read_to_string(server.dir.path().join("server.log")).unwrap();
    until_told(log, &["WARN", &nobody.to_string(), "(--chain-index)", "Start it"]).await;
    let metrics = async || {
        let request = server.http.get(format!("{}/metrics", server.base));
        let answer = request.bearer_auth("for-figures").send().await.unwrap();
        answer.text().await.unwrap()
    };
    let ages = "bonafide_chain_tip_age_seconds{chain=\"btc\",source=\"graph\"} 18";
    until_told(
        metrics,
        &[
            ages,
            "bonafide_chain_source_ok{chain=\"btc\",source=\"graph\"} 0",
            "bonafide_chain_source_ok{chain=\"ltc\",source=\"esplora\"} 0",
        ],
    )
    .await;
    let operator = Browser::operator(&server).await;
    let health = async || operator.get("/portal/operator").await.page();
    until_told(
        health,
        &[
            "ends at block 6, made 5 h",
            "Check that it is synchronised",
            "(--chain-index)",
        ],
    )
    .await;
    let doctor = server.try_bonafide(&[&["doctor"], &chains[..]].concat());
    let found = String::from_utf8(doctor.stdout).unwrap();
    for text in [
        "look  chains     btc: its graph ends at block 6, made 5 h",
        "BAD   chains     ltc:",
        "(--chain-index)",
    ] {
        assert!(found.contains(text), "{text}: {found}");
    }
}

/// Waits until a screening answers as expected: labels are looked for every few seconds.
async fn until_scored(server: &Server, key: &Key, body: &Value, expected: impl Fn(f64) -> bool) -> Value {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let (status, answer) = server.post(PATH, key, body.clone()).await;
        if status == 200 && expected(answer["score"].as_f64().unwrap()) {
            return answer;
        }
        assert!(Instant::now() < deadline, "{status} {answer}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

on_both!(a_decision_is_made_again_where_the_graph_is, |backend| {
    let folder = tempfile::tempdir().unwrap();
    let node = Bitcoind::default();
    node.mine(4, 1, 0x11);
    node.mine(3, 1, 0x22);
    let (_, follow) = followed(&node, folder.path()).await;
    let (server, demo) = Server::demo(backend, &flags(&follow, &[])).await;
    let merchant = demo["merchantId"].as_str().unwrap();
    let key = Key::of_demo(&demo);
    let file = folder.path().join("known.csv");
    let label = |number: u8, name: &str, category: &str| {
        let row = format!(
            "currency,address,name,category,confidence\nbtc,{},{name},{category},80\n",
            holder(number)
        );
        std::fs::write(&file, row).unwrap();
        server.bonafide(&["labels", "import", file.to_str().unwrap()]);
    };
    // Before the wait: the server takes up labels and writes down how far it is every few seconds, both at once.
    label(0x11, "Mixy", "mixer");
    until(&server, |state| state["tip"]["height"] == 6 && state["lag"] == 0).await;
    // Who was paid by both; a simple report keeps all that led to the score, too.
    let asked = json!({"type": "address", "query": holder(0xaa), "currency": "btc"});
    let first = until_scored(&server, &key, &asked, |score| score > 0.0).await;
    let score = first["score"].as_f64().unwrap();
    let id = first["queryId"].as_str().unwrap();

    // More blocks, and other labels: the same question has another answer now.
    node.mine(3, 1, 0x33);
    label(0x22, "Scammer", "scam");
    until(&server, |state| state["tip"]["height"] == 9).await;
    let second = until_scored(&server, &key, &asked, |now| (now - score).abs() > 1.0).await;
    assert_ne!(second["score"], first["score"]);

    let auditor = Browser::sign_up(&server, merchant, "auditor").await;
    let page = format!("/portal/monitoring/{id}");
    let again = format!("{page}/again");
    let before = auditor.get(&page).await.page();
    for text in [
        &*again,
        "Mixy",
        "known",
        "own chain graph",
        "Total score",
        "Diagram data as a table",
    ] {
        assert!(before.contains(text), "{text}: {before}");
    }
    assert!(!before.contains("New score"), "{before}");
    let same = auditor.submit(&again, &[]).await;
    for text in [
        "The result is the same",
        "<dd>6</dd>",
        "/labelSetVersion",
        "Label set version",
    ] {
        assert!(same.contains(text), "{text}: {same}");
    }
    let shown = format!("{:.1}", (score * 10.0).round() / 10.0);
    assert_eq!(
        same.matches(&format!("<dd>{shown}</dd>")).count(),
        2,
        "then and again: {same}"
    );
    assert!(
        !auditor.get(&page).await.page().contains("The result is the same"),
        "it is shown once"
    );
    let compliance = Browser::sign_up(&server, merchant, "compliance").await;
    let trail = compliance.get("/portal/audit").await.page();
    assert!(
        trail.contains("screening.repeated") && trail.contains(id),
        "{trail}"
    );

    // A label that a file dates back holds for that day too, and is told member by member.
    let thief = folder.path().join("dated_back.csv");
    let row = format!(
        "currency,address,name,category,confidence,valid_from\nbtc,{},Thief,stolen_funds,90,2020-01-01\n",
        holder(0x22)
    );
    std::fs::write(&thief, row).unwrap();
    server.bonafide(&["labels", "import", thief.to_str().unwrap()]);
    let second = second["score"].as_f64().unwrap();
    until_scored(&server, &key, &asked, |now| (now - second).abs() > 1.0).await;
    let other = auditor.submit(&again, &[]).await;
    for text in [
        "The result is different",
        "Score components",
        "/contributions",
        "stolen_funds",
        "Entries: 1",
        "Entries: 2",
    ] {
        assert!(other.contains(text), "{text}: {other}");
    }

    // Only there: not for another role, account or mode.
    let developer = Browser::sign_up(&server, merchant, "developer").await;
    assert_eq!(developer.post(&again, &[]).await.status, 403);
    let stranger = Browser::sign_up(&server, &server.merchant(true).id, "owner").await;
    assert_eq!(stranger.post(&again, &[]).await.status, 404);
    compliance
        .post("/portal/mode", &[("sandbox", "false")])
        .await
        .redirect();
    assert_eq!(compliance.post(&again, &[]).await.status, 404);

    // The server holds the graph: the command line says where else to ask, and still does what needs no graph.
    let replay =
        |id: &str| server.try_bonafide(&["monitoring", "replay", id, "--merchant", merchant, "--sandbox"]);
    let at = ["score", "btc", &holder(0xaa), "--at", "2999-01-01"];
    for refused in [replay(id), server.try_bonafide(&at)] {
        let text = String::from_utf8(refused.stderr).unwrap();
        assert_eq!(refused.status.code(), Some(1), "{text}");
        assert!(
            text.contains("another process holds it") && text.contains("Repeat this decision"),
            "{text}"
        );
    }
    let labelled =
        json!({"type": "address", "query": "0xDE00000000000000000000000000000000000DE0", "currency": "eth"});
    let (_, labelled) = server.post(PATH, &key, labelled).await;
    let labelled = labelled["queryId"].as_str().unwrap();
    let replayed: Value = serde_json::from_slice(&replay(labelled).stdout).unwrap();
    assert_eq!(
        (&replayed["same"], &replayed["scoreAgain"]),
        (&json!(true), &json!(100.0))
    );
    let answered = auditor
        .submit(&format!("/portal/monitoring/{labelled}/again"), &[])
        .await;
    assert!(
        answered.contains("The result is the same") && answered.contains("no funds were traced"),
        "{answered}"
    );

    // Without the graph it is said that it cannot be made again, and why.
    std::fs::rename(server.dir.path().join("chain"), server.dir.path().join("gone")).unwrap();
    let server = server.kill_and_restart(&["--demo"]);
    let returned = Browser::new(&server);
    returned.set_cookie(auditor.cookie());
    let gone = returned.submit(&again, &[]).await;
    for text in [
        "The decision cannot be repeated",
        "currently gives no result for it",
        "own chain graph",
    ] {
        assert!(gone.contains(text), "{text}: {gone}");
    }
    assert!(!gone.contains("The result is"), "{gone}");
});

/// The same from the command line, and what `doctor` says of nodes.
#[tokio::test(flavor = "multi_thread")]
async fn the_command_line_ingests_from_a_node() {
    let server = Server::start(Backend::Sqlite, &[]).await;
    let node = Bitcoind::default();
    node.mine(3, 1, 0x11);
    let origin = play(&node).await;
    let cookie = server.dir.path().join(".cookie");
    std::fs::write(&cookie, PASSWORD).unwrap();
    let cookie = cookie.to_str().unwrap().to_owned();
    let ingest = [
        "chain",
        "ingest",
        "btc",
        "--node",
        &origin,
        "--credentials",
        &cookie,
    ];
    let first: Value = serde_json::from_str(&server.bonafide(&ingest)).unwrap();
    assert_eq!(
        (&first["appended"], &first["tip"]["height"], &first["lag"]),
        (&json!(3), &json!(2), &json!(0))
    );
    node.mine(1, 1, 0x11);
    let again: Value = serde_json::from_str(&server.bonafide(&ingest)).unwrap();
    assert_eq!(
        (&again["appended"], &again["tip"]["height"]),
        (&json!(1), &json!(3))
    );
    let table = server.bonafide(&["chain", "status"]);
    assert!(
        table.contains("up to 3") && table.contains(&format!("0 behind {origin}")),
        "{table}"
    );

    let failed = server.try_bonafide(&ingest[..5]);
    let error = String::from_utf8(failed.stderr).unwrap();
    assert_eq!(failed.status.code(), Some(1));
    assert!(error.contains("it answered 401"), "{error}");
    for wrong in [
        &["chain", "ingest", "btc"][..],
        &["chain", "ingest", "btc", "--node", "ftp://x"],
        &["chain", "ingest", "xrp", "--node", "http://x"],
    ] {
        assert_eq!(server.try_bonafide(wrong).status.code(), Some(2), "{wrong:?}");
    }

    let (follow, credentials) = (format!("btc={origin}"), format!("btc={cookie}"));
    let index = format!("btc={origin}");
    let arguments = [
        "doctor",
        "--chain-follow",
        &follow,
        "--chain-credentials",
        &credentials,
        "--chain-index",
        &index,
    ];
    let found = String::from_utf8(server.try_bonafide(&arguments).stdout).unwrap();
    assert!(
        found.contains(&format!("ok    chains     btc: followed at {origin}, now 3")),
        "{found}"
    );
    assert!(found.contains("it must be an Esplora server"), "{found}");
}

fn account(number: u8) -> String {
    format!("0x{}", hex::encode([number; 20]))
}

/// A node of the EVM family that keeps an index of traces: account 0x11 pays a contract, which pays 0x22 inside.
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
