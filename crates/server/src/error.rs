//! What can go wrong with a request, and the one place where it becomes a response.
//!
//! Handlers return a [`Problem`] and know nothing of bodies; [`render`] gives each family of endpoints its own shape
//! (`decisions.md` §1, contract §7). The client's text and the internal cause are kept apart: the cause is logged with the request id
//! and never sent.

use std::time::Duration;

use axum::extract::Request;
use axum::http::header::{ALLOW, AUTHORIZATION, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Json, Response};
use serde_json::{Map, Value, json};
use verification::refusal::{Reason, Refusal};

/// A family of endpoints: all of one family answer errors in one shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// `/v2/public/groups`, `/v2/public/flows`.
    GroupsAndFlows,
    /// Link generation and polling: the merchant's side of hosted sessions.
    LinkAndPoll,
    /// The exchange of a link token, and what else only the hosted page calls.
    Exchange,
    /// Verification and document requirements.
    Verify,
    /// Applicant look-up.
    Applicants,
    /// Transaction monitoring.
    Monitoring,
    /// Everything the contract does not name: health, metrics, documentation, unknown paths.
    System,
}

impl Family {
    /// The family that a path belongs to.
    pub fn of(path: &str) -> Self {
        const PREFIXES: [(&str, Family); 9] = [
            ("/v2/public/groups", Family::GroupsAndFlows),
            ("/v2/public/flows", Family::GroupsAndFlows),
            ("/v2/public/transaction-monitoring", Family::Monitoring),
            ("/v2/sdk/session/web-sdk-link", Family::LinkAndPoll),
            ("/v2/sdk/session/verification-result", Family::LinkAndPoll),
            ("/v2/sdk/session", Family::Exchange),
            ("/v2/idv", Family::Verify),
            ("/v2/reports/applicants", Family::Applicants),
            ("", Family::System),
        ];
        PREFIXES
            .iter()
            .find(|(prefix, _)| {
                path.strip_prefix(prefix)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || prefix.is_empty())
            })
            .map_or(Family::System, |(_, family)| *family)
    }
}

/// What kind of problem it is; the family decides status and body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// No credentials, or a header that cannot be read.
    Unauthenticated,
    /// Credentials that nobody has.
    WrongCredentials,
    /// The merchant may not do this (yet).
    Forbidden,
    /// The request's content breaks a rule.
    Invalid,
    /// Not there, or another account's.
    NotFound,
    /// It was there, and its time is over.
    Gone,
    /// A name is taken, or the same idempotent request is still running.
    Conflict,
    /// A method the path does not have.
    MethodNotAllowed,
    /// The caller stopped sending.
    Timeout,
    /// More bytes than any valid request has.
    TooLarge,
    /// An idempotency key that came with another body.
    Mismatch,
    /// Too many requests.
    RateLimited,
    /// A combination that is not supported yet.
    NotSupported,
    /// An upstream source that answered nonsense.
    BadGateway,
    /// An upstream source that took too long.
    GatewayTimeout,
    /// An engine or a store that cannot answer now.
    Unavailable,
    /// Our fault.
    Internal,
}

impl Kind {
    fn status(self, family: Family) -> StatusCode {
        match self {
            Kind::Unauthenticated => StatusCode::UNAUTHORIZED,
            Kind::WrongCredentials if matches!(family, Family::GroupsAndFlows | Family::LinkAndPoll) => {
                StatusCode::BAD_REQUEST
            }
            Kind::WrongCredentials => StatusCode::UNAUTHORIZED,
            Kind::Forbidden => StatusCode::FORBIDDEN,
            Kind::Invalid => StatusCode::BAD_REQUEST,
            Kind::NotFound => StatusCode::NOT_FOUND,
            Kind::Gone => StatusCode::GONE,
            Kind::Conflict => StatusCode::CONFLICT,
            Kind::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Kind::Timeout => StatusCode::REQUEST_TIMEOUT,
            Kind::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Kind::Mismatch => StatusCode::UNPROCESSABLE_ENTITY,
            Kind::RateLimited => StatusCode::TOO_MANY_REQUESTS,
            Kind::NotSupported => StatusCode::NOT_IMPLEMENTED,
            Kind::BadGateway => StatusCode::BAD_GATEWAY,
            Kind::GatewayTimeout => StatusCode::GATEWAY_TIMEOUT,
            // "A source could not be read" says nothing about existence (contract §7).
            Kind::Unavailable if family == Family::Applicants => StatusCode::INTERNAL_SERVER_ERROR,
            Kind::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            Kind::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// The short word that `error` holds where a family has one.
    fn slug(self, family: Family) -> &'static str {
        match self {
            Kind::Unauthenticated => "unauthenticated",
            Kind::WrongCredentials if family == Family::Exchange => "invalid_token",
            Kind::WrongCredentials => "invalid_credentials",
            Kind::Forbidden => "forbidden",
            Kind::Invalid => "invalid_request",
            Kind::NotFound => "not_found",
            Kind::Gone => "gone",
            Kind::Conflict => "conflict",
            Kind::MethodNotAllowed => "method_not_allowed",
            Kind::Timeout => "timeout",
            Kind::TooLarge => "too_large",
            Kind::Mismatch => "idempotency_mismatch",
            Kind::RateLimited => "rate_limited",
            Kind::NotSupported => "not_supported",
            Kind::BadGateway => "bad_gateway",
            Kind::GatewayTimeout => "gateway_timeout",
            Kind::Unavailable => "unavailable",
            Kind::Internal => "internal_error",
        }
    }
}

/// The word for a visitor from a blocked country (contract §4.4).
const GEO_BLOCKED: &str = "geo_blocked";

/// Why a request is refused: what the client reads, and apart from it what only the log reads.
#[derive(Clone, Debug)]
pub struct Problem {
    kind: Kind,
    message: Box<str>,
    errors: Vec<String>,
    slug: Option<&'static str>,
    detected_country: Option<&'static str>,
    retry_after: Option<Duration>,
    cause: Option<Box<str>>,
}

impl Problem {
    /// A problem of a kind with the text the client reads.
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Problem {
            kind,
            message: message.into().into(),
            errors: Vec::new(),
            slug: None,
            detected_country: None,
            retry_after: None,
            cause: None,
        }
    }

    /// 400 with the list of what is wrong.
    pub fn validation(errors: Vec<String>) -> Self {
        Problem {
            errors,
            ..Problem::new(Kind::Invalid, "Validation failed")
        }
    }

    /// 400 with one text.
    pub fn invalid(message: impl Into<String>) -> Self {
        Problem::new(Kind::Invalid, message)
    }

    /// 404.
    pub fn not_found(message: impl Into<String>) -> Self {
        Problem::new(Kind::NotFound, message)
    }

    /// 403 of the exchange: the country that the caller's address is in (alpha-2; `None`: not known) is blocked.
    pub fn geo_blocked(country: Option<&'static str>) -> Self {
        Problem {
            slug: Some(GEO_BLOCKED),
            detected_country: country,
            ..Problem::new(Kind::Forbidden, "Verification is not available in your country")
        }
    }

    /// 503 that says when to try again.
    pub fn unavailable(message: impl Into<String>) -> Self {
        Problem {
            retry_after: Some(Duration::from_secs(5)),
            ..Problem::new(Kind::Unavailable, message)
        }
    }

    /// 503: a disk of the server has no space left.
    pub fn disk_full(cause: impl std::fmt::Display) -> Self {
        let text = "The server's disk is full, so the request was not carried out. The server's operator must free space on the disk; then send the request again";
        Problem::unavailable(text).because(cause)
    }

    /// 500: the client learns nothing but that it was our fault; the cause goes to the log.
    pub fn internal(cause: impl std::fmt::Display) -> Self {
        let message = "Something went wrong on our side; the request id finds it in the server's log";
        Problem {
            cause: Some(cause.to_string().into()),
            ..Problem::new(Kind::Internal, message)
        }
    }

    /// With the list of what is wrong.
    #[must_use]
    pub fn with_errors(mut self, errors: Vec<String>) -> Self {
        self.errors = errors;
        self
    }

    /// With a word of its own in `error`, where the family has one.
    #[must_use]
    pub fn named(mut self, slug: &'static str) -> Self {
        self.slug = Some(slug);
        self
    }

    /// With `Retry-After`, in whole seconds and at least one.
    #[must_use]
    pub fn retry_after(mut self, wait: Duration) -> Self {
        self.retry_after = Some(wait);
        self
    }

    /// With a cause for the log.
    #[must_use]
    pub fn because(mut self, cause: impl std::fmt::Display) -> Self {
        self.cause = Some(cause.to_string().into());
        self
    }

    /// Its status in a family.
    pub fn status(&self, family: Family) -> StatusCode {
        self.kind.status(family)
    }

    /// Its word for programs in a family: what `error` holds.
    pub fn word(&self, family: Family) -> &'static str {
        self.slug.unwrap_or_else(|| self.kind.slug(family))
    }

    /// Its kind.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The client's text.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The list of what is wrong.
    pub fn errors(&self) -> &[String] {
        &self.errors
    }

    /// What `Retry-After` says: whole seconds, at least one.
    pub fn wait(&self) -> Option<u64> {
        self.retry_after
            .map(|wait| wait.as_secs_f64().ceil().max(1.0) as u64)
    }

    /// Logs the cause, if there is one that no client reads.
    pub fn log(&self, status: StatusCode) {
        let Some(cause) = &self.cause else { return };
        if status.is_server_error() {
            tracing::error!(status = status.as_u16(), cause, "request failed");
        } else {
            tracing::debug!(status = status.as_u16(), cause, "request refused");
        }
    }

    fn body(&self, family: Family, status: StatusCode) -> Value {
        let mut body = Map::new();
        let message = Value::from(&*self.message);
        match (family, self.kind) {
            (Family::GroupsAndFlows | Family::LinkAndPoll | Family::Verify, Kind::Unauthenticated) => {
                body.insert("error".into(), message);
            }
            (Family::GroupsAndFlows, _) | (Family::Verify, Kind::WrongCredentials) => {
                body.insert("message".into(), message);
            }
            (Family::Monitoring, Kind::Unauthenticated | Kind::WrongCredentials) => {
                body.insert("message".into(), message);
            }
            (Family::Verify | Family::Monitoring, _) => {
                body.insert("success".into(), json!(false));
                body.insert("message".into(), message);
            }
            (Family::Applicants, _) => {
                body.insert("code".into(), json!(status.as_u16()));
                body.insert("description".into(), message);
            }
            (Family::LinkAndPoll | Family::Exchange | Family::System, _) => {
                body.insert("error".into(), json!(self.word(family)));
                body.insert("message".into(), message);
            }
        }
        if self.slug == Some(GEO_BLOCKED) {
            body.insert("detectedCountry".into(), json!(self.detected_country));
        }
        if !self.errors.is_empty() {
            body.insert("errors".into(), json!(self.errors));
        }
        Value::Object(body)
    }
}

impl From<store::Error> for Problem {
    fn from(error: store::Error) -> Self {
        match error {
            store::Error::Unavailable(cause) => {
                Problem::unavailable("The database does not answer").because(cause)
            }
            store::Error::Objects(cause) => {
                Problem::unavailable("The object store does not answer").because(cause)
            }
            store::Error::DatabaseFull(cause) => Problem::disk_full(cause),
            store::Error::ObjectsFull(cause) => Problem::disk_full(cause),
            store::Error::LeaseLost => Problem::new(
                Kind::Conflict,
                "Another request with this Idempotency-Key has taken over; repeat the request to get its answer",
            ),
            // As `app::seen::unreadable`; the store does not report which row.
            error @ store::Error::Unreadable(_) => {
                let text = "A record cannot be read. A newer version may have written it; an operator finds the reason in the log";
                Problem::unavailable(text).because(error)
            }
            error => Problem::internal(error),
        }
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        let kind = match refusal.reason {
            Reason::Invalid => Kind::Invalid,
            Reason::Restricted => Kind::Forbidden,
            Reason::NotSupported => Kind::NotSupported,
        };
        Problem::new(kind, refusal.message).with_errors(refusal.errors)
    }
}

impl std::fmt::Display for Problem {
    /// As the command line shows it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)?;
        if !self.errors.is_empty() {
            write!(f, ": {}", self.errors.join("; "))?;
        }
        self.cause.iter().try_for_each(|cause| write!(f, " ({cause})"))
    }
}

impl IntoResponse for Problem {
    /// A bare status that carries the problem; [`render`] writes the body.
    fn into_response(self) -> Response {
        let mut response = self.kind.status(Family::System).into_response();
        response.extensions_mut().insert(self);
        response
    }
}

/// Middleware: turns a [`Problem`] that a handler or extractor returned into the family's body.
pub async fn render(request: Request, next: Next) -> Response {
    let family = Family::of(request.uri().path());
    let challenge = challenge(family, request.headers());
    let mut response = next.run(request).await;
    let Some(problem) = response.extensions_mut().remove::<Problem>() else {
        return response;
    };
    let status = problem.kind.status(family);
    problem.log(status);
    let mut rendered = (status, Json(problem.body(family, status))).into_response();
    let headers = rendered.headers_mut();
    // What inner layers set (rate-limit headers, request id, Allow) stays.
    for (name, value) in response.headers() {
        if name.as_str().starts_with("ratelimit-") || name == ALLOW {
            headers.insert(name.clone(), value.clone());
        }
    }
    if let Some(wait) = problem.wait() {
        headers.insert(RETRY_AFTER, HeaderValue::from(wait));
    }
    if status == StatusCode::UNAUTHORIZED {
        headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
    }
    rendered
}

/// What a 401 asks for. A page that came with a token must not be asked for a password: browsers would show their own
/// window for it.
fn challenge(family: Family, headers: &HeaderMap) -> &'static str {
    let scheme = headers
        .get(AUTHORIZATION)
        .and_then(|value| value.as_bytes().get(..6));
    if family == Family::Exchange || scheme.is_some_and(|scheme| scheme.eq_ignore_ascii_case(b"bearer")) {
        "Bearer realm=\"bonafide\""
    } else {
        "Basic realm=\"bonafide\", charset=\"UTF-8\""
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_belongs_to_one_family() {
        for (path, family) in [
            ("/v2/public/groups", Family::GroupsAndFlows),
            ("/v2/public/groups/x", Family::GroupsAndFlows),
            ("/v2/public/groupsx", Family::System),
            ("/v2/public/flows/x", Family::GroupsAndFlows),
            ("/v2/public/transaction-monitoring", Family::Monitoring),
            ("/v2/sdk/session/exchange", Family::Exchange),
            ("/v2/sdk/session/current", Family::Exchange),
            ("/v2/sdk/session/web-sdk-link", Family::LinkAndPoll),
            ("/v2/sdk/session/verification-result", Family::LinkAndPoll),
            ("/v2/sdk/session/verification-result/x", Family::LinkAndPoll),
            ("/v2/idv/verify", Family::Verify),
            ("/v2/reports/applicants/byExternalUserId", Family::Applicants),
            ("/healthz", Family::System),
        ] {
            assert_eq!(Family::of(path), family, "{path}");
        }
    }

    #[test]
    fn every_family_has_its_shape() {
        let wrong = Problem::new(Kind::WrongCredentials, "m");
        let missing = Problem::new(Kind::Unauthenticated, "m");
        let invalid = Problem::validation(vec!["a - b".into()]);
        let used = Problem::new(Kind::Gone, "m").named("token_used");
        let blocked = Problem::geo_blocked(Some("DE"));
        for (problem, family, status, body) in [
            (&missing, Family::GroupsAndFlows, 401, json!({"error": "m"})),
            (&wrong, Family::GroupsAndFlows, 400, json!({"message": "m"})),
            (
                &invalid,
                Family::GroupsAndFlows,
                400,
                json!({"message": "Validation failed", "errors": ["a - b"]}),
            ),
            (&missing, Family::LinkAndPoll, 401, json!({"error": "m"})),
            (
                &wrong,
                Family::LinkAndPoll,
                400,
                json!({"error": "invalid_credentials", "message": "m"}),
            ),
            (
                &wrong,
                Family::Exchange,
                401,
                json!({"error": "invalid_token", "message": "m"}),
            ),
            (
                &used,
                Family::Exchange,
                410,
                json!({"error": "token_used", "message": "m"}),
            ),
            (
                &blocked,
                Family::Exchange,
                403,
                json!({
                    "error": "geo_blocked", "detectedCountry": "DE",
                    "message": "Verification is not available in your country",
                }),
            ),
            (&missing, Family::Verify, 401, json!({"error": "m"})),
            (&wrong, Family::Verify, 401, json!({"message": "m"})),
            (
                &invalid,
                Family::Verify,
                400,
                json!({"success": false, "message": "Validation failed", "errors": ["a - b"]}),
            ),
            (
                &missing,
                Family::Applicants,
                401,
                json!({"code": 401, "description": "m"}),
            ),
            (
                &wrong,
                Family::Applicants,
                401,
                json!({"code": 401, "description": "m"}),
            ),
            (&missing, Family::Monitoring, 401, json!({"message": "m"})),
            (&wrong, Family::Monitoring, 401, json!({"message": "m"})),
            (
                &invalid,
                Family::Monitoring,
                400,
                json!({"success": false, "message": "Validation failed", "errors": ["a - b"]}),
            ),
        ] {
            let got = problem.kind.status(family);
            assert_eq!(
                (got.as_u16(), problem.body(family, got)),
                (status, body),
                "{family:?}"
            );
        }
    }

    #[test]
    fn an_unreadable_row_is_503_and_the_cause_stays_in_the_log() {
        let problem = Problem::from(store::Error::Unreadable("attempt status"));
        for (family, status) in [
            (Family::Verify, 503),
            (Family::GroupsAndFlows, 503),
            (Family::System, 503),
            // Contract §7.
            (Family::Applicants, 500),
        ] {
            let got = problem.kind.status(family);
            assert_eq!(got.as_u16(), status, "{family:?}");
            let body = problem.body(family, got).to_string();
            assert!(!body.contains("attempt status"), "{body}");
        }
        let cause = problem.cause.as_deref();
        assert!(
            cause.is_some_and(|text| text.contains("attempt status")),
            "{cause:?}"
        );
        assert!(problem.retry_after.is_some());
    }
}
