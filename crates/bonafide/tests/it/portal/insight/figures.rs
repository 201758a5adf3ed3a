//! The audit trail and the figures.

use serde_json::{Value, json};

use crate::harness::{Merchant, Server, on_both};
use crate::portal::Browser;
use crate::verify::{specimen, verify};

on_both!(the_trail_is_filtered_checked_and_exported, |backend| {
    let server = Server::start(backend, &[]).await;
    let merchant = server.merchant(true);
    let body = json!({"name": "=1+1", "flowIds": ["x"]});
    assert_eq!(
        server.post("/v2/public/groups", &merchant.sandbox, body).await.0,
        201
    );
    let auditor = Browser::sign_up(&server, &merchant.id, "auditor").await;
    let page = auditor.get("/portal/audit?action=group").await.page();
    assert!(page.contains("group.created"), "{page}");
    assert!(
        !auditor
            .get("/portal/audit?action=group&mode=live")
            .await
            .page()
            .contains("group.created")
    );
    let page = auditor.post("/portal/audit/verify", &[]).await.page();
    assert!(page.contains("The chain is intact"), "{page}");
    let file = auditor.get("/portal/audit/export?action=group").await;
    assert!(
        file.headers["content-disposition"]
            .to_str()
            .unwrap()
            .contains("audit-trail.csv")
    );
    let file = file.page();
    assert!(
        file.starts_with("number,time,mode,actor,name,action,subject,detail\n"),
        "{file}"
    );
    assert!(file.contains("group.created"), "{file}");

    server
        .sql("update audit set action = 'group.deleted' where action = 'group.created'")
        .await;
    let page = auditor.post("/portal/audit/verify", &[]).await.page();
    assert!(page.contains("The chain is broken"), "{page}");
    let stranger = server.merchant(true);
    let other = Browser::sign_up(&server, &stranger.id, "owner").await;
    assert!(
        !other.get("/portal/audit").await.page().contains("group."),
        "another account's trail"
    );
});

on_both!(figures_count_what_happened, |backend| {
    let (server, demo) = Server::demo(backend, &[]).await;
    let merchant = demo["merchantId"].as_str().unwrap();
    let owner = Browser::sign_up(&server, merchant, "owner").await;
    let empty = owner.get("/portal/insight").await.page();
    assert!(empty.contains("No verifications in this range"), "{empty}");
    let form = specimen("pass-passport").form(&demo, &json!({"externalUserId": "one"}));
    assert_eq!(verify(&server, &demo, form).await.1["success"], json!(true));
    let form = specimen("pass-passport").form(
        &demo,
        &json!({"externalUserId": "two", "lastName": "SANDBOX-2509"}),
    );
    assert_eq!(verify(&server, &demo, form).await.1["success"], json!(false));

    let page = owner.get("/portal/insight?split=device").await.page();
    for text in [
        "Utopia",
        "Passport",
        "Document expired",
        "50.0 %",
        "Sanctions lists in use",
    ] {
        assert!(page.contains(text), "{text}: {page}");
    }
    let days = owner.get("/portal/insight/export?what=days").await.page();
    let today = days.lines().last().unwrap();
    assert!(today.contains(",2,1,0,1,0,"), "{days}");
    for what in [
        "flows",
        "countries",
        "documents",
        "reasons",
        "funnel",
        "dropoff",
        "lists",
    ] {
        let file = owner
            .get(&format!("/portal/insight/export?what={what}"))
            .await
            .page();
        assert!(file.lines().count() >= 1, "{what}: {file}");
    }
    assert!(
        owner
            .get("/portal/insight/export?what=countries")
            .await
            .page()
            .contains("Utopia,2,1,0,1,0")
    );
    assert_eq!(owner.get("/portal/insight/export?what=nothing").await.status, 404);
    assert_eq!(
        owner.get("/portal/insight?from=2020-01-01").await.status,
        400,
        "years are too many"
    );
    let nobodys = "/portal/insight?flow=00000000-0000-0000-0000-000000000000";
    assert_eq!(owner.get(nobodys).await.status, 404);

    let overview = owner.get("/portal").await.page();
    assert!(
        overview.contains("Next steps") && overview.contains("50.0 %"),
        "{overview}"
    );
});

/// The user agents of a phone and of a computer.
const PHONE: &str = "Mozilla/5.0 (iPhone) Mobile";
const COMPUTER: &str = "Mozilla/5.0 (X11; Linux x86_64)";

/// Starts a hosted session and reports these events of it.
async fn visit(server: &Server, merchant: &Merchant, [flow, group]: [&str; 2], agent: &str, body: &Value) {
    const SESSION: &str = "/v2/sdk/session";
    let link = json!({"userId": "user-1", "groupId": group, "flowId": flow});
    let (status, link) = server
        .post(&format!("{SESSION}/web-sdk-link"), &merchant.sandbox, link)
        .await;
    assert_eq!(status, 200, "{link}");
    let (_, token) = link["url"].as_str().unwrap().split_once("&token=").unwrap();
    let send = |path: &str| server.http.post(format!("{}{SESSION}/{path}", server.base));
    let exchanged = send("exchange")
        .json(&json!({"token": token}))
        .send()
        .await
        .unwrap();
    let session: Value = exchanged.json().await.unwrap();
    let sent = send("events")
        .bearer_auth(session["access_token"].as_str().unwrap())
        .header("user-agent", agent)
        .json(body);
    assert_eq!(sent.send().await.unwrap().status(), 204);
}

on_both!(the_funnel_has_languages_medians_and_reasons, |backend| {
    let server = Server::start(backend, &[]).await;
    let merchant = server.merchant(true);
    let flow = server.flow(&merchant, &json!({"name": "Data"}));
    let body = json!({"name": "Group", "flowIds": [flow]});
    let (_, group) = server.post("/v2/public/groups", &merchant.sandbox, body).await;
    let ids = [flow.as_str(), group["groupId"].as_str().unwrap()];
    let owner = Browser::sign_up(&server, &merchant.id, "owner").await;
    let empty = owner.get("/portal/insight").await.page();
    for text in [
        "No hosted sessions match these filters",
        "No session that matches these filters dropped off",
    ] {
        assert!(empty.contains(text), "{text}: {empty}");
    }

    let event = |step: &str, kind: &str, ms: i64| json!({"step": step, "kind": kind, "ms": ms});
    let problem = |detail: &str| json!({"step": "camera", "kind": "denied", "ms": 4_000, "detail": detail});
    let opened = |ms: i64| [event("open", "reached", 0), event("open", "completed", ms)];
    let with = |more: Value, ms: i64| Value::from([&opened(ms)[..], &[more]].concat());
    for (agent, language, events) in [
        (PHONE, json!("de"), with(problem("permission_denied"), 1_000)),
        (PHONE, json!("de"), with(problem("permission_denied"), 2_000)),
        (PHONE, json!("zh-Hant"), with(problem("2509"), 3_000)),
        // An earlier version of the page sends no language.
        (
            COMPUTER,
            Value::Null,
            with(event("consent", "denied", 4_000), 9_000),
        ),
    ] {
        let mut body = json!({"events": events});
        if !language.is_null() {
            body["language"] = language;
        }
        visit(&server, &merchant, ids, agent, &body).await;
    }
    server.sql("update sessions set expires_at = created_at").await;

    let file = async |query: &str| {
        let file = owner.get(&format!("/portal/insight/export?{query}")).await;
        assert_eq!(file.status, 200, "{query}");
        file.page()
    };
    const HEAD: &str = "step,part,reached,completed,dropped,retried,median_ms,timed\n";
    let expected = "open,,4,4,0,0,2500,4\nconsent,,1,0,1,0,,0\ncamera,,3,0,3,0,,0\n";
    assert_eq!(file("what=funnel").await, format!("{HEAD}{expected}"));
    let expected = "open,de,2,2,0,0,1500,2\ncamera,de,2,0,2,0,,0\n";
    assert_eq!(
        file("what=funnel&split=language&language=de").await,
        format!("{HEAD}{expected}")
    );
    const DROP_OFFS: &str = "step,reason,sessions\n";
    let expected = "camera,permission_denied,2\nconsent,consent_refused,1\ncamera,2509,1\n";
    assert_eq!(file("what=dropoff").await, format!("{DROP_OFFS}{expected}"));
    for (filter, expected) in [
        ("device=desktop", "consent,consent_refused,1\n"),
        ("language=zh-Hant", "camera,2509,1\n"),
        ("language=fr", ""),
        ("device=desktop&language=de", ""),
    ] {
        let found = file(&format!("what=dropoff&{filter}")).await;
        assert_eq!(found, format!("{DROP_OFFS}{expected}"), "{filter}");
    }

    let page = owner.get("/portal/insight?split=language").await.page();
    for text in [
        "Traditional Chinese",
        "Unknown",
        "Camera permission denied",
        "Document expired (2509)",
        "Refused consent",
        "1.50 s",
        "50 %",
        "what=dropoff",
    ] {
        assert!(page.contains(text), "{text}: {page}");
    }
    for (wrong, field) in [("device=watch", "device - "), ("language=xx", "language - ")] {
        let answer = owner.get(&format!("/portal/insight?{wrong}")).await;
        assert_eq!(answer.status, 400, "{wrong}");
        assert!(answer.body.contains(field), "{}", answer.body);
    }
});
