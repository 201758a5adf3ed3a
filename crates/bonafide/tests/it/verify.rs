//! `POST /v2/idv/verify` with what it records (contract §4.6, §2.5, §2.6, §4.8), on specimens that the project renders.

use std::path::{Path, PathBuf};

use reqwest::Method;
use reqwest::multipart::{Form, Part};
use serde_json::{Value, json};

use crate::harness::{Backend, Key, Server, answer, on_both, workspace};
use crate::interruptions::attempt_folders;

const VERIFY: &str = "/v2/idv/verify";

/// A specimen of `specimens/index.json`.
#[derive(Clone)]
pub(crate) struct Specimen(pub(crate) Value);

fn specimens() -> PathBuf {
    workspace().join("specimens")
}

fn all() -> Vec<Specimen> {
    let index = std::fs::read(specimens().join("index.json")).expect("specimens: run `make specimens`");
    serde_json::from_slice::<Vec<Value>>(&index)
        .unwrap()
        .into_iter()
        .map(Specimen)
        .collect()
}

pub(crate) fn specimen(name: &str) -> Specimen {
    all()
        .into_iter()
        .find(|specimen| specimen.0["name"] == name)
        .unwrap_or_else(|| panic!("no specimen {name}"))
}

impl Specimen {
    /// Its form, with text fields replaced (null: left out).
    pub(crate) fn form(&self, demo: &Value, changes: &Value) -> Form {
        self.form_with(demo, changes, &[])
    }

    /// The same, with other files in the place of some.
    pub(crate) fn form_with(&self, demo: &Value, changes: &Value, others: &[(&str, Vec<u8>)]) -> Form {
        let mut fields = self.0["fields"].as_object().unwrap().clone();
        let flow = self.0["flow"].as_str().unwrap();
        fields.insert("flowId".into(), demo["flows"][flow].clone());
        fields
            .entry("externalUserId")
            .or_insert_with(|| self.0["name"].clone());
        fields.extend(changes.as_object().unwrap().clone());
        let mut form = Form::new();
        for (name, value) in fields.iter().filter(|(_, value)| !value.is_null()) {
            form = form.text(name.clone(), value.as_str().unwrap().to_owned());
        }
        for (field, file) in self.0["files"].as_object().unwrap() {
            let other = others.iter().find(|(other, _)| other == field);
            let bytes = match other {
                Some((_, bytes)) => bytes.clone(),
                None => std::fs::read(Path::new(&specimens()).join(file.as_str().unwrap())).unwrap(),
            };
            form = form.part(field.clone(), Part::bytes(bytes).file_name("x.jpg"));
        }
        form
    }
}

pub(crate) async fn verify(server: &Server, demo: &Value, form: Form) -> (u16, Value) {
    answer(
        server
            .request(Method::POST, VERIFY, &Key::of_demo(demo))
            .multipart(form)
            .send()
            .await
            .unwrap(),
    )
    .await
}

pub(crate) fn person(demo: &Value, changes: Value) -> Form {
    let mut fields = json!({"firstName": "Ada", "lastName": "Quill", "externalUserId": "ada", "flowId": demo["flows"]["data-only"]});
    fields
        .as_object_mut()
        .unwrap()
        .extend(changes.as_object().unwrap().clone());
    fields
        .as_object()
        .unwrap()
        .iter()
        .filter(|(_, value)| !value.is_null())
        .fold(Form::new(), |form, (name, value)| {
            form.text(name.clone(), value.as_str().unwrap().to_owned())
        })
}

/// A data-only submission of somebody on the sandbox's invented sanctions list.
pub(crate) fn demo_person(demo: &Value, user: &str) -> Form {
    let listed = json!({"firstName": "Zoltar", "lastName": "Quenthabar", "externalUserId": user});
    person(demo, listed)
}

pub(crate) fn codes(body: &Value) -> Vec<u64> {
    [
        "idvResult",
        "documentResult",
        "ocrResult",
        "minimumAgeResult",
        "kycResults",
    ]
    .iter()
    .flat_map(|object| body[object]["codes"].as_array().cloned().unwrap_or_default())
    .filter_map(|code| code.as_u64())
    .collect()
}

/// Every specimen has the outcome that its entry promises, all of them sent to one account.
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

    // The same face again: under the same id after approval, under another id, and the id with another face.
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

    // What is stored survives a kill, and another account sees nothing of it.
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

on_both!(one_face_sent_twice_at_once_registers_once, |backend| {
    // A worker for each, so that none waits in vain on a slow machine.
    let (server, demo) = Server::demo(backend, &["--workers", "3"]).await;
    let passing = specimen("pass-passport");
    let send = |id: &'static str| {
        verify(
            &server,
            &demo,
            passing.form(&demo, &json!({"externalUserId": id})),
        )
    };
    let (first, second, third) = tokio::join!(send("a"), send("b"), send("c"));
    let outcomes = [first, second, third];
    let passed = outcomes
        .iter()
        .filter(|(_, body)| body["success"] == json!(true))
        .count();
    let duplicates = outcomes.iter().filter(|(_, body)| codes(body) == [2307]).count();
    assert_eq!((passed, duplicates), (1, 2), "{outcomes:?}");
});

on_both!(a_new_face_model_forgets_nobody_whose_selfie_is_kept, |backend| {
    let (server, demo) = Server::demo(backend, &[]).await;
    let send = async |id: &str| {
        let changes = json!({"externalUserId": id});
        verify(&server, &demo, specimen("pass-passport").form(&demo, &changes))
            .await
            .1
    };
    let reindexed = || -> (u64, u64) {
        let lines = server.bonafide(&["faces", "reindex"]);
        let lines = lines
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.fold((0, 0), |(renewed, left), line| {
            let count = |name: &str| line[name].as_u64().unwrap();
            (renewed + count("renewed"), left + count("left"))
        })
    };
    let doctor = || String::from_utf8(server.try_bonafide(&["doctor"]).stdout).unwrap();
    assert_eq!(send("first").await["success"], true);
    assert_eq!(reindexed(), (0, 0), "nothing is old");
    assert!(doctor().contains("all made by the model in use"));

    let age = "update faces set model = 'older-model'";
    server.sql(age).await;
    assert!(doctor().contains("1 were made by another model"), "{}", doctor());
    assert_eq!(reindexed(), (1, 0));
    assert!(doctor().contains("all made by the model in use"));
    assert_eq!(
        codes(&send("second").await),
        [2307],
        "recognised under another label"
    );

    server.sql(age).await;
    for attempt in attempt_folders(&server).keys() {
        std::fs::remove_dir_all(attempt).unwrap();
    }
    assert_eq!(reindexed(), (0, 1), "no selfie is kept");
    assert!(doctor().contains("1 were made by another model"));
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

/// Without a usable list nobody is verified, and nothing is recorded.
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

/// A list of many sources, whose entities name those, is screened against like any other; a removed one no longer.
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
        let mut body = Value::Null;
        for _ in 0..40 {
            body = verify(&server, &demo, person(&demo, known.clone())).await.1;
            if body["kycResults"]["status"] == expected {
                return body;
            }
            tokio::time::sleep(std::time::Duration::from_millis(500)).await;
        }
        panic!("never {expected}: {body}");
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

/// Nothing personal reaches the process's log.
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
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    let log = std::fs::read_to_string(server.dir.path().join("server.log")).unwrap();
    assert!(log.contains("answered"), "{log}");
    for text in ["Xanthippe", "xanthippe", "nonsense-dob", secret] {
        assert!(!log.contains(text), "{text} is in the log");
    }
}

/// A document's own picture is nobody in front of a camera.
#[tokio::test(flavor = "multi_thread")]
async fn a_document_is_no_selfie() {
    let (server, demo) = Server::demo(Backend::Sqlite, &[]).await;
    let passing = specimen("pass-passport");
    let front = specimens().join(passing.0["files"]["passportFront"].as_str().unwrap());
    let picture = std::fs::read(front).unwrap();
    let mut alone = passing.clone();
    alone.0["files"] = json!({});
    let form = alone
        .form(&demo, &json!({}))
        .part("passportFront", Part::bytes(picture.clone()).file_name("a.jpg"))
        .part("selfie", Part::bytes(picture).file_name("b.jpg"));
    let (_, body) = verify(&server, &demo, form).await;
    assert_eq!(body["success"], json!(false), "{body}");
    assert!(codes(&body).contains(&2104), "{body}");
}
