//! Set-up in the portal: Flows, Groups, links, keys, webhooks, company-wide settings; what they say afterwards to the API and the page.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::Browser;
use crate::harness::{Backend, Key, Merchant, Server, on_both};

/// A server, an approved account, and its owner's browser, which looks at the sandbox.
async fn start(backend: Backend) -> (Server, Merchant, Browser) {
    let server = Server::start(backend, &[]).await;
    let merchant = server.merchant(true);
    let owner = Browser::sign_up(&server, &merchant.id, "owner").await;
    (server, merchant, owner)
}

/// The fields that a browser would send of a page's forms, in their order: inputs, chosen options, text areas.
fn fields(page: &str) -> Vec<(String, String)> {
    let attribute = |tag: &str, name: &str| {
        let start = tag.find(&format!(" {name}=\""))? + name.len() + 3;
        let end = tag[start..].find('"')? + start;
        Some(
            tag[start..end]
                .replace("&#34;", "\"")
                .replace("&#38;", "&")
                .replace("&#60;", "<")
                .replace("&#62;", ">")
                .replace("&#39;", "'"),
        )
    };
    let mut sent = Vec::new();
    let mut select: Option<(String, Option<String>, Option<String>)> = None;
    for part in page.split('<').skip(1) {
        let tag = part.split('>').next().unwrap_or_default();
        match tag.split([' ', '\n']).next().unwrap_or_default() {
            "input" => {
                let kind = attribute(tag, "type").unwrap_or_default();
                let is_off = ["checkbox", "radio"].contains(&kind.as_str()) && !tag.contains(" checked");
                if let Some(name) = attribute(tag, "name")
                    && !is_off
                {
                    let value = attribute(tag, "value").unwrap_or_default();
                    sent.push((name, value));
                }
            }
            "select" => select = attribute(tag, "name").map(|name| (name, None, None)),
            "option" => {
                if let Some((_, first, chosen)) = &mut select {
                    let value = attribute(tag, "value");
                    first.get_or_insert_with(|| value.clone().unwrap_or_default());
                    if tag.contains(" selected") {
                        *chosen = value;
                    }
                }
            }
            "/select" => {
                if let Some((name, first, chosen)) = select.take() {
                    sent.push((name, chosen.or(first).unwrap_or_default()));
                }
            }
            _ => {}
        }
    }
    sent
}

/// The form of a page with some fields changed; a change to `None` leaves the field out.
fn changed(page: &str, changes: &[(&str, Option<&str>)]) -> Vec<(String, String)> {
    let mut sent = fields(page);
    sent.retain(|(name, _)| !changes.iter().any(|(changed, _)| changed == name));
    sent.extend(
        changes
            .iter()
            .filter_map(|(name, value)| Some(((*name).to_owned(), (*value)?.to_owned()))),
    );
    sent
}

fn borrowed(sent: &[(String, String)]) -> Vec<(&str, &str)> {
    sent.iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect()
}

/// Sends a page's form with changes.
pub(super) async fn send(
    browser: &Browser,
    path: &str,
    page: &str,
    changes: &[(&str, Option<&str>)],
) -> super::Answer {
    browser.post(path, &borrowed(&changed(page, changes))).await
}

/// The Flow as the API gives it, its four texts read.
async fn flow(server: &Server, key: &Key, id: &str) -> Value {
    let (status, mut flow) = server.get(&format!("/v2/public/flows/{id}"), key).await;
    assert_eq!(status, 200, "{flow}");
    for member in [
        "defaultFields",
        "defaultDocumentTypes",
        "countryOverrides",
        "geoBlockedCountries",
    ] {
        flow[member] = serde_json::from_str(flow[member].as_str().unwrap()).unwrap();
    }
    flow
}

/// Makes a Flow in the portal; its id.
async fn make_flow(owner: &Browser, name: &str, changes: &[(&str, Option<&str>)]) -> String {
    let page = owner.get("/portal/flows/new").await.page();
    let changes: Vec<_> = [("name", Some(name)), ("do", Some("save"))]
        .into_iter()
        .chain(changes.iter().copied())
        .collect();
    let made = send(owner, "/portal/flows/new", &page, &changes).await.redirect();
    let id = made.strip_prefix("/portal/flows/").unwrap();
    id.split('?').next().unwrap().to_owned()
}

on_both!(a_flow_is_made_changed_and_deleted, |backend| {
    let (server, merchant, owner) = start(backend).await;
    assert!(owner.get("/portal/flows").await.page().contains("No Flow yet"));
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

    // Text is text, wherever it came from.
    let path = format!("/portal/flows/{id}");
    let list = owner.get("/portal/flows").await.page();
    assert!(list.contains("Onboarding &#60;b&#62;&#38;amp;") && !list.contains("<b>&amp;"));

    // What the API added and the form does not know stays; an untouched form changes nothing.
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

    // Somebody else's change in between is not overwritten.
    let stale = send(
        &owner,
        &path,
        &page,
        &[("name", Some("Mine")), ("do", Some("save"))],
    )
    .await;
    assert_eq!(stale.status, 409);
    assert!(stale.body.contains("Somebody else has changed this Flow"));

    // A country more, a country less, without saving; then saved.
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

    // A copy, and its deletion.
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
        (vec![("name", Some("Taken"))], 409, "Another Flow has this name."),
        (vec![("upload", Some(""))], 400, "choose how they are sent"),
        (
            vec![("type", None), ("biometric", Some("liveness"))],
            400,
            "cannot be asked for where no document is accepted",
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
        usual.contains("An ID card from Germany will need front and back."),
        "{usual}"
    );
    assert!(usual.contains("A passport from Germany will need its front only."));
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
        "asked to take a live selfie",
        "photographed with the camera",
        "Visitors from Sweden can&#39;t open links",
        "Only people aged 18 and older pass.",
        "An ID card from Japan will need its front only.",
    ] {
        assert!(strict.contains(text), "{text}: {strict}");
    }
    assert!(
        outlook(&[("upload", Some(""))])
            .await
            .contains("choose how they are sent")
    );

    // The preview is the hosted page itself, for this form, in a frame of the portal only.
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
    assert!(broken.contains("Put right what is marked"));
    let sessions = "select count(*) from sessions";
    assert_eq!(server.count(sessions).await, 0, "nothing was made");
    assert_eq!(server.count("select count(*) from flows").await, 0);

    // Trying a Flow out makes a link that works, in the sandbox.
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
    // The links page shows the session; for whom it is, to those who see people.
    let links = owner.get("/portal/links").await.page();
    assert!(links.contains("Under way") && links.contains(">try-"));
    let developer = Browser::sign_up(&server, &merchant.id, "developer").await;
    let links = developer.get("/portal/links").await.page();
    assert!(links.contains("Under way") && links.contains(">•••<") && !links.contains(">try-"));
});

on_both!(groups_keep_the_order_of_their_flows, |backend| {
    let (server, merchant, owner) = start(backend).await;
    let first = make_flow(&owner, "A", &[]).await;
    let second = make_flow(&owner, "B", &[]).await;
    let form = |ids: [(&str, &str); 2], name: &'static str| {
        let mut form = vec![
            ("name".to_owned(), name.to_owned()),
            ("description".into(), "d".into()),
        ];
        for (id, place) in ids {
            form.push(("flow".into(), id.to_owned()));
            form.push((format!("place.{id}"), place.to_owned()));
        }
        form
    };
    let made = form([(&first, "2"), (&second, "1")], "Ordered");
    owner
        .post("/portal/groups/new", &borrowed(&made))
        .await
        .redirect();
    let (_, groups) = server.get("/v2/public/groups", &merchant.sandbox).await;
    let group = &groups["groups"][0];
    let names: Vec<_> = group["flows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|flow| flow["name"].clone())
        .collect();
    assert_eq!(names, ["B", "A"]);
    let path = format!("/portal/groups/{}", group["groupId"].as_str().unwrap());
    let page = owner.get(&path).await.page();
    send(
        &owner,
        &path,
        &page,
        &[("inactive", Some("on")), ("description", Some(""))],
    )
    .await
    .redirect();
    let (_, groups) = server.get("/v2/public/groups", &merchant.sandbox).await;
    let group = &groups["groups"][0];
    assert_eq!(
        (&group["status"], &group["description"]),
        (&json!("inactive"), &Value::Null)
    );
    assert_eq!(group["flows"].as_array().unwrap().len(), 2);
    for (form, status, text) in [
        (
            vec![("name", ""), ("flow", first.as_str())],
            400,
            "must have 1 to 100 characters",
        ),
        (vec![("name", "X")], 400, "Choose at least one Flow"),
        (
            vec![("name", "Ordered"), ("flow", first.as_str())],
            409,
            "Another Group has this name",
        ),
    ] {
        let answer = owner.post("/portal/groups/new", &form).await;
        assert_eq!(answer.status, status, "{}", answer.body);
        assert!(answer.body.contains(text), "{}", answer.body);
    }
    owner.post(&format!("{path}/delete"), &[]).await.redirect();
    assert_eq!(owner.get(&path).await.status, 404);
});

on_both!(keys_are_made_rotated_and_revoked, |backend| {
    let (server, _merchant, owner) = start(backend).await;
    let secret_of = |page: &str| {
        let codes: Vec<String> = page
            .split("<code>")
            .skip(1)
            .map(|rest| rest.split("</code>").next().unwrap().to_owned())
            .collect();
        Key {
            key: codes[0].clone(),
            secret: codes[1].clone(),
        }
    };
    let made = secret_of(&owner.submit("/portal/keys", &[]).await);
    assert!(made.key.starts_with("bf_test_"));
    assert_eq!(server.get("/v2/public/flows", &made).await.0, 200);
    let list = owner.get("/portal/keys").await.page();
    assert!(
        list.contains(&made.key) && !list.contains(&made.secret),
        "shown once"
    );
    assert!(!list.contains("bf_live_"), "the other mode's keys are not here");
    let rotated = secret_of(
        &owner
            .submit(&format!("/portal/keys/{}/rotate", made.key), &[])
            .await,
    );
    assert_eq!(rotated.key, made.key);
    assert_eq!(server.get("/v2/public/flows", &rotated).await.0, 200);
    assert_eq!(
        server.get("/v2/public/flows", &made).await.0,
        200,
        "both work for a day"
    );
    let newest = secret_of(
        &owner
            .submit(&format!("/portal/keys/{}/rotate", made.key), &[])
            .await,
    );
    assert_eq!(
        server.get("/v2/public/flows", &made).await.0,
        400,
        "two secrets at most"
    );
    owner
        .post(&format!("/portal/keys/{}/revoke", made.key), &[])
        .await
        .redirect();
    assert_eq!(server.get("/v2/public/flows", &newest).await.0, 400);
    assert!(owner.get("/portal/keys").await.page().contains("Revoked"));
    assert_eq!(
        owner
            .get(&format!("/portal/keys/{}/revoke", made.key))
            .await
            .status,
        404
    );
    // Another account's key is nobody's.
    let other = server.merchant(true);
    for what in ["rotate", "revoke"] {
        let answer = owner
            .post(&format!("/portal/keys/{}/{what}", other.sandbox.key), &[])
            .await;
        assert_eq!(answer.status, 404, "{what}");
    }
    assert_eq!(server.get("/v2/public/flows", &other.sandbox).await.0, 200);
});

on_both!(links_are_made_by_hand, |backend| {
    let (server, _merchant, owner) = start(backend).await;
    assert!(owner.get("/portal/links").await.page().contains("No Group yet"));
    let id = make_flow(&owner, "A", &[]).await;
    let form = [("name", "G"), ("flow", id.as_str())];
    owner.post("/portal/groups/new", &form).await.redirect();
    let page = owner.get("/portal/links").await.page();
    let next = send(&owner, "/portal/links", &page, &[("userId", Some("user-1"))])
        .await
        .redirect();
    let made = owner.get(&next).await.page();
    let one = "select count(*) from link_tokens";
    assert_eq!(server.count(one).await, 1);
    assert_eq!(owner.get(&next).await.redirect(), "/portal/links", "reloaded");
    assert_eq!(server.count(one).await, 1, "and no other was made");
    assert!(made.contains("iswebsdklink=true") && made.contains("<svg"));
    let empty = send(&owner, "/portal/links", &page, &[("userId", Some(" "))]).await;
    assert_eq!(empty.status, 400);
    assert!(empty.body.contains("Say for whom the link is."));
    let foreign = [
        ("userId", "u"),
        ("place", "00000000-0000-0000-0000-000000000000.x"),
    ];
    let answer = owner.post("/portal/links", &foreign).await;
    assert_eq!(answer.status, 400);
    assert!(answer.body.contains("Choose a Flow in a Group."));
});

on_both!(webhooks_are_tested_seen_and_sent_again, |backend| {
    let (server, _merchant, owner) = start(backend).await;
    // Nobody listens there, and the address is not public: a try fails at once.
    let id = make_flow(
        &owner,
        "Hears",
        &[("webhookUrl", Some("http://127.0.0.1:9/hook"))],
    )
    .await;
    let list = owner.get("/portal/webhooks").await.page();
    assert!(list.contains("http://127.0.0.1:9/hook"));
    let event = owner
        .post(&format!("/portal/webhooks/{id}/test"), &[])
        .await
        .redirect();
    let event = event.split('?').next().unwrap().to_owned();
    let page = owner.get(&event).await.page();
    assert!(
        page.contains("webhook.test") && page.contains("isSandbox"),
        "{page}"
    );
    let secret = owner.get(&format!("/portal/webhooks/{id}/secret")).await.page();
    assert!(secret.contains("whsec_"));
    let rotated = owner.submit(&format!("/portal/webhooks/{id}/secret"), &[]).await;
    assert!(rotated.contains("whsec_") && rotated != secret);
    // The first try is over and the second seconds away: none will write over what is set here.
    let patience = Instant::now() + Duration::from_secs(60);
    while server
        .count("select count(*) from outbox where last_error is not null")
        .await
        == 0
    {
        assert!(Instant::now() < patience, "the event was never tried");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    // Given up, as after four days; then sent again, one and all.
    server.sql("update outbox set next_try_at = null, last_status = 500, last_error = 'the receiver answered 500'").await;
    let given_up = owner.get("/portal/webhooks?state=given_up").await.page();
    assert!(given_up.contains("the receiver answered 500") && given_up.contains("Send all again"));
    assert!(
        owner
            .get("/portal/webhooks?state=delivered")
            .await
            .page()
            .contains("There are no deliveries here.")
    );
    let due = "select count(*) from outbox where next_try_at is not null";
    owner
        .post("/portal/webhooks/resend", &[("flow", &id), ("days", "1")])
        .await
        .redirect();
    assert_eq!(server.count(due).await, 1);
    server.sql("update outbox set next_try_at = null").await;
    owner.post(&event, &[]).await.redirect();
    assert_eq!(server.count(due).await, 1);
    assert_eq!(
        owner
            .get("/portal/webhooks/events/00000000-0000-0000-0000-000000000000")
            .await
            .status,
        404
    );
});

on_both!(settings_for_all_flows, |backend| {
    let (server, merchant, owner) = start(backend).await;
    let page = owner.get("/portal/branding").await.page();
    let changes = [
        ("brandName", Some("Acme <i>")),
        ("brandColor", Some("#fe0")),
        ("allowedOrigins", Some("https://shop.example\nhttps://b.example")),
        ("blockedCountries", Some("SE")),
        ("screeningThreshold", Some("0.8")),
    ];
    send(&owner, "/portal/branding", &page, &changes).await.redirect();
    let page = owner.get("/portal/branding").await.page();
    assert!(page.contains("Acme &#60;i&#62;") && page.contains("#ffee00"));
    assert!(page.contains("is not readable; now"), "yellow is made readable");
    let stored = server.bonafide(&["merchant", "set", &merchant.id, "brandName=Acme"]);
    let stored: BTreeMap<String, Value> = serde_json::from_str(&stored).unwrap();
    assert_eq!(
        stored["allowedOrigins"],
        json!(["https://shop.example", "https://b.example"])
    );
    assert_eq!(stored["blockedCountries"], json!(["SE"]));
    assert_eq!(stored["screeningThreshold"], json!(0.8));
    for (name, value) in [
        ("brandColor", "green"),
        ("allowedOrigins", "http://shop.example"),
        ("screeningThreshold", "much"),
        ("screeningThreshold", "2"),
    ] {
        let mut changes = changes.to_vec();
        changes.retain(|(changed, _)| *changed != name);
        changes.push((name, Some(value)));
        let answer = send(&owner, "/portal/branding", &page, &changes).await;
        assert_eq!(answer.status, 400, "{name}: {}", answer.body);
        assert!(answer.body.contains("class=\"error\""), "{name}");
        assert!(answer.body.contains(value), "{name}: what was typed stays");
    }
});

on_both!(settings_changed_at_once_are_both_kept, |backend| {
    let (server, merchant, owner) = start(backend).await;
    let page = owner.get("/portal/branding").await.page();
    let everything = [
        ("brandColor", Some("green")),
        ("contact", Some("call me")),
        ("allowedOrigins", Some("http://a.example")),
        ("screeningThreshold", Some("much")),
    ];
    let refused = send(&owner, "/portal/branding", &page, &everything).await;
    assert_eq!(refused.status, 400);
    for place in ["f-brandColor", "f-contact", "f-origins", "f-threshold"] {
        let is_linked = refused.body.contains(&format!("<a href=\"#{place}\">"));
        assert!(is_linked, "all at once, {place}: {}", refused.body);
    }
    let saved = send(&owner, "/portal/branding", &page, &[("brandName", Some("Acme"))]);
    let limited = r#"update merchants set settings = '{"maxFlows":5}'"#;
    server.sql_beside(limited, saved).await.redirect();
    let stored = server.bonafide(&["merchant", "set", &merchant.id, "brandColor=#112233"]);
    let stored: Value = serde_json::from_str(&stored).unwrap();
    let expected = json!({"maxFlows": 5, "brandName": "Acme", "brandColor": "#112233"});
    assert_eq!(stored, expected);
});

on_both!(every_fault_of_a_flow_is_told_and_leads_to_its_field, |backend| {
    let (_server, _merchant, owner) = start(backend).await;
    let page = owner.get("/portal/flows/new").await.page();
    let changes = [
        ("name", Some("")),
        ("minAge", Some("60")),
        ("maxAge", Some("18")),
        ("attemptsPerLink", Some("0")),
        ("webhookUrl", Some("nowhere")),
        ("do", Some("save")),
    ];
    let refused = send(&owner, "/portal/flows/new", &page, &changes).await;
    assert_eq!(refused.status, 400);
    for place in ["f-name", "f-minAge", "f-attemptsPerLink", "f-webhookUrl"] {
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
