//! The response and the record for each kind of applicant.

use serde_json::{Value, json};

use super::{all, codes, person, specimen, verify};
use crate::harness::{Backend, Key, Server, eventually, on_both};

/// Every specimen has the outcome that its entry states, with all of them sent to one account.
#[tokio::test(flavor = "multi_thread")]
async fn specimens_have_their_outcomes() {
    let (server, demo) = Server::demo(Backend::Sqlite, &[]).await;
    let mut wrong = Vec::new();
    for specimen in all() {
        let (status, body) = verify(&server, &demo, specimen.form(&demo, &json!({}))).await;
        let expect = specimen.0["expect"]
            .as_str()
            .map(str::to_owned)
            .unwrap_or_else(|| specimen.0["expect"].to_string());
        let good = match expect.parse::<u64>() {
            Ok(code) => status == 200 && body["success"] == json!(false) && codes(&body).contains(&code),
            Err(_) => status == 200 && body["success"] == json!(true),
        };
        if !good {
            wrong.push(format!(
                "{} expects {expect}: {status} {:?} {}",
                specimen.0["name"],
                codes(&body),
                body["message"]
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

on_both!(a_passing_person_is_recorded_and_found_again, |backend| {
    let (server, demo) = Server::demo(backend, &[]).await;
    let group = demo["groupId"].as_str().unwrap();
    let changes = json!({"groupingId": group, "externalUserId": "user 1/ü"});
    let passing = specimen("pass-passport");
    let (status, body) = verify(&server, &demo, passing.form(&demo, &changes)).await;
    assert_eq!((status, &body["success"]), (200, &json!(true)), "{body}");
    assert_eq!(
        (&body["idvResult"]["success"], &body["idvResult"]["facematch"]),
        (&json!(true), &json!(true))
    );
    assert!(body["idvResult"]["similarityScore"].as_f64().unwrap() > 80.0);
    assert_eq!(body["documentResult"]["success"], json!(true));
    assert_eq!(
        (&body["ocrResult"]["success"], &body["ocrResult"]["match"]),
        (&json!(true), &json!(true))
    );
    assert_eq!(
        (&body["kycResults"]["status"], &body["kycResults"]["total"]),
        (&json!("clear"), &json!({"value": 0, "relation": "eq"}))
    );
    assert_eq!(body["metadata"]["externalUserId"], "user 1/ü");
    assert_eq!(
        body["metadata"]["documents"],
        json!([{"idDocType": "PASSPORT", "country": "UTO"}])
    );
    assert_eq!(body["documents_processed"], 1);
    assert_eq!(body["document_results"][0]["document_type"], "PASSPORT");
    assert_eq!(body["mrz_data"]["mrz_data"]["mrz_type"], "TD3");
    assert_eq!(body["ocr_comparison"]["match"], true);

    let facemap = body["facemap_id"].as_str().unwrap();
    let key = Key::of_demo(&demo);
    let (status, resolved) = server
        .get("/v2/reports/applicants/byExternalUserId/user%201%2F%C3%BC", &key)
        .await;
    assert_eq!(status, 200, "{resolved}");
    assert_eq!(
        (&resolved["facemapId"], &resolved["externalUserId"]),
        (&json!(facemap), &json!("user 1/ü"))
    );
    assert_eq!(
        (
            &resolved["applicants"][0]["status"],
            &resolved["applicants"][0]["registered"]
        ),
        (&json!("approved"), &json!(true))
    );
    assert_eq!(resolved["applicants"][0]["createdAt"].as_str().unwrap().len(), 19);
    let query = server
        .get(
            "/v2/reports/applicants/byExternalUserId?externalUserId=user+1%2F%C3%BC",
            &key,
        )
        .await;
    assert_eq!(query, (200, resolved));

    let (status, record) = server
        .get(&format!("/v2/reports/applicants/{facemap}"), &key)
        .await;
    assert_eq!(
        (status, &record["registrationCnt"], &record["merchantId"]),
        (200, &json!(1), &demo["merchantId"])
    );
    let registration = &record["registrations"][0];
    assert_eq!(
        (&registration["groupingId"], &registration["status"]),
        (&json!(group), &json!("approved"))
    );
    assert_eq!(
        (&registration["flowName"], &registration["requiredDocuments"]),
        (&json!("passport"), &json!(["PASSPORT"]))
    );
    assert_eq!(
        registration["info"]["firstName"],
        passing.0["fields"]["firstName"]
    );
    assert_eq!(registration["info"]["idDocs"][0]["idDocType"], "PASSPORT");
    let attempt = &registration["verifications"][0];
    assert_eq!(
        (
            &attempt["success"],
            &attempt["reasons"],
            &attempt["documentTypes"]
        ),
        (&json!(true), &json!([]), &json!(["PASSPORT"]))
    );
    assert!(attempt["logId"].is_number() && attempt.get("sessionId").is_none());

    // The same face again: under the same ID after approval, under another ID, and the ID with another face.
    let (_, again) = verify(&server, &demo, passing.form(&demo, &changes)).await;
    assert_eq!(
        (codes(&again), &again["success"]),
        (vec![2307], &json!(false)),
        "{again}"
    );
    let other_id = json!({"groupingId": group, "externalUserId": "user-2"});
    let (_, other) = verify(&server, &demo, passing.form(&demo, &other_id)).await;
    assert_eq!(codes(&other), vec![2307], "{other}");
    let (_, resolved) = server
        .get("/v2/reports/applicants/byExternalUserId/user-2", &key)
        .await;
    assert_eq!(
        (
            &resolved["applicants"][0]["registered"],
            &resolved["applicants"][0]["status"]
        ),
        (&json!(false), &Value::Null)
    );
    let (_, taken) = verify(&server, &demo, specimen("pass-liveness").form(&demo, &changes)).await;
    assert_eq!(codes(&taken), vec![2306], "{taken}");
    let (_, record) = server
        .get(&format!("/v2/reports/applicants/{facemap}"), &key)
        .await;
    assert_eq!(
        (&record["registrationCnt"], &record["registrations"][0]["status"]),
        (&json!(1), &json!("approved")),
        "stays approved"
    );
    assert_eq!(
        record["registrations"][0]["verifications"]
            .as_array()
            .unwrap()
            .len(),
        2,
        "newest first, the duplicate included"
    );

    // The records survive SIGKILL, and another account sees none of them.
    let stranger = server.merchant(true).sandbox;
    assert_eq!(
        server
            .get(&format!("/v2/reports/applicants/{facemap}"), &stranger)
            .await
            .0,
        404
    );
    assert_eq!(
        server
            .get("/v2/reports/applicants/byExternalUserId/user-2", &stranger)
            .await
            .0,
        404
    );
    let server = server.kill_and_restart(&["--demo"]);
    assert_eq!(
        server
            .get(&format!("/v2/reports/applicants/{facemap}"), &key)
            .await
            .1,
        record
    );
    server.engines().await;
    let (_, again) = verify(&server, &demo, passing.form(&demo, &other_id)).await;
    assert_eq!(
        codes(&again),
        vec![2307],
        "the face index is rebuilt from the store"
    );
});

on_both!(data_only_people_are_verified_and_found, |backend| {
    let (server, demo) = Server::demo(backend, &[]).await;
    let (status, body) = verify(
        &server,
        &demo,
        person(&demo, json!({"dob": "02/29/1992", "country": "DEU"})),
    )
    .await;
    assert_eq!((status, &body["success"]), (200, &json!(true)), "{body}");
    let expected = json!({"success": true, "facematch": false, "similarityScore": 0.0});
    assert_eq!(body["idvResult"], expected);
    assert_eq!(
        (&body["mrz_data"], &body["ocr_comparison"]),
        (&Value::Null, &Value::Null)
    );
    assert_eq!(
        body["metadata"]["info"],
        json!({"firstName": "Ada", "lastName": "Quill", "dob": "1992-02-29", "country": "DEU"})
    );
    assert!(body.get("documentResult").is_none());
    let (status, again) = verify(&server, &demo, person(&demo, json!({"phone": "+4930123456"}))).await;
    assert_eq!(
        (status, &again["success"]),
        (200, &json!(true)),
        "a repeated data-only attempt is never a duplicate: {again}"
    );
    assert_eq!(again["facemap_id"], body["facemap_id"]);
    let (_, record) = server
        .get(
            &format!("/v2/reports/applicants/{}", body["facemap_id"].as_str().unwrap()),
            &Key::of_demo(&demo),
        )
        .await;
    let info = &record["registrations"][0]["info"];
    assert_eq!(
        (&info["dob"], &info["phone"]),
        (&json!("02/29/1992"), &json!("+4930123456")),
        "a later attempt inherits"
    );
    assert!(
        info.get("email").is_none(),
        "what was never submitted is left out"
    );
    assert_eq!(record["registrations"][0]["groupingId"], Value::Null);
});

on_both!(a_sanctions_match_waits_for_a_person, |backend| {
    let (server, demo) = Server::demo(backend, &[]).await;
    let (status, body) = verify(&server, &demo, person(&demo, json!({"lastName": "SANDBOX-2702"}))).await;
    assert_eq!(
        (status, &body["success"], &body["kycResults"]["status"]),
        (200, &json!(false), &json!("match")),
        "{body}"
    );
    assert!(!body["kycResults"]["results"].as_array().unwrap().is_empty());
    let waiting: Value = serde_json::from_str(&server.bonafide(&["review", "list"])).unwrap();
    let log_id = waiting["logId"].to_string();
    let status = async || {
        let (_, resolved) = server
            .get(
                "/v2/reports/applicants/byExternalUserId/ada",
                &Key::of_demo(&demo),
            )
            .await;
        resolved["applicants"][0]["status"].clone()
    };
    assert_eq!(status().await, json!("pending"));
    server.review("approve", &waiting);
    assert_eq!(status().await, json!("approved"));
    server.bonafide(&["review", "decline", &log_id, "--reason", "not the same person"]);
    assert_eq!(status().await, json!("declined"));
    server.bonafide(&["review", "reopen", &log_id]);
    assert_eq!(status().await, json!("pending"));
});

/// Without a usable list, no person is verified and nothing is recorded.
#[tokio::test(flavor = "multi_thread")]
async fn screening_fails_closed() {
    let server = Server::start(Backend::Sqlite, &[]).await;
    let merchant = server.merchant(true);
    let flow = server.flow(&merchant, &json!({"name": "F"}));
    let demo = json!({"apiKey": merchant.sandbox.key, "secret": merchant.sandbox.secret, "flows": {"data-only": flow}});
    let (status, body) = verify(&server, &demo, person(&demo, json!({}))).await;
    assert_eq!((status, &body["success"]), (503, &json!(false)), "{body}");
    assert_eq!(
        server
            .get("/v2/reports/applicants/byExternalUserId/ada", &merchant.sandbox)
            .await
            .0,
        404
    );
}

/// A list that combines many sources, whose entities name them, is used like any other. After its removal it
/// is not.
#[tokio::test(flavor = "multi_thread")]
async fn an_imported_list_is_screened_against() {
    let (server, demo) = Server::demo(Backend::Sqlite, &[]).await;
    let file = server.dir.path().join("collection.entities.ftm.json");
    let listed = json!({
        "id": "x-1", "schema": "Person", "caption": "Zebulon Quartermain", "datasets": ["some_source"],
        "properties": {"name": ["Zebulon Quartermain"], "birthDate": ["1961-02-03"], "topics": ["sanction"]},
    });
    std::fs::write(&file, format!("{listed}\n")).unwrap();
    server.bonafide(&["lists", "import", file.to_str().unwrap()]);
    let known = json!({"firstName": "Zebulon", "lastName": "Quartermain", "dob": "02/03/1961"});
    let screened = async |expected: &str| {
        eventually(async || {
            let (_, body) = verify(&server, &demo, person(&demo, known.clone())).await;
            match body["kycResults"]["status"] == expected {
                true => Ok(body),
                false => Err(format!("never {expected}: {body}")),
            }
        })
        .await
    };
    let body = screened("match").await;
    assert_eq!(
        (&body["success"], &body["kycResults"]["code"]),
        (&json!(false), &json!(2702))
    );
    assert_eq!(body["kycResults"]["results"][0]["caption"], "Zebulon Quartermain");
    let lists: Value = serde_json::from_str(&server.bonafide(&["lists", "status", "--json"])).unwrap();
    let name = lists
        .as_array()
        .unwrap()
        .iter()
        .find(|list| list["list"] != "demo")
        .unwrap()["list"]
        .clone();
    server.bonafide(&["lists", "remove", name.as_str().unwrap()]);
    screened("clear").await;
}
