//! Builds the response of a judged attempt in the shape of contract §2.5. It decides nothing.

use super::documents::accepted_mrz;
use super::names::{all_fields_match, reliable_fields, requires_comparison};
use super::{ResponseInput, all_match, rounded, weakest_match};
use crate::codes::ResultObject;
use crate::dates;
use crate::evidence::{Comparison, DocumentEvidence, MatchVerdict, MrzRead};
use crate::response::{
    DocumentOutcome, DocumentResult, Failure, IdvResult, KycResults, Metadata, MetadataDocument,
    MetadataInfo, MinimumAgeResult, MrzContent, MrzData, OcrComparison, OcrResult, Passing, Total,
    VerificationResponse,
};
use crate::screening::{KycStatus, ScreeningHit};
use crate::status::{AttemptStatus, sdk_status};

impl ResponseInput<'_> {
    pub(super) fn respond(
        &self,
        success: bool,
        status: AttemptStatus,
        message: Option<String>,
    ) -> VerificationResponse {
        VerificationResponse {
            success,
            message,
            idv_result: self.idv_result(status),
            document_result: self.document_result(),
            ocr_result: self.ocr_result(),
            minimum_age_result: self.minimum_age_result(),
            kyc_results: self.kyc_results(),
            passing: success.then(|| self.passing()),
        }
    }

    fn idv_result(&self, status: AttemptStatus) -> IdvResult {
        let failure = Failure::of(self.codes_of(ResultObject::Idv));
        let session_id = self.examination.submission.session_id().map(str::to_owned);
        IdvResult {
            success: failure.is_none(),
            facematch: all_match(self.examination.evidence),
            similarity_score: rounded(weakest_match(self.examination.evidence).map_or(0.0, |m| m.similarity)),
            failure,
            sdk_status: session_id.is_some().then(|| sdk_status(status)),
            session_id,
        }
    }

    fn document_result(&self) -> Option<DocumentResult> {
        let codes = self.codes_of(ResultObject::Document);
        let source = codes.first().and_then(|code| self.findings.get(code)).copied();
        let failure = Failure::of(codes);
        (failure.is_some() || !self.examination.evidence.documents.is_empty()).then_some(DocumentResult {
            success: failure.is_none(),
            failure,
            source,
        })
    }

    fn ocr_result(&self) -> Option<OcrResult> {
        let failure = Failure::of(self.codes_of(ResultObject::Ocr));
        (failure.is_some() || requires_comparison(self.examination.flow, self.examination.submission)).then(
            || OcrResult {
                success: failure.is_none(),
                matches: failure.is_none()
                    && self
                        .examination
                        .evidence
                        .comparison
                        .as_ref()
                        .is_some_and(all_fields_match),
                failure,
            },
        )
    }

    fn minimum_age_result(&self) -> Option<MinimumAgeResult> {
        let failure = Failure::of(self.codes_of(ResultObject::MinimumAge));
        let bounded = self.examination.flow.min_age.is_some() || self.examination.flow.max_age.is_some();
        (failure.is_some() || bounded).then_some(MinimumAgeResult {
            success: failure.is_none(),
            failure,
        })
    }

    fn kyc_results(&self) -> KycResults {
        let screening = self.screening;
        let failure = Failure::of(self.codes_of(ResultObject::Kyc));
        let mut results = screening.results.clone();
        if failure.is_some() && results.is_empty() {
            // Only a match that a sandbox submission forced has no hit, so one that names the sandbox is
            // added.
            results.push(ScreeningHit::forced());
        }
        KycResults {
            status: match failure {
                Some(_) => KycStatus::Match,
                None => KycStatus::Clear,
            },
            total: Total {
                value: screening.total.max(results.len()),
                relation: "eq",
            },
            results,
            query_params: screening.query_params.clone(),
            lists: screening.lists.clone(),
            further_names: screening.further_names.clone(),
            failure,
        }
    }

    fn passing(&self) -> Passing {
        let (submission, documents) = (self.examination.submission, &self.examination.evidence.documents);
        let text = |field| submission.get(field).map(str::to_owned);
        let configured = requires_comparison(self.examination.flow, submission);
        Passing {
            metadata: Metadata {
                external_user_id: submission.external_user_id().to_owned(),
                info: MetadataInfo {
                    first_name: text("firstName").unwrap_or_default(),
                    last_name: text("lastName").unwrap_or_default(),
                    dob: submission.dob.map(dates::format_iso),
                    country: text("country"),
                },
                ocr_match: submission.ocr_match.unwrap_or(configured),
                documents: documents
                    .iter()
                    .map(|d| MetadataDocument {
                        id_doc_type: d.document_type.as_str(),
                        country: text("documentCountry"),
                    })
                    .collect(),
            },
            documents_processed: documents.len(),
            facemap_id: self.identity.facemap_id.clone(),
            document_results: documents.iter().map(document_outcome).collect(),
            mrz_data: documents.iter().find_map(accepted_mrz).map(mrz_data),
            ocr_comparison: self
                .examination
                .evidence
                .comparison
                .as_ref()
                .filter(|_| configured)
                .map(ocr_comparison),
        }
    }
}

fn document_outcome(document: &DocumentEvidence) -> DocumentOutcome {
    let found = document.portrait_match;
    let face_match = found.is_some_and(|m| m.verdict == MatchVerdict::Match);
    DocumentOutcome {
        document_type: document.document_type.as_str(),
        face_match,
        similarity_score: rounded(found.map_or(0.0, |m| m.similarity)),
        message: if face_match {
            "Selfie matches document photo"
        } else {
            "Selfie does not match document photo"
        },
    }
}

fn mrz_data(mrz: &MrzRead) -> MrzData {
    let data = mrz.data.clone();
    MrzData {
        mrz_data: MrzContent {
            status: "valid",
            given_name: data.given_names,
            surname: data.surname,
            document_number: data.document_number,
            issuer_code: data.issuer,
            birth_date: data.birth_date,
            expiry_date: data.expiry_date,
            sex: data.sex,
            mrz_type: mrz.format.clone(),
        },
        success: true,
    }
}

fn ocr_comparison(comparison: &Comparison) -> OcrComparison {
    let compared: Vec<_> = reliable_fields(&comparison.fields)
        .filter(|f| f.matches.is_some())
        .collect();
    let mean = compared.iter().map(|f| f.score).sum::<f64>() / compared.len().max(1) as f64;
    let mut mismatches: Vec<String> = Vec::new();
    for field in compared.iter().filter(|f| f.matches == Some(false)) {
        if !mismatches.contains(&field.field) {
            mismatches.push(field.field.clone());
        }
    }
    OcrComparison {
        matches: all_fields_match(comparison),
        match_score: rounded(mean),
        field_results: comparison.fields.clone(),
        mismatches,
        warnings: comparison.warnings.clone(),
    }
}
