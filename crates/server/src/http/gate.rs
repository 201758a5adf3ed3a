//! The gate of every authenticated endpoint: who calls, may they, and how often (contract §5, `decisions.md` §1 and §8).
//!
//! A handler behind it takes [`Caller`] as an argument. The gate never looks at a body.

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU32;
use std::time::Duration;

use axum::extract::{ConnectInfo, FromRequestParts, Request, State};
use axum::http::header::HeaderName;
use axum::http::request::Parts;
use axum::http::{Extensions, HeaderMap, HeaderValue, Method};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};
use store::Scope;
use store::audit::Entry;
use store::credentials::{self, AuthOutcome};
use store::limits::{self, Bucket, Quota, Verdict};
use store::merchants::{Merchant, MerchantStatus};
use store::sessions::{self, Session, SessionStatus};
use uuid::Uuid;

use super::api_log::Notes;
use super::authorization::{self, Authorization};
use crate::app::{App, Shared, merchants};
use crate::config::RateClass;
use crate::error::{Family, Kind, Problem};

/// Who calls: an account in one of its modes, or one of its hosted sessions.
#[derive(Clone, Debug)]
pub struct Caller {
    /// The account.
    pub merchant: Merchant,
    /// The account and mode that the key works on.
    pub scope: Scope,
    /// The API key, the session's id, or `staff:ID` of somebody in the portal, for the audit trail.
    pub key: String,
    /// The hosted session whose access token was presented, as it stood then; it may have ended.
    pub session: Option<Session>,
}

impl Caller {
    /// An entry of the audit trail: this caller did something to something.
    pub fn did<'a>(&'a self, action: &'a str, subject: &'a str) -> Entry<'a> {
        Entry {
            actor: &self.key,
            action,
            subject,
            detail: "{}",
        }
    }

    /// Refuses a caller whose hosted session has ended.
    pub fn check_session(&self) -> Result<(), Problem> {
        match &self.session {
            Some(session) if session.status != SessionStatus::Pending => Err(session_ended()),
            _ => Ok(()),
        }
    }
}

/// 401 to a token whose session needs nothing any more.
pub fn session_ended() -> Problem {
    Problem::new(
        Kind::WrongCredentials,
        "The session of this access token has ended",
    )
}

impl<S: Sync> FromRequestParts<S> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let missing = || Problem::internal("a handler takes a Caller but its route has no gate");
        parts.extensions.get::<Caller>().cloned().ok_or_else(missing)
    }
}

/// Middleware: authenticates, checks the account's status, takes one from the rate limit.
pub async fn layer(State(app): State<Shared>, mut request: Request, next: Next) -> Response {
    let address = client_address(&app, request.extensions(), request.headers());
    let family = Family::of(request.uri().path());
    let caller = match authenticate(&app, request.headers(), family, address).await {
        Ok(caller) => caller,
        Err(problem) => return problem.into_response(),
    };
    if let Some(notes) = request.extensions().get::<Notes>() {
        notes.caller(caller.scope, &caller.key);
    }
    let class = match (family, request.method()) {
        (Family::Monitoring, _) => RateClass::Monitoring,
        (_, &Method::GET | &Method::HEAD) => RateClass::Reads,
        (Family::Verify, _) => RateClass::Verify,
        _ => RateClass::Writes,
    };
    let limit = match limit_of(&app, class, &caller.merchant) {
        Ok(limit) => limit,
        Err(problem) => return problem.into_response(),
    };
    let verdict = take(&app, class, limit, caller.scope.merchant_id, &caller.key).await;
    request.extensions_mut().insert(caller);
    within(verdict, request, next).await
}

/// Middleware of what strangers may call with a one-time token: takes one from their address's rate limit.
pub async fn strangers(State(app): State<Shared>, request: Request, next: Next) -> Response {
    let address = client_address(&app, request.extensions(), request.headers());
    let who = hashed(&visitor(address).to_string());
    let class = RateClass::Exchange;
    let verdict = take(&app, class, app.config.rate(class), Uuid::nil(), &who).await;
    within(verdict, request, next).await
}

/// Middleware of the hosted page itself, which looks at tokens too: a limit of its own, ten times that of the exchange.
pub async fn visitors(State(app): State<Shared>, request: Request, next: Next) -> Response {
    let address = client_address(&app, request.extensions(), request.headers());
    let who = hashed(&visitor(address).to_string());
    let class = RateClass::Page;
    let verdict = take(&app, class, app.config.rate(class), Uuid::nil(), &who).await;
    within(verdict, request, next).await
}

/// Answers the request if the limiter lets it, and says how much is left.
async fn within(verdict: Result<Option<Verdict>, Problem>, request: Request, next: Next) -> Response {
    let verdict = match verdict {
        Ok(Some(verdict)) => verdict,
        Ok(None) => return next.run(request).await,
        Err(problem) => return problem.into_response(),
    };
    let mut response = if verdict.allowed {
        next.run(request).await
    } else {
        too_many(&verdict).into_response()
    };
    let figures = [
        ("ratelimit-limit", u64::from(verdict.limit)),
        ("ratelimit-remaining", u64::from(verdict.remaining)),
        ("ratelimit-reset", verdict.reset_s),
    ];
    for (name, value) in figures {
        response
            .headers_mut()
            .insert(HeaderName::from_static(name), HeaderValue::from(value));
    }
    response
}

async fn authenticate(
    app: &App,
    headers: &HeaderMap,
    family: Family,
    address: IpAddr,
) -> Result<Caller, Problem> {
    let presented = authorization::parse(headers)
        .map_err(|error| Problem::new(Kind::Unauthenticated, error.to_string()))?;
    let takes = |what: &str| {
        let text = format!("Authorization header is malformed: this endpoint takes `{what}`");
        Problem::new(Kind::Unauthenticated, text)
    };
    match (presented, family) {
        (Authorization::Basic { .. }, Family::Exchange) => Err(takes("Bearer <ACCESS_TOKEN>")),
        (Authorization::Basic { key, secret }, _) => with_key(app, key, &secret, family, address).await,
        (Authorization::Bearer(token), Family::Verify | Family::Exchange) => {
            with_token(app, &token, family, address).await
        }
        (Authorization::Bearer(_), _) => Err(takes("Basic base64(<API_KEY>:<SECRET>)")),
    }
}

async fn with_key(
    app: &App,
    key: String,
    secret: &SecretString,
    family: Family,
    address: IpAddr,
) -> Result<Caller, Problem> {
    let outcome = credentials::authenticate(&mut app.db.read().await?, &key, secret.expose_secret()).await?;
    let AuthOutcome::Accepted(found) = outcome else {
        let text = match family {
            Family::GroupsAndFlows | Family::LinkAndPoll => "Invalid API key/secret combination",
            Family::Monitoring => "Invalid credentials",
            _ => "Invalid merchant key or secret",
        };
        return Err(failed(app, &key, address, text).await);
    };
    allowed(found.merchant.status, found.scope.sandbox, family)?;
    Ok(Caller {
        merchant: found.merchant,
        scope: found.scope,
        key,
        session: None,
    })
}

async fn with_token(
    app: &App,
    token: &SecretString,
    family: Family,
    address: IpAddr,
) -> Result<Caller, Problem> {
    let found = sessions::by_access_token(&mut app.db.read().await?, token.expose_secret()).await?;
    let Some((merchant, scope, session)) = found else {
        let text = "The access token is not valid or has expired";
        return Err(failed(app, "bearer", address, text).await);
    };
    allowed(merchant.status, scope.sandbox, family)?;
    Ok(Caller {
        merchant,
        scope,
        key: format!("session {}", session.id),
        session: Some(session),
    })
}

/// `decisions.md` §1: suspended is shut out everywhere; live keys, and Groups and Flows with either key, need approval.
pub fn allowed(status: MerchantStatus, sandbox: bool, family: Family) -> Result<(), Problem> {
    match status {
        MerchantStatus::Approved => Ok(()),
        MerchantStatus::Suspended => Err(Problem::new(Kind::Forbidden, "The merchant account is suspended")),
        _ if family == Family::GroupsAndFlows || !sandbox => Err(Problem::new(
            Kind::Forbidden,
            "Merchant application not completed or approved",
        )),
        _ => Ok(()),
    }
}

/// What the gate asks before a screening, for one by hand in the portal. An account's members share a limit: those who decide theirs, those
/// who only look another of the same size, so that nobody who only looks keeps anybody from deciding.
pub async fn screens(app: &App, caller: &Caller, decides: bool) -> Result<(), Problem> {
    allowed(caller.merchant.status, caller.scope.sandbox, Family::Monitoring)?;
    let class = RateClass::Monitoring;
    let limit = limit_of(app, class, &caller.merchant)?;
    let who = if decides { "portal" } else { "portal, looking" };
    match take(app, class, limit, caller.scope.merchant_id, who).await? {
        Some(verdict) if !verdict.allowed => Err(too_many(&verdict)),
        _ => Ok(()),
    }
}

/// A failed authentication counts against the key and the address; too many answer 429.
async fn failed(app: &App, key: &str, address: IpAddr, text: &str) -> Problem {
    let who = hashed(&format!("{key}@{}", visitor(address)));
    let class = RateClass::FailedAuth;
    match take(app, class, app.config.rate(class), Uuid::nil(), &who).await {
        Ok(Some(verdict)) if !verdict.allowed => too_many(&verdict),
        Ok(_) => Problem::new(Kind::WrongCredentials, text),
        Err(problem) => problem,
    }
}

/// Whom an address is counted as: one customer of an IPv6 network has a whole /64.
pub fn visitor(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            [a, b, c, d, 0, 0, 0, 0].into()
        }
        address => address,
    }
}

/// How buckets name addresses, which are personal data.
pub fn hashed(text: &str) -> String {
    hex::encode(Sha256::digest(text))
}

/// How many requests of a class an account's keys may make a minute: its own limit, else the server's. Read with the account at every
/// request, so a change holds on every node at once.
fn limit_of(app: &App, class: RateClass, merchant: &Merchant) -> Result<Option<u32>, Problem> {
    let own = merchants::settings(merchant)?.rate(class);
    Ok(own.or_else(|| app.config.rate(class)))
}

async fn take(
    app: &App,
    class: RateClass,
    limit: Option<u32>,
    merchant_id: Uuid,
    who: &str,
) -> Result<Option<Verdict>, Problem> {
    let Some(limit) = limit.and_then(NonZeroU32::new) else {
        return Ok(None);
    };
    let name = format!("{} {who}", class.as_str());
    let quota = Quota {
        limit,
        per: Duration::from_secs(60),
    };
    // A power cut must not reset the count of failed guesses at a secret; it may reset other rates.
    let db = match class {
        RateClass::FailedAuth | RateClass::SignIn => app.db.clone(),
        _ => app.db.traffic(),
    };
    store::transaction!(db, |tx| -> Result<Option<Verdict>, Problem> {
        Ok(Some(
            limits::take(
                tx,
                Bucket {
                    merchant_id,
                    name: &name,
                },
                quota,
            )
            .await?,
        ))
    })
}

fn too_many(verdict: &Verdict) -> Problem {
    Problem::new(Kind::RateLimited, "Too many requests; please slow down")
        .retry_after(Duration::from_secs(verdict.retry_after_s))
}

/// The caller's address; a forwarded one is believed from configured proxies only.
pub struct ClientAddress(pub IpAddr);

impl FromRequestParts<Shared> for ClientAddress {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, app: &Shared) -> Result<Self, Infallible> {
        Ok(ClientAddress(client_address(
            app,
            &parts.extensions,
            &parts.headers,
        )))
    }
}

fn client_address(app: &App, extensions: &Extensions, headers: &HeaderMap) -> IpAddr {
    let peer = extensions
        .get::<ConnectInfo<SocketAddr>>()
        .map_or(IpAddr::from([0, 0, 0, 0]), |ConnectInfo(address)| {
            address.ip().to_canonical()
        });
    forwarded(peer, &app.config.trusted_proxies, headers).unwrap_or(peer)
}

/// Whether an address is a trusted proxy's, who brings others' requests.
pub fn is_proxy(address: IpAddr, trusted: &[IpAddr]) -> bool {
    trusted.contains(&address.to_canonical())
}

/// The right-most address in `X-Forwarded-For` that is not a trusted proxy's, when the peer is one.
fn forwarded(peer: IpAddr, trusted: &[IpAddr], headers: &HeaderMap) -> Option<IpAddr> {
    if !is_proxy(peer, trusted) {
        return None;
    }
    let lists: Vec<&str> = headers
        .get_all("x-forwarded-for")
        .iter()
        .map(|value| value.to_str().unwrap_or_default())
        .collect();
    for address in lists.join(",").rsplit(',') {
        // What cannot be read ends the chain of trust: everything left of it is the client's own word.
        let address: IpAddr = address.trim().parse().ok()?;
        if !is_proxy(address, trusted) {
            return Some(address.to_canonical());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_decides_who_may_enter() {
        use MerchantStatus::{Approved, Draft, Suspended};
        for (status, sandbox, family, entry) in [
            (Approved, false, Family::Verify, true),
            (Draft, true, Family::Verify, true),
            (Draft, false, Family::Verify, false),
            (Draft, true, Family::GroupsAndFlows, false),
            (Suspended, true, Family::Applicants, false),
        ] {
            assert_eq!(
                allowed(status, sandbox, family).is_ok(),
                entry,
                "{status:?} {sandbox} {family:?}"
            );
        }
    }

    #[test]
    fn an_ipv6_network_is_one_visitor() {
        let counted = |address: &str| visitor(address.parse().unwrap()).to_string();
        assert_eq!(counted("2a00:1450:4001:80e:1:2:3:4"), "2a00:1450:4001:80e::");
        assert_eq!(counted("93.184.216.34"), "93.184.216.34");
        assert_eq!(counted("::ffff:93.184.216.34"), "93.184.216.34");
    }

    #[test]
    fn forwarded_addresses_are_believed_from_proxies_only() {
        let (proxy, stranger): (IpAddr, IpAddr) = ([10, 0, 0, 1].into(), [203, 0, 113, 9].into());
        let mut headers = HeaderMap::new();
        headers.append(
            "x-forwarded-for",
            HeaderValue::from_static("6.6.6.6, 203.0.113.9, 10.0.0.1"),
        );
        assert_eq!(forwarded(proxy, &[proxy], &headers), Some(stranger));
        assert_eq!(forwarded(stranger, &[proxy], &headers), None);
        headers.append("x-forwarded-for", HeaderValue::from_static("203.0.113.9:4711"));
        assert_eq!(
            forwarded(proxy, &[proxy], &headers),
            None,
            "the client's own text is not believed"
        );
    }
}
