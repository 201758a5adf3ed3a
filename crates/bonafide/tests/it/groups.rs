//! Contract §4.1, §3 and the Groups part of §7.

use reqwest::{Method, header};
use serde_json::{Value, json};

use crate::harness::{Server, answer, on_both};

const GROUPS: &str = "/v2/public/groups";

fn is_timestamp(value: &Value) -> bool {
    let text = value.as_str().unwrap_or_default();
    text.len() == 24 && text.ends_with('Z') && text.as_bytes()[10] == b'T' && text.as_bytes()[19] == b'.'
}

on_both!(a_group_lives, |backend| {
    let server = Server::start(backend, &[]).await;
    let merchant = server.merchant(true);
    let key = &merchant.sandbox;
    assert_eq!(server.get(GROUPS, key).await, (200, json!({"groups": []})));

    let flow = server.flow(&merchant, &json!({"name": "First"}));
    let second = server.flow(&merchant, &json!({"name": "Second"}));
    let stranger = server.merchant(true);
    let foreign = server.flow(&stranger, &json!({"name": "Foreign"}));
    let (status, group) = server
        .post(
            GROUPS,
            key,
            json!({"name": " EU ", "description": "d", "flowIds": [flow, foreign, "not-a-uuid", flow]}),
        )
        .await;
    assert_eq!(status, 201, "{group}");
    assert_eq!(group["name"], "EU");
    assert_eq!(group["status"], "active");
    assert_eq!(
        group["flows"],
        json!([{"flowId": flow, "name": "First"}]),
        "foreign ids are ignored"
    );
    assert!(is_timestamp(&group["createdAt"]) && is_timestamp(&group["updatedAt"]));
    let path = format!("{GROUPS}/{}", group["groupId"].as_str().unwrap());
    assert_eq!(server.get(&path, key).await, (200, group.clone()));

    let (status, none) = server
        .post(
            GROUPS,
            key,
            json!({"name": "None", "status": "inactive", "flowIds": [foreign]}),
        )
        .await;
    assert_eq!(
        (status, &none["flows"], &none["status"]),
        (201, &json!([]), &json!("inactive"))
    );
    let (_, list) = server.get(GROUPS, key).await;
    assert_eq!(
        list["groups"],
        json!([none, group]),
        "most recently created first"
    );

    let (status, same) = server.put(&path, key, json!({})).await;
    assert_eq!((status, &same), (200, &group), "an empty change changes nothing");
    let (_, changed) = server
        .put(
            &path,
            key,
            json!({"flowIds": [second, flow], "status": "inactive", "description": null}),
        )
        .await;
    assert_eq!(
        changed["flows"],
        json!([{"flowId": second, "name": "Second"}, {"flowId": flow, "name": "First"}])
    );
    assert_eq!(
        (&changed["status"], &changed["description"]),
        (&json!("inactive"), &Value::Null)
    );
    let (_, emptied) = server.put(&path, key, json!({"flowIds": []})).await;
    assert_eq!(emptied["flows"], json!([]));

    let (status, body) = server
        .post(GROUPS, key, json!({"name": "EU", "flowIds": [flow]}))
        .await;
    assert_eq!((status, body["message"].is_string()), (409, true));
    assert_eq!(server.put(&path, key, json!({"name": "None"})).await.0, 409);
    assert_eq!(
        server
            .post(GROUPS, key, json!({"name": "eu", "flowIds": [flow]}))
            .await
            .0,
        201,
        "names are case-sensitive"
    );
    assert_eq!(
        server
            .post(
                GROUPS,
                &stranger.sandbox,
                json!({"name": "EU", "flowIds": [flow]})
            )
            .await
            .0,
        201
    );

    for (method, body) in [
        (Method::GET, None),
        (Method::PUT, Some(json!({"name": "x"}))),
        (Method::DELETE, None),
    ] {
        assert_eq!(
            server
                .json(method.clone(), &path, &stranger.sandbox, body.clone())
                .await
                .0,
            404,
            "another account's"
        );
        assert_eq!(
            server
                .json(method.clone(), &path, &merchant.live, body.clone())
                .await
                .0,
            404,
            "the other mode's"
        );
        assert_eq!(
            server
                .json(method, &format!("{GROUPS}/nonsense"), key, body)
                .await
                .0,
            404
        );
    }
    assert_eq!(
        server.delete(&path, key).await,
        (200, json!({"message": "group deleted successfully"}))
    );
    assert_eq!(server.delete(&path, key).await.0, 404);
    assert_eq!(
        server.get("/v2/public/flows", key).await.1["flows"]
            .as_array()
            .unwrap()
            .len(),
        2,
        "the Flows remain"
    );
});

on_both!(invalid_groups_are_refused, |backend| {
    let server = Server::start(backend, &[]).await;
    let key = server.merchant(true).sandbox;
    for (body, error) in [
        (json!({"flowIds": ["x"]}), "name - "),
        (json!({"name": "", "flowIds": ["x"]}), "name - "),
        (json!({"name": "x".repeat(101), "flowIds": ["x"]}), "name - "),
        (json!({"name": 5, "flowIds": ["x"]}), "name - "),
        (json!({"name": "a"}), "flowIds - "),
        (json!({"name": "a", "flowIds": []}), "flowIds - "),
        (json!({"name": "a", "flowIds": "x"}), "flowIds - "),
        (
            json!({"name": "a", "flowIds": ["x"], "status": "deleted"}),
            "status - ",
        ),
        (
            json!({"name": "a", "flowIds": ["x"], "description": "d".repeat(501)}),
            "description - ",
        ),
        (json!([]), "body - "),
    ] {
        let (status, answer) = server.post(GROUPS, &key, body.clone()).await;
        assert_eq!(
            (status, &answer["message"]),
            (400, &json!("Validation failed")),
            "{body}"
        );
        assert!(
            answer["errors"][0].as_str().unwrap().starts_with(error),
            "{body}: {answer}"
        );
    }
    for raw in ["", "{", "{\"name\": \"a\", \"name\": \"b\"}", "\u{0}"] {
        let request = server
            .request(Method::POST, GROUPS, &key)
            .header(header::CONTENT_TYPE, "application/json");
        let (status, body) = answer(request.body(raw).send().await.unwrap()).await;
        assert_eq!((status, body["errors"].is_array()), (400, true), "{raw}");
    }
});

on_both!(a_repeated_post_is_carried_out_once, |backend| {
    let server = Server::start(backend, &[]).await;
    let key = server.merchant(true).sandbox;
    let post = |name: &'static str| {
        let request = server
            .request(Method::POST, GROUPS, &key)
            .header("Idempotency-Key", "k-1");
        async move {
            request
                .json(&json!({"name": name, "flowIds": ["x"]}))
                .send()
                .await
                .unwrap()
        }
    };
    let first = post("a").await;
    assert!(!first.headers().contains_key("idempotency-replayed"));
    let first = answer(first).await;
    assert_eq!(first.0, 201);
    let second = post("a").await;
    assert!(second.headers().contains_key("idempotency-replayed"));
    assert_eq!(answer(second).await, first);
    assert_eq!(
        answer(post("b").await).await.0,
        422,
        "the same key with another body"
    );
    assert_eq!(
        server.get(GROUPS, &key).await.1["groups"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
});
