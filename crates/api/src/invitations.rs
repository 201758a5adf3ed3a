//! `/v2/sdk/session/invitations`: links that live longer than a one-time link and open sessions until the verification
//! has ended. They are an addition to the contract.

use axum::extract::{RawQuery, State};
use axum::response::Json;
use http_server::error::Rejection;
use http_server::gate::Authenticated;
use http_server::json::JsonObject;
use http_server::openapi::{ErrorAndMessageBody, LinkAndPollErrors, SessionBodyErrors};
use http_server::path::PathText;
use http_server::query;
use serde::Serialize;
use service::problem::Problem;
use service::time::iso;
use service::{Shared, applicant_invitations};
use store::applicant_invitations::{Invitation, InvitationFilter, InvitationStatus, InvitedSession};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::sessions::NewLinkBody;

/// The number of invitations on a page, unless the caller sends another.
const LIMIT: u16 = 50;
/// The highest number.
const MOST: u16 = 100;

/// An invitation.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(title = "Invitation")]
pub struct InvitationBody {
    /// The id of the invitation.
    pub invitation_id: Uuid,
    /// Your label for the applicant.
    #[schema(example = "user-1")]
    pub user_id: String,
    /// The Group.
    pub group_id: Uuid,
    /// The Flow.
    pub flow_id: Uuid,
    /// `open`: the applicant can use it; `in_review`: an attempt waits for a reviewer; `success`; `failed`: its attempts
    /// are used, or a reviewer declined one; `expired`; `revoked`. All but the first two are final.
    #[schema(
        pattern = "^(open|in_review|success|failed|expired|revoked)$",
        example = "open"
    )]
    pub status: String,
    /// The attempts of all its sessions.
    #[schema(example = 1)]
    pub attempts: i64,
    /// The attempts that it allows: the Flow's `attemptsPerLink` when it was created.
    #[schema(example = 3)]
    pub max_attempts: i64,
    /// When it was created (ISO 8601, UTC, milliseconds).
    #[schema(example = "2026-11-21T06:00:00.000Z")]
    pub created_at: String,
    /// Until when it opens sessions.
    #[schema(example = "2026-11-28T06:00:00.000Z")]
    pub expires_at: String,
    /// When an attempt, a reviewer, a revocation or its time ended it; null until then.
    #[schema(example = "2026-11-22T18:04:00.000Z")]
    pub ended_at: Option<String>,
    /// The session whose attempt or review ended it; null if there is none.
    pub deciding_session_id: Option<Uuid>,
}

impl From<Invitation> for InvitationBody {
    fn from(invitation: Invitation) -> Self {
        InvitationBody {
            invitation_id: invitation.id,
            user_id: invitation.link.user_id,
            group_id: invitation.link.group_id,
            flow_id: invitation.link.flow_id,
            status: invitation.status.as_str().to_owned(),
            attempts: invitation.attempts,
            max_attempts: invitation.max_attempts,
            created_at: iso(invitation.created_at),
            expires_at: iso(invitation.expires_at),
            ended_at: invitation.ended_at.map(iso),
            deciding_session_id: invitation.deciding_session,
        }
    }
}

/// A new invitation with its URL.
#[derive(Serialize, ToSchema)]
#[schema(title = "NewInvitation")]
pub struct NewInvitationBody {
    /// The URL for the applicant. It is returned only this once.
    #[schema(example = "https://verify.example.com/verify?invitation=Yx3k9QpT…")]
    pub url: String,
    /// The invitation.
    #[serde(flatten)]
    pub invitation: InvitationBody,
}

/// A session that an invitation opened.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(title = "InvitedSession")]
pub struct InvitedSessionBody {
    /// The session, for polling its result.
    pub session_id: Uuid,
    /// `pending`, `success`, `failed` or `expired`.
    #[schema(pattern = "^(pending|success|failed|expired)$", example = "expired")]
    pub status: String,
    /// When the applicant opened it (ISO 8601, UTC, milliseconds).
    #[schema(example = "2026-11-21T18:00:00.000Z")]
    pub created_at: String,
}

/// An invitation with its sessions.
#[derive(Serialize, ToSchema)]
#[schema(title = "InvitationWithSessions")]
pub struct InvitationDetailBody {
    /// The invitation.
    #[serde(flatten)]
    pub invitation: InvitationBody,
    /// The newest 100 sessions that it opened, the earliest first. Retention deletes sessions.
    pub sessions: Vec<InvitedSessionBody>,
}

impl From<(Invitation, Vec<InvitedSession>)> for InvitationDetailBody {
    fn from((invitation, sessions): (Invitation, Vec<InvitedSession>)) -> Self {
        let body = |session: InvitedSession| InvitedSessionBody {
            session_id: session.id,
            status: session.status.as_str().to_owned(),
            created_at: iso(session.created_at),
        };
        InvitationDetailBody {
            invitation: invitation.into(),
            sessions: sessions.into_iter().map(body).collect(),
        }
    }
}

/// A page of invitations, newest first.
#[derive(Serialize, ToSchema)]
#[schema(title = "Invitations")]
pub struct InvitationsBody {
    /// The invitations.
    pub invitations: Vec<InvitationBody>,
    /// The value of `before` for the next page; null on the last page.
    pub next: Option<Uuid>,
}

/// Create an invitation: a link for mail or SMS.
///
/// It lives as long as the Flow's `invitationHours` says (7 days by default). Each press of the applicant opens a session of
/// ten minutes and ends the one before, until the verification has ended. Attempts count for all its sessions together.
#[utoipa::path(post, path = "/v2/sdk/session/invitations", operation_id = "createInvitation", tag = "Sessions", security(("basic" = [])),
    request_body = NewLinkBody,
    responses(
        (status = 200, description = "The invitation", body = NewInvitationBody),
        (status = 404, description = "No such Flow or Group in the account", body = ErrorAndMessageBody),
        LinkAndPollErrors, SessionBodyErrors))]
pub async fn create(
    State(app): State<Shared>,
    Authenticated(caller): Authenticated,
    body: JsonObject,
) -> Result<Json<NewInvitationBody>, Rejection> {
    let (invitation, url) = applicant_invitations::create(&app, &caller, &body.object).await?;
    let invitation = invitation.into();
    Ok(Json(NewInvitationBody { url, invitation }))
}

/// List your invitations, newest first.
#[utoipa::path(get, path = "/v2/sdk/session/invitations", operation_id = "listInvitations", tag = "Sessions", security(("basic" = [])),
    params(("status" = Option<String>, Query, description = "Only invitations with this status; all if absent", pattern = "^(open|in_review|success|failed|expired|revoked)$"),
        ("userId" = Option<String>, Query, description = "Only invitations of this applicant; all if absent"),
        ("limit" = Option<u16>, Query, description = "The number of invitations on a page; 50 if absent", minimum = 1, maximum = 100),
        ("before" = Option<Uuid>, Query, description = "`next` of the previous page")),
    responses((status = 200, description = "A page of invitations", body = InvitationsBody), LinkAndPollErrors))]
pub async fn list(
    State(app): State<Shared>,
    Authenticated(caller): Authenticated,
    RawQuery(raw): RawQuery,
) -> Result<Json<InvitationsBody>, Rejection> {
    let query = query::parse(raw.as_deref().unwrap_or_default())?;
    let mut errors = query.unknown(&["status", "userId", "limit", "before"]);
    let status = query.get("status").and_then(|word| {
        let status = word.parse::<InvitationStatus>().ok();
        if status.is_none() {
            errors.push("status - must be open, in_review, success, failed, expired or revoked".to_owned());
        }
        status
    });
    let (limit, before) = query.page(LIMIT, MOST, &mut errors);
    if !errors.is_empty() {
        return Err(Problem::validation(errors).into());
    }
    let filter = InvitationFilter {
        status,
        user_id: query.get("userId"),
        before,
    };
    let page = applicant_invitations::page(&app, caller.scope, &filter, limit).await?;
    Ok(Json(InvitationsBody {
        invitations: page.invitations.into_iter().map(InvitationBody::from).collect(),
        next: page.next,
    }))
}

/// An invitation, with the sessions that it opened.
#[utoipa::path(get, path = "/v2/sdk/session/invitations/{invitationId}", operation_id = "getInvitation", tag = "Sessions", security(("basic" = [])),
    params(("invitationId" = String, Path, description = "The `invitationId`")),
    responses(
        (status = 200, description = "The invitation", body = InvitationDetailBody),
        (status = 404, description = "No such invitation in the account", body = ErrorAndMessageBody),
        LinkAndPollErrors))]
pub async fn get(
    State(app): State<Shared>,
    Authenticated(caller): Authenticated,
    PathText(id): PathText,
) -> Result<Json<InvitationDetailBody>, Rejection> {
    let found = applicant_invitations::get(&app, caller.scope, &id).await?;
    Ok(Json(found.into()))
}

/// Revoke an open invitation.
///
/// This also ends its open session. Revoking it again changes nothing.
#[utoipa::path(post, path = "/v2/sdk/session/invitations/{invitationId}/revoke", operation_id = "revokeInvitation", tag = "Sessions", security(("basic" = [])),
    params(("invitationId" = String, Path, description = "The `invitationId`")),
    responses(
        (status = 200, description = "The invitation, which is revoked", body = InvitationDetailBody),
        (status = 404, description = "No such invitation in the account", body = ErrorAndMessageBody),
        (status = 409, description = "`invitation_ended`: it has ended; `in_review`: an attempt waits for a reviewer, who ends it; `attempt_in_progress`: an attempt is being checked, try again in a moment", body = ErrorAndMessageBody),
        LinkAndPollErrors))]
pub async fn revoke(
    State(app): State<Shared>,
    Authenticated(caller): Authenticated,
    PathText(id): PathText,
) -> Result<Json<InvitationDetailBody>, Rejection> {
    let revoked = applicant_invitations::revoke(&app, &caller, &id).await?;
    Ok(Json(revoked.into()))
}
