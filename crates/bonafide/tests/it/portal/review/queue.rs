//! The review queue, with its reason templates and saved views.

use serde_json::json;

use super::{decide, merchant, newest, open};
use crate::harness::{Backend, Server, on_both};
use crate::portal::Browser;
use crate::verify::verify;

on_both!(what_waits_without_a_fault_says_why, |backend| {
    let (server, demo) = Server::demo(backend, &[]).await;
    let officer = Browser::sign_up(&server, merchant(&demo), "compliance").await;
    let flow = demo["flows"]["data-only"].as_str().unwrap();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(
        file.path(),
        json!({"settings": {"reviewPolicy": "always"}}).to_string(),
    )
    .unwrap();
    let (id, path) = (merchant(&demo), file.path().to_str().unwrap());
    server.bonafide(&[
        "flow",
        "update",
        "--merchant",
        id,
        "--flow",
        flow,
        "--sandbox",
        "--file",
        path,
    ]);
    let form = reqwest::multipart::Form::new()
        .text("flowId", flow.to_owned())
        .text("externalUserId", "maren")
        .text("firstName", "Maren")
        .text("lastName", "Velloway");
    let (status, body) = verify(&server, &demo, form).await;
    assert_eq!((status, &body["success"]), (200, &json!(true)), "{body}");
    let log_id = newest(&server).await;
    let queue = officer.get("/portal/queue").await.page();
    assert!(
        queue.contains("No failures. This Flow sends everyone to manual review."),
        "{queue}"
    );
    let page = open(&officer, log_id).await;
    assert!(
        page.contains("No failures. This Flow sends everyone to manual review."),
        "{page}"
    );

    for (what, reason) in [("approve", ""), ("reopen", "Wrong button")] {
        decide(&officer, log_id, what, &[("reason", reason)])
            .await
            .redirect();
    }
    let queue = officer.get("/portal/queue").await.page();
    assert!(queue.contains("Reopened; needs a new decision"), "{queue}");
    let page = open(&officer, log_id).await;
    assert!(
        page.contains("reopened this attempt") && page.contains("Wrong button"),
        "{page}"
    );

    // An unknown value of one filter leaves the others unchanged.
    let wrong = officer.get("/portal/queue?country=XX1&order=oldest").await;
    assert_eq!(wrong.status, 400);
    for text in ["Unknown country", "value=\"XX1\"", "value=\"oldest\" selected"] {
        assert!(wrong.body.contains(text), "{text}: {}", wrong.body);
    }
});

#[tokio::test(flavor = "multi_thread")]
async fn reasons_and_views_are_kept() {
    let server = Server::start(Backend::Sqlite, &[]).await;
    let merchant = server.merchant(true);
    let owner = Browser::sign_up(&server, &merchant.id, "owner").await;
    owner
        .post(
            "/portal/queue/reasons",
            &[("decision", "decline"), ("body", "<b>A copy</b>")],
        )
        .await
        .redirect();
    let page = owner.get("/portal/queue/reasons").await.page();
    assert!(!page.contains("<b>A copy") && page.contains("A copy"));
    for wrong in [("x", "y"), ("approve", " "), ("approve", &"long".repeat(300))] {
        let form = [("decision", wrong.0), ("body", wrong.1)];
        let refused = owner.post("/portal/queue/reasons", &form).await;
        assert_eq!(refused.status, 400);
        assert!(refused.body.contains("1 to 1,000 characters"), "{}", refused.body);
        assert!(refused.body.contains(wrong.1.trim()), "what was typed is kept");
    }
    let view = [
        ("name", "Old passports"),
        ("query", "document=PASSPORT&age=24&evil=1"),
    ];
    let kept = owner.post("/portal/queue/views", &view).await.redirect();
    assert!(
        kept.starts_with("/portal/queue?document=PASSPORT&age=24"),
        "{kept}"
    );
    let queue = owner.get("/portal/queue").await.page();
    assert!(queue.contains("Old passports"));
    owner
        .post("/portal/queue/views/delete", &[("name", "Old passports")])
        .await
        .redirect();
    assert!(!owner.get("/portal/queue").await.page().contains("Old passports"));
}
