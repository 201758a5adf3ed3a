//! A copied portrait as a selfie (`docs/decisions/0021-held-for-review.md` and `0024-copies.md`). The attempt
//! is held for review, and its face is registered for no person until a reviewer approves it.

use reqwest::multipart::{Form, Part};
use serde_json::{Value, json};

use crate::harness::{Key, Server, on_both, workspace};
use crate::verify::{codes, specimen, verify};

/// The first specimen's form, with the portrait cut from the passport's image as its selfie.
fn with_the_portrait(demo: &Value, user: &str) -> Form {
    let specimen = specimen("pass-passport");
    let file = |field: &str| {
        let name = specimen.0["files"][field].as_str().unwrap();
        std::fs::read(workspace().join("specimens").join(name)).unwrap()
    };
    let passport = file("passportFront");
    let decoded = imaging::decode(&passport, &imaging::Limits::default())
        .unwrap()
        .picture;
    let (width, height) = (f64::from(decoded.width), f64::from(decoded.height));
    let part = |whole: f64, share: f64| (whole * share) as u32;
    let portrait = decoded
        .crop(
            part(width, 0.0945),
            part(height, 0.226),
            part(width, 0.229),
            part(height, 0.419),
        )
        .unwrap();
    let portrait = imaging::encode_jpeg(&portrait, 92).unwrap();
    let mut fields = specimen.0["fields"].as_object().unwrap().clone();
    fields.insert("externalUserId".into(), user.into());
    fields.insert("flowId".into(), demo["flows"]["passport"].clone());
    let form = fields.iter().fold(Form::new(), |form, (name, value)| {
        form.text(name.clone(), value.as_str().unwrap().to_owned())
    });
    let picture = |bytes: Vec<u8>| Part::bytes(bytes).file_name("x.jpg");
    form.part("passportFront", picture(passport))
        .part("selfie", picture(portrait))
}

/// Submits the portrait. Returns the number of the held attempt.
async fn held(server: &Server, demo: &Value, user: &str) -> String {
    let faces = server.count("select count(*) from faces").await;
    let (status, body) = verify(server, demo, with_the_portrait(demo, user)).await;
    assert_eq!((status, &body["success"]), (200, &json!(false)), "{body}");
    assert!(
        body["message"].is_string() && codes(&body).is_empty(),
        "no code says why: {body}"
    );
    assert_eq!(
        server.count("select count(*) from faces").await,
        faces,
        "no face is bound"
    );
    let waiting = server.bonafide(&["review", "list"]);
    let waiting: Value = serde_json::from_str(&waiting).unwrap();
    assert_eq!(waiting["externalUserId"], user);
    waiting["logId"].to_string()
}

async fn status(server: &Server, demo: &Value, user: &str) -> Value {
    let path = format!("/v2/reports/applicants/byExternalUserId/{user}");
    let (status, body) = server.get(&path, &Key::of_demo(demo)).await;
    assert_eq!(status, 200, "{body}");
    body["applicants"][0]["status"].clone()
}

fn approve(server: &Server, log_id: &str) -> (bool, String) {
    let output = server.try_bonafide(&["review", "approve", log_id]);
    let said = String::from_utf8(output.stderr).unwrap();
    (output.status.success(), said)
}

on_both!(
    a_stolen_portrait_never_makes_the_real_person_a_duplicate,
    |backend| {
        let (server, demo) = Server::demo(backend, &[]).await;
        server.engines().await;
        let attempt = held(&server, &demo, "thief").await;
        let send = async |user: &str| {
            let form = specimen("pass-passport").form(&demo, &json!({"externalUserId": user}));
            verify(&server, &demo, form).await.1
        };
        let real = send("real").await;
        assert_eq!(real["success"], true, "{real}");
        assert_eq!(status(&server, &demo, "real").await, "approved");
        // The face has meanwhile been registered for the real person.
        let (approved, said) = approve(&server, &attempt);
        assert!(!approved && said.contains("2307"), "{said}");
        assert_eq!(
            status(&server, &demo, "thief").await,
            "pending",
            "nothing changed"
        );
        assert_eq!(server.count("select count(*) from decisions").await, 0);
        assert_eq!(codes(&send("thief").await), [2307]);
        server.bonafide(&["review", "decline", &attempt, "--reason", "a copy"]);
        assert_eq!(status(&server, &demo, "real").await, "approved");
    }
);

on_both!(a_portrait_that_was_approved_by_mistake_is_given_back, |backend| {
    let (server, demo) = Server::demo(backend, &[]).await;
    server.engines().await;
    let attempt = held(&server, &demo, "thief").await;
    assert!(approve(&server, &attempt).0);
    let send = async |user: &str| {
        let form = specimen("pass-passport").form(&demo, &json!({"externalUserId": user}));
        verify(&server, &demo, form).await.1
    };
    assert_eq!(codes(&send("real").await), [2307], "the face is the thief's");
    server.bonafide(&["review", "reopen", &attempt]);
    server.bonafide(&["review", "decline", &attempt, "--reason", "a copy"]);
    assert_eq!(status(&server, &demo, "thief").await, "declined");
    let real = send("real").await;
    assert_eq!(real["success"], true, "{real}");
    assert_eq!(status(&server, &demo, "real").await, "approved");
    let (approved, said) = approve(&server, &attempt);
    assert!(!approved && said.contains("2307"), "{said}");
});

on_both!(a_face_that_a_later_attempt_proved_stays_bound, |backend| {
    let (server, demo) = Server::demo(backend, &[]).await;
    server.engines().await;
    let attempt = held(&server, &demo, "ada").await;
    assert!(approve(&server, &attempt).0);
    server.bonafide(&["review", "reopen", &attempt]);
    let form = specimen("pass-passport").form(&demo, &json!({"externalUserId": "ada"}));
    let (_, own) = verify(&server, &demo, form).await;
    assert_eq!(own["success"], true, "{own}");
    server.bonafide(&["review", "decline", &attempt, "--reason", "a copy"]);
    let form = specimen("pass-passport").form(&demo, &json!({"externalUserId": "other"}));
    assert_eq!(codes(&verify(&server, &demo, form).await.1), [2307]);
});

on_both!(an_approval_proves_a_held_face, |backend| {
    let (server, demo) = Server::demo(backend, &[]).await;
    server.engines().await;
    let attempt = held(&server, &demo, "ada").await;
    let (approved, said) = approve(&server, &attempt);
    assert!(approved, "{said}");
    assert_eq!(status(&server, &demo, "ada").await, "approved");
    assert_eq!(server.count("select count(*) from faces").await, 1);
    assert_eq!(server.count("select count(*) from people where proven").await, 1);
    // The running server knows the face, although another process registered it.
    let form = specimen("pass-passport").form(&demo, &json!({"externalUserId": "other"}));
    assert_eq!(codes(&verify(&server, &demo, form).await.1), [2307]);
    for decision in ["reopen", "approve"] {
        server.bonafide(&["review", decision, &attempt]);
    }
    assert_eq!(status(&server, &demo, "ada").await, "approved");
    assert_eq!(server.count("select count(*) from faces").await, 1, "proven once");
});

on_both!(an_approval_takes_no_label_from_another_face, |backend| {
    let (server, demo) = Server::demo(backend, &[]).await;
    server.engines().await;
    let attempt = held(&server, &demo, "ada").await;
    let form = specimen("pass-drivers").form(&demo, &json!({"externalUserId": "ada"}));
    let (_, other) = verify(&server, &demo, form).await;
    assert_eq!(other["success"], true, "{other}");
    let (approved, said) = approve(&server, &attempt);
    assert!(!approved && said.contains("2306"), "{said}");
    assert_eq!(server.count("select count(*) from faces").await, 1);
});

on_both!(an_approval_screens_under_every_known_name, |backend| {
    let (server, demo) = Server::demo(backend, &[]).await;
    server.engines().await;
    let attempt = held(&server, &demo, "ada").await;
    // The same person was registered under another name before the review.
    let flow = json!({"externalUserId": "ada", "flowId": demo["flows"]["passport"], "lastName": "Quill"});
    let (status, body) = verify(&server, &demo, specimen("pass-passport").form(&demo, &flow)).await;
    assert_eq!(status, 200, "{body}");
    assert_eq!(server.count("select count(*) from faces").await, 1, "{body}");
    let (approved, said) = approve(&server, &attempt);
    assert!(!approved && said.contains("another name"), "{said}");
    assert_eq!(server.count("select count(*) from decisions").await, 0);
});
