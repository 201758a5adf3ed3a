//! The body of an answered verification, exactly as interface §2.5 shapes it. Additive members are marked so.

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
    /// Everything passed.
    pub success: bool,
    /// Why not, in one sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Files, face match, liveness, duplicates.
    pub idv_result: IdvResult,
    /// The documents themselves; absent when none was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub document_result: Option<DocumentResult>,
    /// Absent unless the Flow asks for the comparison.
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
    /// The same for the applicant, who never sees under which further names the screening searched: they may come from
    /// an attempt of somebody whose face was taken for the applicant's. `hides_hits` also removes what was found.
    #[must_use]
    pub fn for_applicant(&self, hides_hits: bool) -> Self {
        let mut shown = self.clone();
        let kyc = &mut shown.kyc_results;
        kyc.further_names.clear();
        for hit in &mut kyc.results {
            let names = std::mem::take(&mut hit.matched_names);
            if names.iter().any(|name| name.source != NameSource::Submitted) {
                // It repeats the words of the name that scored best.
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
    /// Of codes in order of precedence; none when there are none.
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
    /// Nothing failed here.
    pub success: bool,
    /// The selfie shows the holder of every document.
    pub facematch: bool,
    /// 0–100, the lowest over all documents; 0 without a comparison.
    pub similarity_score: f64,
    /// What failed.
    #[serde(flatten)]
    pub failure: Option<Failure>,
    /// `approved`, `declined` or `pending`; only through a session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sdk_status: Option<&'static str>,
    /// The session that the attempt came through.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
}

/// `documentResult`
#[derive(Debug, Clone, Serialize)]
pub struct DocumentResult {
    /// Nothing failed here.
    pub success: bool,
    /// What failed.
    #[serde(flatten)]
    pub failure: Option<Failure>,
    /// Where the first code was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
}

/// `ocrResult`
#[derive(Debug, Clone, Serialize)]
pub struct OcrResult {
    /// Nothing failed here.
    pub success: bool,
    /// Something was compared and all of it agrees.
    #[serde(rename = "match")]
    pub matches: bool,
    /// What failed.
    #[serde(flatten)]
    pub failure: Option<Failure>,
}

/// `minimumAgeResult`
#[derive(Debug, Clone, Serialize)]
pub struct MinimumAgeResult {
    /// The age is within the bounds.
    pub success: bool,
    /// What failed.
    #[serde(flatten)]
    pub failure: Option<Failure>,
}

/// `kycResults`
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct KycResults {
    /// `clear` or `match`.
    pub status: KycStatus,
    /// Hits, best first.
    pub results: Vec<ScreeningHit>,
    /// How many.
    pub total: Total,
    /// The flattened values really used.
    pub query_params: BTreeMap<String, String>,
    /// Additive: versions of the lists that were searched.
    pub lists: BTreeMap<String, String>,
    /// Additive: the names that were searched besides the submitted one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub further_names: Vec<FurtherName>,
    /// What failed.
    #[serde(flatten)]
    pub failure: Option<Failure>,
}

/// A count.
#[derive(Debug, Clone, Serialize)]
pub struct Total {
    /// How many.
    pub value: usize,
    /// Always `eq`: exactly so many.
    pub relation: &'static str,
}

/// What a passing response additionally carries.
#[derive(Debug, Clone, Serialize)]
pub struct Passing {
    /// What was submitted.
    pub metadata: Metadata,
    /// Documents, not files.
    pub documents_processed: usize,
    /// The person.
    pub facemap_id: String,
    /// One per document.
    pub document_results: Vec<DocumentOutcome>,
    /// The machine-readable zone of the first document that has one.
    pub mrz_data: Option<MrzData>,
    /// The comparison with the documents, where the Flow asks for it.
    pub ocr_comparison: Option<OcrComparison>,
}

/// `metadata`
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Metadata {
    /// The merchant's label.
    pub external_user_id: String,
    /// The person.
    pub info: MetadataInfo,
    /// As the request said or, where it said nothing, as the Flow has it.
    pub ocr_match: bool,
    /// What was declared.
    pub documents: Vec<MetadataDocument>,
}

/// `metadata.info`; null: not submitted.
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

/// One of `metadata.documents`.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MetadataDocument {
    /// Its type.
    pub id_doc_type: &'static str,
    /// Its declared country, alpha-3.
    pub country: Option<String>,
}

/// One of `document_results`.
#[derive(Debug, Clone, Serialize)]
pub struct DocumentOutcome {
    /// Its type.
    pub document_type: &'static str,
    /// The selfie shows its holder.
    pub face_match: bool,
    /// 0–100.
    pub similarity_score: f64,
    /// In one sentence.
    pub message: &'static str,
}

/// `mrz_data`
#[derive(Debug, Clone, Serialize)]
pub struct MrzData {
    /// What the zone says.
    pub mrz_data: MrzContent,
    /// It can be relied on.
    pub success: bool,
}

/// `mrz_data.mrz_data`; null: not on the document.
#[derive(Debug, Clone, Serialize)]
pub struct MrzContent {
    /// `valid`: every check digit holds.
    pub status: &'static str,
    /// Every given name.
    pub given_name: Option<String>,
    /// Family name.
    pub surname: Option<String>,
    /// Without fillers.
    pub document_number: Option<String>,
    /// As printed, such as `D`.
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
    /// Something was compared and all of it agrees.
    #[serde(rename = "match")]
    pub matches: bool,
    /// 0–100, the mean over what was compared.
    pub match_score: f64,
    /// Field by field.
    pub field_results: Vec<ComparedField>,
    /// Names of fields that differ.
    pub mismatches: Vec<String>,
    /// What a reader should know.
    pub warnings: Vec<String>,
}
