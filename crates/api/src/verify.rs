//! `POST /v2/idv/verify` (contract §4.6). It parses the form; `service::verify` does everything else.

use std::collections::BTreeMap;

use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderMap;
use http_server::api_log::CallContext;
use http_server::error::Rejection;
use http_server::form::{self, Fields, Form};
use http_server::gate::Authenticated;
use http_server::idempotency::{Reply, key_of};
use http_server::openapi::{FailureBody, VerifyErrors};
use imaging::sniff;
use service::api_log::form_summary;
use service::idempotency::{self, ClaimOutcome};
use service::upload::{File, MAX_FILE_BYTES};
use service::{Shared, cpu, document_readings, verify};
use sha2::{Digest, Sha256};
use verification::submission::{FileField, SubmittedFile, TEXT_FIELDS};

use super::verify_schema::{VerificationBody, VerificationForm};

/// Verify a person.
///
/// Validation comes first and answers 4xx. Once it passes, the status is 200 and `success` states the
/// outcome. The Flow defines which fields, documents and selfie are required.
#[utoipa::path(post, path = "/v2/idv/verify", operation_id = "submitVerification", tag = "Verification", security(("basic" = []), ("bearer" = [])),
    params(("Idempotency-Key" = Option<String>, Header, description = "Repeat the request safely for 24 hours",
        min_length = 1, max_length = 255, pattern = r"^[\t -~]*[!-~][\t -~]*$", nullable = false)),
    request_body(content = VerificationForm, content_type = "multipart/form-data"),
    responses(
        (status = 200, description = "The verification ran; see `success`", body = VerificationBody),
        (status = 404, description = "No such Flow, Group or session in the account", body = FailureBody),
        (status = 408, description = "The body did not arrive in time", body = FailureBody),
        (status = 409, description = "Another request with this Idempotency-Key is being carried out or has taken over, or its answer was erased", body = FailureBody),
        (status = 413, description = "More than any valid request holds", body = FailureBody),
        (status = 422, description = "The Idempotency-Key came with another body", body = FailureBody),
        (status = 501, description = "The document and country are not supported yet", body = FailureBody),
        VerifyErrors))]
pub async fn verify(
    State(app): State<Shared>,
    Authenticated(caller): Authenticated,
    notes: CallContext,
    headers: HeaderMap,
    body: Body,
) -> Result<Reply, Rejection> {
    if key_of(&headers).is_none() {
        // With a key, a repeated request still gets the stored response after the session has ended, below.
        caller.check_session()?;
    }
    // With a key, it is a field that the contract does not know, which is ignored.
    let readings = caller.session.as_ref().map(|_| document_readings::FIELD);
    let texts: Vec<&str> = TEXT_FIELDS.into_iter().chain(readings).collect();
    let fields = Fields {
        texts: &texts,
        files: &FileField::ALL.map(FileField::as_str),
    };
    let Form { texts, mut files } = form::read(&headers, body, &fields, &app.config.data.spill_dir()).await?;
    let sizes = files.iter().map(|(name, file)| (name, file.content.len()));
    notes.set_form(form_summary(&texts, sizes));
    let repeatable = key_of(&headers).is_some();
    let (texts, files, submitted, content) = cpu::blocking(move || {
        let submitted = file_properties(&mut files)?;
        let content = match repeatable {
            true => request_hash(&texts, &mut files)?,
            false => Vec::new(),
        };
        Ok((texts, files, submitted, content))
    })
    .await?;
    // Idempotency keys are scoped to one API key or session, so one applicant never receives another's
    // response.
    let operation = match &caller.session {
        Some(session) => format!("POST /v2/idv/verify by {}", session.id),
        None => "POST /v2/idv/verify".into(),
    };
    let claim = match idempotency::start(&app, caller.scope, key_of(&headers), &operation, &content).await? {
        ClaimOutcome::Fresh(claim) => claim,
        ClaimOutcome::Answered(answer) => return Ok(Reply(answer)),
    };
    Ok(Reply(
        verify::run(&app, caller, texts, submitted, files, claim).await?,
    ))
}

/// The properties of the files that validation needs.
fn file_properties(
    files: &mut BTreeMap<String, File>,
) -> std::io::Result<BTreeMap<FileField, SubmittedFile>> {
    let mut submitted = BTreeMap::new();
    for (name, file) in files {
        let known_format = sniff(&file.content.first(64)?).is_some();
        // Content beyond the limit was discarded, so the exact size is not known. Any size above the limit
        // serves.
        let bytes = file.content.len() + u64::from(file.too_large) * (MAX_FILE_BYTES + 1);
        if let Ok(field) = name.parse() {
            submitted.insert(field, SubmittedFile { bytes, known_format });
        }
    }
    Ok(submitted)
}

/// A hash over the fields and files, which identifies equal requests regardless of their multipart
/// boundaries.
fn request_hash(
    texts: &BTreeMap<String, String>,
    files: &mut BTreeMap<String, File>,
) -> std::io::Result<Vec<u8>> {
    let mut hash = Sha256::new();
    let mut add = |bytes: &[u8]| {
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    };
    for (name, text) in texts {
        add(name.as_bytes());
        add(text.as_bytes());
    }
    for (name, file) in files {
        add(name.as_bytes());
        add(&file.content.read()?);
    }
    Ok(hash.finalize().to_vec())
}
