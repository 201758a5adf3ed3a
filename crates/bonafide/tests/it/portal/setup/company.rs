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

on_both!(only_a_page_with_the_profile_changes_it, |backend| {
    let (server, merchant, owner) = start(backend).await;
    server.bonafide(&["merchant", "set", &merchant.id, "screeningProfile=strict"]);
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
        let change = [("screeningProfile", sent), ("brandName", Some("Acme"))];
        send(&owner, "/portal/branding", &page, &change).await.redirect();
        let shown = server.bonafide(&["merchant", "set", &merchant.id, "maxFlows=5"]);
        let shown: Value = serde_json::from_str(&shown).unwrap();
        assert_eq!(shown["screeningProfile"], stored, "{sent:?}");
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
