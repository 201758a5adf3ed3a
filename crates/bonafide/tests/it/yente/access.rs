//! Keys, limits, and whose lists are searched.

use serde_json::json;

use super::{collection, ids, import, matched, person, start};
use crate::harness::{Backend, Key, Server, answer, on_both, wait_until};

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
    // A source of the second list is called like the first list.
    let other = json!({
        "id": "x-1", "schema": "Person", "datasets": ["x", "collection"],
        "properties": {"name": ["Quillon Vantongeren"], "topics": ["sanction"]},
    });
    // The same entity in a second list is one result.
    let again = json!({
        "id": "Q7747", "schema": "Person", "datasets": ["us_ofac_sdn"],
        "properties": {"name": ["Valdemar Putrov"], "country": ["by"], "topics": ["sanction"]},
    });
    // Lists of different publishers may use one id for different entities.
    let namesake = json!({
        "id": "co-1", "schema": "Company", "datasets": ["us_ofac_sdn"],
        "properties": {"name": ["Ulmhaven Trading"], "topics": ["sanction"]},
    });
    import(&server, "second.entities.ftm.json", &[other, again, namesake]);
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
    let (_, both) = server
        .get(
            "/v2/yente/search/default?filter=topics:sanction&schema=Company",
            &merchant.live,
        )
        .await;
    let captions = both["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|result| &result["caption"]);
    assert_eq!(
        captions.collect::<Vec<_>>(),
        ["Quorzle Shipping LLC", "Ulmhaven Trading"]
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
