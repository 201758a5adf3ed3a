//! The OpenAPI document is a snapshot, so that every change of the API is reviewed. The documentation page is
//! served with it.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::harness::{Backend, Server};

#[test]
fn the_document_is_as_committed() {
    insta::assert_json_snapshot!(document());
}

/// The document as clients receive it.
fn document() -> Value {
    bonafide::router::openapi().expect("the document is JSON")
}

/// Every operation with its path and method, and every webhook message with its name.
fn operations(document: &Value) -> Vec<(String, &Value)> {
    let of = |part: &str| document[part].as_object().expect(part);
    of("paths")
        .iter()
        .chain(of("webhooks"))
        .flat_map(|(path, item)| {
            let methods = item.as_object().expect("a path item").iter();
            methods
                .filter(|(method, _)| ["get", "put", "post", "delete", "patch"].contains(&method.as_str()))
                .map(move |(method, operation)| (format!("{method} {path}"), operation))
        })
        .collect()
}

/// Generated clients name their functions after the operations, so each operation needs a unique ID.
#[test]
fn every_operation_has_a_speaking_id_of_its_own() {
    let document = document();
    let mut ids = BTreeSet::new();
    for (operation, body) in operations(&document) {
        let id = body["operationId"].as_str().unwrap_or_default();
        assert!(ids.insert(id), "{operation} repeats the id {id:?}");
        let words = id.chars().filter(char::is_ascii_uppercase).count();
        let is_camel_case =
            id.starts_with(|c: char| c.is_ascii_lowercase()) && id.chars().all(|c| c.is_ascii_alphanumeric());
        assert!(
            is_camel_case && words >= 1,
            "{operation}: {id:?} is no verb and noun"
        );
    }
    assert!(ids.len() > 25, "{}", ids.len());
}

/// A receiver finds every type of event in the document, and nothing else.
#[test]
fn the_document_describes_every_webhook_message() {
    let document = document();
    let described = document["webhooks"].as_object().expect("webhooks").keys();
    let kinds = BTreeSet::from(service::events::KINDS);
    assert_eq!(described.map(String::as_str).collect::<BTreeSet<_>>(), kinds);
    assert_eq!(document["paths"]["/webhook.test"], Value::Null);
}

/// Checks what JSON Schema cannot: every reference exists, and every component is used.
#[test]
fn the_document_is_consistent() {
    let document = document();
    let mut references = BTreeSet::new();
    collect_references(&document, &mut references);
    for reference in &references {
        let pointer = reference
            .strip_prefix('#')
            .expect("a reference within the document");
        assert!(document.pointer(pointer).is_some(), "{reference} is nowhere");
    }
    for kind in ["schemas", "responses"] {
        let declared = document["components"][kind].as_object();
        for name in declared.into_iter().flat_map(|declared| declared.keys()) {
            let reference = format!("#/components/{kind}/{name}");
            assert!(references.contains(&reference), "{reference} is used nowhere");
        }
    }
    let names = |list: &Value| -> BTreeSet<String> {
        let of = |item: &Value| item["name"].as_str().expect("a name").to_owned();
        list.as_array().into_iter().flatten().map(of).collect()
    };
    let tags = names(&document["tags"]);
    let schemes = &document["components"]["securitySchemes"];
    for (operation, body) in operations(&document) {
        let path = operation.split_once(' ').expect("a method and a path").1;
        let in_path: BTreeSet<String> = path
            .split('/')
            .filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
            .map(str::to_owned)
            .collect();
        let parameters = body["parameters"].as_array().into_iter().flatten();
        let declared: BTreeSet<String> = parameters
            .filter(|parameter| parameter["in"] == "path")
            .inspect(|parameter| assert_eq!(parameter["required"], true, "{operation}"))
            .map(|parameter| parameter["name"].as_str().expect("a name").to_owned())
            .collect();
        assert_eq!(declared, in_path, "{operation}");
        for tag in body["tags"].as_array().expect("tags") {
            assert!(
                tags.contains(tag.as_str().expect("a tag")),
                "{operation}: no tag {tag}"
            );
        }
        let alternatives = body["security"].as_array().into_iter().flatten();
        for scheme in alternatives.flat_map(|alternative| alternative.as_object().expect("schemes").keys()) {
            assert!(schemes[scheme].is_object(), "{operation}: no scheme {scheme}");
        }
        let responses = body["responses"].as_object().expect("responses");
        assert!(!responses.is_empty(), "{operation}");
        for (status, response) in responses {
            let is_status = status.len() == 3 && status.parse::<u16>().is_ok();
            let described = response["description"]
                .as_str()
                .is_some_and(|text| !text.is_empty());
            assert!(
                is_status && (described || response["$ref"].is_string()),
                "{operation} {status}"
            );
        }
    }
}

fn collect_references(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => {
            found.extend(members.get("$ref").and_then(Value::as_str).map(str::to_owned));
            members
                .values()
                .for_each(|value| collect_references(value, found));
        }
        Value::Array(items) => items.iter().for_each(|value| collect_references(value, found)),
        _ => {}
    }
}

/// The page shares its origin with the portal, so nothing on it may use a portal session.
#[tokio::test(flavor = "multi_thread")]
async fn the_page_can_reach_the_api_only() {
    let server = Server::start(Backend::Sqlite, &[]).await;
    let host = server.base.strip_prefix("http://").expect("plain HTTP");
    for path in [
        "/docs/",
        "/docs/swagger-ui-bundle.js",
        "/docs/docs.js",
        "/docs/docs.css",
        "/docs/nothing",
    ] {
        let answer = server
            .http
            .get(format!("{}{path}", server.base))
            .send()
            .await
            .unwrap();
        let header = |name: &str| {
            let value = answer.headers().get(name);
            value
                .and_then(|value| value.to_str().ok())
                .unwrap_or_default()
                .to_owned()
        };
        let policy = header("content-security-policy");
        for part in [
            "default-src 'none'; ",
            "script-src 'self'; ",
            "style-src 'self'; ",
            "form-action 'none'; ",
            "frame-ancestors 'none'; ",
            "base-uri 'none'; ",
            "sandbox ",
        ] {
            assert!(policy.contains(part), "{path}: {part}: {policy}");
        }
        assert!(
            policy.contains(&format!("connect-src {host}/openapi.json {host}/v2/ ")),
            "{path}: {policy}"
        );
        for never in ["unsafe-", "allow-popups", "allow-top-navigation", "/portal"] {
            assert!(!policy.contains(never), "{path}: {policy}");
        }
        assert_eq!(header("x-content-type-options"), "nosniff", "{path}");
        assert_eq!(header("x-frame-options"), "DENY", "{path}");
        assert_eq!(header("referrer-policy"), "no-referrer", "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn it_is_served_with_its_page() {
    let server = Server::start(Backend::Sqlite, &["--metrics-token", "figures"]).await;
    let get = |path: &str| server.http.get(format!("{}{path}", server.base)).send();
    let document: serde_json::Value = get("/openapi.json").await.unwrap().json().await.unwrap();
    assert!(document["openapi"].as_str().unwrap().starts_with("3.1"));
    let page = get("/docs/").await.unwrap();
    assert_eq!(page.status(), 200);
    let page = page.text().await.unwrap();
    assert!(page.contains("<title>Bonafide API</title>"), "{page}");
    for file in page
        .split('"')
        .filter(|text| text.ends_with(".js") || text.ends_with(".css"))
    {
        assert_eq!(
            get(&format!("/docs/{file}")).await.unwrap().status(),
            200,
            "{file}"
        );
    }
    for other in ["index.css", "swagger-initializer.js", "../portal.css", "nothing"] {
        assert_eq!(
            get(&format!("/docs/{other}")).await.unwrap().status(),
            404,
            "{other}"
        );
    }
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
