//! The requests that only the hosted page sends during a session.

use reqwest::Method;
use serde_json::{Value, json};

use super::{Account, SESSION, access, anonymous, boot, get, page, post, send};
use crate::harness::{Server, answer, on_both};

on_both!(a_session_tells_how_it_stands, |backend| {
    let server = Server::start(backend, &[]).await;
    let account = Account::new(&server).await;
    let session = account.session(&server).await;
    let (status, current) = get(&server, "current", access(&session)).await;
    assert_eq!(status, 200, "{current}");
    for field in [
        "session_id",
        "is_sandbox",
        "userId",
        "groupId",
        "flowId",
        "defaultFields",
        "defaultDocumentTypes",
        "countryOverrides",
        "biometricType",
        "documentUploadType",
    ] {
        assert_eq!(current[field], session[field], "{field}");
    }
    for (field, value) in [
        ("status", json!("pending")),
        ("stage", json!("open")),
        ("attempts", json!(0)),
        ("maxAttempts", json!(3)),
        (
            "merchant",
            json!({"name": "Test", "logoUrl": null, "color": null, "privacyUrl": null, "contact": null, "websiteUrl": null, "signInUrl": null}),
        ),
        ("consent", Value::Null),
        ("outcome", Value::Null),
        ("handoff", Value::Null),
    ] {
        assert_eq!(current[field], value, "{field}");
    }
    assert!(current["expiresAt"].is_string());

    for (path, method) in [
        ("current", Method::GET),
        ("documents", Method::GET),
        ("consent", Method::POST),
        ("handoff", Method::POST),
        ("handoff/reject", Method::POST),
        ("events", Method::POST),
    ] {
        let (status, body) =
            answer(send(&server, method.clone(), path, "nonsense", Some(json!({}))).await).await;
        assert_eq!((status, &body["error"]), (401, &json!("invalid_token")), "{path}");
        assert!(body["message"].is_string());
        let keyed = server.request(method, &format!("{SESSION}/{path}"), &account.merchant.sandbox);
        assert_eq!(
            keyed.send().await.unwrap().status(),
            401,
            "{path}: a key is no session"
        );
    }
});

on_both!(consent_is_recorded, |backend| {
    let server = Server::start(backend, &[]).await;
    let account = Account::new(&server).await;
    let session = account.session(&server).await;
    let token = access(&session);
    for accepted in [false, true] {
        let body = json!({"version": "2026-11", "language": "de", "accepted": accepted});
        let (status, recorded) = post(&server, "consent", token, body).await;
        assert_eq!((status, recorded["recordedAt"].is_string()), (200, true));
        let (_, current) = get(&server, "current", token).await;
        assert_eq!(
            current["consent"],
            json!({"version": "2026-11", "accepted": accepted})
        );
    }
    let (status, body) = post(
        &server,
        "consent",
        token,
        json!({"version": "<b>", "accepted": 1}),
    )
    .await;
    assert_eq!(
        (status, body["errors"].as_array().unwrap().len()),
        (400, 3),
        "{body}"
    );
});

on_both!(documents_are_listed_country_by_country, |backend| {
    let server = Server::start(backend, &[]).await;
    let account = Account::new(&server).await;
    let session = account.session(&server).await;
    let (status, body) = get(&server, "documents", access(&session)).await;
    assert_eq!((status, &body["preselected"]), (200, &json!("UTO")));
    let countries = body["countries"].as_array().unwrap();
    let of = |alpha3: &str| {
        countries
            .iter()
            .find(|country| country["alpha3"] == alpha3)
            .unwrap()
    };
    assert_eq!(countries[0]["alpha3"], "UTO");
    let card =
        json!([{"type": "ID_CARD", "supported": true, "needsBack": false, "hasOneSidedVariant": false}]);
    let german = json!({
        "alpha2": "DE", "alpha3": "DEU", "name": "Germany", "restricted": false, "fields": ["dob", "ssn"], "types": card,
    });
    assert_eq!(*of("DEU"), german);
    assert_eq!(
        (
            &of("FRA")["restricted"],
            &of("RUS")["restricted"],
            &of("ITA")["restricted"]
        ),
        (&json!(true), &json!(true), &json!(false))
    );
    let passport =
        json!({"type": "PASSPORT", "supported": true, "needsBack": false, "hasOneSidedVariant": false});
    let romanian =
        json!({"type": "ID_CARD", "supported": true, "needsBack": true, "hasOneSidedVariant": true});
    assert_eq!(
        (
            &of("ROU")["types"][0],
            &of("ROU")["types"][1],
            &of("ROU")["fields"]
        ),
        (&passport, &romanian, &json!(["dob"]))
    );
});

on_both!(a_session_goes_on_on_a_phone, |backend| {
    let server = Server::start(backend, &[]).await;
    let account = Account::new(&server).await;
    let session = account.session(&server).await;
    let desktop = access(&session);
    let handoff = async || {
        let (status, handoff) = post(&server, "handoff", desktop, json!({})).await;
        assert_eq!(status, 200, "{handoff}");
        let (page, token) = handoff["url"].as_str().unwrap().split_once("?handoff=").unwrap();
        assert_eq!(page, format!("{}/verify", server.base));
        let token = token.to_owned();
        (handoff, token)
    };
    let (first, first_token) = handoff().await;
    assert!(first["qrSvg"].as_str().unwrap().contains("<svg"), "{first}");
    let number: u32 = first["number"].as_str().unwrap().parse().unwrap();
    assert!((10..=99).contains(&number));
    let state = async || get(&server, "current", desktop).await.1["handoff"].clone();
    assert_eq!(state().await, json!({"state": "waiting", "step": null}));

    let (second, token) = handoff().await;
    let void = anonymous(&server, "handoff/claim", json!({"token": first_token})).await;
    assert_eq!(
        (void.0, &void.1["error"]),
        (401, &json!("invalid_token")),
        "a new one voids the earlier"
    );

    let response = page(&server, &format!("?handoff={token}")).await;
    assert_eq!(response.status(), 200);
    let (boot, _) = boot(response).await;
    assert_eq!(
        (&boot["state"], &boot["preview"]["merchantName"]),
        (&json!("open"), &json!("Test"))
    );

    let claims: Vec<_> = (0..20)
        .map(|_| {
            let request = server
                .http
                .post(format!("{}{SESSION}/handoff/claim", server.base));
            tokio::spawn(request.json(&json!({"token": token})).send())
        })
        .collect();
    let mut won = Vec::new();
    for claim in claims {
        let (status, body) = answer(claim.await.unwrap().unwrap()).await;
        match status {
            200 => won.push(body),
            410 => assert_eq!(body["error"], "token_used"),
            _ => panic!("{status} {body}"),
        }
    }
    let [claimed] = won.as_slice() else {
        panic!("{} devices won", won.len())
    };
    assert_eq!(
        (&claimed["number"], &claimed["session_id"]),
        (&second["number"], &session["session_id"])
    );
    assert!((590..=600).contains(&claimed["expires_in"].as_i64().unwrap()));
    let phone = access(claimed);
    assert_ne!(phone, desktop);
    assert_eq!(get(&server, "current", phone).await.0, 200);

    let event = |step: &str| json!({"events": [{"step": step, "kind": "reached", "ms": 5}]});
    assert_eq!(
        send(&server, Method::POST, "events", phone, Some(event("front")))
            .await
            .status(),
        204
    );
    assert_eq!(
        send(&server, Method::POST, "events", desktop, Some(event("device")))
            .await
            .status(),
        204
    );
    assert_eq!(
        state().await,
        json!({"state": "claimed", "step": "front"}),
        "the phone's step"
    );

    let refused = answer(send(&server, Method::POST, "handoff/reject", desktop, None).await).await;
    assert_eq!(refused.0, 400, "only the phone can reject: {}", refused.1);
    assert_eq!(
        send(&server, Method::POST, "handoff/reject", phone, None)
            .await
            .status(),
        204
    );
    assert_eq!(
        get(&server, "current", phone).await.0,
        401,
        "the phone's token is dead"
    );
    assert_eq!(
        get(&server, "current", desktop).await.0,
        200,
        "the desktop's works"
    );
    assert_eq!(state().await, Value::Null);
    let again = anonymous(&server, "handoff/claim", json!({"token": token})).await;
    assert_eq!((again.0, &again.1["error"]), (410, &json!("token_used")));
});

on_both!(page_events_are_words_of_fixed_lists, |backend| {
    let server = Server::start(backend, &[]).await;
    let account = Account::new(&server).await;
    let session = account.session(&server).await;
    let token = access(&session);
    let good = json!({"step": "front", "kind": "retried", "ms": 1_000, "detail": "glare"});
    let events = |count: usize| json!({"events": vec![good.clone(); count]});
    assert_eq!(
        send(&server, Method::POST, "events", token, Some(events(50)))
            .await
            .status(),
        204
    );
    for (body, error) in [
        (events(51), "events - must have at most 50"),
        (json!({}), "events - "),
        (
            json!({"events": [{"step": "password", "kind": "reached", "ms": 1}]}),
            "events[0].step - ",
        ),
        (
            json!({"events": [{"step": "open", "kind": "reached", "ms": 1e300}]}),
            "events[0].ms - ",
        ),
        (
            json!({"events": [{"step": "open", "kind": "reached", "ms": 1, "detail": "Ada Lovelace"}]}),
            "events[0].detail - ",
        ),
        (
            json!({"events": [good.clone()], "language": "Ada Lovelace"}),
            "language - must be one of ",
        ),
    ] {
        let (status, answer) = post(&server, "events", token, body).await;
        assert_eq!(
            (status, &answer["error"]),
            (400, &json!("invalid_request")),
            "{error}"
        );
        assert!(
            answer["errors"][0].as_str().unwrap().starts_with(error),
            "{answer}"
        );
        assert!(!answer.to_string().contains("Ada"));
    }
});

on_both!(an_ended_session_still_tells_its_outcome, |backend| {
    // The demo server has a sanctions list; without one, no person can be verified.
    let (server, _) = Server::demo(backend, &[]).await;
    let account = Account::with(&server, server.merchant(true), &json!({"name": "Data"})).await;
    let session = account.session(&server).await;
    let token = access(&session);
    let verify = async |last_name: &str| {
        let form = reqwest::multipart::Form::new()
            .text("firstName", "Ann")
            .text("lastName", last_name.to_owned())
            .text("externalUserId", "user-1")
            .text("flowId", account.flow.clone());
        let request = server
            .http
            .post(format!("{}/v2/idv/verify", server.base))
            .bearer_auth(token);
        answer(request.multipart(form).send().await.unwrap()).await
    };
    let (status, body) = verify("SANDBOX-2509").await;
    assert_eq!((status, &body["success"]), (200, &json!(false)), "{body}");
    let (_, current) = get(&server, "current", token).await;
    assert_eq!(
        (&current["status"], &current["attempts"]),
        (&json!("pending"), &json!(1)),
        "{current}"
    );
    assert_eq!(
        (&current["outcome"]["status"], &current["outcome"]["codes"]),
        (&json!("failed"), &json!([2509]))
    );

    let (status, body) = verify("SANDBOX-2702").await;
    assert_eq!(status, 200, "{body}");
    let (_, current) = get(&server, "current", token).await;
    assert_eq!(
        (&current["stage"], &current["outcome"]["status"]),
        (&json!("in_review"), &json!("pending")),
        "{current}"
    );
    assert_eq!(current["outcome"]["codes"], json!([]), "nothing of sanctions");
    assert!(!current.to_string().contains("2702"));

    let (status, body) = verify("Smith").await;
    assert_eq!((status, &body["success"]), (200, &json!(true)), "{body}");
    let (status, current) = get(&server, "current", token).await;
    assert_eq!(
        (status, &current["status"], &current["outcome"]["status"]),
        (200, &json!("success"), &json!("approved"))
    );
    for (path, body) in [
        (
            "consent",
            json!({"version": "1", "language": "en", "accepted": true}),
        ),
        ("handoff", json!({})),
    ] {
        let (status, answer) = post(&server, path, token, body).await;
        assert_eq!(
            (status, &answer["error"]),
            (401, &json!("invalid_token")),
            "{path}"
        );
    }
    let event = json!({"events": [{"step": "outcome", "kind": "reached", "ms": 5}]});
    assert_eq!(
        send(&server, Method::POST, "events", token, Some(event))
            .await
            .status(),
        204,
        "the last step counts"
    );
});
