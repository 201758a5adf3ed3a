//! Keeps answers of the API out of every cache: they hold personal data, and some of them secrets.

use axum::extract::Request;
use axum::http::HeaderValue;
use axum::http::header::CACHE_CONTROL;
use axum::middleware::Next;
use axum::response::Response;

/// Middleware: `Cache-Control: no-store` on whatever `/v2/` answers, errors included.
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
