//! From evidence to an answer: which failure codes apply, whether the face is proven, what the attempt's status is, and
//! the response (interface §2.5, decisions §4).
//!
//! It takes two steps, because who the applicant is among the account's people is found in the store's serialised
//! step, which in turn needs to know whether the face is proven: [`examine`], then [`Examination::judge`].

use std::collections::BTreeMap;

use jiff::civil::Date;
use reference::{DocumentType, document_rule, icao};

use crate::codes::{Code, ResultObject};
use crate::dates;
use crate::evidence::{
    BarcodeFinding, Challenge, Comparison, Consistency, DocumentData, DocumentEvidence, Evidence, FaceMatch,
    Identity, Liveness, MatchVerdict, MrzFinding, MrzRead, PictureState, Shows, Source,
};
use crate::flow::{Biometric, Flow};
use crate::response::{
    DocumentOutcome, DocumentResult, Failure, IdvResult, KycResults, Metadata, MetadataDocument,
    MetadataInfo, MinimumAgeResult, MrzContent, MrzData, OcrComparison, OcrResult, Passing, Total,
    VerificationResponse,
};
use crate::screening::{KycStatus, ScreeningHit};
use crate::settings::ReviewPolicy;
use crate::status::AttemptStatus;
use crate::submission::Submission;

/// What follows from the evidence before it is known who the applicant is.
#[derive(Debug)]
pub struct Examination<'a> {
    flow: &'a Flow,
    submission: &'a Submission,
    evidence: &'a Evidence,
    /// Codes with the source that told, in order of precedence.
    findings: BTreeMap<Code, Source>,
    face_is_proven: bool,
}

/// An attempt's outcome.
#[derive(Debug, Clone)]
pub struct Judgement {
    /// The attempt's status.
    pub status: AttemptStatus,
    /// Every check passed.
    pub success: bool,
    /// Every code that applies, by result object, in order of precedence.
    pub codes: Vec<Code>,
    /// One text per stage that failed (`verifications[].reasons`).
    pub reasons: Vec<String>,
    /// The code that a sandbox submission asked for.
    pub forced: Option<Code>,
    /// The response's body.
    pub response: VerificationResponse,
}

/// Finds every code that the evidence shows, on a day (UTC).
pub fn examine<'a>(
    flow: &'a Flow,
    submission: &'a Submission,
    evidence: &'a Evidence,
    today: Date,
) -> Examination<'a> {
    let mut findings = BTreeMap::new();
    // The first source that shows a code is the one to name.
    let mut find = |code: Code, source: Source| {
        findings.entry(code).or_insert(source);
    };
    for document in &evidence.documents {
        examine_pictures(document, &mut find);
        examine_document(document, submission.document_country(), today, &mut find);
    }
    let wants_challenge =
        submission.via_bearer && submission.document_configuration(flow).biometric() == Biometric::Liveness;
    examine_selfie(evidence, wants_challenge, &mut find);
    examine_comparison(flow, submission, evidence, &mut find);
    if let Some(code) = age_failure(flow, submission, evidence, today) {
        find(code, Source::Ocr);
    }
    if evidence.screening.is_match() {
        find(Code::SanctionsMatch, Source::Ocr);
    }
    let idv_passed = !findings
        .keys()
        .any(|code| code.info().object == ResultObject::Idv);
    let matched = all_match(evidence);
    if let Some(code) = submission.forced_code() {
        findings.entry(code).or_insert(default_source(code));
    }
    // A failure that was asked for leaves no mark on the sandbox's people.
    let face_is_proven = idv_passed && matched && submission.forced_code().is_none();
    Examination {
        flow,
        submission,
        evidence,
        findings,
        face_is_proven,
    }
}

impl Examination<'_> {
    /// Whether the selfie passed quality, liveness and the match with every document: only then is the face searched
    /// and bound to a person.
    pub fn face_is_proven(&self) -> bool {
        self.face_is_proven
    }

    /// The outcome, now that it is known who the applicant is.
    pub fn judge(mut self, identity: &Identity) -> Judgement {
        if identity.id_belongs_to_another {
            self.findings.entry(Code::UserIdExists).or_insert(Source::Ocr);
        }
        if identity.already_registered {
            self.findings
                .entry(Code::UserAlreadyRegistered)
                .or_insert(Source::Ocr);
        }
        let policy = self.flow.review_policy();
        let near_duplicate = identity.near_duplicate && policy != ReviewPolicy::Never;
        let reviewable = |code: &Code| matches!(code, Code::SanctionsMatch | Code::SimilarityBelowThreshold);
        let success = self.findings.is_empty() && !near_duplicate;
        let status = if success && policy == ReviewPolicy::Always {
            AttemptStatus::Pending
        } else if success {
            AttemptStatus::Approved
        } else if self.findings.keys().all(reviewable) && policy != ReviewPolicy::Never {
            AttemptStatus::Pending
        } else {
            AttemptStatus::Failed
        };
        let objects = [
            ResultObject::Idv,
            ResultObject::Document,
            ResultObject::Ocr,
            ResultObject::MinimumAge,
            ResultObject::Kyc,
        ];
        let first_of_each = objects
            .iter()
            .filter_map(|object| self.codes_of(*object).first().copied());
        let mut reasons: Vec<String> = first_of_each.map(|code| code.info().meaning.to_owned()).collect();
        if near_duplicate {
            reasons.push("Face resembles another registered person; awaiting review".to_owned());
        }
        Judgement {
            status,
            success,
            codes: objects.iter().flat_map(|object| self.codes_of(*object)).collect(),
            forced: self.submission.forced_code(),
            response: self.respond(success, status, reasons.first().cloned(), identity),
            reasons,
        }
    }

    /// The codes of a result object, in order of precedence.
    fn codes_of(&self, object: ResultObject) -> Vec<Code> {
        self.findings
            .keys()
            .copied()
            .filter(|code| code.info().object == object)
            .collect()
    }

    fn respond(
        &self,
        success: bool,
        status: AttemptStatus,
        message: Option<String>,
        identity: &Identity,
    ) -> VerificationResponse {
        VerificationResponse {
            success,
            message,
            idv_result: self.idv_result(status),
            document_result: self.document_result(),
            ocr_result: self.ocr_result(),
            minimum_age_result: self.minimum_age_result(),
            kyc_results: self.kyc_results(),
            passing: success.then(|| self.passing(identity)),
        }
    }

    fn idv_result(&self, status: AttemptStatus) -> IdvResult {
        let failure = Failure::of(self.codes_of(ResultObject::Idv));
        let session_id = self.submission.session_id().map(str::to_owned);
        IdvResult {
            success: failure.is_none(),
            facematch: all_match(self.evidence),
            similarity_score: rounded(weakest_match(self.evidence).map_or(0.0, |m| m.similarity)),
            failure,
            sdk_status: session_id.is_some().then(|| status.sdk_status()),
            session_id,
        }
    }

    fn document_result(&self) -> Option<DocumentResult> {
        let codes = self.codes_of(ResultObject::Document);
        let source = codes.first().and_then(|code| self.findings.get(code)).copied();
        let failure = Failure::of(codes);
        (failure.is_some() || !self.evidence.documents.is_empty()).then_some(DocumentResult {
            success: failure.is_none(),
            failure,
            source,
        })
    }

    fn ocr_result(&self) -> Option<OcrResult> {
        let failure = Failure::of(self.codes_of(ResultObject::Ocr));
        (failure.is_some() || compares(self.flow, self.submission)).then(|| OcrResult {
            success: failure.is_none(),
            matches: failure.is_none() && self.evidence.comparison.as_ref().is_some_and(agrees),
            failure,
        })
    }

    fn minimum_age_result(&self) -> Option<MinimumAgeResult> {
        let failure = Failure::of(self.codes_of(ResultObject::MinimumAge));
        let bounded = self.flow.min_age.is_some() || self.flow.max_age.is_some();
        (failure.is_some() || bounded).then_some(MinimumAgeResult {
            success: failure.is_none(),
            failure,
        })
    }

    fn kyc_results(&self) -> KycResults {
        let screening = &self.evidence.screening;
        let failure = Failure::of(self.codes_of(ResultObject::Kyc));
        let mut results = screening.results.clone();
        if failure.is_some() && results.is_empty() {
            // Only a forced match has no hit of its own; it says so.
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
            failure,
        }
    }

    fn passing(&self, identity: &Identity) -> Passing {
        let (submission, documents) = (self.submission, &self.evidence.documents);
        let text = |field| submission.get(field).map(str::to_owned);
        let configured = compares(self.flow, submission);
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
            facemap_id: identity.facemap_id.clone(),
            document_results: documents.iter().map(outcome).collect(),
            mrz_data: documents.iter().find_map(valid_mrz).map(mrz_data),
            ocr_comparison: self
                .evidence
                .comparison
                .as_ref()
                .filter(|_| configured)
                .map(ocr_comparison),
        }
    }
}

/// Codes of the pictures of a document.
fn examine_pictures(document: &DocumentEvidence, find: &mut impl FnMut(Code, Source)) {
    let Some(front) = document.front else {
        return find(Code::DocumentFileMissing, Source::Ocr);
    };
    for side in [Some(front), document.back].into_iter().flatten() {
        match side.state {
            PictureState::Corrupted => find(Code::DocumentCorrupted, Source::Ocr),
            PictureState::Unprocessable => find(Code::DocumentUnprocessable, Source::Ocr),
            PictureState::Processed if side.shows == Shows::Other => {
                find(Code::DocumentTypeNotSupported, Source::Ocr);
            }
            PictureState::Processed => {}
        }
    }
    if front.state == PictureState::Processed && front.faces == 0 {
        find(Code::NoFaceInDocument, Source::Ocr);
    }
}

/// Codes of a document's data. What could not be opened shows no MRZ and no barcode either.
fn examine_document(
    document: &DocumentEvidence,
    declared_country: Option<&str>,
    today: Date,
    find: &mut impl FnMut(Code, Source),
) {
    if promises(document, declared_country, |rule| rule.mrz) {
        match &document.mrz {
            MrzFinding::NotFound => find(Code::NoMrz, Source::Mrz),
            MrzFinding::Unreadable => find(Code::MrzUnreadable, Source::Mrz),
            MrzFinding::Read(mrz) if !mrz.valid => find(Code::MrzUnreadable, Source::Mrz),
            MrzFinding::Read(_) => {}
        }
    }
    if promises(document, declared_country, |rule| rule.pdf417) {
        match document.barcode {
            BarcodeFinding::NotFound => find(Code::NoBarcode, Source::Pdf417),
            BarcodeFinding::Unreadable | BarcodeFinding::Opaque => {
                find(Code::BarcodeUnverified, Source::Pdf417);
            }
            BarcodeFinding::Read(_) => {}
        }
    }
    if let Some(declared) = declared_country
        && let Some((source, issuer)) = first(document, |data| data.issuer.as_deref())
        && !issued_by(issuer, declared)
    {
        find(Code::IssuerMismatch, source);
    }
    if document.sides == Consistency::Mismatch {
        let source = sources(document).next().map_or(Source::Ocr, |(source, _)| source);
        let is_licence = document.document_type == DocumentType::Drivers;
        find(
            if is_licence {
                Code::LicenceSidesMismatch
            } else {
                Code::CardSidesMismatch
            },
            source,
        );
    }
    if let Some((source, expiry)) = first(document, |data| data.expiry_date.as_deref())
        && dates::iso_range(expiry).is_some_and(|(_, last)| last < today)
    {
        find(Code::DocumentExpired, source);
    }
}

/// Whether the document table promises something of this very document. What is on a back that was not sent (because
/// the Flow does not ask for it) is not missed, unless the document may be a one-sided one with it on the front.
fn promises(
    document: &DocumentEvidence,
    country: Option<&str>,
    what: impl Fn(&reference::DocumentRule) -> bool,
) -> bool {
    country
        .and_then(|country| document_rule(country, document.document_type))
        .is_some_and(|rule| {
            what(rule) && (!rule.needs_back || rule.has_one_sided_variant || document.back.is_some())
        })
}

/// Whether an issuer's code stands for the declared country. A code that nobody knows is no contradiction.
fn issued_by(code: &str, declared: &str) -> bool {
    match icao::issuer(code) {
        None => true,
        Some(issuer) => match issuer.country {
            Some(country) => country.alpha3 == declared || icao::issues_for(country.alpha3, declared),
            None => issuer.code == declared,
        },
    }
}

fn examine_selfie(evidence: &Evidence, wants_challenge: bool, find: &mut impl FnMut(Code, Source)) {
    let Some(selfie) = evidence.selfie else {
        if !evidence.documents.is_empty() {
            find(Code::SelfieRequired, Source::Ocr);
        }
        return;
    };
    match selfie.state {
        PictureState::Corrupted => return find(Code::SelfieCorrupted, Source::Ocr),
        PictureState::Unprocessable => find(Code::SelfieUnprocessable, Source::Ocr),
        PictureState::Processed => {}
    }
    match selfie.faces {
        0 if selfie.state == PictureState::Processed => return find(Code::NoFaceInSelfie, Source::Ocr),
        0 => return,
        1 => {}
        _ => find(Code::MultipleFaces, Source::Ocr),
    }
    let challenge_failed = selfie.challenge == Challenge::Failed;
    let challenge_missing = wants_challenge && selfie.challenge != Challenge::Passed;
    if selfie.liveness == Liveness::Impossible || challenge_failed || challenge_missing {
        find(Code::LivenessIncomplete, Source::Ocr);
    }
    if selfie.liveness == Liveness::NotLive {
        find(Code::NotLive, Source::Ocr);
    }
    for document in &evidence.documents {
        let has_portrait = document
            .front
            .is_some_and(|f| f.state == PictureState::Processed && f.faces > 0);
        match document.portrait_match.map(|m| m.verdict) {
            Some(MatchVerdict::Match) => {}
            Some(MatchVerdict::BelowThreshold) => find(Code::SimilarityBelowThreshold, Source::Ocr),
            Some(MatchVerdict::NoMatch) if document.document_type == DocumentType::Passport => {
                find(Code::FaceMismatchPassport, Source::Ocr);
            }
            Some(MatchVerdict::NoMatch) => find(Code::FaceMismatchDocument, Source::Ocr),
            // Both faces are there and were not compared: never a pass.
            None if has_portrait && selfie.state == PictureState::Processed => {
                find(Code::DocumentUnprocessable, Source::Ocr);
            }
            None => {}
        }
    }
}

/// Whether the Flow asks for the comparison of submitted data with documents.
fn compares(flow: &Flow, submission: &Submission) -> bool {
    submission.document_configuration(flow).asks("ocrMatch")
}

fn examine_comparison(
    flow: &Flow,
    submission: &Submission,
    evidence: &Evidence,
    find: &mut impl FnMut(Code, Source),
) {
    if !compares(flow, submission) || evidence.documents.is_empty() {
        return;
    }
    let fields = evidence.comparison.as_ref().map_or(&[][..], |c| &c.fields);
    if fields.iter().all(|field| field.matches.is_none()) {
        find(Code::OcrDataMismatch, Source::Ocr);
    }
    for field in fields.iter().filter(|field| field.matches == Some(false)) {
        let code = if field.source == Source::Ocr {
            Code::OcrFieldsMismatch
        } else {
            Code::MrzDataMismatch
        };
        find(code, field.source);
    }
}

/// Whether something was compared and all of it agrees.
fn agrees(comparison: &Comparison) -> bool {
    comparison.fields.iter().any(|f| f.matches.is_some())
        && !comparison.fields.iter().any(|f| f.matches == Some(false))
}

/// The age by the document's birth date, or by the submitted one where no document was asked for and none told.
fn age_failure(flow: &Flow, submission: &Submission, evidence: &Evidence, today: Date) -> Option<Code> {
    if flow.min_age.is_none() && flow.max_age.is_none() {
        return None;
    }
    let printed = evidence
        .documents
        .iter()
        .find_map(|d| first(d, |data| data.birth_date.as_deref()));
    let documents_asked = !submission.document_configuration(flow).document_types.is_empty();
    let range = match printed {
        Some((_, text)) => dates::iso_range(text),
        None if documents_asked => None,
        None => submission.dob.map(|day| (day, day)),
    };
    // Of a birth date whose day is unknown, every day that it can be must give one answer.
    let is_within = |birth| {
        let age = dates::age_on(today, birth);
        flow.min_age.is_none_or(|min| age >= min) && flow.max_age.is_none_or(|max| age <= max)
    };
    match range.map(|(first, last)| (is_within(first), is_within(last))) {
        Some((true, true)) => None,
        Some((false, false)) => Some(Code::AgeRequirement),
        _ => Some(Code::BirthDateUnknown),
    }
}

/// The sources that can be relied on, the best first.
fn sources(document: &DocumentEvidence) -> impl Iterator<Item = (Source, &DocumentData)> {
    let mrz = valid_mrz(document).map(|mrz| (Source::Mrz, &mrz.data));
    let barcode = match &document.barcode {
        BarcodeFinding::Read(data) => Some((Source::Pdf417, data)),
        _ => None,
    };
    mrz.into_iter()
        .chain(barcode)
        .chain([(Source::Ocr, &document.visual)])
}

/// A value by the best source that has it.
fn first<'a>(
    document: &'a DocumentEvidence,
    value: impl Fn(&'a DocumentData) -> Option<&'a str>,
) -> Option<(Source, &'a str)> {
    sources(document).find_map(|(source, data)| Some((source, value(data)?)))
}

/// The zone, when every check digit holds. Little margin in reading it is no reason to fail a person: numbers and dates are
/// proven by their digits, and a name misread all the same shows when it is compared.
fn valid_mrz(document: &DocumentEvidence) -> Option<&MrzRead> {
    match &document.mrz {
        MrzFinding::Read(mrz) if mrz.valid => Some(mrz),
        _ => None,
    }
}

fn all_match(evidence: &Evidence) -> bool {
    !evidence.documents.is_empty()
        && weakest_match(evidence).is_some_and(|m| m.verdict == MatchVerdict::Match)
}

/// The document that the selfie resembles least; none when any was not compared.
fn weakest_match(evidence: &Evidence) -> Option<FaceMatch> {
    let matches: Option<Vec<_>> = evidence.documents.iter().map(|d| d.portrait_match).collect();
    matches?
        .into_iter()
        .min_by(|a, b| a.similarity.total_cmp(&b.similarity))
}

/// The source that a code is about by itself.
fn default_source(code: Code) -> Source {
    match code {
        Code::NoMrz | Code::MrzUnreadable | Code::MrzDataMismatch => Source::Mrz,
        Code::NoBarcode | Code::BarcodeUnverified => Source::Pdf417,
        _ => Source::Ocr,
    }
}

fn rounded(number: f64) -> f64 {
    (number * 100.0).round() / 100.0
}

fn outcome(document: &DocumentEvidence) -> DocumentOutcome {
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
    let compared: Vec<_> = comparison.fields.iter().filter(|f| f.matches.is_some()).collect();
    let mean = compared.iter().map(|f| f.score).sum::<f64>() / compared.len().max(1) as f64;
    let mut mismatches: Vec<String> = Vec::new();
    for field in compared.iter().filter(|f| f.matches == Some(false)) {
        if !mismatches.contains(&field.field) {
            mismatches.push(field.field.clone());
        }
    }
    OcrComparison {
        matches: agrees(comparison),
        match_score: rounded(mean),
        field_results: comparison.fields.clone(),
        mismatches,
        warnings: comparison.warnings.clone(),
    }
}

#[cfg(test)]
mod tests;
