//! Pictures of documents that a session has read before its submission.

use std::collections::BTreeMap;

use reqwest::multipart::Part;

use super::*;
use crate::interruptions::attempt_folders;
use crate::verify::specimen;

const READING: &str = "/v2/sdk/session/reading";
const STORED: &str = "select count(*) from document_readings";

impl Session<'_> {
    async fn consent(&self, accepted: bool) {
        let body = json!({"version": "2026-11", "language": "en", "accepted": accepted});
        let request = self.request(Method::POST, "/v2/sdk/session/consent").json(&body);
        assert_eq!(request.send().await.unwrap().status(), 200);
    }

    /// Has pictures read, by the form's fields.
    async fn read(&self, country: &str, files: &[(&str, Vec<u8>)]) -> (u16, Value) {
        let mut form = Form::new();
        if !country.is_empty() {
            form = form.text("documentCountry", country.to_owned());
        }
        for (field, bytes) in files {
            form = form.part((*field).to_owned(), Part::bytes(bytes.clone()).file_name("x.jpg"));
        }
        answer(
            self.request(Method::POST, READING)
                .multipart(form)
                .send()
                .await
                .unwrap(),
        )
        .await
    }

    /// Has a specimen's picture read beside that of the other side, which was read before.
    async fn read_beside(&self, other: &Value, name: &str, field: &str) -> Value {
        let picture = Part::bytes(picture(name, field)).file_name("x.jpg");
        let mut form = Form::new()
            .text("documentCountry", "UTO")
            .part(field.to_owned(), picture);
        if let Some(id) = other["readingId"].as_str() {
            form = form.text("otherSide", id.to_owned());
        }
        let request = self.request(Method::POST, READING).multipart(form);
        let (status, body) = answer(request.send().await.unwrap()).await;
        assert_eq!(status, 200, "{name}: {body}");
        body
    }

    /// Has a specimen's picture read.
    async fn read_specimen(&self, name: &str, field: &str) -> Value {
        let (status, body) = self.read("UTO", &[(field, picture(name, field))]).await;
        assert_eq!(status, 200, "{name}: {body}");
        body
    }
}

/// The bytes of a specimen's file.
fn picture(name: &str, field: &str) -> Vec<u8> {
    let file = specimen(name).0["files"][field].as_str().unwrap().to_owned();
    std::fs::read(workspace().join("specimens").join(file)).unwrap()
}

/// A reading's values by field.
fn values(reading: &Value) -> BTreeMap<&str, &str> {
    let fields = reading["fields"].as_object().unwrap();
    fields
        .iter()
        .map(|(field, read)| (field.as_str(), read["value"].as_str().unwrap()))
        .collect()
}

/// The account with a session for one of its Flows, whose person has consented.
async fn begun<'a>(account: &'a Account, flow: &str) -> Session<'a> {
    let session = account.session(flow, "user-1").await;
    session.consent(true).await;
    session
}

on_both!(what_a_document_says_is_confirmed_and_submitted, |backend| {
    let mut account = Account::demo(backend, &[]).await;
    let asked = json!({"dob": true, "nationality": true, "selfie": true, "ocrMatch": true, "documentFileUpload": true});
    let flow = json!({"name": "asked", "defaultDocumentTypes": ["PASSPORT"], "defaultFields": asked});
    account.add_flow(flow).await;
    let server = &account.server;
    let session = account.session("asked", "user-1").await;
    let shot = picture("pass-passport", "passportFront");
    let (status, body) = session.read("UTO", &[("passportFront", shot.clone())]).await;
    assert_eq!(
        (status, &body["error"]),
        (409, &json!("consent_required")),
        "{body}"
    );
    session.consent(false).await;
    let (status, _) = session.read("UTO", &[("passportFront", shot.clone())]).await;
    assert_eq!(status, 409, "a refusal is no consent");
    assert_eq!(server.count(STORED).await, 0);

    session.consent(true).await;
    let read = session.read_specimen("pass-passport", "passportFront").await;
    assert_eq!(
        values(&read),
        BTreeMap::from([
            ("firstName", "TAMSIN IRIS"),
            ("lastName", "VELLOWAY"),
            ("dob", "03/14/1991"),
            ("nationality", "UTO"),
        ]),
        "{read}"
    );
    assert_eq!(
        (&read["codes"], &read["hints"], &read["country"], &read["left"]),
        (&json!([]), &json!([]), &json!("UTO"), &json!(11)),
        "{read}"
    );
    assert!(read["documentNumber"].is_string(), "{read}");
    session.assert_state("pending", 0, "open").await;
    for rows in [
        "select count(*) from faces",
        "select count(*) from attempts",
        "select count(*) from people",
        "select count(*) from picture_fingerprints",
    ] {
        assert_eq!(server.count(rows).await, 0, "{rows}");
    }
    let folders = attempt_folders(server);
    assert_eq!(folders.len(), 1, "the picture");
    let stored = std::fs::read_dir(folders.keys().next().unwrap()).unwrap();
    for file in stored {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        assert!(!bytes.windows(20).any(|part| part == &shot[100..120]), "sealed");
    }

    // A later picture that says nothing does not hide what was shown.
    let broken = picture("2003-document-corrupted", "passportFront");
    let (_, nothing) = session.read("UTO", &[("passportFront", broken)]).await;
    assert_eq!(nothing["fields"], json!({}), "{nothing}");

    // The person corrects the last name, and confirms the rest.
    let specimen = specimen("pass-passport");
    let mut fields = specimen.0["fields"].clone();
    fields["firstName"] = json!("Tamsin Iris");
    fields["middleName"] = Value::Null;
    fields["nationality"] = json!("UTO");
    fields["lastName"] = json!("Vellowey");
    fields["externalUserId"] = json!("user-1");
    fields["readings"] = read["readingId"].clone();
    let selfie = Part::bytes(picture("pass-passport", "selfie")).file_name("x.jpg");
    let form = session.form(fields.clone()).part("selfie", selfie);
    let (status, body) = session.send(form).await;
    assert_eq!(
        (status, &body["ocrResult"]["code"]),
        (200, &json!(2502)),
        "{body}"
    );
    session.assert_state("pending", 1, "open").await;
    assert_eq!(server.count(STORED).await, 2, "another attempt may name it again");

    fields["lastName"] = json!("VELLOWAY");
    let selfie = Part::bytes(picture("pass-passport", "selfie")).file_name("x.jpg");
    let (status, body) = session.send(session.form(fields).part("selfie", selfie)).await;
    assert_eq!((status, &body["success"]), (200, &json!(true)), "{body}");
    assert_eq!(
        body["ocr_comparison"]["warnings"],
        json!([
            "firstName, lastName, dob, nationality: as read from the document before the submission, so the agreement is no independent evidence"
        ]),
        "{body}"
    );
    session.assert_state("success", 2, "done").await;
    assert_eq!(
        server.count(STORED).await,
        0,
        "the key goes with the session's end"
    );
});

on_both!(a_session_reads_twelve_pictures_at_most, |backend| {
    let account = Account::demo(backend, &[]).await;
    let session = begun(&account, "passport").await;
    // Files that no engine can decode are answered at once, and count like every other.
    let broken = picture("2003-document-corrupted", "passportFront");
    let files = [("passportFront", broken.clone())];
    let answers = futures_util::future::join_all((0..15).map(|_| session.read("UTO", &files))).await;
    let of = |wanted: u16| answers.iter().filter(|(status, _)| *status == wanted).count();
    let (read, refused, busy) = (of(200), of(429), of(503));
    assert_eq!(read + refused + busy, 15, "{answers:?}");
    assert!(read <= 12, "{answers:?}");
    for (status, body) in &answers {
        match status {
            200 => assert_eq!(body["codes"], json!([2003]), "{body}"),
            429 => assert_eq!(body["error"], "no_readings_left", "{body}"),
            _ => {}
        }
    }
    // One that was not answered is not counted.
    for _ in read..12 {
        let (status, body) = session.read("UTO", &[("passportFront", broken.clone())]).await;
        assert_eq!(status, 200, "{body}");
    }
    let (status, body) = session.read("UTO", &[("passportFront", broken)]).await;
    assert_eq!(
        (status, &body["error"]),
        (429, &json!("no_readings_left")),
        "{body}"
    );
    assert_eq!(
        account.server.count(STORED).await,
        12,
        "every one is known until the session ends"
    );
    let number = "select max(readings) from sessions";
    assert_eq!(account.server.count(number).await, 12);
    session.assert_state("pending", 0, "open").await;
});

on_both!(what_is_not_submitted_goes, |backend| {
    let account = Account::demo(backend, &[]).await;
    let broken = [(
        "passportFront",
        picture("2003-document-corrupted", "passportFront"),
    )];
    let session = begun(&account, "passport").await;
    let first = session.read("UTO", &broken).await.1;
    let second = session.read("UTO", &broken).await.1;
    assert_ne!(first["readingId"], second["readingId"]);
    assert_eq!(account.server.count(STORED).await, 2, "both pictures");
    session.expire_sessions().await;
    session.assert_state("expired", 0, "done").await;
    assert_eq!(
        account.server.count(STORED).await,
        0,
        "a poll ends the session and deletes the key"
    );

    // Nobody polls this session.
    let session = begun(&account, "passport").await;
    session.read("UTO", &broken).await;
    session.expire_sessions().await;
    // This one lasts longer.
    let session = begun(&account, "passport").await;
    session.read("UTO", &broken).await;
    let sql = "update document_readings set created_at = created_at - 3600001";
    account.server.sql(sql).await;
    assert_eq!(account.server.count(STORED).await, 2);
    assert!(!attempt_folders(&account.server).is_empty());

    // A server sweeps when it starts, and every minute.
    let path = format!("{POLL}/{}", session.id);
    let Account { server, key, .. } = account;
    let server = server.kill_and_restart(&[]);
    wait_until(async || server.count(STORED).await == 0, "the sweep").await;
    wait_until(async || attempt_folders(&server).is_empty(), "the pictures to go").await;
    let (_, polled) = server.get(&path, &key).await;
    assert_eq!(polled["status"], "pending", "{polled}");
});

on_both!(bad_readings_are_refused_by_field, |backend| {
    let account = Account::demo(backend, &[]).await;
    let session = begun(&account, "passport").await;
    let shot = picture("pass-passport", "passportFront");
    let card = picture("pass-id-card-td1", "idCardFront");
    let exactly = "body - must have exactly one picture, named passportFront";
    for (country, files, fault) in [
        ("UTO", vec![], exactly),
        ("UTO", vec![("selfie", shot.clone())], exactly),
        (
            "UTO",
            vec![("passportFront", shot.clone()), ("idCardFront", card.clone())],
            exactly,
        ),
        (
            "UTO",
            vec![("passportFront", vec![])],
            "passportFront - must not be empty",
        ),
        (
            "UTO",
            vec![("passportFront", b"GIF89a and so on".to_vec())],
            "passportFront - must be JPEG, PNG, WEBP, BMP or PDF",
        ),
        (
            "UTO",
            vec![("passportFront", [&shot[..], &vec![0; 11 << 20]].concat())],
            "passportFront - must have at most 10 MB",
        ),
        (
            "UTO",
            vec![("idCardFront", card)],
            "idCardFront - the Flow accepts PASSPORT",
        ),
        (
            "Utopia",
            vec![("passportFront", shot.clone())],
            "documentCountry - must be",
        ),
    ] {
        let (status, body) = session.read(country, &files).await;
        let first = body["errors"][0].as_str().unwrap_or_default();
        assert_eq!(status, 400, "{fault}: {body}");
        assert!(first.starts_with(fault), "{fault}: {body}");
    }
    let (status, _) = session.read("", &[("passportFront", shot)]).await;
    assert_eq!(status, 200, "the country may be left to the document");
    let number = "select max(readings) from sessions";
    assert_eq!(
        account.server.count(number).await,
        1,
        "a refusal costs no reading"
    );

    // What a submission names must be its session's own, and sent once.
    let other = begun(&account, "passport").await;
    let theirs = other.read_specimen("pass-passport", "passportFront").await;
    let own = session.read_specimen("pass-passport", "passportFront").await;
    let specimen = specimen("pass-passport");
    for (named, with_file, fault) in [
        (theirs["readingId"].as_str().unwrap(), false, "no reading no. 1"),
        ("nonsense", false, "no reading no. 1"),
        ("", false, "readings cannot be empty"),
        (
            own["readingId"].as_str().unwrap(),
            true,
            "passportFront is sent or named twice",
        ),
    ] {
        let mut fields = specimen.0["fields"].clone();
        fields["externalUserId"] = json!("user-1");
        fields["readings"] = json!(named);
        let mut form = session.form(fields);
        for field in ["selfie", "passportFront"] {
            if field == "selfie" || with_file {
                let part = Part::bytes(picture("pass-passport", field)).file_name("x.jpg");
                form = form.part(field, part);
            }
        }
        let (status, body) = session.send(form).await;
        assert_eq!(status, 400, "{named}: {body}");
        assert!(
            body["errors"][0].as_str().unwrap().contains(fault),
            "{named}: {body}"
        );
    }
    session.assert_state("pending", 0, "open").await;

    // With a key, it is a field that the contract does not know.
    let mut fields = specimen.0["fields"].clone();
    fields["externalUserId"] = json!("user-2");
    let mut form = form(account.flow("passport"), "user-2", &fields);
    for field in ["selfie", "passportFront"] {
        form = form.part(
            field,
            Part::bytes(picture("pass-passport", field)).file_name("x.jpg"),
        );
    }
    let form = form.text("readings", "x").text("readings", "");
    let request = account.server.request(Method::POST, VERIFY, &account.key);
    let (status, body) = answer(request.multipart(form).send().await.unwrap()).await;
    assert_eq!((status, &body["success"]), (200, &json!(true)), "{body}");
});

/// What would fail the attempt is told before it, with the same codes.
#[tokio::test(flavor = "multi_thread")]
async fn mistakes_are_told_before_they_cost_an_attempt() {
    let account = Account::demo(Backend::Sqlite, &[]).await;
    for (flow, name, fields, codes) in [
        (
            "passport",
            "2003-document-corrupted",
            ["passportFront", ""],
            vec![2003],
        ),
        (
            "passport",
            "2404-other-document-type",
            ["passportFront", ""],
            vec![2404],
        ),
        (
            "passport",
            "2001-no-face-in-document",
            ["passportFront", ""],
            vec![2001],
        ),
        (
            "passport",
            "2501-mrz-check-digits",
            ["passportFront", ""],
            vec![2501],
        ),
        ("passport", "2511-no-mrz", ["passportFront", ""], vec![2511]),
        (
            "passport",
            "2509-passport-expired",
            ["passportFront", ""],
            vec![2509],
        ),
        (
            "residence",
            "2509-permit-expired",
            ["residencyFront", "residencyBack"],
            vec![2509],
        ),
        (
            "licence",
            "2512-no-barcode",
            ["driversFront", "driversBack"],
            vec![2512],
        ),
        (
            "licence",
            "2505-licence-sides-differ",
            ["driversFront", "driversBack"],
            vec![2505],
        ),
        (
            "any-document",
            "2506-id-card-sides-differ",
            ["idCardFront", "idCardBack"],
            vec![2506],
        ),
        (
            "any-document",
            "pass-id-card-td1",
            ["idCardFront", "idCardBack"],
            vec![],
        ),
        ("licence", "pass-drivers", ["driversFront", "driversBack"], vec![]),
    ] {
        let session = begun(&account, flow).await;
        let mut told = Value::Null;
        for field in fields.into_iter().filter(|field| !field.is_empty()) {
            told = session.read_beside(&told, name, field).await;
        }
        assert_eq!(told["codes"], json!(codes), "{name}: {told}");
        if codes.is_empty() {
            assert!(told["fields"]["lastName"]["value"].is_string(), "{name}: {told}");
        }
        session.assert_state("pending", 0, "open").await;
    }
    let session = begun(&account, "passport").await;
    let shot = picture("pass-passport", "passportFront");
    let (_, told) = session.read("DEU", &[("passportFront", shot)]).await;
    assert_eq!(
        told["codes"],
        json!([2508]),
        "another country than chosen: {told}"
    );

    // A picture that the person discarded counts for nothing.
    let session = begun(&account, "any-document").await;
    let discarded = session
        .read_specimen("2506-id-card-sides-differ", "idCardBack")
        .await;
    let front = session.read_specimen("pass-id-card-td1", "idCardFront").await;
    assert_eq!(front["codes"], json!([]), "{front}");
    let together = session
        .read_beside(&discarded, "pass-id-card-td1", "idCardFront")
        .await;
    assert_eq!(together["codes"], json!([2506]), "{together}");
    let form = Form::new()
        .text("otherSide", front["readingId"].as_str().unwrap().to_owned())
        .part(
            "idCardFront",
            Part::bytes(picture("pass-id-card-td1", "idCardFront")).file_name("x.jpg"),
        );
    let request = session.request(Method::POST, READING).multipart(form);
    let (status, body) = answer(request.send().await.unwrap()).await;
    let fault = body["errors"][0].as_str().unwrap_or_default();
    assert!(
        status == 400 && fault.starts_with("otherSide - "),
        "a front beside a front: {body}"
    );

    let session = begun(&account, "any-document").await;
    for (field, file) in [("idCardFront", "idCardBack"), ("idCardBack", "idCardFront")] {
        let shot = picture("pass-id-card-td1", file);
        let (_, told) = session.read("UTO", &[(field, shot)]).await;
        let hints = told["hints"].as_array().unwrap();
        assert!(hints.contains(&json!("other_side")), "{file} as {field}: {told}");
    }
}

on_both!(a_flow_may_ask_for_the_details_first, |backend| {
    let mut account = Account::demo(backend, &[]).await;
    account
        .add_flow(json!({"name": "typed", "defaultDocumentTypes": ["PASSPORT"],
            "defaultFields": {"dob": true, "selfie": true, "ocrMatch": true, "documentFileUpload": true}, "settings": {"detailsFirst": true}}))
        .await;
    for (flow, is_first) in [("typed", true), ("passport", false)] {
        let session = account.session(flow, "user-1").await;
        let request = session.request(Method::GET, "/v2/sdk/session/current");
        let (_, current) = answer(request.send().await.unwrap()).await;
        assert_eq!(current["detailsFirst"], is_first, "{flow}");
    }
    let session = begun(&account, "typed").await;
    let read = session.read_specimen("pass-passport", "passportFront").await;
    assert_eq!(
        (&read["fields"], &read["documentNumber"], &read["codes"]),
        (&json!({}), &Value::Null, &json!([])),
        "what is not shown cannot be copied: {read}"
    );
    let specimen = specimen("pass-passport");
    let mut fields = specimen.0["fields"].clone();
    fields["externalUserId"] = json!("user-1");
    fields["readings"] = read["readingId"].clone();
    let selfie = Part::bytes(picture("pass-passport", "selfie")).file_name("x.jpg");
    let (status, body) = session.send(session.form(fields).part("selfie", selfie)).await;
    assert_eq!((status, &body["success"]), (200, &json!(true)), "{body}");
    assert_eq!(body["ocr_comparison"]["warnings"], json!([]), "{body}");
});
