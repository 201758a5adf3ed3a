//! The audit trail and the figures.

use serde_json::json;

use crate::harness::{Server, on_both};
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
    for what in ["flows", "countries", "documents", "reasons", "funnel", "lists"] {
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
