//! Links and their exchange (contract §4.3, §4.4): what a token opens, for whom, and how often.

use super::*;

on_both!(a_link_is_made_as_the_contract_says, |backend| {
    let account = Account::demo(backend, &["--websdk-url", "https://verify.example.com/v"]).await;
    let (server, key) = (&account.server, &account.key);
    let (flow, group) = (account.flow("data-only"), account.group.as_str());
    let good = json!({"userId": "user 1/ü", "groupId": group, "flowId": flow});
    let response = server
        .request(Method::POST, LINK, key)
        .json(&good)
        .send()
        .await
        .unwrap();
    assert_eq!(response.headers()["cache-control"], "no-store");
    let (status, body) = answer(response).await;
    assert_eq!((status, body.as_object().unwrap().len()), (200, 1));
    let url = body["url"].as_str().unwrap();
    let token = url
        .strip_prefix("https://verify.example.com/v?iswebsdklink=true&token=")
        .expect(url);
    assert!(
        token.len() >= 43
            && token
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b))
    );
    let change = |changes: Value| {
        let mut body = good.clone();
        body.as_object_mut()
            .unwrap()
            .extend(changes.as_object().unwrap().clone());
        body
    };
    let other = server.merchant(true);
    let others_flow = server.flow(&other, &json!({"name": "theirs"}));
    let lonely = account.create_flow(&json!({"name": "lonely"}));
    for (body, status, text) in [
        (json!({}), 400, vec!["userId", "groupId", "flowId"]),
        (
            change(json!({"userId": 7})),
            400,
            vec!["userId - must be a string"],
        ),
        (
            change(json!({"groupId": null})),
            400,
            vec!["groupId - must be a string"],
        ),
        (
            change(json!({"flowId": [flow]})),
            400,
            vec!["flowId - must be a string"],
        ),
        (
            change(json!({"userId": ""})),
            400,
            vec!["userId - cannot be empty"],
        ),
        (
            change(json!({"userId": "x".repeat(501)})),
            400,
            vec!["userId - must have at most 500"],
        ),
        (change(json!({"flowId": NOBODY})), 404, vec!["Flow not found"]),
        (change(json!({"flowId": "x"})), 404, vec!["Flow not found"]),
        (
            change(json!({"flowId": others_flow})),
            404,
            vec!["Flow not found"],
        ),
        (change(json!({"groupId": NOBODY})), 404, vec!["Group not found"]),
        (change(json!({"groupId": "x"})), 404, vec!["Group not found"]),
        (change(json!({"flowId": lonely})), 400, vec!["not a member"]),
    ] {
        let (got, answer) = server.post(LINK, key, body.clone()).await;
        assert_eq!(got, status, "{body}: {answer}");
        assert!(answer["error"].is_string(), "{answer}");
        let message = answer["message"].as_str().unwrap();
        assert!(text.iter().all(|text| message.contains(text)), "{body}: {answer}");
    }
    let longest = change(json!({"userId": "ü".repeat(500)}));
    assert_eq!(server.post(LINK, key, longest).await.0, 200);
    let live = Key {
        secret: "wrong".into(),
        ..key.clone()
    };
    assert_eq!(
        server.post(LINK, &live, good.clone()).await.0,
        400,
        "wrong credentials"
    );
    let bare = server.http.post(format!("{}{LINK}", server.base)).json(&good);
    assert_eq!(answer(bare.send().await.unwrap()).await.0, 401, "no credentials");
});

on_both!(an_exchange_gives_the_session, |backend| {
    let mut account = Account::demo(backend, &[]).await;
    let overrides = json!([{"countryAlpha2": "DE", "countryAlpha3": "DEU", "countryName": "Germany", "restricted": true}]);
    let fields = json!({"dob": true, "liveSelfie": true, "documentCapture": true, "zzz": {"a": [1]}});
    account
        .add_flow(json!({
            "name": "full", "defaultFields": fields, "defaultDocumentTypes": ["PASSPORT", "ID_CARD"],
            "countryOverrides": overrides, "settings": {"attemptsPerLink": 5},
        }))
        .await;
    let token = account.link("full", "user 1/ü").await;
    let response = exchange_from(&account.server, json!({"token": token}), None).await;
    let (status, body) = answer(response).await;
    assert_eq!(status, 200, "{body}");
    let uuid = |name: &str| body[name].as_str().unwrap().parse::<uuid::Uuid>().is_ok();
    assert!(uuid("session_id") && uuid("sdk_id"));
    let expected = json!({
        "access_token": body["access_token"], "session_id": body["session_id"], "sdk_id": body["sdk_id"],
        "is_sandbox": true, "expires_in": 600, "userId": "user 1/ü", "groupId": account.group,
        "flowId": account.flow("full"), "defaultFields": fields, "defaultDocumentTypes": ["PASSPORT", "ID_CARD"],
        "countryOverrides": body["countryOverrides"], "biometricType": "live selfie", "documentUploadType": "fileCapture",
    });
    assert_eq!(body, expected, "no member more or less");
    assert_eq!(body["countryOverrides"][0]["countryAlpha3"], "DEU");
    assert_eq!(body["countryOverrides"][0]["restricted"], true);

    let id = body["session_id"].as_str().unwrap();
    let polled = account.poll(id).await;
    let created_at = polled["created_at"].clone();
    assert!(created_at.as_str().unwrap().ends_with('Z'));
    let expected = json!({
        "session_id": id, "user_id": "user 1/ü", "status": "pending", "result": "{}", "type": "verification",
        "created_at": created_at, "completed_at": null, "duration_seconds": null,
        "metadata": {"attempts": 0, "maxAttempts": 5, "stage": "open"},
    });
    assert_eq!(polled, expected);

    let again = account.session("full", "user-2").await;
    let (_, second) = exchange(
        &account.server,
        json!({"token": account.link("full", "user-3").await}),
    )
    .await;
    let (_, other) = exchange(
        &account.server,
        json!({"token": account.link("liveness", "user-4").await}),
    )
    .await;
    assert_eq!(second["sdk_id"], body["sdk_id"], "stable for a Flow");
    assert_ne!(other["sdk_id"], body["sdk_id"]);
    assert_eq!(
        (&other["biometricType"], &other["documentUploadType"]),
        (&json!("liveness"), &json!("fileUpload"))
    );
    assert_ne!(again.id, id);
});

on_both!(a_bad_token_is_told_why, |backend| {
    let account = Account::demo(backend, &[]).await;
    let server = &account.server;
    let refused = async |body: Value, status: u16, error: &str| {
        let (got, answer) = exchange(server, body.clone()).await;
        assert_eq!(
            (got, answer["error"].as_str()),
            (status, Some(error)),
            "{body}: {answer}"
        );
        assert!(!answer["message"].as_str().unwrap().is_empty());
    };
    for body in [
        json!({}),
        json!({"token": ""}),
        json!({"token": null}),
        json!({"token": 7}),
        json!({"token": ["x"]}),
    ] {
        refused(body, 400, "token_required").await;
    }
    let token = account.link("data-only", "ada").await;
    let flipped = tampered(&token);
    for bad in [
        flipped.as_str(),
        &token[1..],
        &token[..token.len() - 1],
        &token.to_uppercase(),
        &token[..8],
        "x",
        "é€😀",
        " ",
        &"x".repeat(10_000),
        &format!("{token} "),
        &format!("{token}\0"),
    ] {
        refused(json!({"token": bad}), 401, "invalid_token").await;
    }
    assert_eq!(
        exchange(server, json!({"token": token})).await.0,
        200,
        "tampering used nothing up"
    );
    refused(json!({"token": token}), 410, "token_used").await;

    let late = account.link("data-only", "ada").await;
    server
        .sql("update link_tokens set expires_at = expires_at - 600000 where used_at is null")
        .await;
    refused(json!({"token": late}), 410, "token_expired").await;

    // Access tokens and link tokens are not interchangeable.
    let session = account.session("data-only", "ada").await;
    refused(json!({"token": session.token}), 401, "invalid_token").await;
    let link = account.link("data-only", "ada").await;
    let request = server
        .http
        .post(format!("{}{VERIFY}", server.base))
        .bearer_auth(&link);
    let (status, body) = answer(request.multipart(session.form(json!({}))).send().await.unwrap()).await;
    assert_eq!(
        (
            status,
            body.as_object().unwrap().len(),
            body["message"].is_string()
        ),
        (401, 1, true),
        "{body}"
    );

    let not_json = server
        .http
        .post(format!("{}{EXCHANGE}", server.base))
        .body("{")
        .send()
        .await
        .unwrap();
    assert_eq!(not_json.headers()["cache-control"], "no-store");
    assert_eq!(answer(not_json).await.0, 400);
    let get = server
        .http
        .get(format!("{}{EXCHANGE}", server.base))
        .send()
        .await
        .unwrap();
    assert_eq!(answer(get).await.0, 405);
});

on_both!(what_a_link_leads_to_may_be_gone, |backend| {
    let mut account = Account::demo(backend, &[]).await;
    account.add_flow(json!({"name": "short-lived"})).await;
    let token = account.link("short-lived", "ada").await;
    let session = account.session("short-lived", "bob").await;
    let flow = account.flow("short-lived").to_owned();
    let group = format!("/v2/public/groups/{}", account.group);
    let (server, key) = (&account.server, &account.key);

    server.put(&group, key, json!({"flowIds": []})).await;
    let (status, body) = exchange(server, json!({"token": token})).await;
    assert_eq!(
        (status, &body["error"]),
        (400, &json!("invalid_request")),
        "{body}"
    );
    let (status, body) = session.attempt("Quill").await;
    assert_eq!(
        (status, &body["message"]),
        (400, &json!("Flow does not belong to the specified group"))
    );
    server.put(&group, key, json!({"flowIds": [flow]})).await;
    assert_eq!(session.attempt("SANDBOX-2509").await.0, 200, "back in its Group");

    server.delete(&format!("/v2/public/flows/{flow}"), key).await;
    let (status, body) = exchange(server, json!({"token": token})).await;
    assert_eq!(
        (status, &body["error"], &body["message"]),
        (404, &json!("not_found"), &json!("Flow not found"))
    );
    let (status, body) = session.attempt("Quill").await;
    assert_eq!((status, &body["message"]), (404, &json!("Flow not found")));
    session.assert_state("pending", 1, "open").await;

    account.regroup().await;
    let other = account.link("data-only", "ada").await;
    server.delete(&group, key).await;
    let (status, body) = exchange(server, json!({"token": other})).await;
    assert_eq!((status, &body["message"]), (404, &json!("Group not found")));
});

on_both!(blocked_countries_are_shut_out, |backend| {
    let mut account = Account::demo(backend, &["--trusted-proxies", "127.0.0.1"]).await;
    let blocked = json!([{"countryAlpha2": "NL", "countryName": "Netherlands"}]);
    account
        .add_flow(json!({"name": "not-nl", "geoBlockedCountries": blocked}))
        .await;
    account
        .server
        .bonafide(&["merchant", "set", &account.id, r#"blockedCountries=["US"]"#]);
    let from = async |token: &str, address: &str| {
        answer(exchange_from(&account.server, json!({"token": token}), Some(address)).await).await
    };
    let token = account.link("not-nl", "ada").await;
    for (address, country) in [
        ("8.8.8.8", "US"),
        ("2001:4860:4860::8888", "US"),
        ("::ffff:8.8.8.8", "US"),
        ("193.0.6.139", "NL"),
        ("127.0.0.1, 193.0.6.139", "NL"),
        ("192.0.2.1, 8.8.8.8, 127.0.0.1", "US"),
    ] {
        let (status, body) = from(&token, address).await;
        let expected =
            json!({"error": "geo_blocked", "detectedCountry": country, "message": body["message"]});
        assert_eq!((status, &body), (403, &expected), "{address}");
    }
    assert_eq!(
        from(&account.link("data-only", "ada").await, "193.0.6.139")
            .await
            .0,
        200,
        "blocked by the Flow only"
    );
    // An address that the client put before its own in the header is ignored.
    assert_eq!(
        from(&token, "8.8.8.8, 194.25.0.60").await.0,
        200,
        "blocked exchanges used nothing up"
    );
    let (status, body) = from(&account.link("not-nl", "ada").await, "10.1.2.3").await;
    assert_eq!(status, 200, "a country that is not known is allowed: {body}");

    let strict = account
        .server
        .second_process(&["--trusted-proxies", "127.0.0.1", "--geo-unknown", "block"]);
    let token = account.link("data-only", "ada").await;
    let response = exchange_from(&strict, json!({"token": token}), Some("10.1.2.3")).await;
    let (status, body) = answer(response).await;
    assert_eq!(
        (status, &body["error"], &body["detectedCountry"]),
        (403, &json!("geo_blocked"), &Value::Null)
    );
    assert_eq!(from(&token, "10.1.2.3").await.0, 200, "not used up");
});

on_both!(exchanges_are_limited_by_address, |backend| {
    let account = Account::demo(
        backend,
        &["--rate-exchange", "3", "--trusted-proxies", "127.0.0.1"],
    )
    .await;
    let body = json!({"token": "x"});
    let from = async |address| exchange_from(&account.server, body.clone(), Some(address)).await;
    for left in [2, 1, 0] {
        let response = from("192.0.2.7").await;
        assert_eq!(
            response.headers()["ratelimit-remaining"],
            left.to_string().as_str()
        );
        assert_eq!(response.status(), 401);
    }
    let response = from("192.0.2.7").await;
    assert!(response.headers().contains_key("retry-after"));
    let (status, body) = answer(response).await;
    assert_eq!((status, &body["error"]), (429, &json!("rate_limited")), "{body}");
    assert_eq!(
        from("192.0.2.8").await.status(),
        401,
        "another address has its own"
    );
});

on_both!(a_thousand_random_tokens_open_nothing, |backend| {
    let account = Account::demo(backend, &[]).await;
    let real = account.link("data-only", "ada").await;
    let tokens: Vec<String> = (0..1_000)
        .map(|n| format!("{}{:x}{:x}", &real[..8], uuid::Uuid::new_v4().as_u128(), n))
        .collect();
    let account = Arc::new(account);
    let mut tasks = Vec::new();
    for part in tokens.chunks(100) {
        let (account, part) = (Arc::clone(&account), part.to_vec());
        tasks.push(tokio::spawn(async move {
            for token in part {
                let (status, body) = exchange(&account.server, json!({"token": token})).await;
                assert_eq!((status, &body["error"]), (401, &json!("invalid_token")));
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(exchange(&account.server, json!({"token": real})).await.0, 200);
});

// 200 clients use one token at once: on one server, then on two that share the database.
on_both!(one_exchange_wins, |backend| {
    let account = Account::demo(backend, &[]).await;
    let second = account.server.second_process(&["--rate-exchange", "0"]);
    let bases = [account.server.base.clone(), second.base.clone()];
    for servers in [&bases[..1], &bases[..]] {
        let token = account.link("data-only", "ada").await;
        let tasks: Vec<_> = (0..200)
            .map(|n| {
                let url = format!("{}{EXCHANGE}", servers[n % servers.len()]);
                let request = account.server.http.post(url).json(&json!({"token": token}));
                tokio::spawn(async move { answer(request.send().await.unwrap()).await })
            })
            .collect();
        let mut winners = Vec::new();
        for task in tasks {
            match task.await.unwrap() {
                (200, body) => winners.push(body),
                (410, body) => assert_eq!(body["error"], "token_used"),
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(winners.len(), 1, "on {} servers", servers.len());
        account.poll(winners[0]["session_id"].as_str().unwrap()).await;
    }
});
