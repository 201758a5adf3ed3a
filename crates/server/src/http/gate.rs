//! The gate of every authenticated endpoint: who calls, may they, and how often (contract §5, `decisions.md` §1 and §8).
//!
//! A handler behind it takes [`Caller`] as an argument. The gate never looks at a body.

use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU32;
use std::time::Duration;

use axum::extract::{ConnectInfo, FromRequestParts, Request, State};
use axum::http::header::HeaderName;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use secrecy::ExposeSecret;
use sha2::{Digest, Sha256};
use store::Scope;
use store::audit::Entry;
use store::credentials::{self, AuthOutcome};
use store::limits::{self, Bucket, Quota, Verdict};
use store::merchants::{Merchant, MerchantStatus};
use uuid::Uuid;

use super::authorization::{self, Authorization};
use crate::app::{App, Shared};
use crate::config::RateClass;
use crate::error::{Family, Kind, Problem};

/// Who calls: an account in one of its modes.
#[derive(Clone, Debug)]
pub struct Caller {
    /// The account.
    pub merchant: Merchant,
    /// The account and mode that the key works on.
    pub scope: Scope,
    /// The API key, for the audit trail.
    pub key: String,
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
    let address = client_address(&app, &request);
    let family = Family::of(request.uri().path());
    let caller = match authenticate(&app, request.headers(), family, address).await {
        Ok(caller) => caller,
        Err(problem) => return problem.into_response(),
    };
    let class = match (family, request.method()) {
        (Family::Monitoring, _) => RateClass::Monitoring,
        (_, &Method::GET | &Method::HEAD) => RateClass::Reads,
        (Family::Verify, _) => RateClass::Verify,
        _ => RateClass::Writes,
    };
    let verdict = match take(&app, class, caller.scope.merchant_id, &caller.key).await {
        Ok(verdict) => verdict,
        Err(problem) => return problem.into_response(),
    };
    let mut response = match &verdict {
        Some(verdict) if !verdict.allowed => too_many(verdict).into_response(),
        _ => {
            request.extensions_mut().insert(caller);
            next.run(request).await
        }
    };
    if let Some(verdict) = verdict {
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
    let (key, secret) = match presented {
        Authorization::Basic { key, secret } => (key, secret),
        Authorization::Bearer(_) if family == Family::Verify => {
            let text = "The access token is not valid or has expired";
            return Err(failed(app, "bearer", address, text).await);
        }
        Authorization::Bearer(_) => {
            let text =
                "Authorization header is malformed: this endpoint takes `Basic base64(<API_KEY>:<SECRET>)`";
            return Err(Problem::new(Kind::Unauthenticated, text));
        }
    };
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
    })
}

/// `decisions.md` §1: suspended is shut out everywhere; live keys, and Groups and Flows with either key, need approval.
fn allowed(status: MerchantStatus, sandbox: bool, family: Family) -> Result<(), Problem> {
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

/// A failed authentication counts against the key and the address; too many answer 429. The bucket's name is a hash, since
/// addresses are personal data.
async fn failed(app: &App, key: &str, address: IpAddr, text: &str) -> Problem {
    let who = hex::encode(Sha256::digest(format!("{key}@{address}")));
    match take(app, RateClass::FailedAuth, Uuid::nil(), &who).await {
        Ok(Some(verdict)) if !verdict.allowed => too_many(&verdict),
        Ok(_) => Problem::new(Kind::WrongCredentials, text),
        Err(problem) => problem,
    }
}

async fn take(app: &App, class: RateClass, merchant_id: Uuid, who: &str) -> Result<Option<Verdict>, Problem> {
    let Some(limit) = app.config.rate(class).and_then(NonZeroU32::new) else {
        return Ok(None);
    };
    let name = format!("{} {who}", class.as_str());
    let quota = Quota {
        limit,
        per: Duration::from_secs(60),
    };
    store::transaction!(app.db, |tx| -> Result<Option<Verdict>, Problem> {
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
pub fn client_address(app: &App, request: &Request) -> IpAddr {
    let peer = request
        .extensions()
        .get::<ConnectInfo<SocketAddr>>()
        .map_or(IpAddr::from([0, 0, 0, 0]), |ConnectInfo(address)| address.ip());
    forwarded(peer, &app.config.trusted_proxies, request.headers()).unwrap_or(peer)
}

/// The right-most address in `X-Forwarded-For` that is not a trusted proxy's, when the peer is one.
fn forwarded(peer: IpAddr, trusted: &[IpAddr], headers: &HeaderMap) -> Option<IpAddr> {
    if !trusted.contains(&peer.to_canonical()) {
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
        if !trusted.contains(&address.to_canonical()) {
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
