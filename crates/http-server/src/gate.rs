//! The gate of every authenticated endpoint: who calls, may they, and how often (contract §5, `docs/decisions/0001-accounts-and-credentials.md` and `0009-rate-limits-and-capacity.md`).
//!
//! A handler behind it takes [`Authenticated`] as an argument. The gate never looks at a body.

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};

use axum::extract::{ConnectInfo, FromRequestParts, Request, State};
use axum::http::header::HeaderName;
use axum::http::request::Parts;
use axum::http::{Extensions, HeaderMap, HeaderValue, Method};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use service::authentication::{with_key, with_token};
use service::caller::Caller;
use service::config::RateClass;
use service::problem::{Family, Kind, Problem};
use service::rates::{hashed, limit_of, take, too_many, visitor};
use service::{App, Shared};
use store::limits::Verdict;
use uuid::Uuid;

use crate::api_log::Notes;
use crate::authorization::{self, Authorization};
use crate::error::Rejection;
use crate::hosts::is_proxy;

/// The caller that the gate authenticated, as a handler's argument.
pub struct Authenticated(pub Caller);

impl<S: Sync> FromRequestParts<S> for Authenticated {
    type Rejection = Rejection;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Rejection> {
        let missing = || Problem::internal("a handler takes a Caller but its route has no gate");
        let caller = parts.extensions.get::<Caller>().cloned();
        Ok(Authenticated(caller.ok_or_else(missing)?))
    }
}

/// Middleware: authenticates, checks the account's status, takes one from the rate limit.
pub async fn layer(State(app): State<Shared>, mut request: Request, next: Next) -> Response {
    let address = client_address(&app, request.extensions(), request.headers());
    let family = Family::of(request.uri().path());
    let caller = match authenticate(&app, request.headers(), family, address).await {
        Ok(caller) => caller,
        Err(problem) => return Rejection(problem).into_response(),
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
        Err(problem) => return Rejection(problem).into_response(),
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
        Err(problem) => return Rejection(problem).into_response(),
    };
    let mut response = if verdict.allowed {
        next.run(request).await
    } else {
        Rejection(too_many(&verdict)).into_response()
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
