//! Endpoints for load balancers and operators: whether the process is alive, whether it can take traffic, and
//! its metrics.

use axum::extract::State;
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Json, Response};
use http_server::error::Rejection;
use secrecy::ExposeSecret;
use serde::Serialize;
use service::Shared;
use service::problem::Problem;
use subtle::ConstantTimeEq;
use utoipa::ToSchema;

/// A part of the server and its readiness.
#[derive(Serialize, ToSchema)]
pub struct Part {
    /// `database`, `key`, `objects`, `engines`, `sanctions`.
    name: &'static str,
    /// Whether it is ready.
    ready: bool,
    /// The fault and the fix, if it is not ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
}

/// Whether the server can take traffic, and if not, why.
#[derive(Serialize, ToSchema)]
pub struct Readiness {
    /// Whether all parts are ready.
    ready: bool,
    /// Every part.
    parts: Vec<Part>,
}

/// The process is alive.
#[utoipa::path(get, path = "/healthz", operation_id = "getHealth", tag = "System", responses((status = 200, description = "The process is alive", content_type = "text/plain", body = String)))]
pub async fn healthz() -> &'static str {
    "ok\n"
}

/// Whether each part is ready. 503 if one is not.
#[utoipa::path(get, path = "/readyz", operation_id = "getReadiness", tag = "System", responses(
    (status = 200, description = "All parts are ready", body = Readiness),
    (status = 503, description = "A part is not ready", body = Readiness),
))]
pub async fn readyz(State(app): State<Shared>) -> Response {
    let parts: Vec<Part> = app
        .readiness()
        .await
        .into_iter()
        .map(|(name, state)| Part {
            name,
            ready: state.is_ok(),
            detail: state.err(),
        })
        .collect();
    let ready = parts.iter().all(|part| part.ready);
    let status = if ready {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    (status, Json(Readiness { ready, parts })).into_response()
}

/// Metrics for Prometheus, for requests with the metrics token. Without a configured token the path does not
/// exist, because behind a reverse proxy the peer's address proves nothing.
pub async fn metrics(State(app): State<Shared>, headers: HeaderMap) -> Result<Response, Rejection> {
    let given = headers
        .get(AUTHORIZATION)
        .map(|given| given.as_bytes())
        .unwrap_or_default();
    let allowed = app.config.metrics_token.as_ref().is_some_and(|token| {
        let expected = format!("Bearer {}", token.expose_secret());
        given.ct_eq(expected.as_bytes()).into()
    });
    if !allowed {
        return Err(Problem::not_found("No such path").into());
    }
    service::gauges::read(&app).await;
    Ok((
        [(CONTENT_TYPE, "text/plain; version=0.0.4")],
        app.metrics.render(),
    )
        .into_response())
}
