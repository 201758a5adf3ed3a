//! From evidence to an answer: which failure codes apply, whether the face is proven, what the attempt's status is, and
//! the response (interface §2.5, decisions §4).
//!
//! It takes two steps, because who the applicant is among the account's people is found in the account's serial step
//! ([`crate::identity`]), which in turn needs to know whether the face is proven: [`examine`], once, then
//! [`Examination::judge`] with the person and the screening of the person's names.

mod documents;
mod names;
mod respond;

use std::collections::{BTreeMap, BTreeSet};

use jiff::civil::Date;
use reference::DocumentType;

use crate::codes::{Code, ResultObject};
use crate::dates;
use crate::evidence::{Challenge, Evidence, FaceMatch, Liveness, MatchVerdict, PictureState, Source};
use crate::flow::{Biometric, Flow};
use crate::hold::Hold;
use crate::identity::Identity;
use crate::response::VerificationResponse;
use crate::screening::Screening;
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
    /// Every check passed.
    pub success: bool,
    /// Every code that applies, by result object, in order of precedence.
    pub codes: Vec<Code>,
    /// Why the attempt is held although these reasons have no code. For reviewers only.
    pub holds: Vec<Hold>,
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
    let policy = flow.review_policy();
    let declared_country = submission.document_country();
    let mut holds = BTreeSet::new();
    let mut is_uncertain = false;
    for document in &evidence.documents {
        documents::examine_pictures(document, &mut find);
        documents::examine_document(document, declared_country, today, &mut find);
        is_uncertain |= documents::is_in_doubt(document, declared_country);
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
    if let Some(code) = age_failure(flow, submission, evidence, today) {
        find(code, Source::Ocr);
    }
    let idv_passed = !findings
        .keys()
        .any(|code| code.info().object == ResultObject::Idv);
    let selfie_is_beyond_doubt = !holds.iter().any(|hold| hold.leaves_face_unproven());
    // A failure that a sandbox submission requests leaves no mark on the sandbox's people.
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
    /// Whether the selfie passed quality, liveness and the match with every document, and no hold puts the selfie in
    /// doubt. Only then is the face searched and bound to a person.
    pub fn face_is_proven(&self) -> bool {
        self.face_is_proven
    }

    /// Whether only a hold leaves the face unproven. An approval of the attempt proves it, and the identification that
    /// was left out follows then.
    pub fn face_awaits_approval(&self) -> bool {
        self.face_awaits_approval
    }

    /// The outcome, now that it is known who the applicant is, which hits count for this person, and whether the
    /// hosted page's session allows a further attempt.
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
        let outcome = Outcome {
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
        if !holds.is_empty() {
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

/// What [`respond`] makes the response of.
struct Outcome<'a> {
    examination: &'a Examination<'a>,
    findings: &'a BTreeMap<Code, Source>,
    screening: &'a Screening,
    identity: &'a Identity,
}

impl Outcome<'_> {
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

/// The age by the document's birth date, or by the submitted one where no document was asked for and none told.
fn age_failure(flow: &Flow, submission: &Submission, evidence: &Evidence, today: Date) -> Option<Code> {
    if flow.min_age.is_none() && flow.max_age.is_none() {
        return None;
    }
    let printed = evidence
        .documents
        .iter()
        .find_map(|d| documents::first(d, |data| data.birth_date.as_deref()));
    // The doubt about the reading already decides; "no birth date" would be said twice.
    let declared_country = submission.document_country();
    let in_doubt = |document| documents::is_in_doubt(document, declared_country);
    if printed.is_none() && evidence.documents.iter().any(in_doubt) {
        return None;
    }
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

#[cfg(test)]
mod tests;
