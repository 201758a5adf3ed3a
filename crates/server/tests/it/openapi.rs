//! The OpenAPI document is a snapshot, so that every change of the contract is seen; the documentation page is served with it.

use crate::harness::{Backend, Server};

#[test]
fn the_document_is_as_committed() {
    insta::assert_json_snapshot!(server::router::openapi());
}

#[tokio::test(flavor = "multi_thread")]
async fn it_is_served_with_its_page() {
    let server = Server::start(Backend::Sqlite, &["--metrics-token", "figures"]).await;
    let get = |path: &str| server.http.get(format!("{}{path}", server.base)).send();
    let document: serde_json::Value = get("/openapi.json").await.unwrap().json().await.unwrap();
    assert!(document["openapi"].as_str().unwrap().starts_with("3.1"));
    let page = get("/docs/").await.unwrap();
    assert_eq!(page.status(), 200);
    assert!(page.text().await.unwrap().contains("swagger-ui"));
    assert_eq!(get("/healthz").await.unwrap().text().await.unwrap(), "ok\n");
    assert_eq!(get("/metrics").await.unwrap().status(), 404);
    let metrics = server
        .http
        .get(format!("{}/metrics", server.base))
        .bearer_auth("figures")
        .send()
        .await
        .unwrap();
    let metrics = metrics.text().await.unwrap();
    assert!(metrics.contains("bonafide_http_requests_total"), "{metrics}");
}
