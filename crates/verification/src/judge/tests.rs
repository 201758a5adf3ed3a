//! One row per failure code with the evidence that produces it.

use reference::DocumentType::{Drivers, IdCard, Passport, ResidencyCard};
use serde_json::json;

use super::documents::issued_by;
use super::*;
use crate::codes::CODES;
use crate::evidence::{
    BarcodeFinding, ComparedField, Comparison, Consistency, DocumentData, DocumentEvidence, MrzFinding,
    MrzRead, PictureContent, SelfieEvidence, SideEvidence,
};
use crate::flow::FlowParts;
use crate::screening::KycStatus;
use crate::submission::tests::{TODAY, live, sandbox, submit};
use crate::submission::{SessionBinding, SubmissionContext};

mod holds;
mod readings;
mod rules;

/// A Flow that enables every check: OCR match and ages 18 to 60.
fn flow() -> Flow {
    flow_with(r#"{"ocrMatch":true,"documentFileUpload":true}"#, "{}")
}

fn flow_with(fields: &str, settings: &str) -> Flow {
    Flow::parse(&FlowParts {
        default_fields: fields,
        default_document_types: r#"["PASSPORT","DRIVERS","ID_CARD","RESIDENCY_CARD"]"#,
        country_overrides: "[]",
        geo_blocked_countries: "[]",
        min_age: Some(18),
        max_age: Some(60),
        settings,
    })
    .expect("a Flow")
}

fn data() -> DocumentData {
    let text = |t: &str| Some(t.to_owned());
    DocumentData {
        given_names: text("ADA"),
        surname: text("LOVELACE"),
        document_number: text("L898902C3"),
        issuer: text("UTO"),
        nationality: text("UTO"),
        birth_date: text("1985-12-10"),
        expiry_date: text("2030-01-31"),
        sex: text("F"),
        name_may_be_truncated: false,
    }
}

fn mrz(format: &str) -> MrzFinding {
    MrzFinding::Read(MrzRead {
        format: format.into(),
        valid: true,
        accepted: true,
        data: data(),
    })
}

fn side(faces: usize) -> SideEvidence {
    SideEvidence {
        state: PictureState::Processed,
        content: PictureContent::Declared,
        faces,
    }
}

/// A document of Utopia without faults.
fn document(document_type: DocumentType) -> DocumentEvidence {
    DocumentEvidence {
        document_type,
        front: Some(side(1)),
        back: (document_type != Passport).then_some(side(0)),
        mrz: match document_type {
            Passport => mrz("TD3"),
            Drivers => MrzFinding::NotFound,
            IdCard | ResidencyCard => mrz("TD1"),
        },
        barcode: if document_type == Drivers {
            BarcodeFinding::Read(data())
        } else {
            BarcodeFinding::NotFound
        },
        visual: DocumentData {
            birth_date: Some("1985-12-10".into()),
            ..DocumentData::default()
        },
        sides: Consistency::default(),
        portrait_match: Some(FaceMatch {
            similarity: 91.236,
            verdict: MatchVerdict::Match,
        }),
    }
}

fn compared(source: Source, matches: Option<bool>) -> ComparedField {
    ComparedField {
        field: "firstName".into(),
        source,
        submitted: "Ada".into(),
        extracted: matches.map(|_| "ADA".into()),
        matches,
        score: if matches == Some(true) { 100.0 } else { 0.0 },
        is_reliable: true,
    }
}

/// Every input of a judgement except the identity.
#[derive(Default)]
struct Inputs {
    evidence: Evidence,
    screening: Screening,
    may_repeat: bool,
}

impl std::ops::Deref for Inputs {
    type Target = Evidence;

    fn deref(&self) -> &Evidence {
        &self.evidence
    }
}

impl std::ops::DerefMut for Inputs {
    fn deref_mut(&mut self) -> &mut Evidence {
        &mut self.evidence
    }
}

/// Evidence without faults for documents of these types, and a screening without hits.
fn evidence(types: &[DocumentType]) -> Inputs {
    let evidence = Evidence {
        documents: types.iter().copied().map(document).collect(),
        selfie: Some(SelfieEvidence {
            state: PictureState::Processed,
            faces: 1,
            passive_cue: PassiveCue::NoAttack,
            challenge: Challenge::Absent,
        }),
        comparison: Some(Comparison {
            fields: vec![compared(Source::Mrz, Some(true))],
            warnings: vec![],
        }),
        ..Evidence::default()
    };
    Inputs {
        evidence,
        ..Inputs::default()
    }
}

fn submission(
    types: &[DocumentType],
    fields: &[(&str, &str)],
    context: &SubmissionContext<'_>,
) -> Submission {
    let types = types.iter().map(|t| t.as_str()).collect::<Vec<_>>().join(",");
    let base = [
        ("documentTypes", types.as_str()),
        ("documentCountry", "UTO"),
        ("dob", "12/10/1985"),
    ];
    let fields: Vec<_> = base
        .iter()
        .chain(fields)
        .copied()
        .filter(|(_, value)| !value.is_empty())
        .collect();
    submit(&fields, &[], context)
}

fn known() -> Identity {
    Identity {
        facemap_id: "facemap".into(),
        ..Identity::default()
    }
}

fn judge_all(flow: &Flow, submission: &Submission, found: &Inputs, identity: &Identity) -> Judgement {
    examine(flow, submission, found, TODAY).judge(identity, &found.screening, found.may_repeat)
}

/// Judges evidence about documents of Utopia.
fn judge_types(types: &[DocumentType], change: impl Fn(&mut Inputs, &mut Identity)) -> Judgement {
    let (mut evidence, mut identity) = (evidence(types), known());
    change(&mut evidence, &mut identity);
    judge_all(&flow(), &submission(types, &[], &sandbox()), &evidence, &identity)
}

fn numbers(judgement: &Judgement) -> Vec<u16> {
    judgement.codes.iter().map(|code| code.number()).collect()
}

type Change = fn(&mut Inputs, &mut Identity);

/// Code, document types, the specimen or situation that shows it, and its evidence.
const ROWS: &[(u16, &[DocumentType], &str, Change)] = &[
    (
        2403,
        &[Passport],
        "validation pre-empts it: SANDBOX-2403",
        |e, _| e.documents[0].front = None,
    ),
    (2003, &[Passport], "a truncated file", |e, _| {
        set_front(e, |s| s.state = PictureState::Corrupted);
    }),
    (2003, &[IdCard], "a truncated back", |e, _| {
        set_back(e, |s| s.state = PictureState::Corrupted);
    }),
    (2002, &[Passport], "a picture too blurred to work with", |e, _| {
        set_front(e, |s| s.state = PictureState::Unprocessable);
    }),
    (2002, &[Passport], "faces that were not compared", |e, _| {
        e.documents[0].portrait_match = None;
    }),
    (2404, &[Passport], "a licence sent as a passport", |e, _| {
        set_front(e, |s| s.content = PictureContent::Other);
    }),
    (2404, &[Drivers], "a landscape as the back", |e, _| {
        set_back(e, |s| s.content = PictureContent::Other);
    }),
    (2001, &[Passport], "a passport whose photo is covered", |e, _| {
        set_front(e, |s| s.faces = 0);
        e.documents[0].portrait_match = None;
    }),
    (
        2405,
        &[Passport],
        "validation pre-empts it: SANDBOX-2405",
        |e, _| e.selfie = None,
    ),
    (2103, &[Passport], "a truncated selfie", |e, _| {
        set_selfie(e, |s| s.state = PictureState::Corrupted);
    }),
    (2102, &[Passport], "a selfie too dark to compare", |e, _| {
        set_selfie(e, |s| s.state = PictureState::Unprocessable);
    }),
    (2101, &[Passport], "a landscape as the selfie", |e, _| {
        set_selfie(e, |s| s.faces = 0);
    }),
    (2203, &[Passport], "two people in the selfie", |e, _| {
        set_selfie(e, |s| s.faces = 2);
    }),
    (2105, &[Passport], "a selfie that cannot be judged", |e, _| {
        set_selfie(e, |s| s.passive_cue = PassiveCue::Undecided);
    }),
    (2104, &[Passport], "a selfie off a screen", |e, _| {
        set_selfie(e, |s| s.passive_cue = PassiveCue::Attack);
    }),
    (2204, &[Drivers], "another person's licence", |e, _| {
        set_match(e, 10.0, MatchVerdict::NoMatch);
    }),
    (2204, &[IdCard], "another person's card", |e, _| {
        set_match(e, 10.0, MatchVerdict::NoMatch);
    }),
    (2204, &[ResidencyCard], "another person's permit", |e, _| {
        set_match(e, 10.0, MatchVerdict::NoMatch);
    }),
    (2201, &[Passport], "another person's passport", |e, _| {
        set_match(e, 10.0, MatchVerdict::NoMatch);
    }),
    (2202, &[Passport], "a lookalike", |e, _| {
        set_match(e, 70.0, MatchVerdict::BelowThreshold);
    }),
    (
        2306,
        &[Passport],
        "an externalUserId of another person",
        |_, i| i.id_belongs_to_another = true,
    ),
    (
        2307,
        &[Passport],
        "the same face under another externalUserId",
        |_, i| i.already_registered = true,
    ),
    (2511, &[Passport], "a passport cut off above its MRZ", |e, _| {
        e.documents[0].mrz = MrzFinding::NotFound;
    }),
    (2511, &[IdCard], "a card whose back is blank", |e, _| {
        e.documents[0].mrz = MrzFinding::NotFound;
    }),
    (2511, &[ResidencyCard], "a permit whose back is blank", |e, _| {
        e.documents[0].mrz = MrzFinding::NotFound;
    }),
    (2512, &[Drivers], "a licence without its barcode", |e, _| {
        e.documents[0].barcode = BarcodeFinding::NotFound;
    }),
    (2501, &[Passport], "an MRZ behind glare", |e, _| {
        e.documents[0].mrz = MrzFinding::Unreadable;
    }),
    (2501, &[Passport], "an MRZ with a wrong check digit", |e, _| {
        set_mrz(e, |m| m.valid = false);
    }),
    (2507, &[Drivers], "a torn barcode", |e, _| {
        e.documents[0].barcode = BarcodeFinding::Unreadable;
    }),
    (2507, &[Drivers], "a barcode of something else", |e, _| {
        e.documents[0].barcode = BarcodeFinding::Opaque;
    }),
    (2508, &[Passport], "a French passport declared Utopian", |e, _| {
        set_mrz(e, |m| m.data.issuer = Some("FRA".into()));
    }),
    (2508, &[Passport], "a United Nations laissez-passer", |e, _| {
        set_mrz(e, |m| m.data.issuer = Some("UNO".into()));
    }),
    (2505, &[Drivers], "the back of another licence", |e, _| {
        e.documents[0].sides = Consistency::Mismatch;
    }),
    (2506, &[IdCard], "the back of another card", |e, _| {
        e.documents[0].sides = Consistency::Mismatch;
    }),
    (2506, &[ResidencyCard], "the back of another permit", |e, _| {
        e.documents[0].sides = Consistency::Mismatch;
    }),
    (2509, &[Passport], "a passport that expired yesterday", |e, _| {
        set_mrz(e, |m| m.data.expiry_date = Some("2026-11-20".into()));
    }),
    (2502, &[Passport], "another name than the MRZ's", |e, _| {
        set_compared(e, compared(Source::Mrz, Some(false)));
    }),
    (2502, &[Drivers], "another name than the barcode's", |e, _| {
        set_compared(e, compared(Source::Pdf417, Some(false)));
    }),
    (2504, &[Passport], "another name than the printed one", |e, _| {
        set_compared(e, compared(Source::Ocr, Some(false)));
    }),
    (2503, &[Passport], "nothing legible to compare", |e, _| {
        set_compared(e, compared(Source::Ocr, None));
    }),
    (2503, &[Passport], "nothing compared", |e, _| e.comparison = None),
    (2703, &[Passport], "no birth date anywhere", |e, _| {
        set_mrz(e, |m| m.data.birth_date = None);
        e.documents[0].visual.birth_date = None;
    }),
    (2701, &[Passport], "17 until tomorrow", |e, _| {
        set_mrz(e, |m| m.data.birth_date = Some("2008-11-22".into()));
    }),
    (2701, &[Passport], "61 today", |e, _| {
        set_mrz(e, |m| m.data.birth_date = Some("1965-11-21".into()));
    }),
    (2702, &[Passport], "a name of the demo list", |e, _| {
        e.screening.matched = true;
        e.screening.results = vec![crate::screening::tests::hit("demo-1", &["demo"], 0.9)];
    }),
];

fn set_front(e: &mut Evidence, change: fn(&mut SideEvidence)) {
    e.documents[0].front.iter_mut().for_each(change);
}

fn set_back(e: &mut Evidence, change: fn(&mut SideEvidence)) {
    e.documents[0].back.iter_mut().for_each(change);
}

fn set_selfie(e: &mut Evidence, change: fn(&mut SelfieEvidence)) {
    e.selfie.iter_mut().for_each(change);
}

fn set_match(e: &mut Evidence, similarity: f64, verdict: MatchVerdict) {
    e.documents[0].portrait_match = Some(FaceMatch { similarity, verdict });
}

fn set_mrz(e: &mut Evidence, change: impl Fn(&mut MrzRead)) {
    if let MrzFinding::Read(mrz) = &mut e.documents[0].mrz {
        change(mrz);
    }
}

fn set_compared(e: &mut Evidence, field: ComparedField) {
    e.comparison = Some(Comparison {
        fields: vec![field],
        warnings: vec![],
    });
}

#[test]
fn every_code_has_a_row_and_every_row_its_code() {
    for (code, info) in CODES {
        assert!(ROWS.iter().any(|row| row.0 == info.number), "no row for {code:?}");
    }
    for (number, types, situation, change) in ROWS {
        let judgement = judge_types(types, change);
        let code = Code::from_number(*number).expect("a code");
        assert_eq!(numbers(&judgement), [*number], "{situation}");
        assert!(!judgement.success, "{situation}");
        assert_eq!(judgement.reasons, [code.info().meaning], "{situation}");
        let body = serde_json::to_value(&judgement.response).expect("JSON");
        let object = &body[code.info().object.as_str()];
        assert_eq!(
            (&body["success"], &body["message"]),
            (&json!(false), &json!(code.info().meaning))
        );
        assert_eq!(
            (&object["code"], &object["codes"]),
            (&json!(number), &json!([number])),
            "{situation}"
        );
        assert_eq!(object["error"], code.info().meaning);
        if code != Code::SanctionsMatch {
            assert_eq!(object["success"], false);
        }
        for key in [
            "metadata",
            "facemap_id",
            "mrz_data",
            "ocr_comparison",
            "document_results",
            "documents_processed",
        ] {
            assert!(body.get(key).is_none(), "{key} in a failing response");
        }
        let others = ["idvResult", "documentResult", "ocrResult", "minimumAgeResult"];
        for other in others
            .into_iter()
            .filter(|other| *other != code.info().object.as_str())
        {
            assert_eq!(body[other]["success"], true, "{situation}: {other}");
            assert!(body[other].get("code").is_none());
        }
    }
}

#[test]
fn every_code_can_be_forced_in_the_sandbox() {
    for (code, info) in CODES {
        let name = format!("SANDBOX-{}", info.number);
        let (evidence, fields) = (evidence(&[Passport]), [("lastName", name.as_str())]);
        let (flow, submission) = (flow(), submission(&[Passport], &fields, &sandbox()));
        let examination = examine(&flow, &submission, &evidence, TODAY);
        assert!(!examination.face_is_proven(), "a forced failure binds no face");
        let judgement = examination.judge(&known(), &Screening::default(), false);
        assert_eq!(
            (numbers(&judgement), judgement.forced),
            (vec![info.number], Some(*code))
        );
        let body = serde_json::to_value(&judgement.response).expect("JSON");
        assert_eq!(body[info.object.as_str()]["code"], info.number);
    }
    let live_one = submission(
        &[Passport],
        &[("lastName", "SANDBOX-2403"), ("documentCountry", "FRA")],
        &live(),
    );
    let mut french = evidence(&[Passport]);
    set_mrz(&mut french, |m| m.data.issuer = Some("FRA".into()));
    assert!(judge_all(&flow(), &live_one, &french, &known()).success);
    let forced = submission(&[Passport], &[("lastName", "SANDBOX-2702")], &sandbox());
    let kyc = judge_all(&flow(), &forced, &evidence(&[Passport]), &known())
        .response
        .kyc_results;
    assert_eq!(
        (kyc.status, kyc.results.len(), kyc.total.value),
        (KycStatus::Match, 1, 1),
        "a match always has a result"
    );
}
