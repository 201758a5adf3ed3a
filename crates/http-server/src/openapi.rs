//! The parts of the OpenAPI document that all operations share. Each operation is described at its handler.

use serde::Serialize;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::{IntoResponses, Modify, OpenApi, ToSchema};

/// The base document, to which the program's router adds the operations.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Bonafide",
        description = "Identity verification and screening: Groups and Flows, hosted links, verification, applicant look-up and transaction monitoring.\n\nAuthenticate with HTTP Basic: the API key as user name and the secret as password. Sandbox keys begin with `bf_test_`, live keys with `bf_live_`. Every answer carries `X-Request-Id`; answers of limited endpoints carry `RateLimit-Limit`, `RateLimit-Remaining` and `RateLimit-Reset`.",
        license(name = "Apache-2.0", identifier = "Apache-2.0"),
    ),
    servers((url = "/", description = "The server that answers with this document")),
    tags(
        (name = "Groups", description = "Named collections of Flows"),
        (name = "Flows", description = "Verification configurations; created in the portal"),
        (name = "Sessions", description = "One-time hosted links"),
        (name = "Hosted page", description = "What only the hosted page itself calls"),
        (name = "Verification", description = "Submit a person's details, documents and selfie"),
        (name = "Applicants", description = "What is recorded about a person"),
        (name = "Webhooks", description = "Webhook events and the state of their deliveries"),
        (name = "Transaction monitoring", description = "Risk of crypto addresses and transactions"),
        (name = "List search", description = "Search the sanctions lists in the shape of yente's API, the OpenSanctions matching API. Clients of yente use `/v2/yente` as base address and send `Authorization: ApiKey <API_KEY>:<SECRET>`; HTTP Basic works too"),
        (name = "System", description = "Health and figures"),
    ),
    // `IntoResponses` refers to these schemas but does not add them.
    components(schemas(ErrorBody, MessageBody, ErrorAndMessageBody, FailureBody, NoScoreBody, DescriptionBody, UnauthenticatedBody, DetailBody, FaultsBody)),
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
    /// One text per fault, which names the field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub errors: Option<Vec<String>>,
}

/// `{error, message}`.
#[derive(Serialize, ToSchema)]
pub struct ErrorAndMessageBody {
    /// A code for programs.
    pub error: String,
    /// A text for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// On validation: one text per fault, which names the field.
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
    /// One text per fault, which names the field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub errors: Option<Vec<String>>,
}

/// `{success: false, message}`; of a screening without a score also its id and the reason.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NoScoreBody {
    /// Always false.
    pub success: bool,
    /// What is wrong.
    pub message: String,
    /// Of a 404: `no_source`: the server has no source of the chain's history; `empty_graph`: the only source has not
    /// received a block yet; `unknown`: no source of the chain has seen the address or transaction.
    pub reason: Option<String>,
    /// The id under which the screening is stored.
    pub query_id: Option<uuid::Uuid>,
}

/// `{code, description}` and, on validation, `errors`.
#[derive(Serialize, ToSchema)]
pub struct DescriptionBody {
    /// The HTTP status.
    pub code: u16,
    /// What is wrong.
    pub description: String,
    /// One text per fault, which names the field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub errors: Option<Vec<String>>,
}

/// `{error}` without a usable Authorization header, `{message}` with wrong credentials.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
#[allow(dead_code, reason = "read by the derive only")]
pub enum UnauthenticatedBody {
    /// The Authorization header is missing or malformed.
    Missing(ErrorBody),
    /// The credentials are wrong.
    Wrong(MessageBody),
}

/// The error responses of Groups and Flows.
#[derive(IntoResponses)]
#[allow(dead_code, reason = "read by the derive only")]
pub enum GroupsAndFlowsErrors {
    /// Validation failed, or the API key or the secret is wrong
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
    /// An internal error
    #[response(status = 500)]
    Internal(MessageBody),
    /// The database does not answer; `Retry-After` states when to try again
    #[response(status = 503)]
    Unavailable(MessageBody),
}

/// The error responses of the link and poll endpoints.
#[derive(IntoResponses)]
#[allow(dead_code, reason = "read by the derive only")]
pub enum LinkAndPollErrors {
    /// Validation failed, or the API key or the secret is wrong
    #[response(status = 400)]
    Invalid(ErrorAndMessageBody),
    /// No Authorization header, or a malformed one
    #[response(status = 401)]
    Unauthenticated(ErrorBody),
    /// The merchant may not do this
    #[response(status = 403)]
    Forbidden(ErrorAndMessageBody),
    /// Too many requests; `Retry-After` states when to try again
    #[response(status = 429)]
    RateLimited(ErrorAndMessageBody),
    /// An internal error
    #[response(status = 500)]
    Internal(ErrorAndMessageBody),
    /// The database does not answer; `Retry-After` states when to try again
    #[response(status = 503)]
    Unavailable(ErrorAndMessageBody),
}

/// The error responses of session endpoints that depend on the request's body.
#[derive(IntoResponses)]
#[allow(dead_code, reason = "read by the derive only")]
pub enum SessionBodyErrors {
    /// The body did not arrive within 30 seconds
    #[response(status = 408)]
    Timeout(ErrorAndMessageBody),
    /// The body is larger than the limit, which the message states: 1 MB, and less for frames
    #[response(status = 413)]
    TooLarge(ErrorAndMessageBody),
}

/// The error responses of endpoints that take a one-time token.
#[derive(IntoResponses)]
#[allow(dead_code, reason = "read by the derive only")]
pub enum OneTimeTokenErrors {
    /// `token_required`, or `invalid_request`: the body is not a JSON object, or the Flow left the Group
    #[response(status = 400)]
    Invalid(ErrorAndMessageBody),
    /// `invalid_token`
    #[response(status = 401)]
    Unauthenticated(ErrorAndMessageBody),
    /// `not_found`: the Flow or Group was deleted
    #[response(status = 404)]
    NotFound(ErrorAndMessageBody),
    /// `token_used` or `token_expired`; of an invitation also `invitation_finished` or `invitation_revoked`
    #[response(status = 410)]
    Gone(ErrorAndMessageBody),
    /// `rate_limited`; `Retry-After` states when to try again
    #[response(status = 429)]
    RateLimited(ErrorAndMessageBody),
    /// An internal error
    #[response(status = 500)]
    Internal(ErrorAndMessageBody),
    /// `unavailable`: the database does not answer; `Retry-After` states when to try again
    #[response(status = 503)]
    Unavailable(ErrorAndMessageBody),
}

/// The error responses of the hosted page's endpoints that take an access token.
#[derive(IntoResponses)]
#[allow(dead_code, reason = "read by the derive only")]
pub enum HostedErrors {
    /// No access token, or `invalid_token`: unknown, expired, or of an ended session
    #[response(status = 401)]
    Unauthenticated(ErrorAndMessageBody),
    /// The merchant's account is not active
    #[response(status = 403)]
    Forbidden(ErrorAndMessageBody),
    /// Too many requests; `Retry-After` states when to try again
    #[response(status = 429)]
    RateLimited(ErrorAndMessageBody),
    /// An internal error
    #[response(status = 500)]
    Internal(ErrorAndMessageBody),
    /// The database does not answer; `Retry-After` states when to try again
    #[response(status = 503)]
    Unavailable(ErrorAndMessageBody),
}

/// The error responses of the verification endpoints.
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
    /// An internal error
    #[response(status = 500)]
    Internal(FailureBody),
    /// An engine cannot answer, or all are busy
    #[response(status = 503)]
    Unavailable(FailureBody),
}

/// The error responses of the applicant look-up.
#[derive(IntoResponses)]
#[allow(dead_code, reason = "read by the derive only")]
pub enum ApplicantErrors {
    /// Validation failed
    #[response(status = 400)]
    Invalid(DescriptionBody),
    /// Missing or wrong credentials
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
    /// A source could not be read, so it is unknown whether the applicant exists
    #[response(status = 500)]
    Internal(DescriptionBody),
}

/// `{detail}`: an error of yente's API.
#[derive(Serialize, ToSchema)]
pub struct DetailBody {
    /// What is wrong.
    pub detail: String,
}

/// A fault of a field or a parameter, in yente's API.
#[derive(Serialize, ToSchema)]
pub struct FaultBody {
    /// Always `value_error`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The place: `query` or `body`, then the names down to the field.
    pub loc: Vec<String>,
    /// What is wrong, and how to fix it.
    pub msg: String,
}

/// `{detail}` with one object per faulty field, in yente's API.
#[derive(Serialize, ToSchema)]
pub struct FaultsBody {
    /// The faults.
    pub detail: Vec<FaultBody>,
}

/// The error responses of yente's API.
#[derive(IntoResponses)]
#[allow(dead_code, reason = "read by the derive only")]
pub enum YenteErrors {
    /// The request cannot be carried out, for example because of an unknown schema or algorithm
    #[response(status = 400)]
    Invalid(DetailBody),
    /// Missing or wrong credentials
    #[response(status = 401)]
    Unauthenticated(DetailBody),
    /// The account or its key may not do this
    #[response(status = 403)]
    Forbidden(DetailBody),
    /// No such dataset or entity
    #[response(status = 404)]
    NotFound(DetailBody),
    /// A parameter or a field has a wrong type or range
    #[response(status = 422)]
    Faults(FaultsBody),
    /// Too many requests; `Retry-After` states when to try again
    #[response(status = 429)]
    RateLimited(DetailBody),
    /// An internal error
    #[response(status = 500)]
    Internal(DetailBody),
    /// The lists cannot be used, or the server is busy; nothing was searched
    #[response(status = 503)]
    Unavailable(DetailBody),
}

/// The paths in the document, for the filters of the portal. The program's router provides them.
#[derive(Clone, Debug)]
pub struct DescribedPaths(pub std::sync::Arc<[String]>);
