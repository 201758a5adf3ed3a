//! Hosted sessions (contract §2.3, §2.4, §4.3–§4.5; `decisions.md` §3): link, exchange, attempts, poll, and what ends them.

use std::collections::BTreeMap;
use std::sync::Arc;

use reqwest::multipart::Form;
use reqwest::{Method, Response};
use serde_json::{Value, json};

use crate::harness::{Backend, Key, Server, answer, on_both, workspace};

const LINK: &str = "/v2/sdk/session/web-sdk-link";
const EXCHANGE: &str = "/v2/sdk/session/exchange";
const POLL: &str = "/v2/sdk/session/verification-result";
const VERIFY: &str = "/v2/idv/verify";
const NOBODY: &str = "00000000-0000-4000-8000-000000000000";

/// An account with a Group that holds its Flows.
struct Account {
    server: Server,
    id: String,
    key: Key,
    group: String,
    flows: BTreeMap<String, String>,
}

impl Account {
    /// Of the demo, whose Group gets every Flow.
    async fn demo(backend: Backend, arguments: &[&str]) -> Account {
        let (server, demo) = Server::demo(backend, arguments).await;
        let flows: BTreeMap<String, String> = serde_json::from_value(demo["flows"].clone()).unwrap();
        let account = Account {
            server,
            id: demo["merchantId"].as_str().unwrap().into(),
            key: Key {
                key: demo["apiKey"].as_str().unwrap().into(),
                secret: demo["secret"].as_str().unwrap().into(),
            },
            group: demo["groupId"].as_str().unwrap().into(),
            flows,
        };
        account.regroup().await;
        account
    }

    /// Puts every Flow into the Group.
    async fn regroup(&self) {
        let path = format!("/v2/public/groups/{}", self.group);
        let ids: Vec<&String> = self.flows.values().collect();
        let (status, body) = self.server.put(&path, &self.key, json!({"flowIds": ids})).await;
        assert_eq!(status, 200, "{body}");
    }

    /// A further Flow in the Group.
    async fn add_flow(&mut self, flow: Value) {
        let name = flow["name"].as_str().unwrap().to_owned();
        self.flows.insert(name, self.create_flow(&flow));
        self.regroup().await;
    }

    /// A Flow by the command line, which knows the private settings; its id.
    fn create_flow(&self, flow: &Value) -> String {
        let file = self.server.dir.path().join("flow.json");
        std::fs::write(&file, flow.to_string()).unwrap();
        let file = file.to_str().unwrap();
        let arguments = [
            "flow",
            "create",
            "--merchant",
            &self.id,
            "--file",
            file,
            "--sandbox",
            "--json",
        ];
        let made: Value = serde_json::from_str(&self.server.bonafide(&arguments)).unwrap();
        made["flowId"].as_str().unwrap().into()
    }

    fn flow(&self, name: &str) -> &str {
        &self.flows[name]
    }

    async fn link(&self, flow: &str, user: &str) -> String {
        let body = json!({"userId": user, "groupId": self.group, "flowId": self.flow(flow)});
        let (status, body) = self.server.post(LINK, &self.key, body).await;
        assert_eq!(status, 200, "{body}");
        let url = body["url"].as_str().unwrap().to_owned();
        url.split_once("token=").unwrap().1.to_owned()
    }

    async fn session(&self, flow: &str, user: &str) -> Session<'_> {
        let token = self.link(flow, user).await;
        let (status, body) = exchange(&self.server, json!({"token": token})).await;
        assert_eq!(status, 200, "{body}");
        Session {
            account: self,
            id: body["session_id"].as_str().unwrap().into(),
            token: body["access_token"].as_str().unwrap().into(),
            flow: self.flow(flow).into(),
            user: user.into(),
        }
    }

    async fn poll(&self, id: &str) -> Value {
        let (status, body) = self.server.get(&format!("{POLL}/{id}"), &self.key).await;
        assert_eq!(status, 200, "{body}");
        body
    }
}

/// A session as its page knows it.
struct Session<'a> {
    account: &'a Account,
    id: String,
    token: String,
    flow: String,
    user: String,
}

impl Session<'_> {
    /// The form of somebody data-only, with changes (null: left out).
    fn form(&self, changes: Value) -> Form {
        form(&self.flow, &self.user, &changes)
    }

    async fn send(&self, form: Form) -> (u16, Value) {
        let request = self.request(Method::POST, VERIFY).multipart(form);
        answer(request.send().await.unwrap()).await
    }

    /// One attempt whose last name is `SANDBOX-<code>`, or none's.
    async fn attempt(&self, last_name: &str) -> (u16, Value) {
        self.send(self.form(json!({"lastName": last_name}))).await
    }

    fn request(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        let server = &self.account.server;
        server
            .http
            .request(method, format!("{}{path}", server.base))
            .bearer_auth(&self.token)
    }

    async fn poll(&self) -> Value {
        self.account.poll(&self.id).await
    }

    /// `status`, `attempts`, `stage`.
    async fn stands(&self) -> (String, i64, String) {
        let body = self.poll().await;
        let metadata = &body["metadata"];
        (
            body["status"].as_str().unwrap().into(),
            metadata["attempts"].as_i64().unwrap(),
            metadata["stage"].as_str().unwrap().into(),
        )
    }

    async fn assert_stands(&self, status: &str, attempts: i64, stage: &str) {
        assert_eq!(self.stands().await, (status.into(), attempts, stage.into()));
    }

    /// Lets ten minutes pass for the sessions of the server.
    async fn time_is_up(&self) {
        let sql = "update sessions set created_at = created_at - 600000, expires_at = expires_at - 600000";
        self.account.server.sql(sql).await;
    }
}

fn form(flow: &str, user: &str, changes: &Value) -> Form {
    let mut fields = json!({"firstName": "Ada", "lastName": "Quill", "externalUserId": user, "flowId": flow});
    fields
        .as_object_mut()
        .unwrap()
        .extend(changes.as_object().unwrap().clone());
    fields
        .as_object()
        .unwrap()
        .iter()
        .filter(|(_, value)| !value.is_null())
        .fold(Form::new(), |form, (name, value)| {
            form.text(name.clone(), value.as_str().unwrap().to_owned())
        })
}

/// The token with another last character.
fn tampered(token: &str) -> String {
    let (rest, last) = token.split_at(token.len() - 1);
    format!("{rest}{}", if last == "A" { "B" } else { "A" })
}

async fn exchange(server: &Server, body: Value) -> (u16, Value) {
    answer(exchange_from(server, body, None).await).await
}

/// An exchange through the trusted proxy, from an address.
async fn exchange_from(server: &Server, body: Value, address: Option<&str>) -> Response {
    let mut request = server.http.post(format!("{}{EXCHANGE}", server.base)).json(&body);
    if let Some(address) = address {
        request = request.header("X-Forwarded-For", address);
    }
    let response = request.send().await.unwrap();
    assert_eq!(response.headers()["cache-control"], "no-store");
    response
}

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

    // An access token is no link token, and the other way round.
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
    session.assert_stands("pending", 1, "open").await;

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
    // What the client writes left of its own address is not believed.
    assert_eq!(
        from(&token, "8.8.8.8, 194.25.0.60").await.0,
        200,
        "blocked exchanges used nothing up"
    );
    let (status, body) = from(&account.link("not-nl", "ada").await, "10.1.2.3").await;
    assert_eq!(status, 200, "a country that is not known is allowed: {body}");

    let strict = account
        .server
        .beside(&["--trusted-proxies", "127.0.0.1", "--geo-unknown", "block"]);
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

// 200 clients with one token: on one server, then on two that share the database.
on_both!(one_exchange_wins, |backend| {
    let account = Account::demo(backend, &[]).await;
    let second = account.server.beside(&["--rate-exchange", "0"]);
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
    // A token is the page's; the poll is the merchant's.
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
    session.assert_stands("pending", 1, "open").await;
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

    // The session has ended: nothing more is taken, and nothing changes.
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

    // The group is the session's; the record names the session.
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
    session.assert_stands("pending", 0, "open").await;
    for attempt in 1..=2 {
        assert_eq!(session.attempt("SANDBOX-2509").await.0, 200);
        session.assert_stands("pending", attempt, "open").await;
    }
    let (_, last) = session.attempt("SANDBOX-2507").await;
    session.assert_stands("failed", 3, "done").await;
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
        session.assert_stands("failed", 1, "done").await;
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
    session.assert_stands("pending", 0, "open").await;
    other.assert_stands("pending", 0, "open").await;

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
    session.assert_stands("pending", 0, "open").await;
    let capitals = json!({"sessionId": session.id.to_uppercase(), "lastName": "SANDBOX-2509"});
    let (status, body) = send(key, capitals).await;
    assert_eq!(
        (status, &body["idvResult"]["sessionId"]),
        (200, &json!(session.id)),
        "{body}"
    );
    assert_eq!(body["idvResult"]["sdkStatus"], "declined");
    session.assert_stands("pending", 1, "open").await;
    let (status, _) = send(key, json!({})).await;
    assert_eq!(status, 200);
    session.assert_stands("success", 2, "done").await;
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
        session.assert_stands("pending", 1, "in_review").await;
        assert_eq!(session.poll().await["completed_at"], Value::Null);
        session.time_is_up().await;
        session.assert_stands("pending", 1, "in_review").await;
        assert_eq!(session.attempt("Quill").await.0, 401, "the token has expired");
        let result =
            |polled: &Value| -> Value { serde_json::from_str(polled["result"].as_str().unwrap()).unwrap() };
        assert_eq!(result(&session.poll().await), body);

        let waiting = account.server.bonafide(&["review", "list"]);
        let log_id = serde_json::from_str::<Value>(&waiting).unwrap()["logId"].to_string();
        account
            .server
            .bonafide(&["review", decision, &log_id, "--reason", "seen"]);
        session.assert_stands(status, 1, "done").await;
        let polled = session.poll().await;
        assert!(polled["duration_seconds"].as_f64().unwrap() >= 600.0);
        let decided = result(&polled);
        assert_eq!(decided["review"]["decision"], decision);
        assert!(decided["review"]["at"].as_str().unwrap().ends_with('Z'));
        let mut without = decided.clone();
        without.as_object_mut().unwrap().remove("review");
        assert_eq!(without, body);

        account.server.bonafide(&["review", "reopen", &log_id]);
        session.assert_stands(status, 1, "done").await;
        let opposite = if decision == "approve" {
            "decline"
        } else {
            "approve"
        };
        account
            .server
            .bonafide(&["review", opposite, &log_id, "--reason", "again"]);
        session.assert_stands(status, 1, "done").await;
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
    session.assert_stands("pending", 2, "in_review").await;
    let result: Value = serde_json::from_str(session.poll().await["result"].as_str().unwrap()).unwrap();
    assert_eq!(result, reviewed);
    assert_eq!(session.attempt("Quill").await.0, 200);
    session.assert_stands("success", 3, "done").await;
});

on_both!(time_ends_sessions, |backend| {
    let account = Account::demo(backend, &[]).await;
    let idle = account.session("data-only", "idle").await;
    let failed = account.session("data-only", "failed").await;
    let (_, answer) = failed.attempt("SANDBOX-2509").await;
    idle.time_is_up().await;
    idle.assert_stands("expired", 0, "done").await;
    failed.assert_stands("failed", 1, "done").await;
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
    idle.assert_stands("expired", 0, "done").await;
});

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
    session.assert_stands("success", 1, "done").await;
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

/// Link and access tokens, and what came with them, reach no log line.
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
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    let log = std::fs::read_to_string(account.server.dir.path().join("server.log")).unwrap();
    assert!(log.contains("answered"), "{log}");
    for text in [link.as_str(), &session.token, "xanthippe", &account.key.secret] {
        assert!(!log.contains(text), "{text} is in the log");
    }
}

/// A `liveness` Flow through a page needs its passed challenge (2105); through a key the passive check stands alone.
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
    session.assert_stands("pending", 1, "open").await;
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
    first.assert_stands("pending", 2, "open").await;
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

/// A refusal before the body was read leaves the connection usable: a client that keeps it open loses nothing.
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
