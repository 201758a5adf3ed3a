//! The hosted page's data: what a Flow requests per country, how long it takes, consents and page events.
//!
//! Page events contain only words of fixed lists, so no personal data can enter through them.

use reference::{
    Country, DocumentType, RESIDENCE_PERMIT_ISSUERS, RESTRICTED_JURISDICTIONS, UTOPIA, document_rule,
};
use serde_json::{Map, Value};

use crate::codes::CODES;
use crate::document_requirements::requirement;
use crate::flow::{Configuration, Flow, PERSONAL_FIELDS};
use crate::json::Body;

/// The personal fields that a configuration requests in addition to first and last name.
pub fn personal_fields(configuration: &Configuration) -> Vec<&'static str> {
    PERSONAL_FIELDS
        .into_iter()
        .chain(["ssn"])
        .filter(|field| configuration.requests(field))
        .collect()
}

/// Estimated duration in minutes: one, plus one for more than four personal fields, plus one for documents.
pub fn estimated_minutes(configuration: &Configuration) -> u32 {
    let many = personal_fields(configuration).len() > 4;
    1 + u32::from(many) + u32::from(!configuration.document_types.is_empty())
}

/// What a Flow requests of a country's applicants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CountryOffer {
    /// The country.
    pub country: &'static Country,
    /// The country's applicants and documents are refused.
    pub restricted: bool,
    /// The personal fields that are requested.
    pub fields: Vec<&'static str>,
    /// The accepted document types.
    pub types: Vec<DocumentOffer>,
}

/// A document type of a country that a Flow accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DocumentOffer {
    /// The type.
    pub document_type: DocumentType,
    /// Documents of this type can be verified.
    pub supported: bool,
    /// The back is requested, by the Flow's setting or else by the document table.
    pub needs_back: bool,
    /// One-sided variants exist, and the Flow does not require the back.
    pub has_one_sided_variant: bool,
}

/// What a Flow requests, country by country. In the sandbox the specimen state Utopia comes first.
pub fn country_offers(flow: &Flow, sandbox: bool) -> Vec<CountryOffer> {
    let utopia = sandbox.then_some(&UTOPIA);
    utopia
        .into_iter()
        .chain(reference::countries())
        .map(|country| country_offer(flow, country))
        .collect()
}

/// What a Flow requests of one country's applicants.
pub fn country_offer(flow: &Flow, country: &'static Country) -> CountryOffer {
    let configuration = flow.configuration(Some(country.alpha3));
    CountryOffer {
        country,
        restricted: RESTRICTED_JURISDICTIONS.contains(&country.alpha3) || flow.restricts(country.alpha3),
        fields: personal_fields(&configuration),
        types: configuration
            .document_types
            .iter()
            .map(|document_type| document_offer(&configuration, *document_type, country.alpha3))
            .collect(),
    }
}

fn document_offer(configuration: &Configuration, document_type: DocumentType, alpha3: &str) -> DocumentOffer {
    let known = requirement(alpha3, document_type);
    let configured = match document_type {
        DocumentType::Drivers => configuration.fields.get("driversBack"),
        DocumentType::IdCard => configuration.fields.get("idCardBack"),
        DocumentType::Passport | DocumentType::ResidencyCard => None,
    };
    let issues_permits = RESIDENCE_PERMIT_ISSUERS.contains(&alpha3) || alpha3 == UTOPIA.alpha3;
    let is_refused = document_type == DocumentType::ResidencyCard && !issues_permits;
    DocumentOffer {
        document_type,
        supported: !is_refused && document_rule(alpha3, document_type).is_none_or(|rule| rule.supported),
        needs_back: configured.copied().unwrap_or(known.needs_back),
        has_one_sided_variant: known.has_one_sided_variant && configured.is_none(),
    }
}

/// An applicant's answer to the page's consent text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Consent {
    /// The text's version.
    pub version: String,
    /// The language in which the text was shown.
    pub language: String,
    /// Whether the applicant consented.
    pub accepted: bool,
}

impl Consent {
    /// Reads the body; unknown members are ignored.
    ///
    /// # Errors
    /// Every fault, as `<field> - <reason>`.
    pub fn parse(body: &Map<String, Value>) -> Result<Self, Vec<String>> {
        let mut body = Body::new(body);
        let [version, language] = ["version", "language"].map(|field| {
            if body.get(field).is_none() {
                body.add_fault(field, "is required");
            }
            let text = body.text(field).unwrap_or_default();
            let is_word = |text: &str| {
                (1..=32).contains(&text.len())
                    && text
                        .bytes()
                        .all(|b| b.is_ascii_alphanumeric() || b".-_".contains(&b))
            };
            if body.get(field).is_some_and(Value::is_string) && !is_word(text) {
                body.add_fault(field, "must be 1 to 32 letters, digits, `.`, `-` or `_`");
            }
            text.to_owned()
        });
        let accepted = body.get("accepted").and_then(Value::as_bool);
        if accepted.is_none() {
            body.add_fault("accepted", "is required: true or false");
        }
        body.finish()?;
        Ok(Self {
            version,
            language,
            accepted: accepted.unwrap_or_default(),
        })
    }
}

/// Maximum number of events per request.
pub const MAX_EVENTS: usize = 50;
/// Latest time of an event in milliseconds: a day after the page was opened.
const MAX_MS: f64 = 24.0 * 60.0 * 60.0 * 1_000.0;

/// The page's steps, in the order of a Flow that reads the document first.
pub const PAGE_STEPS: [&str; 13] = [
    "open", "consent", "device", "document", "camera", "front", "back", "review", "details", "selfie",
    "liveness", "upload", "outcome",
];
/// What can happen at a step.
pub const EVENT_KINDS: [&str; 6] = ["reached", "completed", "retried", "dropped", "failed", "denied"];
/// The details of an event in addition to the failure codes: causes in camera, picture, outcome and network.
pub const EVENT_DETAILS: [&str; 51] = [
    // The camera
    "permission_denied",
    "no_camera",
    "in_use",
    "no_frames",
    "insecure",
    "unsupported",
    "in_app_browser",
    "embedded",
    "cancelled",
    "use_file",
    // The pictures
    "no_document",
    "closer",
    "back_up",
    "centre",
    "hold_still",
    "glare",
    "too_dark",
    "too_bright",
    "blurry",
    "too_blurry",
    "cut_off",
    "wrong_side",
    "screen",
    "photocopy",
    "no_face",
    "several_faces",
    "face_too_small",
    "turn_to_camera",
    // The challenge
    "assisted",
    "passed",
    "review",
    "too_slow",
    "wrong_way",
    "too_fast",
    "too_early",
    "another_face",
    "flat",
    "wrong_light",
    "interrupted",
    "slow_connection",
    "broken_off",
    // The outcome
    "approved",
    "pending",
    "failed",
    "refused",
    "expired",
    // The network
    "offline",
    "network",
    "server",
    "busy",
    "timeout",
];

/// An event on the page. Every word comes from a fixed list, so no personal data can be in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageEvent<'a> {
    /// One of [`PAGE_STEPS`].
    pub step: &'a str,
    /// One of [`EVENT_KINDS`].
    pub kind: &'a str,
    /// Milliseconds since the page was opened.
    pub ms: i64,
    /// One of [`EVENT_DETAILS`], or a failure code's number.
    pub detail: Option<&'a str>,
}

/// A batch of events on the page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageEvents<'a> {
    /// The events in order.
    pub events: Vec<PageEvent<'a>>,
    /// The code of the language in which the page was shown; `None` if unknown.
    pub language: Option<&'static str>,
}

/// Reads `{events: [{step, kind, ms, detail?}], language?}`.
///
/// # Errors
/// Every fault, as `events[<number>].<field> - <reason>` or `language - <reason>`. The texts never repeat the input.
pub fn parse_page_events(body: &Map<String, Value>) -> Result<PageEvents<'_>, Vec<String>> {
    let items = match body.get("events").and_then(Value::as_array) {
        None => return Err(vec!["events - is required: an array".into()]),
        Some(items) if items.len() > MAX_EVENTS => {
            return Err(vec![format!("events - must have at most {MAX_EVENTS}")]);
        }
        Some(items) => items,
    };
    let mut errors = Vec::new();
    let events = items
        .iter()
        .enumerate()
        .map(|(index, item)| page_event(item, index, &mut errors))
        .collect();
    let language = page_language(body, &mut errors);
    if errors.is_empty() {
        Ok(PageEvents { events, language })
    } else {
        Err(errors)
    }
}

fn page_language(body: &Map<String, Value>, errors: &mut Vec<String>) -> Option<&'static str> {
    let stated = body.get("language").filter(|value| !value.is_null())?;
    let known = stated.as_str().and_then(reference::languages::language);
    if known.is_none() {
        let codes: Vec<&str> = reference::languages::languages()
            .iter()
            .map(|one| one.code)
            .collect();
        errors.push(format!("language - must be one of {}", codes.join(", ")));
    }
    known.map(|language| language.code)
}

fn page_event<'a>(item: &'a Value, index: usize, errors: &mut Vec<String>) -> PageEvent<'a> {
    let mut word = |field: &str, words: &[&str]| {
        let text = item[field].as_str().unwrap_or_default();
        if !words.contains(&text) {
            errors.push(format!(
                "events[{index}].{field} - must be one of {}",
                words.join(", ")
            ));
        }
        text
    };
    let (step, kind) = (word("step", &PAGE_STEPS), word("kind", &EVENT_KINDS));
    let ms = item["ms"]
        .as_f64()
        .filter(|ms| ms.fract() == 0.0 && (0.0..=MAX_MS).contains(ms));
    if ms.is_none() {
        errors.push(format!(
            "events[{index}].ms - must be a whole number of milliseconds, at most {MAX_MS}"
        ));
    }
    let detail = &item["detail"];
    let is_code = |text: &str| CODES.iter().any(|(_, info)| info.number.to_string() == text);
    let is_known = detail.is_null()
        || detail
            .as_str()
            .is_some_and(|text| EVENT_DETAILS.contains(&text) || is_code(text));
    if !is_known {
        errors.push(format!(
            "events[{index}].detail - must be a failure code or one of {}",
            EVENT_DETAILS.join(", ")
        ));
    }
    PageEvent {
        step,
        kind,
        #[expect(clippy::cast_possible_truncation, reason = "a whole number, bounded above")]
        ms: ms.unwrap_or_default() as i64,
        detail: detail.as_str(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::flow::FlowParts;

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

    const ALL: &str = r#"["PASSPORT","DRIVERS","ID_CARD","RESIDENCY_CARD"]"#;

    #[test]
    fn it_takes_minutes() {
        for (fields, types, expected) in [
            ("{}", "[]", 1),
            (r#"{"dob":true}"#, "[]", 1),
            ("{}", r#"["PASSPORT"]"#, 2),
            (
                r#"{"dob":true,"street":true,"city":true,"postcode":true,"ssn":true}"#,
                r#"["PASSPORT"]"#,
                3,
            ),
        ] {
            assert_eq!(
                estimated_minutes(&flow(fields, types, "[]").defaults),
                expected,
                "{fields} {types}"
            );
        }
    }

    #[test]
    fn countries_offer_what_the_flow_accepts() {
        let overrides = r#"[
            {"countryAlpha3":"DEU","defaultDocumentTypes":["ID_CARD"],"defaultFields":{"ssn":true,"idCardBack":false}},
            {"countryAlpha3":"FRA","restricted":true}]"#;
        let flow = flow(r#"{"dob":true,"driversBack":true}"#, ALL, overrides);
        let offers = country_offers(&flow, true);
        let of = |alpha3: &str| {
            offers
                .iter()
                .find(|offer| offer.country.alpha3 == alpha3)
                .expect("a country")
        };
        assert_eq!(offers[0].country.alpha3, "UTO");
        assert!(
            country_offers(&flow, false)
                .iter()
                .all(|offer| offer.country.alpha3 != "UTO")
        );
        assert_eq!(offers.len(), reference::countries().len() + 1);

        let german = of("DEU");
        assert_eq!(german.fields, ["dob", "ssn"]);
        let card = DocumentOffer {
            document_type: DocumentType::IdCard,
            supported: true,
            needs_back: false,
            has_one_sided_variant: false,
        };
        assert_eq!(
            german.types,
            [card],
            "the override's types and its word on the back"
        );
        assert!(of("FRA").restricted && of("RUS").restricted && !of("ITA").restricted);

        let offer = |alpha3: &str, document_type| {
            *of(alpha3)
                .types
                .iter()
                .find(|offer| offer.document_type == document_type)
                .expect("a type")
        };
        let romanian = offer("ROU", DocumentType::IdCard);
        assert!(
            romanian.needs_back && romanian.has_one_sided_variant,
            "the lookup's word"
        );
        assert!(offer("JPN", DocumentType::Drivers).needs_back, "the Flow's word");
        assert!(!offer("ITA", DocumentType::Passport).needs_back);
        assert!(!offer("HKG", DocumentType::Drivers).supported);
        assert!(!offer("USA", DocumentType::ResidencyCard).supported);
        assert!(
            offer("UTO", DocumentType::ResidencyCard).supported
                && offer("ITA", DocumentType::ResidencyCard).supported
        );
    }

    #[test]
    fn consents_are_read() {
        let parse = |value: &Value| Consent::parse(value.as_object().expect("an object"));
        let good = parse(&json!({"version": "2026-11", "language": "pt-BR", "accepted": false, "zzz": 1}))
            .expect("a consent");
        assert_eq!(
            (good.version.as_str(), good.language.as_str(), good.accepted),
            ("2026-11", "pt-BR", false)
        );
        for (body, fields) in [
            (json!({}), vec!["version", "language", "accepted"]),
            (
                json!({"version": 1, "language": "en", "accepted": "yes"}),
                vec!["version", "accepted"],
            ),
            (
                json!({"version": "", "language": "<b>", "accepted": true}),
                vec!["version", "language"],
            ),
            (
                json!({"version": "x".repeat(33), "language": "en", "accepted": true}),
                vec!["version"],
            ),
        ] {
            let errors = parse(&body).expect_err("faults");
            let named: Vec<_> = errors
                .iter()
                .map(|error| error.split(" - ").next().unwrap_or_default())
                .collect();
            assert_eq!(named, fields, "{body}");
        }
    }

    #[test]
    fn events_are_words_of_fixed_lists() {
        let parse = |value: &Value| {
            parse_page_events(value.as_object().expect("an object")).map(|batch| batch.events.len())
        };
        let good = json!({"events": [
            {"step": "open", "kind": "reached", "ms": 0},
            {"step": "open", "kind": "reached", "ms": 7.0},
            {"step": "front", "kind": "retried", "ms": 86_400_000, "detail": "glare"},
            {"step": "outcome", "kind": "failed", "ms": 5, "detail": "2509"},
            {"step": "selfie", "kind": "denied", "ms": 5, "detail": null},
        ]});
        assert_eq!(parse(&good), Ok(5));
        assert_eq!(parse(&json!({"events": []})), Ok(0));
        let many = |count: usize| json!({"events": vec![json!({"step": "open", "kind": "reached", "ms": 1}); count]});
        assert_eq!(parse(&many(50)), Ok(50));
        let fault = |body: Value| parse(&body).expect_err("a fault").join("; ");
        assert!(fault(many(51)).contains("at most 50"));
        for body in [json!({}), json!({"events": "x"}), json!({"events": null})] {
            assert!(fault(body).starts_with("events - "));
        }
        for (event, field) in [
            (json!({"step": "login", "kind": "reached", "ms": 1}), "step"),
            (json!({"step": "open", "kind": "Ada Lovelace", "ms": 1}), "kind"),
            (json!({"step": "open", "kind": "reached", "ms": -1}), "ms"),
            (json!({"step": "open", "kind": "reached", "ms": 1.5}), "ms"),
            (
                json!({"step": "open", "kind": "reached", "ms": 9_007_199_254_740_993_u64}),
                "ms",
            ),
            (json!({"step": "open", "kind": "reached"}), "ms"),
            (
                json!({"step": "open", "kind": "reached", "ms": 1, "detail": "Ada Lovelace"}),
                "detail",
            ),
            (
                json!({"step": "open", "kind": "reached", "ms": 1, "detail": 2509}),
                "detail",
            ),
            (json!(7), "step"),
        ] {
            let text = fault(json!({"events": [event]}));
            assert!(
                text.starts_with(&format!("events[0].{field} - ")) && !text.contains("Ada"),
                "{text}"
            );
        }
    }

    #[test]
    fn a_batch_of_events_has_a_language_of_the_page() {
        let parse = |body: &Value| {
            parse_page_events(body.as_object().expect("an object")).map(|batch| batch.language)
        };
        assert_eq!(parse(&json!({"events": []})), Ok(None));
        assert_eq!(parse(&json!({"events": [], "language": null})), Ok(None));
        for language in reference::languages::languages() {
            let body = json!({"events": [], "language": language.code});
            assert_eq!(parse(&body), Ok(Some(language.code)));
        }
        for language in [
            json!(""),
            json!("Ada Lovelace"),
            json!("de-AT"),
            json!(7),
            json!(["de"]),
        ] {
            let faults = parse(&json!({"events": [], "language": language})).expect_err("a fault");
            let [fault] = &faults[..] else {
                panic!("{faults:?}")
            };
            assert!(
                fault.starts_with("language - must be one of ") && fault.contains("zh-Hans"),
                "{fault}"
            );
            assert!(!fault.contains("Ada"), "{fault}");
        }
    }
}
