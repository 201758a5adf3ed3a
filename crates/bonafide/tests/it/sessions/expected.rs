//! The person whom a merchant expects behind a link.

use super::*;
use crate::portal::Browser;
use crate::verify::specimen;

impl Account {
    /// A session for which the merchant expects a person.
    async fn expecting(&self, flow: &str, user: &str, expected: Value) -> Session<'_> {
        let body =
            json!({"userId": user, "groupId": self.group, "flowId": self.flow(flow), "expected": expected});
        let (status, body) = self.server.post(LINK, &self.key, body).await;
        assert_eq!(status, 200, "{body}");
        let token = body["url"].as_str().unwrap().split_once("token=").unwrap().1;
        self.exchanged(token, flow, user).await
    }
}

/// Decides an attempt in the portal.
async fn decide(officer: &Browser, log_id: i64, decision: &str) {
    let page = officer.get(&format!("/portal/applicants/{log_id}")).await.page();
    let version = page.split(r#"name="version" value=""#).nth(1).unwrap();
    let version = &version[..version.find('"').unwrap()];
    let form = [("reason", "Known"), ("version", version), ("q", "")];
    let decided = officer
        .post(&format!("/portal/applicants/{log_id}/{decision}"), &form)
        .await;
    assert_eq!(decided.status, 303, "{}", decided.body);
}

const HELD: &str = "does not confirm the person who was named in the link";

on_both!(a_document_is_compared_with_the_expected_person, |backend| {
    let account = Account::demo(backend, &[]).await;
    let officer = Browser::sign_up(&account.server, &account.id, "compliance").await;
    let attempt = async |number: i64, session: &Session<'_>, is_held: bool| {
        let (_, body) = session.send(session.passport()).await;
        assert_eq!(body["success"], json!(!is_held), "{body}");
        let polled = session.poll().await;
        for told in [&body, &polled] {
            for secret in ["Osei", "03/15/1991", "1991-03-15", "xpected"] {
                assert!(!told.to_string().contains(secret), "{secret}: {told}");
            }
        }
        let page = officer.get(&format!("/portal/applicants/{number}")).await.page();
        assert_eq!(page.contains(HELD), is_held, "{page}");
        assert!(page.contains("Expected person"), "{page}");
        match is_held {
            true => session.assert_state("pending", 1, "in_review").await,
            false => session.assert_state("success", 1, "done").await,
        }
        page
    };
    let name = json!({"firstName": "Tamsin", "lastName": "Osei"});
    let page = attempt(1, &account.expecting("passport", "user-1", name).await, true).await;
    assert!(page.contains("Osei") && page.contains("VELLOWAY"), "{page}");
    let date = json!({"firstName": "Tamsin", "lastName": "Velloway", "dob": "03/15/1991"});
    let page = attempt(2, &account.expecting("passport", "user-1", date).await, true).await;
    assert!(page.contains("1991-03-15"), "{page}");

    // The link for another try expects the same person.
    let made = officer.post("/portal/applicants/1/link", &[("q", "")]).await;
    assert_eq!(made.status, 303);
    let page = officer.get("/portal/applicants/1").await.page();
    let token = page.split("token=").nth(1).unwrap();
    let is_end = |c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_';
    let again = account
        .exchanged(&token[..token.find(is_end).unwrap()], "passport", "user-1")
        .await;
    let page = attempt(3, &again, true).await;
    assert!(page.contains("Osei"), "{page}");

    // Diacritics, case and further given names do not matter.
    let right = json!({"firstName": "Tamsín", "lastName": "velloway", "dob": "03/14/1991"});
    attempt(4, &account.expecting("passport", "user-1", right).await, false).await;
    let kept = "select count(*) from sessions where expected_sealed is not null";
    assert_eq!(account.server.count(kept).await, 3, "an ended session keeps none");
    assert!(
        !account.server.log().await.contains("Osei"),
        "no personal data in the log"
    );
});

// The face of whoever came in the expected person's place must not become the account's.
on_both!(an_unexpected_face_leaves_the_account_to_its_person, |backend| {
    let account = Account::demo(backend, &[]).await;
    let officer = Browser::sign_up(&account.server, &account.id, "compliance").await;
    let person = json!({"firstName": "Tamsin", "lastName": "Velloway"});
    let session = account.expecting("passport", "user-1", person.clone()).await;
    let other = specimen("pass-age").form(
        &json!({"flows": account.flows}),
        &json!({"externalUserId": "user-1", "flowId": session.flow}),
    );
    let (_, body) = session.send(other).await;
    session.assert_state("pending", 1, "in_review").await;
    assert_eq!(body["success"], json!(false), "{body}");
    assert_eq!(account.server.count("select count(*) from faces").await, 0);
    let page = officer.get("/portal/applicants/1").await.page();
    assert!(page.contains(HELD), "{page}");
    decide(&officer, 1, "decline").await;
    session.assert_state("failed", 1, "done").await;
    let session = account.expecting("passport", "user-1", person).await;
    let (_, body) = session.send(session.passport()).await;
    assert_eq!(body["success"], json!(true), "{body}");
});

on_both!(without_review_an_unexpected_person_fails, |backend| {
    let mut account = Account::demo(backend, &[]).await;
    let flow = json!({"name": "never", "defaultDocumentTypes": ["PASSPORT"],
        "defaultFields": {"selfie": true, "documentFileUpload": true}, "settings": {"reviewPolicy": "never"}});
    account.add_flow(flow).await;
    let expected = json!({"firstName": "Tamsin", "lastName": "Osei"});
    let session = account.expecting("never", "user-1", expected).await;
    let (_, body) = session.send(session.passport()).await;
    assert_eq!(body["ocrResult"]["code"], json!(2502), "{body}");
    session.assert_state("pending", 1, "open").await;
    let faces = "select count(*) from faces";
    assert_eq!(account.server.count(faces).await, 0);
    let current = session.request(Method::GET, "/v2/sdk/session/current");
    let (_, current) = answer(current.send().await.unwrap()).await;
    assert_eq!(current["outcome"]["isUnexpected"], json!(true), "{current}");
    assert!(!current.to_string().contains("Osei"), "{current}");

    // Whoever approves it after all proves the face.
    let officer = Browser::sign_up(&account.server, &account.id, "compliance").await;
    decide(&officer, 1, "approve").await;
    assert_eq!(account.server.count(faces).await, 1);
});

on_both!(a_record_that_cannot_be_read_decides_nothing, |backend| {
    let account = Account::demo(backend, &[]).await;
    let person = json!({"firstName": "Tamsin", "lastName": "Velloway"});
    let session = account.expecting("passport", "user-1", person).await;
    let other = account.session("passport", "user-2").await;
    // Sealed for another column.
    let sql = "update sessions set expected_sealed = user_id_sealed where expected_sealed is not null";
    account.server.sql(sql).await;
    let (status, _) = session.send(session.passport()).await;
    assert!(status >= 500, "{status}");
    assert_eq!(account.server.count("select count(*) from attempts").await, 0);
    let (status, body) = other.send(other.passport()).await;
    assert_eq!((status, &body["success"]), (200, &json!(true)), "{body}");
});

#[tokio::test(flavor = "multi_thread")]
async fn a_faulty_expected_person_makes_no_link() {
    let account = Account::demo(Backend::Sqlite, &[]).await;
    let links = "select count(*) from link_tokens";
    let before = account.server.count(links).await;
    for (expected, faults) in [
        (json!(null), json!(["expected - must be an object"])),
        (
            json!({"firstName": "Ada", "dob": "1990-01-31"}),
            json!([
                "expected.lastName - is required",
                "expected.dob - must be a date in the format MM/DD/YYYY"
            ]),
        ),
    ] {
        let body = json!({"userId": "u", "groupId": account.group, "flowId": account.flow("passport"), "expected": expected});
        let (status, body) = account.server.post(LINK, &account.key, body).await;
        assert_eq!((status, &body["errors"]), (400, &faults), "{body}");
    }
    let person = json!({"firstName": "Ada", "lastName": "Quill"});
    let body = json!({"userId": "u", "groupId": account.group, "flowId": account.flow("data-only"), "expected": person});
    let (status, body) = account.server.post(LINK, &account.key, body).await;
    let fault = json!(["expected - must be absent, because this Flow never requires a document"]);
    assert_eq!((status, &body["errors"]), (400, &fault), "{body}");
    assert_eq!(account.server.count(links).await, before);
}

on_both!(a_link_keeps_the_expected_person_until_its_end, |backend| {
    let account = Account::demo(backend, &[]).await;
    let links = "select count(*) from link_tokens where expected_sealed is not null";
    let person = json!({"firstName": "Ada", "lastName": "Quill"});
    account.expecting("passport", "user-1", person.clone()).await;
    assert_eq!(account.server.count(links).await, 0, "the session has it now");
    let unused = json!({"userId": "user-2", "groupId": account.group, "flowId": account.flow("passport"), "expected": person});
    let (status, body) = account.server.post(LINK, &account.key, unused).await;
    assert_eq!(status, 200, "{body}");
    assert_eq!(account.server.count(links).await, 1);
    account
        .server
        .sql("update link_tokens set expires_at = expires_at - 600000")
        .await;
    // As a node of an earlier version ends a session.
    account
        .server
        .sql("update sessions set status = 'failed', stage = 'done'")
        .await;
    let sessions = "select count(*) from sessions where expected_sealed is not null";
    assert_eq!(account.server.count(sessions).await, 1);
    // A server sweeps when it starts, and every minute.
    let server = account.server.kill_and_restart(&[]);
    wait_until(async || server.count(links).await == 0, "the sweep of links").await;
    wait_until(
        async || server.count(sessions).await == 0,
        "the sweep of sessions",
    )
    .await;
});
