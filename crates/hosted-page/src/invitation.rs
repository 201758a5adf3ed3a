//! `/v2/sdk/session/invitation/…`: what the hosted page does with an invitation's token. Only a press of the applicant
//! opens a session; loading the page or its preview changes nothing.

use axum::extract::State;
use axum::response::Json;
use http_server::error::Rejection;
use http_server::gate::ClientAddress;
use http_server::json::JsonObject;
use http_server::openapi::{ErrorAndMessageBody, OneTimeTokenErrors, SessionBodyErrors};
use service::{Shared, applicant_invitations, hosted};

use super::bodies::PreviewBody;
use super::exchange::{ExchangeBody, GeoBlockedBody, TokenBody, token};

/// Describe an invitation.
///
/// This opens no session. The hosted page calls it for its first screen.
#[utoipa::path(post, path = "/v2/sdk/session/invitation/preview", operation_id = "previewInvitation", tag = "Hosted page", security(()),
    request_body = TokenBody,
    responses(
        (status = 200, description = "What the invitation leads to", body = PreviewBody),
        (status = 403, description = "The merchant's account is not active", body = ErrorAndMessageBody),
        (status = 409, description = "`in_review`: an attempt is being reviewed", body = ErrorAndMessageBody),
        OneTimeTokenErrors, SessionBodyErrors))]
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
        OneTimeTokenErrors, SessionBodyErrors))]
pub async fn open(
    State(app): State<Shared>,
    ClientAddress(address): ClientAddress,
    body: JsonObject,
) -> Result<Json<ExchangeBody>, Rejection> {
    let opened = applicant_invitations::open(&app, address, token(&body)?).await?;
    Ok(Json(opened.try_into()?))
}
