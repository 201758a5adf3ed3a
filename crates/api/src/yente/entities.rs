//! `/v2/yente/entities/{id}`: a listed entity.

use axum::extract::{RawQuery, State};
use axum::response::Json;
use http_server::error::Rejection;
use http_server::gate::Authenticated;
use http_server::openapi::YenteErrors;
use http_server::path::PathText;
use service::Shared;
use service::problem::Problem;
use service::yente::search;

use super::bodies::ListedEntityBody;
use super::parameters::Parameters;

/// Get a listed entity.
#[utoipa::path(get, path = "/v2/yente/entities/{entity_id}", operation_id = "getListedEntity", tag = "List search",
    security(("basic" = [])),
    params(("entity_id" = String, Path, description = "The entity's id", example = "ofac-36"),
        ("nested" = Option<bool>, Query, description = "Accepted, without effect: entities have no adjacent entities here")),
    responses((status = 200, description = "The entity", body = ListedEntityBody), YenteErrors))]
pub async fn entity(
    State(app): State<Shared>,
    Authenticated(caller): Authenticated,
    PathText(id): PathText,
    RawQuery(raw): RawQuery,
) -> Result<Json<ListedEntityBody>, Rejection> {
    let mut parameters = Parameters::read(raw.as_deref())?;
    parameters.boolean("nested");
    parameters.finish()?;
    Ok(Json(search::entity(&app, &caller, id).await?.into()))
}

/// `GET …/entities/{id}/adjacent` and below. The lists' relations between entities are not kept.
pub async fn adjacent(_: Authenticated) -> Rejection {
    Problem::not_found("Adjacent entities are not kept; /entities/{id} has all data about the entity").into()
}
