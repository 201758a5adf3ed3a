//! A chain source that is out of date.

use serde_json::json;

use super::{Bitcoind, PATH, flags, followed, holder, until};
use crate::harness::{Backend, Key, Server, eventually};
use crate::portal::Browser;

/// Waits until a repeatedly fetched text contains all of these.
async fn wait_for_texts(mut ask: impl AsyncFnMut() -> String, wanted: &[&str]) {
    eventually(async || {
        let told = ask().await;
        match wanted.iter().find(|wanted| !told.contains(**wanted)) {
            None => Ok(()),
            Some(missing) => Err(format!("{missing}: {told}")),
        }
    })
    .await;
}

/// The newest block is hours old, and an index is unreachable. The response, its page, the log, `doctor`, the
/// Health page and the metrics all report it.
#[tokio::test(flavor = "multi_thread")]
async fn a_stale_source_warns_everybody() {
    let folder = tempfile::tempdir().unwrap();
    let node = Bitcoind {
        age: 5 * 3600,
        ..Bitcoind::default()
    };
    node.mine(7, 1, 0x11);
    // Bound but not listening, so a connection is refused and no other program gets the port.
    let bound = tokio::net::TcpSocket::new_v4().unwrap();
    bound.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let nobody = bound.local_addr().unwrap();
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

    let log = async || server.log().await;
    wait_for_texts(log, &["WARN", &nobody.to_string(), "(--chain-index)", "Start it"]).await;
    let metrics = async || {
        let request = server.http.get(format!("{}/metrics", server.base));
        let answer = request.bearer_auth("for-figures").send().await.unwrap();
        answer.text().await.unwrap()
    };
    let ages = "bonafide_chain_tip_age_seconds{chain=\"btc\",source=\"graph\"} 18";
    wait_for_texts(
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
    wait_for_texts(
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
