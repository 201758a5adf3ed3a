//! The course of a session (contract §2.4, §4.5, §4.6): polls, attempts, reviews, and expiry.

use super::*;

on_both!(polls_answer_in_their_shape, |backend| {
    let account = Account::demo(backend, &[]).await;
    let session = account.session("data-only", "ada").await;
    let (server, key) = (&account.server, &account.key);
    let stranger = server.merchant(true);
    let own = format!("{POLL}/{}", session.id);
    let nobody = format!("{POLL}/{NOBODY}");
    let no_uuid = format!("{POLL}/x%20y");
    let none = format!("{POLL}/");
    for (path, key, status) in [
        (POLL, key, 400),
        (none.as_str(), key, 400),
        (&nobody, key, 404),
        (&no_uuid, key, 404),
        (&own, &stranger.sandbox, 404),
        (&own, &stranger.live, 404),
        (
            &own,
            &Key {
                secret: "x".into(),
                ..key.clone()
            },
            400,
        ),
    ] {
        let (got, body) = server.get(path, key).await;
        assert_eq!(got, status, "{path}: {body}");
        assert!(body["error"].is_string() && body["message"].is_string(), "{body}");
    }
    for path in [POLL, &none, &own] {
        let (status, body) = answer(
            server
                .http
                .get(format!("{}{path}", server.base))
                .send()
                .await
                .unwrap(),
        )
        .await;
        assert_eq!(
            (status, body["error"].is_string(), body.get("message")),
            (401, true, None),
            "{path}: {body}"
        );
    }
    // The token is for the page; the merchant polls.
    let (status, body) = answer(session.request(Method::GET, &own).send().await.unwrap()).await;
    assert_eq!((status, body["error"].is_string()), (401, true), "{body}");
});

on_both!(a_session_passes, |backend| {
    let mut account = Account::demo(backend, &[]).await;
    account
        .add_flow(json!({"name": "hooked", "webhookUrl": "https://merchant.example.com/hook"}))
        .await;
    let session = account.session("hooked", "user 1").await;
    let (status, first) = session.attempt("SANDBOX-2509").await;
    assert_eq!((status, &first["success"]), (200, &json!(false)), "{first}");
    assert_eq!(first["idvResult"]["sdkStatus"], "declined");
    assert_eq!(first["idvResult"]["sessionId"], session.id.as_str());
    session.assert_state("pending", 1, "open").await;
    assert_eq!(session.poll().await["result"], "{}", "it decided nothing");

    let (status, second) = session
        .send(session.form(json!({"sessionId": session.id, "groupingId": account.group})))
        .await;
    assert_eq!((status, &second["success"]), (200, &json!(true)), "{second}");
    assert_eq!(second["idvResult"]["sdkStatus"], "approved");
    let polled = session.poll().await;
    assert_eq!(polled["status"], "success");
    assert_eq!(
        polled["metadata"],
        json!({"attempts": 2, "maxAttempts": 3, "stage": "done"})
    );
    let result: Value = serde_json::from_str(polled["result"].as_str().unwrap()).unwrap();
    assert_eq!(result, second);
    assert!(polled["completed_at"].as_str().unwrap() > polled["created_at"].as_str().unwrap());
    let seconds = polled["duration_seconds"].as_f64().unwrap();
    assert!(seconds > 0.0 && seconds < 300.0);

    // The session has ended, so further attempts are refused and change nothing.
    let before = session.poll().await;
    let (status, body) = session.attempt("Quill").await;
    assert_eq!(
        (
            status,
            body.as_object().unwrap().len(),
            body["message"].is_string()
        ),
        (401, 1, true),
        "{body}"
    );
    let path = "/v2/idv/document-requirements?country=DEU&docType=PASSPORT";
    assert_eq!(
        session.request(Method::GET, path).send().await.unwrap().status(),
        401
    );
    let with_basic = form(&session.flow, &session.user, &json!({"sessionId": session.id}));
    let request = account
        .server
        .request(Method::POST, VERIFY, &account.key)
        .multipart(with_basic);
    let (status, body) = answer(request.send().await.unwrap()).await;
    assert_eq!(
        (status, &body["message"]),
        (400, &json!("Validation failed")),
        "{body}"
    );
    assert!(body["errors"][0].as_str().unwrap().starts_with("sessionId - "));
    assert_eq!(session.poll().await, before);

    // The Group comes from the session, and the record names the session.
    let (_, resolved) = account
        .server
        .get("/v2/reports/applicants/byExternalUserId/user%201", &account.key)
        .await;
    assert_eq!(resolved["applicants"][0]["groupingId"], account.group.as_str());
    let facemap = resolved["facemapId"].as_str().unwrap();
    let (_, record) = account
        .server
        .get(&format!("/v2/reports/applicants/{facemap}"), &account.key)
        .await;
    let verifications = record["registrations"][0]["verifications"].as_array().unwrap();
    assert_eq!(verifications.len(), 2, "refused requests are not recorded");
    assert!(
        verifications
            .iter()
            .all(|attempt| attempt["sessionId"] == session.id.as_str())
    );
    assert_eq!(account.server.count("select count(*) from outbox").await, 2);
});

on_both!(attempts_run_out, |backend| {
    let account = Account::demo(backend, &[]).await;
    let session = account.session("data-only", "ada").await;
    for refused in [
        json!({"firstName": "Å"}),
        json!({"country": "IRN"}),
        json!({"dob": "x"}),
    ] {
        assert!(session.send(session.form(refused)).await.0 >= 400);
    }
    session.assert_state("pending", 0, "open").await;
    for attempt in 1..=2 {
        assert_eq!(session.attempt("SANDBOX-2509").await.0, 200);
        session.assert_state("pending", attempt, "open").await;
    }
    let (_, last) = session.attempt("SANDBOX-2507").await;
    session.assert_state("failed", 3, "done").await;
    let polled = session.poll().await;
    let result: Value = serde_json::from_str(polled["result"].as_str().unwrap()).unwrap();
    assert_eq!(result, last, "the last attempt decided");
    assert!(polled["completed_at"].is_string());
    assert_eq!(session.attempt("Quill").await.0, 401);
});

on_both!(two_last_attempts_at_once_are_one, |backend| {
    let mut account = Account::demo(backend, &["--workers", "4"]).await;
    account
        .add_flow(json!({"name": "once", "settings": {"attemptsPerLink": 1}}))
        .await;
    for round in 0..5 {
        let user = format!("user-{round}");
        let session = account.session("once", &user).await;
        let second = account.server.request(Method::POST, VERIFY, &account.key);
        let second =
            second.multipart(session.form(json!({"sessionId": session.id, "lastName": "SANDBOX-2509"})));
        let (first, second) = tokio::join!(session.attempt("SANDBOX-2509"), async {
            answer(second.send().await.unwrap()).await
        });
        match (first.0, second.0) {
            (200, 400) | (401, 200) => {}
            other => panic!("{other:?}: {first:?} {second:?}"),
        }
        session.assert_state("failed", 1, "done").await;
    }
    assert_eq!(account.server.count("select count(*) from attempts").await, 5);
    assert_eq!(
        account.server.count("select count(*) from registrations").await,
        5
    );
});

on_both!(a_bearer_call_belongs_to_its_session, |backend| {
    let account = Account::demo(backend, &[]).await;
    let session = account.session("data-only", "ada").await;
    let other = account.session("data-only", "bob").await;
    for (changes, text) in [
        (
            json!({"flowId": account.flow("passport")}),
            "flowId - differs from the session's",
        ),
        (json!({"flowId": null}), "flowId required"),
        (
            json!({"externalUserId": "bob"}),
            "externalUserId - differs from the session's",
        ),
        (json!({"externalUserId": null}), "externalUserId required"),
        (
            json!({"groupingId": NOBODY}),
            "groupingId - differs from the session's",
        ),
        (
            json!({"sessionId": other.id}),
            "sessionId - differs from the session's",
        ),
        (json!({"sessionId": ""}), "sessionId cannot be empty"),
    ] {
        let (status, body) = session.send(session.form(changes.clone())).await;
        assert_eq!(
            (status, &body["success"]),
            (400, &json!(false)),
            "{changes}: {body}"
        );
        assert_eq!(body["errors"], json!([text]), "{changes}");
    }
    // A session's token used on another session.
    let (status, body) = other.send(session.form(json!({}))).await;
    assert_eq!(
        (status, &body["errors"]),
        (400, &json!(["externalUserId - differs from the session's"]))
    );
    session.assert_state("pending", 0, "open").await;
    other.assert_state("pending", 0, "open").await;

    let server = &account.server;
    for (path, status) in [
        ("/v2/idv/document-requirements?country=DEU&docType=PASSPORT", 200),
        ("/v2/public/groups", 401),
        ("/v2/public/flows", 401),
        ("/v2/reports/applicants/byExternalUserId/ada", 401),
    ] {
        let response = session.request(Method::GET, path).send().await.unwrap();
        assert_eq!(response.status(), status, "{path}");
    }
    let tampered = tampered(&session.token);
    for token in [tampered.as_str(), "x", "é", &session.token[..20]] {
        let request = server.http.post(format!("{}{VERIFY}", server.base));
        let request = request.header("Authorization", format!("Bearer {token}").as_bytes());
        let response = request.multipart(session.form(json!({}))).send().await.unwrap();
        assert!(
            response.headers()["www-authenticate"]
                .to_str()
                .unwrap()
                .starts_with("Bearer")
        );
        let (status, body) = answer(response).await;
        assert_eq!(
            (
                status,
                body.as_object().unwrap().len(),
                body["message"].is_string()
            ),
            (401, 1, true),
            "{body}"
        );
    }
    server.bonafide(&["merchant", "suspend", &account.id]);
    let (status, body) = session.attempt("Quill").await;
    assert_eq!((status, &body["success"]), (403, &json!(false)), "{body}");
    let token = "x";
    assert_eq!(exchange(server, json!({"token": token})).await.0, 401);
    server.bonafide(&["merchant", "approve", &account.id]);
    assert_eq!(session.attempt("Quill").await.0, 200);
});

on_both!(a_suspended_merchants_links_wait, |backend| {
    let account = Account::demo(backend, &[]).await;
    let token = account.link("data-only", "ada").await;
    account.server.bonafide(&["merchant", "suspend", &account.id]);
    let (status, body) = exchange(&account.server, json!({"token": token})).await;
    assert_eq!((status, &body["error"]), (403, &json!("forbidden")), "{body}");
    account.server.bonafide(&["merchant", "approve", &account.id]);
    assert_eq!(
        exchange(&account.server, json!({"token": token})).await.0,
        200,
        "not used up"
    );
});

on_both!(a_session_id_with_a_key_must_agree, |backend| {
    let account = Account::demo(backend, &[]).await;
    let (server, key) = (&account.server, &account.key);
    let session = account.session("data-only", "ada").await;
    let send = async |key: &Key, changes: Value| {
        let mut all = json!({"sessionId": session.id});
        all.as_object_mut()
            .unwrap()
            .extend(changes.as_object().unwrap().clone());
        let form = session.form(all);
        answer(
            server
                .request(Method::POST, VERIFY, key)
                .multipart(form)
                .send()
                .await
                .unwrap(),
        )
        .await
    };
    let stranger = server.merchant(true).sandbox;
    assert_eq!(
        send(&stranger, json!({})).await.0,
        404,
        "another account's Flow, let alone its session"
    );
    for (changes, status, text) in [
        (json!({"sessionId": NOBODY}), 404, "Session not found"),
        (json!({"sessionId": "x"}), 404, "Session not found"),
        (
            json!({"externalUserId": "bob"}),
            400,
            "externalUserId - differs from the session's",
        ),
        (
            json!({"flowId": account.flow("passport")}),
            400,
            "flowId - differs from the session's",
        ),
        (
            json!({"groupingId": NOBODY}),
            400,
            "groupingId - differs from the session's",
        ),
    ] {
        let (got, body) = send(key, changes.clone()).await;
        assert_eq!(got, status, "{changes}: {body}");
        assert!(body.to_string().contains(text), "{changes}: {body}");
    }
    session.assert_state("pending", 0, "open").await;
    let capitals = json!({"sessionId": session.id.to_uppercase(), "lastName": "SANDBOX-2509"});
    let (status, body) = send(key, capitals).await;
    assert_eq!(
        (status, &body["idvResult"]["sessionId"]),
        (200, &json!(session.id)),
        "{body}"
    );
    assert_eq!(body["idvResult"]["sdkStatus"], "declined");
    session.assert_state("pending", 1, "open").await;
    let (status, _) = send(key, json!({})).await;
    assert_eq!(status, 200);
    session.assert_state("success", 2, "done").await;
    let (_, resolved) = server
        .get("/v2/reports/applicants/byExternalUserId/ada", key)
        .await;
    assert_eq!(
        resolved["applicants"][0]["groupingId"],
        account.group.as_str(),
        "the session's group"
    );
});

on_both!(a_reviewer_decides_beyond_the_tokens_life, |backend| {
    let account = Account::demo(backend, &[]).await;
    for (decision, status) in [("approve", "success"), ("decline", "failed")] {
        let session = account.session("data-only", decision).await;
        let (_, body) = session.attempt("SANDBOX-2702").await;
        assert_eq!(body["idvResult"]["sdkStatus"], "pending", "{body}");
        session.assert_state("pending", 1, "in_review").await;
        assert_eq!(session.poll().await["completed_at"], Value::Null);
        session.expire_sessions().await;
        session.assert_state("pending", 1, "in_review").await;
        assert_eq!(session.attempt("Quill").await.0, 401, "the token has expired");
        let result =
            |polled: &Value| -> Value { serde_json::from_str(polled["result"].as_str().unwrap()).unwrap() };
        assert_eq!(result(&session.poll().await), body);

        let waiting = account.server.bonafide(&["review", "list"]);
        let waiting: Value = serde_json::from_str(&waiting).unwrap();
        let log_id = waiting["logId"].to_string();
        account.server.review(decision, &waiting);
        session.assert_state(status, 1, "done").await;
        let polled = session.poll().await;
        assert!(polled["duration_seconds"].as_f64().unwrap() >= 600.0);
        let decided = result(&polled);
        assert_eq!(decided["review"]["decision"], decision);
        assert!(decided["review"]["at"].as_str().unwrap().ends_with('Z'));
        let mut without = decided.clone();
        without.as_object_mut().unwrap().remove("review");
        assert_eq!(without, body);

        account.server.bonafide(&["review", "reopen", &log_id]);
        session.assert_state(status, 1, "done").await;
        let opposite = if decision == "approve" {
            "decline"
        } else {
            "approve"
        };
        account.server.review(opposite, &waiting);
        session.assert_state(status, 1, "done").await;
        assert_eq!(
            session.poll().await["completed_at"],
            polled["completed_at"],
            "terminal states do not change"
        );
    }
});

on_both!(a_retry_while_in_review_decides_only_by_passing, |backend| {
    let account = Account::demo(backend, &[]).await;
    let session = account.session("data-only", "ada").await;
    let (_, reviewed) = session.attempt("SANDBOX-2702").await;
    session.attempt("SANDBOX-2509").await;
    session.assert_state("pending", 2, "in_review").await;
    let result: Value = serde_json::from_str(session.poll().await["result"].as_str().unwrap()).unwrap();
    assert_eq!(result, reviewed);
    assert_eq!(session.attempt("Quill").await.0, 200);
    session.assert_state("success", 3, "done").await;
});

on_both!(time_ends_sessions, |backend| {
    let account = Account::demo(backend, &[]).await;
    let idle = account.session("data-only", "idle").await;
    let failed = account.session("data-only", "failed").await;
    let (_, answer) = failed.attempt("SANDBOX-2509").await;
    idle.expire_sessions().await;
    idle.assert_state("expired", 0, "done").await;
    failed.assert_state("failed", 1, "done").await;
    let polled = failed.poll().await;
    let result: Value = serde_json::from_str(polled["result"].as_str().unwrap()).unwrap();
    assert_eq!((result, &polled["duration_seconds"]), (answer, &json!(600.0)));
    let polled = idle.poll().await;
    assert_eq!(
        (&polled["result"], &polled["duration_seconds"]),
        (&json!("{}"), &json!(600.0))
    );
    for session in [&idle, &failed] {
        assert_eq!(session.attempt("Quill").await.0, 401);
        let form = session.form(json!({"sessionId": session.id}));
        let request = account
            .server
            .request(Method::POST, VERIFY, &account.key)
            .multipart(form);
        assert_eq!(request.send().await.unwrap().status(), 400);
    }
    idle.assert_state("expired", 0, "done").await;
});
