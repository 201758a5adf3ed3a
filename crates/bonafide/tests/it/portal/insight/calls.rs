//! The API log: the stored content of a call, who may see it, and its erasure.

use std::time::{Duration, Instant};

use serde_json::json;

use super::link;
use crate::api_log::written;
use crate::harness::{Backend, Key, Server, on_both};
use crate::portal::Browser;
use crate::verify::{specimen, verify};

on_both!(
    what_a_call_said_is_shown_by_role_and_erased_with_the_person,
    |backend| {
        let (server, demo) = Server::demo(backend, &[]).await;
        let merchant = demo["merchantId"].as_str().unwrap();
        let form = specimen("pass-passport").form(&demo, &json!({"externalUserId": "ada@example.com"}));
        let (status, answer) = verify(&server, &demo, form).await;
        assert_eq!(status, 200, "{answer}");
        let path = "/v2/reports/applicants/byExternalUserId/ada@example.com";
        assert_eq!(server.get(path, &Key::of_demo(&demo)).await.0, 200);
        written(&server, 2).await;

        let officer = Browser::sign_up(&server, merchant, "compliance").await;
        let developer = Browser::sign_up(&server, merchant, "developer").await;
        let list = officer
            .get("/portal/api-log?route=%2Fv2%2Fidv%2Fverify")
            .await
            .page();
        let call = link(&list, "/portal/api-log/");
        let page = officer.get(&call).await.page();
        let first_name = "ada@example.com";
        assert!(page.contains(first_name) && page.contains("facemap_id"), "{page}");
        let audit = officer.get("/portal/audit?action=person").await.page();
        assert!(
            audit.contains("person.viewed") && audit.contains("Robin Example"),
            "{audit}"
        );
        let signed_in = officer.get("/portal/audit?action=staff.signed_in").await.page();
        assert!(
            signed_in.contains("<td>–</td>") && !signed_in.contains("<td>Live</td>"),
            "signing in has no mode: {signed_in}"
        );
        let live = officer.get("/portal/audit?mode=live").await.page();
        assert!(!live.contains("staff.signed_in"), "{live}");

        let masked = developer.get(&call).await.page();
        assert!(
            !masked.contains(first_name) && masked.contains("externalUserId"),
            "{masked}"
        );
        assert!(masked.contains("•••"));
        let list = developer.get("/portal/api-log").await.page();
        assert!(!list.contains(first_name), "no path with a label");

        let facemap = answer["facemap_id"].as_str().unwrap();
        server.bonafide(&["erase", "--merchant", merchant, "--facemap", facemap, "--sandbox"]);
        let page = officer.get(&call).await.page();
        assert!(
            !page.contains(first_name) && page.contains("no longer exist"),
            "{page}"
        );
    }
);

on_both!(configuration_calls_are_shown_whole_and_scripts_inert, |backend| {
    let server = Server::start(backend, &[]).await;
    let merchant = server.merchant(true);
    let script = "<script>alert(1)</script>";
    let body = json!({"name": script, "flowIds": ["x"]});
    assert_eq!(
        server.post("/v2/public/groups", &merchant.sandbox, body).await.0,
        201
    );
    assert_eq!(
        server
            .post("/v2/public/groups", &merchant.sandbox, json!({}))
            .await
            .0,
        400
    );
    assert_eq!(server.get("/v2/public/groups", &merchant.live).await.0, 200);
    written(&server, 3).await;

    let developer = Browser::sign_up(&server, &merchant.id, "developer").await;
    let list = developer.get("/portal/api-log").await.page();
    assert_eq!(
        list.matches("href=\"/portal/api-log/").count(),
        2,
        "live calls stay with live: {list}"
    );
    let refused = developer.get("/portal/api-log?status=refused").await.page();
    assert_eq!(refused.matches("href=\"/portal/api-log/").count(), 1);
    let call = link(
        &developer.get("/portal/api-log?status=201").await.page(),
        "/portal/api-log/",
    );
    let page = developer.get(&call).await.page();
    assert!(
        !page.contains(script) && page.contains("&#60;script&#62;") || page.contains("&lt;script&gt;"),
        "{page}"
    );
    assert_eq!(developer.get("/portal/api-log?from=yesterday").await.status, 400);
    assert_eq!(developer.get("/portal/api-log?before=x").await.status, 400);

    let stranger = server.merchant(true);
    let other = Browser::sign_up(&server, &stranger.id, "owner").await;
    assert_eq!(other.get(&call).await.status, 404, "another account's call");
    assert!(
        other
            .get("/portal/api-log")
            .await
            .page()
            .contains("No requests yet")
    );
});

on_both!(events_and_calls_name_nobody_to_developers, |backend| {
    let (server, demo) = Server::demo(backend, &[]).await;
    let flow = demo["flows"]["data-only"].as_str().unwrap().to_owned();
    let hook = json!({"webhookUrl": "https://hooks.example/bonafide"});
    let path = format!("/v2/public/flows/{flow}");
    assert_eq!(server.put(&path, &Key::of_demo(&demo), hook).await.0, 200);
    let form = reqwest::multipart::Form::new()
        .text("flowId", flow)
        .text("externalUserId", "ada@example.com")
        .text("firstName", "Maren")
        .text("lastName", "Velloway");
    let verify = server.request(reqwest::Method::POST, "/v2/idv/verify", &Key::of_demo(&demo));
    let answer = verify.multipart(form).send().await.unwrap();
    assert_eq!(answer.status(), 200);
    let request_id = answer.headers()["x-request-id"].to_str().unwrap().to_owned();
    written(&server, 2).await;

    let merchant = demo["merchantId"].as_str().unwrap();
    for (role, sees) in [("admin", true), ("developer", false)] {
        let browser = Browser::sign_up(&server, merchant, role).await;
        let event = link(
            &browser.get("/portal/webhooks").await.page(),
            "/portal/webhooks/events/",
        );
        let page = browser.get(&event).await.page();
        assert_eq!(page.contains("ada@example.com"), sees, "{role}: {page}");
        assert_eq!(page.contains("•••"), !sees, "{role}: {page}");
    }
    // A call is found by its request ID, with and without other filters.
    let developer = Browser::sign_up(&server, merchant, "developer").await;
    for (filter, is_found) in [("", true), ("&status=200", true), ("&status=refused", false)] {
        let list = format!("/portal/api-log?request={request_id}{filter}");
        let list = developer.get(&list).await.page();
        let found = list.matches("href=\"/portal/api-log/").count();
        assert_eq!(found, usize::from(is_found), "{filter}: {list}");
    }
});

/// With two connections per request, requests that have one each would wait for the second until they time out.
#[tokio::test(flavor = "multi_thread")]
async fn many_readers_of_the_api_log_do_not_block_each_other() {
    let (server, demo) = Server::demo(Backend::Postgres, &[]).await;
    assert_eq!(server.get("/v2/public/groups", &Key::of_demo(&demo)).await.0, 200);
    written(&server, 1).await;
    let developer = Browser::sign_up(&server, demo["merchantId"].as_str().unwrap(), "developer").await;
    let call = link(&developer.get("/portal/api-log").await.page(), "/portal/api-log/");
    let pages = (0..96).map(|number| match number % 2 {
        0 => "/portal/api-log",
        _ => call.as_str(),
    });
    let begun = Instant::now();
    for answer in futures_util::future::join_all(pages.map(|page| developer.get(page))).await {
        assert_eq!(answer.status, 200, "{}", answer.body);
    }
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
}
