//! Queries by example.

use reqwest::Method;
use serde_json::{Value, json};

use super::{ids, matched, person, start};
use crate::harness::{answer, on_both};

on_both!(a_batch_is_matched, |backend| {
    let (server, merchant) = start(backend).await;
    let query = json!({"queries": {"vv": person(), "xx": person(), "zz": person()}});
    let request = server
        .request(Method::POST, "/v2/yente/match/default", &merchant.live)
        .json(&query);
    let response = request.send().await.unwrap();
    assert_eq!(response.headers()["x-batch-size"], "3");
    let (status, body) = answer(response).await;
    assert_eq!((status, &body["limit"]), (200, &json!(5)));
    assert!(body["matcher"]["name_match"]["description"].is_string());
    let answers: Vec<&String> = body["responses"].as_object().unwrap().keys().collect();
    assert_eq!(answers, ["vv", "xx", "zz"]);
    let first = &body["responses"]["vv"];
    assert_eq!(first["status"], 200);
    assert_eq!(first["query"]["schema"], "Person");
    assert_eq!(first["query"]["properties"]["country"][0], "ru");
    assert_eq!(first["total"], json!({"value": 1, "relation": "eq"}));
    let hit = &first["results"][0];
    assert_eq!(
        (
            &hit["id"],
            &hit["caption"],
            &hit["schema"],
            &hit["target"],
            &hit["match"]
        ),
        (
            &json!("Q7747"),
            &json!("Valdemar Putrov"),
            &json!("Person"),
            &json!(true),
            &json!(true)
        )
    );
    assert_eq!(hit["datasets"], json!(["eu_fsf", "gb_hmt_sanctions"]));
    assert_eq!(
        (
            &hit["referents"],
            &hit["first_seen"],
            &hit["last_seen"],
            &hit["last_change"]
        ),
        (&json!([]), &Value::Null, &Value::Null, &Value::Null)
    );
    assert_eq!(hit["properties"]["topics"], json!(["sanction", "role.pep"]));
    assert_eq!(hit["properties"]["birthPlace"], json!(["Leningrad"]));
    assert_eq!(hit["properties"]["programId"], json!(["EU-UKR"]));
    let score = hit["score"].as_f64().unwrap();
    assert!((0.9..=1.0).contains(&score), "{score}");
    assert_eq!(hit["explanations"]["name_match"]["candidate"], "valdemar putrov");
    assert!(hit["features"]["name_match"].as_f64().unwrap() > 0.9);
    let written = "select count(*) from audit where action = 'screening.searched' and subject = 'by API'";
    assert_eq!(server.count(written).await, 1);
    let with_name = "select count(*) from audit where detail like '%utrov%'";
    assert_eq!(server.count(with_name).await, 0);
});

on_both!(every_schema_and_number_is_matched, |backend| {
    let (server, merchant) = start(backend).await;
    for (query, id) in [
        (
            json!({"schema": "Person", "properties": {"firstName": "Valdemar", "lastName": "Putrov"}}),
            "Q7747",
        ),
        (
            json!({"schema": "LegalEntity", "properties": {"name": "Вальдемар Путров"}}),
            "Q7747",
        ),
        (
            json!({"schema": "Person", "properties": {"name": "Viadimar Putrow"}}),
            "Q7747",
        ),
        (
            json!({"schema": "Person", "properties": {"passportNumber": ["4078505424"]}}),
            "Q7747",
        ),
        (
            json!({"schema": "Company", "properties": {"name": "Quorzle Shipping", "jurisdiction": "ru"}}),
            "co-1",
        ),
        (
            json!({"schema": "Organization", "properties": {"innCode": "7707083893"}}),
            "co-1",
        ),
        (
            json!({"schema": "Vessel", "properties": {"imoNumber": "9074729"}}),
            "ship-1",
        ),
        (
            json!({"schema": "Airplane", "properties": {"name": ["EP-QUZ"]}}),
            "plane-1",
        ),
        (
            json!({"schema": "CryptoWallet", "properties": {"publicKey": "0x098b716b8aaf21512996dc57eb0615e2383e2f96"}}),
            "wallet-1",
        ),
        (
            json!({"schema": "Thing", "properties": {"name": "Zephyr Quorzle"}}),
            "ship-1",
        ),
        // Each of several names is searched.
        (
            json!({"schema": "Person", "properties": {"name": ["Nobody Quimby", "Valdemar Putrov"]}}),
            "Q7747",
        ),
        // Several dates and countries are alternatives.
        (
            json!({"schema": "Person", "properties": {
                "name": "Valdemar Putrov", "birthDate": ["1931-01-01", "1952-10-07"], "country": ["ke", "ru"]}}),
            "Q7747",
        ),
    ] {
        let matches = matched(&server, &merchant.live, "", query.clone()).await;
        let found = ids(&matches["results"]);
        assert_eq!(found.first(), Some(&id), "{query}: {matches}");
    }
    let with_id = json!({"id": "mine", "schema": "Person", "properties": {"name": "Nobody Quimby"}});
    let matches = matched(&server, &merchant.live, "", with_id).await;
    assert_eq!(
        (&matches["query"]["id"], &matches["results"]),
        (&json!("mine"), &json!([]))
    );
});

on_both!(parameters_of_a_match_count, |backend| {
    let (server, merchant) = start(backend).await;
    for (parameters, count) in [
        ("algorithm=name-based", 1),
        ("algorithm=best&fuzzy=false", 1),
        ("exclude_dataset=eu_fsf", 1),
        ("exclude_dataset=eu_fsf&exclude_dataset=gb_hmt_sanctions", 0),
        (
            "include_dataset=ae_local_terrorists&include_dataset=mx_governors",
            0,
        ),
        ("include_dataset=eu_fsf&include_dataset=ae_local_terrorists", 1),
        (
            "include_dataset=eu_fsf&include_dataset=mx_governors&exclude_dataset=eu_fsf",
            0,
        ),
        ("topics=crime.cyber", 0),
        ("topics=crime.cyber&topics=role.pep", 1),
        ("exclude_schema=Person", 0),
        ("exclude_entity_ids=Q7747", 0),
        ("changed_since=2020-01-01", 1),
        ("changed_since=2999-01-01T00:00", 0),
        ("limit=0", 0),
    ] {
        let matches = matched(&server, &merchant.live, parameters, person()).await;
        assert_eq!(ids(&matches["results"]).len(), count, "{parameters}");
    }
    // The threshold decides what matches, and the cutoff what is returned.
    let other = json!({"schema": "Person", "properties": {"name": "Valdemar Putrov", "birthDate": "1980"}});
    let matches = matched(&server, &merchant.live, "threshold=0.9&cutoff=0.3", other.clone()).await;
    assert_eq!(
        (&matches["total"]["value"], &matches["results"][0]["match"]),
        (&json!(0), &json!(false))
    );
    let matches = matched(&server, &merchant.live, "threshold=0.3", other).await;
    assert_eq!(
        (&matches["total"]["value"], &matches["results"][0]["match"]),
        (&json!(1), &json!(true))
    );
    let many = json!({"schema": "Person", "properties": {"name": "Boris Romanovich Rotenbaum"}});
    let matches = matched(&server, &merchant.live, "limit=3", many).await;
    assert_eq!(
        (ids(&matches["results"]).len(), &matches["total"]["value"]),
        (3, &json!(12))
    );
});

on_both!(matches_are_refused_as_in_yente, |backend| {
    let (server, merchant) = start(backend).await;
    let one = |query: Value| json!({"queries": {"fail": query}});
    let many: serde_json::Map<String, Value> = (0..101).map(|i| (i.to_string(), person())).collect();
    for (path, body, status, part) in [
        (
            "default",
            one(json!({"properties": {"name": "Banana"}})),
            422,
            "is required, such as Person",
        ),
        (
            "default",
            one(json!({"schema": "xxx", "properties": {"name": "Banana"}})),
            400,
            "Cannot parse example entity",
        ),
        (
            "default",
            one(json!({"schema": "Person", "properties": {}})),
            422,
            "nothing to search",
        ),
        ("default", json!({"queries": {}}), 400, "No queries provided"),
        (
            "default",
            json!({"queries": many}),
            400,
            "Too many queries in one batch (limit: 100)",
        ),
        (
            "default",
            json!({"queries": {"q": person()}, "config": {"invalid_option": 0.4}}),
            400,
            "invalid_option",
        ),
        (
            "default?algorithm=neural-net",
            one(person()),
            400,
            "Invalid algorithm",
        ),
        (
            "default?limit=501",
            one(person()),
            422,
            "whole number of at most 500",
        ),
        ("default?changed_since=monday", one(person()), 422, "YYYY-MM-DD"),
        ("banana", one(person()), 404, "No such dataset"),
        (
            "default?limit=500",
            json!({"queries": (0..11).map(|i| (i.to_string(), person())).collect::<serde_json::Map<_, _>>()}),
            400,
            "Too many results: queries × limit may be at most 5000",
        ),
        ("default", json!([]), 422, "must be a JSON object"),
    ] {
        let (got, body) = server
            .post(&format!("/v2/yente/match/{path}"), &merchant.live, body)
            .await;
        assert_eq!(got, status, "{path}: {body}");
        let detail = &body["detail"];
        assert!(
            detail.to_string().contains(part) && !detail.to_string().contains("Banana"),
            "{body}"
        );
        assert_eq!(detail.is_array(), status == 422, "{body}");
    }
    let (_, body) = server
        .post(
            "/v2/yente/match/default",
            &merchant.live,
            one(json!({"schema": 1, "properties": {}})),
        )
        .await;
    assert_eq!(
        body["detail"][0]["loc"],
        json!(["body", "queries", "fail", "schema"])
    );
});
