//! A server or a command that follows a bitcoind.

use serde_json::{Value, json};

use super::{Bitcoind, PASSWORD, PATH, flags, followed, holder, play, until};
use crate::harness::{Backend, Key, Server, on_both};

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

        // The node's last three blocks are reorganised.
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

        // A restarted node has a new password, so the file is read again.
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

        // After SIGKILL, the server continues where it was.
        node.mine(2, 2, 0x44);
        let server = server.kill_and_restart(&flags(&follow, &["--demo"]));
        let state = until(&server, |state| state["tip"]["height"] == 10 && state["lag"] == 0).await;
        assert!(
            state["appended"].as_u64().unwrap() <= 2 && state["rolledBack"] == 0,
            "{state}"
        );
        let (_, body) = screened(&server, 0x44).await;
        assert_eq!(body["receivedAmount"], "100.00000002");
        let log = server.log().await;
        assert!(!log.contains("secret") && !log.contains("__cookie__"), "{log}");
    }
);

/// The same from the command line, and `doctor`'s reports on nodes.
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
