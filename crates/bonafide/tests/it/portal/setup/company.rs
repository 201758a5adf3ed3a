//! Settings of the whole account.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{send, start};
use crate::harness::on_both;

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
    assert!(page.contains("is unreadable; now"), "yellow is made readable");
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

on_both!(refused_websites_are_listed_until_they_are_allowed, |backend| {
    let (server, merchant, owner) = start(backend).await;
    let page = owner.get("/portal/branding").await.page();
    assert!(!page.contains("Origins refused in the last 30 days"));
    let flow = server.flow(&merchant, &json!({"name": "Shop"}));
    let group = json!({"name": "Group", "flowIds": [flow]});
    let (_, group) = server.post("/v2/public/groups", &merchant.sandbox, group).await;
    let link = json!({"userId": "user-1", "groupId": group["groupId"], "flowId": flow});
    let (_, link) = server
        .post("/v2/sdk/session/web-sdk-link", &merchant.sandbox, link)
        .await;
    let (_, query) = link["url"].as_str().unwrap().split_once('?').unwrap();
    let back = "returnUrl=https://shop.example/done&origin=https://shop.example";
    let visit = server.http.get(format!("{}/verify?{query}&{back}", server.base));
    assert_eq!(visit.send().await.unwrap().status(), 200);

    let page = owner.get("/portal/branding").await.page();
    for part in [
        "Origins refused in the last 30 days",
        "https://shop.example",
        "Receiving the applicant afterwards",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let trail = owner
        .get("/portal/audit?action=merchant.return_refused")
        .await
        .page();
    assert!(
        trail.contains("https://shop.example") && trail.contains("website"),
        "{trail}"
    );
    let allowed = [("allowedOrigins", Some("https://shop.example"))];
    send(&owner, "/portal/branding", &page, &allowed).await.redirect();
    let page = owner.get("/portal/branding").await.page();
    assert!(!page.contains("Origins refused in the last 30 days"), "{page}");
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

on_both!(only_a_page_with_a_field_changes_its_setting, |backend| {
    let (server, merchant, owner) = start(backend).await;
    server.bonafide(&[
        "merchant",
        "set",
        &merchant.id,
        "screeningProfile=strict",
        "websiteUrl=https://acme.example",
    ]);
    let page = owner.get("/portal/branding").await.page();
    let refused = [("screeningProfile", None), ("contact", Some("call me"))];
    let refused = send(&owner, "/portal/branding", &page, &refused).await;
    assert!(
        refused.body.contains("value=\"strict\" selected"),
        "{}",
        refused.body
    );
    for (sent, stored) in [
        (None, json!("strict")),
        (Some("ofac"), json!("ofac")),
        (Some("standard"), Value::Null),
    ] {
        let change = [
            ("screeningProfile", sent),
            ("websiteUrl", None),
            ("brandName", Some("Acme")),
        ];
        send(&owner, "/portal/branding", &page, &change).await.redirect();
        let shown = server.bonafide(&["merchant", "set", &merchant.id, "maxFlows=5"]);
        let shown: Value = serde_json::from_str(&shown).unwrap();
        assert_eq!(shown["screeningProfile"], stored, "{sent:?}");
        assert_eq!(shown["websiteUrl"], "https://acme.example/");
    }
    let refused = send(
        &owner,
        "/portal/branding",
        &page,
        &[("screeningProfile", Some("loose"))],
    )
    .await;
    assert_eq!(refused.status, 400);
    assert!(
        refused.body.contains("<a href=\"#f-profile\">"),
        "{}",
        refused.body
    );
});
