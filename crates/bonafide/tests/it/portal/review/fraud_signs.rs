//! What reviewers see of a document: signs of fraud by what the Flow does with them, its expiry, and the age.

use serde_json::{Value, json};

use super::{merchant, newest, open};
use crate::harness::{Backend, Key, Merchant, Server, on_both, workspace};
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

/// The data page of a passport as an image editor saves it, which the file names. In the edited one, the date of issue is
/// the date of birth.
fn saved_by_an_editor(is_edited: bool) -> Vec<u8> {
    let file = std::fs::read(workspace().join("specimens/pass-passport-passportFront.jpg")).unwrap();
    let mut picture = imaging::decode(&file, &imaging::Limits::default())
        .unwrap()
        .picture;
    if is_edited {
        let original = picture.clone();
        let (birth, issue, length) = ((530, 555), (533, 642), 230 * 3);
        for row in 0..45 {
            let start = |(x, y): (u32, u32)| ((y + row) * original.width + x) as usize * 3;
            picture.pixels[start(issue)..start(issue) + length]
                .copy_from_slice(&original.pixels[start(birth)..start(birth) + length]);
        }
    }
    let saved = imaging::encode_jpeg(&picture, 97).unwrap();
    let software = b"Adobe Photoshop 25.1\0";
    // One directory with the tag Software, whose text follows it (CIPA DC-008 §4.6).
    let mut exif = b"Exif\0\0II*\0\x08\0\0\0\x01\0\x31\x01\x02\0".to_vec();
    exif.extend((software.len() as u32).to_le_bytes());
    exif.extend(26_u32.to_le_bytes());
    exif.extend([0; 4]);
    exif.extend(software);
    let length = (exif.len() as u16 + 2).to_be_bytes();
    [&saved[..2], b"\xff\xe1", &length, &exif, &saved[2..]].concat()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edited_file_is_shown_with_its_part() {
    let (server, demo) = Server::demo(Backend::Sqlite, &[]).await;
    let reviewer = Browser::sign_up(&server, merchant(&demo), "reviewer").await;
    let account = account(&demo);
    for is_edited in [false, true] {
        let flow = server.flow(
            &account,
            &json!({
                "name": format!("edited {is_edited}"), "defaultFields": {"documentFileUpload": true},
                "defaultDocumentTypes": ["PASSPORT"], "settings": {"fraudSigns": "show"},
            }),
        );
        let group = json!({"name": format!("edited {is_edited}"), "flowIds": [flow]});
        let (_, group) = server.post("/v2/public/groups", &account.sandbox, group).await;
        let changes = json!({"flowId": flow, "groupingId": group["groupId"]});
        let files = [("passportFront", saved_by_an_editor(is_edited))];
        let form = specimen("pass-passport").form_with(&demo, &changes, &files);
        let (status, body) = verify(&server, &demo, form).await;
        assert_eq!((status, &body["success"]), (200, &json!(true)), "{body}");
        let page = open(&reviewer, newest(&server).await).await;
        for text in [
            "Passport · File from an image editor or a screenshot",
            "“Adobe Photoshop 25.1”",
            "Passport · A part was put in later",
        ] {
            assert!(page.contains(text), "{text}: {page}");
        }
        let boxes = page.matches("class=\"fraud\"").count();
        assert_eq!(
            boxes,
            usize::from(is_edited),
            "the part is marked in the picture: {page}"
        );
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
