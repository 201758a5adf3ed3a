//! `GET /v2/idv/document-requirements` (contract §4.7).

use axum::extract::RawQuery;
use axum::response::Json;
use http_server::error::Rejection;
use http_server::gate::Authenticated;
use http_server::openapi::VerifyErrors;
use http_server::query;
use serde::{Deserialize, Serialize};
use service::problem::Problem;
use utoipa::ToSchema;
use verification::document_requirements::{self, Requirement};

/// The requirements of a document type.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DocumentRequirementsBody {
    /// Always true.
    pub success: bool,
    /// Whether the back image is needed; the safer default where variants differ.
    pub needs_back: bool,
    /// Whether one-sided documents of this type exist. If so, the back should not be demanded.
    pub has_one_sided_variant: bool,
    /// Whether the lookup contains this country and type. If not, `needsBack` is true.
    pub known: bool,
}

/// Whether a document type of a country needs its back image.
#[utoipa::path(get, path = "/v2/idv/document-requirements", operation_id = "getDocumentRequirements", tag = "Verification", security(("basic" = []), ("bearer" = [])),
    params(
        ("country" = String, Query, description = "ISO 3166-1 alpha-2 or alpha-3 code, or the country's name in any language",
            min_length = 1, example = "Deutschland"),
        ("docType" = String, Query, description = "`PASSPORT`, `DRIVERS`, `ID_CARD` or `RESIDENCY_CARD`",
            pattern = "^(PASSPORT|DRIVERS|ID_CARD|RESIDENCY_CARD)$", example = "ID_CARD"),
    ),
    responses((status = 200, description = "What the document needs", body = DocumentRequirementsBody), VerifyErrors))]
pub async fn get(
    Authenticated(caller): Authenticated,
    RawQuery(raw): RawQuery,
) -> Result<Json<DocumentRequirementsBody>, Rejection> {
    caller.check_session()?;
    let query = query::parse(raw.as_deref().unwrap_or_default())?;
    let Requirement {
        needs_back,
        has_one_sided_variant,
        known,
    } = document_requirements::lookup(query.get("country"), query.get("docType"), caller.scope.sandbox)
        .map_err(|error| Problem::invalid(error.to_string()))?;
    Ok(Json(DocumentRequirementsBody {
        success: true,
        needs_back,
        has_one_sided_variant,
        known,
    }))
}
