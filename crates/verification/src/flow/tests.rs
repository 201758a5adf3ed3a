//! Parsing of a Flow's stored parts, and the resolved configurations.

use super::*;

pub(crate) const PARTS: FlowParts<'static> = FlowParts {
    default_fields: r#"{"dob":true,"documentCapture":true,"zzz":{"a":1}}"#,
    default_document_types: r#"["PASSPORT","DRIVERS","PASSPORT"]"#,
    country_overrides: r#"[
        {"countryAlpha2":"DE","countryAlpha3":"DEU","countryName":"Germany",
         "defaultFields":{"dob":false,"ssn":true,"idCardBack":false},"defaultDocumentTypes":["ID_CARD"]},
        {"countryAlpha3":"FRA","restricted":true}]"#,
    geo_blocked_countries: r#"[{"countryAlpha2":"kp","countryName":"North Korea"}]"#,
    min_age: Some(18),
    max_age: None,
    settings: r#"{"reviewPolicy":"never"}"#,
};

#[test]
fn parses_and_resolves_overrides() {
    let flow = Flow::parse(&PARTS).expect("a Flow");
    assert_eq!(
        flow.defaults.document_types,
        [DocumentType::Passport, DocumentType::Drivers]
    );
    assert_eq!(flow.geo_blocked, ["KP"]);
    assert_eq!(flow.review_policy(), ReviewPolicy::Never);
    let german = flow.configuration(Some("DEU"));
    assert!(!german.requests("dob") && german.requests("ssn") && german.requests("documentCapture"));
    assert_eq!(german.document_types, [DocumentType::IdCard]);
    assert_eq!(flow.configuration(Some("ITA")), flow.defaults);
    assert_eq!(flow.configuration(None), flow.defaults);
    assert!(flow.restricts("FRA") && !flow.restricts("DEU"));
    let bare = FlowParts {
        default_document_types: "[]",
        ..PARTS
    };
    let restricted = r#"[{"countryAlpha3":"FRA","restricted":true,"defaultDocumentTypes":["PASSPORT"]}]"#;
    for (parts, may_ask) in [
        (PARTS, true),
        (
            FlowParts {
                country_overrides: "[]",
                ..PARTS
            },
            true,
        ),
        (bare, true),
        (
            FlowParts {
                country_overrides: "[]",
                ..bare
            },
            false,
        ),
        (
            FlowParts {
                country_overrides: restricted,
                ..bare
            },
            false,
        ),
    ] {
        let flow = Flow::parse(&parts).expect("a Flow");
        assert_eq!(flow.may_ask_document(), may_ask, "{}", parts.country_overrides);
    }
}

/// Rows that were edited by hand, truncated or written by a newer version. A deciding member never becomes a
/// default.
#[test]
fn members_that_cannot_be_read_are_named() {
    let fields = |text: &'static str| FlowParts {
        default_fields: text,
        ..PARTS
    };
    let types = |text: &'static str| FlowParts {
        default_document_types: text,
        ..PARTS
    };
    let overrides = |text: &'static str| FlowParts {
        country_overrides: text,
        ..PARTS
    };
    let blocked = |text: &'static str| FlowParts {
        geo_blocked_countries: text,
        ..PARTS
    };
    let settings = |text: &'static str| FlowParts {
        settings: text,
        ..PARTS
    };
    for (parts, part) in [
        (fields(""), "defaultFields"),
        (fields("[]"), "defaultFields"),
        (fields(r#"{"ocrMatch":tr"#), "defaultFields"),
        (fields(r#"{"ocrMatch":"true"}"#), "defaultFields.ocrMatch"),
        (fields(r#"{"liveness":1}"#), "defaultFields.liveness"),
        (fields(r#"{"selfie":null}"#), "defaultFields.selfie"),
        (types(r#"["VISA"]"#), "defaultDocumentTypes"),
        (types(r#"["PASSPORT",null]"#), "defaultDocumentTypes"),
        (types(r#"{"PASSPORT":true}"#), "defaultDocumentTypes"),
        (overrides("[{}]"), "countryOverrides[0]"),
        (overrides(r#"[{"countryAlpha3":"ZZZ"}]"#), "countryOverrides[0]"),
        (
            overrides(r#"[{"countryAlpha3":"FRA"},{"countryAlpha3":"DEU","restricted":"true"}]"#),
            "countryOverrides[1].restricted",
        ),
        (
            overrides(r#"[{"countryAlpha3":"FRA","defaultFields":["ocrMatch"]}]"#),
            "countryOverrides[0].defaultFields",
        ),
        (
            overrides(r#"[{"countryAlpha3":"FRA","defaultFields":{"ocrMatch":"no"}}]"#),
            "countryOverrides[0].defaultFields.ocrMatch",
        ),
        (
            overrides(r#"[{"countryAlpha3":"FRA","defaultDocumentTypes":null}]"#),
            "countryOverrides[0].defaultDocumentTypes",
        ),
        (blocked("[{}]"), "geoBlockedCountries[0]"),
        (blocked(r#"["KP"]"#), "geoBlockedCountries[0]"),
        (
            blocked(r#"[{"countryAlpha2":"Korea"}]"#),
            "geoBlockedCountries[0]",
        ),
        (settings("{"), "settings"),
        (settings("null"), "settings"),
        (
            settings(r#"{"reviewPolicy":1}"#),
            "settings.reviewPolicy - must be never, on_match or always",
        ),
        (
            settings(r#"{"reviewPolicy":"quorum","fourEyes":"yes"}"#),
            "settings.reviewPolicy - must be never, on_match or always, settings.fourEyes - must be true or false",
        ),
        (
            FlowParts {
                min_age: Some(-5),
                ..PARTS
            },
            "minAge",
        ),
        (
            FlowParts {
                max_age: Some(1800),
                ..PARTS
            },
            "maxAge",
        ),
    ] {
        assert_eq!(Flow::parse(&parts), Err(damaged(part)), "{parts:?}");
    }
    for parts in [
        fields(r#"{"videoCall":{"with":"agent"}}"#),
        settings(r#"{"fourEyes":true,"quorum":3}"#),
        overrides(r#"[{"countryAlpha3":"FRA","fromDay":7}]"#),
    ] {
        assert!(
            Flow::parse(&parts).is_ok(),
            "unknown members refuse nothing: {parts:?}"
        );
    }
}

#[test]
fn backs_by_flow_then_table_then_yes() {
    let with = |fields: &str| {
        Flow::parse(&FlowParts {
            default_fields: fields,
            ..PARTS
        })
        .expect("a Flow")
        .defaults
    };
    let silent = with("{}");
    assert!(silent.needs_back(DocumentType::Drivers, "USA"));
    assert!(
        !silent.needs_back(DocumentType::IdCard, "JPN"),
        "known to need none"
    );
    assert!(
        !silent.needs_back(DocumentType::IdCard, "ROU"),
        "one-sided variant"
    );
    assert!(silent.needs_back(DocumentType::IdCard, "ATA"), "unknown pair");
    let configured = with(r#"{"driversBack":false,"idCardBack":true}"#);
    assert!(!configured.needs_back(DocumentType::Drivers, "USA"));
    assert!(configured.needs_back(DocumentType::IdCard, "JPN"));
    for configuration in [silent, configured] {
        assert!(!configuration.needs_back(DocumentType::Passport, "USA"));
        assert!(configuration.needs_back(DocumentType::ResidencyCard, "DEU"));
    }
}

#[test]
fn biometric_and_upload_types() {
    let of = |fields: &str| {
        let c = Flow::parse(&FlowParts {
            default_fields: fields,
            ..PARTS
        })
        .expect("a Flow")
        .defaults;
        (c.biometric().as_str(), c.document_upload_type())
    };
    assert_eq!(of("{}"), ("selfie", "fileUpload"));
    assert_eq!(
        of(r#"{"selfie":true,"documentFileUpload":true}"#),
        ("selfie", "fileUpload")
    );
    assert_eq!(
        of(r#"{"selfie":true,"liveSelfie":true,"documentCapture":true}"#),
        ("live selfie", "fileCapture")
    );
    assert_eq!(
        of(r#"{"liveSelfie":true,"liveness":true,"documentFileUpload":true,"documentCapture":true}"#),
        ("liveness", "fileCapture")
    );
}

#[test]
fn checks_what_spans_members() {
    let check = |parts: &FlowParts<'_>| Flow::parse(parts).expect("a Flow").check();
    assert_eq!(check(&PARTS), Ok(()));
    let upload = "An upload method is required when a document type is selected";
    let message = |parts: &FlowParts<'_>| check(parts).expect_err("refused").message;
    let bare = FlowParts {
        default_fields: "{}",
        country_overrides: "[]",
        ..PARTS
    };
    assert_eq!(message(&bare), upload);
    assert_eq!(
        check(&FlowParts {
            default_document_types: "[]",
            ..bare
        }),
        Ok(())
    );
    let override_only = r#"[{"countryAlpha3":"DEU","defaultDocumentTypes":["PASSPORT"]}]"#;
    let no_default = FlowParts {
        default_document_types: "[]",
        ..bare
    };
    assert_eq!(
        message(&FlowParts {
            country_overrides: override_only,
            ..no_default
        }),
        upload
    );
    let off = r#"[{"countryAlpha3":"DEU","defaultFields":{"documentCapture":false}}]"#;
    assert_eq!(
        message(&FlowParts {
            country_overrides: off,
            ..PARTS
        }),
        upload
    );
    let errors = |parts: &FlowParts<'_>| check(parts).expect_err("refused").errors;
    assert_eq!(
        errors(&FlowParts {
            min_age: Some(30),
            max_age: Some(20),
            ..PARTS
        }),
        ["minAge - must not be greater than maxAge"]
    );
    assert_eq!(
        errors(&FlowParts {
            default_fields: r#"{"liveness":true}"#,
            ..no_default
        }),
        ["defaultFields - a selfie cannot be asked for when no document type is accepted"]
    );
}
