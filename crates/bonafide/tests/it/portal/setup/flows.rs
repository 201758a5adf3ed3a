//! The editor of Flows, and the Flows that it refuses.

use serde_json::{Value, json};

use super::{fields, flow, make_flow, send, start};
use crate::harness::on_both;
use crate::portal::Browser;

on_both!(a_flow_is_made_changed_and_deleted, |backend| {
    let (server, merchant, owner) = start(backend).await;
    assert!(owner.get("/portal/flows").await.page().contains("No Flows yet"));
    let id = make_flow(
        &owner,
        "Onboarding <b>&amp;",
        &[
            ("biometric", Some("liveSelfie")),
            ("field.phone", Some("on")),
            ("idCardBack", Some("false")),
            ("minAge", Some("18")),
            ("geo", Some("SE")),
        ],
    )
    .await;
    let made = flow(&server, &merchant.sandbox, &id).await;
    assert_eq!(made["name"], "Onboarding <b>&amp;");
    assert_eq!(
        made["defaultFields"],
        json!({"dob": true, "phone": true, "documentFileUpload": true, "ocrMatch": true, "liveSelfie": true, "idCardBack": false})
    );
    assert_eq!(
        made["geoBlockedCountries"],
        json!([{"countryAlpha2": "SE", "countryName": "Sweden"}])
    );
    assert_eq!(made["minAge"], 18);

    // Text is escaped, whatever its source.
    let path = format!("/portal/flows/{id}");
    let list = owner.get("/portal/flows").await.page();
    assert!(list.contains("Onboarding &#60;b&#62;&#38;amp;") && !list.contains("<b>&amp;"));

    // Members that the API added and the form does not know remain, and an untouched form changes nothing.
    let body = json!({"defaultFields": {"dob": true, "future": {"a": 1}, "documentCapture": true},
        "countryOverrides": [{"countryAlpha2": "DE", "note": "kept", "defaultFields": {"ssn": true}}]});
    let (status, _) = server
        .put(&format!("/v2/public/flows/{id}"), &merchant.sandbox, body)
        .await;
    assert_eq!(status, 200);
    let before = flow(&server, &merchant.sandbox, &id).await;
    let page = owner.get(&path).await.page();
    assert!(page.contains("People from Germany") && page.contains("future"));
    send(&owner, &path, &page, &[("do", Some("save"))])
        .await
        .redirect();
    let mut after = flow(&server, &merchant.sandbox, &id).await;
    after["updatedAt"] = before["updatedAt"].clone();
    assert_eq!(after, before);

    // A colleague's change in between is not overwritten.
    let stale = send(
        &owner,
        &path,
        &page,
        &[("name", Some("Mine")), ("do", Some("save"))],
    )
    .await;
    assert_eq!(stale.status, 409);
    assert!(stale.body.contains("Someone else has changed this Flow"));

    // One country is added and one removed without saving; then the form is saved.
    let page = owner.get(&path).await.page();
    let more = send(
        &owner,
        &path,
        &page,
        &[("addCountry", Some("FRA")), ("do", Some("add"))],
    )
    .await
    .page();
    assert!(more.contains("override.FRA.restricted"));
    let fewer = send(&owner, &path, &more, &[("do", Some("remove.DEU"))])
        .await
        .page();
    assert!(!fewer.contains("override.DEU.restricted"));
    assert_eq!(
        flow(&server, &merchant.sandbox, &id).await["countryOverrides"][0]["countryAlpha2"],
        "DE"
    );
    send(
        &owner,
        &path,
        &fewer,
        &[("override.FRA.restricted", Some("on")), ("do", Some("save"))],
    )
    .await
    .redirect();
    let saved = flow(&server, &merchant.sandbox, &id).await;
    assert_eq!(
        saved["countryOverrides"],
        json!([{"countryAlpha2": "FR", "countryAlpha3": "FRA", "countryName": "France", "restricted": true}])
    );

    // The copy of a Flow, and its deletion.
    let copy = owner.post(&format!("{path}/duplicate"), &[]).await.redirect();
    let copy = copy.split('?').next().unwrap().to_owned();
    assert!(owner.get(&copy).await.page().contains("(copy)"));
    let group = server
        .post(
            "/v2/public/groups",
            &merchant.sandbox,
            json!({"name": "Everybody", "flowIds": [copy.rsplit('/').next()]}),
        )
        .await;
    assert_eq!(group.0, 201);
    let ask = owner.get(&format!("{copy}/delete")).await.page();
    assert!(ask.contains("Everybody"), "the Groups that lose it are named");
    owner.post(&format!("{copy}/delete"), &[]).await.redirect();
    assert_eq!(owner.get(&copy).await.status, 404);
    let (_, groups) = server.get("/v2/public/groups", &merchant.sandbox).await;
    assert_eq!(groups["groups"][0]["flows"], json!([]));
});

on_both!(rules_and_retention_are_not_the_developers, |backend| {
    let (server, merchant, owner) = start(backend).await;
    let rules = [
        ("reviewPolicy", Some("always")),
        ("fourEyes", Some("on")),
        ("matchThreshold", Some("90")),
        ("reviewBand", Some("70")),
        ("retentionDays", Some("300")),
    ];
    let id = make_flow(&owner, "Ruled", &rules).await;
    let path = format!("/portal/flows/{id}");
    let developer = Browser::sign_up(&server, &merchant.id, "developer").await;
    let page = developer.get(&path).await.page();
    for (name, _) in rules {
        assert!(!page.contains(&format!("name=\"{name}\"")), "{name}");
    }
    let forged = [
        ("name", Some("Renamed")),
        ("reviewPolicy", Some("never")),
        ("matchThreshold", Some("1")),
        ("reviewBand", Some("")),
        ("retentionDays", Some("1")),
        ("do", Some("save")),
    ];
    send(&developer, &path, &page, &forged).await.redirect();
    let kept = fields(&owner.get(&path).await.page());
    for (name, value) in rules.into_iter().chain([("name", Some("Renamed"))]) {
        let found = kept.iter().find(|(field, _)| field == name);
        assert_eq!(found.map(|(_, found)| found.as_str()), value, "{name}");
    }
});

on_both!(what_the_api_refuses_the_editor_refuses, |backend| {
    let (_server, _merchant, owner) = start(backend).await;
    make_flow(&owner, "Taken", &[]).await;
    let page = owner.get("/portal/flows/new").await.page();
    for (changes, status, text) in [
        (vec![("name", Some(""))], 400, "Must have 1 to 100 characters."),
        (
            vec![("name", Some("Taken"))],
            409,
            "Another Flow already has this name.",
        ),
        (vec![("upload", Some(""))], 400, "choose how applicants send them"),
        (
            vec![("type", None), ("biometric", Some("liveness"))],
            400,
            "A live selfie or liveness check requires a document",
        ),
        (
            vec![("minAge", Some("eighteen"))],
            400,
            "Must be a whole number from 1 to 120.",
        ),
        (
            vec![("minAge", Some("30")), ("maxAge", Some("20"))],
            400,
            "Must not be greater than",
        ),
        (
            vec![("webhookUrl", Some("nowhere"))],
            400,
            "Must be a valid http or https URL.",
        ),
        (
            vec![("matchThreshold", Some("101"))],
            400,
            "Must be a number from 0 to 100.",
        ),
        (
            vec![("matchThreshold", Some("50")), ("reviewBand", Some("60"))],
            400,
            "Must not be above",
        ),
        (
            vec![("attemptsPerLink", Some("0"))],
            400,
            "Must be a whole number from 1 to 20.",
        ),
        (
            vec![("invitationHours", Some("721"))],
            400,
            "Must be a whole number from 1 to 720.",
        ),
        (
            vec![("reminderHours", Some("721"))],
            400,
            "Must be a whole number from 0 to 720.",
        ),
        (vec![("override", Some("XXX"))], 400, "must be an ISO 3166-1 code"),
    ] {
        let mut changes = changes;
        if !changes.iter().any(|(name, _)| *name == "name") {
            changes.push(("name", Some("New")));
        }
        changes.push(("do", Some("save")));
        let answer = send(&owner, "/portal/flows/new", &page, &changes).await;
        assert_eq!(answer.status, status, "{changes:?}: {}", answer.body);
        let body = answer.body.to_lowercase();
        assert!(
            body.contains(&text.to_lowercase()),
            "{changes:?}: {}",
            answer.body
        );
        for (name, value) in &changes {
            if ["minAge", "webhookUrl", "matchThreshold"].contains(name) {
                let typed = format!("value=\"{}\"", value.unwrap_or_default());
                assert!(answer.body.contains(&typed), "what was typed stays: {name}");
            }
        }
    }
});

on_both!(the_editor_says_what_follows, |backend| {
    let (server, merchant, owner) = start(backend).await;
    let page = owner.get("/portal/flows/new").await.page();
    let outlook = async |changes: &[(&str, Option<&str>)]| {
        send(&owner, "/portal/flows/outlook", &page, changes).await.page()
    };
    let usual = outlook(&[("name", Some("X"))]).await;
    assert!(
        usual.contains("An ID card from Germany: front and back."),
        "{usual}"
    );
    assert!(usual.contains("A passport from Germany: front only."));
    let strict = outlook(&[
        ("name", Some("X")),
        ("biometric", Some("liveSelfie")),
        ("upload", Some("documentCapture")),
        ("geo", Some("SE")),
        ("minAge", Some("18")),
        ("look", Some("JPN")),
    ])
    .await;
    for text in [
        "Applicants take a live selfie",
        "Applicants photograph documents with the camera",
        "Visitors from Sweden cannot open links",
        "Only people aged 18 and older pass.",
        "An ID card from Japan: front only.",
    ] {
        assert!(strict.contains(text), "{text}: {strict}");
    }
    assert!(
        outlook(&[("upload", Some(""))])
            .await
            .contains("choose how applicants send them")
    );

    // The preview is the hosted page itself for this form, and can be shown only in a frame of the portal.
    let shown = send(
        &owner,
        "/portal/flows/preview",
        &page,
        &[("type", Some("PASSPORT")), ("biometric", Some("liveness"))],
    )
    .await;
    assert_eq!(shown.headers["x-frame-options"], "SAMEORIGIN");
    let policy = shown.headers["content-security-policy"]
        .to_str()
        .unwrap()
        .to_owned();
    assert!(policy.contains("frame-ancestors 'self'"), "{policy}");
    let shown = shown.page();
    assert!(shown.contains("\"biometricType\":\"liveness\"") && shown.contains("rehearsal"));
    let broken = send(&owner, "/portal/flows/preview", &page, &[("upload", Some(""))])
        .await
        .page();
    assert!(broken.contains("fix the marked fields"));
    let sessions = "select count(*) from sessions";
    assert_eq!(server.count(sessions).await, 0, "nothing was made");
    assert_eq!(server.count("select count(*) from flows").await, 0);

    // Trying a Flow creates a working link in the sandbox.
    let id = make_flow(&owner, "Try me", &[]).await;
    let tried = owner.submit(&format!("/portal/flows/{id}/try"), &[]).await;
    assert_eq!(
        owner.get("/portal/links/made").await.redirect(),
        "/portal/links",
        "shown once, and made once"
    );
    assert!(tried.contains("<svg") && tried.contains("iswebsdklink=true"));
    let start = tried.find("token=").unwrap() + 6;
    let token: String = tried[start..]
        .chars()
        .take_while(|c| c.is_ascii_alphanumeric() || "-_.".contains(*c))
        .collect();
    let answer = server
        .http
        .post(format!("{}/v2/sdk/session/exchange", server.base))
        .json(&json!({"token": token}))
        .send()
        .await
        .unwrap();
    let body: Value = answer.json().await.unwrap();
    assert_eq!(body["is_sandbox"], true, "{body}");
    let (_, groups) = server.get("/v2/public/groups", &merchant.sandbox).await;
    assert_eq!(groups["groups"][0]["name"], "Try-outs");
    // The links page shows the session. Only readers who may see personal data see the user.
    let links = owner.get("/portal/links").await.page();
    assert!(links.contains("In progress") && links.contains(">try-"));
    let developer = Browser::sign_up(&server, &merchant.id, "developer").await;
    let links = developer.get("/portal/links").await.page();
    assert!(links.contains("In progress") && links.contains(">•••<") && !links.contains(">try-"));
});

on_both!(every_fault_of_a_flow_is_told_and_leads_to_its_field, |backend| {
    let (_server, _merchant, owner) = start(backend).await;
    let page = owner.get("/portal/flows/new").await.page();
    let changes = [
        ("name", Some("")),
        ("minAge", Some("60")),
        ("maxAge", Some("18")),
        ("attemptsPerLink", Some("0")),
        ("invitationHours", Some("0")),
        ("reminderHours", Some("721")),
        ("webhookUrl", Some("nowhere")),
        ("do", Some("save")),
    ];
    let refused = send(&owner, "/portal/flows/new", &page, &changes).await;
    assert_eq!(refused.status, 400);
    for place in [
        "f-name",
        "f-minAge",
        "f-attemptsPerLink",
        "f-invitationHours",
        "f-reminderHours",
        "f-webhookUrl",
    ] {
        let is_linked = refused.body.contains(&format!("<a href=\"#{place}\">"));
        let is_there = refused.body.contains(&format!("id=\"{place}\""));
        assert!(is_linked && is_there, "{place}: {}", refused.body);
    }
});

on_both!(an_address_of_forms_is_a_page_that_leads_back, |backend| {
    let (_server, _merchant, owner) = start(backend).await;
    for (path, back) in [
        ("/portal/staff/invite", "/portal/staff"),
        ("/portal/branding/logo", "/portal/branding"),
        ("/portal/mode", "/portal"),
    ] {
        let answer = owner.get(path).await;
        assert_eq!(answer.status, 405, "{path}");
        let kind = answer.headers["content-type"].to_str().unwrap();
        assert!(kind.starts_with("text/html"), "{path}: {kind}");
        assert!(
            answer.body.contains(&format!("href=\"{back}\"")),
            "{}",
            answer.body
        );
    }
});
