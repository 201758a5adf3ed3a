//! Attempts that are held for review without a code, by review policy
//! (`docs/decisions/0021-held-for-review.md`).

use super::*;
use crate::evidence::{ExpectedComparison, ExpectedField};
use crate::expected::ExpectedPerson;
use crate::settings::FraudSigns;
use crate::submission::SessionBinding;

/// A Flow with a review policy and without OCR match and age limits.
fn flow_of(policy: &str, fields: &str) -> Flow {
    let settings = json!({"reviewPolicy": policy, "fraudSigns": "review"}).to_string();
    let flow = flow_with(fields, &settings);
    Flow {
        min_age: None,
        max_age: None,
        ..flow
    }
}

const UPLOAD: &str = r#"{"documentFileUpload":true}"#;
const COMPARING: &str = r#"{"documentFileUpload":true,"ocrMatch":true}"#;

fn judged(flow: &Flow, types: &[DocumentType], change: Change) -> (Judgement, bool) {
    let (mut evidence, mut identity) = (evidence(types), known());
    change(&mut evidence, &mut identity);
    let submission = submission(types, &[], &sandbox());
    let examination = examine(flow, &submission, &evidence, TODAY);
    let proven = examination.face_is_proven();
    (
        examination.judge(&identity, &evidence.screening, evidence.may_repeat),
        proven,
    )
}

fn named(field: &str, source: Source, matches: Option<bool>, score: f64) -> ComparedField {
    ComparedField {
        field: field.into(),
        score,
        ..compared(source, matches)
    }
}

fn doubt(e: &mut Evidence, hold: Hold) {
    e.selfie_doubts.insert(hold);
}

fn uncertain(e: &mut Evidence) {
    set_mrz(e, |m| m.accepted = false);
}

/// An expected person of whom the zone states another family name.
fn unexpected() -> ExpectedComparison {
    let field = |field: &str, matches| ExpectedField {
        field: field.into(),
        source: Source::Mrz,
        found: Some("VELLOWAY".into()),
        matches: Some(matches),
        score: if matches { 100.0 } else { 20.0 },
        is_reliable: true,
    };
    ExpectedComparison {
        person: ExpectedPerson {
            first_name: "Tamsin".into(),
            last_name: "Osei".into(),
            dob: None,
        },
        documents: vec![vec![field("firstName", true), field("lastName", false)]],
    }
}

/// Expected status, codes, holds, and whether the face is proven.
type Expected = (AttemptStatus, &'static [u16], &'static [Hold], bool);

#[test]
fn each_hold_by_review_policy() {
    use AttemptStatus::{Approved, Failed, Pending};
    let mismatch: Change = |e, _| set_compared(e, named("lastName", Source::Mrz, Some(false), 20.0));
    let unclear: Change = |e, _| uncertain(e);
    let copy: Change = |e, _| doubt(e, Hold::Copy);
    let reused: Change = |e, _| doubt(e, Hold::ReusedPicture);
    let unfinished: Change = |e, _| doubt(e, Hold::UnfinishedChallenge);
    let fraud: Change = |e, _| e.has_fraud_signs = true;
    let unexpected: Change = |e, _| e.expected = Some(unexpected());
    let held = |hold, proven| -> [Expected; 2] { [(Pending, &[], hold, proven); 2] };
    let rows: [(Hold, Change, Expected, [Expected; 2]); 7] = [
        (
            Hold::NameMismatch,
            mismatch,
            (Approved, &[], &[], true),
            held(&[Hold::NameMismatch], true),
        ),
        (
            Hold::UncertainReading,
            unclear,
            (Failed, &[2501], &[], true),
            held(&[Hold::UncertainReading], true),
        ),
        (
            Hold::Copy,
            copy,
            (Failed, &[2104], &[], false),
            held(&[Hold::Copy], false),
        ),
        (
            Hold::ReusedPicture,
            reused,
            (Failed, &[2104], &[], false),
            held(&[Hold::ReusedPicture], false),
        ),
        (
            Hold::UnfinishedChallenge,
            unfinished,
            (Failed, &[2105], &[], false),
            held(&[Hold::UnfinishedChallenge], false),
        ),
        (
            Hold::FraudSigns,
            fraud,
            (Approved, &[], &[], true),
            held(&[Hold::FraudSigns], true),
        ),
        (
            Hold::UnexpectedPerson,
            unexpected,
            (Failed, &[2502], &[Hold::UnexpectedPerson], false),
            held(&[Hold::UnexpectedPerson], false),
        ),
    ];
    for hold in Hold::ALL {
        assert!(rows.iter().any(|row| row.0 == hold), "no row for {hold:?}");
    }
    for (hold, change, never, [on_match, always]) in rows {
        for (policy, expected) in [("never", never), ("on_match", on_match), ("always", always)] {
            let (judgement, proven) = judged(&flow_of(policy, UPLOAD), &[Passport], change);
            let found: Expected = (judgement.status, expected.1, expected.2, proven);
            assert_eq!(found, expected, "{hold:?}, {policy}");
            assert_eq!(numbers(&judgement), expected.1, "{hold:?}, {policy}");
            assert_eq!(judgement.holds, expected.2, "{hold:?}, {policy}");
            assert_eq!(judgement.success, judgement.status == Approved);
        }
    }
}

#[test]
fn signs_of_fraud_hold_only_where_the_flow_says_so() {
    let mut flow = flow_of("on_match", UPLOAD);
    for (choice, holds) in [
        (FraudSigns::Off, &[][..]),
        (FraudSigns::Show, &[]),
        (FraudSigns::Review, &[Hold::FraudSigns]),
    ] {
        flow.settings.fraud_signs = choice;
        let (judgement, _) = judged(&flow, &[Passport], |e, _| e.has_fraud_signs = true);
        assert_eq!(judgement.holds, holds, "{choice:?}");
        assert_eq!(judgement.codes, [], "no sign fails an attempt");
    }
}

#[test]
fn a_held_attempt_says_in_review_and_nothing_else() {
    for hold in [Hold::Copy, Hold::ReusedPicture, Hold::UnfinishedChallenge] {
        let mut e = evidence(&[Passport]);
        doubt(&mut e, hold);
        let judgement = judge_all(
            &flow_of("on_match", UPLOAD),
            &submission(&[Passport], &[], &sandbox()),
            &e,
            &known(),
        );
        let body = serde_json::to_value(&judgement.response).expect("JSON");
        assert_eq!(
            (&body["success"], &body["message"]),
            (&json!(false), &json!("In review"))
        );
        assert_eq!(judgement.reasons, ["In review"]);
        let text = body.to_string();
        assert!(
            !text.contains("\"code") && !text.contains(hold.as_str()),
            "{text}"
        );
        assert!(judgement.response.passing.is_none());
    }
}

#[test]
fn only_a_doubt_about_the_selfie_awaits_an_approval() {
    let rows: [(&str, &str, Change, bool); 6] = [
        ("nothing", "on_match", |_, _| {}, false),
        ("a copy", "on_match", |e, _| doubt(e, Hold::Copy), true),
        (
            "a copy, reviewed always",
            "always",
            |e, _| doubt(e, Hold::Copy),
            true,
        ),
        (
            "a copy, never reviewed",
            "never",
            |e, _| doubt(e, Hold::Copy),
            false,
        ),
        ("an uncertain reading", "on_match", |e, _| uncertain(e), false),
        (
            "a copy of somebody else",
            "on_match",
            |e, _| {
                doubt(e, Hold::Copy);
                set_match(e, 20.0, MatchVerdict::NoMatch);
            },
            false,
        ),
    ];
    for (name, policy, change, expected) in rows {
        let (mut evidence, mut identity) = (evidence(&[Passport]), known());
        change(&mut evidence, &mut identity);
        let (flow, submission) = (flow_of(policy, UPLOAD), submission(&[Passport], &[], &sandbox()));
        let examination = examine(&flow, &submission, &evidence, TODAY);
        assert_eq!(examination.face_awaits_approval(), expected, "{name}");
        assert!(!(examination.face_is_proven() && expected), "{name}");
    }
}

#[test]
fn a_code_counts_more_than_a_hold() {
    let expired: Change = |e, _| {
        set_mrz(e, |m| m.data.expiry_date = Some("2020-01-01".into()));
        doubt(e, Hold::Copy);
    };
    let (judgement, proven) = judged(&flow_of("on_match", UPLOAD), &[Passport], expired);
    assert_eq!(
        (judgement.status, numbers(&judgement), proven),
        (AttemptStatus::Failed, vec![2509], false)
    );
    let listed: Change = |e, _| {
        e.screening.matched = true;
        doubt(e, Hold::Copy);
    };
    let (judgement, _) = judged(&flow_of("on_match", UPLOAD), &[Passport], listed);
    assert_eq!(
        (judgement.status, numbers(&judgement)),
        (AttemptStatus::Pending, vec![2702])
    );
    assert_eq!(judgement.reasons.len(), 2);
}

#[test]
fn a_name_is_compared_with_what_can_be_relied_on() {
    let rows: &[(&str, &str, ComparedField, bool)] = &[
        (
            "another family name",
            UPLOAD,
            named("lastName", Source::Mrz, Some(false), 0.0),
            true,
        ),
        (
            "another first name on a barcode",
            UPLOAD,
            named("firstName", Source::Pdf417, Some(false), 74.0),
            true,
        ),
        (
            "another middle name",
            UPLOAD,
            named("middleName", Source::Mrz, Some(false), 10.0),
            true,
        ),
        (
            "a slip of the pen",
            UPLOAD,
            named("lastName", Source::Mrz, Some(false), 75.0),
            false,
        ),
        (
            "print alone",
            UPLOAD,
            named("lastName", Source::Ocr, Some(false), 0.0),
            false,
        ),
        (
            "another birth date",
            UPLOAD,
            named("dob", Source::Mrz, Some(false), 0.0),
            false,
        ),
        (
            "nothing to compare",
            UPLOAD,
            named("lastName", Source::Mrz, None, 0.0),
            false,
        ),
        (
            "an uncertain reading",
            UPLOAD,
            ComparedField {
                is_reliable: false,
                ..named("lastName", Source::Mrz, Some(false), 0.0)
            },
            false,
        ),
        (
            "a Flow that compares",
            COMPARING,
            named("lastName", Source::Mrz, Some(false), 0.0),
            false,
        ),
    ];
    for (situation, fields, field, held) in rows {
        let mut e = evidence(&[Passport]);
        set_compared(&mut e, field.clone());
        let submission = submission(&[Passport], &[("ocrMatch", "true")], &sandbox());
        let judgement = judge_all(&flow_of("on_match", fields), &submission, &e, &known());
        assert_eq!(
            judgement.holds.contains(&Hold::NameMismatch),
            *held,
            "{situation}"
        );
    }
}

#[test]
fn an_uncertain_reading_is_asked_for_again_while_the_session_allows_it() {
    let session = SessionBinding {
        session_id: "s-1".into(),
        flow_id: "f-1".into(),
        grouping_id: "g-1".into(),
        external_user_id: "u-1".into(),
    };
    let hosted = SubmissionContext {
        bearer_session: Some(&session),
        ..sandbox()
    };
    for (may_repeat, codes, status) in [
        (true, vec![2501], AttemptStatus::Failed),
        (false, vec![], AttemptStatus::Pending),
    ] {
        let mut e = evidence(&[Passport]);
        uncertain(&mut e);
        e.may_repeat = may_repeat;
        let judgement = judge_all(
            &flow_of("always", UPLOAD),
            &submission(&[Passport], &[], &hosted),
            &e,
            &known(),
        );
        assert_eq!((numbers(&judgement), judgement.status), (codes, status));
    }
}

#[test]
fn what_hangs_on_an_uncertain_reading_is_not_judged_by_it() {
    // The uncertain reading shows an expired document of another country, of a child with another name.
    let worst: Change = |e, _| {
        set_mrz(e, |m| {
            m.accepted = false;
            m.data.expiry_date = Some("2020-01-01".into());
            m.data.issuer = Some("FRA".into());
            m.data.birth_date = Some("2020-01-01".into());
        });
        e.documents[0].visual = DocumentData::default();
        let field = ComparedField {
            is_reliable: false,
            ..compared(Source::Mrz, Some(false))
        };
        set_compared(e, field);
    };
    let settings = json!({"reviewPolicy": "on_match"}).to_string();
    let (judgement, _) = judged(&flow_with(COMPARING, &settings), &[Passport], worst);
    assert_eq!(
        (numbers(&judgement), judgement.holds),
        (vec![], vec![Hold::UncertainReading])
    );
    // Other sources still count.
    let printed: Change = |e, _| {
        set_mrz(e, |m| m.accepted = false);
        e.documents[0].visual.expiry_date = Some("2020-01-01".into());
    };
    let (judgement, _) = judged(&flow_with(COMPARING, &settings), &[Passport], printed);
    assert_eq!(
        (numbers(&judgement), judgement.status),
        (vec![2509], AttemptStatus::Failed)
    );
}

#[test]
fn an_uncertain_reading_of_an_mrz_that_is_not_promised_counts_as_unread() {
    let italian = submission(&[IdCard], &[("documentCountry", "ITA")], &live());
    let mut e = evidence(&[IdCard]);
    uncertain(&mut e);
    set_mrz(&mut e, |m| m.data.expiry_date = Some("2020-01-01".into()));
    let judgement = judge_all(&flow_of("on_match", UPLOAD), &italian, &e, &known());
    assert_eq!((numbers(&judgement), judgement.holds), (vec![], vec![]));
    assert_eq!(judgement.status, AttemptStatus::Approved);
    let passing = judgement.response.passing.expect("a passing response");
    assert!(passing.mrz_data.is_none());
}
