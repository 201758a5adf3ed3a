//! The response to a verification in the shape of contract §2.5. Members that the contract lacks are marked
//! "Additive".

use std::collections::BTreeMap;

use serde::Serialize;

use crate::codes::Code;
use crate::evidence::{ComparedField, Source};
use crate::names::{FurtherName, NameSource};
use crate::screening::{KycStatus, ScreeningHit};

/// The whole body.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct VerificationResponse {
    /// Whether everything passed.
    pub success: bool,
    /// Why the attempt did not pass, in one sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Files, face match, liveness, duplicates.
    pub idv_result: IdvResult,
    /// The documents; absent if none was submitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub document_result: Option<DocumentResult>,
    /// Absent unless the Flow requires the comparison.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ocr_result: Option<OcrResult>,
    /// Absent unless the Flow has an age bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minimum_age_result: Option<MinimumAgeResult>,
    /// Sanctions screening.
    pub kyc_results: KycResults,
    /// Members of a passing response.
    #[serde(flatten)]
    pub passing: Option<Passing>,
}

impl VerificationResponse {
    /// The response for the applicant. It never contains the further names that were searched, because they
    /// may come from another person whose face was mistaken for the applicant's. `hides_hits` also removes
    /// the hits.
    #[must_use]
    pub fn for_applicant(&self, hides_hits: bool) -> Self {
        let mut shown = self.clone();
        let kyc = &mut shown.kyc_results;
        kyc.further_names.clear();
        for hit in &mut kyc.results {
            let names = std::mem::take(&mut hit.matched_names);
            if names.iter().any(|name| name.source != NameSource::Submitted) {
                // The explanation repeats the words of the name that scored best.
                hit.explanation = None;
            }
        }
        if hides_hits {
            kyc.results.clear();
            kyc.query_params.clear();
            kyc.lists.clear();
            kyc.total.value = 0;
        }
        shown
    }
}

/// Why a result object failed.
#[derive(Debug, Clone, Serialize)]
pub struct Failure {
    /// The first code's meaning.
    pub error: &'static str,
    /// The first code in order of precedence.
    pub code: Code,
    /// Additive: every code that applies.
    pub codes: Vec<Code>,
}

impl Failure {
    /// The failure with these codes, given in order of precedence; `None` without codes.
    pub(crate) fn of(codes: Vec<Code>) -> Option<Self> {
        let code = *codes.first()?;
        Some(Self {
            error: code.info().meaning,
            code,
            codes,
        })
    }
}

/// `idvResult`
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct IdvResult {
    /// Whether this part passed.
    pub success: bool,
    /// Whether the selfie shows the holder of every document.
    pub facematch: bool,
    /// 0–100, the lowest over all documents; 0 without a comparison.
    pub similarity_score: f64,
    /// The failure, if any.
    #[serde(flatten)]
    pub failure: Option<Failure>,
    /// `approved`, `declined` or `pending`; present only for a session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sdk_status: Option<&'static str>,
    /// The session of the attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
}

/// `documentResult`
#[derive(Debug, Clone, Serialize)]
pub struct DocumentResult {
    /// Whether this part passed.
    pub success: bool,
    /// The failure, if any.
    #[serde(flatten)]
    pub failure: Option<Failure>,
    /// The source that showed the first code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
}

/// `ocrResult`
#[derive(Debug, Clone, Serialize)]
pub struct OcrResult {
    /// Whether this part passed.
    pub success: bool,
    /// Whether at least one field was compared and all compared fields match.
    #[serde(rename = "match")]
    pub matches: bool,
    /// The failure, if any.
    #[serde(flatten)]
    pub failure: Option<Failure>,
}

/// `minimumAgeResult`
#[derive(Debug, Clone, Serialize)]
pub struct MinimumAgeResult {
    /// Whether the age is within the bounds.
    pub success: bool,
    /// The failure, if any.
    #[serde(flatten)]
    pub failure: Option<Failure>,
}

/// `kycResults`
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct KycResults {
    /// `clear` or `match`.
    pub status: KycStatus,
    /// Hits: matches first, each kind by falling score.
    pub results: Vec<ScreeningHit>,
    /// The number of hits.
    pub total: Total,
    /// The flattened query values that were searched.
    pub query_params: BTreeMap<String, String>,
    /// Additive: versions of the lists that were searched, by list.
    pub lists: BTreeMap<String, String>,
    /// Additive: the names that were searched in addition to the submitted one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub further_names: Vec<FurtherName>,
    /// The failure, if any.
    #[serde(flatten)]
    pub failure: Option<Failure>,
}

/// A count.
#[derive(Debug, Clone, Serialize)]
pub struct Total {
    /// The number.
    pub value: usize,
    /// Always `eq`: the number is exact.
    pub relation: &'static str,
}

/// The additional members of a passing response.
#[derive(Debug, Clone, Serialize)]
pub struct Passing {
    /// What was submitted.
    pub metadata: Metadata,
    /// The number of documents, not of files.
    pub documents_processed: usize,
    /// The person's facemap.
    pub facemap_id: String,
    /// One per document.
    pub document_results: Vec<DocumentOutcome>,
    /// The first accepted MRZ of the documents.
    pub mrz_data: Option<MrzData>,
    /// The comparison with the documents, if the Flow requires it.
    pub ocr_comparison: Option<OcrComparison>,
}

/// `metadata`
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Metadata {
    /// The merchant's label for the applicant.
    pub external_user_id: String,
    /// The person.
    pub info: MetadataInfo,
    /// The request's `ocrMatch`; if absent, the Flow's.
    pub ocr_match: bool,
    /// The declared documents.
    pub documents: Vec<MetadataDocument>,
}

/// `metadata.info`. A member that was not submitted is null.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MetadataInfo {
    /// As submitted.
    pub first_name: String,
    /// As submitted.
    pub last_name: String,
    /// `YYYY-MM-DD`
    pub dob: Option<String>,
    /// Alpha-3.
    pub country: Option<String>,
}

/// One element of `metadata.documents`.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MetadataDocument {
    /// The document's type.
    pub id_doc_type: &'static str,
    /// The declared country, alpha-3.
    pub country: Option<String>,
}

/// One element of `document_results`.
#[derive(Debug, Clone, Serialize)]
pub struct DocumentOutcome {
    /// The document's type.
    pub document_type: &'static str,
    /// Whether the selfie shows the document's holder.
    pub face_match: bool,
    /// Similarity, 0–100.
    pub similarity_score: f64,
    /// The result in one sentence.
    pub message: &'static str,
}

/// `mrz_data`
#[derive(Debug, Clone, Serialize)]
pub struct MrzData {
    /// The data of the zone.
    pub mrz_data: MrzContent,
    /// Always true: only an accepted MRZ is reported.
    pub success: bool,
}

/// `mrz_data.mrz_data`. A field that is not on the document is null.
#[derive(Debug, Clone, Serialize)]
pub struct MrzContent {
    /// `valid`: every check digit is correct.
    pub status: &'static str,
    /// All given names.
    pub given_name: Option<String>,
    /// Family name.
    pub surname: Option<String>,
    /// Document number without fillers.
    pub document_number: Option<String>,
    /// Issuer as printed, such as `D`.
    pub issuer_code: Option<String>,
    /// `YYYY-MM-DD`
    pub birth_date: Option<String>,
    /// `YYYY-MM-DD`
    pub expiry_date: Option<String>,
    /// `M`, `F` or `X`.
    pub sex: Option<String>,
    /// `TD1`, `TD2`, `TD3`.
    pub mrz_type: String,
}

/// `ocr_comparison`
#[derive(Debug, Clone, Serialize)]
pub struct OcrComparison {
    /// Whether at least one field was compared and all compared fields match.
    #[serde(rename = "match")]
    pub matches: bool,
    /// The mean score of the compared fields, 0–100.
    pub match_score: f64,
    /// The result for each field and source.
    pub field_results: Vec<ComparedField>,
    /// Names of the fields that differ.
    pub mismatches: Vec<String>,
    /// Warnings for the reader.
    pub warnings: Vec<String>,
}
