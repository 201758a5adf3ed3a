//! Attempts to evade name screening through the API (decisions §10): by the typed name, a document's name,
//! and the earlier names of the same face.

use reqwest::multipart::Form;
use serde_json::{Value, json};

use crate::harness::{Backend, Key, Merchant, Server, on_both};
use crate::verify::{Specimen, codes, specimen, verify};

/// The holders of specimens, as a list contains them.
const LISTED: [(&str, &str, &str); 2] = [
    ("x-passport", "Tamsin Iris Velloway", "1991-03-14"),
    ("x-licence", "Isaura Pendrake", "1988-11-22"),
];

/// The demo account, a list of the specimens' holders if `listed`, and Flows that do not compare names, one
/// for each review policy.
struct Stage {
    server: Server,
    demo: Value,
    never: String,
    on_match: String,
}

impl Stage {
    async fn new(backend: Backend, listed: bool) -> Stage {
        let (mut server, demo) = Server::demo(backend, &[]).await;
        if listed {
            let entities = LISTED.map(|(id, name, born)| {
                json!({"id": id, "schema": "Person",
                    "properties": {"name": [name], "birthDate": [born], "topics": ["sanction"]}})
                .to_string()
            });
            let file = server.dir.path().join("holders.ftm.json");
            std::fs::write(&file, entities.join("\n")).unwrap();
            server.bonafide(&["lists", "import", file.to_str().unwrap()]);
            // Lists are read at start, which saves the wait until the server checks for new ones.
            server = server.kill_and_restart(&["--demo"]);
            server.engines().await;
        }
        let key = Key::of_demo(&demo);
        let merchant = Merchant {
            id: demo["merchantId"].as_str().unwrap().into(),
            live: key.clone(),
            sandbox: key,
        };
        let flow = |policy: &str| {
            let flow = json!({
                "name": policy, "defaultFields": {"documentFileUpload": true, "selfie": true},
                "defaultDocumentTypes": ["PASSPORT", "DRIVERS"], "settings": {"reviewPolicy": policy},
            });
            server.flow(&merchant, &flow)
        };
        let (never, on_match) = (flow("never"), flow("on_match"));
        Stage {
            server,
            demo,
            never,
            on_match,
        }
    }

    /// Submits a specimen under another name, with further changes to its fields.
    async fn send(&self, specimen: &Specimen, flow: &str, (first, last): (&str, &str), more: Value) -> Value {
        let mut changes = json!({
            "flowId": flow, "firstName": first, "lastName": last, "middleName": null, "dob": null,
            "country": null, "nationality": null,
        });
        let fields = changes.as_object_mut().unwrap();
        fields.extend(more.as_object().unwrap().clone());
        let form: Form = specimen.form(&self.demo, &changes);
        let (status, body) = verify(&self.server, &self.demo, form).await;
        assert_eq!(status, 200, "{body}");
        body
    }
}

/// Every name that found a hit, with its source.
fn found_by(body: &Value) -> Vec<(String, String)> {
    let hits = body["kycResults"]["results"].as_array().unwrap();
    let names = hits
        .iter()
        .flat_map(|hit| hit["matchedNames"].as_array().unwrap());
    names
        .map(|name| {
            let text = |member: &str| name[member].as_str().unwrap().to_owned();
            (text("source"), text("name"))
        })
        .collect()
}

fn by(source: &str, name: &str) -> (String, String) {
    (source.to_owned(), name.to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_listed_name_on_a_document_is_found() {
    let stage = Stage::new(Backend::Sqlite, true).await;
    // `ocrMatch` in the request changes nothing.
    let passport = specimen("pass-passport");
    let body = stage
        .send(
            &passport,
            &stage.never,
            ("Ada", "Quill"),
            json!({"ocrMatch": "false"}),
        )
        .await;
    assert_eq!(
        (codes(&body), &body["success"]),
        (vec![2702], &json!(false)),
        "{body}"
    );
    assert_eq!(found_by(&body), [by("mrz", "TAMSIN IRIS VELLOWAY")]);
    let kyc = &body["kycResults"];
    assert_eq!(
        kyc["queryParams"]["name"], "Ada Quill",
        "the submitted query stays"
    );
    let further = &kyc["furtherNames"][0];
    assert_eq!(
        (&further["source"], &further["queryParams"]["dob"]),
        (&json!("mrz"), &json!("1991-03-14"))
    );

    // If the document and the request both name the listed person, one hit has both names.
    let licence = specimen("pass-drivers");
    let body = stage
        .send(&licence, &stage.never, ("Isaura", "Pendrake"), json!({}))
        .await;
    assert_eq!(codes(&body), [2702], "{body}");
    assert_eq!(
        found_by(&body),
        [
            by("submitted", "Isaura Pendrake"),
            by("barcode", "ISAURA PENDRAKE")
        ]
    );
    assert_eq!(body["kycResults"]["total"]["value"], 1, "one entry: {body}");
}

on_both!(a_face_keeps_the_names_that_it_used, |backend| {
    let stage = Stage::new(backend, false).await;
    let passport = specimen("pass-passport");
    let listed = stage
        .send(&passport, &stage.never, ("Zoltar", "Quenthabar"), json!({}))
        .await;
    assert_eq!(codes(&listed), [2702], "{listed}");
    assert_eq!(found_by(&listed), [by("submitted", "Zoltar Quenthabar")]);

    // A retry under another name, and one under another user ID in the Group, where the face registers again.
    let elsewhere = json!({"groupingId": stage.demo["groupId"], "flowId": stage.demo["flows"]["passport"],
        "externalUserId": "another"});
    for more in [json!({}), elsewhere] {
        let body = stage
            .send(&passport, &stage.never, ("Ada", "Quill"), more.clone())
            .await;
        assert!(codes(&body).contains(&2702), "{more}: {body}");
        assert_eq!(found_by(&body), [by("earlier", "Zoltar Quenthabar")], "{more}");
        assert_eq!(body["kycResults"]["queryParams"]["name"], "Ada Quill");
    }
});

#[tokio::test(flavor = "multi_thread")]
async fn a_name_unlike_the_document_is_held() {
    let stage = Stage::new(Backend::Sqlite, false).await;
    let passport = specimen("pass-passport");
    let held = stage
        .send(&passport, &stage.on_match, ("Ada", "Quill"), json!({}))
        .await;
    assert_eq!(
        (&held["success"], &held["message"], codes(&held)),
        (&json!(false), &json!("In review"), vec![]),
        "{held}"
    );
    let user = passport.0["fields"]["externalUserId"].as_str().unwrap();
    let path = format!("/v2/reports/applicants/byExternalUserId/{user}");
    let (_, resolved) = stage.server.get(&path, &Key::of_demo(&stage.demo)).await;
    assert_eq!(resolved["applicants"][0]["status"], "pending");

    // The contract lets the attempt pass if no one reviews.
    let body = stage
        .send(&passport, &stage.never, ("Ada", "Quill"), json!({}))
        .await;
    assert_eq!(body["success"], true, "{body}");
}
