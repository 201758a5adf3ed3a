//! Contract §2.7, §4.9 and the transaction monitoring part of §7; `decisions.md` §9.

use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{Backend, Merchant, Server, answer, on_both};

const PATH: &str = "/v2/public/transaction-monitoring";
/// Nobody has labelled it.
const UNKNOWN: &str = "1BoatSLRHtKNngkdXEeobR76b53LETtpyT";
const SATOSHI: &str = "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa";
/// On the demo list of sanctions.
const LISTED: &str = "0xDE00000000000000000000000000000000000DE0";

fn ask(kind: &str, currency: &str, query: &str) -> Value {
    json!({"type": kind, "query": query, "currency": currency})
}

fn detailed(currency: &str, query: &str) -> Value {
    json!({"type": "address", "query": query, "currency": currency, "report": "detailed", "label": "Order 7"})
}

/// An invented list, so that lists are there.
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

/// Waits until the running server's answer is as expected: it looks at its folders every few seconds.
async fn until(
    server: &Server,
    merchant: &Merchant,
    body: &Value,
    expected: impl Fn(u16, &Value) -> bool,
) -> Value {
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
    loop {
        let (status, answer) = server.post(PATH, &merchant.live, body.clone()).await;
        if expected(status, &answer) {
            return answer;
        }
        assert!(std::time::Instant::now() < deadline, "{status} {answer}");
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    }
}

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
    // The invented list's wallet, whatever its case.
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

    // Everything is kept: by id, by address, by label; failures too.
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
    // A simple report is drawn too.
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

/// The same request's answer under the kept one's id.
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

    // Delisted: the authority's word is gone, other labels stay.
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

    // An account's own book is its own.
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

on_both!(an_old_decision_is_made_again, |backend| {
    let server = Server::start(backend, &[]).await;
    let merchant = server.merchant(true);
    let people: Vec<Value> = (0..20).map(person).collect();
    let listed = [people.clone(), vec![wallet(SATOSHI, "2026-01-02")]].concat();
    import_list(&server, "invented.ftm.json", &listed);
    let file = server.dir.path().join("mine.csv");
    let table = |name: &str, category: &str| {
        let row = format!("currency,address,name,category,confidence\nbtc,{UNKNOWN},{name},{category},80\n");
        std::fs::write(&file, row).unwrap();
        server.bonafide(&["labels", "import", file.to_str().unwrap()]);
    };
    table("Mixy", "mixer");
    let (sanctioned, mixed) = (detailed("btc", SATOSHI), ask("address", "btc", UNKNOWN));
    let sanctioned = until(&server, &merchant, &sanctioned, |_, body| body["score"] == 100.0).await;
    let first = until(&server, &merchant, &mixed, |_, body| body["score"] == 60.0).await;
    assert_eq!(sanctioned["exposures"]["profileVersion"], 0);

    // The account thinks less of mixers from now on.
    let run = |arguments: &[&str]| {
        let all = [arguments, &["--merchant", &merchant.id]].concat();
        server.try_bonafide(&[&["monitoring"], all.as_slice()].concat())
    };
    let json_of = |arguments: &[&str]| -> Value {
        let output = run(arguments);
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let mut profile = json_of(&["profile", "show"]);
    assert_eq!(
        (&profile["version"], &profile["following"]["maxHops"]),
        (&json!(0), &json!(5))
    );
    profile["categories"]["mixer"]["severity"] = json!(50);
    let own = server.dir.path().join("profile.json");
    let own = own.to_str().unwrap();
    std::fs::write(own, profile.to_string()).unwrap();
    assert_eq!(json_of(&["profile", "set", own]), json!({"version": 1}));
    let second = until(&server, &merchant, &detailed("btc", UNKNOWN), |_, body| {
        body["score"] == 40.0
    })
    .await;
    assert_eq!(second["exposures"]["profileVersion"], 1);
    assert_eq!(
        json_of(&["profile", "show", "--version", "0"])["categories"]["mixer"]["severity"],
        75
    );
    for (member, value, complaint) in [
        (
            "/categories/sanctions/severity",
            json!(10),
            "categories.sanctions.severity - must be 100",
        ),
        (
            "/categories/mixer/fullShare",
            json!("0"),
            "categories.mixer.fullShare",
        ),
        (
            "/following/maxHops",
            json!(99),
            "following.maxHops - must be 1 to 20",
        ),
        ("/version", json!(7), "version - the newest is 1"),
    ] {
        let mut wrong = profile.clone();
        *wrong.pointer_mut(member).unwrap() = value;
        std::fs::write(own, wrong.to_string()).unwrap();
        let output = run(&["profile", "set", own]);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            output.status.code() == Some(2) && text.contains(complaint),
            "{text}"
        );
    }

    // Delisted, and called otherwise: what was decided is decided again.
    let delisted = [
        people,
        vec![json!({"id": "x", "schema": "Person",
        "properties": {"name": ["Invented Person X"]}, "last_seen": "2026-01-03"})],
    ]
    .concat();
    import_list(&server, "invented.ftm.json", &delisted);
    table("Shop", "other");
    until(&server, &merchant, &mixed, |_, body| body["score"] == 0.0).await;
    until(&server, &merchant, &detailed("btc", SATOSHI), |status, _| {
        status == 404
    })
    .await;
    for (answer, score, version) in [(&sanctioned, 100.0, 0), (&first, 60.0, 0), (&second, 40.0, 1)] {
        let again = json_of(&["replay", answer["queryId"].as_str().unwrap()]);
        assert_eq!(
            (
                &again["same"],
                &again["score"],
                &again["scoreAgain"],
                &again["profileVersion"]
            ),
            (&json!(true), &json!(score), &json!(score), &json!(version)),
            "{again}"
        );
        let changed: Vec<&Value> = again["changed"]
            .as_array()
            .unwrap()
            .iter()
            .map(|c| &c["member"])
            .collect();
        assert_eq!(changed, ["/labelSetVersion"]);
    }
    let unknown = run(&["replay", "00000000-0000-7000-8000-000000000000"]);
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("no screening"));

    // The same question without an account.
    let at = |time: &str| -> Value {
        let arguments = ["score", "btc", UNKNOWN, "--report", "simple", "--at", time];
        serde_json::from_str(&server.bonafide(&arguments)).unwrap()
    };
    assert_eq!(at("2999-01-01")["score"], 0.0);
    assert_eq!(
        at("2020-01-01T00:00:00Z")["error"]["status"],
        404,
        "nobody had a name for it"
    );
});

on_both!(a_screening_is_carried_out_once, |backend| {
    let (server, demo) = Server::demo(backend, &["--rate-monitoring", "5"]).await;
    let key = crate::harness::Key::of_demo(&demo);
    let send = async |body: Value| {
        let request = server
            .request(Method::POST, PATH, &key)
            .header("Idempotency-Key", "k-1");
        answer(request.json(&body).send().await.unwrap()).await
    };
    let first = send(ask("address", "eth", LISTED)).await;
    assert_eq!(first.0, 200);
    assert_eq!(send(ask("address", "eth", LISTED)).await, first);
    assert_eq!(send(ask("address", "etc", LISTED)).await.0, 422);
    let statuses = [
        send(json!({})).await.0,
        send(json!({})).await.0,
        server.post(PATH, &key, json!({})).await.0,
    ];
    assert_eq!(statuses[2], 429, "{statuses:?}");
});

on_both!(too_many_screenings_are_told_so, |backend| {
    // An index that takes connections and never answers.
    let index = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let chain_index = format!("btc=http://{}", index.local_addr().unwrap());
    let flags = [
        "--chain-index",
        &chain_index,
        "--workers",
        "1",
        "--rate-monitoring",
        "0",
    ];
    let (server, demo) = Server::demo(backend, &flags).await;
    let key = crate::harness::Key::of_demo(&demo);
    let (_, labelled) = server.post(PATH, &key, ask("address", "eth", LISTED)).await;
    let merchant = demo["merchantId"].as_str().unwrap();
    let auditor = crate::portal::Browser::sign_up(&server, merchant, "auditor").await;
    let mut asked: tokio::task::JoinSet<(u16, Value)> = tokio::task::JoinSet::new();
    for _ in 0..60 {
        let request = server.request(Method::POST, PATH, &key);
        let request = request.json(&ask("address", "btc", UNKNOWN));
        asked.spawn(async move { answer(request.send().await.unwrap()).await });
    }
    let (status, body) = tokio::time::timeout(std::time::Duration::from_secs(10), asked.join_next())
        .await
        .unwrap()
        .unwrap()
        .unwrap();
    assert_eq!(
        (status, &body["message"]),
        (503, &json!("The server is busy; please try again shortly"))
    );
    // Making an old decision again waits in the same queue.
    let again = labelled["queryId"].as_str().unwrap();
    let busy = auditor
        .post(&format!("/portal/monitoring/{again}/again"), &[])
        .await;
    assert_eq!(busy.status, 503, "{}", busy.body);
    assert!(busy.body.contains("busy"), "{}", busy.body);
});

/// A secret that someone pastes is in no answer, no log and no file.
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

on_both!(the_command_line_says_what_it_did, |backend| {
    let server = Server::start(backend, &[]).await;
    let people: Vec<Value> = (0..20).map(person).collect();
    import_list(&server, "invented.ftm.json", &people);
    let key = "5HueCGU8rMjxEXxiPuD5BDku4MkFqeZyd4dZ1jvhTVqvbTLvyTJ";
    let file = server.dir.path().join("mine.csv");
    let rows = format!(
        "btc,{UNKNOWN},Mixy,Mixxer\nbtc,{SATOSHI},Mixy,mixing-service\nbtc,{SATOSHI},key {key},mixer\n"
    );
    std::fs::write(&file, format!("currency,address,name,category\n{rows}")).unwrap();
    let import = ["labels", "import", file.to_str().unwrap()];
    let summary = server.bonafide(&import);
    assert!(
        summary.contains("unknown category \"Mixxer\" in 1 rows")
            && summary.contains("rejected at 4: name - is a secret"),
        "{summary}"
    );
    let told: Value = serde_json::from_str(&server.bonafide(&[&import[..], &["--json"]].concat())).unwrap();
    assert_eq!(
        (&told["labels"], &told["rejected"], &told["unknownCategories"]),
        (&json!(2), &json!(1), &json!({"Mixxer": 1}))
    );
    assert!(!summary.contains(key) && !told.to_string().contains(key));

    let score = |query: &str, more: &[&str]| {
        let output = server.try_bonafide(&[&["score", "btc", query], more].concat());
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        (
            output.status.code(),
            answer,
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    let (code, answer, said) = score(SATOSHI, &[]);
    assert_eq!(
        (code, &answer["exposures"]["source"]),
        (Some(0), &json!("labels"))
    );
    assert!(
        said.contains("labels alone") && said.contains("--chain-index btc=URL"),
        "{said}"
    );
    let (_, answer, _) = score("3P14159f73E4gFr7JterCCQh9QjiTjiZrG", &[]);
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(
        message.contains("only labels") && message.contains("--chain-index btc=URL"),
        "{message}"
    );

    // A picture that cannot be written.
    let picture = server.dir.path().join("no such folder").join("out.svg");
    let picture = picture.to_str().unwrap();
    for query in [SATOSHI, "3P14159f73E4gFr7JterCCQh9QjiTjiZrG"] {
        let (code, answer, said) = score(query, &["--svg", picture]);
        assert_eq!((code, answer["score"].is_number()), (Some(1), query == SATOSHI));
        assert!(said.contains(&format!("{picture} was not written")), "{said}");
    }

    // The sandbox's addresses, there and elsewhere.
    let demo = |outcome| {
        let address = chain::sandbox::address(chain::currency::Currency::Btc, outcome);
        address.unwrap().canonical
    };
    let (_, answer, _) = score(&demo(45), &[]);
    assert!(
        answer["error"]["message"].as_str().unwrap().contains("--sandbox"),
        "{answer}"
    );
    assert_eq!(score(&demo(45), &["--sandbox"]).1["score"], 45.0);
    assert_eq!(score(&demo(504), &["--sandbox"]).1["error"]["status"], 504);

    // What the API says of a key among a label's words, and that nothing of it is kept.
    let merchant = server.merchant(true);
    let mut body = ask("address", "btc", SATOSHI);
    body["label"] = format!("key {key}").into();
    let (status, refused) = server.post(PATH, &merchant.live, body).await;
    assert_eq!(status, 400);
    let error = refused["errors"][0].as_str().unwrap();
    assert!(
        error.starts_with("label - is a secret") && !error.contains(key),
        "{error}"
    );
});
