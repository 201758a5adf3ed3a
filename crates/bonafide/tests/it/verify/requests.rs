//! Refused and repeated requests, and their traces in the log.

use reqwest::Method;
use reqwest::multipart::Part;
use serde_json::{Value, json};

use super::{VERIFY, codes, person, verify};
use crate::harness::{Backend, Key, Server, answer, on_both};

on_both!(validation_answers_stage_by_stage, |backend| {
    let (server, demo) = Server::demo(backend, &[]).await;
    let passport = demo["flows"]["passport"].clone();
    let unknown = "00000000-0000-4000-8000-000000000000";
    for (changes, status, text) in [
        (json!({"firstName": ""}), 400, "firstName cannot be empty"),
        (json!({"firstName": "Åsa"}), 400, "firstName - "),
        (json!({"flowId": null}), 400, "flowId required"),
        (json!({"dob": "1992-02-29"}), 400, "dob - "),
        (json!({"phone": "030123"}), 400, "phone - "),
        (json!({"email": "nobody"}), 400, "email - "),
        (json!({"country": "DE"}), 400, "country - "),
        (json!({"documentTypes": "VISA"}), 400, "documentTypes - "),
        (json!({"flowId": unknown}), 404, "Flow not found"),
        (json!({"groupingId": unknown}), 404, "Group not found"),
        (
            json!({"groupingId": demo["groupId"]}),
            400,
            "Flow does not belong to the specified group",
        ),
        (json!({"country": "IRN"}), 403, "restricted jurisdiction"),
        (json!({"flowId": passport}), 400, "Required fields missing"),
        (json!({"sessionId": unknown}), 404, "Session not found"),
    ] {
        let (got, body) = verify(&server, &demo, person(&demo, changes.clone())).await;
        assert_eq!(
            (got, &body["success"]),
            (status, &json!(false)),
            "{changes}: {body}"
        );
        assert!(body.to_string().contains(text), "{changes}: {body}");
    }
    let with = |name: &'static str, bytes: Vec<u8>| {
        let fields = json!({"flowId": passport, "documentTypes": "PASSPORT", "documentCountry": "UTO"});
        let selfie = Part::bytes(vec![0xff, 0xd8, 0xff, 0xe0]);
        let front = Part::bytes(vec![0xff, 0xd8, 0xff, 0xe0]);
        let form = person(&demo, fields);
        let form = if name == "selfie" {
            form.part("passportFront", front)
        } else {
            form.part("selfie", selfie)
        };
        form.part(name, Part::bytes(bytes).file_name("x"))
    };
    for (name, bytes, text) in [
        ("selfie", Vec::new(), "selfie file is empty"),
        ("selfie", b"GIF89a".to_vec(), "selfie"),
        ("selfie", vec![0xff; 10 * 1024 * 1024 + 1], "selfie"),
        ("passportFront", Vec::new(), "passportFront file is empty"),
    ] {
        let (status, body) = verify(&server, &demo, with(name, bytes)).await;
        assert_eq!(
            (status, &body["message"]),
            (400, &json!("File validation failed")),
            "{text}: {body}"
        );
        assert!(
            body["errors"][0].as_str().unwrap().starts_with(text),
            "{text}: {body}"
        );
    }
    let (status, body) = verify(&server, &demo, with("selfie", vec![0xff, 0xd8, 0xff, 0xe0])).await;
    assert_eq!(
        status, 200,
        "an allowed type by its first bytes passes validation"
    );
    assert!(
        codes(&body).contains(&2003) && codes(&body).contains(&2103),
        "{body}"
    );
});

on_both!(a_repeated_verification_is_carried_out_once, |backend| {
    let (server, demo) = Server::demo(backend, &[]).await;
    let send = |changes: Value| {
        let request = server
            .request(Method::POST, VERIFY, &Key::of_demo(&demo))
            .header("Idempotency-Key", "v-1");
        let form = person(&demo, changes);
        async { answer(request.multipart(form).send().await.unwrap()).await }
    };
    let first = send(json!({})).await;
    assert_eq!(first.0, 200);
    assert_eq!(send(json!({})).await, first, "another boundary, the same request");
    assert_eq!(send(json!({"lastName": "Other"})).await.0, 422);
    let facemap = first.1["facemap_id"].as_str().unwrap();
    let (_, record) = server
        .get(&format!("/v2/reports/applicants/{facemap}"), &Key::of_demo(&demo))
        .await;
    assert_eq!(
        record["registrations"][0]["verifications"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
});

/// No personal data appears in the process's log.
#[tokio::test(flavor = "multi_thread")]
async fn the_log_holds_no_personal_data() {
    let (server, demo) = Server::demo(Backend::Sqlite, &[]).await;
    let secret = demo["secret"].as_str().unwrap();
    verify(
        &server,
        &demo,
        person(
            &demo,
            json!({"firstName": "Xanthippe", "email": "xanthippe@example.com"}),
        ),
    )
    .await;
    verify(
        &server,
        &demo,
        person(&demo, json!({"firstName": "Xanthippe", "dob": "nonsense-dob"})),
    )
    .await;
    let log = server.log().await;
    assert!(log.contains("answered"), "{log}");
    for text in ["Xanthippe", "xanthippe", "nonsense-dob", secret] {
        assert!(!log.contains(text), "{text} is in the log");
    }
}
