//! What a Flow's configuration means for its applicants. The portal shows it to the Flow's editor before
//! saving.
//!
//! The functions are pure and use the same rules as verification. They refuse nothing; the portal supplies
//! the texts.

use reference::{Country, DocumentType, RESTRICTED_JURISDICTIONS};

use crate::flow::{Biometric, Configuration, Flow};
use crate::hosted::{CountryOffer, DocumentOffer, country_offer, personal_fields};
use crate::settings::ReviewPolicy;

/// One consequence of the configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Consequence {
    /// The applicant gives first and last name and these fields of `defaultFields`.
    Details(Vec<&'static str>),
    /// The applicant photographs the document first, and confirms what was read of first and last name and these fields of
    /// `defaultFields`. The rest is entered.
    Confirmed(Vec<&'static str>),
    /// Neither a document nor a selfie is requested.
    NoDocument,
    /// The applicant submits one of these documents and a selfie.
    Documents(Vec<DocumentType>),
    /// How the selfie is taken.
    Selfie(Biometric),
    /// Documents are photographed. A file is accepted only where the camera does not work.
    Camera,
    /// Documents are photographed or uploaded as files.
    Files,
    /// Submitted data must match the document.
    DataComparison,
    /// The back of this type is requested in every country (`true`) or in none (`false`).
    Back(DocumentType, bool),
    /// Lowest and highest accepted age, inclusive.
    Ages(Option<i64>, Option<i64>),
    /// Ages are bounded, but no birth date is collected, so every attempt fails.
    AgeUnknown,
    /// Visitors from these countries cannot open links.
    GeoBlocked(Vec<&'static Country>),
    /// Residents, nationals and documents of these countries are refused.
    Restricted(Vec<&'static Country>),
    /// Which attempts are sent to review.
    Reviewed(ReviewPolicy),
    /// How many attempts one link allows.
    Attempts(u32),
    /// After how many days attempts are deleted.
    RetentionDays(u32),
}

/// The consequences for all applicants. `blocked` are the account's blocked countries (alpha-2).
pub fn of_flow(flow: &Flow, blocked: &[String]) -> Vec<Consequence> {
    let asked = &flow.defaults;
    let fields = personal_fields(asked);
    let mut all = vec![match flow.is_document_first() {
        true => Consequence::Confirmed(fields),
        false => Consequence::Details(fields),
    }];
    if asked.document_types.is_empty() {
        all.push(Consequence::NoDocument);
    } else {
        all.push(Consequence::Documents(asked.document_types.clone()));
        all.push(Consequence::Selfie(asked.biometric()));
        all.push(upload(asked));
        if asked.requests("ocrMatch") {
            all.push(Consequence::DataComparison);
        }
        all.extend(backs(asked));
    }
    if flow.min_age.is_some() || flow.max_age.is_some() {
        all.push(Consequence::Ages(flow.min_age, flow.max_age));
        if asked.document_types.is_empty() && !asked.requests("dob") {
            all.push(Consequence::AgeUnknown);
        }
    }
    let geo_blocked = countries(blocked.iter().chain(&flow.geo_blocked).map(String::as_str));
    if !geo_blocked.is_empty() {
        all.push(Consequence::GeoBlocked(geo_blocked));
    }
    let restricted = flow.overrides.iter().filter(|element| element.restricted);
    let restricted: Vec<_> = restricted.map(|element| element.country).collect();
    if !restricted.is_empty() {
        all.push(Consequence::Restricted(restricted));
    }
    all.push(Consequence::Reviewed(flow.review_policy()));
    all.push(Consequence::Attempts(flow.settings.attempts_per_link));
    all.extend(flow.settings.retention_days.map(Consequence::RetentionDays));
    all
}

fn upload(asked: &Configuration) -> Consequence {
    match asked.document_upload_type() {
        "fileCapture" => Consequence::Camera,
        _ => Consequence::Files,
    }
}

fn backs(asked: &Configuration) -> impl Iterator<Item = Consequence> {
    [
        (DocumentType::Drivers, "driversBack"),
        (DocumentType::IdCard, "idCardBack"),
    ]
    .into_iter()
    .filter(|(document_type, _)| asked.document_types.contains(document_type))
    .filter_map(|(document_type, field)| Some(Consequence::Back(document_type, *asked.fields.get(field)?)))
}

/// The countries with these alpha-2 codes, each once, sorted by name. Unknown codes are omitted.
fn countries<'a>(codes: impl Iterator<Item = &'a str>) -> Vec<&'static Country> {
    let mut found: Vec<_> = codes.filter_map(reference::country).collect();
    found.sort_unstable_by_key(|country| country.name);
    found.dedup();
    found
}

/// The consequences for the applicants of one country.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CountryConsequences {
    /// The country.
    pub country: &'static Country,
    /// Why every applicant of the country is refused; `None` if the country is accepted.
    pub refused: Option<CountryRefusal>,
    /// The Flow has an override for this country.
    pub overridden: bool,
    /// The personal fields that are requested.
    pub fields: Vec<&'static str>,
    /// How the selfie is taken; `None` if no document is requested.
    pub biometric: Option<Biometric>,
    /// Each accepted document type and the sides requested of it.
    pub documents: Vec<(DocumentType, Sides)>,
}

/// Why every applicant of a country is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CountryRefusal {
    /// The Flow restricts the country.
    ByFlow,
    /// The country is on the fixed list (contract §4.6).
    ByLaw,
}

/// Which sides of a document are requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sides {
    /// Only the front.
    Front,
    /// Front and back.
    Both,
    /// Front and back, unless the document is a one-sided variant.
    BackIfAny,
    /// Such documents are not accepted: the country does not issue them, or they cannot be verified yet.
    Unsupported,
}

/// The consequences for the applicants of one country, with its override applied to the defaults.
pub fn of_country(flow: &Flow, country: &'static Country) -> CountryConsequences {
    let CountryOffer { fields, types, .. } = country_offer(flow, country);
    let by_law = RESTRICTED_JURISDICTIONS.contains(&country.alpha3);
    CountryConsequences {
        country,
        refused: match flow.restricts(country.alpha3) {
            true => Some(CountryRefusal::ByFlow),
            false => by_law.then_some(CountryRefusal::ByLaw),
        },
        overridden: flow.override_for(country.alpha3).is_some(),
        fields,
        biometric: (!types.is_empty()).then(|| flow.configuration(Some(country.alpha3)).biometric()),
        documents: types
            .iter()
            .map(|offer| (offer.document_type, sides(offer)))
            .collect(),
    }
}

fn sides(offer: &DocumentOffer) -> Sides {
    match offer {
        DocumentOffer { supported: false, .. } => Sides::Unsupported,
        DocumentOffer {
            needs_back: false, ..
        } => Sides::Front,
        DocumentOffer {
            has_one_sided_variant: true,
            ..
        } => Sides::BackIfAny,
        DocumentOffer { .. } => Sides::Both,
    }
}

#[cfg(test)]
mod tests {
    use reference::{country, country_by_alpha3};

    use super::*;
    use crate::flow::FlowParts;

    const EMPTY: FlowParts<'static> = FlowParts {
        default_fields: "{}",
        default_document_types: "[]",
        country_overrides: "[]",
        geo_blocked_countries: "[]",
        min_age: None,
        max_age: None,
        settings: "{}",
    };

    fn flow(parts: FlowParts<'_>) -> Flow {
        Flow::parse(&parts).expect("a Flow")
    }

    #[test]
    fn each_part_has_its_consequence() {
        use Consequence::*;
        let documents = FlowParts {
            default_document_types: r#"["ID_CARD","DRIVERS"]"#,
            ..EMPTY
        };
        let with = |fields| {
            flow(FlowParts {
                default_fields: fields,
                ..documents
            })
        };
        let bare = |min_age, fields| {
            flow(FlowParts {
                min_age,
                default_fields: fields,
                ..EMPTY
            })
        };
        for (flow, expected, absent) in [
            (
                bare(None, "{}"),
                vec![Details(vec![]), NoDocument, Attempts(3)],
                vec![Files],
            ),
            (
                bare(Some(18), "{}"),
                vec![Ages(Some(18), None), AgeUnknown],
                vec![],
            ),
            (
                bare(Some(18), r#"{"dob":true}"#),
                vec![Details(vec!["dob"]), Ages(Some(18), None)],
                vec![AgeUnknown],
            ),
            (
                with(r#"{"documentFileUpload":true}"#),
                vec![
                    Confirmed(vec![]),
                    Documents(vec![DocumentType::IdCard, DocumentType::Drivers]),
                    Selfie(Biometric::Selfie),
                    Files,
                ],
                vec![Details(vec![]), Camera, DataComparison, NoDocument],
            ),
            (
                flow(FlowParts {
                    settings: r#"{"detailsFirst":true}"#,
                    ..documents
                }),
                vec![Details(vec![])],
                vec![Confirmed(vec![])],
            ),
            (
                with(
                    r#"{"documentFileUpload":true,"documentCapture":true,"liveSelfie":true,"ocrMatch":true,"idCardBack":false,"driversBack":true}"#,
                ),
                vec![
                    Selfie(Biometric::LiveSelfie),
                    Camera,
                    DataComparison,
                    Back(DocumentType::IdCard, false),
                    Back(DocumentType::Drivers, true),
                ],
                vec![Files],
            ),
            (
                with(r#"{"liveness":true,"selfie":true}"#),
                vec![Selfie(Biometric::Liveness)],
                vec![],
            ),
            (
                flow(FlowParts {
                    settings: r#"{"reviewPolicy":"always","attemptsPerLink":1,"retentionDays":30}"#,
                    geo_blocked_countries: r#"[{"countryAlpha2":"SE"}]"#,
                    country_overrides: r#"[{"countryAlpha3":"FRA","restricted":true},{"countryAlpha3":"DEU"}]"#,
                    max_age: Some(65),
                    ..EMPTY
                }),
                vec![
                    Reviewed(ReviewPolicy::Always),
                    Attempts(1),
                    RetentionDays(30),
                    GeoBlocked(vec![
                        country("AT").expect("Austria"),
                        country("SE").expect("Sweden"),
                    ]),
                    Restricted(vec![country("FR").expect("France")]),
                    Ages(None, Some(65)),
                ],
                vec![],
            ),
        ] {
            let all = of_flow(&flow, &["AT".into(), "se".into(), "??".into()]);
            for one in expected {
                assert!(all.contains(&one), "{one:?} of {all:?}");
            }
            for one in absent {
                assert!(!all.contains(&one), "{one:?} of {all:?}");
            }
        }
    }

    #[test]
    fn countries_ask_for_the_sides_that_verification_asks_for() {
        let all = r#"["PASSPORT","DRIVERS","ID_CARD","RESIDENCY_CARD"]"#;
        let overrides = r#"[{"countryAlpha3":"FRA","restricted":true},
            {"countryAlpha3":"ITA","defaultFields":{"idCardBack":false,"liveness":true,"ssn":true},"defaultDocumentTypes":["ID_CARD"]},
            {"countryAlpha3":"ESP","defaultDocumentTypes":[]}]"#;
        let flow = flow(FlowParts {
            default_document_types: all,
            country_overrides: overrides,
            ..EMPTY
        });
        let of = |alpha3| of_country(&flow, country_by_alpha3(alpha3).expect("a country"));
        for (alpha3, document_type, expected) in [
            ("DEU", DocumentType::IdCard, Some(Sides::Both)),
            ("DEU", DocumentType::Passport, Some(Sides::Front)),
            ("DEU", DocumentType::ResidencyCard, Some(Sides::Both)),
            ("USA", DocumentType::ResidencyCard, Some(Sides::Unsupported)),
            ("ROU", DocumentType::IdCard, Some(Sides::BackIfAny)),
            ("JPN", DocumentType::IdCard, Some(Sides::Front)),
            ("HKG", DocumentType::Drivers, Some(Sides::Unsupported)),
            ("ITA", DocumentType::IdCard, Some(Sides::Front)),
            ("ITA", DocumentType::Passport, None),
        ] {
            let found = of(alpha3);
            let sides = found.documents.iter().find(|(each, _)| *each == document_type);
            assert_eq!(
                sides.map(|(_, sides)| *sides),
                expected,
                "{alpha3} {document_type}"
            );
        }
        assert_eq!(of("FRA").refused, Some(CountryRefusal::ByFlow));
        assert_eq!(of("PRK").refused, Some(CountryRefusal::ByLaw));
        assert_eq!(of("DEU").refused, None);
        assert_eq!(
            (of("ITA").biometric, of("ITA").fields),
            (Some(Biometric::Liveness), vec!["ssn"])
        );
        assert_eq!((of("ESP").biometric, of("ESP").overridden), (None, true));
        assert!(!of("DEU").overridden && of("DEU").biometric == Some(Biometric::Selfie));
    }
}
