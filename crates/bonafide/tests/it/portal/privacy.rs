//! Privacy: retention, the export of a person's data, and the erasure of a person.

use std::io::Read as _;

use serde_json::{Value, json};

use super::Browser;
use super::review::{conclude, decide, listed, newest};
use crate::harness::{Key, Server, on_both};

/// Creates an account with invented applicants in its sandbox. Returns its ID.
fn account(server: &Server, count: &str) -> String {
    let merchant = server.merchant(true);
    server.bonafide(&["generate", "--merchant", &merchant.id, "--count", count]);
    merchant.id
}

/// The text after a mark on a page, up to the next quote or tag.
fn after<'a>(page: &'a str, mark: &str) -> &'a str {
    let rest = &page[page.find(mark).unwrap_or_else(|| panic!("no {mark}: {page}")) + mark.len()..];
    &rest[..rest.find(['"', '<']).unwrap()]
}

on_both!(a_person_is_exported_and_forgotten, |backend| {
    let server = Server::start(backend, &[]).await;
    let merchant = account(&server, "7");
    // An interrupted run continues where it stopped.
    server.bonafide(&["generate", "--merchant", &merchant, "--count", "12"]);
    assert_eq!(server.count("select count(*) from people").await, 12);
    let officer = Browser::sign_up(&server, &merchant, "compliance").await;
    let page = officer
        .post("/portal/privacy/person", &[("person", "invented-1-00000003")])
        .await
        .page();
    assert!(page.contains("invented-1-00000003"), "{page}");
    let facemap = after(&page, r#"name="facemapId" value=""#).to_owned();

    let request = officer.form("/portal/privacy/export", &[("facemapId", &facemap)]);
    let response = request.send().await.unwrap();
    assert_eq!(response.status(), 200);
    let bytes = response.bytes().await.unwrap().to_vec();
    let mut archive = zip::ZipArchive::new(std::io::Cursor::new(bytes)).unwrap();
    let mut read = |name: &str| -> Value {
        let mut text = String::new();
        archive.by_name(name).unwrap().read_to_string(&mut text).unwrap();
        serde_json::from_str(&text).unwrap()
    };
    let person = read("person.json");
    assert_eq!(person["facemapId"], json!(facemap));
    assert_eq!(
        person["registrations"][0]["externalUserId"],
        "invented-1-00000003"
    );
    let mut names = archive.file_names().map(|name| name.unwrap().into_owned());
    let attempt = names.find(|name| name.starts_with("attempts/")).unwrap();
    drop(names);
    let mut text = String::new();
    archive
        .by_name(&attempt)
        .unwrap()
        .read_to_string(&mut text)
        .unwrap();
    let attempt: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(attempt["request"]["externalUserId"], "invented-1-00000003");
    assert!(attempt["response"]["kycResults"].is_object(), "{attempt}");

    // A wrong confirmation text erases no data.
    let wrong = officer
        .post(
            "/portal/privacy/erase",
            &[("facemapId", &facemap), ("typed", "yes")],
        )
        .await;
    assert_eq!(wrong.status, 400);
    let erased = officer
        .post(
            "/portal/privacy/erase",
            &[("facemapId", &facemap), ("typed", &facemap[..8])],
        )
        .await;
    assert_eq!(erased.redirect(), "/portal/privacy?done=privacy.erased");
    let page = officer.get("/portal/privacy").await.page();
    assert!(page.contains(&facemap), "the ledger: {page}");
    let gone = officer
        .post("/portal/privacy/person", &[("person", &facemap)])
        .await
        .page();
    assert!(!gone.contains("facemapId"), "{gone}");
    let gone = officer
        .post("/portal/privacy/export", &[("facemapId", &facemap)])
        .await;
    assert_eq!(gone.status, 404);
    let trail = server.bonafide(&["audit", "verify", "--merchant", &merchant]);
    assert_eq!(
        serde_json::from_str::<Value>(&trail).unwrap()["intact"],
        json!(true)
    );
    assert_eq!(
        server
            .count("select count(*) from audit where action = 'person.exported'")
            .await,
        1
    );
    assert_eq!(
        server
            .count("select count(*) from audit where action = 'person.erased'")
            .await,
        1
    );
});

on_both!(another_account_s_people_are_nobody, |backend| {
    let server = Server::start(backend, &[]).await;
    let theirs = account(&server, "3");
    let officer = Browser::sign_up(&server, &theirs, "owner").await;
    let page = officer
        .post("/portal/privacy/person", &[("person", "invented-1-00000001")])
        .await
        .page();
    let facemap = after(&page, r#"name="facemapId" value=""#).to_owned();

    let own = server.merchant(true);
    let stranger = Browser::sign_up(&server, &own.id, "owner").await;
    let page = stranger
        .post("/portal/privacy/person", &[("person", &facemap)])
        .await
        .page();
    assert!(!page.contains("facemapId"), "{page}");
    for path in ["/portal/privacy/export", "/portal/privacy/erase"] {
        let answer = stranger
            .post(path, &[("facemapId", &facemap), ("typed", &facemap[..8])])
            .await;
        assert_eq!(answer.status, 404, "{path}");
    }
    assert_eq!(server.count("select count(*) from erasures").await, 0);
});

on_both!(retention_is_set_by_flow, |backend| {
    let server = Server::start(backend, &[]).await;
    let merchant = account(&server, "30");
    let officer = Browser::sign_up(&server, &merchant, "admin").await;
    let page = officer.get("/portal/privacy").await.page();
    let flow = after(&page, r#"name="flowId" value=""#).to_owned();
    for wrong in ["0", "36501", "-1", "x", "1.5"] {
        let answer = officer
            .post("/portal/privacy/retention", &[("flowId", &flow), ("days", wrong)])
            .await;
        assert_eq!(answer.status, 400, "{wrong}");
        assert!(
            answer.body.contains(&format!("value=\"{wrong}\"")),
            "{wrong}: {}",
            answer.body
        );
    }
    let set = officer
        .post(
            "/portal/privacy/retention",
            &[("flowId", &flow), ("days", " 90 ")],
        )
        .await;
    assert_eq!(set.redirect(), "/portal/privacy?done=saved");
    assert!(
        officer
            .get("/portal/privacy")
            .await
            .page()
            .contains("value=\"90\"")
    );
    let nobodys = uuid::Uuid::nil().to_string();
    let answer = officer
        .post(
            "/portal/privacy/retention",
            &[("flowId", &nobodys), ("days", "9")],
        )
        .await;
    assert_eq!(answer.status, 404);
    let unset = officer
        .post("/portal/privacy/retention", &[("flowId", &flow), ("days", "")])
        .await;
    unset.redirect();
    assert!(
        !officer
            .get("/portal/privacy")
            .await
            .page()
            .contains("value=\"90\"")
    );
    assert_eq!(
        server
            .count("select count(*) from audit where action = 'flow.retention_set'")
            .await,
        2
    );
});

on_both!(an_erasure_leaves_no_listing_that_was_set_aside, |backend| {
    let (server, demo) = Server::demo(backend, &[]).await;
    let merchant = demo["merchantId"].as_str().unwrap();
    let owner = Browser::sign_up(&server, merchant, "owner").await;
    let body = listed(&server, &demo, "ada").await;
    let hit = &body["kycResults"]["results"][0];
    let (id, list) = (hit["id"].as_str().unwrap(), hit["datasets"][0].as_str().unwrap());
    let log_id = newest(&server).await;
    conclude(&owner, log_id).await;
    let form = [("hit", id), ("why", "birth_date")];
    decide(&owner, log_id, "not-this-person", &form).await.redirect();
    let path = "/v2/reports/applicants/byExternalUserId/ada";
    let (_, found) = server.get(path, &Key::of_demo(&demo)).await;
    let facemap = found["facemapId"].as_str().unwrap();
    let path = format!("/portal/people/{facemap}/listings/restore");
    owner
        .post(&path, &[("list", list), ("entry", id)])
        .await
        .redirect();
    decide(&owner, log_id, "not-this-person", &form).await.redirect();
    let clear = "select count(*) from suppressions";
    assert_eq!(server.count(clear).await, 1);
    server.bonafide(&["erase", "--merchant", merchant, "--sandbox", "--facemap", facemap]);
    assert_eq!(server.count(clear).await, 0);
    for row in server.dump().await {
        assert!(!row.contains(id), "{row}");
    }
    let trail = format!("select count(*) from audit where detail like '%{list}%'").leak();
    assert_eq!(server.count(trail).await, 0);
    let kept = "select count(*) from audit where action like 'person.listing_%'";
    assert_eq!(server.count(kept).await, 3);
});
