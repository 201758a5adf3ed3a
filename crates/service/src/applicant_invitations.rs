//! Invitations of applicants (`docs/decisions/0065-invitations.md`): a link for mail or SMS that opens ten-minute sessions,
//! one at a time and each after the applicant's press, until the verification has ended. Attempts count per invitation.
//! This module judges no attempt; [`applicant_letters`](crate::applicant_letters) sends the mail that it queues.

use std::collections::HashMap;
use std::net::IpAddr;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value, json};
use store::applicant_invitations::{
    self, Invitation, InvitationFilter, InvitationSelection, InvitationStatus, InvitedSession, NewInvitation,
    Recipient,
};
use store::applicant_letters::{self, LetterKind, LetterState};
use store::audit::{self, Entry};
use store::sessions::{self as store_sessions, Link, Session, SessionStatus};
use store::{Conn, Scope, Tx, admissions, staff};
use uuid::Uuid;
use verification::invitation::{self as invitation_rules, InvitationRequest, MOST_RENEWALS};
use verification::settings::Settings;

use super::App;
use super::sessions::{self, ExchangedSession, Offer, TOKEN_SECONDS};
use crate::caller::{self, Caller};
use crate::letter_texts::LANGUAGES;
use crate::problem::{Family, Kind, Problem};

/// The most sessions of an invitation that are told.
const SESSIONS_TOLD: i64 = 100;

/// The most invitations of a file.
pub const MOST_OF_A_FILE: i64 = 1_000;

const HOUR_MS: i64 = 60 * 60 * 1_000;

/// A request for an invitation that was read.
#[derive(Clone, Debug)]
pub struct InvitationOrder {
    link: Link,
    recipient: Option<Recipient>,
}

/// Reads a request for an invitation: the body of a link, and perhaps an address for letters.
///
/// # Errors
/// 400 with every fault; 404 for an id of a Flow or Group that is no UUID.
pub fn read_order(body: &Map<String, Value>) -> Result<InvitationOrder, Problem> {
    let today = Timestamp::now().to_zoned(TimeZone::UTC).date();
    let request = InvitationRequest::parse(body, today, &LANGUAGES).map_err(sessions::faulty)?;
    let InvitationRequest {
        link,
        email,
        language,
    } = request;
    Ok(InvitationOrder {
        link: sessions::link_of(&link)?,
        recipient: email.map(|email| Recipient { email, language }),
    })
}

/// Creates an invitation, and queues its letter if there is an address. Returns it and its URL, which is shown only once.
///
/// # Errors
/// As for a link, and 400 for an address that gets no letters.
pub async fn create(
    app: &App,
    caller: &Caller,
    body: &Map<String, Value>,
) -> Result<(Invitation, String), Problem> {
    let order = read_order(body)?;
    let has_letter = order.recipient.is_some();
    let (invitation, token) =
        store::transaction!(app.db, |tx| -> Result<(Invitation, SecretString), Problem> {
            check_recipient(app, tx, caller.scope, &order).await?;
            let settings = sessions::rules(tx, caller.scope, &order.link).await?.settings;
            let made = insert(tx, caller.scope, &order, &settings, None).await?;
            let subject = made.0.id.to_string();
            let detail = json!({"letter": has_letter}).to_string();
            let entry = Entry {
                detail: &detail,
                ..caller.audit_entry("invitation.created", &subject)
            };
            audit::write(tx, caller.scope, &entry).await?;
            Ok(made)
        })?;
    Ok((invitation, url(app, &token)))
}

/// Creates the invitations of a file, all or none, and queues their letters. They have the id that is returned as their
/// [`import_id`](Invitation::import_id).
///
/// # Errors
/// The first refusal, with the position of its order.
pub async fn create_all(
    app: &App,
    caller: &Caller,
    orders: &[InvitationOrder],
) -> Result<Uuid, (usize, Problem)> {
    let import_id = Uuid::now_v7();
    let scope = caller.scope;
    store::transaction!(app.db, |tx| -> Result<(), ImportRefusal> {
        // The same Flow and Group need not be read for each row.
        let mut known: HashMap<(Uuid, Uuid, bool), Settings> = HashMap::new();
        for (position, order) in orders.iter().enumerate() {
            let at = |problem| ImportRefusal(position, problem);
            let link = &order.link;
            let key = (link.group_id, link.flow_id, link.expected.is_some());
            check_recipient(app, tx, scope, order).await.map_err(at)?;
            let settings = match known.get(&key) {
                Some(settings) => settings.clone(),
                None => sessions::rules(tx, scope, link).await.map_err(at)?.settings,
            };
            insert(tx, scope, order, &settings, Some(import_id))
                .await
                .map_err(at)?;
            known.insert(key, settings);
        }
        let subject = import_id.to_string();
        let first = orders.first().map(|order| (order.link.group_id, order.link.flow_id));
        let detail = json!({"invitations": orders.len(), "group": first.map(|ids| ids.0), "flow": first.map(|ids| ids.1)});
        let detail = detail.to_string();
        let entry = Entry {
            detail: &detail,
            ..caller.audit_entry("invitation.imported", &subject)
        };
        audit::write(tx, scope, &entry).await?;
        Ok(())
    })
    .map_err(|ImportRefusal(position, problem)| (position, problem))?;
    Ok(import_id)
}

/// Why a file was refused, and at which order.
struct ImportRefusal(usize, Problem);

impl From<store::Error> for ImportRefusal {
    fn from(error: store::Error) -> Self {
        ImportRefusal(0, error.into())
    }
}

/// New links of the open invitations of a file, with their labels, in the file's order. The links that were sent still work.
///
/// # Errors
/// 404 if no invitation has this id.
pub async fn new_links_of(
    app: &App,
    caller: &Caller,
    import_id: Uuid,
) -> Result<Vec<(Invitation, String)>, Problem> {
    let filter = InvitationFilter {
        only: InvitationSelection::Import(import_id),
        ..InvitationFilter::default()
    };
    let scope = caller.scope;
    let links = store::transaction!(app.db, |tx| -> Result<Vec<(Invitation, SecretString)>, Problem> {
        let mut invitations = applicant_invitations::list(tx, scope, &filter, MOST_OF_A_FILE).await?;
        if invitations.is_empty() {
            return Err(unknown());
        }
        let now = tx.now();
        invitations.retain(|one| is_usable(one, now));
        let mut links = Vec::new();
        for invitation in invitations.into_iter().rev() {
            let token = applicant_invitations::add_token(tx, scope, invitation.id).await?;
            links.push((invitation, token));
        }
        let subject = import_id.to_string();
        let detail = json!({"invitations": links.len()}).to_string();
        let entry = Entry {
            detail: &detail,
            ..caller.audit_entry("invitation.links_read", &subject)
        };
        audit::write(tx, scope, &entry).await?;
        Ok(links)
    })?;
    let with_url = |(invitation, token)| (invitation, url(app, &token));
    Ok(links.into_iter().map(with_url).collect())
}

/// The address that opens an invitation.
pub(crate) fn url(app: &App, token: &SecretString) -> String {
    format!("{}?invitation={}", app.websdk_url, token.expose_secret())
}

/// Refuses an address that gets no letters.
async fn check_recipient(
    app: &App,
    conn: &mut Conn,
    scope: Scope,
    order: &InvitationOrder,
) -> Result<(), Problem> {
    let Some(recipient) = &order.recipient else {
        return Ok(());
    };
    let reason = if !sends_letters(app) {
        "cannot be used, because this server sends no mail to applicants; leave it out and send the link yourself"
    } else if !accepts(conn, scope, recipient).await? {
        "must be the address of a member of your portal account, because the sandbox sends mail to nobody else"
    } else {
        return Ok(());
    };
    Err(sessions::faulty(vec![format!("email - {reason}")]))
}

/// Whether letters may go to an address. Those of the sandbox go only to members, because it needs no approval.
pub(crate) async fn accepts(
    conn: &mut Conn,
    scope: Scope,
    recipient: &Recipient,
) -> Result<bool, store::Error> {
    Ok(!scope.sandbox || staff::is_member(conn, scope.merchant_id, &recipient.email).await?)
}

/// Whether this server sends letters to applicants.
pub fn sends_letters(app: &App) -> bool {
    app.mailer.is_some() && app.config.mail_per_day > 0
}

/// When an invitation that begins now ends, and when its first reminder is due.
pub(crate) fn times(now: i64, settings: &Settings) -> (i64, Option<i64>) {
    let expires_at = now.saturating_add(i64::from(settings.invitation_hours) * HOUR_MS);
    let remind_at = invitation_rules::next_reminder(now, settings.reminder_hours, 0, expires_at);
    (expires_at, remind_at)
}

async fn insert(
    tx: &mut Tx,
    scope: Scope,
    order: &InvitationOrder,
    settings: &Settings,
    import_id: Option<Uuid>,
) -> Result<(Invitation, SecretString), Problem> {
    let (expires_at, remind_at) = times(tx.now(), settings);
    let new = NewInvitation {
        recipient: order.recipient.clone(),
        remind_at,
        import_id,
        ..NewInvitation::new(order.link.clone(), settings.attempts_per_link.into(), expires_at)
    };
    let (mut invitation, token) = applicant_invitations::create(tx, scope, new).await?;
    if order.recipient.is_some() {
        applicant_letters::enqueue(tx, scope, invitation.id, LetterKind::Invitation).await?;
        invitation.mail = Some((LetterState::Queued, tx.now()));
    }
    Ok((invitation, token))
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

/// Revokes an open invitation and ends its session. Revoking it again changes nothing. An expired one stays expired, and
/// cannot be renewed any more.
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
        let invitation = lock_known(tx, scope, id).await?;
        match invitation.status {
            InvitationStatus::Revoked => return Ok(()),
            InvitationStatus::Expired => {
                applicant_invitations::forget_contact(tx, scope, id).await?;
            }
            _ => {
                check_open(&invitation)?;
                end_open_session(tx, scope, id).await?;
                applicant_invitations::revoke(tx, scope, id).await?;
            }
        }
        audit::write(tx, scope, &caller.audit_entry("invitation.revoked", &subject)).await?;
        Ok(())
    })?;
    get(app, scope, &subject).await
}

/// Refuses what only an open invitation allows.
pub(crate) fn check_open(invitation: &Invitation) -> Result<(), Problem> {
    match invitation.status {
        InvitationStatus::Open => Ok(()),
        InvitationStatus::InReview => Err(in_review()),
        status => Err(ended(status)),
    }
}

/// 409 for an invitation with a final status.
pub(crate) fn ended(status: InvitationStatus) -> Problem {
    let text = format!(
        "This invitation has ended ({}). If the applicant still needs a link, create another invitation",
        status.as_str()
    );
    Problem::new(Kind::Conflict, text).named("invitation_ended")
}

/// An invitation, locked until the transaction ends.
///
/// # Errors
/// 404 for an unknown one.
pub(crate) async fn lock_known(tx: &mut Tx, scope: Scope, id: Uuid) -> Result<Invitation, Problem> {
    applicant_invitations::lock(tx, scope, id).await?;
    applicant_invitations::get(tx, scope, id)
        .await?
        .ok_or_else(unknown)
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
    let invitation = match usable(&mut conn, scope, id).await {
        Err(problem) if problem.word(Family::Exchange) == sessions::EXPIRED => {
            let can_renew = sends_letters(app) && renews(&mut conn, scope, id).await?;
            return Err(problem.renewable(can_renew));
        }
        found => found?,
    };
    let flow = sessions::configuration(&mut conn, scope, &invitation.link).await?;
    Ok(Offer {
        merchant,
        scope,
        link: invitation.link,
        flow,
        expires_at: invitation.expires_at,
    })
}

/// Whether the Flow of an invitation sends new links in place of expired ones, unless a session still runs. It does not
/// depend on the applicant's address.
async fn renews(conn: &mut Conn, scope: Scope, id: Uuid) -> Result<bool, Problem> {
    let Some(invitation) = applicant_invitations::get(conn, scope, id).await? else {
        return Ok(false);
    };
    let is_last = invitation.renewals >= MOST_RENEWALS || invitation.attempts >= invitation.max_attempts;
    if invitation.renewed_by.is_none() && is_last {
        return Ok(false);
    }
    let now = conn.now();
    for session in applicant_invitations::open_sessions_of(conn, scope, id).await? {
        let session = store_sessions::get(conn, scope, session).await?;
        if session.is_some_and(|session| session.expires_at > now) {
            return Ok(false);
        }
    }
    match sessions::rules(conn, scope, &invitation.link).await {
        Ok(rules) => Ok(rules.settings.renew_invitations),
        Err(problem) if problem.status(Family::Exchange).is_server_error() => Err(problem),
        Err(_) => Ok(false),
    }
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

/// Whether an invitation opens sessions.
fn is_usable(invitation: &Invitation, now: i64) -> bool {
    invitation.status == InvitationStatus::Open
        && invitation.expires_at > now
        && invitation.attempts < invitation.max_attempts
}

/// An invitation that opens sessions now, or the reason why it does not.
pub(crate) async fn usable(conn: &mut Conn, scope: Scope, id: Uuid) -> Result<Invitation, Problem> {
    let invitation = applicant_invitations::get(conn, scope, id)
        .await?
        .ok_or_else(sessions::invalid)?;
    match invitation.status {
        InvitationStatus::Open if is_usable(&invitation, conn.now()) => Ok(invitation),
        InvitationStatus::Open if invitation.attempts >= invitation.max_attempts => Err(finished()),
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
pub(crate) fn parse_id(id: &str) -> Result<Uuid, Problem> {
    Uuid::parse_str(id).map_err(|_| unknown())
}

pub(crate) fn unknown() -> Problem {
    Problem::not_found("Invitation not found")
}
