//! Rules about submitted data compared with document data.

use super::documents::has_uncertain_mrz;
use crate::codes::Code;
use crate::evidence::{ComparedField, Comparison, Evidence, Source};
use crate::flow::Flow;
use crate::submission::Submission;

/// Whether the Flow requires submitted data to match the documents.
pub(super) fn requires_comparison(flow: &Flow, submission: &Submission) -> bool {
    submission.document_configuration(flow).requests("ocrMatch")
}

pub(super) fn examine_comparison(
    flow: &Flow,
    submission: &Submission,
    evidence: &Evidence,
    find: &mut impl FnMut(Code, Source),
) {
    if !requires_comparison(flow, submission) || evidence.documents.is_empty() {
        return;
    }
    let fields = evidence.comparison.as_ref().map_or(&[][..], |c| &c.fields);
    let declared_country = submission.document_country();
    let in_doubt = |document| has_uncertain_mrz(document, declared_country);
    // If only an uncertain reading could be compared, the doubt about that reading decides the outcome.
    let compared_in_doubt = evidence.documents.iter().any(in_doubt)
        && fields
            .iter()
            .any(|field| !field.is_reliable && field.matches.is_some());
    if reliable_fields(fields).all(|field| field.matches.is_none()) && !compared_in_doubt {
        find(Code::OcrDataMismatch, Source::Ocr);
    }
    for field in reliable_fields(fields).filter(|field| field.matches == Some(false)) {
        find(code_of_difference(field.source), field.source);
    }
}

/// The code for a value that differs from this source's.
pub(super) fn code_of_difference(source: Source) -> Code {
    match source {
        Source::Mrz | Source::Pdf417 => Code::MrzDataMismatch,
        Source::Ocr => Code::OcrFieldsMismatch,
    }
}

/// The fields that the rules rely on.
pub(super) fn reliable_fields(fields: &[ComparedField]) -> impl Iterator<Item = &ComparedField> {
    fields.iter().filter(|field| field.is_reliable)
}

/// The submission's name fields.
const NAME_FIELDS: [&str; 3] = ["firstName", "middleName", "lastName"];

/// Score (0–100) from which two names differ only by a typing error.
const TYPING_ERROR_SCORE: f64 = 75.0;

/// Whether the submitted name clearly differs from an accepted MRZ or barcode, in a Flow that does not
/// require the comparison.
pub(super) fn name_is_unlike_documents(flow: &Flow, submission: &Submission, evidence: &Evidence) -> bool {
    let fields = evidence.comparison.as_ref().map_or(&[][..], |c| &c.fields);
    !requires_comparison(flow, submission)
        && reliable_fields(fields).any(|field| {
            NAME_FIELDS.contains(&field.field.as_str())
                && field.source != Source::Ocr
                && field.matches == Some(false)
                && field.score < TYPING_ERROR_SCORE
        })
}

/// Whether at least one field was compared and all compared fields match.
pub(super) fn all_fields_match(comparison: &Comparison) -> bool {
    reliable_fields(&comparison.fields).any(|f| f.matches.is_some())
        && !reliable_fields(&comparison.fields).any(|f| f.matches == Some(false))
}
