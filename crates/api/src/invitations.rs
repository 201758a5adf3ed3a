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
use service::{Shared, applicant_invitations, applicant_letters};
use store::applicant_invitations::{
    Invitation, InvitationFilter, InvitationSelection, InvitationStatus, InvitedSession,
};
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
    /// Its newest email; null if there is none.
    pub mail: Option<MailBody>,
    /// The number of reminders: those that the server mailed, and your calls of `remind`.
    #[schema(example = 0)]
    pub reminders: i64,
    /// When the next reminder is due; null if none is.
    #[schema(example = "2026-11-22T06:00:00.000Z")]
    pub remind_at: Option<String>,
    /// The expired invitation that this one replaces; null if there is none.
    pub renews: Option<Uuid>,
    /// The invitation that replaces this one; null if there is none.
    pub renewed_by: Option<Uuid>,
}

/// An email to an applicant.
#[derive(Serialize, ToSchema)]
#[schema(title = "InvitationMail")]
pub struct MailBody {
    /// `queued`; `sent`: the mail server accepted it; `failed`: it refused it, or did not accept it within about 35 hours;
    /// `void`: the invitation ended, or its address was no longer allowed, before it was sent.
    #[schema(pattern = "^(queued|sent|failed|void)$", example = "sent")]
    pub status: String,
    /// When it was sent, or else queued.
    #[schema(example = "2026-11-21T06:00:01.000Z")]
    pub at: String,
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
            mail: invitation.mail.map(|(state, at)| MailBody {
                status: state.as_str().to_owned(),
                at: iso(at),
            }),
            reminders: invitation.reminders,
            remind_at: invitation.remind_at.map(iso),
            renews: invitation.renews,
            renewed_by: invitation.renewed_by,
        }
    }
}

/// An invitation to create.
#[derive(ToSchema)]
#[allow(dead_code, reason = "read by the derive only")]
#[schema(title = "InvitationRequest")]
pub struct InvitationRequestBody {
    /// The applicant, Group, Flow and expected person.
    #[schema(inline)]
    #[serde(flatten)]
    link: NewLinkBody,
    /// The applicant's address: the server sends the invitation, reminders and new links to it. In the sandbox, only
    /// addresses of members of your portal account.
    #[schema(format = "email", example = "ada@example.org")]
    email: Option<String>,
    /// The language of these emails: a code of the hosted page's languages, such as `de`, `pt-PT` or `zh-Hans`; `en` if
    /// absent.
    #[schema(example = "de")]
    language: Option<String>,
}

/// An invitation with a URL that opens it.
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

/// Create an invitation: a link for mail or SMS. With `email`, the server mails it.
///
/// It lives as long as the Flow's `invitationHours` says (7 days by default). Each press of the applicant opens a session of
/// ten minutes and ends the one before, until the verification has ended. Attempts count for all its sessions together.
#[utoipa::path(post, path = "/v2/sdk/session/invitations", operation_id = "createInvitation", tag = "Sessions", security(("basic" = [])),
    request_body = InvitationRequestBody,
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
        ("due" = Option<bool>, Query, description = "`true`: only open invitations whose reminder is due; not together with `status`"),
        ("limit" = Option<u16>, Query, description = "The number of invitations on a page; 50 if absent", minimum = 1, maximum = 100),
        ("before" = Option<Uuid>, Query, description = "`next` of the previous page")),
    responses((status = 200, description = "A page of invitations", body = InvitationsBody), LinkAndPollErrors))]
pub async fn list(
    State(app): State<Shared>,
    Authenticated(caller): Authenticated,
    RawQuery(raw): RawQuery,
) -> Result<Json<InvitationsBody>, Rejection> {
    let query = query::parse(raw.as_deref().unwrap_or_default())?;
    let mut errors = query.unknown(&["status", "userId", "due", "limit", "before"]);
    let status = query.get("status").and_then(|word| {
        let status = word.parse::<InvitationStatus>().ok();
        if status.is_none() {
            errors.push("status - must be open, in_review, success, failed, expired or revoked".to_owned());
        }
        status
    });
    let is_due = match query.get("due") {
        None | Some("false") => false,
        Some("true") if query.get("status").is_none() => true,
        Some("true") => {
            errors.push("due - must be absent if status is sent".to_owned());
            true
        }
        Some(_) => {
            errors.push("due - must be true or false".to_owned());
            true
        }
    };
    let (limit, before) = query.page(LIMIT, MOST, &mut errors);
    if !errors.is_empty() {
        return Err(Problem::validation(errors).into());
    }
    let filter = InvitationFilter {
        only: match status {
            Some(status) => InvitationSelection::Status(status),
            None if is_due => InvitationSelection::Due,
            None => InvitationSelection::All,
        },
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

/// Remind the applicant of an open invitation.
///
/// With an address, the server mails the reminder. In any case the response has a further link to the invitation, for
/// example for a reminder that you send. Earlier links still work. This counts as a reminder.
#[utoipa::path(post, path = "/v2/sdk/session/invitations/{invitationId}/remind", operation_id = "remindInvitation", tag = "Sessions", security(("basic" = [])),
    params(("invitationId" = String, Path, description = "The `invitationId`")),
    responses(
        (status = 200, description = "The invitation and a further link to it", body = NewInvitationBody),
        (status = 404, description = "No such invitation in the account, or its Flow or Group was deleted", body = ErrorAndMessageBody),
        (status = 409, description = "`invitation_ended`: it has ended; `in_review`: an attempt waits for a reviewer; `email_limit`: ten emails were created for it; `flow_unavailable`: the Flow is not in the Group", body = ErrorAndMessageBody),
        LinkAndPollErrors))]
pub async fn remind(
    State(app): State<Shared>,
    Authenticated(caller): Authenticated,
    PathText(id): PathText,
) -> Result<Json<NewInvitationBody>, Rejection> {
    let (invitation, url) = applicant_letters::remind(&app, &caller, &id).await?;
    let invitation = invitation.into();
    Ok(Json(NewInvitationBody { url, invitation }))
}
