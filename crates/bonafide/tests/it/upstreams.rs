//! Configured vendors (`docs/decisions/0018-transaction-monitoring.md`): a simulated vendor on its own port,
//! with every kind of failure.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::harness::{Key, Server, on_both, wait_until};
use crate::portal::Browser;

const PATH: &str = "/v2/public/transaction-monitoring";
const SECRET: &str = "vendor-secret-7f3a";
/// A wallet of the demo list of sanctions.
const LISTED: &str = "0xDE00000000000000000000000000000000000DE0";

/// Addresses without labels, one for each kind of response.
fn stranger(number: u8) -> String {
    format!("0x{}", hex::encode([number; 20]))
}

const GOOD: u8 = 0x11;
const NEVER: u8 = 0x12;
const BROKEN: u8 = 0x13;
const GARBAGE: u8 = 0x14;
const OTHER_SCHEMA: u8 = 0x15;
const TRUNCATED: u8 = 0x16;
const MISSING: u8 = 0x17;
const OUT_OF_SCALE: u8 = 0x18;
const ONCE_BROKEN: u8 = 0x19;
const MEMBER_OF_OTHER_TYPE: u8 = 0x1a;
const ON_RELEASE: u8 = 0x1b;

async fn vendor(
    State((asked, tell)): State<(Arc<AtomicUsize>, Arc<Notify>)>,
    Path(query): Path<String>,
    headers: HeaderMap,
) -> Response {
    let times = asked.fetch_add(1, Ordering::SeqCst);
    if headers
        .get(header::AUTHORIZATION)
        .and_then(|value| value.to_str().ok())
        != Some(&format!("Bearer {SECRET}"))
    {
        return StatusCode::UNAUTHORIZED.into_response();
    }
    let number = hex::decode(&query[2..]).unwrap()[0];
    let good = json!({
        "result": {"risk": 0.35, "unknown": {"deep": [1, {}]}, "held": 0},
        "owner": [{"label": "Vendor's name", "type": "mixer", "extra": 1}],
    });
    let good = good
        .to_string()
        .replace("\"held\":0", "\"held\":340282366920938463463374607431768211456");
    match number {
        NEVER => std::future::pending().await,
        ON_RELEASE => {
            tell.notified().await;
            good.into_response()
        }
        BROKEN => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        ONCE_BROKEN if times == 0 => StatusCode::BAD_GATEWAY.into_response(),
        GARBAGE => "<html>We are sorry</html>".into_response(),
        OTHER_SCHEMA => json!({"data": {"score": 35}}).to_string().into_response(),
        TRUNCATED => {
            let half = good[..good.len() / 2].to_owned();
            let stream = futures_util::stream::iter([
                Ok(half.into_bytes()),
                Err(std::io::Error::other("the connection breaks")),
            ]);
            ([(header::CONTENT_LENGTH, good.len())], Body::from_stream(stream)).into_response()
        }
        MISSING => StatusCode::NOT_FOUND.into_response(),
        OUT_OF_SCALE => json!({"result": {"risk": 35}}).to_string().into_response(),
        MEMBER_OF_OTHER_TYPE => json!({"result": {"risk": 0, "held": {"sum": 1}}})
            .to_string()
            .into_response(),
        _ => good.into_response(),
    }
}

struct SimulatedVendor {
    origin: String,
    asked: Arc<AtomicUsize>,
    /// Lets the vendor respond about [`ON_RELEASE`].
    tell: Arc<Notify>,
}

async fn play() -> SimulatedVendor {
    let (asked, tell) = (Arc::new(AtomicUsize::new(0)), Arc::new(Notify::new()));
    let router = Router::new()
        .route("/v1/{query}", get(vendor))
        .with_state((asked.clone(), tell.clone()));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });
    SimulatedVendor { origin, asked, tell }
}

fn described(played: &SimulatedVendor, folder: &std::path::Path, change: &Value) -> Value {
    let secret = folder.join("token");
    std::fs::write(&secret, format!("{SECRET}\n")).unwrap();
    let mut config = json!({
        "name": "riskhouse", "url": format!("{}/v1/{{query}}", played.origin), "score": "/result/risk",
        "scale": {"from": 0, "to": 1}, "authentication": {"kind": "bearer", "token": {"file": secret}},
        "members": {"balance": "/result/held", "entities": {"at": "/owner", "name": "/label", "category": "/type"}},
        "timeoutMs": 500, "retries": 1, "breaker": {"failures": 1000},
    });
    for (name, value) in change.as_object().unwrap() {
        config[name.as_str()] = value.clone();
    }
    config
}

/// The demo server with vendors.
async fn serving(backend: crate::harness::Backend, file: &Value, folder: &std::path::Path) -> (Server, Key) {
    let path = folder.join("upstreams.json");
    std::fs::write(&path, file.to_string()).unwrap();
    let (server, demo) = Server::demo(backend, &["--upstreams", path.to_str().unwrap()]).await;
    let key = Key::of_demo(&demo);
    (server, key)
}

fn detailed(query: &str) -> Value {
    json!({"type": "address", "query": query, "currency": "eth", "report": "detailed"})
}

on_both!(a_query_whose_client_hangs_up_is_recorded, |backend| {
    let folder = tempfile::tempdir().unwrap();
    let played = play().await;
    let file = json!({"upstreams": [described(&played, folder.path(), &json!({}))]});
    let (server, key) = serving(backend, &file, folder.path()).await;
    let query = detailed(&stranger(ON_RELEASE));
    let send = || {
        let request = server.request(reqwest::Method::POST, PATH, &key);
        request.header("Idempotency-Key", "hangs up").json(&query).send()
    };
    let under_way = wait_until(
        async || played.asked.load(Ordering::SeqCst) > 0,
        "the vendor is asked",
    );
    tokio::select! {
        response = send() => panic!("answered before the vendor was asked: {response:?}"),
        // Dropping the request closes its connection.
        () = under_way => {}
    }
    played.tell.notify_one();
    wait_until(
        async || {
            server
                .count("select count(*) from screenings where status = 200")
                .await
                > 0
        },
        "the query is recorded",
    )
    .await;
    let response = send().await.unwrap();
    assert_eq!(response.headers()["idempotency-replayed"], "true");
    assert_eq!(
        played.asked.load(Ordering::SeqCst),
        1,
        "the vendor was asked once"
    );
    assert_eq!(server.count("select count(*) from screenings").await, 1);
});

on_both!(a_vendor_answers_where_our_own_sources_have_none, |backend| {
    let folder = tempfile::tempdir().unwrap();
    let played = play().await;
    let file = json!({"upstreams": [described(&played, folder.path(), &json!({}))]});
    let (server, key) = serving(backend, &file, folder.path()).await;

    let (status, body) = server.post(PATH, &key, detailed(&stranger(GOOD))).await;
    assert_eq!((status, &body["score"]), (200, &json!(35.0)), "{body}");
    assert_eq!(
        (&body["balance"], &body["entities"], &body["exposures"]),
        (
            &json!("340282366920938463463374607431768211456"),
            &json!([{"name": "Vendor's name", "category": "mixer"}]),
            &json!({"source": "riskhouse"})
        )
    );
    // A decision cannot be replayed without the details that the vendor omits.
    let demo = std::fs::read(server.dir.path().join("demo.json")).unwrap();
    let demo: Value = serde_json::from_slice(&demo).unwrap();
    let auditor = Browser::sign_up(&server, demo["merchantId"].as_str().unwrap(), "auditor").await;
    let page = format!("/portal/monitoring/{}", body["queryId"].as_str().unwrap());
    let again = format!("{page}/again");
    let shown = auditor.get(&page).await.page();
    assert!(
        shown.contains("the score is from a vendor") && !shown.contains(&again),
        "{shown}"
    );
    let refused = auditor.submit(&again, &[]).await;
    assert!(
        refused.contains("The decision cannot be repeated: the score is from a vendor"),
        "{refused}"
    );
    let simple = json!({"type": "address", "query": stranger(GOOD), "currency": "eth"});
    let (_, body) = server.post(PATH, &key, simple).await;
    assert_eq!(body.as_object().unwrap().len(), 6);

    for (number, expected, times) in [
        (NEVER, 504, 2),
        (BROKEN, 503, 2),
        (ONCE_BROKEN, 200, 2),
        (GARBAGE, 502, 1),
        (OTHER_SCHEMA, 502, 1),
        (OUT_OF_SCALE, 502, 1),
        (MEMBER_OF_OTHER_TYPE, 502, 1),
        (TRUNCATED, 503, 2),
        (MISSING, 404, 1),
    ] {
        played.asked.store(0, Ordering::SeqCst);
        let (status, body) = server.post(PATH, &key, detailed(&stranger(number))).await;
        assert_eq!(status, expected, "{number:#x}: {body}");
        assert_eq!(played.asked.load(Ordering::SeqCst), times, "{number:#x}");
        if status != 200 {
            assert_eq!(body["success"], false);
        }
    }

    // A wallet on our own list needs no vendor, and no vendor can lower its score.
    played.asked.store(0, Ordering::SeqCst);
    let (status, body) = server.post(PATH, &key, detailed(LISTED)).await;
    assert_eq!((status, &body["score"]), (200, &json!(100.0)));
    assert_eq!(played.asked.load(Ordering::SeqCst), 0);

    let log = server.log().await;
    assert!(!log.contains(SECRET) && !log.contains(&stranger(BROKEN)), "{log}");
});

on_both!(vendors_can_come_first_and_fall_back, |backend| {
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = (play().await, play().await);
    let nobody = SimulatedVendor {
        origin: "http://127.0.0.1:9".into(),
        asked: Arc::default(),
        tell: Arc::default(),
    };
    let file = json!({"order": "upstreamsFirst", "upstreams": [
        described(&first, folder.path(), &json!({"name": "other chains", "chains": ["btc"]})),
        described(&nobody, folder.path(), &json!({"name": "down", "breaker": {"failures": 1}})),
        described(&second, folder.path(), &json!({"name": "second"})),
    ]});
    let (server, key) = serving(backend, &file, folder.path()).await;
    let (status, body) = server.post(PATH, &key, detailed(&stranger(GOOD))).await;
    assert_eq!(
        (status, &body["exposures"]["source"]),
        (200, &json!("second")),
        "{body}"
    );
    assert_eq!(first.asked.load(Ordering::SeqCst), 0);
    // The vendor's score is 35, the authority's list gives 100.
    let (status, body) = server.post(PATH, &key, detailed(LISTED)).await;
    assert_eq!((status, &body["score"]), (200, &json!(100.0)));
    assert_eq!(second.asked.load(Ordering::SeqCst), 2);
    let (status, _) = server.post(PATH, &key, detailed(&stranger(MISSING))).await;
    assert_eq!(status, 503, "one vendor says 404, the other could not be asked");
});

/// `doctor` and `serve` report the file's error without repeating a secret.
#[tokio::test(flavor = "multi_thread")]
async fn a_bad_file_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let played = play().await;
    let server = Server::start(crate::harness::Backend::Sqlite, &[]).await;
    let path = folder.path().join("upstreams.json");
    let doctor = |file: &Value| {
        std::fs::write(&path, file.to_string()).unwrap();
        let output = server.try_bonafide(&["doctor", "--upstreams", path.to_str().unwrap()]);
        String::from_utf8(output.stdout).unwrap()
    };
    let good = doctor(&json!({"upstreams": [described(&played, folder.path(), &json!({}))]}));
    assert!(
        good.contains("ok    upstream   riskhouse listens at http://127.0.0.1:"),
        "{good}"
    );
    let away = json!({"url": "http://127.0.0.1:9/{query}"});
    let away = doctor(&json!({"upstreams": [described(&played, folder.path(), &away)]}));
    assert!(
        away.contains("look  upstream   riskhouse at http://127.0.0.1:9"),
        "{away}"
    );
    for (change, expected) in [
        (
            json!({"score": "risk"}),
            "riskhouse: score - must be a JSON pointer",
        ),
        (
            json!({"authentication": {"kind": "bearer", "token": SECRET}}),
            "a secret is {\"env\": VARIABLE} or {\"file\": PATH}",
        ),
        (
            json!({"authentication": {"kind": "bearer", "token": {"env": "BONAFIDE_TEST_NOT_SET"}}}),
            "the variable BONAFIDE_TEST_NOT_SET cannot be read",
        ),
    ] {
        let found = doctor(&json!({"upstreams": [described(&played, folder.path(), &change)]}));
        let line = found.lines().find(|line| line.contains("upstream")).unwrap();
        assert!(line.starts_with("BAD") && line.contains(expected), "{line}");
        assert!(!found.contains(SECRET));
    }
    let output = server.try_bonafide(&["serve", "--listen", "127.0.0.1:0", "--upstreams", "/nowhere.json"]);
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(
        !output.status.success() && text.contains("the upstreams in /nowhere.json"),
        "{text}"
    );
}
