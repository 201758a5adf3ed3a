//! `/v2/reports/attempts/{logId}/evidence`: what reviewers see about an attempt, for keys with the permission
//! `read-evidence`. `attempts` returns what every key may read.

use axum::extract::State;
use axum::http::HeaderValue;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS,
};
use axum::response::{IntoResponse, Json, Response};
use http_server::error::Rejection;
use http_server::gate::Authenticated;
use http_server::openapi::ApplicantErrors;
use http_server::path::{PathText, PathTexts};
use imaging::Format;
use serde::Serialize;
use service::acts_by_key::{self, Evidence};
use service::dispositions::HitConclusion;
use service::problem::Problem;
use service::time::plain;
use service::{Shared, reviews};
use utoipa::ToSchema;
use uuid::Uuid;

/// A reviewer's decision with its reason.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(title = "EvidenceDecision")]
pub struct ReasonedDecisionBody {
    /// `approve`, `decline` or `reopen`.
    #[schema(pattern = "^(approve|decline|reopen)$")]
    pub decision: String,
    /// Why; null if none was given.
    pub reason: Option<String>,
    /// Who: `staff:` and the id of a member, an API key and the member whom it named, or `command line`.
    pub by: String,
    /// When (`YYYY-MM-DD HH:MM:SS`, UTC).
    pub at: String,
}

/// A note on an attempt.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(title = "EvidenceNote")]
pub struct NoteBody {
    /// The note.
    pub text: String,
    /// The id of the member who wrote it.
    pub written_by: Uuid,
    /// When (`YYYY-MM-DD HH:MM:SS`, UTC).
    pub at: String,
}

/// A conclusion about a hit of a sanctions list.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(title = "EvidenceConclusion")]
pub struct ConclusionBody {
    /// The hit: its list and its entry.
    pub hit: String,
    /// `false-positive`, `true-match` or `escalated`.
    pub disposition: String,
    /// Why.
    pub reason: String,
    /// Who, as in a decision.
    pub by: String,
    /// When (`YYYY-MM-DD HH:MM:SS`, UTC).
    pub at: String,
}

/// The evidence of an attempt.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(title = "Evidence")]
pub struct EvidenceBody {
    /// Its number in the account's log.
    pub log_id: i64,
    /// The person.
    pub facemap_id: Uuid,
    /// `approved`, `declined`, `failed` or `pending`.
    #[schema(pattern = "^(approved|declined|failed|pending)$")]
    pub status: String,
    /// Send it with a decision, which is refused if the attempt has changed since.
    pub version: i64,
    /// The measures and comparisons of the engines. Members can be added at any time.
    #[schema(value_type = Object)]
    pub findings: serde_json::Value,
    /// The decisions, oldest first.
    pub decisions: Vec<ReasonedDecisionBody>,
    /// A decision that is not carried out before people agree; null without one.
    pub proposal: Option<ReasonedDecisionBody>,
    /// The notes, oldest first.
    pub notes: Vec<NoteBody>,
    /// The conclusions about hits, oldest first. The last one about a hit counts.
    pub conclusions: Vec<ConclusionBody>,
    /// The names of the submitted files.
    pub files: Vec<String>,
}

impl From<Evidence> for EvidenceBody {
    fn from(evidence: Evidence) -> Self {
        let decision = |decision: store::attempts::Decision| ReasonedDecisionBody {
            decision: decision.decision.as_str().into(),
            reason: decision.reason,
            by: decision.actor,
            at: plain(decision.at),
        };
        let note = |note: store::review::Note| NoteBody {
            text: note.text,
            written_by: note.staff_id,
            at: plain(note.at),
        };
        let conclusion = |one: HitConclusion| ConclusionBody {
            hit: one.hit,
            disposition: one.disposition.as_str().into(),
            reason: one.reason,
            by: one.actor,
            at: plain(one.at),
        };
        EvidenceBody {
            log_id: evidence.attempt.log_id,
            facemap_id: evidence.attempt.facemap_id,
            status: evidence.attempt.status.as_str().into(),
            version: evidence.version,
            findings: evidence.findings,
            decisions: evidence.decisions.into_iter().map(decision).collect(),
            proposal: evidence.proposal.map(|proposal| ReasonedDecisionBody {
                by: reviews::proposer(&proposal),
                decision: proposal.decision.as_str().into(),
                reason: proposal.reason,
                at: plain(proposal.at),
            }),
            notes: evidence.notes.into_iter().map(note).collect(),
            conclusions: evidence.conclusions.into_iter().map(conclusion).collect(),
            files: evidence.files,
        }
    }
}

/// The bytes of a file.
#[derive(ToSchema)]
#[schema(title = "File", value_type = String, format = Binary)]
#[allow(dead_code, reason = "read by the derive only; the response has the bytes")]
pub struct FileBody(Vec<u8>);

/// Get the evidence of an attempt.
///
/// The key needs the permission `read-evidence`. The audit trail records the call.
#[utoipa::path(get, path = "/v2/reports/attempts/{logId}/evidence", operation_id = "getAttemptEvidence", tag = "Applicants",
    security(("basic" = [])),
    params(("logId" = i64, Path, description = "Its number in the log", minimum = 1)),
    responses((status = 200, description = "The evidence", body = EvidenceBody), ApplicantErrors))]
pub async fn get(
    State(app): State<Shared>,
    Authenticated(caller): Authenticated,
    PathText(log_id): PathText,
) -> Result<Json<EvidenceBody>, Rejection> {
    let evidence = acts_by_key::evidence(&app, &caller, &log_id).await?;
    Ok(Json(evidence.into()))
}

/// Get a submitted file of an attempt, byte for byte.
///
/// Whoever uploaded it chose its bytes: decode it in a sandbox, and never let a browser open it on your own site. The
/// key needs the permission `read-evidence`. The audit trail records the call.
#[utoipa::path(get, path = "/v2/reports/attempts/{logId}/files/{name}", operation_id = "getAttemptFile", tag = "Applicants",
    security(("basic" = [])),
    params(("logId" = i64, Path, description = "Its number in the log", minimum = 1),
        ("name" = String, Path, description = "A name in `files` of the evidence", example = "selfie")),
    responses((status = 200, description = "The file", content(
        (FileBody = "image/jpeg"), (FileBody = "image/png"), (FileBody = "image/webp"), (FileBody = "application/octet-stream"))),
        ApplicantErrors))]
pub async fn file(
    State(app): State<Shared>,
    Authenticated(caller): Authenticated,
    PathTexts(log_id, name): PathTexts,
) -> Result<Response, Rejection> {
    let original = acts_by_key::file(&app, &caller, &log_id, &name).await?;
    let (kind, ending) = match original.format {
        Some(Format::Jpeg) => ("image/jpeg", "jpg"),
        Some(Format::Png) => ("image/png", "png"),
        Some(Format::Webp) => ("image/webp", "webp"),
        Some(Format::Bmp) => ("application/octet-stream", "bmp"),
        Some(Format::Pdf) => ("application/octet-stream", "pdf"),
        None => ("application/octet-stream", "bin"),
    };
    let disposition = format!("attachment; filename=\"{log_id}-{name}.{ending}\"");
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static(kind)),
        (
            CONTENT_DISPOSITION,
            HeaderValue::from_str(&disposition).map_err(Problem::internal)?,
        ),
        (
            CONTENT_SECURITY_POLICY,
            HeaderValue::from_static("sandbox; default-src 'none'"),
        ),
        (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    Ok((headers, original.bytes.to_vec()).into_response())
}
