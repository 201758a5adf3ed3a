//! The API log: what it records of calls, what it never records, and that a stopping server loses no entry.

use serde_json::json;

use crate::harness::{Key, Server, on_both, wait_until};

pub(crate) const CALLS: &str = "select count(*) from api_log";

/// Waits until this many calls are written, because the log is written outside the requests' path.
pub(crate) async fn written(server: &Server, calls: i64) {
    wait_until(
        async || server.count(CALLS).await >= calls,
        "the calls are written",
    )
    .await;
    assert_eq!(server.count(CALLS).await, calls);
}

on_both!(authenticated_calls_are_recorded, |backend| {
    let server = Server::start(backend, &["--rate-reads", "2"]).await;
    let merchant = server.merchant(true);
    let key = &merchant.sandbox;
    for expected in [200, 200, 429] {
        assert_eq!(server.get("/v2/public/groups", key).await.0, expected);
    }
    let body = json!({"name": "Somebody", "flowIds": ["x"]});
    assert_eq!(server.post("/v2/public/groups", key, body).await.0, 201);
    assert_eq!(server.post("/v2/public/groups", key, json!({})).await.0, 400);
    let applicant = "/v2/reports/applicants/byExternalUserId/anna@example.com";
    assert_eq!(server.get(applicant, &merchant.live).await.0, 404);
    let stranger = Key {
        key: key.key.clone(),
        secret: "wrong".into(),
    };
    assert_eq!(server.get("/v2/public/groups", &stranger).await.0, 400);
    assert_eq!(server.get("/v2/nothing", key).await.0, 404);

    written(&server, 6).await;
    for (sql, count) in [
        (
            "select count(*) from api_log where status = 429 and route = '/v2/public/groups'",
            1,
        ),
        (
            "select count(*) from api_log where status = 201 and method = 'POST'",
            1,
        ),
        (
            "select count(*) from api_log where route = '/v2/reports/applicants/byExternalUserId/{externalUserId}'",
            1,
        ),
        ("select count(*) from api_log where request_id = ''", 0),
        ("select count(distinct key) from api_log", 2),
    ] {
        assert_eq!(server.count(sql).await, count, "{sql}");
    }
});

on_both!(a_stopping_server_writes_what_waits, |backend| {
    let mut server = Server::start(backend, &["--rate-reads", "0"]).await;
    let merchant = server.merchant(true);
    for _ in 0..40 {
        assert_eq!(server.get("/v2/public/groups", &merchant.sandbox).await.0, 200);
    }
    server.ask_to_stop();
    let ended = server.wait();
    let log = std::fs::read_to_string(server.dir.path().join("server.log")).unwrap();
    assert!(ended.success(), "{ended}: {log}");
    assert_eq!(server.count(CALLS).await, 40);
});

on_both!(old_calls_go, |backend| {
    let server = Server::start(backend, &[]).await;
    let merchant = server.merchant(true);
    for _ in 0..2 {
        assert_eq!(server.get("/v2/public/groups", &merchant.sandbox).await.0, 200);
    }
    written(&server, 2).await;
    server
        .sql("update api_log set at = at - 8 * 86400000 where id = (select id from api_log order by at limit 1)")
        .await;
    let server = server.kill_and_restart(&["--api-log-days", "7"]);
    wait_until(async || server.count(CALLS).await <= 1, "the old call goes").await;
});
