//! The OpenAPI description: what every operation shares. The operations describe themselves beside their handlers.

use serde::Serialize;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::{IntoResponses, Modify, OpenApi, ToSchema};

/// The document's frame; the program's router adds the operations.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Bonafide",
        description = "Identity verification and screening: Groups and Flows, hosted links, verification, applicant look-up and transaction monitoring.\n\nAuthenticate with HTTP Basic: the API key as user name and the secret as password. Sandbox keys begin with `bf_test_`, live keys with `bf_live_`. Every answer carries `X-Request-Id`; answers of limited endpoints carry `RateLimit-Limit`, `RateLimit-Remaining` and `RateLimit-Reset`.",
        license(name = "Apache-2.0", identifier = "Apache-2.0"),
    ),
    tags(
        (name = "Groups", description = "Named collections of Flows"),
        (name = "Flows", description = "Verification configurations; created in the portal"),
        (name = "Sessions", description = "One-time hosted links"),
        (name = "Hosted page", description = "What only the hosted page itself calls"),
        (name = "Verification", description = "Submit a person's details, documents and selfie"),
        (name = "Applicants", description = "What is recorded about a person"),
        (name = "Transaction monitoring", description = "Risk of crypto addresses and transactions"),
        (name = "System", description = "Health and figures"),
    ),
    // `IntoResponses` refers to these without bringing them along.
    components(schemas(ErrorBody, MessageBody, ErrorAndMessageBody, FailureBody, DescriptionBody, UnauthenticatedBody)),
    modifiers(&Security)
)]
pub struct Frame;

struct Security;

impl Modify for Security {
    fn modify(&self, openapi: &mut utoipa::openapi::OpenApi) {
        let components = openapi.components.get_or_insert_default();
        let basic = HttpBuilder::new()
            .scheme(HttpAuthScheme::Basic)
            .description(Some("Merchant API key as user name, merchant secret as password"))
            .build();
        let bearer = HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .description(Some("The access token of a hosted session, from the exchange"))
            .build();
        components.add_security_scheme("basic", SecurityScheme::Http(basic));
        components.add_security_scheme("bearer", SecurityScheme::Http(bearer));
    }
}

/// `{error}`: no or malformed credentials.
#[derive(Serialize, ToSchema)]
pub struct ErrorBody {
    /// What is missing.
    pub error: String,
}

/// `{message}` and, on validation, `errors`.
#[derive(Serialize, ToSchema)]
pub struct MessageBody {
    /// What is wrong.
    pub message: String,
    /// One text a fault, naming the field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub errors: Option<Vec<String>>,
}

/// `{error, message}`.
#[derive(Serialize, ToSchema)]
pub struct ErrorAndMessageBody {
    /// A word for programs.
    pub error: String,
    /// A text for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// On validation: one text a fault, naming the field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub errors: Option<Vec<String>>,
}

/// `{success: false, message}` and, on validation, `errors`.
#[derive(Serialize, ToSchema)]
pub struct FailureBody {
    /// Always false.
    pub success: bool,
    /// What is wrong.
    pub message: String,
    /// One text a fault, naming the field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub errors: Option<Vec<String>>,
}

/// `{code, description}` and, on validation, `errors`.
#[derive(Serialize, ToSchema)]
pub struct DescriptionBody {
    /// The HTTP status.
    pub code: u16,
    /// What is wrong.
    pub description: String,
    /// One text a fault, naming the field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub errors: Option<Vec<String>>,
}

/// `{error}` without a usable Authorization header, `{message}` with wrong credentials.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
#[allow(dead_code, reason = "read by the derive only")]
pub enum UnauthenticatedBody {
    /// Nobody knows who calls.
    Missing(ErrorBody),
    /// Nobody has these credentials.
    Wrong(MessageBody),
}

/// What Groups and Flows can answer besides success.
#[derive(IntoResponses)]
#[allow(dead_code, reason = "read by the derive only")]
pub enum GroupsAndFlowsErrors {
    /// Validation failed, or the key and secret are not known together
    #[response(status = 400)]
    Invalid(MessageBody),
    /// No Authorization header, or a malformed one
    #[response(status = 401)]
    Unauthenticated(ErrorBody),
    /// The merchant application is not approved, or a plan limit is reached
    #[response(status = 403)]
    Forbidden(MessageBody),
    /// Too many requests
    #[response(status = 429)]
    RateLimited(MessageBody),
    /// Our fault
    #[response(status = 500)]
    Internal(MessageBody),
    /// The database does not answer; `Retry-After` says when to try again
    #[response(status = 503)]
    Unavailable(MessageBody),
}

/// What link and poll can answer besides success.
#[derive(IntoResponses)]
#[allow(dead_code, reason = "read by the derive only")]
pub enum LinkAndPollErrors {
    /// Validation failed, or the key and secret are not known together
    #[response(status = 400)]
    Invalid(ErrorAndMessageBody),
    /// No Authorization header, or a malformed one
    #[response(status = 401)]
    Unauthenticated(ErrorBody),
    /// The merchant may not do this
    #[response(status = 403)]
    Forbidden(ErrorAndMessageBody),
    /// Too many requests; `Retry-After` says when to try again
    #[response(status = 429)]
    RateLimited(ErrorAndMessageBody),
    /// Our fault
    #[response(status = 500)]
    Internal(ErrorAndMessageBody),
    /// The database does not answer; `Retry-After` says when to try again
    #[response(status = 503)]
    Unavailable(ErrorAndMessageBody),
}

/// What endpoints of sessions that take a body can answer because of it.
#[derive(IntoResponses)]
#[allow(dead_code, reason = "read by the derive only")]
pub enum SessionBodyErrors {
    /// The body did not arrive within 30 seconds
    #[response(status = 408)]
    Timeout(ErrorAndMessageBody),
    /// The body is larger than 1 MB
    #[response(status = 413)]
    TooLarge(ErrorAndMessageBody),
}

/// What endpoints that take a one-time token can answer besides success.
#[derive(IntoResponses)]
#[allow(dead_code, reason = "read by the derive only")]
pub enum OneTimeTokenErrors {
    /// `token_required`, or `invalid_request`: the body is no JSON object, or the link's Flow left its Group
    #[response(status = 400)]
    Invalid(ErrorAndMessageBody),
    /// `invalid_token`
    #[response(status = 401)]
    Unauthenticated(ErrorAndMessageBody),
    /// `not_found`: the Flow or Group was deleted
    #[response(status = 404)]
    NotFound(ErrorAndMessageBody),
    /// `token_used` or `token_expired`
    #[response(status = 410)]
    Gone(ErrorAndMessageBody),
    /// `rate_limited`; `Retry-After` says when to try again
    #[response(status = 429)]
    RateLimited(ErrorAndMessageBody),
    /// Our fault
    #[response(status = 500)]
    Internal(ErrorAndMessageBody),
    /// `unavailable`: the database does not answer; `Retry-After` says when to try again
    #[response(status = 503)]
    Unavailable(ErrorAndMessageBody),
}

/// What the hosted page's endpoints can answer to an access token besides success.
#[derive(IntoResponses)]
#[allow(dead_code, reason = "read by the derive only")]
pub enum HostedErrors {
    /// No access token, or `invalid_token`: nobody's, expired, or of a session that has ended
    #[response(status = 401)]
    Unauthenticated(ErrorAndMessageBody),
    /// The merchant's account is not active
    #[response(status = 403)]
    Forbidden(ErrorAndMessageBody),
    /// Too many requests; `Retry-After` says when to try again
    #[response(status = 429)]
    RateLimited(ErrorAndMessageBody),
    /// Our fault
    #[response(status = 500)]
    Internal(ErrorAndMessageBody),
    /// The database does not answer; `Retry-After` says when to try again
    #[response(status = 503)]
    Unavailable(ErrorAndMessageBody),
}

/// What verification endpoints can answer besides success.
#[derive(IntoResponses)]
#[allow(dead_code, reason = "read by the derive only")]
pub enum VerifyErrors {
    /// Validation failed
    #[response(status = 400)]
    Invalid(FailureBody),
    /// `{error}` without a usable Authorization header, `{message}` with wrong credentials
    #[response(status = 401)]
    Unauthenticated(UnauthenticatedBody),
    /// The merchant may not do this
    #[response(status = 403)]
    Forbidden(FailureBody),
    /// Too many requests
    #[response(status = 429)]
    RateLimited(FailureBody),
    /// Our fault
    #[response(status = 500)]
    Internal(FailureBody),
    /// An engine cannot answer, or all are busy
    #[response(status = 503)]
    Unavailable(FailureBody),
}

/// What applicant look-up can answer besides success.
#[derive(IntoResponses)]
#[allow(dead_code, reason = "read by the derive only")]
pub enum ApplicantErrors {
    /// Validation failed
    #[response(status = 400)]
    Invalid(DescriptionBody),
    /// No or wrong credentials
    #[response(status = 401)]
    Unauthenticated(DescriptionBody),
    /// The merchant may not do this
    #[response(status = 403)]
    Forbidden(DescriptionBody),
    /// No applicant of this account
    #[response(status = 404)]
    NotFound(DescriptionBody),
    /// Too many requests
    #[response(status = 429)]
    RateLimited(DescriptionBody),
    /// A source could not be read: says nothing about existence
    #[response(status = 500)]
    Internal(DescriptionBody),
}

/// The paths that the document describes, for the portal's filters; the program's router provides them.
#[derive(Clone, Debug)]
pub struct DescribedPaths(pub std::sync::Arc<[String]>);
