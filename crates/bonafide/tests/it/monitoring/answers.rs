//! Requests and responses: validation, fixed outcomes, labels and delistings, and pasted secrets.

use reqwest::Method;
use serde_json::{Value, json};

use super::{LISTED, PATH, SATOSHI, UNKNOWN, ask, detailed, import_list, person, until, wallet};
use crate::harness::{Backend, Server, answer, on_both};

on_both!(requests_are_validated, |backend| {
    let (server, demo) = Server::demo(backend, &[]).await;
    let key = crate::harness::Key::of_demo(&demo);
    let (status, body) = server
        .post(
            PATH,
            &key,
            json!({"query": "no spaces", "currency": 1, "report": "x"}),
        )
        .await;
    assert_eq!(status, 400);
    assert_eq!(
        body,
        json!({"success": false, "message": "Validation failed", "errors": [
            "type - is required", "query - query contains invalid characters", "currency - must be a string",
            "report - must be simple or detailed"]})
    );
    let (status, body) = server.post(PATH, &key, ask("address", "usdt", SATOSHI)).await;
    assert_eq!(
        (status, &body["success"], &body["errors"]),
        (400, &json!(false), &Value::Null)
    );
    let message = body["message"].as_str().unwrap();
    assert!(
        message.contains("'usdt'") && message.contains("btc, eth, ltc, bch, bsv, xrp, xlm"),
        "{message}"
    );

    for (currency, query, part) in [
        ("btc", "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNb", "checksum"),
        ("btc", LISTED, "is an address of Ethereum"),
        ("btc", "mipcBbFg9gMiCh81Kj8tqqdgoZub1ZJRfn", "test network"),
    ] {
        let (status, body) = server.post(PATH, &key, ask("address", currency, query)).await;
        let error = body["errors"][0].as_str().unwrap();
        assert_eq!(
            (status, body["message"].as_str()),
            (400, Some("Validation failed"))
        );
        assert!(
            error.starts_with("query - ") && error.contains(part) && !error.contains(query),
            "{error}"
        );
    }
    let (status, body) = answer(
        server
            .http
            .post(format!("{}{PATH}", server.base))
            .send()
            .await
            .unwrap(),
    )
    .await;
    assert_eq!(
        (
            status,
            body.as_object().unwrap().len(),
            body["message"].is_string()
        ),
        (401, 1, true)
    );
});

on_both!(sandbox_addresses_have_fixed_outcomes, |backend| {
    let (server, demo) = Server::demo(backend, &[]).await;
    let key = crate::harness::Key::of_demo(&demo);
    for currency in chain::currency::Currency::ALL {
        for (outcome, status) in [
            (10, 200),
            (45, 200),
            (80, 200),
            (100, 200),
            (404, 404),
            (502, 502),
            (503, 503),
            (504, 504),
        ] {
            let address = chain::sandbox::address(currency, outcome).unwrap().canonical;
            let (got, body) = server
                .post(PATH, &key, ask("address", currency.code(), &address))
                .await;
            assert_eq!(got, status, "{currency} {outcome}: {body}");
            if status == 200 {
                assert_eq!(body["score"], f64::from(outcome));
                let mut members: Vec<&String> = body.as_object().unwrap().keys().collect();
                members.sort();
                assert_eq!(
                    members,
                    ["currency", "label", "query", "queryId", "score", "type"]
                );
                assert_eq!(
                    (&body["query"], &body["label"]),
                    (&json!(address), &json!("API Query"))
                );
            } else {
                assert_eq!(
                    (&body["success"], body["message"].is_string()),
                    (&json!(false), true)
                );
            }
        }
    }
    // The wallet of the invented list, in any letter case.
    let (status, body) = server.post(PATH, &key, detailed("eth", LISTED)).await;
    assert_eq!(
        (status, &body["score"], &body["label"]),
        (200, &json!(100.0), &json!("Order 7"))
    );
    assert_eq!(body["flags"][0]["category"], "sanctions");
    assert_eq!(body["entities"][0]["name"], "Zoltar Quenthabar");
    assert_eq!(
        body["exposures"]["coverage"]["unresolved"], 100.0,
        "nothing was traced, and it says so"
    );
    let (status, _) = server.post(PATH, &key, ask("address", "btc", UNKNOWN)).await;
    assert_eq!(status, 404, "what nobody knows is not called clean");
    let hash = "e3bf3d07d4b0375638d5f1db5255fe07ba2c4cb067cd81b84ee974b6585fb468";
    let (status, _) = server.post(PATH, &key, ask("transaction", "btc", hash)).await;
    assert_eq!(status, 404);

    // Every screening is stored, failed ones too, and can be found by ID, address and label.
    let list = |arguments: &[&str]| {
        let merchant = demo["merchantId"].as_str().unwrap();
        let all = [
            &["monitoring", "list", "--sandbox", "--merchant", merchant],
            arguments,
        ]
        .concat();
        let lines = server.bonafide(&all);
        lines
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect::<Vec<Value>>()
    };
    assert_eq!(list(&["--limit", "1000"]).len(), 18 * 8 + 3);
    let found = list(&["--currency", "eth", "--query", &LISTED.to_lowercase()]);
    assert_eq!(
        (found.len(), &found[0]["query"], &found[0]["status"]),
        (1, &json!(LISTED), &json!(200))
    );
    assert_eq!(
        found[0]["response"],
        body_of(&server, &key, detailed("eth", LISTED), &found[0]).await
    );
    assert!(
        list(&["--currency", "etc", "--query", LISTED]).is_empty(),
        "another chain"
    );
    assert_eq!(list(&["--label", "Order 7"]).len(), 2);
    assert_eq!(list(&["--currency", "btc", "--query", UNKNOWN])[0]["status"], 404);
});

on_both!(a_score_is_drawn_for_its_account, |backend| {
    let (server, demo) = Server::demo(backend, &[]).await;
    let key = crate::harness::Key::of_demo(&demo);
    // The picture of a simple report can be drawn too.
    let (_, body) = server.post(PATH, &key, ask("address", "eth", LISTED)).await;
    let id = body["queryId"].as_str().unwrap();
    let get = async |key: &crate::harness::Key, path: &str| {
        let request = server.request(Method::GET, &format!("{PATH}/{path}"), key);
        request.send().await.unwrap()
    };
    let (status, picture) = answer(get(&key, &format!("{id}/picture")).await).await;
    assert_eq!(
        (status, &picture["nodes"][0]),
        (
            200,
            &json!({"name": LISTED, "category": "sanctions", "column": 0, "severity": 100, "percentage": 0.0})
        )
    );
    assert_eq!(picture["links"], json!([]));
    let svg = get(&key, &format!("{id}/picture?format=svg")).await;
    assert_eq!(
        (
            svg.status().as_u16(),
            svg.headers()["content-type"].to_str().unwrap()
        ),
        (200, "image/svg+xml")
    );
    assert!(
        svg.headers()["content-security-policy"]
            .to_str()
            .unwrap()
            .contains("'none'")
    );
    assert!(svg.text().await.unwrap().starts_with("<svg "));

    let (status, body) = answer(get(&key, &format!("{id}/picture?format=png")).await).await;
    assert_eq!(
        (status, &body["errors"]),
        (400, &json!(["format - must be json or svg"]))
    );
    let stranger = server.merchant(true);
    for (key, path) in [
        (&stranger.live, format!("{id}/picture")),
        (&stranger.sandbox, format!("{id}/picture?format=svg")),
        (&key, "none/picture".to_owned()),
        (&key, "00000000-0000-7000-8000-000000000000/picture".to_owned()),
    ] {
        let (status, body) = answer(get(key, &path).await).await;
        assert_eq!((status, &body["success"]), (404, &json!(false)), "{path}");
    }
    let unknown = ask("address", "btc", UNKNOWN);
    assert_eq!(server.post(PATH, &key, unknown).await.0, 404);
});

/// The response to a repeated request, with the ID of the stored one.
async fn body_of(server: &Server, key: &crate::harness::Key, body: Value, kept: &Value) -> Value {
    let (_, mut again) = server.post(PATH, key, body).await;
    again["queryId"] = kept["queryId"].clone();
    again
}

on_both!(labels_and_delistings_are_seen_at_once, |backend| {
    let server = Server::start(backend, &[]).await;
    let merchant = server.merchant(true);
    let (status, body) = server
        .post(PATH, &merchant.live, ask("address", "btc", SATOSHI))
        .await;
    assert_eq!(
        (status, &body["success"]),
        (503, &json!(false)),
        "without lists nothing is called clean"
    );

    let people: Vec<Value> = (0..20).map(person).collect();
    import_list(
        &server,
        "invented.ftm.json",
        &[people.clone(), vec![wallet(SATOSHI, "2026-01-02")]].concat(),
    );
    let question = detailed("btc", SATOSHI);
    let body = until(&server, &merchant, &question, |status, _| status == 200).await;
    assert_eq!(body["score"], 100.0);
    assert_eq!(
        body["entities"],
        json!([{"name": "Invented Wallet", "category": "sanctions"}])
    );

    let table = format!(
        "currency,address,name,category,confidence\nbtc,{SATOSHI},Mixy,mixer,40\nbtc,{UNKNOWN},Shop,other,90\n"
    );
    let old = "btc,1dice8EMZmqKvrGE4Qc9bUFf9PX3xaYDp,Listed once,sanctions,90\n";
    let table = format!("{table}{old}");
    let file = server.dir.path().join("mine.csv");
    std::fs::write(&file, table).unwrap();
    server.bonafide(&["labels", "import", file.to_str().unwrap()]);
    assert!(server.bonafide(&["labels", "status"]).contains("mine"));

    // After a delisting, the authority's label is gone and other labels remain.
    import_list(
        &server,
        "invented.ftm.json",
        &[
            people,
            vec![json!({"id": "x", "schema": "Person",
        "properties": {"name": ["Invented Person X"]}, "last_seen": "2026-01-03"})],
        ]
        .concat(),
    );
    let body = until(&server, &merchant, &question, |status, body| {
        status == 200 && body["score"] != 100.0
    })
    .await;
    let body = if body["score"] == 30.0 {
        body
    } else {
        until(&server, &merchant, &question, |_, b| b["score"] == 30.0).await
    };
    assert_eq!(body["flags"], json!([{"name": "mixer", "category": "mixer"}]));
    let body = until(
        &server,
        &merchant,
        &ask("address", "btc", UNKNOWN),
        |status, _| status == 200,
    )
    .await;
    assert_eq!(body["score"], 0.0, "known, and harmless");
    let formerly = detailed("btc", "1dice8EMZmqKvrGE4Qc9bUFf9PX3xaYDp");
    let body = until(&server, &merchant, &formerly, |status, _| status == 200).await;
    assert_eq!(
        (&body["score"], &body["entities"][0]["category"]),
        (&json!(0.0), &json!("other")),
        "only a list in use says who is sanctioned"
    );
    assert!(body.get("organizationLabelName").is_none());

    // An account's own address book applies to that account only.
    let other = server.merchant(true);
    let own = server.dir.path().join("own.csv");
    let stranger = "3P14159f73E4gFr7JterCCQh9QjiTjiZrG";
    std::fs::write(
        &own,
        format!("currency,address,name,category\nbtc,{stranger},Partner,exchange\n"),
    )
    .unwrap();
    server.bonafide(&[
        "labels",
        "import",
        "--merchant",
        &merchant.id,
        own.to_str().unwrap(),
    ]);
    let body = until(&server, &merchant, &detailed("btc", stranger), |status, _| {
        status == 200
    })
    .await;
    assert_eq!(body["organizationLabelName"], "Partner");
    let (status, _) = server
        .post(PATH, &other.live, ask("address", "btc", stranger))
        .await;
    assert_eq!(status, 404);
});

/// A pasted secret appears in no response, no log and no file.
#[tokio::test(flavor = "multi_thread")]
async fn a_pasted_private_key_leaves_no_trace() {
    let (server, demo) = Server::demo(Backend::Sqlite, &[]).await;
    let key = crate::harness::Key::of_demo(&demo);
    let secret = "5HueCGU8rMjxEXxiPuD5BDku4MkFqeZyd4dZ1jvhTVqvbTLvyTJ";
    for kind in ["address", "transaction"] {
        let (status, body) = server.post(PATH, &key, ask(kind, "btc", secret)).await;
        assert_eq!(status, 400);
        assert!(body["errors"][0].as_str().unwrap().contains("secret") && !body.to_string().contains(secret));
    }
    for entry in std::fs::read_dir(server.dir.path()).unwrap().flatten() {
        if entry.path().is_file() {
            let bytes = std::fs::read(entry.path()).unwrap();
            let found = bytes
                .windows(secret.len())
                .any(|window| window == secret.as_bytes());
            assert!(!found, "{}", entry.path().display());
        }
    }
}
