//! `/v2/sdk/session/…` (contract §4.3–§4.5): hosted links, their exchange, and the poll.

use axum::extract::State;
use axum::response::Json;
use secrecy::ExposeSecret;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use store::sessions::Session;
use utoipa::ToSchema;
use uuid::Uuid;

use super::openapi::{ErrorAndMessageBody, LinkAndPollErrors, OneTimeTokenErrors, SessionBodyErrors};
use super::time::iso;
use crate::app::sessions::{self, Exchanged, Polled};
use crate::app::{Shared, flows};
use crate::error::Problem;
use crate::http::gate::{Caller, ClientAddress};
use crate::http::json::JsonObject;
use crate::http::path::PathText;

/// For whom and what a link is asked.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(
    dead_code,
    reason = "read by the derive only; verification::link reads the body"
)]
pub struct NewLinkBody {
    /// Your label for the applicant: the session's `userId`, and the verification's `externalUserId`.
    #[schema(min_length = 1, max_length = 500, example = "user-1")]
    user_id: String,
    /// A Group of the account.
    #[schema(
        min_length = 1,
        max_length = 45,
        example = "8c0f1c9e-6f0e-4ad3-93c1-6f5f0a4ff3a1"
    )]
    group_id: String,
    /// A Flow in that Group.
    #[schema(
        min_length = 1,
        max_length = 45,
        example = "0199f0ab-7c3e-7d11-b1a4-2f6d6c0f3a55"
    )]
    flow_id: String,
}

/// A link.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct LinkBody {
    /// To be opened by the applicant, once, within ten minutes.
    #[schema(example = "https://verify.example.com/verify?iswebsdklink=true&token=Yx3k9QpT…")]
    pub url: String,
}

/// A link token to exchange.
#[derive(ToSchema)]
#[allow(dead_code, reason = "read by the derive only")]
pub struct TokenBody {
    /// The `token` of the link's address.
    #[schema(min_length = 1, max_length = 51, example = "Yx3k9QpT…")]
    token: String,
}

/// What the hosted page works with.
#[derive(Serialize, ToSchema)]
pub struct ExchangeBody {
    /// Bearer token for verify and document-requirements.
    #[schema(example = "Yx3k9QpT…")]
    pub access_token: String,
    /// What to poll the result by.
    pub session_id: Uuid,
    /// The hosted configuration; one per Flow.
    pub sdk_id: Uuid,
    /// Whether the link was made with a sandbox key.
    pub is_sandbox: bool,
    /// Seconds that the access token works: 600 (on a second device, what is left of them).
    #[schema(example = 600)]
    pub expires_in: i64,
    /// For whom the link was made.
    #[serde(rename = "userId")]
    pub user_id: String,
    /// The Group.
    #[serde(rename = "groupId")]
    pub group_id: Uuid,
    /// The Flow.
    #[serde(rename = "flowId")]
    pub flow_id: Uuid,
    /// The Flow's, as JSON.
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

impl TryFrom<Exchanged> for ExchangeBody {
    type Error = Problem;

    fn try_from(exchanged: Exchanged) -> Result<Self, Problem> {
        let Exchanged {
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

/// The exchange is refused because of the visitor's country.
#[derive(Serialize, ToSchema)]
pub struct GeoBlockedBody {
    /// `geo_blocked` (or `forbidden`, without the country: the merchant's account is not active).
    #[schema(example = "geo_blocked")]
    pub error: String,
    /// Alpha-2; null when it is not known.
    #[serde(rename = "detectedCountry")]
    #[schema(example = "FR")]
    pub detected_country: Option<String>,
    /// A text for people.
    #[schema(example = "Verification is not available in your country")]
    pub message: String,
}

/// How a session stands.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct SessionBody {
    /// The session.
    pub session_id: Uuid,
    /// For whom its link was made.
    #[schema(example = "user-1")]
    pub user_id: String,
    /// `pending`, `success`, `failed` or `expired`; all but `pending` are final.
    #[schema(example = "success")]
    pub status: String,
    /// JSON of the deciding attempt's verification response, `{}` until there is one. After a reviewer's decision it also has
    /// `review: {decision, at}`.
    #[schema(
        example = r#"{"success":true,"idvResult":{"success":true,"facematch":true,"similarityScore":97.4}}"#
    )]
    pub result: String,
    /// Always `verification`.
    #[serde(rename = "type")]
    #[schema(example = "verification")]
    pub kind: String,
    /// When the link was exchanged (ISO 8601, UTC, milliseconds).
    #[schema(example = "2026-11-21T06:00:00.000Z")]
    pub created_at: String,
    /// When it became final; null until then.
    #[schema(example = "2026-11-21T06:01:42.250Z")]
    pub completed_at: Option<String>,
    /// Seconds from the one to the other; null until then.
    #[schema(example = 102.25)]
    pub duration_seconds: Option<f64>,
    /// Where it stands in detail.
    pub metadata: SessionMetadata,
}

/// A session's attempts and stage.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionMetadata {
    /// Attempts made.
    #[schema(example = 1)]
    pub attempts: i64,
    /// Attempts allowed.
    #[schema(example = 3)]
    pub max_attempts: i64,
    /// `open` (the applicant's turn), `in_review` (a reviewer's) or `done`.
    #[schema(example = "done")]
    pub stage: String,
}

impl From<Polled> for SessionBody {
    fn from(Polled { session, result }: Polled) -> Self {
        let Session {
            created_at,
            completed_at,
            ..
        } = session;
        SessionBody {
            session_id: session.id,
            user_id: session.link.user_id,
            status: session.status.as_str().into(),
            result,
            kind: "verification".into(),
            created_at: iso(created_at),
            completed_at: completed_at.map(iso),
            duration_seconds: completed_at.map(|at| (at - created_at) as f64 / 1_000.0),
            metadata: SessionMetadata {
                attempts: session.attempts,
                max_attempts: session.max_attempts,
                stage: session.stage.as_str().into(),
            },
        }
    }
}

/// Make a one-time link to the hosted page.
///
/// Send it to the applicant: it can be exchanged once, within ten minutes.
#[utoipa::path(post, path = "/v2/sdk/session/web-sdk-link", operation_id = "createSessionLink", tag = "Sessions", security(("basic" = [])),
    request_body = NewLinkBody,
    responses(
        (status = 200, description = "The link", body = LinkBody),
        (status = 404, description = "No such Flow or Group in the account", body = ErrorAndMessageBody),
        LinkAndPollErrors, SessionBodyErrors))]
pub async fn link(
    State(app): State<Shared>,
    caller: Caller,
    body: JsonObject,
) -> Result<Json<LinkBody>, Problem> {
    let url = sessions::link(&app, &caller, &body.object).await?;
    Ok(Json(LinkBody { url }))
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
) -> Result<Json<ExchangeBody>, Problem> {
    let exchanged = sessions::exchange(&app, address, token(&body)?).await?;
    exchanged.try_into().map(Json)
}

/// The `token` of a body.
pub fn token(body: &JsonObject) -> Result<&str, Problem> {
    body.object
        .get("token")
        .and_then(Value::as_str)
        .filter(|token| !token.is_empty())
        .ok_or_else(|| Problem::invalid("token - is required, as a string").named("token_required"))
}

/// How a session stands.
#[utoipa::path(get, path = "/v2/sdk/session/verification-result/{sessionId}", operation_id = "getVerificationResult", tag = "Sessions", security(("basic" = [])),
    params(("sessionId" = String, Path, description = "The `session_id` of the exchange")),
    responses(
        (status = 200, description = "The session", body = SessionBody),
        (status = 404, description = "No such session in the account", body = ErrorAndMessageBody),
        LinkAndPollErrors))]
pub async fn poll(
    State(app): State<Shared>,
    caller: Caller,
    PathText(id): PathText,
) -> Result<Json<SessionBody>, Problem> {
    Ok(Json(sessions::poll(&app, caller.scope, &id).await?.into()))
}

/// A poll that names no session.
pub async fn poll_nothing(_: Caller) -> Problem {
    Problem::invalid("sessionId - is required: GET /v2/sdk/session/verification-result/{sessionId}")
}
