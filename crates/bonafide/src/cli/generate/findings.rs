//! The faults of invented applicants' attempts, and the evidence that the engines would have found. It runs
//! no engine and applies no rule.

use std::collections::BTreeMap;

use jiff::ToSpan;
use jiff::civil::Date;
use rand::RngExt as _;
use rand::rngs::StdRng;
use reference::DocumentType;
use serde_json::json;
use service::attempt_detail::{
    Detail, DocumentMeasures, FaceMeasures, FieldComparison, Measures, PassiveCueMeasures, PictureMeasures,
    RecordedLine,
};
use uuid::Uuid;
use verification::applicant_info::ApplicantInfo;
use verification::evidence::{
    BarcodeFinding, Challenge, ComparedField, Comparison, Consistency, DocumentData, DocumentEvidence,
    Evidence, FaceMatch, MatchVerdict, MrzFinding, MrzRead, PassiveCue, PictureContent, PictureState,
    SelfieEvidence, SideEvidence, Source,
};
use verification::flow::Flow;
use verification::judge::Judgement;
use verification::submission::{FileField, Submission};

/// The fault of an attempt.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Fault {
    None,
    Blurred,
    NotLive,
    OtherFace,
    InBand,
    Expired,
    BadMrz,
    OtherName,
    Young,
}

/// An invented person, before any attempt.
pub(super) struct Subject {
    pub(super) given: &'static str,
    pub(super) family: String,
    pub(super) country: &'static str,
    pub(super) birth: Date,
    pub(super) document: Option<DocumentType>,
    pub(super) number: String,
    pub(super) label: String,
    pub(super) facemap_id: Uuid,
    pub(super) session_id: Option<Uuid>,
    pub(super) flow: usize,
}

pub(super) fn pick<T: Copy>(rng: &mut StdRng, from: &[T]) -> T {
    from[rng.random_range(0..from.len())]
}

/// Draws a fault. About three quarters of the attempts have none.
pub(super) fn draw_fault(rng: &mut StdRng, subject: &Subject) -> Fault {
    if subject.document.is_none() || rng.random_bool(0.76) {
        return Fault::None;
    }
    pick(
        rng,
        &[
            Fault::Blurred,
            Fault::Blurred,
            Fault::Blurred,
            Fault::NotLive,
            Fault::OtherFace,
            Fault::InBand,
            Fault::InBand,
            Fault::Expired,
            Fault::BadMrz,
            Fault::BadMrz,
            Fault::OtherName,
            Fault::OtherName,
            Fault::Young,
        ],
    )
}

/// The evidence that the engines would have found.
pub(super) fn evidence(rng: &mut StdRng, subject: &Subject, fault: Fault, today: Date) -> Evidence {
    let Some(document_type) = subject.document else {
        return Evidence::default();
    };
    let state = |bad: bool| {
        if bad {
            PictureState::Unprocessable
        } else {
            PictureState::Processed
        }
    };
    let side = |bad| SideEvidence {
        state: state(bad),
        content: PictureContent::Declared,
        faces: 1,
    };
    let (similarity, verdict) = match fault {
        Fault::OtherFace => (rng.random_range(2.0..20.0), MatchVerdict::NoMatch),
        Fault::InBand => (rng.random_range(40.0..50.0), MatchVerdict::BelowThreshold),
        _ => (rng.random_range(70.0..99.0), MatchVerdict::Match),
    };
    let birth = if fault == Fault::Young {
        today.saturating_sub(16.years())
    } else {
        subject.birth
    };
    let expiry = match fault {
        Fault::Expired => today.saturating_sub(rng.random_range(1..900_i64).days()),
        _ => today.saturating_add(rng.random_range(30..3_000_i64).days()),
    };
    let read = DocumentData {
        given_names: Some(subject.given.to_uppercase()),
        surname: Some(if fault == Fault::OtherName {
            "SOMEBODY ELSE".into()
        } else {
            subject.family.to_uppercase()
        }),
        document_number: Some(subject.number.clone()),
        issuer: Some(subject.country.to_owned()),
        nationality: Some(subject.country.to_owned()),
        birth_date: Some(birth.to_string()),
        expiry_date: Some(expiry.to_string()),
        sex: Some(pick(rng, &["F", "M"]).into()),
        name_may_be_truncated: false,
    };
    let (mrz, barcode) = match document_type {
        DocumentType::Drivers => (MrzFinding::NotFound, BarcodeFinding::Read(read.clone())),
        document_type => {
            let mrz = MrzRead {
                format: if document_type == DocumentType::Passport {
                    "TD3"
                } else {
                    "TD1"
                }
                .into(),
                valid: fault != Fault::BadMrz,
                accepted: fault != Fault::BadMrz,
                data: read.clone(),
            };
            (MrzFinding::Read(mrz), BarcodeFinding::NotFound)
        }
    };
    Evidence {
        comparison: Some(comparison(subject, &read)),
        documents: vec![DocumentEvidence {
            document_type,
            front: Some(side(fault == Fault::Blurred)),
            back: (document_type != DocumentType::Passport).then(|| side(false)),
            mrz,
            barcode,
            visual: read,
            sides: Consistency::Consistent,
            portrait_match: (fault != Fault::Blurred).then_some(FaceMatch { similarity, verdict }),
        }],
        selfie: Some(SelfieEvidence {
            state: PictureState::Processed,
            faces: 1,
            passive_cue: if fault == Fault::NotLive {
                PassiveCue::Attack
            } else {
                PassiveCue::NoAttack
            },
            challenge: Challenge::Absent,
        }),
        ..Evidence::default()
    }
}

fn comparison(subject: &Subject, read: &DocumentData) -> Comparison {
    let claimed = [
        ("firstName", subject.given.to_owned(), &read.given_names),
        ("lastName", subject.family.clone(), &read.surname),
        ("dob", subject.birth.to_string(), &read.birth_date),
    ];
    let fields = claimed.into_iter().flat_map(|(field, submitted, extracted)| {
        let same = extracted
            .as_deref()
            .is_some_and(|said| said.eq_ignore_ascii_case(&submitted));
        [Source::Mrz, Source::Ocr].map(|source| ComparedField {
            field: field.into(),
            source,
            submitted: submitted.clone(),
            extracted: extracted.clone(),
            matches: Some(same),
            score: if same { 100.0 } else { 20.0 },
            is_reliable: true,
        })
    });
    Comparison {
        fields: fields.collect(),
        warnings: Vec::new(),
    }
}

/// The details that reviewers see.
pub(super) fn detail(
    rng: &mut StdRng,
    submission: &Submission,
    evidence: &Evidence,
    judgement: &Judgement,
    flow: &Flow,
    took_ms: i64,
) -> Detail {
    let said = |data: &DocumentData| -> BTreeMap<String, String> {
        let fields = [
            ("firstName", &data.given_names),
            ("lastName", &data.surname),
            ("birthDate", &data.birth_date),
            ("documentNumber", &data.document_number),
            ("expiryDate", &data.expiry_date),
        ];
        let known = fields
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), value.clone()?)));
        known.collect()
    };
    let documents = evidence.documents.iter().map(|document| DocumentMeasures {
        document_type: document.document_type.as_str().to_owned(),
        similarity: document.portrait_match.map(|found| found.similarity),
        sides_agree: Some(true),
        mrz: match &document.mrz {
            MrzFinding::Read(mrz) => said(&mrz.data),
            _ => BTreeMap::new(),
        },
        barcode: match &document.barcode {
            BarcodeFinding::Read(data) => said(data),
            _ => BTreeMap::new(),
        },
        visual: said(&document.visual),
    });
    let compared = evidence.comparison.iter().flat_map(|compared| &compared.fields);
    let fields = compared.map(|compared| FieldComparison {
        field: compared.field.clone(),
        source: compared.source.as_str().to_owned(),
        extracted: compared.extracted.clone(),
        matches: compared.matches,
        score: compared.score,
    });
    let mut pictures = BTreeMap::new();
    if let Some(document) = evidence.documents.first() {
        let lines = said(&document.visual).into_values().collect::<Vec<_>>();
        for field in FileField::ALL {
            let of_document = field
                .document()
                .is_some_and(|(kind, _)| kind == document.document_type);
            if of_document || field == FileField::Selfie {
                pictures.insert(
                    field.as_str().to_owned(),
                    picture(rng, if of_document { &lines } else { &[] }),
                );
            }
        }
    }
    Detail {
        info: ApplicantInfo::of_attempt(submission, evidence),
        reasons: judgement.reasons.clone(),
        holds: judgement.holds.clone(),
        required_documents: submission
            .document_configuration(flow)
            .document_types
            .iter()
            .map(|document| document.as_str().to_owned())
            .collect(),
        timing_ms: BTreeMap::from([
            ("read".into(), took_ms as f64 * 0.6),
            ("faces".into(), took_ms as f64 * 0.3),
        ]),
        seen: Measures {
            pictures,
            passive_cue: evidence.selfie.map(|selfie| PassiveCueMeasures {
                outcome: json!(if selfie.passive_cue == PassiveCue::NoAttack {
                    "live"
                } else {
                    "not_live"
                }),
                score: rng.random_range(0.5..1.0),
                reasons: Vec::new(),
                cues: None,
                same_picture: false,
                model: None,
            }),
            documents: documents.collect(),
            fields: fields.collect(),
            ..Measures::default()
        },
        ..Detail::default()
    }
}

/// An image for which only measurements exist, because invented applicants have no files.
fn picture(rng: &mut StdRng, lines: &[String]) -> PictureMeasures {
    let line = |(place, text): (usize, &String)| RecordedLine {
        bounds: [0.35, 0.2 + 0.1 * place as f32, 0.4, 0.05],
        text: text.clone(),
        confidence: 0.97,
        mrz: false,
    };
    PictureMeasures {
        state: "processed".into(),
        format: "image/jpeg".into(),
        width: 1_600,
        height: 1_000,
        faces: vec![FaceMeasures {
            bounds: [0.1, 0.3, 0.2, 0.4],
            score: rng.random_range(0.8..1.0),
            significant: true,
            inter_eye_px: rng.random_range(60.0..200.0),
            issues: Vec::new(),
        }],
        lines: lines.iter().enumerate().map(line).collect(),
        ..PictureMeasures::default()
    }
}
