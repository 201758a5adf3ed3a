//! Sets `X-Request-Id` on every response: the caller's id if it is valid, otherwise a new one. The log lines
//! of the request have the same id.

use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue, Method};
use axum::middleware::Next;
use axum::response::Response;
use tracing::Instrument;
use uuid::Uuid;

/// The header's name.
pub const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Middleware: writes one log line per request, without query string, headers or bodies, because those
/// contain personal data.
pub async fn layer(request: Request, next: Next) -> Response {
    let id = request
        .headers()
        .get(X_REQUEST_ID)
        .filter(|value| is_sane(value))
        .cloned()
        .unwrap_or_else(new_id);
    let route = request
        .extensions()
        .get::<axum::extract::MatchedPath>()
        .map(|path| path.as_str().to_owned());
    let method = request.method().clone();
    let span = tracing::info_span!("request", id = id.to_str().unwrap_or_default());
    let started = std::time::Instant::now();
    let mut response = next.run(request).instrument(span.clone()).await;
    let elapsed = started.elapsed();
    let (status, route) = (
        response.status().as_u16(),
        route.as_deref().unwrap_or("(unknown)"),
    );
    span.in_scope(|| tracing::info!(%method, route, status, ms = elapsed.as_millis() as u64, "answered"));
    // HTTP allows any token as a method, and Prometheus retains each label value, so unknown methods are
    // grouped.
    let method = match method {
        Method::GET => "GET",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::DELETE => "DELETE",
        Method::HEAD => "HEAD",
        _ => "other",
    };
    let labels = [
        ("method", method.to_owned()),
        ("route", route.to_owned()),
        ("status", status.to_string()),
    ];
    metrics::counter!("bonafide_http_requests_total", &labels).increment(1);
    metrics::histogram!("bonafide_http_request_seconds", &labels[..2]).record(elapsed.as_secs_f64());
    response.headers_mut().insert(X_REQUEST_ID, id);
    response
}

fn is_sane(value: &HeaderValue) -> bool {
    let bytes = value.as_bytes();
    (1..=64).contains(&bytes.len())
        && bytes
            .iter()
            .all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(b))
}

fn new_id() -> HeaderValue {
    HeaderValue::from_str(&Uuid::now_v7().to_string()).unwrap_or_else(|_| HeaderValue::from_static("unknown"))
}
