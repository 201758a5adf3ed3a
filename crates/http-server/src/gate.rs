//! The gate of every authenticated endpoint: it identifies the caller, checks the account's status and the key's
//! restrictions, and applies the rate limit (contract §5, `docs/decisions/0001-accounts-and-credentials.md` and
//! `0009-rate-limits-and-capacity.md`).
//!
//! A handler behind it takes [`Authenticated`] as an argument. The gate never reads a body.

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};

use axum::extract::{ConnectInfo, FromRequestParts, Request, State};
use axum::http::header::HeaderName;
use axum::http::request::Parts;
use axum::http::{Extensions, HeaderMap, HeaderValue, Method};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use service::authentication::{check_restrictions, with_key, with_token};
use service::caller::Caller;
use service::config::RateClass;
use service::problem::{Family, Kind, Problem};
use service::rates::{hashed, limit_of, take, too_many};
use service::visitor::visitor;
use service::{App, Shared};
use store::limits::RateLimitResult;
use uuid::Uuid;

use crate::api_log::CallContext;
use crate::authorization::{self, Authorization};
use crate::error::Rejection;
use crate::hosts::is_proxy;

/// The challenge's endpoints, which a page calls many times a second.
const CHALLENGE: &str = "/v2/sdk/session/challenge";

/// Whether a request to yente's API searches the lists. Such requests share the limit of screenings.
fn is_search(path: &str) -> bool {
    ["/v2/yente/match/", "/v2/yente/search/"]
        .iter()
        .any(|prefix| path.starts_with(prefix))
}

/// The authenticated caller, as a handler's argument.
pub struct Authenticated(pub Caller);

impl<S: Sync> FromRequestParts<S> for Authenticated {
    type Rejection = Rejection;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Rejection> {
        let missing = || Problem::internal("a handler takes a Caller but its route has no gate");
        let caller = parts.extensions.get::<Caller>().cloned();
        Ok(Authenticated(caller.ok_or_else(missing)?))
    }
}

/// Middleware: authenticates the caller, checks the account's status and the key's restrictions, and takes a token
/// from the rate limit.
pub async fn layer(State(app): State<Shared>, mut request: Request, next: Next) -> Response {
    let address = client_address(&app, request.extensions(), request.headers());
    let family = Family::of(request.uri().path());
    let (caller, restrictions) = match authenticate(&app, request.headers(), family, address).await {
        Ok(found) => found,
        Err(problem) => return Rejection(problem).into_response(),
    };
    if let Some(notes) = request.extensions().get::<CallContext>() {
        notes.set_caller(caller.scope, &caller.key);
    }
    if let Some(restrictions) = restrictions
        && let Err(problem) = check_restrictions(&app, &caller.key, &restrictions, family, address).await
    {
        return Rejection(problem).into_response();
    }
    let class = match (family, request.method()) {
        (Family::Monitoring, _) => RateClass::Monitoring,
        (Family::Yente, _) if is_search(request.uri().path()) => RateClass::Monitoring,
        (_, &Method::GET | &Method::HEAD) => RateClass::Reads,
        (Family::Verify, _) => RateClass::Verify,
        (Family::Exchange, _) if request.uri().path().starts_with(CHALLENGE) => RateClass::Challenge,
        _ => RateClass::Writes,
    };
    let limit = match limit_of(&app, class, &caller.merchant) {
        Ok(limit) => limit,
        Err(problem) => return Rejection(problem).into_response(),
    };
    let verdict = take(&app, class, limit, caller.scope.merchant_id, &caller.key).await;
    request.extensions_mut().insert(caller);
    apply_rate_limit(verdict, request, next).await
}

/// Middleware for the exchange of one-time tokens, which needs no account: takes a token from the rate limit
/// of the client's address.
pub async fn limit_exchange(State(app): State<Shared>, request: Request, next: Next) -> Response {
    let address = client_address(&app, request.extensions(), request.headers());
    let who = hashed(&visitor(address).to_string());
    let class = RateClass::Exchange;
    let verdict = take(&app, class, app.config.rate(class), Uuid::nil(), &who).await;
    apply_rate_limit(verdict, request, next).await
}

/// Middleware for the hosted page itself, which also checks tokens: a separate limit per client address, ten
/// times that of the exchange.
pub async fn limit_page(State(app): State<Shared>, request: Request, next: Next) -> Response {
    let address = client_address(&app, request.extensions(), request.headers());
    let who = hashed(&visitor(address).to_string());
    let class = RateClass::Page;
    let verdict = take(&app, class, app.config.rate(class), Uuid::nil(), &who).await;
    apply_rate_limit(verdict, request, next).await
}

/// Runs the request if the rate limit allows it, and adds the `RateLimit-*` headers to the response.
async fn apply_rate_limit(
    verdict: Result<Option<RateLimitResult>, Problem>,
    request: Request,
    next: Next,
) -> Response {
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

/// The caller and, for an API key, its stored restrictions.
async fn authenticate(
    app: &App,
    headers: &HeaderMap,
    family: Family,
    address: IpAddr,
) -> Result<(Caller, Option<String>), Problem> {
    let presented = authorization::parse(headers)
        .map_err(|error| Problem::new(Kind::Unauthenticated, error.to_string()))?;
    let takes = |what: &str| {
        let text = format!("Authorization header is malformed: this endpoint takes `{what}`");
        Problem::new(Kind::Unauthenticated, text)
    };
    match (presented, family) {
        (Authorization::Basic { .. }, Family::Exchange) => Err(takes("Bearer <ACCESS_TOKEN>")),
        (Authorization::Basic { key, secret }, _)
        | (Authorization::ApiKey { key, secret }, Family::Yente) => {
            let (caller, restrictions) = with_key(app, key, &secret, family, address).await?;
            Ok((caller, Some(restrictions)))
        }
        (Authorization::Bearer(token), Family::Verify | Family::Exchange) => {
            // The applicant's browser sends the token, so the restrictions of the merchant's key do not apply.
            let caller = with_token(app, &token, family, address).await?;
            Ok((caller, None))
        }
        (Authorization::ApiKey { .. } | Authorization::Bearer(_), _) => {
            Err(takes("Basic base64(<API_KEY>:<SECRET>)"))
        }
    }
}

/// The client's address. `X-Forwarded-For` counts only if the peer is a configured proxy.
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

/// The right-most address in `X-Forwarded-For` that is not a trusted proxy. `None` if the peer is not a
/// trusted proxy.
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
        // An unreadable address ends the chain of trust: the client itself may have written everything to its
        // left.
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
