//! `/v2/yente/healthz` and `/readyz`: yente's checks for load balancers. They need no key, as in yente.

use axum::extract::State;
use axum::response::Json;
use http_server::error::Rejection;
use http_server::openapi::DetailBody;
use serde::Serialize;
use service::Shared;
use service::problem::Problem;
use utoipa::ToSchema;

/// The state of the server.
#[derive(Debug, Serialize, ToSchema)]
pub struct StatusBody {
    /// Always `ok`.
    #[schema(example = "ok")]
    pub status: &'static str,
}

/// The process is alive, in yente's shape.
#[utoipa::path(get, path = "/v2/yente/healthz", operation_id = "getYenteHealth", tag = "List search",
    responses((status = 200, description = "The process is alive", body = StatusBody)))]
pub async fn healthz() -> Json<StatusBody> {
    Json(StatusBody { status: "ok" })
}

/// The parts of the server that a search of the lists needs.
const NEEDED: [&str; 3] = ["database", "key", "sanctions"];

/// Whether the server can search the lists, in yente's shape. 503 if a part is not ready; `/readyz` states which.
#[utoipa::path(get, path = "/v2/yente/readyz", operation_id = "getYenteReadiness", tag = "List search", responses(
    (status = 200, description = "The lists can be searched", body = StatusBody),
    (status = 503, description = "A part is not ready", body = DetailBody),
))]
pub async fn readyz(State(app): State<Shared>) -> Result<Json<StatusBody>, Rejection> {
    let parts = app.readiness().await;
    let mut needed = parts.iter().filter(|(name, _)| NEEDED.contains(name));
    match needed.all(|(_, state)| state.is_ok()) {
        true => Ok(Json(StatusBody { status: "ok" })),
        false => {
            Err(Problem::unavailable("Not ready: /readyz states which part of the server is not").into())
        }
    }
}
