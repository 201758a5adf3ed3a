//! `/v2/reports/attempts`: the account's attempts, and one attempt with its submission and response.

use std::collections::BTreeMap;

use axum::extract::{RawQuery, State};
use axum::response::Json;
use http_server::error::Rejection;
use http_server::gate::Authenticated;
use http_server::openapi::ApplicantErrors;
use http_server::path::PathText;
use http_server::query::{self, Query};
use serde::Serialize;
use service::applicants::AttemptRecord;
use service::problem::Problem;
use service::time::plain;
use service::{Shared, reports};
use store::attempts::AttemptFilter;
use utoipa::ToSchema;
use uuid::Uuid;

/// The number of attempts on a page, unless the caller sends another.
const LIMIT: u16 = 50;
/// The highest number.
const MOST: u16 = 100;
/// The parameters of both lists of attempts.
pub(crate) const FILTERS: [&str; 11] = [
    "status",
    "code",
    "flowId",
    "groupId",
    "externalUserId",
    "facemapId",
    "sessionId",
    "from",
    "until",
    "limit",
    "before",
];

/// An attempt in a list.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(title = "AttemptSummary")]
pub struct AttemptSummaryBody {
    /// Its number in the account's log.
    pub log_id: i64,
    /// When it was made (`YYYY-MM-DD HH:MM:SS`, UTC).
    #[schema(example = "2026-11-21 02:38:42")]
    pub created_at: String,
    /// When a reviewer last decided on it (same format); null if nobody did.
    pub decided_at: Option<String>,
    /// `approved`, `declined`, `failed` or `pending`.
    #[schema(pattern = "^(approved|declined|failed|pending)$")]
    pub status: String,
    /// Whether every check passed.
    pub success: bool,
    /// The failure codes.
    pub codes: Vec<u16>,
    /// One text per stage that failed.
    pub reasons: Vec<String>,
    /// The person.
    pub facemap_id: Uuid,
    /// Your label for the person.
    pub external_user_id: String,
    /// The group; null without one.
    pub grouping_id: Option<Uuid>,
    /// The Flow.
    pub flow_id: Uuid,
    /// Its name at that time.
    pub flow_name: String,
    /// The submitted documents.
    pub document_types: Vec<String>,
    /// The issuing country of the document (alpha-3); null if unknown.
    pub country: Option<String>,
    /// The hosted session; null without one.
    pub session_id: Option<Uuid>,
}

/// A page of attempts, newest first.
#[derive(Serialize, ToSchema)]
#[schema(title = "Attempts")]
pub struct AttemptsBody {
    /// The attempts.
    pub attempts: Vec<AttemptSummaryBody>,
    /// The value of `before` for the next page; null on the last page.
    pub next: Option<String>,
}

/// A reviewer's decision.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(title = "AttemptDecision")]
pub struct DecisionBody {
    /// `approve`, `decline` or `reopen`.
    #[schema(pattern = "^(approve|decline|reopen)$")]
    pub decision: String,
    /// When it was made (`YYYY-MM-DD HH:MM:SS`, UTC).
    pub decided_at: String,
}

/// An attempt with what you sent and received.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(title = "Attempt")]
pub struct WholeAttemptBody {
    /// As in the list of attempts.
    pub attempt: AttemptSummaryBody,
    /// The submitted fields, without files.
    pub submission: BTreeMap<String, String>,
    /// The response of the verification, as it was sent; see `POST /v2/idv/verify`.
    #[schema(value_type = Object)]
    pub response: serde_json::Value,
    /// The reviewers' decisions, oldest first. The newest one determines the status.
    pub decisions: Vec<DecisionBody>,
}

impl TryFrom<AttemptRecord> for AttemptSummaryBody {
    type Error = Problem;

    fn try_from(record: AttemptRecord) -> Result<Self, Problem> {
        let AttemptRecord {
            attempt,
            reasons,
            document_types,
            ..
        } = record;
        Ok(AttemptSummaryBody {
            log_id: attempt.log_id,
            created_at: plain(attempt.created_at),
            decided_at: attempt.decided_at.map(plain),
            status: attempt.status.as_str().into(),
            success: attempt.success,
            codes: serde_json::from_str(&attempt.codes).map_err(Problem::internal)?,
            reasons,
            facemap_id: attempt.facemap_id,
            external_user_id: attempt.external_user_id,
            grouping_id: attempt.grouping_id,
            flow_id: attempt.flow_id,
            flow_name: attempt.flow_name,
            document_types,
            country: attempt.country,
            session_id: attempt.session_id,
        })
    }
}

/// The filter that a query asks for, and the length of a page.
///
/// # Errors
/// 400 with every fault of the query.
pub(crate) fn filter(query: &Query) -> Result<(AttemptFilter<'_>, u16), Problem> {
    let mut errors = query.unknown(&FILTERS);
    let errors_of = &mut errors;
    let code = query.read("code", "a failure code, such as 2101", errors_of);
    let is_code = |code: &u16| (1000..10_000).contains(code);
    if code.is_some_and(|code| !is_code(&code)) {
        errors_of.push("code - must be a failure code, such as 2101".into());
    }
    let (limit, after) = query.page_by_time(LIMIT, MOST, errors_of);
    let filter = AttemptFilter {
        external_user_id: query.get("externalUserId"),
        facemap_id: query.read("facemapId", "a UUID", errors_of),
        session_id: query.read("sessionId", "a UUID", errors_of),
        flow_id: query.read("flowId", "a UUID", errors_of),
        grouping_id: query.read("groupId", "a UUID", errors_of),
        status: query.read("status", "approved, declined, failed or pending", errors_of),
        code,
        from: query.time("from", errors_of),
        until: query.time("until", errors_of),
        after,
    };
    match errors.is_empty() {
        true => Ok((filter, limit)),
        false => Err(Problem::validation(errors)),
    }
}

/// `next` of a page.
pub(crate) fn next(records: &reports::Page<AttemptRecord>) -> Option<String> {
    let last = records.entries.last().filter(|_| records.has_more);
    last.map(|last| query::cursor(last.attempt.created_at, last.attempt.log_id))
}

/// List your attempts, newest first.
///
/// An attempt is listed until retention or an erasure deletes it.
#[utoipa::path(get, path = "/v2/reports/attempts", operation_id = "listAttempts", tag = "Applicants",
    security(("basic" = [])),
    params(("status" = Option<String>, Query, description = "Only attempts with this status", pattern = "^(approved|declined|failed|pending)$"),
        ("code" = Option<u16>, Query, description = "Only attempts with this failure code", minimum = 1000, maximum = 9999, example = 2101),
        ("flowId" = Option<Uuid>, Query, description = "Only attempts of this Flow"),
        ("groupId" = Option<Uuid>, Query, description = "Only attempts in this Group"),
        ("externalUserId" = Option<String>, Query, description = "Only attempts under this label"),
        ("facemapId" = Option<Uuid>, Query, description = "Only attempts of this person"),
        ("sessionId" = Option<Uuid>, Query, description = "Only attempts of this hosted session"),
        ("from" = Option<String>, Query, description = "Only attempts at this time or later: a time with its offset, or a date, which is its beginning in UTC", format = DateTime, example = "2026-11-01T00:00:00Z"),
        ("until" = Option<String>, Query, description = "Only attempts before this time", format = DateTime, example = "2026-12-01T00:00:00Z"),
        ("limit" = Option<u16>, Query, description = "The number of attempts on a page; 50 if absent", minimum = 1, maximum = 100),
        ("before" = Option<String>, Query, description = "`next` of the previous page", pattern = "^[0-9]{1,13}\\.[0-9]{1,18}$")),
    responses((status = 200, description = "A page of attempts", body = AttemptsBody), ApplicantErrors))]
pub async fn list(
    State(app): State<Shared>,
    Authenticated(caller): Authenticated,
    RawQuery(raw): RawQuery,
) -> Result<Json<AttemptsBody>, Rejection> {
    let query = query::parse(raw.as_deref().unwrap_or_default())?;
    let (filter, limit) = filter(&query)?;
    let page = reports::attempts(&app, caller.scope, filter, limit).await?;
    let next = next(&page);
    let attempts = page.entries.into_iter().map(TryInto::try_into);
    Ok(Json(AttemptsBody {
        attempts: attempts.collect::<Result<_, Problem>>()?,
        next,
    }))
}

/// Get an attempt with its submission and its response.
#[utoipa::path(get, path = "/v2/reports/attempts/{logId}", operation_id = "getAttempt", tag = "Applicants",
    security(("basic" = [])),
    params(("logId" = i64, Path, description = "Its number in the log", minimum = 1)),
    responses((status = 200, description = "The attempt", body = WholeAttemptBody), ApplicantErrors))]
pub async fn get(
    State(app): State<Shared>,
    Authenticated(caller): Authenticated,
    PathText(log_id): PathText,
) -> Result<Json<WholeAttemptBody>, Rejection> {
    let found = reports::attempt(&app, caller.scope, &log_id).await?;
    let decision = |decision: store::attempts::Decision| DecisionBody {
        decision: decision.decision.as_str().into(),
        decided_at: plain(decision.at),
    };
    Ok(Json(WholeAttemptBody {
        attempt: found.record.try_into()?,
        submission: found.submission,
        response: found.response,
        decisions: found.decisions.into_iter().map(decision).collect(),
    }))
}
