//! Searches by text, entities, and the descriptions of lists and algorithms.

use serde_json::{Value, json};

use super::{ids, start};
use crate::harness::{answer, on_both};

on_both!(lists_are_searched_by_text, |backend| {
    let (server, merchant) = start(backend).await;
    let get = async |parameters: &str| {
        let (status, body) = server
            .get(&format!("/v2/yente/search/{parameters}"), &merchant.live)
            .await;
        assert_eq!(status, 200, "{parameters}: {body}");
        body
    };
    for (parameters, total, first) in [
        ("default?q=valdemar putrov", 1, "Q7747"),
        ("default?q=putrov", 1, "Q7747"),
        ("default?q=valdemar putrov&simple=true&fuzzy=false", 1, "Q7747"),
        ("default?q=valdemar putrov&schema=Person", 1, "Q7747"),
        (
            "default?q=valdemar putrov&schema=LegalEntity&target=true",
            1,
            "Q7747",
        ),
        ("default?q=valdemar putrov&schema=LegalEntity&target=false", 0, ""),
        ("default?q=angela merkelin&schema=Vessel", 0, ""),
        ("default?q=valdemar putrov&countries=ke", 0, ""),
        ("default?q=valdemar putrov&countries=RU", 1, "Q7747"),
        (
            "default?q=valdemar putrov&exclude_dataset=eu_fsf&exclude_dataset=gb_hmt_sanctions",
            0,
            "",
        ),
        ("default?q=valdemar putrov&exclude_schema=Person", 0, ""),
        ("default?q=valdemar putrov&changed_since=2999-01-01", 0, ""),
        ("default?q=7707083893", 1, "co-1"),
        ("default?topics=role.pep", 2, "Q7747"),
        (
            "default?topics=role.pep&topics=sanction&filter_op=AND",
            1,
            "Q7747",
        ),
        ("default?filter=programId:EU-UKR", 1, "Q7747"),
        (
            "default?filter=properties.birthPlace:Leningrad&sort=caption:desc",
            1,
            "Q7747",
        ),
        ("default?schema=CryptoWallet", 1, "wallet-1"),
        ("us_ofac_sdn", 2, "plane-1"),
        ("collection", 18, "Q7747"),
        ("sanctions?sort=caption&limit=1", 18, "wallet-1"),
        ("default?limit=0&q=valdemar putrov", 1, ""),
        ("default?offset=100&q=valdemar putrov", 1, ""),
        ("default?offset=17", 18, "rot-11"),
    ] {
        let body = get(parameters).await;
        let found = ids(&body["results"]);
        assert_eq!(
            (
                &body["total"]["value"],
                found.first().copied().unwrap_or_default()
            ),
            (&json!(total), first),
            "{parameters}"
        );
    }
    let body = get("default?offset=5").await;
    assert_eq!(
        (ids(&body["results"]).len(), &body["limit"], &body["offset"]),
        (10, &json!(10), &json!(5))
    );
    let facets = &body["facets"];
    let names: Vec<&String> = facets.as_object().unwrap().keys().collect();
    assert_eq!(names, ["countries", "datasets", "topics"]);
    assert_eq!(
        facets["countries"]["values"],
        json!([
            {"name": "ru", "label": "Russia", "count": 14}, {"name": "de", "label": "Germany", "count": 1},
            {"name": "pa", "label": "Panama", "count": 1}])
    );
    assert_eq!(facets["datasets"]["label"], "Data sources");
    assert_eq!(
        facets["topics"]["values"][0],
        json!({"name": "sanction", "label": "Sanctioned", "count": 16})
    );
    let body = get("default?q=putrov&facets=schema&facets=topics").await;
    assert_eq!(
        body["facets"]["schema"],
        json!({"label": "Entity types", "values": [{"name": "Person", "label": "People", "count": 1}]})
    );
    assert!(body["facets"]["countries"].is_null());

    for (parameters, status) in [
        ("default?q=x&schema=Banana", 400),
        ("default?filter=nocolon", 400),
        ("default?offset=9999&q=putrov", 422),
        ("default?limit=10000&q=putrov", 422),
        ("default?facets=colours", 422),
        ("default?filter_op=XOR", 422),
        ("banana?q=x", 404),
    ] {
        let (got, body) = server
            .get(&format!("/v2/yente/search/{parameters}"), &merchant.live)
            .await;
        assert_eq!(
            (got, body["detail"].is_null()),
            (status, false),
            "{parameters}: {body}"
        );
    }
});

on_both!(entities_and_what_is_searched_are_described, |backend| {
    let (server, merchant) = start(backend).await;
    let get = async |path: &str| server.get(&format!("/v2/yente{path}"), &merchant.live).await;
    let (status, entity) = get("/entities/Q7747?nested=false").await;
    assert_eq!(status, 200);
    assert_eq!(
        (&entity["schema"], &entity["score"]),
        (&json!("Person"), &Value::Null)
    );
    assert_eq!(entity["properties"]["birthDate"], json!(["1952-10-07"]));
    assert_eq!(entity["properties"]["alias"], json!(["V. V. Putrov"]));
    let (_, entity) = get("/entities/rot-00").await;
    assert_eq!(
        entity["properties"]["topics"],
        json!(["sanction"]),
        "its list states no topics"
    );
    for path in [
        "/entities/banana",
        "/entities/Q7747/adjacent",
        "/entities/Q7747/adjacent/sanctions",
        "/statements",
    ] {
        let (status, body) = get(path).await;
        assert_eq!(
            (status, body["detail"].is_string()),
            (404, true),
            "{path}: {body}"
        );
    }

    let (status, catalog) = get("/catalog").await;
    assert_eq!(
        (status, &catalog["current"]),
        (200, &json!(["default", "collection"]))
    );
    assert_eq!(
        (&catalog["outdated"], &catalog["index_stale"]),
        (&json!([]), &json!(false))
    );
    let list = &catalog["datasets"][1];
    assert_eq!(
        (
            &list["name"],
            &list["load"],
            &list["index_current"],
            &list["entity_count"]
        ),
        (&json!("collection"), &json!(true), &json!(true), &json!(18))
    );
    assert_eq!(
        (&list["version"], &catalog["datasets"][0]["children"]),
        (&list["index_version"], &json!(["collection"]))
    );

    let (status, algorithms) = get("/algorithms").await;
    assert_eq!(
        (status, &algorithms["best"], &algorithms["default"]),
        (200, &json!("bonafide"), &json!("bonafide"))
    );
    assert!(algorithms["algorithms"].as_array().unwrap().len() > 3);
    for path in ["/healthz", "/readyz"] {
        let response = server
            .http
            .get(format!("{}/v2/yente{path}", server.base))
            .send()
            .await
            .unwrap();
        assert_eq!(answer(response).await, (200, json!({"status": "ok"})), "{path}");
    }
});
