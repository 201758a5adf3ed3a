//! Precedence, statuses, ages, issuers, and the shape of responses.

use jiff::civil::date;
use serde_json::Value;

use super::*;

#[test]
fn the_first_in_order_is_the_code_and_all_are_listed() {
    let judgement = judge_types(&[Passport], |e, i| {
        set_selfie(e, |s| s.passive_cue = PassiveCue::Attack);
        set_match(e, 10.0, MatchVerdict::NoMatch);
        i.already_registered = true;
        set_mrz(e, |m| {
            m.data.issuer = Some("D".into());
            m.data.expiry_date = Some("2020-01-01".into());
        });
        e.screening.matched = true;
    });
    let body = serde_json::to_value(&judgement.response).expect("JSON");
    assert_eq!(
        (&body["idvResult"]["code"], &body["idvResult"]["codes"]),
        (&json!(2104), &json!([2104, 2201, 2307]))
    );
    assert_eq!(body["documentResult"]["codes"], json!([2508, 2509]));
    assert_eq!(body["documentResult"]["source"], "MRZ");
    assert_eq!(body["kycResults"]["code"], 2702);
    assert_eq!(body["message"], "Selfie does not appear to be a live person");
    assert_eq!(judgement.reasons.len(), 3, "one per stage");
    assert_eq!(judgement.status, AttemptStatus::Failed);
}

#[test]
fn several_documents_are_all_judged() {
    let judgement = judge_types(&[Passport, Drivers], |e, _| {
        e.documents[1].barcode = BarcodeFinding::NotFound;
        e.documents[1].portrait_match = Some(FaceMatch {
            similarity: 12.0,
            verdict: MatchVerdict::NoMatch,
        });
    });
    assert_eq!(numbers(&judgement), [2204, 2512]);
    assert_eq!(
        (
            judgement.response.idv_result.facematch,
            judgement.response.idv_result.similarity_score
        ),
        (false, 12.0)
    );
    assert_eq!(
        judgement.response.document_result.and_then(|r| r.source),
        Some(Source::Pdf417)
    );
}

#[test]
fn what_is_on_a_back_that_the_flow_does_not_ask_for_is_not_missed() {
    let without_back = |e: &mut Inputs, _: &mut Identity| {
        e.documents[0].back = None;
        e.documents[0].mrz = MrzFinding::NotFound;
        e.documents[0].barcode = BarcodeFinding::NotFound;
        e.documents[0].visual = data();
    };
    for document_type in [Drivers, IdCard] {
        assert_eq!(
            numbers(&judge_types(&[document_type], without_back)),
            Vec::<u16>::new()
        );
    }
    // A Romanian card may be of the older type, which has its MRZ on the front.
    let romanian = submission(&[IdCard], &[("documentCountry", "ROU")], &live());
    let mut evidence = evidence(&[IdCard]);
    without_back(&mut evidence, &mut known());
    evidence.documents[0].visual.issuer = None;
    assert_eq!(
        numbers(&judge_all(&flow(), &romanian, &evidence, &known())),
        [2511]
    );
}

#[test]
fn an_mrz_is_missed_only_where_one_is_promised() {
    let italian = submission(&[IdCard], &[("documentCountry", "ITA")], &live());
    let mut evidence = evidence(&[IdCard]);
    evidence.documents[0].mrz = MrzFinding::NotFound;
    evidence.documents[0].visual = DocumentData {
        issuer: None,
        ..data()
    };
    assert_eq!(
        numbers(&judge_all(&flow(), &italian, &evidence, &known())),
        Vec::<u16>::new()
    );
}

#[test]
fn a_file_that_cannot_be_opened_tells_nothing() {
    let judgement = judge_types(&[Passport], |e, _| {
        set_front(e, |s| {
            *s = SideEvidence {
                state: PictureState::Corrupted,
                content: PictureContent::Declared,
                faces: 0,
            }
        });
        e.documents[0].mrz = MrzFinding::NotFound;
        e.documents[0].visual = DocumentData::default();
        e.documents[0].portrait_match = None;
        e.comparison = Some(Comparison::default());
    });
    assert_eq!(numbers(&judgement), [2003, 2511, 2503, 2703]);
    assert!(!judgement.response.idv_result.facematch);
}

#[test]
fn issuers() {
    for (code, declared, same) in [
        ("D", "DEU", true),
        ("DEU", "DEU", true),
        ("GBN", "GBR", true),
        ("RKS", "XKX", true),
        ("CHN", "HKG", true),
        ("USA", "PRI", true),
        ("UTO", "UTO", true),
        ("QQQ", "FRA", true), // unknown: flagged elsewhere, no contradiction
        ("HKG", "CHN", false),
        ("FRA", "DEU", false),
        ("UNO", "FRA", false),
    ] {
        assert_eq!(issued_by(code, declared), same, "{code} for {declared}");
    }
}

#[test]
fn a_passing_response_has_every_field_of_the_contract() {
    let judgement = judge_types(&[Passport, IdCard], |_, _| {});
    assert_eq!(
        (judgement.status, judgement.success),
        (AttemptStatus::Approved, true)
    );
    let body = serde_json::to_value(&judgement.response).expect("JSON");
    let expected = json!({
        "success": true,
        "idvResult": {"success": true, "facematch": true, "similarityScore": 91.24},
        "documentResult": {"success": true},
        "ocrResult": {"success": true, "match": true},
        "minimumAgeResult": {"success": true},
        "kycResults": {
            "status": "clear", "results": [], "total": {"value": 0, "relation": "eq"}, "queryParams": {}, "lists": {},
        },
        "metadata": {
            "externalUserId": "u-1",
            "info": {"firstName": "Ada", "lastName": "Lovelace", "dob": "1985-12-10", "country": null},
            "ocrMatch": true,
            "documents": [{"idDocType": "PASSPORT", "country": "UTO"}, {"idDocType": "ID_CARD", "country": "UTO"}],
        },
        "documents_processed": 2,
        "facemap_id": "facemap",
        "document_results": [
            {"document_type": "PASSPORT", "face_match": true, "similarity_score": 91.24, "message": "Selfie matches document photo"},
            {"document_type": "ID_CARD", "face_match": true, "similarity_score": 91.24, "message": "Selfie matches document photo"},
        ],
        "mrz_data": {
            "mrz_data": {
                "status": "valid", "given_name": "ADA", "surname": "LOVELACE", "document_number": "L898902C3",
                "issuer_code": "UTO", "birth_date": "1985-12-10", "expiry_date": "2030-01-31", "sex": "F", "mrz_type": "TD3",
            },
            "success": true,
        },
        "ocr_comparison": {
            "match": true, "match_score": 100.0,
            "field_results": [{"field": "firstName", "source": "MRZ", "submitted": "Ada", "extracted": "ADA", "match": true, "score": 100.0}],
            "mismatches": [], "warnings": [],
        },
    });
    assert_eq!(body, expected);
    let keys: Vec<_> = body.as_object().expect("an object").keys().collect();
    assert_eq!(
        keys[..6],
        [
            "success",
            "idvResult",
            "documentResult",
            "ocrResult",
            "minimumAgeResult",
            "kycResults"
        ]
    );
}

#[test]
fn a_submission_without_documents_passes_without_a_face() {
    let plain = Flow::parse(&FlowParts {
        default_fields: r#"{"ocrMatch":true}"#,
        default_document_types: "[]",
        country_overrides: "[]",
        geo_blocked_countries: "[]",
        min_age: None,
        max_age: None,
        settings: "{}",
    })
    .expect("a Flow");
    let (submission, evidence) = (
        submit(&[("ocrMatch", "false")], &[], &live()),
        Evidence::default(),
    );
    let examination = examine(&plain, &submission, &evidence, TODAY);
    assert!(!examination.face_is_proven());
    let body = serde_json::to_value(examination.judge(&known(), &Screening::default(), false).response)
        .expect("JSON");
    assert_eq!(
        body["idvResult"],
        json!({"success": true, "facematch": false, "similarityScore": 0.0})
    );
    assert_eq!(body["ocrResult"], json!({"success": true, "match": false}));
    for absent in ["documentResult", "minimumAgeResult"] {
        assert!(body.get(absent).is_none(), "{absent}");
    }
    assert_eq!(
        (&body["mrz_data"], &body["ocr_comparison"]),
        (&Value::Null, &Value::Null)
    );
    assert_eq!(
        (&body["documents_processed"], &body["facemap_id"]),
        (&json!(0), &json!("facemap"))
    );
    assert_eq!(
        (&body["metadata"]["ocrMatch"], &body["metadata"]["info"]["dob"]),
        (&json!(false), &Value::Null)
    );
}

#[test]
fn proven_by_quality_liveness_and_match_alone() {
    let proven = |change: Change| {
        let (mut e, mut i) = (evidence(&[Passport]), known());
        change(&mut e, &mut i);
        let (flow, submission) = (flow(), submission(&[Passport], &[], &sandbox()));
        examine(&flow, &submission, &e, TODAY).face_is_proven()
    };
    assert!(proven(|_, _| {}));
    assert!(
        proven(|e, _| set_mrz(e, |m| m.data.expiry_date = Some("2020-01-01".into()))),
        "an expired document"
    );
    assert!(proven(|e, _| e.screening.matched = true), "a sanctions hit");
    assert!(!proven(|e, _| set_match(e, 70.0, MatchVerdict::BelowThreshold)));
    assert!(!proven(
        |e, _| set_selfie(e, |s| s.passive_cue = PassiveCue::Undecided)
    ));
    assert!(!proven(
        |e, _| set_selfie(e, |s| s.state = PictureState::Unprocessable)
    ));
    assert!(!proven(|e, _| set_selfie(e, |s| s.faces = 2)));
    assert!(!proven(|e, _| e.selfie = None));
    assert!(!proven(|e, _| set_front(e, |s| s.content = PictureContent::Other)));
}

#[test]
fn statuses_by_review_policy() {
    use AttemptStatus::{Approved, Failed, Pending};
    let clean: Change = |_, _| {};
    let hit: Change = |e, _| e.screening.matched = true;
    let band: Change = |e, _| set_match(e, 70.0, MatchVerdict::BelowThreshold);
    let both: Change = |e, _| {
        e.screening.matched = true;
        set_match(e, 70.0, MatchVerdict::BelowThreshold);
    };
    let near: Change = |_, i| i.near_duplicate = true;
    let worse: Change = |e, _| {
        e.screening.matched = true;
        set_mrz(e, |m| m.data.expiry_date = Some("2020-01-01".into()));
    };
    let rows: [(&str, Change, AttemptStatus, bool); 18] = [
        ("never", clean, Approved, true),
        ("never", hit, Failed, false),
        ("never", band, Failed, false),
        ("never", both, Failed, false),
        ("never", near, Approved, true),
        ("never", worse, Failed, false),
        ("on_match", clean, Approved, true),
        ("on_match", hit, Pending, false),
        ("on_match", band, Pending, false),
        ("on_match", both, Pending, false),
        ("on_match", near, Pending, false),
        ("on_match", worse, Failed, false),
        ("always", clean, Pending, true),
        ("always", hit, Pending, false),
        ("always", band, Pending, false),
        ("always", both, Pending, false),
        ("always", near, Pending, false),
        ("always", worse, Failed, false),
    ];
    for (index, (policy, change, status, success)) in rows.into_iter().enumerate() {
        let flow = flow_with(
            r#"{"documentCapture":true}"#,
            &json!({"reviewPolicy": policy}).to_string(),
        );
        let (mut e, mut i) = (evidence(&[Passport]), known());
        change(&mut e, &mut i);
        let judgement = judge_all(&flow, &submission(&[Passport], &[], &sandbox()), &e, &i);
        assert_eq!(
            (judgement.status, judgement.success),
            (status, success),
            "row {index}, {policy}"
        );
        assert_eq!(judgement.response.passing.is_some(), success);
        assert_eq!(judgement.response.message.is_some(), !success);
        assert_eq!(judgement.reasons.is_empty(), success);
    }
}

#[test]
fn a_session_is_told_and_must_pass_its_challenge() {
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
    let flow = flow_with(r#"{"liveness":true,"documentCapture":true}"#, "{}");
    for (context, challenge, codes, status) in [
        (&hosted, Challenge::Absent, vec![2105], Some("declined")),
        (&hosted, Challenge::Passed, vec![], Some("approved")),
        (&sandbox(), Challenge::Absent, vec![], None),
        (&hosted, Challenge::InReview, vec![], Some("approved")),
    ] {
        let mut e = evidence(&[Passport]);
        e.selfie.iter_mut().for_each(|s| s.challenge = challenge);
        let judgement = judge_all(&flow, &submission(&[Passport], &[], context), &e, &known());
        assert_eq!(numbers(&judgement), codes, "{challenge:?}");
        assert_eq!(judgement.response.idv_result.sdk_status, status);
        assert_eq!(
            judgement.response.idv_result.session_id.as_deref(),
            status.map(|_| "s-1")
        );
    }
}

#[test]
fn ages_are_inclusive_and_come_from_the_document() {
    let age = |birth: Option<&str>| {
        let judgement = judge_types(&[Passport], |e, _| {
            set_mrz(e, |m| m.data.birth_date = birth.map(str::to_owned));
            e.documents[0].visual.birth_date = None;
        });
        numbers(&judgement)
    };
    assert_eq!(TODAY, date(2026, 11, 21));
    assert_eq!(age(Some("2008-11-21")), Vec::<u16>::new(), "18 today");
    assert_eq!(age(Some("1965-11-22")), Vec::<u16>::new(), "60 until tomorrow");
    assert_eq!(age(Some("1990")), Vec::<u16>::new(), "whatever the day");
    assert_eq!(age(Some("2010")), [2701], "whatever the day");
    assert_eq!(age(Some("2008")), [2703], "it depends on the day");
    assert_eq!(age(Some("nonsense")), [2703]);
    assert_eq!(
        age(None),
        [2703],
        "the submitted date does not count where documents are asked for"
    );

    let data_only = Flow {
        defaults: crate::flow::Configuration::default(),
        ..flow_with("{}", "{}")
    };
    let by_form = |dob: &str| {
        let submission = submit(&[("dob", dob)], &[], &live());
        numbers(&judge_all(&data_only, &submission, &Inputs::default(), &known()))
    };
    assert_eq!(
        (by_form("11/21/2008"), by_form("11/22/2008")),
        (vec![], vec![2701])
    );
    let without = submit(&[], &[], &live());
    assert_eq!(
        numbers(&judge_all(&data_only, &without, &Inputs::default(), &known())),
        [2703]
    );
}

#[test]
fn a_document_is_valid_on_its_last_day_and_sources_are_named() {
    let expiry = |day: &str| {
        let judgement = judge_types(&[Passport], |e, _| {
            set_mrz(e, |m| m.data.expiry_date = Some(day.to_owned()));
        });
        numbers(&judgement)
    };
    assert_eq!(expiry("2026-11-21"), Vec::<u16>::new());
    assert_eq!(expiry("2026-11"), Vec::<u16>::new(), "some day of this month");
    assert_eq!(expiry("2026-10"), [2509]);
    assert_eq!(
        expiry("2026-13"),
        Vec::<u16>::new(),
        "nothing that can be understood"
    );
    let hidden = judge_types(&[Passport], |e, _| {
        set_mrz(e, |m| m.data.expiry_date = Some("20-1-1".into()));
        e.documents[0].visual.expiry_date = Some("2020-01-01".into());
    });
    assert_eq!(
        numbers(&hidden),
        [2509],
        "an unreadable date hides no readable one"
    );
    let licence = judge_types(&[Drivers], |e, _| {
        e.documents[0].barcode = BarcodeFinding::Read(DocumentData {
            expiry_date: Some("2020-01-01".into()),
            ..data()
        });
    });
    assert_eq!(
        licence.response.document_result.and_then(|r| r.source),
        Some(Source::Pdf417)
    );
    let printed = judge_types(&[Drivers], |e, _| {
        e.documents[0].barcode = BarcodeFinding::Unreadable;
        e.documents[0].visual.expiry_date = Some("2020-01-01".into());
    });
    assert_eq!(numbers(&printed), [2507, 2509]);
    assert_eq!(
        printed.response.document_result.and_then(|r| r.source),
        Some(Source::Pdf417),
        "of the first code"
    );
}

#[test]
fn an_applicant_never_sees_under_which_further_names_was_searched() {
    use crate::names::{FurtherName, MatchedName, NameSource};
    let judgement = judge_types(&[Passport], |e, _| {
        let by = MatchedName {
            source: NameSource::Earlier,
            name: "Zoltar Quenthabar".into(),
        };
        let explanation = crate::screening::Explanation {
            feature: "name_match".into(),
            score: 0.9,
            query: "zoltar quenthabar".into(),
            candidate: "quenthabar zoltar".into(),
            tokens: vec![],
        };
        let found = crate::screening::tests::hit("demo-1", &["demo"], 0.9);
        e.screening = crate::screening::Screening {
            results: vec![crate::screening::ScreeningHit {
                matched_names: vec![by.clone()],
                explanation: Some(vec![explanation]),
                ..found
            }],
            total: 1,
            matched: true,
            further_names: vec![FurtherName {
                source: by.source,
                name: by.name,
                query_params: [("name".to_owned(), "Zoltar Quenthabar".to_owned())].into(),
            }],
            ..Default::default()
        };
    });
    let response = judgement.response;
    let whole = serde_json::to_value(&response).expect("JSON");
    let hit = &whole["kycResults"]["results"][0];
    assert_eq!(
        hit["matchedNames"],
        json!([{"source": "earlier", "name": "Zoltar Quenthabar"}])
    );
    assert_eq!(whole["kycResults"]["furtherNames"][0]["source"], "earlier");
    for hides_hits in [false, true] {
        let shown = serde_json::to_value(response.for_applicant(hides_hits)).expect("JSON");
        assert!(!shown.to_string().to_lowercase().contains("zoltar"), "{shown}");
        assert_eq!(
            (&shown["kycResults"]["status"], &shown["kycResults"]["code"]),
            (&json!("match"), &json!(2702))
        );
        let hits = shown["kycResults"]["results"].as_array().map(Vec::len);
        assert_eq!(hits, Some(usize::from(!hides_hits)));
    }
}
