//! Hosted sessions: a link is created, exchanged once, used for attempts, and polled (contract §4.3–§4.5,
//! `docs/decisions/0006-links-and-sessions.md`). This module decides how attempts and reviewers change a
//! session; the store checks tokens and times.

use std::net::IpAddr;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value, json};
use store::flows::Flow;
use store::link_tokens::{self, LinkState, LinkToken, ListedLink, NewLink};
use store::merchants::Merchant;
use store::sessions::{self, Link, Session, SessionStatus, Stage};
use store::{Conn, Error, Scope, Tx, admissions, attempts, audit};
use uuid::Uuid;
use verification::expected::ExpectedPerson;
use verification::link::LinkRequest;
use verification::status::AttemptStatus;
use verification::submission::SessionBinding;

use super::{App, attempt_detail, flows, merchants, stored_hits};
use crate::caller::{self, Caller};
use crate::config::GeoUnknown;
use crate::problem::{Kind, Problem};
use crate::time::iso;

/// How long a link can be exchanged (contract §4.3).
const LINK_MS: i64 = 600_000;
/// How long an access token works, in seconds (contract §2.3).
pub const TOKEN_SECONDS: i64 = 600;
/// The UUID namespace of hosted configurations, see [`sdk_id`].
const CONFIGURATIONS: Uuid = Uuid::from_u128(0x1f1d_6b0e_8a3c_4c55_9d53_0d0b_6c1e_7a42);

/// Creates a one-time link; returns its id and its URL.
pub async fn link(app: &App, caller: &Caller, body: &Map<String, Value>) -> Result<(Uuid, String), Problem> {
    let link = read_link(body)?;
    let new = store::transaction!(app.db, |tx| -> Result<NewLink, Problem> {
        rules(tx, caller.scope, &link).await?;
        let new = link_tokens::create(tx, caller.scope, &link, LINK_MS).await?;
        let flow_id = link.flow_id.to_string();
        let entry = caller.audit_entry("link.created", &flow_id);
        audit::write(tx, caller.scope, &entry).await?;
        Ok(new)
    })?;
    let token = new.token.expose_secret();
    let url = format!("{}?iswebsdklink=true&token={token}", app.websdk_url);
    Ok((new.id, url))
}

/// Revokes an open link: nobody can open it any more. Revoking it again changes nothing.
///
/// # Errors
/// 404 if there is no such link; 409 if it was used or has expired.
pub async fn revoke_link(app: &App, caller: &Caller, id: &str) -> Result<ListedLink, Problem> {
    let id = Uuid::parse_str(id).map_err(|_| missing("Link"))?;
    store::transaction!(app.db, |tx| -> Result<ListedLink, Problem> {
        let (found, is_new) = link_tokens::revoke(tx, caller.scope, id).await?;
        let link = found.ok_or_else(|| missing("Link"))?;
        let ended = match link.state {
            LinkState::Revoked => None,
            LinkState::Used => Some((
                "link_used",
                "The link was already opened, so it cannot be revoked",
            )),
            LinkState::Expired | LinkState::Open => Some(("link_expired", "The link has already expired")),
        };
        if let Some((name, text)) = ended {
            return Err(Problem::new(Kind::Conflict, text).named(name));
        }
        if is_new {
            let subject = id.to_string();
            audit::write(tx, caller.scope, &caller.audit_entry("link.revoked", &subject)).await?;
        }
        Ok(link)
    })
}

/// Reads the body that requests a link.
fn read_link(body: &Map<String, Value>) -> Result<Link, Problem> {
    let today = Timestamp::now().to_zoned(TimeZone::UTC).date();
    link_of(&LinkRequest::parse(body, today).map_err(faulty)?)
}

/// 400 with every fault of a body.
pub(crate) fn faulty(errors: Vec<String>) -> Problem {
    Problem::invalid(errors.join("; ")).with_errors(errors)
}

/// A link as it is stored.
pub(crate) fn link_of(request: &LinkRequest) -> Result<Link, Problem> {
    let id = |text: &str, what: &str| Uuid::parse_str(text).map_err(|_| missing(what));
    Ok(Link {
        flow_id: id(&request.flow_id, "Flow")?,
        group_id: id(&request.group_id, "Group")?,
        user_id: request.user_id.clone(),
        expected: request.expected.as_ref().map(expected_record).transpose()?,
    })
}

/// The rules of a new link's Flow, if the link may be made.
pub(crate) async fn rules(
    conn: &mut Conn,
    scope: Scope,
    link: &Link,
) -> Result<verification::flow::Flow, Problem> {
    let rules = flows::parse(&configuration(conn, scope, link).await?.into())?;
    if link.expected.is_some() && !rules.may_ask_document() {
        let fault = "expected - must be absent, because this Flow never requires a document";
        return Err(Problem::invalid(fault).with_errors(vec![fault.to_owned()]));
    }
    Ok(rules)
}

/// The expected person as a link and its session keep it.
fn expected_record(person: &ExpectedPerson) -> Result<String, Problem> {
    serde_json::to_string(person).map_err(Problem::internal)
}

/// Whom the merchant expects in a session.
///
/// # Errors
/// 503 if this version cannot read the record: without it, the session's attempts would not be compared.
pub fn expected(session: &Session) -> Result<Option<ExpectedPerson>, Problem> {
    let record = session.link.expected.as_deref();
    record.map(serde_json::from_str).transpose().map_err(|error| {
        let text = "The record of this session cannot be read. A newer version may have written it; an operator finds the reason in the log";
        let fault = verification::json::describe_without_values(&error);
        Problem::unavailable(text).because(format!("session {}, expected: {fault}", session.id))
    })
}

/// A link for the applicant, Group, Flow and expected person of an attempt, so that the applicant can try once more.
pub async fn link_again(app: &App, scope: Scope, log_id: i64, actor: &str) -> Result<String, Problem> {
    let token = store::transaction!(app.db, |tx| -> Result<SecretString, Problem> {
        let attempt = attempts::get(tx, scope, log_id)
            .await?
            .ok_or_else(|| Problem::not_found("There is no such attempt"))?;
        let group_id = attempt.grouping_id.ok_or_else(|| {
            let text = "This attempt has no Group, and a link needs one. Create the link under Links";
            Problem::invalid(text).named("no_group")
        })?;
        let expected = attempt_detail::Detail::of(&attempt)?.expected;
        let link = Link {
            flow_id: attempt.flow_id,
            group_id,
            expected: expected
                .as_ref()
                .map(|one| expected_record(&one.person))
                .transpose()?,
            user_id: attempt.external_user_id,
        };
        configuration(tx, scope, &link).await?;
        let token = link_tokens::create(tx, scope, &link, LINK_MS).await?.token;
        let subject = log_id.to_string();
        let entry = audit::Entry {
            actor,
            action: "link.resubmission",
            subject: &subject,
            detail: "{}",
        };
        audit::write(tx, scope, &entry).await?;
        Ok(token)
    })?;
    let token = token.expose_secret();
    Ok(format!("{}?iswebsdklink=true&token={token}", app.websdk_url))
}

/// The Flow of a link, if Flow and Group still exist and belong together.
pub async fn configuration(conn: &mut Conn, scope: Scope, link: &Link) -> Result<Flow, Problem> {
    let flow = store::flows::get(conn, scope, link.flow_id)
        .await?
        .ok_or_else(|| missing("Flow"))?;
    let group = store::groups::get(conn, scope, link.group_id)
        .await?
        .ok_or_else(|| missing("Group"))?;
    if !group.flows.iter().any(|flow| flow.id == link.flow_id) {
        return Err(Problem::invalid("flowId - the Flow is not a member of the Group"));
    }
    Ok(flow)
}

/// `sdk_id`: a UUID per hosted configuration, which is the Flow's.
pub fn sdk_id(flow_id: Uuid) -> Uuid {
    Uuid::new_v5(&CONFIGURATIONS, flow_id.as_bytes())
}

/// The result of an exchange.
pub struct ExchangedSession {
    /// The new session.
    pub session: Session,
    /// Its access token. It is shown only once.
    pub token: SecretString,
    /// Its account and mode.
    pub scope: Scope,
    /// Its Flow.
    pub flow: Flow,
    /// The token's lifetime in seconds.
    pub expires_in: i64,
}

/// The data behind an unused link.
pub struct Offer {
    /// The account.
    pub merchant: Merchant,
    /// The account and mode.
    pub scope: Scope,
    /// The applicant, Group and Flow.
    pub link: Link,
    /// Its Flow.
    pub flow: Flow,
    /// When the link expires (ms).
    pub expires_at: i64,
}

/// Reads a link token without using it up. It refuses the same tokens as the exchange.
pub async fn offer(app: &App, token: &str) -> Result<Offer, Problem> {
    let mut conn = app.db.read().await?;
    let (merchant, scope, link, expires_at) = require_valid(link_tokens::peek(&mut conn, token).await?)?;
    caller::check_account_may_call(merchant.status, scope.sandbox, crate::problem::Family::Exchange)?;
    let flow = configuration(&mut conn, scope, &link).await?;
    Ok(Offer {
        merchant: *merchant,
        scope,
        link,
        flow,
        expires_at,
    })
}

/// Exchanges a link token for a session. If it is refused, the token stays unused.
pub async fn exchange(app: &App, address: IpAddr, token: &str) -> Result<ExchangedSession, Problem> {
    let Offer { merchant, flow, .. } = offer(app, token).await?;
    check_country(app, address, &merchant, &flow)?;
    let rules = flows::parse(&flow.clone().into())?;
    let max_attempts = i64::from(rules.settings.attempts_per_link);
    let (scope, session, token) =
        store::transaction!(app.db, |tx| -> Result<(Scope, Session, SecretString), Problem> {
            let (_, scope, link, _) = require_valid(link_tokens::redeem(tx, token).await?)?;
            let (session, token) =
                sessions::create(tx, scope, link, None, max_attempts, TOKEN_SECONDS * 1_000).await?;
            Ok((scope, session, token))
        })?;
    count_session();
    Ok(ExchangedSession {
        session,
        token,
        scope,
        flow,
        expires_in: TOKEN_SECONDS,
    })
}

/// Counts a new session.
pub(crate) fn count_session() {
    metrics::counter!("bonafide_sessions_total").increment(1);
}

/// The data behind a link token, or the exchange's refusal.
fn require_valid(token: LinkToken) -> Result<(Box<Merchant>, Scope, Link, i64), Problem> {
    match token {
        LinkToken::Valid {
            merchant,
            scope,
            link,
            expires_at,
        } => Ok((merchant, scope, link, expires_at)),
        LinkToken::Invalid => Err(invalid()),
        LinkToken::Used => Err(used()),
        LinkToken::Expired => Err(expired()),
    }
}

/// 401 for an unknown one-time token.
pub fn invalid() -> Problem {
    Problem::new(
        Kind::WrongCredentials,
        "This link is not valid; please ask for a new one",
    )
}

/// 410 for a one-time token that was used.
pub fn used() -> Problem {
    Problem::new(Kind::Gone, "This link was used already; please ask for a new one").named("token_used")
}

/// The word for a token that has expired.
pub(crate) const EXPIRED: &str = "token_expired";

/// 410 for a one-time token that has expired.
pub fn expired() -> Problem {
    Problem::new(Kind::Gone, "This link has expired; please ask for a new one").named(EXPIRED)
}

/// Refuses visitors from a country that the account or the Flow blocks.
pub fn check_country(app: &App, address: IpAddr, merchant: &Merchant, flow: &Flow) -> Result<(), Problem> {
    let Some(country) = app.geo.country(address) else {
        return match app.config.geo_unknown {
            GeoUnknown::Block => Err(Problem::geo_blocked(None)),
            GeoUnknown::Allow => Ok(()),
        };
    };
    let of_account = merchants::settings(merchant)?.blocked_countries;
    let of_flow = flows::parse(&flow.clone().into())?.geo_blocked;
    let is_blocked = |blocked: &String| blocked.eq_ignore_ascii_case(country.alpha2);
    match of_account.iter().chain(&of_flow).any(is_blocked) {
        true => Err(Problem::geo_blocked(Some(country.alpha2))),
        false => Ok(()),
    }
}

/// The values that a session prescribes for a submission.
pub fn binding(session: &Session) -> SessionBinding {
    SessionBinding {
        session_id: session.id.to_string(),
        flow_id: session.link.flow_id.to_string(),
        grouping_id: session.link.group_id.to_string(),
        external_user_id: session.link.user_id.clone(),
    }
}

/// The session with this `sessionId`; 404 if the account has none, 400 if it has ended.
pub async fn find_open(conn: &mut Conn, scope: Scope, id: &str) -> Result<Session, Problem> {
    let session = find(conn, scope, id).await?;
    match session.is_open(conn.now()) {
        true => Ok(session),
        false => Err(ended_problem()),
    }
}

/// Refuses a session that waits for a reviewer and has no attempts left, before any work is done for it.
pub fn check_attempts(session: &Session) -> Result<(), Problem> {
    if session.attempts < session.max_attempts {
        return Ok(());
    }
    let text = "sessionId - the session has no attempts left; its last one is being reviewed";
    Err(Problem::validation(vec![text.into()]))
}

fn ended_problem() -> Problem {
    Problem::validation(vec!["sessionId - the session has ended".into()])
}

/// The refusal of an attempt that its session no longer accepts.
pub fn ended(caller: &Caller) -> Problem {
    match caller.session {
        Some(_) => caller::session_ended(),
        None => ended_problem(),
    }
}

/// Updates a session by the attempt that was counted.
pub async fn apply_attempt(
    tx: &mut Tx,
    scope: Scope,
    session: &Session,
    log_id: i64,
    outcome: AttemptStatus,
) -> Result<(), Error> {
    let (status, stage) = after_attempt(session, outcome);
    // While another attempt is being reviewed, a failed one does not end the session.
    let waits_for_another = stage == Stage::InReview && outcome != AttemptStatus::Pending;
    let log_id = (!waits_for_another).then_some(log_id);
    sessions::advance(tx, scope, session.id, status, stage, log_id).await?;
    Ok(())
}

/// The state of a session after an attempt that it has counted.
fn after_attempt(session: &Session, outcome: AttemptStatus) -> (SessionStatus, Stage) {
    match outcome {
        AttemptStatus::Approved => (SessionStatus::Success, Stage::Done),
        AttemptStatus::Pending => (SessionStatus::Pending, Stage::InReview),
        _ if session.stage == Stage::InReview => (SessionStatus::Pending, Stage::InReview),
        _ if session.attempts < session.max_attempts => (SessionStatus::Pending, Stage::Open),
        _ => (SessionStatus::Failed, Stage::Done),
    }
}

/// Updates a session, or the invitation that outlives it, by a reviewer's decision on one of its attempts. Terminal states
/// do not change.
pub async fn apply_decision(
    tx: &mut Tx,
    scope: Scope,
    id: Uuid,
    log_id: i64,
    outcome: AttemptStatus,
) -> Result<(), Error> {
    let standing = sessions::get(tx, scope, id).await?.map(|session| session.status);
    if standing != Some(SessionStatus::Pending) {
        // An invitation outlives the session whose attempt is decided.
        let status = match outcome {
            AttemptStatus::Approved => SessionStatus::Success,
            AttemptStatus::Declined => SessionStatus::Failed,
            AttemptStatus::Pending | AttemptStatus::Failed => return Ok(()),
        };
        return sessions::end_invitation(tx, scope, id, status).await;
    }
    let (status, stage) = match outcome {
        AttemptStatus::Approved => (SessionStatus::Success, Stage::Done),
        AttemptStatus::Pending => (SessionStatus::Pending, Stage::InReview),
        // Another attempt of the session may still be approved.
        _ if attempts::any_pending_of_session(tx, scope, id).await? => return Ok(()),
        _ => (SessionStatus::Failed, Stage::Done),
    };
    sessions::advance(tx, scope, id, status, stage, Some(log_id)).await?;
    Ok(())
}

/// A session, with its `result`.
pub struct PollResult {
    /// Its state.
    pub session: Session,
    /// JSON of the deciding attempt's response; `{}` until there is one.
    pub result: String,
}

/// Reads a session's state, or 404. An overdue session is settled first, so that the state that is read is
/// final.
pub async fn poll(app: &App, scope: Scope, id: &str) -> Result<PollResult, Problem> {
    let mut conn = app.db.read().await?;
    let mut session = find(&mut conn, scope, id).await?;
    let may_be_due = session.status == SessionStatus::Pending && !session.is_open(conn.now());
    if may_be_due {
        if admissions::is_due(&mut conn, scope, session.id).await? {
            drop(conn);
            store::transaction!(app.db, |tx| -> Result<bool, Problem> {
                Ok(admissions::expire_if_due(tx, scope, session.id).await?)
            })?;
            conn = app.db.read().await?;
        }
        // If it is not due, the sweep may have settled it since it was read.
        session = find(&mut conn, scope, id).await?;
    }
    let deciding = session.log_id.filter(|_| session.stage != Stage::Open);
    let result = match deciding {
        Some(log_id) => result(&mut conn, scope, log_id).await?,
        None => None,
    };
    Ok(PollResult {
        session,
        result: result.unwrap_or_else(|| "{}".into()),
    })
}

/// An attempt's response, with a reviewer's decision if there is one. `None` if the attempt was erased.
async fn result(conn: &mut Conn, scope: Scope, log_id: i64) -> Result<Option<String>, Problem> {
    let Some(attempt) = attempts::get(conn, scope, log_id).await? else {
        return Ok(None);
    };
    // A response whose screening cannot be read must not reach a client, which would take it for one without
    // hits.
    stored_hits::stored_screening(&attempt)?;
    let Some(last) = attempts::decisions(conn, scope, &attempt).await?.pop() else {
        return Ok(Some(attempt.response));
    };
    let mut response: Map<String, Value> = serde_json::from_str(&attempt.response).map_err(|error| {
        attempt_detail::unreadable(
            log_id,
            "response",
            &verification::json::describe_without_values(&error),
        )
    })?;
    response.insert(
        "review".into(),
        json!({"decision": last.decision, "at": iso(last.at)}),
    );
    Ok(Some(Value::Object(response).to_string()))
}

async fn find(conn: &mut Conn, scope: Scope, id: &str) -> Result<Session, Problem> {
    let id = Uuid::parse_str(id).map_err(|_| missing("Session"))?;
    sessions::get(conn, scope, id)
        .await?
        .ok_or_else(|| missing("Session"))
}

fn missing(what: &str) -> Problem {
    Problem::not_found(format!("{what} not found"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_an_attempt_takes_its_session() {
        use AttemptStatus::{Approved, Failed, Pending};
        use Stage::{Done, InReview, Open};
        for (stage, attempts, outcome, expected) in [
            (Open, 1, Approved, (SessionStatus::Success, Done)),
            (Open, 3, Approved, (SessionStatus::Success, Done)),
            (Open, 1, Failed, (SessionStatus::Pending, Open)),
            (Open, 2, Failed, (SessionStatus::Pending, Open)),
            (Open, 3, Failed, (SessionStatus::Failed, Done)),
            (Open, 3, Pending, (SessionStatus::Pending, InReview)),
            (InReview, 2, Failed, (SessionStatus::Pending, InReview)),
            (InReview, 3, Failed, (SessionStatus::Pending, InReview)),
            (InReview, 3, Approved, (SessionStatus::Success, Done)),
        ] {
            let session = Session {
                id: Uuid::nil(),
                link: Link {
                    group_id: Uuid::nil(),
                    flow_id: Uuid::nil(),
                    user_id: String::new(),
                    expected: None,
                },
                invitation_id: None,
                status: SessionStatus::Pending,
                stage,
                attempts,
                max_attempts: 3,
                log_id: None,
                created_at: 0,
                expires_at: 0,
                completed_at: None,
            };
            assert_eq!(
                after_attempt(&session, outcome),
                expected,
                "{stage:?} {attempts} {outcome:?}"
            );
        }
    }
}
