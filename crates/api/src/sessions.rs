//! `/v2/sdk/session/…` (contract §4.3–§4.5): creating hosted links and polling sessions.

use axum::extract::State;
use axum::response::Json;
use http_server::error::Rejection;
use http_server::gate::Authenticated;
use http_server::json::JsonObject;
use http_server::openapi::{ErrorAndMessageBody, LinkAndPollErrors, SessionBodyErrors};
use http_server::path::PathText;
use serde::{Deserialize, Serialize};
use service::Shared;
use service::problem::Problem;
use service::sessions::{self, PollResult};
use service::time::iso;
use store::sessions::Session;
use utoipa::ToSchema;
use uuid::Uuid;

/// The content of a link to create.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(
    dead_code,
    reason = "read by the derive only; verification::link reads the body"
)]
pub struct NewLinkBody {
    /// Your label for the applicant: the session's `userId`, and the verification's `externalUserId`.
    #[schema(min_length = 1, max_length = 500, example = "user-1")]
    user_id: String,
    /// A Group of the account.
    #[schema(
        min_length = 1,
        max_length = 45,
        example = "8c0f1c9e-6f0e-4ad3-93c1-6f5f0a4ff3a1"
    )]
    group_id: String,
    /// A Flow in that Group.
    #[schema(
        min_length = 1,
        max_length = 45,
        example = "0199f0ab-7c3e-7d11-b1a4-2f6d6c0f3a55"
    )]
    flow_id: String,
    /// The person whom you expect (optional). If the document does not confirm this person, the attempt goes to manual review, or
    /// fails in a Flow without review.
    #[schema(required = false, nullable = false)]
    expected: Option<ExpectedPersonBody>,
}

/// The person whom you expect to use the link. The applicant never sees these values.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[allow(
    dead_code,
    reason = "read by the derive only; verification::expected reads the body"
)]
pub struct ExpectedPersonBody {
    /// Given names in Latin or Cyrillic letters. Write a single name in both fields.
    #[schema(min_length = 1, max_length = 255, example = "Ada")]
    first_name: String,
    /// Family name.
    #[schema(min_length = 1, max_length = 255, example = "Byron")]
    last_name: String,
    /// Date of birth as `MM/DD/YYYY`.
    #[schema(nullable = false, example = "12/10/1985")]
    dob: Option<String>,
}

/// The response header with the id of a new link, since the contract's body has no member for it.
const LINK_ID: &str = "x-link-id";

/// A link.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct LinkBody {
    /// The URL for the applicant, who can open it once, within ten minutes.
    #[schema(example = "https://verify.example.com/verify?iswebsdklink=true&token=Yx3k9QpT…")]
    pub url: String,
}

/// The state of a session.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct SessionBody {
    /// The session.
    pub session_id: Uuid,
    /// Your label for the applicant.
    #[schema(example = "user-1")]
    pub user_id: String,
    /// `pending`, `success`, `failed` or `expired`; all but `pending` are final.
    #[schema(example = "success")]
    pub status: String,
    /// The deciding attempt's verification response as JSON; `{}` until there is one. After a reviewer's
    /// decision it also has `review: {decision, at}`.
    #[schema(
        example = r#"{"success":true,"idvResult":{"success":true,"facematch":true,"similarityScore":97.4}}"#
    )]
    pub result: String,
    /// Always `verification`.
    #[serde(rename = "type")]
    #[schema(example = "verification")]
    pub kind: String,
    /// When the link was exchanged (ISO 8601, UTC, milliseconds).
    #[schema(example = "2026-11-21T06:00:00.000Z")]
    pub created_at: String,
    /// When it became final; null until then.
    #[schema(example = "2026-11-21T06:01:42.250Z")]
    pub completed_at: Option<String>,
    /// Seconds from `created_at` to `completed_at`; null until then.
    #[schema(example = 102.25)]
    pub duration_seconds: Option<f64>,
    /// Its attempts and stage.
    pub metadata: SessionMetadata,
}

/// A session's attempts and stage.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionMetadata {
    /// Attempts made.
    #[schema(example = 1)]
    pub attempts: i64,
    /// Attempts allowed.
    #[schema(example = 3)]
    pub max_attempts: i64,
    /// `open` (the applicant must act), `in_review` (a reviewer must decide) or `done`.
    #[schema(example = "done")]
    pub stage: String,
}

impl From<PollResult> for SessionBody {
    fn from(PollResult { session, result }: PollResult) -> Self {
        let Session {
            created_at,
            completed_at,
            ..
        } = session;
        SessionBody {
            session_id: session.id,
            user_id: session.link.user_id,
            status: session.status.as_str().into(),
            result,
            kind: "verification".into(),
            created_at: iso(created_at),
            completed_at: completed_at.map(iso),
            duration_seconds: completed_at.map(|at| (at - created_at) as f64 / 1_000.0),
            metadata: SessionMetadata {
                attempts: session.attempts,
                max_attempts: session.max_attempts,
                stage: session.stage.as_str().into(),
            },
        }
    }
}

/// Create a one-time link to the hosted page.
///
/// Send it to the applicant: it can be exchanged once, within ten minutes.
#[utoipa::path(post, path = "/v2/sdk/session/web-sdk-link", operation_id = "createSessionLink", tag = "Sessions", security(("basic" = [])),
    request_body = NewLinkBody,
    responses(
        (status = 200, description = "The link", body = LinkBody,
            headers(("X-Link-Id" = Uuid, description = "The id of the link, by which you can revoke it"))),
        (status = 404, description = "No such Flow or Group in the account", body = ErrorAndMessageBody),
        LinkAndPollErrors, SessionBodyErrors))]
pub async fn link(
    State(app): State<Shared>,
    Authenticated(caller): Authenticated,
    body: JsonObject,
) -> Result<([(&'static str, String); 1], Json<LinkBody>), Rejection> {
    let (link_id, url) = sessions::link(&app, &caller, &body.object).await?;
    Ok(([(LINK_ID, link_id.to_string())], Json(LinkBody { url })))
}

/// The state of a session.
#[utoipa::path(get, path = "/v2/sdk/session/verification-result/{sessionId}", operation_id = "getVerificationResult", tag = "Sessions", security(("basic" = [])),
    params(("sessionId" = String, Path, description = "The `session_id` of the exchange")),
    responses(
        (status = 200, description = "The session", body = SessionBody),
        (status = 404, description = "No such session in the account", body = ErrorAndMessageBody),
        LinkAndPollErrors))]
pub async fn poll(
    State(app): State<Shared>,
    Authenticated(caller): Authenticated,
    PathText(id): PathText,
) -> Result<Json<SessionBody>, Rejection> {
    Ok(Json(sessions::poll(&app, caller.scope, &id).await?.into()))
}

/// A poll without a session id, which gets an error that states the correct path.
pub async fn poll_nothing(_: Authenticated) -> Rejection {
    Problem::invalid("sessionId - is required: GET /v2/sdk/session/verification-result/{sessionId}").into()
}
