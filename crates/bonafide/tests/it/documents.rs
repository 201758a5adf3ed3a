//! `GET /v2/idv/document-requirements` (contract §4.7).

use serde_json::json;

use crate::harness::{Backend, Server};

#[tokio::test(flavor = "multi_thread")]
async fn document_requirements_are_looked_up() {
    let server = Server::start(Backend::Sqlite, &[]).await;
    let key = server.merchant(true).sandbox;
    let path = |query: &str| format!("/v2/idv/document-requirements?{query}");
    for country in [
        "DE",
        "DEU",
        "deu",
        "Germany",
        "Deutschland",
        "Allemagne",
        "%D0%93%D0%B5%D1%80%D0%BC%D0%B0%D0%BD%D0%B8%D1%8F",
        "%E5%BE%B7%E5%9B%BD",
    ] {
        let (status, body) = server
            .get(&path(&format!("country={country}&docType=PASSPORT")), &key)
            .await;
        let passport =
            json!({"success": true, "needsBack": false, "hasOneSidedVariant": false, "known": true});
        assert_eq!((status, body), (200, passport), "{country}");
    }
    let (_, body) = server.get(&path("country=DEU&docType=ID_CARD"), &key).await;
    assert_eq!((&body["needsBack"], &body["known"]), (&json!(true), &json!(true)));
    for (query, text) in [
        ("docType=PASSPORT", "country"),
        ("country=DEU", "docType"),
        ("country=&docType=PASSPORT", "country"),
        ("country=DEU&docType=VISA", "RESIDENCY_CARD"),
        ("country=Atlantis&docType=PASSPORT", "country"),
        ("country=%ff&docType=PASSPORT", "UTF-8"),
    ] {
        let (status, body) = server.get(&path(query), &key).await;
        assert_eq!((status, &body["success"]), (400, &json!(false)), "{query}");
        assert!(body.to_string().contains(text), "{query}: {body}");
    }
}
