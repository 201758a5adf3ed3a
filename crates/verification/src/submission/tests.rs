use jiff::civil::date;
use proptest::prelude::*;

use super::*;

pub(crate) const TODAY: Date = date(2026, 11, 21);

/// A submission of the four required fields with `changes` applied. An empty value is sent as an empty field.
pub(crate) fn texts(changes: &[(&str, &str)]) -> BTreeMap<String, String> {
    let base = [
        ("firstName", "Ada"),
        ("lastName", "Lovelace"),
        ("externalUserId", "u-1"),
        ("flowId", "f-1"),
    ];
    base.iter()
        .chain(changes)
        .map(|(field, value)| ((*field).to_owned(), (*value).to_owned()))
        .collect()
}

pub(crate) fn good_file() -> SubmittedFile {
    SubmittedFile {
        bytes: 1000,
        known_format: true,
    }
}

pub(crate) fn with_files(fields: &[FileField]) -> BTreeMap<FileField, SubmittedFile> {
    fields.iter().map(|field| (*field, good_file())).collect()
}

pub(crate) fn live() -> SubmissionContext<'static> {
    SubmissionContext {
        today: TODAY,
        sandbox: false,
        bearer_session: None,
    }
}

pub(crate) fn sandbox() -> SubmissionContext<'static> {
    SubmissionContext {
        sandbox: true,
        ..live()
    }
}

pub(crate) fn submit(
    changes: &[(&str, &str)],
    files: &[FileField],
    context: &SubmissionContext<'_>,
) -> Submission {
    Submission::parse(&texts(changes), with_files(files), context).expect("a valid submission")
}

fn errors(changes: &[(&str, &str)]) -> Vec<String> {
    match Submission::parse(&texts(changes), BTreeMap::new(), &live()) {
        Ok(_) => Vec::new(),
        Err(refusal) => {
            assert_eq!(refusal.message, "Validation failed");
            refusal.errors
        }
    }
}

#[test]
fn a_full_submission() {
    let changes = [
        ("middleName", "Byron-King O'Neil"),
        ("dob", "12/10/1985"),
        ("phone", "+44 20 7946 0958"),
        ("email", "ada@example.org"),
        ("street", "12 St James's Square"),
        ("street2", "Flat 2"),
        ("city", "London"),
        ("state", "LND"),
        ("postcode", "SW1Y 4JH"),
        ("country", "GBR"),
        ("nationality", "GBR"),
        ("documentTypes", "PASSPORT, DRIVERS,PASSPORT"),
        ("documentCountry", "GBR"),
        ("ssn", "123-45-6789"),
        ("ocrMatch", "TRUE"),
        ("groupingId", "g-1"),
        ("sessionId", "s-1"),
        ("unknown", ""),
        ("firstName", "  Ada "),
    ];
    let submission = submit(&changes, &[FileField::Selfie], &live());
    assert_eq!(submission.get("firstName"), Some("Ada"));
    assert_eq!(
        submission.document_types,
        [DocumentType::Passport, DocumentType::Drivers]
    );
    assert_eq!(
        (submission.dob, submission.ocr_match),
        (Some(date(1985, 12, 10)), Some(true))
    );
    assert_eq!(
        (submission.grouping_id(), submission.session_id()),
        (Some("g-1"), Some("s-1"))
    );
    assert_eq!(
        (submission.flow_id(), submission.external_user_id()),
        ("f-1", "u-1")
    );
    assert_eq!(submission.document_country(), Some("GBR"));
    assert_eq!(submission.get("unknown"), None);
    assert!(
        !format!("{submission:?}").contains("Ada"),
        "it prints no personal data"
    );
}

#[test]
fn missing_and_empty_fields_are_all_reported() {
    let refusal = Submission::parse(&BTreeMap::new(), BTreeMap::new(), &live()).expect_err("refused");
    assert_eq!(
        refusal.errors,
        [
            "firstName required",
            "lastName required",
            "externalUserId required",
            "flowId required"
        ]
    );
    for field in TEXT_FIELDS {
        for empty in ["", "  "] {
            assert_eq!(
                errors(&[(field, empty)]),
                [format!("{field} cannot be empty")],
                "{field}"
            );
        }
    }
}

#[test]
fn every_rule_has_its_text() {
    let long = "x".repeat(256);
    let rows: &[(&str, &str, &str)] = &[
        ("firstName", "Ådа", "must contain English characters only"),
        ("lastName", "Löwe", "must contain English characters only"),
        ("middleName", "a\u{7f}b", "must contain English characters only"),
        ("firstName", "a\u{0}b", "must contain English characters only"),
        ("firstName", "--", "must contain a letter"),
        ("lastName", "123", "must contain a letter"),
        ("lastName", &long, "must have at most 255 characters"),
        ("flowId", &long[..37], "must have at most 36 characters"),
        ("groupingId", &long, "must have at most 255 characters"),
        ("sessionId", &long, "must have at most 255 characters"),
        (
            "externalUserId",
            &"é".repeat(501),
            "must have at most 500 characters",
        ),
        ("externalUserId", "a\u{0}b", "must not contain control characters"),
        ("dob", "1985-12-10", "must be a date in the format MM/DD/YYYY"),
        ("dob", "31/12/1985", "must be a date in the format MM/DD/YYYY"),
        ("dob", "02/29/2023", "must be a date in the format MM/DD/YYYY"),
        ("dob", "11/22/2026", "must not be in the future"),
        ("dob", "01/01/1826", "must be within the last 150 years"),
        (
            "phone",
            "02079460958",
            "must be a phone number in international format with a leading +",
        ),
        (
            "phone",
            "+44",
            "must be a phone number in international format with a leading +",
        ),
        (
            "phone",
            "+abc",
            "must be a phone number in international format with a leading +",
        ),
        (
            "phone",
            "+999123456789",
            "must be a phone number in international format with a leading +",
        ),
        (
            "phone",
            "+1234567890123456789",
            "must be a phone number in international format with a leading +",
        ),
        ("email", "ada", "must be an email address"),
        ("email", "ada@", "must be an email address"),
        ("email", "ada@localhost", "must be an email address"),
        ("email", "Ada <ada@example.org>", "must be an email address"),
        ("street", "Straße 1", "must contain English characters only"),
        ("street2", "№ 1", "must contain English characters only"),
        ("city", "Köln", "must contain English characters only"),
        ("state", "Île-de-France", "must contain English characters only"),
        ("postcode", "a\nb", "must not contain control characters"),
        ("country", "DE", "must be an ISO 3166-1 alpha-3 country code"),
        ("country", "deu", "must be an ISO 3166-1 alpha-3 country code"),
        ("nationality", "D", "must be an ISO 3166-1 alpha-3 country code"),
        (
            "documentCountry",
            "UTO",
            "must be an ISO 3166-1 alpha-3 country code",
        ),
        (
            "documentTypes",
            "VISA",
            "must be a comma-separated list of PASSPORT, DRIVERS, ID_CARD, RESIDENCY_CARD",
        ),
        (
            "documentTypes",
            "PASSPORT,",
            "must be a comma-separated list of PASSPORT, DRIVERS, ID_CARD, RESIDENCY_CARD",
        ),
        (
            "documentTypes",
            "passport",
            "must be a comma-separated list of PASSPORT, DRIVERS, ID_CARD, RESIDENCY_CARD",
        ),
        ("ocrMatch", "yes", "must be true or false"),
    ];
    for (field, value, reason) in rows {
        assert_eq!(
            errors(&[(field, value)]),
            [format!("{field} - {reason}")],
            "{field} {value:?}"
        );
    }
    let several = errors(&[("firstName", "Å"), ("dob", "x"), ("email", "")]);
    assert_eq!(several.len(), 3, "all at once: {several:?}");
}

#[test]
fn what_is_allowed() {
    let rows: &[(&str, &str)] = &[
        ("firstName", "X"),
        ("lastName", "O'Brien-Smith Jr. 3rd"),
        ("externalUserId", "ключ/1 é"),
        ("postcode", "１００"),
        ("dob", "11/21/2026"),
        ("phone", "+14155552671"),
        ("phone", "+15551234567"),
        ("phone", "+4915112345678"),
        ("phone", "+91 98765-43210"),
        ("phone", "+65 6123 4567"),
        ("email", "a.b+c@sub.example.co.uk"),
        ("documentTypes", "ID_CARD , RESIDENCY_CARD"),
        ("ocrMatch", "false"),
        ("country", "XKX"),
    ];
    for (field, value) in rows {
        assert_eq!(errors(&[(field, value)]), Vec::<String>::new(), "{field} {value}");
    }
    assert_eq!(
        submit(
            &[("documentCountry", "UTO"), ("nationality", "UTO")],
            &[],
            &sandbox()
        )
        .get("nationality"),
        Some("UTO")
    );
}

#[test]
fn a_session_fills_in_and_must_agree() {
    let session = SessionBinding {
        session_id: "s-1".into(),
        flow_id: "f-1".into(),
        grouping_id: "g-1".into(),
        external_user_id: "u-1".into(),
    };
    let context = SubmissionContext {
        bearer_session: Some(&session),
        ..live()
    };
    let submission = submit(&[], &[], &context);
    assert_eq!(
        (submission.session_id(), submission.grouping_id()),
        (Some("s-1"), Some("g-1"))
    );
    assert!(submission.via_bearer);
    let differing = [
        ("flowId", "f-2"),
        ("externalUserId", "u-2"),
        ("groupingId", "g-2"),
        ("sessionId", "s-2"),
    ];
    let refusal = Submission::parse(&texts(&differing), BTreeMap::new(), &context).expect_err("refused");
    assert_eq!(
        refusal.errors,
        differing.map(|(field, _)| format!("{field} - differs from the session's"))
    );
    let same = submit(&[("flowId", "F-1"), ("sessionId", "S-1")], &[], &context);
    assert_eq!((same.flow_id(), same.session_id()), ("f-1", Some("s-1")));
    let missing: BTreeMap<_, _> = texts(&[])
        .into_iter()
        .filter(|(field, _)| field != "flowId")
        .collect();
    let refusal = Submission::parse(&missing, BTreeMap::new(), &context).expect_err("still required");
    assert_eq!(refusal.errors, ["flowId required"]);
}

#[test]
fn only_the_sandbox_forces_codes() {
    let forced = |name: &str, context: &SubmissionContext<'_>| {
        submit(&[("lastName", name)], &[], context).forced_code()
    };
    assert_eq!(
        forced("SANDBOX-2403", &sandbox()),
        Some(Code::DocumentFileMissing)
    );
    assert_eq!(forced("SANDBOX-2403", &live()), None);
    assert_eq!(forced("SANDBOX-9999", &sandbox()), None);
    assert_eq!(forced("SANDBOX-x", &sandbox()), None);
    assert_eq!(forced("Lovelace", &sandbox()), None);
}

#[test]
fn file_fields_have_their_names() {
    for field in FileField::ALL {
        assert_eq!(field.as_str().parse(), Ok(field));
        if let Some((document_type, side)) = field.document() {
            assert_eq!(FileField::of(document_type, side), Some(field));
        }
    }
    assert_eq!(FileField::of(DocumentType::Passport, Side::Back), None);
    assert_eq!("passportBack".parse::<FileField>(), Err(()));
}

proptest! {
    #[test]
    fn any_form_is_answered(values in proptest::collection::vec((0..TEXT_FIELDS.len(), "\\PC{0,40}"), 0..12)) {
        let form = values.into_iter().map(|(i, value)| (TEXT_FIELDS[i].to_owned(), value)).collect();
        let _ = Submission::parse(&form, BTreeMap::new(), &sandbox());
    }

    #[test]
    fn any_phone_and_email_are_answered(text in "\\+?[0-9+() .;=a-z@\\[\\]\"-]{0,60}") {
        let _ = (is_phone(&text), is_email(&text));
    }
}
