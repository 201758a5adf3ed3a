//! Contract §6, `docs/decisions/0017-webhooks.md`: webhooks as their receivers see them.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use reqwest::multipart::Form;
use serde_json::{Value, json};
use standardwebhooks::Webhook;

use crate::harness::{Backend, Key, Server, answer, eventually, on_both};

/// A receiver that gives configured responses and records the messages.
#[derive(Clone, Default)]
struct Receiver {
    got: Arc<Mutex<Vec<(HeaderMap, Bytes)>>>,
    answers: Arc<Mutex<Vec<u16>>>,
}

async fn receive(
    State(receiver): State<Receiver>,
    headers: HeaderMap,
    body: Bytes,
) -> (StatusCode, HeaderMap) {
    receiver.got.lock().unwrap().push((headers, body));
    let status = receiver.answers.lock().unwrap().pop().unwrap_or(204);
    let headers = HeaderMap::from_iter([("location".parse().unwrap(), "/elsewhere".parse().unwrap())]);
    (StatusCode::from_u16(status).unwrap(), headers)
}

impl Receiver {
    /// Listens on this machine. Returns its address.
    async fn listen(&self) -> String {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new()
            .route("/hook", post(receive))
            .route("/elsewhere", post(receive))
            .with_state(self.clone());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        format!("http://{address}/hook")
    }

    /// Sets the statuses of the next responses, first to last; afterwards 204.
    fn will_answer(&self, statuses: &[u16]) {
        *self.answers.lock().unwrap() = statuses.iter().rev().copied().collect();
    }

    /// Waits until this many messages have arrived.
    async fn messages(&self, count: usize) -> Vec<(HeaderMap, Bytes)> {
        eventually(async || {
            let got = self.got.lock().unwrap().clone();
            match got.len() >= count {
                true => Ok(got),
                false => Err(format!("{} of {count} messages came", got.len())),
            }
        })
        .await
    }
}

/// The newest event that satisfies a condition, once there is one.
async fn event(server: &Server, demo: &Value, is: impl Fn(&Value) -> bool) -> Value {
    eventually(async || {
        let list = server.bonafide(&[
            "webhook",
            "list",
            "--sandbox",
            "--merchant",
            demo["merchantId"].as_str().unwrap(),
        ]);
        let found = list
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .find(&is);
        found.ok_or_else(|| format!("no such event: {list}"))
    })
    .await
}

fn webhook(server: &Server, demo: &Value, arguments: &[&str]) -> String {
    let merchant = ["--sandbox", "--merchant", demo["merchantId"].as_str().unwrap()];
    server
        .bonafide(&[&["webhook"], arguments, &merchant].concat())
        .trim()
        .to_owned()
}

async fn point(server: &Server, demo: &Value, url: &str) -> String {
    let key = Key::of_demo(demo);
    let flow = demo["flows"]["data-only"].as_str().unwrap().to_owned();
    let (status, _) = server
        .put(
            &format!("/v2/public/flows/{flow}"),
            &key,
            json!({"webhookUrl": url}),
        )
        .await;
    assert_eq!(status, 200);
    flow
}

async fn verify(server: &Server, demo: &Value, flow: &str, last_name: &str) -> Value {
    let form = Form::new()
        .text("firstName", "Ada")
        .text("lastName", last_name.to_owned())
        .text("externalUserId", "ada")
        .text("flowId", flow.to_owned());
    let request = server
        .request(reqwest::Method::POST, "/v2/idv/verify", &Key::of_demo(demo))
        .multipart(form);
    let (status, body) = answer(request.send().await.unwrap()).await;
    assert_eq!(status, 200, "{body}");
    body
}

on_both!(a_verification_is_announced_and_signed, |backend| {
    let (server, demo) = Server::demo(backend, &[]).await;
    let receiver = Receiver::default();
    let flow = point(&server, &demo, &receiver.listen().await).await;
    verify(&server, &demo, &flow, "Quill").await;
    let (headers, body) = receiver.messages(1).await.remove(0);
    let old = webhook(&server, &demo, &["secret", &flow]);
    Webhook::new(&old)
        .unwrap()
        .verify(&body, &headers)
        .expect("signed as the standard says");
    assert!(body.is_ascii());
    let message: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(message["type"], "verification.completed");
    assert_eq!(message["timestamp"].as_str().unwrap().len(), 24);
    let data = message["data"].as_object().unwrap();
    let members: Vec<&str> = data.keys().map(String::as_str).collect();
    assert_eq!(
        members,
        [
            "externalUserId",
            "groupingId",
            "flowId",
            "sessionId",
            "facemapId",
            "logId",
            "sequence",
            "status",
            "success",
            "codes",
            "isSandbox"
        ]
    );
    assert_eq!(
        (&data["status"], &data["sequence"], &data["isSandbox"]),
        (&json!("approved"), &json!(1), &json!(true))
    );

    // During a rotation, both secrets sign.
    let new = webhook(&server, &demo, &["rotate", &flow]);
    assert_ne!(old, new);
    let test = webhook(&server, &demo, &["test", &flow]);
    let (headers, body) = receiver.messages(2).await.remove(1);
    for secret in [&old, &new] {
        Webhook::new(secret)
            .unwrap()
            .verify(&body, &headers)
            .expect("both sign");
    }
    let test: Value = serde_json::from_str(&test).unwrap();
    assert_eq!(
        headers["webhook-id"].to_str().unwrap(),
        test["id"].as_str().unwrap()
    );

    // A review sends a webhook when it is needed, and another with the decision.
    verify(&server, &demo, &flow, "SANDBOX-2702").await;
    let waiting: Value = serde_json::from_str(&server.bonafide(&["review", "list"])).unwrap();
    server.review("approve", &waiting);
    let mut kinds: Vec<String> = receiver.messages(4).await[2..]
        .iter()
        .map(|(_, body)| {
            serde_json::from_slice::<Value>(body).unwrap()["type"]
                .as_str()
                .unwrap()
                .to_owned()
        })
        .collect();
    // The order is not defined, because no delivery waits for another.
    kinds.sort();
    assert_eq!(
        kinds,
        ["verification.review_decided", "verification.review_required"]
    );

    // The API lists what was sent, newest first, to the account's keys of this mode.
    let key = Key::of_demo(&demo);
    let list = async |query: &str| server.get(&format!("/v2/reports/events?{query}"), &key).await;
    let (status, page) = list("limit=3").await;
    assert_eq!(
        (status, page["events"].as_array().unwrap().len()),
        (200, 3),
        "{page}"
    );
    let (_, rest) = list(&format!("before={}", page["next"].as_str().unwrap())).await;
    assert_eq!(
        (rest["events"].as_array().unwrap().len(), &rest["next"]),
        (1, &Value::Null)
    );
    let (_, completed) = list(&format!("type=verification.completed&flowId={flow}")).await;
    let [listed] = &completed["events"].as_array().unwrap()[..] else {
        panic!("{completed}");
    };
    assert_eq!(*listed, rest["events"][0]);
    assert_eq!(listed["data"], message["data"]);
    assert_eq!(listed["timestamp"], message["timestamp"]);
    let delivery = &listed["delivery"];
    assert_eq!(
        (
            &delivery["state"],
            &delivery["tries"],
            &delivery["status"],
            &delivery["error"]
        ),
        (&json!("delivered"), &json!(1), &json!(204), &Value::Null)
    );
    assert_eq!(
        list("state=given_up").await.1,
        json!({"events": [], "next": null})
    );
    let stranger = server.merchant(true).sandbox;
    let (_, foreign) = server
        .get(&format!("/v2/reports/events?flowId={flow}"), &stranger)
        .await;
    assert_eq!(foreign["events"], json!([]));
    let (status, refused) = list("type=x&flowId=1&state=late&limit=0&before=1&page=2").await;
    assert_eq!(status, 400);
    for fault in [
        "type - must be one of verification.completed",
        "flowId - ",
        "state - ",
        "limit - ",
        "before - ",
        "page - ",
    ] {
        assert!(refused.to_string().contains(fault), "{fault}: {refused}");
    }

    // A message that is sent again is identical.
    let first = event(&server, &demo, |event| event["type"] == "verification.completed").await;
    webhook(&server, &demo, &["resend", first["id"].as_str().unwrap()]);
    let (headers, body) = receiver.messages(5).await.remove(4);
    assert_eq!(
        headers["webhook-id"].to_str().unwrap(),
        first["id"].as_str().unwrap()
    );
    assert_eq!(serde_json::from_slice::<Value>(&body).unwrap(), message);
});

on_both!(what_fails_is_tried_again_and_410_is_the_end, |backend| {
    let (server, demo) = Server::demo(backend, &[]).await;
    let receiver = Receiver::default();
    let flow = point(&server, &demo, &receiver.listen().await).await;
    receiver.will_answer(&[500]);
    verify(&server, &demo, &flow, "Quill").await;
    let failed = event(&server, &demo, |event| event["status"] == 500).await;
    assert_eq!(
        (&failed["tries"], failed["nextTryAt"].is_string()),
        (&json!(1), true)
    );
    // The second try comes after five seconds, even after SIGKILL.
    let server = server.kill_and_restart(&["--demo"]);
    let got = receiver.messages(2).await;
    assert_eq!(got[0].0["webhook-id"], got[1].0["webhook-id"], "under one id");
    event(&server, &demo, |event| {
        event["deliveredAt"].is_string() && event["tries"] == 2
    })
    .await;

    receiver.will_answer(&[302]);
    webhook(&server, &demo, &["test", &flow]);
    let redirected = event(&server, &demo, |event| event["status"] == 302).await;
    assert!(redirected["error"].as_str().unwrap().contains("not followed"));
    // A failed delivery does not delay the following ones.
    webhook(&server, &demo, &["test", &flow]);
    event(&server, &demo, |event| {
        event["type"] == "webhook.test" && event["deliveredAt"].is_string()
    })
    .await;

    // A delivered test ends a receiver's pause. The second try of the redirected event must not come after
    // the 410.
    event(&server, &demo, |event| {
        event["id"] == redirected["id"] && event["deliveredAt"].is_string()
    })
    .await;

    receiver.will_answer(&[410]);
    verify(&server, &demo, &flow, "Quill").await;
    let ended = event(&server, &demo, |event| event["status"] == 410).await;
    assert_eq!(ended["nextTryAt"], Value::Null);
    let before = receiver.got.lock().unwrap().len();
    verify(&server, &demo, &flow, "Quill").await;
    let silent = event(&server, &demo, |event| {
        event["type"] == "verification.completed" && event["status"].is_null() && event["error"].is_string()
    })
    .await;
    assert!(silent["error"].as_str().unwrap().contains("410"), "{silent}");
    assert_eq!(receiver.got.lock().unwrap().len(), before, "it asked for silence");
    webhook(&server, &demo, &["test", &flow]);
    receiver.messages(before + 1).await;
    webhook(&server, &demo, &["resend", silent["id"].as_str().unwrap()]);
    receiver.messages(before + 2).await;
});

/// Webhooks are not sent to private addresses of the operator's network, nor live events without TLS.
#[tokio::test(flavor = "multi_thread")]
async fn private_addresses_and_plain_http_are_refused() {
    let server = Server::start(Backend::Sqlite, &[]).await;
    let merchant = server.merchant(true);
    let receiver = Receiver::default();
    let local = receiver.listen().await;
    let named = local.replace("127.0.0.1", "localhost");
    for (sandbox, url, error) in [
        (true, local.as_str(), "not public"),
        (true, named.as_str(), "not public"),
        (true, "http://169.254.169.254/latest/meta-data", "not public"),
        (true, "http://[::1]:9/", "not public"),
        (true, "http://[::ffff:10.0.0.1]/", "not public"),
        (true, "http://no-such-host.invalid/", "no address"),
        (false, "http://93.184.216.34/", "https"),
    ] {
        let file = server.dir.path().join("hook.json");
        let secret = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oDPPRjs4iDDZQ=";
        let flow = json!({"name": format!("{sandbox} {url}"), "webhookUrl": url, "settings": {"webhookSecret": secret}});
        std::fs::write(&file, flow.to_string()).unwrap();
        let mode: &[&str] = if sandbox { &["--sandbox"] } else { &[] };
        let create = [
            "flow",
            "create",
            "--json",
            "--merchant",
            &merchant.id,
            "--file",
            file.to_str().unwrap(),
        ];
        let made = server.try_bonafide(&[&create, mode].concat());
        let said = String::from_utf8(made.stderr).unwrap();
        // What a name server answers is known only when an event is sent.
        assert_eq!(
            said.contains("no event is ever sent"),
            error != "no address",
            "{url}: {said}"
        );
        let made: Value = serde_json::from_slice(&made.stdout).unwrap();
        let run = |arguments: &[&str]| {
            server.bonafide(&[&["webhook", "--merchant", &merchant.id], mode, arguments].concat())
        };
        let flow = made["flowId"].as_str().unwrap();
        assert_eq!(run(&["secret", flow]).trim(), secret);
        run(&["test", flow]);
        let text = eventually(async || {
            let list = run(&["list", "--limit", "1"]);
            let event: Value = serde_json::from_str(&list).unwrap();
            let text = event["error"].as_str().map(str::to_owned);
            text.ok_or_else(|| format!("{url}: {list}"))
        })
        .await;
        assert!(text.contains(error), "{url}: {text}");
    }
    assert!(receiver.got.lock().unwrap().is_empty());
}

/// An event that cannot be decrypted is given up, and later ones are delivered.
#[tokio::test(flavor = "multi_thread")]
async fn an_unreadable_event_holds_back_nobody() {
    let (server, demo) = Server::demo(Backend::Sqlite, &[]).await;
    let receiver = Receiver::default();
    // Delivery to the first address fails, so that the event can be damaged before it is sent.
    let flow = point(&server, &demo, "http://localhost:9/").await;
    verify(&server, &demo, &flow, "Quill").await;
    event(&server, &demo, |event| {
        event["tries"] == 1 && event["error"].is_string()
    })
    .await;
    let mut database = server.sqlite().await;
    sqlx::raw_sql("update outbox set body_sealed = x'00', next_try_at = 0")
        .execute(&mut database)
        .await
        .unwrap();
    point(&server, &demo, &receiver.listen().await).await;
    verify(&server, &demo, &flow, "Quill").await;
    receiver.messages(1).await;
    let damaged = event(&server, &demo, |event| event["tries"] == 2).await;
    assert_eq!(damaged["nextTryAt"], Value::Null, "{damaged}");
    assert!(
        damaged["error"].as_str().unwrap().contains("master key"),
        "{damaged}"
    );
}
