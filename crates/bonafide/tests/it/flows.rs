//! Contract §2.2 and §4.2, `docs/decisions/0004-flow-semantics.md`.

use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{Server, on_both};

const FLOWS: &str = "/v2/public/flows";

on_both!(a_flow_is_read_changed_and_deleted, |backend| {
    let server = Server::start(backend, &[]).await;
    let merchant = server.merchant(true);
    let key = &merchant.sandbox;
    let id = server.flow(
        &merchant,
        &json!({
            "name": "KYC",
            "defaultFields": {"dob": true, "documentFileUpload": true, "somethingElse": {"kept": true}},
            "defaultDocumentTypes": ["PASSPORT"],
            "minAge": 18,
            "settings": {"reviewPolicy": "always"},
        }),
    );
    let path = format!("{FLOWS}/{id}");
    let (status, flow) = server.get(&path, key).await;
    assert_eq!(
        (status, &flow["flowId"], &flow["name"], &flow["minAge"]),
        (200, &json!(id), &json!("KYC"), &json!(18))
    );
    for (member, expected) in [
        (
            "defaultFields",
            json!({"dob": true, "documentFileUpload": true, "somethingElse": {"kept": true}}),
        ),
        ("defaultDocumentTypes", json!(["PASSPORT"])),
        ("countryOverrides", json!([])),
        ("geoBlockedCountries", json!([])),
    ] {
        let parsed: Value =
            serde_json::from_str(flow[member].as_str().expect("a JSON-encoded string")).unwrap();
        assert_eq!(parsed, expected, "{member}");
    }
    assert_eq!(
        (&flow["webhookUrl"], &flow["maxAge"]),
        (&Value::Null, &Value::Null)
    );
    assert!(flow.get("settings").is_none(), "only the portal knows them");

    let (status, changed) = server
        .put(&path, key, json!({
            "name": "KYC 2", "webhookUrl": "https://example.com/hook", "minAge": null, "maxAge": 60,
            "geoBlockedCountries": [{"countryAlpha2": "FR", "countryName": "France"}],
            "countryOverrides": [{"countryAlpha2": "DE", "countryAlpha3": "DEU", "countryName": "Germany", "restricted": true}],
        }))
        .await;
    assert_eq!(status, 200, "{changed}");
    assert_eq!(
        server.get(&path, key).await.1,
        changed,
        "exactly as GET returns it"
    );
    assert_eq!(
        (&changed["minAge"], &changed["maxAge"], &changed["webhookUrl"]),
        (&Value::Null, &json!(60), &json!("https://example.com/hook"))
    );
    assert_eq!(
        changed["defaultFields"], flow["defaultFields"],
        "what was not sent stays"
    );
    let (_, cleared) = server.put(&path, key, json!({"webhookUrl": ""})).await;
    assert_eq!(cleared["webhookUrl"], Value::Null);

    let other = server.flow(&merchant, &json!({"name": "Other"}));
    assert_eq!(server.put(&path, key, json!({"name": "Other"})).await.0, 409);
    let (_, list) = server.get(FLOWS, key).await;
    let ids: Vec<&Value> = list["flows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|flow| &flow["flowId"])
        .collect();
    assert_eq!(ids, [&json!(other), &json!(id)], "newest first");

    let (_, group) = server
        .post(
            "/v2/public/groups",
            key,
            json!({"name": "G", "flowIds": [id, other]}),
        )
        .await;
    assert_eq!(
        server.delete(&path, key).await,
        (200, json!({"message": "flow deleted successfully"}))
    );
    assert_eq!(server.get(&path, key).await.0, 404);
    let (_, group) = server
        .get(
            &format!("/v2/public/groups/{}", group["groupId"].as_str().unwrap()),
            key,
        )
        .await;
    assert_eq!(
        group["flows"],
        json!([{"flowId": other, "name": "Other"}]),
        "the Group loses the reference"
    );
    assert_eq!(
        server.json(Method::POST, FLOWS, key, Some(json!({}))).await.0,
        405,
        "there is no POST for Flows"
    );
    let stranger = server.merchant(true).sandbox;
    let path = format!("{FLOWS}/{other}");
    for (method, body) in [
        (Method::GET, None),
        (Method::PUT, Some(json!({"name": "x"}))),
        (Method::DELETE, None),
    ] {
        assert_eq!(server.json(method, &path, &stranger, body).await.0, 404);
    }
});

on_both!(invalid_changes_are_refused, |backend| {
    let server = Server::start(backend, &[]).await;
    let merchant = server.merchant(true);
    let key = &merchant.sandbox;
    let path = format!("{FLOWS}/{}", server.flow(&merchant, &json!({"name": "F"})));
    for body in [json!({}), json!({"unknown": 1})] {
        let (status, answer) = server.put(&path, key, body).await;
        assert_eq!((status, &answer["message"]), (400, &json!("No fields to update")));
    }
    for body in [
        json!({"defaultDocumentTypes": ["PASSPORT"]}),
        json!({"countryOverrides": [{"countryAlpha2": "DE", "defaultDocumentTypes": ["ID_CARD"]}]}),
    ] {
        let (status, answer) = server.put(&path, key, body).await;
        assert_eq!(
            (status, &answer["message"]),
            (
                400,
                &json!("An upload method is required when a document type is selected")
            )
        );
    }
    for (body, field) in [
        (json!({"name": ""}), "name"),
        (json!({"name": null}), "name"),
        (json!({"defaultFields": []}), "defaultFields"),
        (
            json!({"defaultDocumentTypes": ["PASPORT"]}),
            "defaultDocumentTypes",
        ),
        (json!({"countryOverrides": {}}), "countryOverrides"),
        (
            json!({"geoBlockedCountries": [{"countryAlpha2": "XX1"}]}),
            "geoBlockedCountries",
        ),
        (json!({"webhookUrl": "nonsense"}), "webhookUrl"),
        (
            json!({"webhookUrl": format!("https://example.com/{}", "x".repeat(500))}),
            "webhookUrl",
        ),
        (json!({"minAge": 0}), "minAge"),
        (json!({"maxAge": 121}), "maxAge"),
        (json!({"minAge": 18.5}), "minAge"),
        (json!({"minAge": 60, "maxAge": 18}), "minAge"),
    ] {
        let (status, answer) = server.put(&path, key, body.clone()).await;
        assert_eq!(status, 400, "{body}: {answer}");
        assert!(answer.to_string().contains(field), "{body}: {answer}");
    }
});
