//! What reviewers see of a document: signs of fraud by what the Flow does with them, its expiry, and the age.

use serde_json::{Value, json};

use super::{merchant, newest, open};
use crate::harness::{Backend, Key, Merchant, Server, on_both};
use crate::portal::Browser;
use crate::verify::{codes, specimen, verify};

/// The demo account, whose only key is the sandbox's.
fn account(demo: &Value) -> Merchant {
    let key = Key::of_demo(demo);
    Merchant {
        id: merchant(demo).into(),
        live: key.clone(),
        sandbox: key,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_expiry_and_the_age_are_shown_with_their_meaning() {
    let (server, demo) = Server::demo(Backend::Sqlite, &[]).await;
    let reviewer = Browser::sign_up(&server, merchant(&demo), "reviewer").await;
    for (name, has_expired) in [("2509-passport-expired", true), ("2502-mrz-differs", false)] {
        let (status, body) = verify(&server, &demo, specimen(name).form(&demo, &json!({}))).await;
        assert_eq!(status, 200, "{body}");
        let page = open(&reviewer, newest(&server).await).await;
        let said = page.contains("(MRZ) · expired before the day of the attempt");
        assert_eq!(said, has_expired, "{name}: {page}");
        assert!(page.contains(" on the day of the attempt"), "{name}: {page}");
        assert!(page.contains(" · aged "), "{name}: {page}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_front_is_compared_with_the_data_on_its_back() {
    let (server, demo) = Server::demo(Backend::Sqlite, &[]).await;
    let reviewer = Browser::sign_up(&server, merchant(&demo), "reviewer").await;
    let account = account(&demo);
    let flow = server.flow(
        &account,
        &json!({
            "name": "cards", "defaultFields": {"documentFileUpload": true}, "defaultDocumentTypes": ["ID_CARD"],
            "settings": {"fraudSigns": "show"},
        }),
    );
    let swapped = specimen("2506-id-card-sides-differ");
    let changes = json!({"flowId": flow, "groupingId": null});
    let (status, body) = verify(&server, &demo, swapped.form(&demo, &changes)).await;
    assert_eq!((status, codes(&body)), (200, vec![2506]), "{body}");
    let page = open(&reviewer, newest(&server).await).await;
    for field in ["Date of birth", "Document number", "Family name"] {
        let text = format!("ID card, front · Print contradicts the machine-readable data · {field}");
        assert!(page.contains(&text), "{text}: {page}");
    }
}

on_both!(
    contradicting_print_is_shown_and_holds_as_the_flow_says,
    |backend| {
        let (server, demo) = Server::demo(backend, &[]).await;
        let reviewer = Browser::sign_up(&server, merchant(&demo), "reviewer").await;
        let account = account(&demo);
        let edited = specimen("2504-print-differs");
        for (choice, policy, is_shown, is_held) in [
            (json!(null), "on_match", false, false),
            (json!("show"), "on_match", true, false),
            (json!("review"), "never", true, false),
            (json!("review"), "on_match", true, true),
        ] {
            let flow = server.flow(
                &account,
                &json!({
                    "name": format!("{choice} {policy}"), "defaultFields": {"documentFileUpload": true},
                    "defaultDocumentTypes": ["PASSPORT"],
                    "settings": {"reviewPolicy": policy, "fraudSigns": choice},
                }),
            );
            // One person may register once in a Group, so each Flow has its own.
            let group = json!({"name": format!("{choice} {policy}"), "flowIds": [flow]});
            let (status, group) = server.post("/v2/public/groups", &account.sandbox, group).await;
            assert_eq!(status, 201, "{group}");
            let changes = json!({"flowId": flow, "groupingId": group["groupId"], "dob": null});
            let (status, body) = verify(&server, &demo, edited.form(&demo, &changes)).await;
            let case = format!("{choice} {policy}: {body}");
            assert_eq!(status, 200, "{case}");
            assert_eq!(codes(&body), [0_u64; 0], "no sign fails an applicant: {case}");
            assert_eq!(body["success"], json!(!is_held), "{case}");
            assert!(
                !body.to_string().contains("fraud"),
                "only reviewers see it: {case}"
            );
            let page = open(&reviewer, newest(&server).await).await;
            for text in [
                "Passport · Print contradicts the machine-readable data · Date of birth",
                // Whoever judges the sign sees both values.
                "-06-27”, data “",
                "sign of fraud (not proof)",
                "class=\"fraud\"",
                "Photographed screen",
                "Copy without colour",
            ] {
                assert_eq!(page.contains(text), is_shown, "{text}: {case}");
            }
            let reason = "A picture of a document has signs of fraud.";
            assert_eq!(page.contains(reason), is_held, "{case}");
        }
    }
);
