//! Reads the text fields of a verification, one `field=value` per line, and checks them against a Flow that
//! requests everything.
#![no_main]

use std::collections::BTreeMap;
use std::sync::LazyLock;

use jiff::civil::date;
use libfuzzer_sys::fuzz_target;
use verification::dates;
use verification::flow::{Flow, FlowParts};
use verification::requirements;
use verification::submission::{FileField, Submission, SubmissionContext, SubmittedFile};

static FLOW: LazyLock<Flow> = LazyLock::new(|| {
    let fields = r#"{"dob": true, "phone": true, "email": true, "country": true, "ssn": true, "selfie": true,
        "documentFileUpload": true, "idCardBack": true}"#;
    let parts = FlowParts {
        default_fields: fields,
        default_document_types: r#"["PASSPORT", "ID_CARD"]"#,
        country_overrides: "[]",
        geo_blocked_countries: "[]",
        min_age: Some(18),
        max_age: None,
        settings: "{}",
    };
    Flow::parse(&parts).expect("a Flow")
});

fuzz_target!(|form: &str| {
    let texts: BTreeMap<String, String> = form
        .split('\n')
        .filter_map(|line| line.split_once('='))
        .map(|(field, value)| (field.to_owned(), value.to_owned()))
        .collect();
    let file = SubmittedFile { bytes: 1_000, known_format: true };
    let files: BTreeMap<_, _> = FileField::ALL.map(|field| (field, file)).into();
    for sandbox in [false, true] {
        let context = SubmissionContext { today: date(2026, 11, 21), sandbox, bearer_session: None };
        if let Ok(submission) = Submission::parse(&texts, files.clone(), &context) {
            let _ = (requirements::check(&FLOW, &submission), submission.forced_code());
        }
    }
    let _ = (dates::parse_us(form), dates::parse_iso(form), dates::iso_range(form));
});
