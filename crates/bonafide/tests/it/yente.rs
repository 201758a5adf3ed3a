//! yente's API, with the requests of yente's own tests on an invented list of the same shape.

use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{Backend, Key, Merchant, Server, answer, on_both, wait_until};

/// A list with many sources, as OpenSanctions publishes it.
fn collection() -> Vec<Value> {
    let mut entities = vec![
        json!({
            "id": "Q7747", "schema": "Person", "caption": "Valdemar Putrov", "datasets": ["eu_fsf", "gb_hmt_sanctions"],
            "properties": {
                "name": ["Valdemar Putrov", "Вальдемар Путров"], "alias": ["V. V. Putrov"], "birthDate": ["1952-10-07"],
                "nationality": ["ru"], "topics": ["sanction", "role.pep"], "programId": ["EU-UKR"], "gender": ["male"],
                "birthPlace": ["Leningrad"], "passportNumber": ["40 78 505424"],
            },
        }),
        json!({
            "id": "pep-1", "schema": "Person", "caption": "Angela Merkelin", "datasets": ["de_bundestag"],
            "properties": {"name": ["Angela Merkelin"], "country": ["de"], "topics": ["role.pep"]},
        }),
        json!({
            "id": "co-1", "schema": "Company", "caption": "Quorzle Shipping LLC", "datasets": ["eu_fsf"],
            "properties": {
                "name": ["Quorzle Shipping LLC"], "jurisdiction": ["ru"], "innCode": ["7707083893"],
                "topics": ["sanction"],
            },
        }),
        json!({
            "id": "ship-1", "schema": "Vessel", "caption": "Zephyr Quorzle", "datasets": ["eu_fsf"],
            "properties": {"name": ["Zephyr Quorzle"], "imoNumber": ["9074729"], "flag": ["pa"], "topics": ["mare.shadow"]},
        }),
        json!({
            "id": "plane-1", "schema": "Airplane", "caption": "EP-QUZ", "datasets": ["us_ofac_sdn"],
            "properties": {"name": ["EP-QUZ"], "serialNumber": ["55123"], "topics": ["sanction"]},
        }),
        json!({
            "id": "wallet-1", "schema": "CryptoWallet", "caption": "0x09", "datasets": ["us_ofac_sdn"],
            "properties": {"publicKey": ["0x098B716B8Aaf21512996dC57EB0615e2383E2f96"], "topics": ["sanction"]},
        }),
    ];
    entities.extend((0..12).map(|i| {
        json!({
            "id": format!("rot-{i:02}"), "schema": "Person", "caption": format!("Boris Rotenbaum {i}"),
            "datasets": ["gb_hmt_sanctions"],
            "properties": {"name": [format!("Boris Romanovich Rotenbaum {}", (b'A' + i) as char)], "nationality": ["ru"]},
        })
    }));
    entities
}

fn import(server: &Server, file: &str, entities: &[Value]) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(file);
    let lines: String = entities.iter().map(|entity| format!("{entity}\n")).collect();
    std::fs::write(&path, lines).unwrap();
    server.bonafide(&["lists", "import", path.to_str().unwrap()]);
}

/// A server with the list `collection`, and an account.
async fn start(backend: Backend) -> (Server, Merchant) {
    let server = Server::start(backend, &[]).await;
    import(&server, "collection.entities.ftm.json", &collection());
    let merchant = server.merchant(true);
    wait_until(
        async || server.get("/v2/yente/catalog", &merchant.live).await.0 == 200,
        "the list is loaded",
    )
    .await;
    (server, merchant)
}

fn person() -> Value {
    json!({"schema": "Person", "properties": {"name": ["Valdemar Putrov"], "birthDate": ["1952"], "country": "Russia"}})
}

async fn matched(server: &Server, key: &Key, parameters: &str, query: Value) -> Value {
    let path = format!("/v2/yente/match/default?{parameters}");
    let (status, body) = server.post(&path, key, json!({"queries": {"q": query}})).await;
    assert_eq!(status, 200, "{parameters}: {body}");
    body["responses"]["q"].clone()
}

fn ids(results: &Value) -> Vec<&str> {
    results
        .as_array()
        .unwrap()
        .iter()
        .map(|result| result["id"].as_str().unwrap())
        .collect()
}

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
            json!({"schema": "Vessel", "properties": {"imoNumber": "IMO9074729"}}),
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
            400,
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

on_both!(keys_are_sent_as_clients_of_yente_send_them, |backend| {
    let (server, merchant) = start(backend).await;
    let Key { key, secret } = &merchant.live;
    let send = async |path: &str, authorization: Option<String>| {
        let mut request = server.http.get(format!("{}{path}", server.base));
        if let Some(authorization) = authorization {
            request = request.header("authorization", authorization);
        }
        answer(request.send().await.unwrap()).await
    };
    let catalog = "/v2/yente/catalog";
    for (authorization, status) in [
        (Some(format!("ApiKey {key}:{secret}")), 200),
        (Some(format!("apikey {key}:{secret}")), 200),
        (Some(format!("ApiKey {key}:wrong")), 401),
        (Some(format!("ApiKey {key}")), 401),
        (Some("Bearer x".into()), 401),
        (None, 401),
    ] {
        let (got, body) = send(catalog, authorization).await;
        assert_eq!(
            (got, body["detail"].is_string()),
            (status, status == 401),
            "{body}"
        );
    }
    // Other endpoints take their own schemes only.
    let (status, _) = send("/v2/public/flows", Some(format!("ApiKey {key}:{secret}"))).await;
    assert_eq!(status, 401);

    server.bonafide(&[
        "merchant",
        "keys",
        "restrict",
        &merchant.id,
        key,
        "--endpoints",
        "monitoring",
    ]);
    let (status, body) = server.get(catalog, &merchant.live).await;
    assert!(
        status == 403 && body["detail"].as_str().unwrap().contains("list-search"),
        "{body}"
    );
    server.bonafide(&[
        "merchant",
        "keys",
        "restrict",
        &merchant.id,
        key,
        "--endpoints",
        "list-search",
    ]);
    assert_eq!(server.get(catalog, &merchant.live).await.0, 200);
    let draft = server.merchant(false);
    assert_eq!(server.get(catalog, &draft.live).await.0, 403);
});

on_both!(only_the_lists_of_the_account_are_searched, |backend| {
    let (server, merchant) = start(backend).await;
    let other = json!({
        "id": "x-1", "schema": "Person", "datasets": ["x"],
        "properties": {"name": ["Quillon Vantongeren"], "topics": ["sanction"]},
    });
    // The same entity in a second list is one result.
    let again = json!({
        "id": "Q7747", "schema": "Person", "datasets": ["us_ofac_sdn"],
        "properties": {"name": ["Valdemar Putrov"], "country": ["by"], "topics": ["sanction"]},
    });
    import(&server, "second.entities.ftm.json", &[other, again]);
    let second = async |key: &Key| server.get("/v2/yente/search/second?limit=1", key).await;
    wait_until(
        async || second(&merchant.live).await.0 == 200,
        "the second list is loaded",
    )
    .await;
    let matches = matched(&server, &merchant.live, "", person()).await;
    assert_eq!(ids(&matches["results"]), ["Q7747"]);
    assert_eq!(
        matches["results"][0]["datasets"],
        json!(["eu_fsf", "gb_hmt_sanctions", "us_ofac_sdn"])
    );
    let (_, entity) = server.get("/v2/yente/entities/Q7747", &merchant.live).await;
    assert_eq!(entity["properties"]["country"], json!(["by"]));

    server.bonafide(&["merchant", "set", &merchant.id, "screeningLists=[\"collection\"]"]);
    assert_eq!(second(&merchant.live).await.0, 404);
    let (_, found) = server
        .get("/v2/yente/search/default?q=quillon vantongeren", &merchant.live)
        .await;
    assert_eq!(found["total"]["value"], 0);
    assert_eq!(server.get("/v2/yente/entities/x-1", &merchant.live).await.0, 404);
    let (_, catalog) = server.get("/v2/yente/catalog", &merchant.live).await;
    assert_eq!(catalog["current"], json!(["default", "collection"]));
    let stranger = server.merchant(true);
    assert_eq!(second(&stranger.live).await.0, 200);

    // Without its list, nothing is searched.
    server.bonafide(&["lists", "remove", "collection"]);
    for path in ["search/default?q=putrov", "entities/Q7747", "catalog"] {
        let (status, body) = server.get(&format!("/v2/yente/{path}"), &merchant.live).await;
        assert_eq!(
            (status, body["detail"].is_string()),
            (503, true),
            "{path}: {body}"
        );
    }
    let (status, body) = server
        .post(
            "/v2/yente/match/default",
            &merchant.live,
            json!({"queries": {"q": person()}}),
        )
        .await;
    assert_eq!((status, body["responses"].is_null()), (503, true));
});

#[tokio::test(flavor = "multi_thread")]
async fn searches_share_the_limit_of_screenings() {
    let server = Server::start(Backend::Sqlite, &["--rate-monitoring", "2"]).await;
    import(&server, "collection.entities.ftm.json", &collection());
    let merchant = server.merchant(true);
    let catalog = async || server.get("/v2/yente/catalog", &merchant.sandbox).await.0;
    wait_until(async || catalog().await == 200, "the list is loaded").await;
    let search = async || {
        server
            .get("/v2/yente/search/default?q=putrov", &merchant.sandbox)
            .await
    };
    let (first, second, (third, body)) = (search().await.0, search().await.0, search().await);
    assert_eq!((first, second, third), (200, 200, 429));
    assert!(body["detail"].is_string(), "{body}");
    assert_eq!(catalog().await, 200);
    let log = server.log().await;
    assert!(!log.contains("putrov"), "{log}");
}
