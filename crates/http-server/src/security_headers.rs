//! Headers that tell browsers what a response may do, for every response that does not set its own: no MIME
//! sniffing, HTTPS only, and for API responses no content, scripts or frames. Pages set their own policy.

use axum::extract::{Request, State};
use axum::http::HeaderValue;
use axum::http::header::{
    CONTENT_SECURITY_POLICY, CONTENT_TYPE, STRICT_TRANSPORT_SECURITY, X_CONTENT_TYPE_OPTIONS,
};
use axum::middleware::Next;
use axum::response::Response;
use service::Shared;

/// One year, the usual minimum. Subdomains are not included, because they belong to the operator.
const ONE_YEAR: HeaderValue = HeaderValue::from_static("max-age=31536000");
const NOTHING: HeaderValue = HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'");

/// Middleware: adds the headers.
pub async fn layer(State(app): State<Shared>, request: Request, next: Next) -> Response {
    let is_api = request.uri().path().starts_with("/v2/");
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    let is_json = headers
        .get(CONTENT_TYPE)
        .is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"));
    headers
        .entry(X_CONTENT_TYPE_OPTIONS)
        .or_insert(HeaderValue::from_static("nosniff"));
    if is_api || is_json {
        headers.entry(CONTENT_SECURITY_POLICY).or_insert(NOTHING);
    }
    if app.public_url.starts_with("https:") {
        headers.entry(STRICT_TRANSPORT_SECURITY).or_insert(ONE_YEAR);
    }
    response
}
