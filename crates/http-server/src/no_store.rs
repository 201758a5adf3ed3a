//! Prevents caches from storing responses of the API, because they contain personal data and sometimes
//! secrets.

use axum::extract::Request;
use axum::http::HeaderValue;
use axum::http::header::CACHE_CONTROL;
use axum::middleware::Next;
use axum::response::Response;

/// Middleware: sets `Cache-Control: no-store` on every response below `/v2/`, errors included.
pub async fn layer(request: Request, next: Next) -> Response {
    let is_api = request.uri().path().starts_with("/v2/");
    let mut response = next.run(request).await;
    if is_api {
        response
            .headers_mut()
            .insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    response
}
