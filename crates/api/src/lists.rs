//! `GET /v2/reports/lists`: the sanctions lists, their versions, and whether they count for the account.

use axum::extract::State;
use axum::response::Json;
use http_server::error::Rejection;
use http_server::gate::Authenticated;
use http_server::openapi::ApplicantErrors;
use serde::Serialize;
use service::{Shared, insight, merchants};
use utoipa::ToSchema;

/// A list.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(title = "List")]
pub struct ListBody {
    /// Its name, as in the versions of a screening.
    #[schema(example = "us_ofac_sdn")]
    pub name: String,
    /// Its version.
    pub version: String,
    /// The number of its entities.
    pub entities: usize,
    /// The publisher's date; null if it gives none.
    pub published_at: Option<String>,
    /// When it was last imported.
    pub imported_at: String,
    /// Seconds since the publisher's date, or since the import if it gives none.
    pub age_seconds: u64,
    /// Whether your screenings use it.
    pub counts: bool,
    /// Why no screening uses it; null if nothing is wrong.
    pub problem: Option<String>,
    /// SHA-256 of its entities in hexadecimal, the same on each server that imported the same files.
    pub digest: String,
}

/// The lists.
#[derive(Serialize, ToSchema)]
#[schema(title = "Lists")]
pub struct ListsBody {
    /// The lists, by name.
    pub lists: Vec<ListBody>,
}

/// List the sanctions lists and their versions.
#[utoipa::path(get, path = "/v2/reports/lists", operation_id = "listLists", tag = "Applicants",
    security(("basic" = [])),
    responses((status = 200, description = "The lists", body = ListsBody), ApplicantErrors))]
pub async fn list(
    State(app): State<Shared>,
    Authenticated(caller): Authenticated,
) -> Result<Json<ListsBody>, Rejection> {
    let sandbox = caller.scope.sandbox;
    let settings = merchants::settings(&caller.merchant)?;
    let known = insight::lists(&app, sandbox).await?;
    let counting = app
        .lists
        .for_merchant(sandbox, &settings)
        .map(|counting| counting.names);
    // Without usable lists, nothing is screened.
    let counts = |name: &String| counting.as_ref().is_ok_and(|names| names.contains(name));
    let body = |list: sanctions::store::ListStatus| ListBody {
        counts: list.active && counts(&list.list),
        name: list.list,
        version: list.version,
        entities: list.entities,
        published_at: list.published_at,
        imported_at: list.imported_at,
        age_seconds: list.age_seconds,
        problem: list.problem,
        digest: list.digest,
    };
    Ok(Json(ListsBody {
        lists: known.into_iter().map(body).collect(),
    }))
}
