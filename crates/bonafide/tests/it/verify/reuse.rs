//! Pictures that were submitted before, under another `externalUserId` of the account
//! (`docs/decisions/0050-reused-pictures.md`).

use serde_json::{Value, json};

use super::{codes, specimen, specimens, verify};
use crate::harness::{Backend, Key, Merchant, Server, on_both};
use crate::portal::Browser;

/// A Flow of the demo account for passports, with a biometric type and a review policy.
fn flow(server: &Server, demo: &Value, biometric: &str, policy: &str) -> String {
    let key = Key::of_demo(demo);
    let merchant = Merchant {
        id: demo["merchantId"].as_str().unwrap().into(),
        live: key.clone(),
        sandbox: key,
    };
    let flow = json!({
        "name": format!("{biometric} {policy}"), "defaultDocumentTypes": ["PASSPORT"],
        "defaultFields": {"documentFileUpload": true, "ocrMatch": true, biometric: true},
        "settings": {"reviewPolicy": policy},
    });
    server.flow(&merchant, &flow)
}

/// The specimen's selfie at another size, encoded again.
fn resized_selfie() -> Vec<u8> {
    let name = specimen("pass-passport").0["files"]["selfie"].clone();
    let bytes = std::fs::read(specimens().join(name.as_str().unwrap())).unwrap();
    let decoded = imaging::decode(&bytes, &imaging::Limits::default()).unwrap();
    let (width, height) = (decoded.picture.width * 3 / 4, decoded.picture.height * 3 / 4);
    imaging::encode_jpeg(&decoded.picture.resized(width, height), 80).unwrap()
}

struct Stage {
    server: Server,
    demo: Value,
}

impl Stage {
    async fn new(backend: Backend) -> Stage {
        let (server, demo) = Server::demo(backend, &["--workers", "2"]).await;
        server.engines().await;
        Stage { server, demo }
    }

    /// Submits the first specimen under a user ID, with another selfie if one is given.
    async fn send(&self, flow: &str, user: &str, selfie: Option<Vec<u8>>) -> Value {
        let changes = json!({"externalUserId": user, "flowId": flow});
        let others: Vec<(&str, Vec<u8>)> = selfie.into_iter().map(|bytes| ("selfie", bytes)).collect();
        let form = specimen("pass-passport").form_with(&self.demo, &changes, &others);
        let (status, body) = verify(&self.server, &self.demo, form).await;
        assert_eq!(status, 200, "{body}");
        body
    }

    async fn status(&self, user: &str) -> Value {
        let path = format!("/v2/reports/applicants/byExternalUserId/{user}");
        let (status, body) = self.server.get(&path, &Key::of_demo(&self.demo)).await;
        assert_eq!(status, 200, "{body}");
        body["applicants"][0]["status"].clone()
    }

    async fn count_faces(&self) -> i64 {
        self.server.count("select count(*) from faces").await
    }
}

/// Asserts that an attempt is in review, and that the response does not say why.
fn assert_held(body: &Value) {
    assert_eq!(
        (&body["success"], &body["message"]),
        (&json!(false), &json!("In review")),
        "{body}"
    );
    assert!(
        codes(body).is_empty() && !body.to_string().contains("reuse"),
        "{body}"
    );
}

on_both!(a_selfie_from_a_camera_counts_for_one_applicant, |backend| {
    let stage = Stage::new(backend).await;
    let on_match = flow(&stage.server, &stage.demo, "liveSelfie", "on_match");
    let always = flow(&stage.server, &stage.demo, "liveness", "always");
    let never = flow(&stage.server, &stage.demo, "liveSelfie", "never");
    let first = stage.send(&on_match, "ada", None).await;
    assert_eq!(first["success"], true, "{first}");
    assert_eq!(stage.count_faces().await, 1);
    // The applicant's own repetition is judged as before.
    assert_eq!(codes(&stage.send(&on_match, "ada", None).await), [2307]);
    // Held, and nobody is registered with the face or called a duplicate.
    assert_held(&stage.send(&on_match, "thessaly", None).await);
    assert_held(&stage.send(&on_match, "kim", Some(resized_selfie())).await);
    assert_held(&stage.send(&always, "joe", Some(resized_selfie())).await);
    assert_eq!(codes(&stage.send(&never, "bob", None).await), [2104]);
    assert_eq!(stage.count_faces().await, 1);
    for (user, status) in [
        ("ada", "approved"),
        ("thessaly", "pending"),
        ("kim", "pending"),
        ("bob", "failed"),
    ] {
        assert_eq!(stage.status(user).await, status, "{user}");
    }
    // A reviewer sees the reason and the earlier attempts, but not whose they are.
    let merchant = stage.demo["merchantId"].as_str().unwrap();
    let officer = Browser::sign_up(&stage.server, merchant, "compliance").await;
    let page = officer.get("/portal/applicants/4").await.page();
    assert!(
        page.contains("used in an earlier attempt with another user ID"),
        "{page}"
    );
    assert!(
        page.contains("Selfie: very likely the same picture")
            && page.contains("Passport: the same picture")
            && page.contains("href=\"/portal/applicants/3\">attempt 3</a>"),
        "{page}"
    );
    assert!(
        !page.contains("thessaly"),
        "the other applicant's user ID: {page}"
    );
    stage
        .server
        .bonafide(&["review", "decline", "3", "--reason", "a stolen picture"]);
    assert_eq!(stage.status("thessaly").await, "declined");
    assert_eq!(stage.status("ada").await, "approved");
});

on_both!(an_uploaded_file_may_serve_several_registrations, |backend| {
    let stage = Stage::new(backend).await;
    let passport = stage.demo["flows"]["passport"].as_str().unwrap().to_owned();
    let key = Key::of_demo(&stage.demo);
    let mut answers = Vec::new();
    for user in ["ada", "ada-2"] {
        let group = json!({"name": user, "flowIds": [passport]});
        let (status, group) = stage.server.post("/v2/public/groups", &key, group).await;
        assert_eq!(status, 201, "{group}");
        let changes = json!({"externalUserId": user, "flowId": passport, "groupingId": group["groupId"]});
        let form = specimen("pass-passport").form(&stage.demo, &changes);
        let (_, body) = verify(&stage.server, &stage.demo, form).await;
        assert_eq!(
            (&body["success"], codes(&body).len()),
            (&json!(true), 0),
            "{body}"
        );
        answers.push(body["facemap_id"].clone());
    }
    assert_eq!(answers[0], answers[1], "one person");
    let merchant = stage.demo["merchantId"].as_str().unwrap();
    let officer = Browser::sign_up(&stage.server, merchant, "compliance").await;
    let first = officer.get("/portal/applicants/1").await.page();
    assert!(!first.contains("Pictures used before"), "{first}");
    let second = officer.get("/portal/applicants/2").await.page();
    for file in ["Passport", "Selfie"] {
        let sentence =
            format!("{file}: the same picture as “{file}” of <a href=\"/portal/applicants/1\">attempt 1</a>");
        assert!(second.contains(&sentence), "{file}: {second}");
    }
    // The note stays when the earlier attempt is deleted, without a link.
    stage
        .server
        .sql("update attempts set created_at = 0 where log_id = 1")
        .await;
    let server = stage
        .server
        .kill_and_restart(&["--demo", "--retention-days", "1"]);
    crate::harness::wait_until(
        async || server.count("select count(*) from attempts").await == 1,
        "retention",
    )
    .await;
    let officer = Browser::sign_up(&server, merchant, "compliance").await;
    let second = officer.get("/portal/applicants/2").await.page();
    assert!(second.contains("attempt 1, which was deleted"), "{second}");
});

on_both!(of_two_simultaneous_attempts_the_later_is_held, |backend| {
    let stage = Stage::new(backend).await;
    let flow = flow(&stage.server, &stage.demo, "liveSelfie", "on_match");
    let (first, second) = tokio::join!(
        stage.send(&flow, "ada", None),
        stage.send(&flow, "thessaly", Some(resized_selfie()))
    );
    let passed = [&first, &second]
        .iter()
        .filter(|body| body["success"] == true)
        .count();
    assert_eq!(passed, 1, "{first} {second}");
    assert_held(if first["success"] == true { &second } else { &first });
    assert_eq!(stage.count_faces().await, 1);
});
