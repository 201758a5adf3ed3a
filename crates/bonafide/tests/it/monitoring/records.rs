//! Screenings as they are stored: replayed, carried out once, rate-limited, and listed on the command line.

use reqwest::Method;
use serde_json::{Value, json};

use super::{LISTED, PATH, SATOSHI, UNKNOWN, ask, detailed, import_list, person, until, wallet};
use crate::harness::{Server, answer, on_both};

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

    // The account now gives mixers a lower severity.
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

    // The listed wallet is delisted and the mixer is relabelled. Replays still give the original decisions.
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

    // The same query without an account.
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
    // An index that accepts connections and never responds.
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
    // Replays wait in the same queue as screenings.
    let again = labelled["queryId"].as_str().unwrap();
    let busy = auditor
        .post(&format!("/portal/monitoring/{again}/again"), &[])
        .await;
    assert_eq!(busy.status, 503, "{}", busy.body);
    assert!(busy.body.contains("busy"), "{}", busy.body);
});

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

    // Demo addresses of the sandbox, with and without `--sandbox`.
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

    // The API reports a key inside a label, and stores nothing of it.
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
