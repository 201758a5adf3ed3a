//! `/v2/sdk/session/invitation/…`: what the hosted page does with an invitation's token. Only a press of the applicant
//! opens a session or requests a new link; loading the page or its preview changes nothing.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Json;
use http_server::error::Rejection;
use http_server::gate::ClientAddress;
use http_server::json::JsonObject;
use http_server::openapi::{ErrorAndMessageBody, OneTimeTokenErrors, SessionBodyErrors};
use serde::Serialize;
use service::problem::Problem;
use service::{Shared, applicant_invitations, applicant_letters, hosted};
use utoipa::ToSchema;

use super::bodies::PreviewBody;
use super::exchange::{ExchangeBody, GeoBlockedBody, TokenBody, token};

/// The length of a token.
const MAX_TOKEN: usize = 51;

/// The refusal of an invitation that has ended.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(title = "EndedInvitation")]
pub struct EndedInvitationBody {
    /// `token_expired`, `invitation_finished` or `invitation_revoked`.
    #[schema(example = "token_expired")]
    pub error: String,
    /// A message for people.
    #[schema(example = "This link has expired; please ask for a new one")]
    pub message: String,
    /// With `token_expired`: whether the Flow sends new links. It does not depend on the applicant.
    pub can_renew: Option<bool>,
}

/// An empty object.
#[derive(Serialize, ToSchema)]
#[schema(title = "Empty")]
pub struct EmptyBody {}

/// Describe an invitation.
///
/// This opens no session. The hosted page calls it for its first screen.
#[utoipa::path(post, path = "/v2/sdk/session/invitation/preview", operation_id = "previewInvitation", tag = "Hosted page", security(()),
    request_body = TokenBody,
    responses(
        (status = 200, description = "What the invitation leads to", body = PreviewBody),
        (status = 403, description = "The merchant's account is not active", body = ErrorAndMessageBody),
        (status = 409, description = "`in_review`: an attempt is being reviewed", body = ErrorAndMessageBody),
        OneTimeTokenErrors, SessionBodyErrors,
        (status = 410, description = "It has ended", body = EndedInvitationBody)))]
pub async fn preview(State(app): State<Shared>, body: JsonObject) -> Result<Json<PreviewBody>, Rejection> {
    let preview = hosted::invitation_preview(&app, token(&body)?).await?;
    Ok(Json(PreviewBody::from(&preview)))
}

/// Open a session of an invitation.
///
/// An open session of the same invitation ends. The response is that of the exchange of a link.
#[utoipa::path(post, path = "/v2/sdk/session/invitation/open", operation_id = "openInvitation", tag = "Hosted page", security(()),
    request_body = TokenBody,
    responses(
        (status = 200, description = "The session", body = ExchangeBody),
        (status = 403, description = "`geo_blocked`", body = GeoBlockedBody),
        (status = 409, description = "`in_review`: an attempt is being reviewed; `attempt_in_progress`: an attempt is being checked, try again in a moment", body = ErrorAndMessageBody),
        OneTimeTokenErrors, SessionBodyErrors,
        (status = 410, description = "It has ended", body = EndedInvitationBody)))]
pub async fn open(
    State(app): State<Shared>,
    ClientAddress(address): ClientAddress,
    body: JsonObject,
) -> Result<Json<ExchangeBody>, Rejection> {
    let opened = applicant_invitations::open(&app, address, token(&body)?).await?;
    Ok(Json(opened.try_into()?))
}

/// Request a new link in place of an expired invitation.
///
/// The response is the same for every token of the right length. A new link is sent only if the invitation has expired, its Flow renews
/// invitations, and the merchant gave an address, and only to that address.
#[utoipa::path(post, path = "/v2/sdk/session/invitation/renew", operation_id = "renewInvitation", tag = "Hosted page", security(()),
    request_body = TokenBody,
    responses((status = 202, description = "The request was accepted", body = EmptyBody), OneTimeTokenErrors, SessionBodyErrors))]
pub async fn renew(
    State(app): State<Shared>,
    body: JsonObject,
) -> Result<(StatusCode, Json<EmptyBody>), Rejection> {
    let token = token(&body)?;
    if token.chars().count() > MAX_TOKEN {
        let text = format!("token - must have at most {MAX_TOKEN} characters");
        return Err(Problem::invalid(text).into());
    }
    applicant_letters::renew(&app, token).await?;
    Ok((StatusCode::ACCEPTED, Json(EmptyBody {})))
}
