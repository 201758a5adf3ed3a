//! From evidence to an outcome: the failure codes, whether the face is proven, the attempt's status and the
//! response (contract §2.5, `docs/decisions/0011-one-code-per-object.md`).
//!
//! It takes two steps, because [`crate::identity`] needs to know whether the face is proven. First
//! [`examine`] runs once on the evidence. Then [`Examination::judge`] adds the person and the screening of
//! the person's names.

mod documents;
pub mod expected;
mod names;
pub mod reading;
mod respond;

use std::collections::{BTreeMap, BTreeSet};

use jiff::civil::Date;
use reference::DocumentType;

use crate::codes::{Code, ResultObject};
use crate::dates;
use crate::evidence::{Challenge, Evidence, FaceMatch, MatchVerdict, PassiveCue, PictureState, Source};
use crate::flow::{Biometric, Flow};
use crate::hold::Hold;
use crate::identity::Identity;
use crate::response::VerificationResponse;
use crate::screening::Screening;
use crate::settings::{FraudSigns, ReviewPolicy};
use crate::status::AttemptStatus;
use crate::submission::Submission;

/// What follows from the evidence before the applicant is identified.
#[derive(Debug)]
pub struct Examination<'a> {
    flow: &'a Flow,
    submission: &'a Submission,
    evidence: &'a Evidence,
    /// Codes in order of precedence, each with the source that showed it first.
    findings: BTreeMap<Code, Source>,
    holds: BTreeSet<Hold>,
    is_uncertain: bool,
    face_is_proven: bool,
    face_awaits_approval: bool,
}

/// An attempt's outcome.
#[derive(Debug, Clone)]
pub struct Judgement {
    /// The attempt's status.
    pub status: AttemptStatus,
    /// Whether every check passed.
    pub success: bool,
    /// Every code that applies, by result object, in order of precedence.
    pub codes: Vec<Code>,
    /// Holds, which have no failure code. For reviewers only.
    pub holds: Vec<Hold>,
    /// One text per result object that failed, then those of review (`verifications[].reasons`).
    pub reasons: Vec<String>,
    /// The code that a sandbox submission requested.
    pub forced: Option<Code>,
    /// The response's body.
    pub response: VerificationResponse,
}

/// Finds every code that the evidence shows. `today` is in UTC.
pub fn examine<'a>(
    flow: &'a Flow,
    submission: &'a Submission,
    evidence: &'a Evidence,
    today: Date,
) -> Examination<'a> {
    let mut findings = BTreeMap::new();
    // The response names the first source that shows a code.
    let mut find = |code: Code, source: Source| {
        findings.entry(code).or_insert(source);
    };
    let policy = flow.review_policy();
    let declared_country = submission.document_country();
    let mut holds = BTreeSet::new();
    let mut is_uncertain = false;
    for document in &evidence.documents {
        documents::examine_pictures(document, &mut find);
        documents::examine_document(document, declared_country, today, &mut find);
        is_uncertain |= documents::has_uncertain_mrz(document, declared_country);
    }
    let wants_challenge =
        submission.via_bearer && submission.document_configuration(flow).biometric() == Biometric::Liveness;
    examine_selfie(evidence, wants_challenge, &mut find);
    for hold in &evidence.selfie_doubts {
        match hold.code_without_review() {
            Some(code) if policy == ReviewPolicy::Never => find(code, Source::Ocr),
            _ => {
                holds.insert(*hold);
            }
        }
    }
    names::examine_comparison(flow, submission, evidence, &mut find);
    if policy != ReviewPolicy::Never && names::name_is_unlike_documents(flow, submission, evidence) {
        holds.insert(Hold::NameMismatch);
    }
    let difference = evidence.expected.as_ref().and_then(expected::difference);
    if let Some(code) = difference {
        holds.insert(Hold::UnexpectedPerson);
        // Nothing is held there, so the attempt fails.
        if policy == ReviewPolicy::Never {
            find(code, default_source(code));
        }
    }
    let holds_fraud = flow.settings.fraud_signs == FraudSigns::Review && policy != ReviewPolicy::Never;
    if evidence.has_fraud_signs && holds_fraud {
        holds.insert(Hold::FraudSigns);
    }
    if let Some(code) = age_failure(flow, submission, evidence, today) {
        find(code, Source::Ocr);
    }
    let idv_passed = !findings
        .keys()
        .any(|code| code.info().object == ResultObject::Idv);
    let selfie_is_beyond_doubt = !holds.iter().any(|hold| hold.leaves_face_unproven());
    // A requested failure must not bind or search a face among the sandbox's people.
    let face_matches = idv_passed && all_match(evidence) && submission.forced_code().is_none();
    if let Some(code) = submission.forced_code() {
        findings.entry(code).or_insert(default_source(code));
    }
    Examination {
        flow,
        submission,
        evidence,
        findings,
        holds,
        is_uncertain,
        face_is_proven: face_matches && selfie_is_beyond_doubt,
        face_awaits_approval: face_matches && !selfie_is_beyond_doubt,
    }
}

impl Examination<'_> {
    /// Whether the selfie passed quality, liveness and the match with every document, and no hold doubts the
    /// selfie. Only a proven face is searched and bound to a person.
    pub fn face_is_proven(&self) -> bool {
        self.face_is_proven
    }

    /// Whether only a hold leaves the face unproven. An approval of the attempt proves the face and then runs
    /// the skipped identification.
    pub fn face_awaits_approval(&self) -> bool {
        self.face_awaits_approval
    }

    /// The outcome for the identified applicant. `screening` has the hits that count for this person.
    /// `may_repeat` is true if the hosted page's session allows another attempt.
    pub fn judge(&self, identity: &Identity, screening: &Screening, may_repeat: bool) -> Judgement {
        let policy = self.flow.review_policy();
        let mut findings = self.findings.clone();
        let mut holds = self.holds.clone();
        let mut find = |code: Code| {
            findings.entry(code).or_insert(default_source(code));
        };
        if self.is_uncertain && (may_repeat || policy == ReviewPolicy::Never) {
            find(Code::MrzUnreadable);
        } else if self.is_uncertain {
            holds.insert(Hold::UncertainReading);
        }
        if screening.is_match() {
            find(Code::SanctionsMatch);
        }
        if identity.id_belongs_to_another {
            find(Code::UserIdExists);
        }
        if identity.already_registered {
            find(Code::UserAlreadyRegistered);
        }
        let near_duplicate = identity.near_duplicate && policy != ReviewPolicy::Never;
        let reviewable = |code: &Code| matches!(code, Code::SanctionsMatch | Code::SimilarityBelowThreshold);
        let success = findings.is_empty() && holds.is_empty() && !near_duplicate;
        let status = if success && policy == ReviewPolicy::Always {
            AttemptStatus::Pending
        } else if success {
            AttemptStatus::Approved
        } else if findings.keys().all(reviewable) && policy != ReviewPolicy::Never {
            AttemptStatus::Pending
        } else {
            AttemptStatus::Failed
        };
        let outcome = ResponseInput {
            examination: self,
            findings: &findings,
            screening,
            identity,
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
            .filter_map(|object| outcome.codes_of(*object).first().copied());
        let mut reasons: Vec<String> = first_of_each.map(|code| code.info().meaning.to_owned()).collect();
        if near_duplicate {
            reasons.push("Face resembles another registered person; awaiting review".to_owned());
        }
        if !holds.is_empty() && policy != ReviewPolicy::Never {
            reasons.push(Hold::MESSAGE.to_owned());
        }
        Judgement {
            status,
            success,
            codes: objects
                .iter()
                .flat_map(|object| outcome.codes_of(*object))
                .collect(),
            holds: holds.iter().copied().collect(),
            forced: self.submission.forced_code(),
            response: outcome.respond(success, status, reasons.first().cloned()),
            reasons,
        }
    }
}

/// The input of [`respond`].
struct ResponseInput<'a> {
    examination: &'a Examination<'a>,
    findings: &'a BTreeMap<Code, Source>,
    screening: &'a Screening,
    identity: &'a Identity,
}

impl ResponseInput<'_> {
    /// The codes of a result object, in order of precedence.
    fn codes_of(&self, object: ResultObject) -> Vec<Code> {
        self.findings
            .keys()
            .copied()
            .filter(|code| code.info().object == object)
            .collect()
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
    let challenge_missing = wants_challenge && selfie.challenge == Challenge::Absent;
    if selfie.passive_cue == PassiveCue::Undecided || challenge_missing {
        find(Code::LivenessIncomplete, Source::Ocr);
    }
    if selfie.passive_cue == PassiveCue::Attack {
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
            // Both faces exist but were not compared. That must never pass.
            None if has_portrait && selfie.state == PictureState::Processed => {
                find(Code::DocumentUnprocessable, Source::Ocr);
            }
            None => {}
        }
    }
}

/// Compares the applicant's age with the Flow's bounds. A document's birth date counts; the submitted one
/// counts only if no document was requested and none states one.
fn age_failure(flow: &Flow, submission: &Submission, evidence: &Evidence, today: Date) -> Option<Code> {
    if flow.min_age.is_none() && flow.max_age.is_none() {
        return None;
    }
    let printed = evidence
        .documents
        .iter()
        .find_map(|d| documents::first_value(d, |data| data.birth_date.as_deref()));
    // The uncertain reading already decides the outcome, so 2703 would report the same problem twice.
    let declared_country = submission.document_country();
    let in_doubt = |document| documents::has_uncertain_mrz(document, declared_country);
    if printed.is_none() && evidence.documents.iter().any(in_doubt) {
        return None;
    }
    let documents_asked = !submission.document_configuration(flow).document_types.is_empty();
    let range = match printed {
        Some((_, text)) => dates::iso_range(text),
        None if documents_asked => None,
        None => submission.dob.map(|day| (day, day)),
    };
    // If the day is unknown, the first and the last possible day must give the same answer.
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

fn all_match(evidence: &Evidence) -> bool {
    !evidence.documents.is_empty()
        && weakest_match(evidence).is_some_and(|m| m.verdict == MatchVerdict::Match)
}

/// The match of the document that the selfie resembles least; `None` if any document was not compared.
fn weakest_match(evidence: &Evidence) -> Option<FaceMatch> {
    let matches: Option<Vec<_>> = evidence.documents.iter().map(|d| d.portrait_match).collect();
    matches?
        .into_iter()
        .min_by(|a, b| a.similarity.total_cmp(&b.similarity))
}

/// The source of a code that no particular source showed.
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

#[cfg(test)]
mod tests;
