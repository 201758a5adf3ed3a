//! Decisions, notes, erasures and exports by API keys with permissions. Each request names a member of the account who is
//! responsible; `service::acts_by_key` checks that the key may name that member.

use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderValue;
use axum::http::header::{CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Json, Response};
use http_server::error::Rejection;
use http_server::gate::Authenticated;
use http_server::json::JsonObject;
use http_server::openapi::{ApplicantErrors, DescriptionBody};
use http_server::path::PathText;
use serde::Serialize;
use service::problem::Problem;
use service::reviews::Outcome;
use service::{Shared, acts_by_key};
use utoipa::ToSchema;
use uuid::Uuid;
use verification::request_by_key::{DecisionByKey, NoteByKey, parse_reviewer};

use crate::evidence::FileBody;

/// A decision on an attempt.
#[derive(ToSchema)]
#[schema(title = "NewDecision", rename_all = "camelCase")]
#[allow(
    dead_code,
    reason = "read by the derive only; verification::request_by_key reads the body"
)]
pub struct NewDecisionBody {
    /// `decline` takes effect, unless the account or the Flow requires two people. `approve` is always only proposed.
    #[schema(pattern = "^(approve|decline)$", example = "decline")]
    decision: String,
    /// Why; required to decline.
    #[schema(
        required = false,
        min_length = 1,
        max_length = 1000,
        example = "The document is a copy"
    )]
    reason: Option<String>,
    /// The id of the responsible member; the key's permissions in the portal show it.
    reviewer_id: Uuid,
    /// The `version` of the evidence on which the decision is based. If the attempt has changed since, the decision is
    /// refused.
    #[schema(required = false, minimum = 0)]
    version: Option<i64>,
}

/// What became of a decision.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(title = "DecisionOutcome")]
pub struct DecisionOutcomeBody {
    /// Its number in the account's log.
    pub log_id: i64,
    /// `decided`, or `proposed`: people must agree in the portal.
    #[schema(pattern = "^(decided|proposed)$")]
    pub outcome: String,
    /// The attempt's status now: `approved`, `declined`, `failed` or `pending`.
    #[schema(pattern = "^(approved|declined|failed|pending)$")]
    pub status: String,
}

/// Decline an attempt, or propose to approve it.
///
/// The key needs the permission `decide`. An approval by key never takes effect before people agree in the portal: two
/// if the account or the Flow requires two, else one. Repeating a decision changes nothing.
#[utoipa::path(post, path = "/v2/reports/attempts/{logId}/decision", operation_id = "decideAttempt", tag = "Applicants",
    security(("basic" = [])),
    params(("logId" = i64, Path, description = "Its number in the log", minimum = 1)),
    request_body = NewDecisionBody,
    responses(
        (status = 200, description = "What became of it", body = DecisionOutcomeBody),
        (status = 409, description = "The attempt has changed since, another decision is proposed, or a colleague is reviewing it", body = DescriptionBody),
        ApplicantErrors))]
pub async fn decide(
    State(app): State<Shared>,
    Authenticated(caller): Authenticated,
    PathText(log_id): PathText,
    body: JsonObject,
) -> Result<Json<DecisionOutcomeBody>, Rejection> {
    let wish = DecisionByKey::parse(&body.object).map_err(Problem::validation)?;
    let (outcome, status) = acts_by_key::decide(&app, &caller, &log_id, &wish).await?;
    let outcome = match outcome {
        Outcome::Decided(_) => "decided",
        Outcome::Proposed => "proposed",
    };
    Ok(Json(DecisionOutcomeBody {
        log_id: log_id.parse().map_err(Problem::internal)?,
        outcome: outcome.into(),
        status: status.as_str().into(),
    }))
}

/// A note on an attempt.
#[derive(ToSchema)]
#[schema(title = "NewNote", rename_all = "camelCase")]
#[allow(
    dead_code,
    reason = "read by the derive only; verification::request_by_key reads the body"
)]
pub struct NewNoteBody {
    /// The note.
    #[schema(min_length = 1, max_length = 4000, example = "Called the applicant")]
    text: String,
    /// The id of the responsible member, who becomes the author; the key's permissions in the portal show it.
    reviewer_id: Uuid,
}

/// The attempt of a new note.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(title = "NotedAttempt")]
pub struct NotedAttemptBody {
    /// Its number in the account's log.
    pub log_id: i64,
}

/// Add a note to an attempt.
///
/// The key needs the permission `decide`.
#[utoipa::path(post, path = "/v2/reports/attempts/{logId}/notes", operation_id = "addAttemptNote", tag = "Applicants",
    security(("basic" = [])),
    params(("logId" = i64, Path, description = "Its number in the log", minimum = 1)),
    request_body = NewNoteBody,
    responses((status = 200, description = "The note was added", body = NotedAttemptBody), ApplicantErrors))]
pub async fn add_note(
    State(app): State<Shared>,
    Authenticated(caller): Authenticated,
    PathText(log_id): PathText,
    body: JsonObject,
) -> Result<Json<NotedAttemptBody>, Rejection> {
    let note = NoteByKey::parse(&body.object).map_err(Problem::validation)?;
    acts_by_key::add_note(&app, &caller, &log_id, &note).await?;
    let log_id = log_id.parse().map_err(Problem::internal)?;
    Ok(Json(NotedAttemptBody { log_id }))
}

/// Who is responsible for an erasure or an export.
#[derive(ToSchema)]
#[schema(title = "ResponsibleMember", rename_all = "camelCase")]
#[allow(
    dead_code,
    reason = "read by the derive only; verification::request_by_key reads the body"
)]
pub struct ResponsibleBody {
    /// The id of the responsible member; the key's permissions in the portal show it.
    reviewer_id: Uuid,
}

/// An erased person.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(title = "ErasedPerson")]
pub struct ErasedPersonBody {
    /// The person.
    pub facemap_id: Uuid,
    /// The number of attempts that were erased; 0 if the person was erased before.
    pub attempts: usize,
}

/// Erase a person and all of their data, permanently.
///
/// The key needs the permission `erase`. After a 500, repeat the request: it finishes what is left. Repeating a finished
/// erasure changes nothing.
#[utoipa::path(post, path = "/v2/reports/applicants/{facemapId}/erase", operation_id = "eraseApplicant", tag = "Applicants",
    security(("basic" = [])),
    params(("facemapId" = Uuid, Path, description = "The person")),
    request_body = ResponsibleBody,
    responses(
        (status = 200, description = "The person is erased", body = ErasedPersonBody),
        ApplicantErrors))]
pub async fn erase(
    State(app): State<Shared>,
    Authenticated(caller): Authenticated,
    PathText(facemap_id): PathText,
    body: JsonObject,
) -> Result<Json<ErasedPersonBody>, Rejection> {
    let reviewer = parse_reviewer(&body.object).map_err(Problem::validation)?;
    let erased = acts_by_key::erase(&app, &caller, &facemap_id, reviewer).await?;
    Ok(Json(ErasedPersonBody {
        facemap_id: erased.facemap_id,
        attempts: erased.attempts,
    }))
}

/// Export all data about a person as a ZIP file.
///
/// The key needs the permission `export`. A file that was received to its end is complete.
#[utoipa::path(post, path = "/v2/reports/applicants/{facemapId}/export", operation_id = "exportApplicant", tag = "Applicants",
    security(("basic" = [])),
    params(("facemapId" = Uuid, Path, description = "The person")),
    request_body = ResponsibleBody,
    responses(
        (status = 200, description = "The data", content_type = "application/zip", body = FileBody),
        ApplicantErrors))]
pub async fn export(
    State(app): State<Shared>,
    Authenticated(caller): Authenticated,
    PathText(facemap_id): PathText,
    body: JsonObject,
) -> Result<Response, Rejection> {
    let reviewer = parse_reviewer(&body.object).map_err(Problem::validation)?;
    let stream = acts_by_key::export(&app, &caller, &facemap_id, reviewer).await?;
    let disposition = format!("attachment; filename=\"person-{facemap_id}.zip\"");
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static("application/zip")),
        (
            CONTENT_DISPOSITION,
            HeaderValue::from_str(&disposition).map_err(Problem::internal)?,
        ),
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    Ok((headers, Body::from_stream(stream)).into_response())
}
