//! The hosted page's side of a session: previews of a link, the session's state, consent, the hand-off to a
//! second device, and the events of the funnel. [`crate::sessions`] decides how attempts change a session.

use std::net::IpAddr;

use jiff::Timestamp;
use rand::random_range;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value};
use store::audit::{self, Entry};
use store::consents::{self, Consent};
use store::flows::{Flow, FlowContent};
use store::handoffs::{self, Handoff, HandoffToken};
use store::merchants::Merchant;
use store::session_events::{self, Event, EventSource};
use store::sessions::{Link, Session, SessionStatus, Stage};
use store::{Conn, Scope, attempts};
use uuid::Uuid;
use verification::codes::Code;
use verification::flow::Configuration;
use verification::hosted::{self, CountryOffer, parse_page_events};
use verification::judge::expected;
use verification::settings::ReviewPolicy;
use verification::status::AttemptStatus;

use super::branding::{self, Branding};
use super::sessions::{self, ExchangedSession, Offer};
use super::{App, applicant_invitations, attempt_detail, flows};
use crate::caller::{self, Caller};
use crate::problem::{Family, Problem};

/// Further events of a session are dropped, because no real applicant causes so many.
const MAX_EVENTS_OF_SESSION: i64 = 1_000;

/// A preview of a link, before its exchange.
#[derive(Clone, Debug)]
pub struct Preview {
    /// The merchant's branding.
    pub branding: Branding,
    /// Whether it is a sandbox session.
    pub sandbox: bool,
    /// The required data and documents, except for countries with an override.
    pub configuration: Configuration,
    /// Whether applicants of some country send a document and a selfie, which the consent then covers.
    pub asks_document: bool,
    /// The estimated duration in minutes.
    pub minutes: u32,
    /// When the link expires (ms).
    pub expires_at: i64,
}

impl Preview {
    fn of(offer: Offer) -> Result<Self, Problem> {
        Preview::new(&offer.merchant, offer.scope, offer.flow, offer.expires_at)
    }

    fn new(merchant: &Merchant, scope: Scope, flow: Flow, expires_at: i64) -> Result<Self, Problem> {
        let rules = flows::parse(&flow.into())?;
        Ok(Preview {
            branding: branding::branding(merchant)?,
            sandbox: scope.sandbox,
            minutes: hosted::estimated_minutes(&rules.defaults),
            asks_document: rules.may_ask_document(),
            configuration: rules.defaults,
            expires_at,
        })
    }
}

/// Previews a link's token without using it up. It refuses the same tokens as the exchange.
pub async fn preview(app: &App, token: &str) -> Result<Preview, Problem> {
    Preview::of(sessions::offer(app, token).await?)
}

/// As [`preview`], for an invitation's token. It refuses the same tokens as the opening of a session.
pub async fn invitation_preview(app: &App, token: &str) -> Result<Preview, Problem> {
    Preview::of(applicant_invitations::offer(app, token).await?)
}

/// As [`preview`], for a hand-off's token.
pub async fn handoff_preview(app: &App, token: &str) -> Result<Preview, Problem> {
    let mut conn = app.db.read().await?;
    let Claimable {
        merchant,
        scope,
        session,
        handoff,
    } = claimable(handoffs::peek(&mut conn, token).await?)?;
    let flow = sessions::configuration(&mut conn, scope, &session.link).await?;
    Preview::new(&merchant, scope, flow, handoff.expires_at)
}

/// What a session of a Flow would show, without a session: the portal's preview of a Flow. It stores nothing.
pub struct Rehearsal {
    /// The preview of its link.
    pub preview: Preview,
    /// The session's state.
    pub current: SessionState,
    /// The required documents by country.
    pub offers: Vec<CountryOffer>,
}

/// The remaining time that a rehearsal shows.
const REHEARSAL_MS: i64 = 24 * 60 * 60 * 1_000;

/// Rehearses a Flow, which need not be saved.
pub fn rehearse(merchant: &Merchant, scope: Scope, content: FlowContent) -> Result<Rehearsal, Problem> {
    let rules = flows::parse(&content)?;
    let now = Timestamp::now().as_millisecond();
    let flow = Flow {
        id: Uuid::new_v4(),
        name: content.name,
        default_fields: content.default_fields,
        default_document_types: content.default_document_types,
        country_overrides: content.country_overrides,
        geo_blocked_countries: content.geo_blocked_countries,
        webhook_url: None,
        min_age: content.min_age,
        max_age: content.max_age,
        settings: content.settings,
        created_at: now,
        updated_at: now,
    };
    let session = Session {
        id: Uuid::new_v4(),
        link: Link {
            group_id: Uuid::new_v4(),
            flow_id: flow.id,
            user_id: "preview".into(),
            expected: None,
        },
        invitation_id: None,
        status: SessionStatus::Pending,
        stage: Stage::Open,
        attempts: 0,
        max_attempts: i64::from(rules.settings.attempts_per_link),
        log_id: None,
        created_at: now,
        expires_at: now + REHEARSAL_MS,
        completed_at: None,
    };
    Ok(Rehearsal {
        preview: Preview::new(merchant, scope, flow.clone(), session.expires_at)?,
        offers: hosted::country_offers(&rules, scope.sandbox),
        current: SessionState {
            session,
            scope,
            flow,
            branding: branding::branding(merchant)?,
            consent: None,
            outcome: None,
            handoff: None,
            can_start_again: false,
        },
    })
}

/// A session's state, for its own applicant.
pub struct SessionState {
    /// The session.
    pub session: Session,
    /// Its account and mode.
    pub scope: Scope,
    /// Its Flow.
    pub flow: Flow,
    /// The merchant's branding.
    pub branding: Branding,
    /// The applicant's last answer to the consent text.
    pub consent: Option<Consent>,
    /// The outcome of the last attempt.
    pub outcome: Option<Outcome>,
    /// The second device, and the last step that it reached.
    pub handoff: Option<(Handoff, Option<String>)>,
    /// Whether the session has ended and its invitation opens another one.
    pub can_start_again: bool,
}

/// An attempt's outcome, as its applicant may know it. It reveals nothing about sanctions.
pub struct Outcome {
    /// `approved`, `pending` or `failed`.
    pub status: &'static str,
    /// The failure codes.
    pub codes: Vec<u16>,
    /// The attempt failed because the document is not the expected person's, so that no correction of entries helps.
    pub is_unexpected: bool,
    /// When (ms).
    pub at: i64,
}

/// The state of the caller's session, even if it has ended.
pub async fn current(app: &App, caller: &Caller) -> Result<SessionState, Problem> {
    let session = session(caller)?;
    let mut conn = app.db.read().await?;
    let flow = store::flows::get(&mut conn, caller.scope, session.link.flow_id)
        .await?
        .ok_or_else(|| Problem::not_found("The Flow of this session was deleted"))?;
    let handoff = match handoffs::of_session(&mut conn, caller.scope, session.id).await? {
        Some(handoff) => {
            let step = session_events::handoff_step(&mut conn, caller.scope, session.id).await?;
            Some((handoff, step))
        }
        None => None,
    };
    let is_decided = flows::parse(&flow.clone().into())?.review_policy() == ReviewPolicy::Never;
    Ok(SessionState {
        consent: consents::of_session(&mut conn, caller.scope, session.id).await?,
        outcome: outcome(&mut conn, caller.scope, session, is_decided).await?,
        can_start_again: applicant_invitations::can_start_again(&mut conn, caller.scope, session).await?,
        handoff,
        flow,
        branding: branding::branding(&caller.merchant)?,
        scope: caller.scope,
        session: session.clone(),
    })
}

/// `is_decided`: the Flow fails unexpected people without review. Otherwise only reviewers learn of them.
async fn outcome(
    conn: &mut Conn,
    scope: Scope,
    session: &Session,
    is_decided: bool,
) -> Result<Option<Outcome>, Problem> {
    let Some(log_id) = session.log_id else {
        return Ok(None);
    };
    let Some(attempt) = attempts::get(conn, scope, log_id).await? else {
        return Ok(None);
    };
    let expected = attempt_detail::Detail::of(&attempt)?.expected;
    let difference = expected.as_ref().and_then(expected::difference);
    let codes = applicant_codes(&attempt.codes)
        .map_err(|fault| attempt_detail::unreadable(log_id, "codes", &fault))?;
    Ok(Some(Outcome {
        is_unexpected: is_decided && difference.is_some_and(|code| codes.contains(&code.number())),
        status: match attempt.status {
            AttemptStatus::Approved => "approved",
            AttemptStatus::Pending => "pending",
            AttemptStatus::Declined | AttemptStatus::Failed => "failed",
        },
        codes,
        at: attempt.decided_at.unwrap_or(attempt.created_at),
    }))
}

/// The codes that the applicant receives. A sanctions match is removed, because applicants must not learn of
/// it.
fn applicant_codes(codes: &str) -> Result<Vec<u16>, String> {
    let mut codes: Vec<u16> =
        serde_json::from_str(codes).map_err(|error| verification::json::describe_without_values(&error))?;
    codes.retain(|code| *code != Code::SanctionsMatch.number());
    Ok(codes)
}

/// Records the applicant's answer to the consent text, and returns when (ms).
pub async fn consent(app: &App, caller: &Caller, body: &Map<String, Value>) -> Result<i64, Problem> {
    let session = open_session(caller)?;
    let said = hosted::Consent::parse(body).map_err(Problem::validation)?;
    let subject = session.id.to_string();
    let detail = serde_json::json!({
        "version": said.version, "language": said.language, "accepted": said.accepted,
    })
    .to_string();
    store::transaction!(app.db, |tx| -> Result<i64, Problem> {
        let at = consents::record(
            tx,
            caller.scope,
            session.id,
            &said.version,
            &said.language,
            said.accepted,
        )
        .await?;
        let action = if said.accepted {
            "consent.given"
        } else {
            "consent.refused"
        };
        let entry = Entry {
            detail: &detail,
            ..caller.audit_entry(action, &subject)
        };
        audit::write(tx, caller.scope, &entry).await?;
        Ok(at)
    })
}

/// The required documents by country, and the preselected country (alpha-3).
pub async fn documents(
    app: &App,
    caller: &Caller,
    address: IpAddr,
) -> Result<(Option<&'static str>, Vec<CountryOffer>), Problem> {
    let link = &session(caller)?.link;
    let flow = sessions::configuration(&mut app.db.read().await?, caller.scope, link).await?;
    let offers = hosted::country_offers(&flows::parse(&flow.into())?, caller.scope.sandbox);
    let preselected = match offers.first() {
        // In the sandbox, the specimen state is the first country.
        Some(first) if caller.scope.sandbox => Some(first.country.alpha3),
        _ => app.geo.country(address).map(|country| country.alpha3),
    };
    Ok((preselected, offers))
}

/// A hand-off's link. It is shown only once.
pub struct HandoffLink {
    /// The address to open on the second device.
    pub url: String,
    /// A number that both devices show.
    pub number: i64,
    /// When the link expires (ms).
    pub expires_at: i64,
}

/// Creates a link that moves the caller's session to a second device. It replaces an earlier one.
pub async fn hand_off(app: &App, caller: &Caller) -> Result<HandoffLink, Problem> {
    let session = open_session(caller)?;
    let number = random_range(10..=99);
    let subject = session.id.to_string();
    let token = store::transaction!(app.db, |tx| -> Result<SecretString, Problem> {
        let token = handoffs::create(tx, caller.scope, session.id, number, session.expires_at).await?;
        audit::write(tx, caller.scope, &caller.audit_entry("handoff.created", &subject)).await?;
        Ok(token)
    })?;
    Ok(HandoffLink {
        url: format!("{}?handoff={}", app.websdk_url, token.expose_secret()),
        number,
        expires_at: session.expires_at,
    })
}

/// A hand-off that can be claimed.
struct Claimable {
    merchant: Merchant,
    scope: Scope,
    session: Session,
    handoff: Handoff,
}

/// Checks a hand-off's token, with the same refusals as the exchange.
fn claimable(token: HandoffToken) -> Result<Claimable, Problem> {
    match token {
        HandoffToken::Valid { session, .. } if !is_open(&session) => Err(sessions::expired()),
        HandoffToken::Valid {
            merchant,
            scope,
            session,
            handoff,
        } => {
            caller::check_account_may_call(merchant.status, scope.sandbox, Family::Exchange)?;
            Ok(Claimable {
                merchant: *merchant,
                scope,
                session: *session,
                handoff,
            })
        }
        HandoffToken::Invalid => Err(sessions::invalid()),
        HandoffToken::Used => Err(sessions::used()),
        HandoffToken::Expired => Err(sessions::expired()),
    }
}

/// Moves a session to the caller's device. If it is refused, the token stays unused.
pub async fn claim(app: &App, address: IpAddr, token: &str) -> Result<(ExchangedSession, i64), Problem> {
    let Claimable {
        merchant,
        scope,
        session,
        ..
    } = claimable(handoffs::peek(&mut app.db.read().await?, token).await?)?;
    let flow = sessions::configuration(&mut app.db.read().await?, scope, &session.link).await?;
    sessions::check_country(app, address, &merchant, &flow)?;
    let subject = session.id.to_string();
    store::transaction!(app.db, |tx| -> Result<(ExchangedSession, i64), Problem> {
        let (found, access) = handoffs::claim(tx, token).await?;
        let Claimable {
            scope,
            session,
            handoff,
            ..
        } = claimable(found)?;
        let access = access.ok_or_else(|| Problem::internal("a claimed hand-off without a token"))?;
        let entry = Entry {
            actor: "hosted page",
            action: "handoff.claimed",
            subject: &subject,
            detail: "{}",
        };
        audit::write(tx, scope, &entry).await?;
        let expires_in = (session.expires_at - tx.now()) / 1_000;
        let exchanged = ExchangedSession {
            session,
            token: access,
            scope,
            flow: flow.clone(),
            expires_in,
        };
        Ok((exchanged, handoff.number))
    })
}

/// Ends the second device's access, because the numbers did not match.
pub async fn reject(app: &App, caller: &Caller, token: &SecretString) -> Result<(), Problem> {
    let session = session(caller)?;
    let subject = session.id.to_string();
    store::transaction!(app.db, |tx| -> Result<(), Problem> {
        if !handoffs::reject(tx, caller.scope, session.id, token.expose_secret()).await? {
            return Err(Problem::invalid(
                "Only the device that the session was handed to can reject it",
            ));
        }
        audit::write(
            tx,
            caller.scope,
            &caller.audit_entry("handoff.rejected", &subject),
        )
        .await?;
        Ok(())
    })
}

/// Stores the page's events for the funnel.
pub async fn record_events(
    app: &App,
    caller: &Caller,
    token: &SecretString,
    (address, user_agent): (IpAddr, &str),
    body: &Map<String, Value>,
) -> Result<(), Problem> {
    let session = session(caller)?;
    let told = parse_page_events(body).map_err(Problem::validation)?;
    let events: Vec<Event<'_>> = told
        .events
        .iter()
        .map(|event| Event {
            step: event.step,
            kind: event.kind,
            ms: event.ms,
            detail: event.detail,
        })
        .collect();
    store::transaction!(app.db, |tx| -> Result<(), Problem> {
        let source = EventSource {
            device: device(user_agent),
            country: app.geo.country(address).map(|country| country.alpha2),
            language: told.language,
            is_handoff: handoffs::is_second_device(tx, caller.scope, session.id, token.expose_secret())
                .await?,
        };
        let of = (session.id, session.link.flow_id);
        session_events::append(tx, caller.scope, of, source, &events, MAX_EVENTS_OF_SESSION).await?;
        Ok(())
    })
}

/// The classes of devices.
pub const DEVICES: [&str; 4] = ["phone", "tablet", "desktop", "other"];

/// The class of a device, one of [`DEVICES`], by its `User-Agent`. (Apple's tablets identify as desktops.)
fn device(user_agent: &str) -> &'static str {
    let says = |words: &[&str]| words.iter().any(|word| user_agent.contains(word));
    if says(&["iPad", "Tablet"]) || (says(&["Android"]) && !says(&["Mobile"])) {
        "tablet"
    } else if says(&["Mobi", "iPhone", "Android"]) {
        "phone"
    } else if says(&["Windows", "Macintosh", "X11", "CrOS"]) {
        "desktop"
    } else {
        "other"
    }
}

fn session(caller: &Caller) -> Result<&Session, Problem> {
    caller
        .session
        .as_ref()
        .ok_or_else(|| Problem::internal("a route of the hosted page let a key in"))
}

fn open_session(caller: &Caller) -> Result<&Session, Problem> {
    caller.check_session()?;
    session(caller)
}

fn is_open(session: &Session) -> bool {
    session.status == store::sessions::SessionStatus::Pending
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_told_apart_roughly() {
        for (user_agent, expected) in [
            (
                "Mozilla/5.0 (iPhone; CPU iPhone OS 26_0 like Mac OS X) AppleWebKit/605.1.15 Mobile/15E148",
                "phone",
            ),
            (
                "Mozilla/5.0 (Linux; Android 16) AppleWebKit/537.36 Chrome/144.0 Mobile Safari/537.36",
                "phone",
            ),
            (
                "Mozilla/5.0 (Linux; Android 16) AppleWebKit/537.36 Chrome/144.0 Safari/537.36",
                "tablet",
            ),
            (
                "Mozilla/5.0 (iPad; CPU OS 12_0 like Mac OS X) Mobile/15E148",
                "tablet",
            ),
            (
                "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 HeadlessChrome/144.0 Safari/537.36",
                "desktop",
            ),
            ("Mozilla/5.0 (Windows NT 10.0; Win64; x64)", "desktop"),
            ("curl/8", "other"),
            ("", "other"),
        ] {
            assert_eq!(device(user_agent), expected, "{user_agent}");
        }
    }

    #[test]
    fn nothing_of_sanctions_is_told() {
        assert_eq!(applicant_codes("[2702,2509]"), Ok(vec![2509]));
        assert_eq!(applicant_codes("[2702]"), Ok(vec![]));
        for unreadable in ["{}", "[2509", "[\"2509\"]", ""] {
            assert!(applicant_codes(unreadable).is_err(), "{unreadable}");
        }
    }
}
