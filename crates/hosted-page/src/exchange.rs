//! The exchange of a link's token for a session (contract §4.4), which the hosted page calls when the
//! applicant begins.

use axum::extract::State;
use axum::response::Json;
use http_server::error::Rejection;
use http_server::gate::ClientAddress;
use http_server::json::JsonObject;
use http_server::openapi::{OneTimeTokenErrors, SessionBodyErrors};
use secrecy::ExposeSecret;
use serde::Serialize;
use serde_json::Value;
use service::problem::Problem;
use service::sessions::{self, ExchangedSession};
use service::{Shared, flows};
use utoipa::ToSchema;
use uuid::Uuid;

/// A link token to exchange.
#[derive(ToSchema)]
#[allow(dead_code, reason = "read by the derive only")]
pub struct TokenBody {
    /// The `token` of the link's address.
    #[schema(min_length = 1, max_length = 51, example = "Yx3k9QpT…")]
    token: String,
}

/// The session that the hosted page works with.
#[derive(Serialize, ToSchema)]
pub struct ExchangeBody {
    /// Bearer token for verify and document-requirements.
    #[schema(example = "Yx3k9QpT…")]
    pub access_token: String,
    /// The session's ID, for polling the result.
    pub session_id: Uuid,
    /// The ID of the hosted configuration; each Flow has one.
    pub sdk_id: Uuid,
    /// Whether the link was created with a sandbox key.
    pub is_sandbox: bool,
    /// Seconds until the access token expires: 600, or the remaining seconds on a second device.
    #[schema(example = 600)]
    pub expires_in: i64,
    /// The user for whom the link was created.
    #[serde(rename = "userId")]
    pub user_id: String,
    /// The Group's ID.
    #[serde(rename = "groupId")]
    pub group_id: Uuid,
    /// The Flow's ID.
    #[serde(rename = "flowId")]
    pub flow_id: Uuid,
    /// The Flow's `defaultFields`.
    #[serde(rename = "defaultFields")]
    #[schema(value_type = Object, example = json!({"dob": true, "selfie": true, "documentCapture": true}))]
    pub default_fields: Value,
    /// The Flow's accepted document types.
    #[serde(rename = "defaultDocumentTypes")]
    #[schema(value_type = Vec<String>, example = json!(["PASSPORT", "ID_CARD"]))]
    pub default_document_types: Value,
    /// The Flow's customisations per country.
    #[serde(rename = "countryOverrides")]
    #[schema(value_type = Vec<Object>)]
    pub country_overrides: Value,
    /// `selfie`, `live selfie` or `liveness`.
    #[serde(rename = "biometricType")]
    #[schema(example = "selfie")]
    pub biometric_type: &'static str,
    /// `fileUpload` or `fileCapture`.
    #[serde(rename = "documentUploadType")]
    #[schema(example = "fileCapture")]
    pub document_upload_type: &'static str,
}

impl TryFrom<ExchangedSession> for ExchangeBody {
    type Error = Problem;

    fn try_from(exchanged: ExchangedSession) -> Result<Self, Problem> {
        let ExchangedSession {
            session,
            token,
            scope,
            flow,
            expires_in,
        } = exchanged;
        let content = flow.into();
        let defaults = flows::parse(&content)?.defaults;
        let json = |text: &str| serde_json::from_str(text).map_err(Problem::internal);
        Ok(ExchangeBody {
            access_token: token.expose_secret().to_owned(),
            session_id: session.id,
            sdk_id: sessions::sdk_id(session.link.flow_id),
            is_sandbox: scope.sandbox,
            expires_in,
            user_id: session.link.user_id,
            group_id: session.link.group_id,
            flow_id: session.link.flow_id,
            default_fields: json(&content.default_fields)?,
            default_document_types: json(&content.default_document_types)?,
            country_overrides: json(&content.country_overrides)?,
            biometric_type: defaults.biometric().as_str(),
            document_upload_type: defaults.document_upload_type(),
        })
    }
}

/// The refusal of an exchange because of the visitor's country.
#[derive(Serialize, ToSchema)]
pub struct GeoBlockedBody {
    /// `geo_blocked` (or `forbidden`, without the country: the merchant's account is not active).
    #[schema(example = "geo_blocked")]
    pub error: String,
    /// ISO 3166-1 alpha-2; null if unknown.
    #[serde(rename = "detectedCountry")]
    #[schema(example = "FR")]
    pub detected_country: Option<String>,
    /// A message for people.
    #[schema(example = "Verification is not available in your country")]
    pub message: String,
}

/// Exchange a link's token for a session.
///
/// The hosted page calls it when the applicant begins. A refused exchange does not use the token up.
#[utoipa::path(post, path = "/v2/sdk/session/exchange", operation_id = "exchangeSessionToken", tag = "Sessions", security(()),
    request_body = TokenBody,
    responses(
        (status = 200, description = "The session", body = ExchangeBody),
        (status = 403, description = "`geo_blocked`", body = GeoBlockedBody),
        OneTimeTokenErrors, SessionBodyErrors))]
pub async fn exchange(
    State(app): State<Shared>,
    ClientAddress(address): ClientAddress,
    body: JsonObject,
) -> Result<Json<ExchangeBody>, Rejection> {
    let exchanged = sessions::exchange(&app, address, token(&body)?).await?;
    Ok(Json(exchanged.try_into()?))
}

/// The `token` of a body.
pub fn token(body: &JsonObject) -> Result<&str, Problem> {
    body.object
        .get("token")
        .and_then(Value::as_str)
        .filter(|token| !token.is_empty())
        .ok_or_else(|| Problem::invalid("token - is required, as a string").named("token_required"))
}
