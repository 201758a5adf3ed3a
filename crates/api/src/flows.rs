//! `/v2/public/flows` (contract §4.2). There is no POST: the portal and `bonafide flow create` create Flows.

use axum::extract::State;
use axum::response::Json;
use http_server::error::Rejection;
use http_server::gate::Authenticated;
use http_server::json::JsonObject;
use http_server::openapi::{GroupsAndFlowsErrors, MessageBody};
use http_server::path::PathText;
use serde::{Deserialize, Serialize};
use service::time::iso;
use service::{Shared, flows};
use store::flows::Flow;
use utoipa::ToSchema;
use uuid::Uuid;

/// A verification configuration. Reads return four members as JSON-encoded strings; updates send them as
/// JSON.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FlowBody {
    /// The Flow.
    pub flow_id: Uuid,
    /// Unique in the account.
    pub name: String,
    /// JSON-encoded object: which optional fields verification requires.
    #[schema(example = "{\"dob\":true,\"documentCapture\":true}")]
    pub default_fields: String,
    /// JSON-encoded array of accepted document types.
    #[schema(example = "[\"PASSPORT\",\"ID_CARD\"]")]
    pub default_document_types: String,
    /// JSON-encoded array of per-country customisations.
    #[schema(example = "[]")]
    pub country_overrides: String,
    /// JSON-encoded array of `{countryAlpha2, countryName}`.
    #[schema(example = "[]")]
    pub geo_blocked_countries: String,
    /// URL notified of verification events.
    pub webhook_url: Option<String>,
    /// Youngest age accepted.
    pub min_age: Option<i64>,
    /// Oldest age accepted.
    pub max_age: Option<i64>,
    /// When it was created (ISO 8601, UTC, milliseconds).
    pub created_at: String,
    /// When it last changed.
    pub updated_at: String,
}

/// All Flows, most recently created first.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct FlowListBody {
    /// The Flows.
    pub flows: Vec<FlowBody>,
}

/// A country whose visitors are blocked.
#[derive(ToSchema)]
#[allow(
    dead_code,
    reason = "read by the derive only; verification::flow reads the body"
)]
pub struct GeoBlockedCountryBody {
    /// ISO 3166-1 alpha-2.
    #[schema(rename = "countryAlpha2")]
    country_alpha2: String,
    /// Its name.
    #[schema(rename = "countryName")]
    country_name: String,
}

/// Which optional fields verification requires. Other keys are stored and returned unchanged.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(
    dead_code,
    reason = "read by the derive only; verification::flow reads the body"
)]
pub struct DefaultFieldsBody {
    /// Required.
    #[schema(nullable = false)]
    middle_name: Option<bool>,
    /// Required.
    #[schema(nullable = false)]
    dob: Option<bool>,
    /// Required.
    #[schema(nullable = false)]
    phone: Option<bool>,
    /// Required.
    #[schema(nullable = false)]
    email: Option<bool>,
    /// Required.
    #[schema(nullable = false)]
    street: Option<bool>,
    /// Required.
    #[schema(nullable = false)]
    street2: Option<bool>,
    /// Required.
    #[schema(nullable = false)]
    city: Option<bool>,
    /// Required.
    #[schema(nullable = false)]
    state: Option<bool>,
    /// Required.
    #[schema(nullable = false)]
    postcode: Option<bool>,
    /// Required.
    #[schema(nullable = false)]
    country: Option<bool>,
    /// Required.
    #[schema(nullable = false)]
    nationality: Option<bool>,
    /// Required.
    #[schema(nullable = false)]
    ssn: Option<bool>,
    /// An uploaded selfie (the default).
    #[schema(nullable = false)]
    selfie: Option<bool>,
    /// A selfie by camera.
    #[schema(nullable = false)]
    live_selfie: Option<bool>,
    /// A liveness check by camera.
    #[schema(nullable = false)]
    liveness: Option<bool>,
    /// Documents are picked as files (the default).
    #[schema(nullable = false)]
    document_file_upload: Option<bool>,
    /// Documents are captured by camera.
    #[schema(nullable = false)]
    document_capture: Option<bool>,
    /// The data on the documents are compared with the submitted data.
    #[schema(nullable = false)]
    ocr_match: Option<bool>,
    /// If absent, the server looks it up by country.
    #[schema(nullable = false)]
    drivers_back: Option<bool>,
    /// If absent, the server looks it up by country.
    #[schema(nullable = false)]
    id_card_back: Option<bool>,
}

/// A document type.
#[derive(ToSchema)]
#[schema(rename_all = "SCREAMING_SNAKE_CASE")]
#[allow(
    dead_code,
    reason = "read by the derive only; verification::flow reads the body"
)]
pub enum DocumentTypeBody {
    /// Never needs its back.
    Passport,
    /// A driver's licence.
    Drivers,
    /// Any other government photo ID.
    IdCard,
    /// Always needs its back.
    ResidencyCard,
}

/// The differences for a country. Omitted members are inherited.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(
    dead_code,
    reason = "read by the derive only; verification::flow reads the body"
)]
pub struct CountryOverrideBody {
    /// ISO 3166-1 alpha-2; this or `countryAlpha3`.
    #[schema(nullable = false)]
    country_alpha2: Option<String>,
    /// ISO 3166-1 alpha-3; this or `countryAlpha2`.
    #[schema(nullable = false)]
    country_alpha3: Option<String>,
    /// Its name.
    #[schema(nullable = false)]
    country_name: Option<String>,
    /// People of this country may not verify with this Flow.
    #[schema(nullable = false)]
    restricted: Option<bool>,
    /// Merged key by key.
    #[schema(nullable = false)]
    default_fields: Option<DefaultFieldsBody>,
    /// Replaces the Flow's document types.
    #[schema(nullable = false)]
    default_document_types: Option<Vec<DocumentTypeBody>>,
}

/// The changes to a Flow. At least one member is required; each replaces the whole value.
#[derive(ToSchema)]
#[allow(
    dead_code,
    reason = "read by the derive only; verification::flow reads the body"
)]
pub struct FlowChangesBody {
    /// Unique in the account.
    #[schema(
        min_length = 1,
        max_length = 100,
        pattern = r"^[^\u0000-\u001f\u007f-\u009f]*[^\s\u0000-\u001f\u007f-\u009f][^\u0000-\u001f\u007f-\u009f]*$",
        nullable = false
    )]
    name: Option<String>,
    /// Which optional fields verification requires.
    #[schema(rename = "defaultFields", nullable = false)]
    default_fields: Option<DefaultFieldsBody>,
    /// The applicant must send at least one of them. If empty, no document is required.
    #[schema(rename = "defaultDocumentTypes", nullable = false)]
    default_document_types: Option<Vec<DocumentTypeBody>>,
    /// At most one element per country.
    #[schema(rename = "countryOverrides", nullable = false)]
    country_overrides: Option<Vec<CountryOverrideBody>>,
    /// Countries whose visitors are blocked, in addition to the account's.
    #[schema(rename = "geoBlockedCountries", nullable = false)]
    geo_blocked_countries: Option<Vec<GeoBlockedCountryBody>>,
    /// A URL; an empty string clears it.
    #[schema(rename = "webhookUrl", max_length = 500, nullable = false)]
    webhook_url: Option<String>,
    /// Null removes the bound.
    #[schema(rename = "minAge", minimum = 1, maximum = 120, nullable)]
    min_age: Option<u8>,
    /// Null removes the bound.
    #[schema(rename = "maxAge", minimum = 1, maximum = 120, nullable)]
    max_age: Option<u8>,
}

impl From<Flow> for FlowBody {
    fn from(flow: Flow) -> Self {
        FlowBody {
            flow_id: flow.id,
            name: flow.name,
            default_fields: flow.default_fields,
            default_document_types: flow.default_document_types,
            country_overrides: flow.country_overrides,
            geo_blocked_countries: flow.geo_blocked_countries,
            webhook_url: flow.webhook_url,
            min_age: flow.min_age,
            max_age: flow.max_age,
            created_at: iso(flow.created_at),
            updated_at: iso(flow.updated_at),
        }
    }
}

/// List all Flows, most recently created first.
#[utoipa::path(get, path = "/v2/public/flows", operation_id = "listFlows", tag = "Flows", security(("basic" = [])),
    responses((status = 200, description = "All Flows", body = FlowListBody), GroupsAndFlowsErrors))]
pub async fn list(
    State(app): State<Shared>,
    Authenticated(caller): Authenticated,
) -> Result<Json<FlowListBody>, Rejection> {
    let flows = flows::list(&app, caller.scope).await?;
    Ok(Json(FlowListBody {
        flows: flows.into_iter().map(FlowBody::from).collect(),
    }))
}

/// One Flow.
#[utoipa::path(get, path = "/v2/public/flows/{flowId}", operation_id = "getFlow", tag = "Flows", security(("basic" = [])),
    params(("flowId" = String, Path, description = "The Flow")),
    responses(
        (status = 200, description = "The Flow", body = FlowBody),
        (status = 404, description = "No such Flow in the account", body = MessageBody),
        GroupsAndFlowsErrors))]
pub async fn get(
    State(app): State<Shared>,
    Authenticated(caller): Authenticated,
    PathText(id): PathText,
) -> Result<Json<FlowBody>, Rejection> {
    Ok(Json(flows::get(&app, caller.scope, &id).await?.into()))
}

/// Change a Flow.
#[utoipa::path(put, path = "/v2/public/flows/{flowId}", operation_id = "updateFlow", tag = "Flows", security(("basic" = [])),
    params(("flowId" = String, Path, description = "The Flow")),
    request_body = FlowChangesBody,
    responses(
        (status = 200, description = "The changed Flow, as GET returns it", body = FlowBody),
        (status = 404, description = "No such Flow in the account", body = MessageBody),
        (status = 408, description = "The body did not arrive in time", body = MessageBody),
        (status = 409, description = "The name is taken", body = MessageBody),
        (status = 413, description = "The body is larger than 1 MB", body = MessageBody),
        GroupsAndFlowsErrors))]
pub async fn update(
    State(app): State<Shared>,
    Authenticated(caller): Authenticated,
    PathText(id): PathText,
    body: JsonObject,
) -> Result<Json<FlowBody>, Rejection> {
    Ok(Json(
        flows::update(&app, &caller, &id, &body.object).await?.into(),
    ))
}

/// Delete a Flow and remove it from every Group.
#[utoipa::path(delete, path = "/v2/public/flows/{flowId}", operation_id = "deleteFlow", tag = "Flows", security(("basic" = [])),
    params(("flowId" = String, Path, description = "The Flow")),
    responses(
        (status = 200, description = "Deleted", body = MessageBody),
        (status = 404, description = "No such Flow in the account", body = MessageBody),
        GroupsAndFlowsErrors))]
pub async fn delete(
    State(app): State<Shared>,
    Authenticated(caller): Authenticated,
    PathText(id): PathText,
) -> Result<Json<MessageBody>, Rejection> {
    flows::delete(&app, &caller, &id).await?;
    Ok(Json(MessageBody {
        message: "flow deleted successfully".into(),
        errors: None,
    }))
}
