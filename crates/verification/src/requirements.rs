//! Whether a submission may be verified: the stages between text fields and engines, in the order of
//! `docs/decisions/0010-order-of-verification.md`. The first stage with faults refuses the request and
//! reports all of its faults.

use reference::{DocumentType, RESIDENCE_PERMIT_ISSUERS, RESTRICTED_JURISDICTIONS, UTOPIA, document_rule};

use crate::flow::{Flow, PERSONAL_FIELDS};
use crate::refusal::{Refusal, RefusalKind};
use crate::submission::{FileField, MAX_FILE_BYTES, Side, Submission};

/// Checks every stage, in order.
///
/// # Errors
/// The first stage's refusal.
pub fn check(flow: &Flow, submission: &Submission) -> Result<(), Refusal> {
    check_flow(flow, submission)?;
    check_jurisdictions(flow, submission)?;
    check_supported(submission)?;
    check_files(submission)
}

/// Checks that the submission has everything the Flow requests.
///
/// # Errors
/// 400 with one text per missing requirement.
pub fn check_flow(flow: &Flow, submission: &Submission) -> Result<(), Refusal> {
    let personal = submission.personal_configuration(flow);
    let mut missing: Vec<String> = PERSONAL_FIELDS
        .iter()
        .filter(|field| personal.requests(field) && submission.get(field).is_none())
        .map(|field| format!("{field} is required"))
        .collect();
    let others_missing = !missing.is_empty();
    let ssn_missing = personal.requests("ssn") && submission.get("ssn").is_none();
    if ssn_missing {
        missing.push("Social Security Number is required".to_owned());
    }
    let before_documents = missing.len();
    let wrong = check_documents(flow, submission, &mut missing);

    // The contract gives a missing SSN, if nothing else is missing, the message for invalid fields.
    let documents_missing = missing.len() > before_documents;
    let message = if others_missing || documents_missing {
        Refusal::REQUIRED_FIELDS_MISSING
    } else {
        Refusal::VALIDATION_FAILED
    };
    missing.extend(wrong);
    Refusal::unless_empty(message, missing)
}

/// Adds what is missing of documents and selfie. Returns the faults of document types that are not accepted.
fn check_documents(flow: &Flow, submission: &Submission, missing: &mut Vec<String>) -> Vec<String> {
    let configuration = submission.document_configuration(flow);
    let accepted = &configuration.document_types;
    let declared = &submission.document_types;
    let names = accepted.iter().map(|t| t.as_str()).collect::<Vec<_>>().join(", ");
    if declared.is_empty() {
        if !accepted.is_empty() {
            missing.push(format!("documentTypes is required: one of {names}"));
        }
        return Vec::new();
    }
    if submission.document_country().is_none() {
        missing.push("documentCountry is required when documentTypes is given".to_owned());
    }
    for document_type in declared {
        let mut need = |side, wanted: bool| {
            if let Some(field) = FileField::of(*document_type, side)
                && wanted
                && !submission.files.contains_key(&field)
            {
                missing.push(format!("{} file is required for {document_type}", field.as_str()));
            }
        };
        need(Side::Front, true);
        // Without a country it is unknown whether the back is needed. The error for the missing country
        // suffices.
        let needs_back = submission
            .document_country()
            .map(|c| configuration.needs_back(*document_type, c));
        need(
            Side::Back,
            needs_back.unwrap_or(*document_type == DocumentType::ResidencyCard),
        );
    }
    if !submission.files.contains_key(&FileField::Selfie) {
        missing.push("selfie file is required with a document".to_owned());
    }
    let refused = declared
        .iter()
        .filter(|t| !accepted.is_empty() && !accepted.contains(t));
    refused
        .map(|t| format!("documentTypes - {t} is not accepted; accepted: {names}"))
        .collect()
}

/// Checks that neither the applicant nor the document is from a restricted jurisdiction.
///
/// # Errors
/// 403. If the Flow restricts the country, the message ends with `for this flow`.
pub fn check_jurisdictions(flow: &Flow, submission: &Submission) -> Result<(), Refusal> {
    let of_permit_issuer = submission
        .document_country()
        .is_some_and(|c| issues_residence_permits(c, submission.sandbox));
    // Contract §4.6 rule 5. The document's own country is never exempt.
    let exempt = submission.document_types == [DocumentType::ResidencyCard] && of_permit_issuer;
    let mut errors = Vec::new();
    for (field, what) in [
        ("country", "country of residence"),
        ("nationality", "nationality"),
        ("documentCountry", "document country"),
    ] {
        let Some(code) = submission.get(field) else {
            continue;
        };
        if exempt && field != "documentCountry" {
            continue;
        }
        if RESTRICTED_JURISDICTIONS.contains(&code) {
            errors.push(format!("{what} is a restricted jurisdiction"));
        } else if flow.restricts(code) {
            errors.push(format!("{what} is a restricted jurisdiction for this flow"));
        }
    }
    match errors.first().cloned() {
        None => Ok(()),
        Some(message) => Err(Refusal::new(RefusalKind::Restricted, message, errors)),
    }
}

fn issues_residence_permits(alpha3: &str, sandbox: bool) -> bool {
    RESIDENCE_PERMIT_ISSUERS.contains(&alpha3) || (sandbox && alpha3 == UTOPIA.alpha3)
}

/// Checks that the document's country issues such documents and that they can be verified.
///
/// # Errors
/// 400 for a residence permit of a country that is not a listed issuer; 501 for a pair that is not supported
/// yet.
pub fn check_supported(submission: &Submission) -> Result<(), Refusal> {
    let Some(country) = submission.document_country() else {
        return Ok(());
    };
    let declared = &submission.document_types;
    if declared.contains(&DocumentType::ResidencyCard)
        && !issues_residence_permits(country, submission.sandbox)
    {
        let issuers = RESIDENCE_PERMIT_ISSUERS.join(", ");
        let error = format!("documentCountry - residence permits are accepted from {issuers} only");
        return Err(Refusal::validation(vec![error]));
    }
    let is_unsupported = |t: &&DocumentType| document_rule(country, **t).is_some_and(|rule| !rule.supported);
    let errors: Vec<_> = declared
        .iter()
        .filter(is_unsupported)
        .map(|t| format!("{t} of {country} is not yet supported"))
        .collect();
    match errors.first().cloned() {
        None => Ok(()),
        Some(message) => Err(Refusal::new(RefusalKind::NotSupported, message, errors)),
    }
}

/// Checks the files' sizes and formats, and that each belongs to a declared document.
///
/// # Errors
/// 400 `File validation failed`, naming each file.
pub fn check_files(submission: &Submission) -> Result<(), Refusal> {
    let mut errors = Vec::new();
    for (field, file) in &submission.files {
        let name = field.as_str();
        match field.document() {
            Some((document_type, _)) if !submission.document_types.contains(&document_type) => {
                errors.push(format!("{name} - documentTypes does not include {document_type}"));
            }
            None if submission.document_types.is_empty() => {
                errors.push(format!("{name} - cannot be submitted without a document"));
            }
            _ => {}
        }
        if file.bytes == 0 {
            errors.push(format!("{name} file is empty"));
        } else if file.bytes > MAX_FILE_BYTES {
            errors.push(format!("{name} file is larger than 10 MB"));
        } else if !file.known_format {
            errors.push(format!("{name} file must be a JPEG, PNG, WEBP, BMP or PDF"));
        }
    }
    Refusal::unless_empty(Refusal::FILE_VALIDATION_FAILED, errors)
}

#[cfg(test)]
mod tests;
