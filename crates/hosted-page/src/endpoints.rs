//! `/v2/sdk/session/…`: the endpoints that only the hosted page calls. They are additions to the contract,
//! and their errors have the exchange's shape.

use axum::extract::State;
use axum::http::header::USER_AGENT;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Json;
use http_server::authorization::{self, Authorization};
use http_server::error::Rejection;
use http_server::gate::{Authenticated, ClientAddress};
use http_server::json::JsonObject;
use http_server::openapi::{ErrorAndMessageBody, HostedErrors, OneTimeTokenErrors, SessionBodyErrors};
use qrcode::render::svg;
use qrcode::{EcLevel, QrCode};
use secrecy::SecretString;
use serde::Serialize;
use serde_json::{Value, json};
use service::Shared;
use service::hosted::{self, HandoffLink, SessionState};
use service::problem::{Kind, Problem};
use service::time::iso;
use utoipa::ToSchema;
use verification::hosted::CountryOffer;

use super::bodies::{CurrentBody, PreviewBody};
use super::exchange::{ExchangeBody, GeoBlockedBody, TokenBody, token};

/// The applicant's answer to the consent text.
#[derive(ToSchema)]
#[allow(
    dead_code,
    reason = "read by the derive only; verification::hosted reads the body"
)]
pub struct ConsentBody {
    /// The version of the text.
    #[schema(
        min_length = 1,
        max_length = 32,
        pattern = "^[A-Za-z0-9._-]{1,32}$",
        example = "2026-11"
    )]
    version: String,
    /// The language in which the text was shown.
    #[schema(
        min_length = 1,
        max_length = 32,
        pattern = "^[A-Za-z0-9._-]{1,32}$",
        example = "en"
    )]
    language: String,
    /// Whether the applicant consented.
    accepted: bool,
}

/// Confirms that the answer to the consent text was recorded.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RecordedBody {
    /// The time of recording (ISO 8601, UTC, milliseconds).
    #[schema(example = "2026-11-21T06:00:12.500Z")]
    pub recorded_at: String,
}

/// The countries and documents that the applicant can choose.
#[derive(Serialize, ToSchema)]
pub struct DocumentsBody {
    /// The preselected country (alpha-3): that of the caller's IP address, or Utopia in the sandbox.
    #[schema(example = "DEU")]
    pub preselected: Option<&'static str>,
    /// Every country.
    pub countries: Vec<CountryBody>,
}

impl DocumentsBody {
    fn new(preselected: Option<&'static str>, offers: Vec<CountryOffer>) -> Self {
        let countries = offers
            .into_iter()
            .map(|offer| CountryBody {
                alpha2: offer.country.alpha2,
                alpha3: offer.country.alpha3,
                name: offer.country.name,
                restricted: offer.restricted,
                fields: offer.fields,
                types: offer
                    .types
                    .iter()
                    .map(|document| CountryDocumentBody {
                        document_type: document.document_type.as_str(),
                        supported: document.supported,
                        needs_back: document.needs_back,
                        has_one_sided_variant: document.has_one_sided_variant,
                    })
                    .collect(),
            })
            .collect();
        DocumentsBody {
            preselected,
            countries,
        }
    }
}

/// The responses that the endpoints would give for a session of a Flow. The page of a preview contains them,
/// because it sends no requests.
pub fn preview_responses(current: SessionState, offers: Vec<CountryOffer>) -> Result<Value, Problem> {
    Ok(json!({
        "current": CurrentBody::try_from(current)?,
        "documents": DocumentsBody::new(None, offers),
    }))
}

/// The data that a country's applicants must provide.
#[derive(Serialize, ToSchema)]
pub struct CountryBody {
    /// ISO 3166-1 alpha-2.
    #[schema(example = "DE")]
    pub alpha2: &'static str,
    /// ISO 3166-1 alpha-3.
    #[schema(example = "DEU")]
    pub alpha3: &'static str,
    /// The English name.
    #[schema(example = "Germany")]
    pub name: &'static str,
    /// Whether the country's applicants and documents are refused.
    pub restricted: bool,
    /// The required personal fields, in addition to first and last name.
    #[schema(example = json!(["dob"]))]
    pub fields: Vec<&'static str>,
    /// The document types that the Flow accepts.
    pub types: Vec<CountryDocumentBody>,
}

/// A document type of a country.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CountryDocumentBody {
    /// The type.
    #[serde(rename = "type")]
    #[schema(example = "ID_CARD")]
    pub document_type: &'static str,
    /// Whether such documents can be verified.
    pub supported: bool,
    /// Whether the back is needed: the Flow's setting, or else the document requirements.
    pub needs_back: bool,
    /// Whether documents without a back exist; then the back should be optional.
    pub has_one_sided_variant: bool,
}

/// A link to a second device.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct HandoffBody {
    /// The address to open on the second device; it works once.
    pub url: String,
    /// A number that both devices show, for the applicant to compare.
    #[schema(example = "47")]
    pub number: String,
    /// When the link expires.
    #[schema(example = "2026-11-21T06:10:00.000Z")]
    pub expires_at: String,
    /// The address as a QR code, as an SVG document.
    pub qr_svg: String,
}

/// A claimed hand-off: the exchange's response, and the number to compare.
#[derive(Serialize, ToSchema)]
pub struct ClaimBody {
    /// The exchange's response, with this device's own access token.
    #[serde(flatten)]
    pub exchange: ExchangeBody,
    /// The number to compare with the other device's.
    #[schema(example = "47")]
    pub number: String,
}

/// Events on the page.
#[derive(ToSchema)]
#[allow(
    dead_code,
    reason = "read by the derive only; verification::hosted reads the body"
)]
pub struct EventsBody {
    /// The events in order.
    #[schema(max_items = 50)]
    events: Vec<EventBody>,
    /// The code of the language in which the page is shown when it sends the events. If it is absent, the
    /// language is unknown.
    #[schema(example = "de")]
    language: Option<String>,
}

/// An event on the page.
#[derive(ToSchema)]
#[allow(
    dead_code,
    reason = "read by the derive only; verification::hosted reads the body"
)]
pub struct EventBody {
    /// The step, such as `document`.
    #[schema(
        pattern = "^(open|consent|device|details|document|camera|front|back|review|selfie|liveness|upload|outcome)$",
        example = "front"
    )]
    step: String,
    /// `reached`, `completed`, `retried`, `dropped`, `failed` or `denied`.
    #[schema(
        pattern = "^(reached|completed|retried|dropped|failed|denied)$",
        example = "retried"
    )]
    kind: String,
    /// Milliseconds since the page was opened.
    #[schema(maximum = 86_400_000, example = 41_250)]
    ms: u64,
    /// A failure code or a word of a fixed list; a refusal names the permitted words.
    #[schema(min_length = 1, max_length = 32, example = "glare")]
    detail: Option<String>,
}

/// Describe a link.
///
/// This does not use the link up. The hosted page calls it for its first screen.
#[utoipa::path(post, path = "/v2/sdk/session/preview", operation_id = "previewSession", tag = "Hosted page", security(()),
    request_body = TokenBody,
    responses(
        (status = 200, description = "What the link leads to", body = PreviewBody),
        (status = 403, description = "The merchant's account is not active", body = ErrorAndMessageBody),
        OneTimeTokenErrors, SessionBodyErrors))]
pub async fn preview(State(app): State<Shared>, body: JsonObject) -> Result<Json<PreviewBody>, Rejection> {
    let preview = hosted::preview(&app, token(&body)?).await?;
    Ok(Json(PreviewBody::from(&preview)))
}

/// Get the state of the session.
///
/// This also works after the session has ended, until the access token expires.
#[utoipa::path(get, path = "/v2/sdk/session/current", operation_id = "getCurrentSession", tag = "Hosted page", security(("bearer" = [])),
    responses(
        (status = 200, description = "The session", body = CurrentBody),
        (status = 404, description = "`not_found`: the session's Flow was deleted", body = ErrorAndMessageBody),
        HostedErrors))]
pub async fn current(
    State(app): State<Shared>,
    Authenticated(caller): Authenticated,
) -> Result<Json<CurrentBody>, Rejection> {
    Ok(Json(hosted::current(&app, &caller).await?.try_into()?))
}

/// Record the applicant's answer to the consent text.
#[utoipa::path(post, path = "/v2/sdk/session/consent", operation_id = "recordConsent", tag = "Hosted page", security(("bearer" = [])),
    request_body = ConsentBody,
    responses(
        (status = 200, description = "Recorded", body = RecordedBody),
        (status = 400, description = "Validation failed", body = ErrorAndMessageBody),
        HostedErrors, SessionBodyErrors))]
pub async fn consent(
    State(app): State<Shared>,
    Authenticated(caller): Authenticated,
    body: JsonObject,
) -> Result<Json<RecordedBody>, Rejection> {
    let at = hosted::consent(&app, &caller, &body.object).await?;
    Ok(Json(RecordedBody { recorded_at: iso(at) }))
}

/// List the Flow's requirements by country.
#[utoipa::path(get, path = "/v2/sdk/session/documents", operation_id = "listSessionDocuments", tag = "Hosted page", security(("bearer" = [])),
    responses(
        (status = 200, description = "Countries and documents", body = DocumentsBody),
        (status = 400, description = "The session's Flow left its Group", body = ErrorAndMessageBody),
        (status = 404, description = "`not_found`: the session's Flow or Group was deleted", body = ErrorAndMessageBody),
        HostedErrors))]
pub async fn documents(
    State(app): State<Shared>,
    Authenticated(caller): Authenticated,
    ClientAddress(address): ClientAddress,
) -> Result<Json<DocumentsBody>, Rejection> {
    let (preselected, offers) = hosted::documents(&app, &caller, address).await?;
    Ok(Json(DocumentsBody::new(preselected, offers)))
}

/// Hand the session off to a second device.
///
/// A new link revokes the earlier one and the access of the device that used it.
#[utoipa::path(post, path = "/v2/sdk/session/handoff", operation_id = "createHandoff", tag = "Hosted page", security(("bearer" = [])),
    responses((status = 200, description = "The link", body = HandoffBody), HostedErrors))]
pub async fn hand_off(
    State(app): State<Shared>,
    Authenticated(caller): Authenticated,
) -> Result<Json<HandoffBody>, Rejection> {
    let HandoffLink {
        url,
        number,
        expires_at,
    } = hosted::hand_off(&app, &caller).await?;
    Ok(Json(HandoffBody {
        qr_svg: qr_svg(&url)?,
        url,
        number: number.to_string(),
        expires_at: iso(expires_at),
    }))
}

/// A QR code of an address, as an SVG document.
pub fn qr_svg(text: &str) -> Result<String, Problem> {
    let code = QrCode::with_error_correction_level(text, EcLevel::M).map_err(Problem::internal)?;
    Ok(code.render::<svg::Color<'_>>().min_dimensions(240, 240).build())
}

/// Continue a session on this device.
#[utoipa::path(post, path = "/v2/sdk/session/handoff/claim", operation_id = "claimHandoff", tag = "Hosted page", security(()),
    request_body = TokenBody,
    responses(
        (status = 200, description = "The session", body = ClaimBody),
        (status = 403, description = "`geo_blocked`", body = GeoBlockedBody),
        OneTimeTokenErrors, SessionBodyErrors))]
pub async fn claim(
    State(app): State<Shared>,
    ClientAddress(address): ClientAddress,
    body: JsonObject,
) -> Result<Json<ClaimBody>, Rejection> {
    let (exchanged, number) = hosted::claim(&app, address, token(&body)?).await?;
    Ok(Json(ClaimBody {
        exchange: exchanged.try_into()?,
        number: number.to_string(),
    }))
}

/// Reject a hand-off on the second device, because the numbers did not match.
///
/// It revokes this device's access token.
#[utoipa::path(post, path = "/v2/sdk/session/handoff/reject", operation_id = "rejectHandoff", tag = "Hosted page", security(("bearer" = [])),
    responses(
        (status = 204, description = "The token works no more"),
        (status = 400, description = "Not the device that the session was handed to", body = ErrorAndMessageBody),
        HostedErrors))]
pub async fn reject(
    State(app): State<Shared>,
    Authenticated(caller): Authenticated,
    headers: HeaderMap,
) -> Result<StatusCode, Rejection> {
    hosted::reject(&app, &caller, &bearer(&headers)?).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Record the applicant's progress: words of fixed lists and times, no personal data.
#[utoipa::path(post, path = "/v2/sdk/session/events", operation_id = "recordSessionEvents", tag = "Hosted page", security(("bearer" = [])),
    request_body = EventsBody,
    responses(
        (status = 204, description = "Kept"),
        (status = 400, description = "Validation failed", body = ErrorAndMessageBody),
        HostedErrors, SessionBodyErrors))]
pub async fn events(
    State(app): State<Shared>,
    Authenticated(caller): Authenticated,
    ClientAddress(address): ClientAddress,
    headers: HeaderMap,
    body: JsonObject,
) -> Result<StatusCode, Rejection> {
    let user_agent = headers
        .get(USER_AGENT)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let source = (address, user_agent);
    hosted::record_events(&app, &caller, &bearer(&headers)?, source, &body.object).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The access token, which differs on each of the session's two devices.
fn bearer(headers: &HeaderMap) -> Result<SecretString, Problem> {
    match authorization::parse(headers) {
        Ok(Authorization::Bearer(token)) => Ok(token),
        _ => Err(Problem::new(
            Kind::Unauthenticated,
            "Authorization header is missing: send `Bearer <ACCESS_TOKEN>`",
        )),
    }
}
