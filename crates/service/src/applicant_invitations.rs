//! Invitations of applicants (`docs/decisions/0065-invitations.md`): a link for mail or SMS that opens ten-minute sessions,
//! one at a time and each after the applicant's press, until the verification has ended. Attempts count per invitation.
//! This module sends no message and judges no attempt.

use std::net::IpAddr;

use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value, json};
use store::applicant_invitations::{self, Invitation, InvitationFilter, InvitationStatus, InvitedSession};
use store::audit::{self, Entry};
use store::sessions::{self as store_sessions, Session, SessionStatus};
use store::{Conn, Scope, Tx, admissions};
use uuid::Uuid;

use super::App;
use super::sessions::{self, ExchangedSession, Offer, TOKEN_SECONDS};
use crate::caller::{self, Caller};
use crate::problem::{Family, Kind, Problem};

/// The most sessions of an invitation that are told.
const SESSIONS_TOLD: i64 = 100;

const HOUR_MS: i64 = 60 * 60 * 1_000;

/// Creates an invitation; returns it and its URL, which is shown only once. The body is that of a link.
///
/// # Errors
/// As for a link.
pub async fn create(
    app: &App,
    caller: &Caller,
    body: &Map<String, Value>,
) -> Result<(Invitation, String), Problem> {
    let link = sessions::read_link(body)?;
    let (invitation, token) =
        store::transaction!(app.db, |tx| -> Result<(Invitation, SecretString), Problem> {
            let settings = sessions::rules(tx, caller.scope, &link).await?.settings;
            let attempts = i64::from(settings.attempts_per_link);
            let life = i64::from(settings.invitation_hours) * HOUR_MS;
            let made = applicant_invitations::create(tx, caller.scope, link.clone(), attempts, life).await?;
            let subject = made.0.id.to_string();
            audit::write(
                tx,
                caller.scope,
                &caller.audit_entry("invitation.created", &subject),
            )
            .await?;
            Ok(made)
        })?;
    let url = format!("{}?invitation={}", app.websdk_url, token.expose_secret());
    Ok((invitation, url))
}

/// One invitation, with its sessions.
///
/// # Errors
/// 404 for an unknown invitation.
pub async fn get(app: &App, scope: Scope, id: &str) -> Result<(Invitation, Vec<InvitedSession>), Problem> {
    let id = parse_id(id)?;
    let mut conn = app.db.read().await?;
    with_sessions(&mut conn, scope, id).await
}

async fn with_sessions(
    conn: &mut Conn,
    scope: Scope,
    id: Uuid,
) -> Result<(Invitation, Vec<InvitedSession>), Problem> {
    let invitation = applicant_invitations::get(conn, scope, id)
        .await?
        .ok_or_else(unknown)?;
    let sessions = applicant_invitations::sessions_of(conn, scope, id, SESSIONS_TOLD).await?;
    Ok((invitation, sessions))
}

/// A page of invitations, newest first.
#[derive(Clone, Debug)]
pub struct Page {
    /// At most the requested number.
    pub invitations: Vec<Invitation>,
    /// Where the next page begins; `None`: this is the last page.
    pub next: Option<Uuid>,
}

/// An account's invitations, newest first.
pub async fn page(
    app: &App,
    scope: Scope,
    filter: &InvitationFilter<'_>,
    limit: u16,
) -> Result<Page, Problem> {
    let mut conn = app.db.read().await?;
    // One more than requested, to detect whether there is another page.
    let mut invitations = applicant_invitations::list(&mut conn, scope, filter, i64::from(limit) + 1).await?;
    let more = invitations.len() > usize::from(limit);
    invitations.truncate(usize::from(limit));
    let next = invitations.last().map(|last| last.id).filter(|_| more);
    Ok(Page { invitations, next })
}

/// Revokes an open invitation and ends its session. Revoking it again changes nothing.
///
/// # Errors
/// 404 for an unknown invitation; a conflict if it has ended otherwise, or while an attempt of it is examined or
/// reviewed.
pub async fn revoke(
    app: &App,
    caller: &Caller,
    id: &str,
) -> Result<(Invitation, Vec<InvitedSession>), Problem> {
    let id = parse_id(id)?;
    let subject = id.to_string();
    let scope = caller.scope;
    store::transaction!(app.db, |tx| -> Result<(), Problem> {
        if !applicant_invitations::lock(tx, scope, id).await? {
            return Err(unknown());
        }
        let invitation = applicant_invitations::get(tx, scope, id)
            .await?
            .ok_or_else(unknown)?;
        match invitation.status {
            InvitationStatus::Revoked => return Ok(()),
            InvitationStatus::InReview => return Err(in_review()),
            InvitationStatus::Success | InvitationStatus::Failed | InvitationStatus::Expired => {
                let text = format!("This invitation has ended: {}", invitation.status.as_str());
                return Err(Problem::new(Kind::Conflict, text).named("invitation_ended"));
            }
            InvitationStatus::Open => {}
        }
        end_open_session(tx, scope, id).await?;
        applicant_invitations::revoke(tx, scope, id).await?;
        audit::write(tx, scope, &caller.audit_entry("invitation.revoked", &subject)).await?;
        Ok(())
    })?;
    get(app, scope, &subject).await
}

/// Revokes the open invitations of a Flow or Group that is deleted, except those in review. Returns the detail for the
/// audit entry of the deletion.
pub(crate) async fn revoke_of_configuration(
    tx: &mut Tx,
    scope: Scope,
    flow_or_group: Uuid,
) -> Result<String, Problem> {
    let revoked = applicant_invitations::revoke_of_configuration(tx, scope, flow_or_group).await?;
    Ok(match revoked {
        0 => "{}".to_owned(),
        _ => json!({"invitationsRevoked": revoked}).to_string(),
    })
}

/// Reads an invitation's token, without a change. It refuses the same tokens as [`open`].
pub async fn offer(app: &App, token: &str) -> Result<Offer, Problem> {
    let mut conn = app.db.read().await?;
    let (merchant, scope, id) = applicant_invitations::of_token(&mut conn, token)
        .await?
        .ok_or_else(sessions::invalid)?;
    caller::check_account_may_call(merchant.status, scope.sandbox, Family::Exchange)?;
    let invitation = usable(&mut conn, scope, id).await?;
    let flow = sessions::configuration(&mut conn, scope, &invitation.link).await?;
    Ok(Offer {
        merchant,
        scope,
        link: invitation.link,
        flow,
        expires_at: invitation.expires_at,
    })
}

/// Whether the invitation that opened a session which has ended opens another one now.
///
/// # Errors
/// When the store fails.
pub async fn can_start_again(conn: &mut Conn, scope: Scope, session: &Session) -> Result<bool, Problem> {
    let Some(id) = session
        .invitation_id
        .filter(|_| session.status != SessionStatus::Pending)
    else {
        return Ok(false);
    };
    match usable(conn, scope, id).await {
        Ok(_) => Ok(true),
        Err(problem) if problem.status(Family::Exchange).is_server_error() => Err(problem),
        Err(_) => Ok(false),
    }
}

/// Opens a session with an invitation's token. An open session of the same invitation ends, so that nothing that was
/// entered there is shown here.
///
/// # Errors
/// As the exchange of a link, and a conflict while an attempt of the invitation is examined or reviewed.
pub async fn open(app: &App, address: IpAddr, token: &str) -> Result<ExchangedSession, Problem> {
    let Offer {
        merchant,
        scope,
        flow,
        ..
    } = offer(app, token).await?;
    sessions::check_country(app, address, &merchant, &flow)?;
    let (session, token) = store::transaction!(app.db, |tx| -> Result<(Session, SecretString), Problem> {
        let (_, _, id) = applicant_invitations::of_token(tx, token)
            .await?
            .ok_or_else(sessions::invalid)?;
        applicant_invitations::lock(tx, scope, id).await?;
        let invitation = usable(tx, scope, id).await?;
        end_open_session(tx, scope, id).await?;
        let left = invitation.max_attempts - invitation.attempts;
        let life = TOKEN_SECONDS * 1_000;
        let made = store_sessions::create(tx, scope, invitation.link, Some(id), left, life).await?;
        let (subject, detail) = (id.to_string(), json!({"session": made.0.id}).to_string());
        let entry = Entry {
            actor: "hosted page",
            action: "invitation.opened",
            subject: &subject,
            detail: &detail,
        };
        audit::write(tx, scope, &entry).await?;
        Ok(made)
    })?;
    sessions::count_session();
    Ok(ExchangedSession {
        session,
        token,
        scope,
        flow,
        expires_in: TOKEN_SECONDS,
    })
}

/// An invitation that opens sessions now, or the reason why it does not.
async fn usable(conn: &mut Conn, scope: Scope, id: Uuid) -> Result<Invitation, Problem> {
    let invitation = applicant_invitations::get(conn, scope, id)
        .await?
        .ok_or_else(sessions::invalid)?;
    let has_attempts = invitation.attempts < invitation.max_attempts;
    match invitation.status {
        InvitationStatus::Open if invitation.expires_at > conn.now() && has_attempts => Ok(invitation),
        InvitationStatus::Open if !has_attempts => Err(finished()),
        InvitationStatus::Open | InvitationStatus::Expired => Err(sessions::expired()),
        InvitationStatus::InReview => Err(in_review()),
        InvitationStatus::Success | InvitationStatus::Failed => Err(finished()),
        InvitationStatus::Revoked => Err(Problem::new(
            Kind::Gone,
            "This link was withdrawn; please ask for a new one",
        )
        .named("invitation_revoked")),
    }
}

/// Ends the session that is still open.
///
/// # Errors
/// A conflict if the session waits for an attempt that it has admitted, or for a reviewer.
async fn end_open_session(tx: &mut Tx, scope: Scope, id: Uuid) -> Result<(), Problem> {
    for session in applicant_invitations::open_sessions_of(tx, scope, id).await? {
        if !admissions::end_early(tx, scope, session).await? {
            let text = "An attempt of this invitation is still being checked; please try again in a moment";
            return Err(Problem::new(Kind::Conflict, text).named("attempt_in_progress"));
        }
    }
    Ok(())
}

fn finished() -> Problem {
    Problem::new(Kind::Gone, "This verification has ended").named("invitation_finished")
}

fn in_review() -> Problem {
    let text = "An attempt of this invitation is being reviewed; the review decides it";
    Problem::new(Kind::Conflict, text).named("in_review")
}

/// An id that is no UUID is reported as not found.
fn parse_id(id: &str) -> Result<Uuid, Problem> {
    Uuid::parse_str(id).map_err(|_| unknown())
}

fn unknown() -> Problem {
    Problem::not_found("Invitation not found")
}
