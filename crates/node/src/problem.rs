//! Why a request fails: a kind, the client's text and, separately, the cause for the log.
//!
//! A problem determines its status and error word for each family of endpoints (contract §7). It contains no
//! body and no header: the HTTP server renders it, and the portal shows it as a page.

use std::time::Duration;

use engine_process::EngineError;
use http::StatusCode;
use uuid::Uuid;
use verification::refusal::{Refusal, RefusalKind};

/// A family of endpoints. All endpoints of a family return errors in the same shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// `/v2/public/groups`, `/v2/public/flows`.
    GroupsAndFlows,
    /// Link generation and polling: the merchant's side of hosted sessions.
    LinkAndPoll,
    /// The exchange of a link token, and the other endpoints that only the hosted page calls.
    Exchange,
    /// Verification and document requirements.
    Verify,
    /// Reports: applicants, attempts, screenings, lists, events.
    Applicants,
    /// Transaction monitoring.
    Monitoring,
    /// yente's API.
    Yente,
    /// Everything the contract does not name: health, metrics, documentation, unknown paths.
    System,
}

impl Family {
    /// The family that a path belongs to.
    pub fn of(path: &str) -> Self {
        const PREFIXES: [(&str, Family); 12] = [
            ("/v2/public/groups", Family::GroupsAndFlows),
            ("/v2/public/flows", Family::GroupsAndFlows),
            ("/v2/public/transaction-monitoring", Family::Monitoring),
            ("/v2/sdk/session/web-sdk-link", Family::LinkAndPoll),
            ("/v2/sdk/session/verification-result", Family::LinkAndPoll),
            ("/v2/sdk/session/invitations", Family::LinkAndPoll),
            ("/v2/sdk/session/links", Family::LinkAndPoll),
            ("/v2/sdk/session", Family::Exchange),
            ("/v2/idv", Family::Verify),
            ("/v2/reports", Family::Applicants),
            ("/v2/yente", Family::Yente),
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

/// The kind of a problem. The family determines status and body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The credentials are missing, or a header cannot be read.
    Unauthenticated,
    /// The credentials are wrong.
    WrongCredentials,
    /// The merchant may not do this (yet).
    Forbidden,
    /// The request's content breaks a rule.
    Invalid,
    /// It does not exist, or belongs to another account.
    NotFound,
    /// It has expired or was used.
    Gone,
    /// A name is taken, or the same idempotent request is still running.
    Conflict,
    /// The path does not support the method.
    MethodNotAllowed,
    /// The caller stopped sending.
    Timeout,
    /// The request is larger than any valid request.
    TooLarge,
    /// The idempotency key was used with another body.
    Mismatch,
    /// Too many requests.
    RateLimited,
    /// A combination that is not supported yet.
    NotSupported,
    /// An upstream source returned an unusable answer.
    BadGateway,
    /// An upstream source that took too long.
    GatewayTimeout,
    /// An engine or a store cannot answer now.
    Unavailable,
    /// The server failed.
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
            // "A source could not be read" proves nothing about existence (contract §7).
            Kind::Unavailable if family == Family::Applicants => StatusCode::INTERNAL_SERVER_ERROR,
            Kind::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            Kind::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// The word in `error`, for families that have one.
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

/// Why a request is refused: the client's text and, separately, the cause for the log.
#[derive(Clone, Debug)]
pub struct Problem {
    kind: Kind,
    message: Box<str>,
    errors: Vec<String>,
    slug: Option<&'static str>,
    detected_country: Option<&'static str>,
    can_renew: Option<bool>,
    // A box keeps results small.
    query_id: Option<Box<Uuid>>,
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
            can_renew: None,
            query_id: None,
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

    /// 403 of the exchange: the country of the caller's address is blocked (alpha-2; `None`: unknown).
    pub fn geo_blocked(country: Option<&'static str>) -> Self {
        Problem {
            slug: Some(GEO_BLOCKED),
            detected_country: country,
            ..Problem::new(Kind::Forbidden, "Verification is not available in your country")
        }
    }

    /// 503 with a `Retry-After` of 5 s.
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

    /// 500: the client learns only that the server failed. The cause goes to the log.
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

    /// Replaces the word in `error`, for families that have one; in transaction monitoring, `reason`.
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

    /// For an expired invitation: whether its Flow sends new links.
    #[must_use]
    pub fn renewable(mut self, can_renew: bool) -> Self {
        self.can_renew = Some(can_renew);
        self
    }

    /// For a screening without a score, the id under which it is stored.
    #[must_use]
    pub fn with_query_id(mut self, id: Uuid) -> Self {
        self.query_id = Some(Box::new(id));
        self
    }

    /// With a cause for the log.
    #[must_use]
    pub fn because(mut self, cause: impl std::fmt::Display) -> Self {
        self.cause = Some(cause.to_string().into());
        self
    }

    /// For a refusal because of the visitor's country, that country; the inner `None`: unknown.
    pub fn blocked_country(&self) -> Option<Option<&'static str>> {
        (self.slug == Some(GEO_BLOCKED)).then_some(self.detected_country)
    }

    /// For an expired invitation, whether its Flow sends new links.
    pub fn can_renew(&self) -> Option<bool> {
        self.can_renew
    }

    /// For a screening without a score, the id under which it is stored.
    pub fn query_id(&self) -> Option<Uuid> {
        self.query_id.as_deref().copied()
    }

    /// The word that [`Problem::named`] set.
    pub fn name(&self) -> Option<&'static str> {
        self.slug
    }

    /// Its status in a family. yente answers a fault of a named field with 422, and other faults with 400.
    pub fn status(&self, family: Family) -> StatusCode {
        match (family, self.kind) {
            (Family::Yente, Kind::Invalid) if !self.errors.is_empty() => StatusCode::UNPROCESSABLE_ENTITY,
            _ => self.kind.status(family),
        }
    }

    /// The word in `error` for a family.
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

    /// The value of `Retry-After` in whole seconds, at least one.
    pub fn wait(&self) -> Option<u64> {
        self.retry_after
            .map(|wait| wait.as_secs_f64().ceil().max(1.0) as u64)
    }

    /// Logs the cause, if there is one. No client receives it.
    pub fn log(&self, status: StatusCode) {
        let Some(cause) = &self.cause else { return };
        if status.is_server_error() {
            tracing::error!(status = status.as_u16(), cause, "request failed");
        } else {
            tracing::debug!(status = status.as_u16(), cause, "request refused");
        }
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
            // As `attempt_detail::unreadable`, but the store does not report the row.
            error @ store::Error::Unreadable(_) => {
                let text = "A record cannot be read. A newer version may have written it; an operator finds the reason in the log";
                Problem::unavailable(text).because(error)
            }
            error => Problem::internal(error),
        }
    }
}

impl From<EngineError> for Problem {
    /// None of these is a fault of the file, so the response is 503.
    fn from(error: EngineError) -> Self {
        let text = match &error {
            EngineError::Unavailable(_) => "The document and face engines are not available",
            EngineError::Lost => "The server could not read the files; please try again shortly",
            EngineError::Failed(_) => {
                "The document and face engines could not finish; please try again shortly"
            }
            EngineError::Abandoned => "The caller has gone",
        };
        Problem::unavailable(text).because(error)
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        let kind = match refusal.reason {
            RefusalKind::Invalid => Kind::Invalid,
            RefusalKind::Restricted => Kind::Forbidden,
            RefusalKind::NotSupported => Kind::NotSupported,
        };
        Problem::new(kind, refusal.message).with_errors(refusal.errors)
    }
}

impl std::fmt::Display for Problem {
    /// The text that the command line shows.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)?;
        if !self.errors.is_empty() {
            write!(f, ": {}", self.errors.join("; "))?;
        }
        self.cause.iter().try_for_each(|cause| write!(f, " ({cause})"))
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
            ("/v2/sdk/session/invitations", Family::LinkAndPoll),
            ("/v2/sdk/session/invitations/x/revoke", Family::LinkAndPoll),
            ("/v2/sdk/session/invitation/open", Family::Exchange),
            ("/v2/idv/verify", Family::Verify),
            ("/v2/reports/applicants/byExternalUserId", Family::Applicants),
            ("/v2/reports/events", Family::Applicants),
            ("/v2/reports/attempts/7", Family::Applicants),
            ("/v2/sdk/session/links/x/revoke", Family::LinkAndPoll),
            ("/v2/yente/match/default", Family::Yente),
            ("/healthz", Family::System),
        ] {
            assert_eq!(Family::of(path), family, "{path}");
        }
    }

    #[test]
    fn an_unreadable_row_is_503_and_its_cause_is_for_the_log() {
        let problem = Problem::from(store::Error::Unreadable("attempt status"));
        for (family, status) in [
            (Family::Verify, 503),
            (Family::GroupsAndFlows, 503),
            (Family::System, 503),
            // Contract §7.
            (Family::Applicants, 500),
        ] {
            assert_eq!(problem.status(family).as_u16(), status, "{family:?}");
        }
        assert!(!problem.message().contains("attempt status"));
        let cause = problem.cause.as_deref();
        assert!(
            cause.is_some_and(|text| text.contains("attempt status")),
            "{cause:?}"
        );
        assert!(problem.retry_after.is_some());
    }
}
