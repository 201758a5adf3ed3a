//! The server behaviour that the hosted page relies on: repeated uploads, withheld data, limits, and
//! connections that remain usable after a refusal.

use super::*;

on_both!(a_page_repeats_its_upload_safely, |backend| {
    let account = Account::demo(backend, &[]).await;
    let session = account.session("data-only", "ada").await;
    let other = account.session("data-only", "bob").await;
    let send = async |session: &Session<'_>, changes: Value| {
        let request = session
            .request(Method::POST, VERIFY)
            .header("Idempotency-Key", "k-1");
        let response = request.multipart(session.form(changes)).send().await.unwrap();
        let replayed = response.headers().contains_key("idempotency-replayed");
        let (status, body) = answer(response).await;
        (status, body, replayed)
    };
    let (status, first, replayed) = send(&session, json!({})).await;
    assert_eq!((status, replayed), (200, false));
    assert_eq!(
        send(&session, json!({})).await,
        (200, first, true),
        "even though the session has ended"
    );
    assert_eq!(send(&session, json!({"lastName": "Other"})).await.0, 422);
    session.assert_state("success", 1, "done").await;
    let (status, theirs, replayed) = send(&other, json!({})).await;
    assert_eq!(
        (status, replayed),
        (200, false),
        "the same key in another session is another key"
    );
    assert_eq!(theirs["idvResult"]["sessionId"], other.id.as_str());
    let request = session
        .request(Method::POST, VERIFY)
        .header("Idempotency-Key", "k-2");
    assert_eq!(
        request
            .multipart(session.form(json!({})))
            .send()
            .await
            .unwrap()
            .status(),
        401
    );
});

on_both!(the_browser_need_not_see_sanctions_hits, |backend| {
    let mut account = Account::demo(backend, &[]).await;
    account
        .add_flow(json!({"name": "discreet", "settings": {"hideSanctionsDetail": true}}))
        .await;
    let hit = json!({"firstName": "Zoltar", "lastName": "Quenthabar"});
    let session = account.session("discreet", "ada").await;
    let (status, shown) = session.send(session.form(hit.clone())).await;
    assert_eq!(
        (
            status,
            &shown["kycResults"]["status"],
            &shown["kycResults"]["code"]
        ),
        (200, &json!("match"), &json!(2702))
    );
    assert_eq!(shown["kycResults"]["results"], json!([]));
    assert!(!shown.to_string().contains("caption"));
    let polled = session.poll().await;
    let result: Value = serde_json::from_str(polled["result"].as_str().unwrap()).unwrap();
    assert!(
        result["kycResults"]["results"][0]["caption"].is_string(),
        "the merchant sees it: {result}"
    );
    let frank = account.session("data-only", "bob").await;
    let (_, shown) = frank.send(frank.form(hit)).await;
    assert!(
        shown["kycResults"]["results"][0]["caption"].is_string(),
        "where the Flow does not hide it"
    );
});

/// Neither link and access tokens nor the data with them appear in the log.
#[tokio::test(flavor = "multi_thread")]
async fn the_log_holds_no_token() {
    let account = Account::demo(Backend::Sqlite, &[]).await;
    let link = account.link("data-only", "xanthippe@example.com").await;
    let session = account.session("data-only", "xanthippe@example.com").await;
    session.attempt("SANDBOX-2509").await;
    session.attempt("Quill").await;
    session.attempt("Quill").await;
    for path in [
        format!("{EXCHANGE}?token={link}"),
        format!("/verify?iswebsdklink=true&token={link}"),
        format!("{POLL}/{link}"),
        format!("/nowhere/{link}"),
    ] {
        account
            .server
            .request(Method::GET, &path, &account.key)
            .send()
            .await
            .unwrap();
    }
    exchange(&account.server, json!({"token": format!("{link}x")})).await;
    exchange(&account.server, json!({"token": link})).await;
    exchange(&account.server, json!({"token": link})).await;
    let log = account.server.log().await;
    assert!(log.contains("answered"), "{log}");
    for text in [link.as_str(), &session.token, "xanthippe", &account.key.secret] {
        assert!(!log.contains(text), "{text} is in the log");
    }
}

/// A `liveness` Flow requires a passed challenge from a page (2105). With a key, only the passive cue counts.
#[tokio::test(flavor = "multi_thread")]
async fn a_liveness_flow_wants_its_challenge_from_a_page() {
    let account = Account::demo(Backend::Sqlite, &[]).await;
    let session = account.session("liveness", "user-1").await;
    let folder = workspace().join("specimens");
    let index = std::fs::read(folder.join("index.json")).expect("specimens: run `make specimens`");
    let index: Vec<Value> = serde_json::from_slice(&index).unwrap();
    let specimen = index
        .iter()
        .find(|entry| entry["name"] == "pass-passport")
        .unwrap();
    let form = || {
        let mut fields = specimen["fields"].clone();
        fields["externalUserId"] = json!("user-1");
        let mut form = session.form(fields);
        for (field, file) in specimen["files"].as_object().unwrap() {
            let bytes = std::fs::read(folder.join(file.as_str().unwrap())).unwrap();
            let part = reqwest::multipart::Part::bytes(bytes).file_name("x.jpg");
            form = form.part(field.clone(), part);
        }
        form
    };
    let (status, body) = session.send(form()).await;
    assert_eq!(
        (status, &body["idvResult"]["codes"]),
        (200, &json!([2105])),
        "{body}"
    );
    session.assert_state("pending", 1, "open").await;
    let with_key = account
        .server
        .request(Method::POST, VERIFY, &account.key)
        .multipart(form());
    let (status, body) = answer(with_key.send().await.unwrap()).await;
    assert_eq!((status, &body["success"]), (200, &json!(true)), "{body}");
}

on_both!(each_session_has_its_own_rate_limit, |backend| {
    let account = Account::demo(backend, &["--rate-verify", "2"]).await;
    let first = account.session("data-only", "ada").await;
    let second = account.session("data-only", "bob").await;
    for _ in 0..2 {
        assert_eq!(first.attempt("SANDBOX-2509").await.0, 200);
    }
    let (status, body) = first.attempt("SANDBOX-2509").await;
    assert_eq!((status, &body["success"]), (429, &json!(false)), "{body}");
    first.assert_state("pending", 2, "open").await;
    assert_eq!(second.attempt("SANDBOX-2509").await.0, 200);
});

on_both!(live_and_sandbox_sessions_stay_apart, |backend| {
    let server = Server::start(backend, &[]).await;
    let merchant = server.merchant(true);
    let file = server.dir.path().join("flow.json");
    std::fs::write(&file, r#"{"name": "live"}"#).unwrap();
    let file = file.to_str().unwrap();
    let arguments = [
        "flow",
        "create",
        "--merchant",
        &merchant.id,
        "--file",
        file,
        "--json",
    ];
    let made: Value = serde_json::from_str(&server.bonafide(&arguments)).unwrap();
    let flow = made["flowId"].as_str().unwrap();
    let group = json!({"name": "g", "flowIds": [flow]});
    let (_, group) = server.post("/v2/public/groups", &merchant.live, group).await;
    let link = json!({"userId": "ada", "groupId": group["groupId"], "flowId": flow});
    assert_eq!(server.post(LINK, &merchant.sandbox, link.clone()).await.0, 404);
    let (_, made) = server.post(LINK, &merchant.live, link).await;
    let url = made["url"].as_str().unwrap();
    let token = url
        .strip_prefix(&format!("{}/verify?iswebsdklink=true&token=", server.base))
        .expect(url);
    let (status, session) = exchange(&server, json!({"token": token})).await;
    assert_eq!(
        (status, &session["is_sandbox"]),
        (200, &json!(false)),
        "{session}"
    );
    let path = format!("{POLL}/{}", session["session_id"].as_str().unwrap());
    assert_eq!(server.get(&path, &merchant.live).await.0, 200);
    assert_eq!(server.get(&path, &merchant.sandbox).await.0, 404);
});

/// A refusal before the body was read leaves the connection usable for further requests.
#[tokio::test(flavor = "multi_thread")]
async fn refusals_keep_the_connection() {
    let server = Server::start(Backend::Sqlite, &["--rate-failed-auth", "0"]).await;
    let one_connection = reqwest::Client::builder()
        .pool_max_idle_per_host(1)
        .build()
        .unwrap();
    for size in [0, 1_000, 100_000, 200_000] {
        for _ in 0..50 {
            let request = one_connection
                .post(format!("{}{VERIFY}", server.base))
                .bearer_auth("x");
            let response = request
                .multipart(Form::new().text("firstName", "x".repeat(size)))
                .send()
                .await;
            assert_eq!(response.unwrap().status(), 401, "{size}");
        }
    }
}
