//! `/v2/reports/applicants/…` (contract §4.8).

use axum::extract::{RawQuery, State};
use axum::response::Json;
use http_server::error::Rejection;
use http_server::gate::Authenticated;
use http_server::openapi::ApplicantErrors;
use http_server::path::PathText;
use http_server::query;
use serde::{Deserialize, Serialize};
use service::applicants::{self, AttemptRecord, Record, RegistrationRecord, Resolved};
use service::problem::Problem;
use service::time::plain;
use service::{Shared, reports};
use store::registrations::{Registration, RegistrationFilter};
use utoipa::ToSchema;
use uuid::Uuid;

/// Longest externalUserId.
const MAX_EXTERNAL_USER_ID: usize = 500;
/// Longest name to search for.
const MAX_NAME: usize = 200;
/// The number of applicants on a page, unless the caller sends another.
const LIMIT: u16 = 50;
/// The highest number.
const MOST: u16 = 100;

/// The facemaps that were submitted under a label.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResolvedBody {
    /// The label.
    pub external_user_id: String,
    /// The most recently active facemap.
    pub facemap_id: Uuid,
    /// One per facemap and group, most recently active first.
    pub applicants: Vec<ApplicantBody>,
}

/// A facemap in a group.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApplicantBody {
    /// The facemap.
    pub facemap_id: Uuid,
    /// The group; null without one.
    pub grouping_id: Option<Uuid>,
    /// `approved`, `declined`, `failed`, `pending`, or null.
    pub status: Option<String>,
    /// Whether the facemap is registered. If not, it appears only in verification logs.
    pub registered: bool,
    /// `YYYY-MM-DD HH:MM:SS`
    pub created_at: String,
    /// `YYYY-MM-DD HH:MM:SS`
    pub last_active: String,
}

/// Everything recorded against a facemap.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApplicantRecordBody {
    /// The requested facemap.
    pub facemap_id: String,
    /// When the face was first seen across all registrations.
    pub created_at: String,
    /// The merchant account.
    pub merchant_id: Uuid,
    /// Entries in `registrations`.
    pub registration_cnt: usize,
    /// Most recently active first.
    pub registrations: Vec<RegistrationBody>,
}

/// One person in one group.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RegistrationBody {
    /// The label.
    pub external_user_id: String,
    /// The group; null without one.
    pub grouping_id: Option<Uuid>,
    /// `approved`, `declined`, `failed`, `pending`, or null.
    pub status: Option<String>,
    /// When it was made.
    pub created_at: String,
    /// When its latest attempt was made.
    pub last_active: String,
    /// The Flow of the most recent attempt.
    pub flow_id: Option<Uuid>,
    /// Its name.
    pub flow_name: Option<String>,
    /// The document types that the Flow required.
    pub required_documents: Vec<String>,
    /// The newest value of each field over all attempts. Fields that were never submitted are omitted.
    #[schema(value_type = Object)]
    pub info: serde_json::Value,
    /// Every attempt, newest first.
    pub verifications: Vec<AttemptBody>,
}

/// One attempt.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AttemptBody {
    /// Its number in the account's log.
    pub log_id: i64,
    /// When it was made.
    pub created_at: String,
    /// `approved`, `declined`, `failed` or `pending`.
    pub status: String,
    /// Whether every check passed.
    pub success: bool,
    /// One text per stage that recorded one.
    pub reasons: Vec<String>,
    /// The Flow.
    pub flow_id: Uuid,
    /// Its name at that time.
    pub flow_name: String,
    /// The documents submitted.
    pub document_types: Vec<String>,
    /// The hosted session, if the attempt belongs to one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<Uuid>,
}

impl From<AttemptRecord> for AttemptBody {
    fn from(record: AttemptRecord) -> Self {
        let AttemptRecord {
            attempt,
            reasons,
            document_types,
            ..
        } = record;
        AttemptBody {
            log_id: attempt.log_id,
            created_at: plain(attempt.created_at),
            status: attempt.status.as_str().into(),
            success: attempt.success,
            reasons,
            flow_id: attempt.flow_id,
            flow_name: attempt.flow_name,
            document_types,
            session_id: attempt.session_id,
        }
    }
}

impl TryFrom<RegistrationRecord> for RegistrationBody {
    type Error = serde_json::Error;

    fn try_from(record: RegistrationRecord) -> Result<Self, Self::Error> {
        let RegistrationRecord {
            registration,
            attempts,
            info,
        } = record;
        let latest = attempts.first();
        Ok(RegistrationBody {
            external_user_id: registration.external_user_id,
            grouping_id: registration.grouping_id,
            status: registration.status.map(|status| status.as_str().into()),
            created_at: plain(registration.created_at),
            last_active: plain(registration.last_active),
            flow_id: latest.map(|record| record.attempt.flow_id),
            flow_name: latest.map(|record| record.attempt.flow_name.clone()),
            required_documents: latest
                .map(|record| record.required_documents.clone())
                .unwrap_or_default(),
            info: serde_json::to_value(info)?,
            verifications: attempts.into_iter().map(AttemptBody::from).collect(),
        })
    }
}

/// An applicant in a list: one person in one group.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(title = "ListedApplicant")]
pub struct ListedApplicantBody {
    /// The person's facemap.
    pub facemap_id: Uuid,
    /// Your label.
    pub external_user_id: String,
    /// The group; null without one.
    pub grouping_id: Option<Uuid>,
    /// `approved`, `declined`, `failed`, `pending`, or null.
    #[schema(pattern = "^(approved|declined|failed|pending)$")]
    pub status: Option<String>,
    /// When it was registered (`YYYY-MM-DD HH:MM:SS`, UTC).
    #[schema(example = "2026-11-21 02:38:42")]
    pub created_at: String,
    /// When its latest attempt was made (same format).
    pub last_active: String,
}

/// A page of applicants, newest first.
#[derive(Serialize, ToSchema)]
#[schema(title = "ListedApplicants")]
pub struct ListedApplicantsBody {
    /// The applicants.
    pub applicants: Vec<ListedApplicantBody>,
    /// The value of `before` for the next page; null on the last page.
    pub next: Option<String>,
}

/// List and search your applicants, newest first.
///
/// A person who is registered in several Groups is listed once for each.
#[utoipa::path(get, path = "/v2/reports/applicants", operation_id = "listApplicants", tag = "Applicants",
    security(("basic" = [])),
    params(("status" = Option<String>, Query, description = "Only applicants with this status", pattern = "^(approved|declined|failed|pending)$"),
        ("groupId" = Option<Uuid>, Query, description = "Only applicants in this Group"),
        ("name" = Option<String>, Query, description = "Only people whose submitted or printed names contain all of these whole words, in any order; accents and case do not count", min_length = 1, max_length = 200, example = "ada byron"),
        ("from" = Option<String>, Query, description = "Only applicants registered at this time or later: a time with its offset, or a date, which is its beginning in UTC", format = DateTime, example = "2026-11-01T00:00:00Z"),
        ("until" = Option<String>, Query, description = "Only applicants registered before this time", format = DateTime, example = "2026-12-01T00:00:00Z"),
        ("limit" = Option<u16>, Query, description = "The number of applicants on a page; 50 if absent", minimum = 1, maximum = 100),
        ("before" = Option<String>, Query, description = "`next` of the previous page", pattern = "^[0-9]{1,13}\\.[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$")),
    responses((status = 200, description = "A page of applicants", body = ListedApplicantsBody), ApplicantErrors))]
pub async fn list(
    State(app): State<Shared>,
    Authenticated(caller): Authenticated,
    RawQuery(raw): RawQuery,
) -> Result<Json<ListedApplicantsBody>, Rejection> {
    let query = query::parse(raw.as_deref().unwrap_or_default())?;
    let mut errors = query.unknown(&["status", "groupId", "name", "from", "until", "limit", "before"]);
    let (limit, after) = query.page_by_time(LIMIT, MOST, &mut errors);
    let filter = RegistrationFilter {
        status: query.read("status", "approved, declined, failed or pending", &mut errors),
        grouping_id: query.read("groupId", "a UUID", &mut errors),
        name_words: Vec::new(),
        from: query.time("from", &mut errors),
        until: query.time("until", &mut errors),
        after,
    };
    let name = query.get("name");
    if name.is_some_and(|name| name.chars().count() > MAX_NAME) {
        errors.push(format!("name - must have at most {MAX_NAME} characters"));
    }
    if !errors.is_empty() {
        return Err(Problem::validation(errors).into());
    }
    let page = reports::applicants(&app, caller.scope, name, filter, limit).await?;
    let last = page.entries.last().filter(|_| page.has_more);
    let next = last.map(|last| query::cursor(last.created_at, last.id));
    let body = |registration: Registration| ListedApplicantBody {
        facemap_id: registration.facemap_id,
        external_user_id: registration.external_user_id,
        grouping_id: registration.grouping_id,
        status: registration.status.map(|status| status.as_str().into()),
        created_at: plain(registration.created_at),
        last_active: plain(registration.last_active),
    };
    Ok(Json(ListedApplicantsBody {
        applicants: page.entries.into_iter().map(body).collect(),
        next,
    }))
}

/// Resolve a label to its facemaps.
#[utoipa::path(get, path = "/v2/reports/applicants/byExternalUserId/{externalUserId}", operation_id = "getApplicantByExternalUserId", tag = "Applicants",
    security(("basic" = [])),
    params(("externalUserId" = String, Path, description = "The merchant's label, URL-encoded", min_length = 1, max_length = 500, pattern = r"\S", example = "user-1")),
    responses((status = 200, description = "Its facemaps", body = ResolvedBody), ApplicantErrors))]
pub async fn by_external_user_id(
    State(app): State<Shared>,
    Authenticated(caller): Authenticated,
    PathText(external_user_id): PathText,
) -> Result<Json<ResolvedBody>, Rejection> {
    Ok(resolve(&app, &caller, external_user_id).await?)
}

/// Resolve a label to its facemaps (query variant).
#[utoipa::path(get, path = "/v2/reports/applicants/byExternalUserId", operation_id = "findApplicantByExternalUserId", tag = "Applicants", security(("basic" = [])),
    params(("externalUserId" = String, Query, description = "The merchant's label", min_length = 1, max_length = 500, pattern = r"\S", example = "user-1")),
    responses((status = 200, description = "Its facemaps", body = ResolvedBody), ApplicantErrors))]
pub async fn by_external_user_id_query(
    State(app): State<Shared>,
    Authenticated(caller): Authenticated,
    RawQuery(raw): RawQuery,
) -> Result<Json<ResolvedBody>, Rejection> {
    let query = query::parse(raw.as_deref().unwrap_or_default())?;
    Ok(resolve(
        &app,
        &caller,
        query.get("externalUserId").unwrap_or_default().to_owned(),
    )
    .await?)
}

async fn resolve(
    app: &Shared,
    caller: &service::caller::Caller,
    external_user_id: String,
) -> Result<Json<ResolvedBody>, Problem> {
    if external_user_id.trim().is_empty() {
        return Err(Problem::validation(vec!["externalUserId required".into()]));
    }
    if external_user_id.chars().count() > MAX_EXTERNAL_USER_ID {
        let error = format!("externalUserId - must have at most {MAX_EXTERNAL_USER_ID} characters");
        return Err(Problem::validation(vec![error]));
    }
    let Resolved {
        applicants,
        facemap_id,
    } = applicants::resolve(app, caller.scope, &external_user_id).await?;
    let applicants = applicants
        .into_iter()
        .map(|applicant| ApplicantBody {
            facemap_id: applicant.facemap_id,
            grouping_id: applicant.grouping_id,
            status: applicant.status.map(|status| status.as_str().into()),
            registered: applicant.registered,
            created_at: plain(applicant.created_at),
            last_active: plain(applicant.last_active),
        })
        .collect();
    Ok(Json(ResolvedBody {
        external_user_id,
        facemap_id,
        applicants,
    }))
}

/// Everything recorded against a facemap.
#[utoipa::path(get, path = "/v2/reports/applicants/{facemapId}", operation_id = "getApplicantByFacemapId", tag = "Applicants", security(("basic" = [])),
    params(("facemapId" = String, Path, description = "As returned by resolve or by verification")),
    responses((status = 200, description = "The record", body = ApplicantRecordBody), ApplicantErrors))]
pub async fn by_facemap_id(
    State(app): State<Shared>,
    Authenticated(caller): Authenticated,
    PathText(facemap_id): PathText,
) -> Result<Json<ApplicantRecordBody>, Rejection> {
    let Record {
        created_at,
        registrations,
    } = applicants::record(&app, caller.scope, &facemap_id).await?;
    let registrations: Result<Vec<RegistrationBody>, _> =
        registrations.into_iter().map(TryInto::try_into).collect();
    let registrations = registrations.map_err(Problem::internal)?;
    Ok(Json(ApplicantRecordBody {
        facemap_id,
        created_at: plain(created_at),
        merchant_id: caller.scope.merchant_id,
        registration_cnt: registrations.len(),
        registrations,
    }))
}
