use super::*;
use crate::flow::FlowParts;
use crate::submission::tests::{live, sandbox, submit};
use crate::submission::{FileField::*, SubmittedFile};

fn flow(fields: &str, types: &str, overrides: &str) -> Flow {
    Flow::parse(&FlowParts {
        default_fields: fields,
        default_document_types: types,
        country_overrides: overrides,
        geo_blocked_countries: "[]",
        min_age: None,
        max_age: None,
        settings: "{}",
    })
    .expect("a Flow")
}

fn refused(result: Result<(), Refusal>) -> (RefusalKind, String, Vec<String>) {
    let refusal = result.expect_err("refused");
    (refusal.reason, refusal.message, refusal.errors)
}

#[test]
fn every_missing_requirement_has_a_text() {
    let all = r#"{"middleName":true,"dob":true,"phone":true,"email":true,"street":true,"street2":true,"city":true,
        "state":true,"postcode":true,"country":true,"nationality":true,"ssn":true}"#;
    let (reason, message, errors) = refused(check_flow(
        &flow(all, r#"["PASSPORT","ID_CARD"]"#, "[]"),
        &submit(&[], &[], &live()),
    ));
    assert_eq!(
        (reason, message.as_str()),
        (RefusalKind::Invalid, "Required fields missing")
    );
    let mut expected: Vec<_> = PERSONAL_FIELDS
        .iter()
        .map(|field| format!("{field} is required"))
        .collect();
    expected.push("Social Security Number is required".into());
    expected.push("documentTypes is required: one of PASSPORT, ID_CARD".into());
    assert_eq!(errors, expected);
}

#[test]
fn an_absent_ssn_alone_is_a_validation_failure() {
    let (_, message, errors) = refused(check_flow(
        &flow(r#"{"ssn":true}"#, "[]", "[]"),
        &submit(&[], &[], &live()),
    ));
    assert_eq!(
        (message.as_str(), errors),
        (
            "Validation failed",
            vec!["Social Security Number is required".to_owned()]
        )
    );
}

#[test]
fn documents_need_their_files_country_and_selfie() {
    let open = flow("{}", "[]", "[]");
    let missing = |types: &str, country: &[(&str, &str)], files: &[FileField]| {
        let fields: Vec<_> = [("documentTypes", types)]
            .iter()
            .chain(country)
            .copied()
            .collect();
        check_flow(&open, &submit(&fields, files, &live()))
            .err()
            .map(|r| (r.message, r.errors))
            .unwrap_or_default()
            .1
    };
    assert_eq!(
        missing("PASSPORT", &[], &[]),
        [
            "documentCountry is required when documentTypes is given",
            "passportFront file is required for PASSPORT",
            "selfie file is required with a document",
        ]
    );
    let usa = [("documentCountry", "USA")];
    assert_eq!(
        missing("DRIVERS", &usa, &[DriversFront, Selfie]),
        ["driversBack file is required for DRIVERS"]
    );
    let germany = [("documentCountry", "DEU")];
    assert_eq!(
        missing("ID_CARD", &germany, &[IdCardBack, Selfie]),
        ["idCardFront file is required for ID_CARD"]
    );
    assert_eq!(
        missing("ID_CARD", &[("documentCountry", "ATA")], &[IdCardFront, Selfie]),
        ["idCardBack file is required for ID_CARD"]
    );
    assert_eq!(
        missing("RESIDENCY_CARD,PASSPORT", &germany, &[]),
        [
            "residencyFront file is required for RESIDENCY_CARD",
            "residencyBack file is required for RESIDENCY_CARD",
            "passportFront file is required for PASSPORT",
            "selfie file is required with a document",
        ]
    );
    assert!(missing("ID_CARD", &[("documentCountry", "JPN")], &[IdCardFront, Selfie]).is_empty());
    assert!(missing("PASSPORT", &usa, &[PassportFront, Selfie]).is_empty());
}

#[test]
fn the_flow_decides_about_backs_and_types() {
    let overrides = r#"[{"countryAlpha3":"USA","defaultFields":{"driversBack":false}},
                        {"countryAlpha3":"FRA","defaultDocumentTypes":["ID_CARD"]}]"#;
    let flow = flow(r#"{"idCardBack":true}"#, r#"["DRIVERS","PASSPORT"]"#, overrides);
    let result = |types: &str, country: &str, files: &[FileField]| {
        check_flow(
            &flow,
            &submit(
                &[("documentTypes", types), ("documentCountry", country)],
                files,
                &live(),
            ),
        )
    };
    assert_eq!(result("DRIVERS", "USA", &[DriversFront, Selfie]), Ok(()));
    assert!(result("DRIVERS", "CAN", &[DriversFront, Selfie]).is_err());
    let (_, message, errors) = refused(result("PASSPORT", "FRA", &[PassportFront, Selfie]));
    assert_eq!(
        (message.as_str(), errors),
        (
            "Validation failed",
            vec!["documentTypes - PASSPORT is not accepted; accepted: ID_CARD".to_owned()]
        )
    );
    assert!(
        result("ID_CARD", "FRA", &[IdCardFront, Selfie]).is_err(),
        "idCardBack is configured globally"
    );
}

#[test]
fn personal_overrides_go_by_country_then_nationality_then_document() {
    let overrides = r#"[{"countryAlpha3":"USA","defaultFields":{"ssn":true}},
                        {"countryAlpha3":"DEU","defaultFields":{"dob":true}}]"#;
    let flow = flow("{}", "[]", overrides);
    let errors = |fields: &[(&str, &str)]| {
        check_flow(&flow, &submit(fields, &[], &live()))
            .err()
            .map_or(vec![], |r| r.errors)
    };
    assert_eq!(
        errors(&[("country", "USA"), ("nationality", "DEU")]),
        ["Social Security Number is required"]
    );
    assert_eq!(
        errors(&[("nationality", "DEU"), ("documentCountry", "USA")]),
        ["dob is required"]
    );
    assert_eq!(
        errors(&[("documentCountry", "USA")]),
        ["Social Security Number is required"]
    );
    assert!(errors(&[("country", "FRA"), ("nationality", "DEU")]).is_empty());
}

#[test]
fn restricted_jurisdictions() {
    let flow = flow("{}", "[]", r#"[{"countryAlpha3":"FRA","restricted":true}]"#);
    let check = |fields: &[(&str, &str)]| check_jurisdictions(&flow, &submit(fields, &[], &live()));
    for code in RESTRICTED_JURISDICTIONS {
        for (field, what) in [
            ("country", "country of residence"),
            ("nationality", "nationality"),
            ("documentCountry", "document country"),
        ] {
            let (reason, message, errors) = refused(check(&[(field, code)]));
            assert_eq!(
                (reason, message),
                (
                    RefusalKind::Restricted,
                    format!("{what} is a restricted jurisdiction")
                )
            );
            assert_eq!(errors.len(), 1);
        }
    }
    let (_, message, errors) = refused(check(&[("country", "FRA"), ("nationality", "RUS")]));
    assert_eq!(
        message,
        "country of residence is a restricted jurisdiction for this flow"
    );
    assert_eq!(errors.len(), 2);
    assert_eq!(check(&[("country", "DEU"), ("nationality", "ITA")]), Ok(()));
}

#[test]
fn a_residence_permit_exempts_person_but_not_document() {
    let flow = flow("{}", "[]", r#"[{"countryAlpha3":"FRA","restricted":true}]"#);
    let check = |types: &str, issuer: &str| {
        let person = [
            ("country", "RUS"),
            ("nationality", "SYR"),
            ("documentTypes", types),
            ("documentCountry", issuer),
        ];
        check_jurisdictions(&flow, &submit(&person, &[], &live()))
            .err()
            .map_or(vec![], |r| r.errors)
    };
    assert!(check("RESIDENCY_CARD", "DEU").is_empty());
    assert_eq!(
        check("RESIDENCY_CARD,PASSPORT", "DEU").len(),
        2,
        "another document beside it"
    );
    assert_eq!(check("PASSPORT", "DEU").len(), 2, "another type");
    assert_eq!(check("RESIDENCY_CARD", "USA").len(), 2, "not on the list");
    assert_eq!(
        check("RESIDENCY_CARD", "FRA"),
        ["document country is a restricted jurisdiction for this flow"]
    );
    assert_eq!(check("RESIDENCY_CARD", "UKR").len(), 3);
    let utopian = [
        ("nationality", "RUS"),
        ("documentTypes", "RESIDENCY_CARD"),
        ("documentCountry", "UTO"),
    ];
    assert_eq!(
        check_jurisdictions(&flow, &submit(&utopian, &[], &sandbox())),
        Ok(())
    );
}

#[test]
fn unsupported_pairs_and_foreign_permits() {
    let check = |types: &str, country: &str| {
        check_supported(&submit(
            &[("documentTypes", types), ("documentCountry", country)],
            &[],
            &live(),
        ))
    };
    assert_eq!(check("PASSPORT,DRIVERS,ID_CARD", "USA"), Ok(()));
    assert_eq!(
        check("ID_CARD", "ATA"),
        Ok(()),
        "an unknown pair is not an unsupported one"
    );
    let (reason, message, _) = refused(check("DRIVERS,PASSPORT", "HKG"));
    assert_eq!(
        (reason, message.as_str()),
        (RefusalKind::NotSupported, "DRIVERS of HKG is not yet supported")
    );
    let (reason, message, errors) = refused(check("RESIDENCY_CARD", "USA"));
    assert_eq!(
        (reason, message.as_str()),
        (RefusalKind::Invalid, "Validation failed")
    );
    assert!(errors[0].starts_with("documentCountry - residence permits are accepted from ARE, AUT"));
}

#[test]
fn files_are_checked_together() {
    let mut submission = submit(
        &[("documentTypes", "PASSPORT"), ("documentCountry", "USA")],
        &[PassportFront, Selfie, DriversBack],
        &live(),
    );
    submission.files.insert(
        Selfie,
        SubmittedFile {
            bytes: 0,
            known_format: false,
        },
    );
    submission.files.insert(
        PassportFront,
        SubmittedFile {
            bytes: MAX_FILE_BYTES + 1,
            known_format: true,
        },
    );
    let (_, message, errors) = refused(check_files(&submission));
    assert_eq!(message, "File validation failed");
    assert_eq!(
        errors,
        [
            "passportFront file is larger than 10 MB",
            "driversBack - documentTypes does not include DRIVERS",
            "selfie file is empty",
        ]
    );
    let mut odd = submit(&[], &[Selfie], &live());
    odd.files.insert(
        Selfie,
        SubmittedFile {
            bytes: MAX_FILE_BYTES,
            known_format: false,
        },
    );
    assert_eq!(
        refused(check_files(&odd)).2,
        [
            "selfie - cannot be submitted without a document",
            "selfie file must be a JPEG, PNG, WEBP, BMP or PDF",
        ]
    );
    assert_eq!(check_files(&submit(&[], &[], &live())), Ok(()));
}

#[test]
fn the_first_failing_stage_answers() {
    let flow = flow(r#"{"dob":true}"#, "[]", "[]");
    let stage = |fields: &[(&str, &str)], files: &[FileField]| {
        refused(check(&flow, &submit(fields, files, &live()))).0
    };
    assert_eq!(
        stage(&[("country", "RUS")], &[Selfie]),
        RefusalKind::Invalid,
        "the Flow's requirements"
    );
    assert_eq!(
        stage(&[("country", "RUS"), ("dob", "01/01/2000")], &[Selfie]),
        RefusalKind::Restricted
    );
    let licence = [
        ("dob", "01/01/2000"),
        ("documentTypes", "DRIVERS"),
        ("documentCountry", "HKG"),
    ];
    assert_eq!(
        stage(&licence, &[DriversFront, Selfie, IdCardBack]),
        RefusalKind::NotSupported,
        "before the files"
    );
}
