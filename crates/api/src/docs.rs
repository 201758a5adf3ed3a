//! `/docs`: the API's documentation (Swagger UI) with a separate content security policy.
//!
//! The page shares its origin with the portal, so it must not be able to use a portal session. Its policy
//! lets it run only the built-in files and connect only to the API's paths. It may open no window, frame or
//! form target. Its requests carry no credential except the key that a reader enters.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::header::{
    CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use http_server::path::PathText;
use rust_embed::RustEmbed;
use service::Shared;
use utoipa_swagger_ui::Config;

/// The page, its style sheet and the script that starts Swagger UI, from `web/docs/`.
#[derive(RustEmbed)]
#[folder = "../../web/docs/"]
struct Page;

/// The files of Swagger UI that the page loads.
const SWAGGER_UI: [&str; 2] = ["swagger-ui.css", "swagger-ui-bundle.js"];

/// The paths that the page may request: the OpenAPI document and the paths that it describes.
const REACHABLE: [&str; 4] = ["/openapi.json", "/v2/", "/healthz", "/readyz"];

/// The routes of the page and its files.
pub fn router(app: Shared) -> Router {
    Router::new()
        .route("/docs", get(|| async { Redirect::to("/docs/") }))
        .route("/docs/", get(|| async { file("index.html") }))
        .route(
            "/docs/{*path}",
            get(|PathText(path): PathText| async move { file(&path) }),
        )
        .layer(from_fn_with_state(app, secure))
}

/// A file of the page or of Swagger UI. The 404 has no body, because the error renderer would drop the
/// policy.
fn file(path: &str) -> Response {
    if let Some(own) = Page::get(path) {
        let kind = match path.rsplit_once('.') {
            Some((_, "css")) => "text/css",
            Some((_, "js")) => "text/javascript",
            _ => "text/html; charset=utf-8",
        };
        return ([(CONTENT_TYPE, kind)], own.data.into_owned()).into_response();
    }
    let vendored = SWAGGER_UI
        .contains(&path)
        .then(|| utoipa_swagger_ui::serve(path, Arc::new(Config::default())));
    match vendored {
        Some(Ok(Some(file))) => {
            ([(CONTENT_TYPE, file.content_type)], file.bytes.into_owned()).into_response()
        }
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}

/// Middleware: adds the policy and the other security headers to every response under `/docs`.
async fn secure(State(app): State<Shared>, request: Request, next: Next) -> Response {
    let policy = policy(&hosts(request.headers(), &app.public_url));
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    let policy =
        HeaderValue::try_from(policy).unwrap_or(HeaderValue::from_static("default-src 'none'; sandbox"));
    headers.insert(CONTENT_SECURITY_POLICY, policy);
    for (name, value) in [
        (REFERRER_POLICY, "no-referrer"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

/// The hosts of this server: the request's `Host` and the public one, which differs where a proxy rewrites
/// the request.
fn hosts(headers: &HeaderMap, public_url: &str) -> Vec<String> {
    let asked = headers.get(HOST).and_then(|host| host.to_str().ok());
    let public = public_url
        .split_once("://")
        .map(|(_, rest)| rest.split('/').next().unwrap_or(rest));
    let mut hosts: Vec<String> = asked
        .into_iter()
        .chain(public)
        .filter(|host| is_plain(host))
        .map(str::to_owned)
        .collect();
    hosts.dedup();
    hosts
}

/// Whether a policy can name this host: letters, digits, dots, hyphens and a port. It cannot name an IPv6
/// address.
fn is_plain(host: &str) -> bool {
    !host.is_empty()
        && host
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b':'))
}

/// The policy for these hosts. A source without a scheme matches the page's scheme; a path that ends with a
/// slash matches everything below it.
fn policy(hosts: &[String]) -> String {
    let reachable: Vec<String> = hosts
        .iter()
        .flat_map(|host| REACHABLE.map(|path| format!("{host}{path}")))
        .collect();
    let connect = match reachable.is_empty() {
        true => "'none'".to_owned(),
        false => reachable.join(" "),
    };
    format!(
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src {connect}; \
         form-action 'none'; frame-ancestors 'none'; base-uri 'none'; \
         sandbox allow-scripts allow-same-origin allow-forms allow-downloads"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connect(host: Option<&str>, public_url: &str) -> String {
        let mut headers = HeaderMap::new();
        headers.extend(host.map(|host| (HOST, HeaderValue::from_str(host).expect("a header's value"))));
        let policy = policy(&hosts(&headers, public_url));
        let at = policy.find("connect-src").expect("a directive");
        policy[at..].split(';').next().expect("a directive").to_owned()
    }

    #[test]
    fn only_the_apis_paths_can_be_reached() {
        let of = |host: &str| REACHABLE.map(|path| format!("{host}{path}")).join(" ");
        let (here, public) = (of("localhost:8080"), of("id.example"));
        for (host, public_url, expected) in [
            (Some("localhost:8080"), "http://localhost:8080", here.clone()),
            (
                Some("localhost:8080"),
                "https://id.example",
                format!("{here} {public}"),
            ),
            (None, "https://id.example/bonafide", public),
            (Some("[::1]:8080"), "http://[::1]:8080", "'none'".to_owned()),
            (Some("x; script-src *"), "http://localhost:8080", here),
        ] {
            assert_eq!(
                connect(host, public_url),
                format!("connect-src {expected}"),
                "{host:?}"
            );
        }
    }
}
