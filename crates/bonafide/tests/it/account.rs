//! Contract §5, and the rows of §7 about authentication and rate limits; see
//! `docs/decisions/0001-accounts-and-credentials.md` and `0009-rate-limits-and-capacity.md`.

use reqwest::{Method, header};
use serde_json::{Value, json};

use crate::harness::{Key, Server, answer, on_both};

/// A path of each family with Basic credentials, and a valid body where one is needed.
const FAMILIES: [(&str, &str); 4] = [
    ("/v2/public/groups", "groups"),
    (
        "/v2/idv/document-requirements?country=DEU&docType=PASSPORT",
        "verify",
    ),
    ("/v2/reports/applicants/byExternalUserId/nobody", "applicants"),
    ("/v2/sdk/session/verification-result/x", "poll"),
];

on_both!(each_family_refuses_in_its_shape, |backend| {
    let server = Server::start(backend, &[]).await;
    let merchant = server.merchant(true);
    let wrong = Key {
        secret: "wrong".into(),
        ..merchant.sandbox.clone()
    };
    let unknown = Key {
        key: "bf_test_00000000AAAAAAAAAAAAAAAA".into(),
        secret: "x".into(),
    };
    for (path, family) in FAMILIES {
        for header in [
            None,
            Some("Basic"),
            Some("Basic !!!"),
            Some("Basic bm9jb2xvbg=="),
            Some("Digest x"),
        ] {
            let mut request = server.http.get(format!("{}{path}", server.base));
            if let Some(header) = header {
                request = request.header(header::AUTHORIZATION, header);
            }
            let (status, body) = answer(request.send().await.unwrap()).await;
            assert_eq!(status, 401, "{path} {header:?}");
            let text = if family == "applicants" {
                &body["description"]
            } else {
                &body["error"]
            };
            assert!(
                text.as_str().unwrap().contains("Authorization"),
                "{path} {header:?}: {body}"
            );
        }
        for key in [&wrong, &unknown] {
            let (status, body) = server.get(path, key).await;
            let expected = if matches!(family, "groups" | "poll") {
                400
            } else {
                401
            };
            assert_eq!(status, expected, "{path}");
            let text = if family == "applicants" {
                &body["description"]
            } else {
                &body["message"]
            };
            assert!(text.is_string(), "{path}: {body}");
            if family == "verify" {
                assert_eq!(body.as_object().unwrap().len(), 1, "{{message}} alone: {body}");
            }
        }
    }
    let (status, body) = server
        .post("/v2/public/transaction-monitoring", &wrong, json!({}))
        .await;
    assert_eq!(
        (
            status,
            body.as_object().unwrap().len(),
            body["message"].is_string()
        ),
        (401, 1, true),
        "{body}"
    );
    let bearer = server
        .http
        .get(format!("{}{}", server.base, FAMILIES[1].0))
        .bearer_auth("nobody's");
    let (status, body) = answer(bearer.send().await.unwrap()).await;
    assert_eq!((status, body["message"].is_string()), (401, true));
});

on_both!(the_application_must_be_approved, |backend| {
    let server = Server::start(backend, &[]).await;
    let merchant = server.merchant(false);
    assert_eq!(server.get("/v2/public/groups", &merchant.sandbox).await.0, 403);
    assert_eq!(server.get("/v2/public/groups", &merchant.live).await.0, 403);
    assert_eq!(
        server.get(FAMILIES[1].0, &merchant.sandbox).await.0,
        200,
        "sandbox keys exist from the start"
    );
    assert_eq!(server.get(FAMILIES[1].0, &merchant.live).await.0, 403);
    server.bonafide(&["merchant", "approve", &merchant.id]);
    assert_eq!(server.get("/v2/public/groups", &merchant.live).await.0, 200);
    server.bonafide(&["merchant", "suspend", &merchant.id]);
    for key in [&merchant.live, &merchant.sandbox] {
        for (path, _) in FAMILIES {
            assert_eq!(server.get(path, key).await.0, 403, "{path}");
        }
    }
});

on_both!(a_secret_is_rotated_without_a_gap, |backend| {
    let server = Server::start(backend, &[]).await;
    let merchant = server.merchant(true);
    let rotated: Value =
        serde_json::from_str(&server.bonafide(&["merchant", "keys", "rotate", &merchant.id])).unwrap();
    let new = Key {
        secret: rotated["sandbox"]["secret"].as_str().unwrap().into(),
        ..merchant.sandbox.clone()
    };
    for key in [&merchant.sandbox, &new] {
        assert_eq!(server.get("/v2/public/groups", key).await.0, 200);
    }
});

on_both!(requests_are_limited_per_key, |backend| {
    let server = Server::start(backend, &["--rate-reads", "3", "--rate-failed-auth", "2"]).await;
    let merchant = server.merchant(true);
    for remaining in ["2", "1", "0"] {
        let response = server
            .request(Method::GET, "/v2/public/groups", &merchant.sandbox)
            .send()
            .await
            .unwrap();
        assert_eq!(
            (
                response.status().as_u16(),
                &response.headers()["ratelimit-remaining"]
            ),
            (200, &remaining.parse().unwrap())
        );
        assert_eq!(response.headers()["ratelimit-limit"], "3");
        assert!(response.headers().contains_key("ratelimit-reset"));
    }
    let response = server
        .request(Method::GET, "/v2/public/groups", &merchant.sandbox)
        .send()
        .await
        .unwrap();
    assert!(
        response.headers().contains_key("retry-after") && response.headers().contains_key("ratelimit-limit")
    );
    let (status, body) = answer(response).await;
    assert_eq!((status, body["message"].is_string()), (429, true));
    let (status, body) = server.get(FAMILIES[1].0, &merchant.sandbox).await;
    assert_eq!(
        (status, &body["success"]),
        (429, &json!(false)),
        "in the family's own shape"
    );
    assert_eq!(
        server.get("/v2/public/groups", &merchant.live).await.0,
        200,
        "another key has its own"
    );

    let wrong = Key {
        secret: "wrong".into(),
        ..merchant.live.clone()
    };
    let statuses = [
        server.get("/v2/public/groups", &wrong).await.0,
        server.get("/v2/public/groups", &wrong).await.0,
        server.get("/v2/public/groups", &wrong).await.0,
    ];
    assert_eq!(statuses, [400, 400, 429], "failed authentications are throttled");
    assert_eq!(
        server.get("/v2/public/groups", &merchant.live).await.0,
        200,
        "which shuts nobody out"
    );
});

on_both!(unknown_paths_and_methods_are_told, |backend| {
    let server = Server::start(backend, &[]).await;
    let key = server.merchant(true).sandbox;
    let (status, body) = server.get("/v2/nothing", &key).await;
    assert_eq!((status, body["error"].is_string()), (404, true));
    let (status, body) = server.json(Method::PATCH, "/v2/public/groups", &key, None).await;
    assert_eq!((status, body["message"].is_string()), (405, true));
});

/// Acknowledged writes survive SIGKILL, and unacknowledged ones are entirely absent.
#[tokio::test(flavor = "multi_thread")]
async fn acknowledged_groups_survive_a_kill() {
    let server = Server::start(crate::harness::Backend::Sqlite, &[]).await;
    let key = server.merchant(true).sandbox;
    for number in 0..20 {
        let body = json!({"name": format!("g{number}"), "flowIds": ["x"]});
        assert_eq!(server.post("/v2/public/groups", &key, body).await.0, 201);
    }
    let server = server.kill_and_restart(&[]);
    assert_eq!(
        server.get("/v2/public/groups", &key).await.1["groups"]
            .as_array()
            .unwrap()
            .len(),
        20
    );
}
