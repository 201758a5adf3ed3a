//! What a Flow's configuration means for the people that it is for: what its editor is told in plain words before it is saved.
//!
//! Pure, and derived from the same rules that verification follows; it decides nothing and refuses nothing. Texts are the portal's.

use reference::{Country, DocumentType, RESTRICTED_JURISDICTIONS};

use crate::flow::{Biometric, Configuration, Flow};
use crate::hosted::{CountryOffer, DocumentOffer, country_offer, personal_fields};
use crate::settings::ReviewPolicy;

/// One thing that follows from the configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Consequence {
    /// The applicant gives first and last name and these fields of `defaultFields`.
    Details(Vec<&'static str>),
    /// Neither a document nor a selfie is asked for.
    NoDocument,
    /// One of these documents has to be shown, and a selfie taken.
    Documents(Vec<DocumentType>),
    /// How the selfie is taken.
    Selfie(Biometric),
    /// Documents are photographed; a file is taken only where the camera does not work.
    Camera,
    /// Documents are photographed or chosen as files.
    Files,
    /// What was typed must agree with the document.
    Compared,
    /// The back of a type is asked for whatever the country (`true`), or never (`false`).
    Back(DocumentType, bool),
    /// Applicants must be this old, inclusive.
    Ages(Option<i64>, Option<i64>),
    /// Ages are bounded, but nothing tells the birth date: every attempt fails.
    AgeUnknown,
    /// Visitors from these countries cannot open links.
    GeoBlocked(Vec<&'static Country>),
    /// Residents, nationals and documents of these countries are refused.
    Restricted(Vec<&'static Country>),
    /// Which attempts a person looks at.
    Reviewed(ReviewPolicy),
    /// How often one link may be tried.
    Attempts(u32),
    /// After how many days attempts are deleted.
    Kept(u32),
    /// Live events are not sent to this kind of address.
    InsecureWebhook,
}

/// What follows for everybody. `blocked` are the account's own blocked countries (alpha-2), `live` whether real people are verified.
pub fn of_flow(flow: &Flow, webhook_url: Option<&str>, blocked: &[String], live: bool) -> Vec<Consequence> {
    let asked = &flow.defaults;
    let mut all = vec![Consequence::Details(personal_fields(asked))];
    if asked.document_types.is_empty() {
        all.push(Consequence::NoDocument);
    } else {
        all.push(Consequence::Documents(asked.document_types.clone()));
        all.push(Consequence::Selfie(asked.biometric()));
        all.push(upload(asked));
        if asked.asks("ocrMatch") {
            all.push(Consequence::Compared);
        }
        all.extend(backs(asked));
    }
    if flow.min_age.is_some() || flow.max_age.is_some() {
        all.push(Consequence::Ages(flow.min_age, flow.max_age));
        if asked.document_types.is_empty() && !asked.asks("dob") {
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
    all.extend(flow.settings.retention_days.map(Consequence::Kept));
    if live && webhook_url.is_some_and(|url| !url.starts_with("https:")) {
        all.push(Consequence::InsecureWebhook);
    }
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

/// The countries of alpha-2 codes, each once, by name; what is no code is left out.
fn countries<'a>(codes: impl Iterator<Item = &'a str>) -> Vec<&'static Country> {
    let mut found: Vec<_> = codes.filter_map(reference::country).collect();
    found.sort_unstable_by_key(|country| country.name);
    found.dedup();
    found
}

/// What follows for one country's applicants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InCountry {
    /// The country.
    pub country: &'static Country,
    /// Nobody of the country is accepted, and why.
    pub refused: Option<Refused>,
    /// The Flow has an element of its own for it.
    pub overridden: bool,
    /// The personal fields that are asked for.
    pub fields: Vec<&'static str>,
    /// How the selfie is taken, where a document is asked for.
    pub biometric: Option<Biometric>,
    /// Each accepted document and what is asked of it.
    pub documents: Vec<(DocumentType, Sides)>,
}

/// Why nobody of a country is accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// The Flow says so.
    ByFlow,
    /// The country is on the fixed list (contract §4.6).
    ByLaw,
}

/// Which sides of a document are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sides {
    /// Only the front.
    Front,
    /// Front and back.
    Both,
    /// The back too, unless the document has none: one-sided ones exist.
    BackIfAny,
    /// Such documents are not accepted: the country is not among the issuers, or they cannot be verified yet.
    Unsupported,
}

/// What follows for one country's applicants: its element over the defaults.
pub fn of_country(flow: &Flow, country: &'static Country) -> InCountry {
    let CountryOffer { fields, types, .. } = country_offer(flow, country);
    let by_law = RESTRICTED_JURISDICTIONS.contains(&country.alpha3);
    InCountry {
        country,
        refused: match flow.restricts(country.alpha3) {
            true => Some(Refused::ByFlow),
            false => by_law.then_some(Refused::ByLaw),
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
        for (flow, url, live, expected, absent) in [
            (
                bare(None, "{}"),
                None,
                true,
                vec![Details(vec![]), NoDocument, Attempts(3)],
                vec![Files],
            ),
            (
                bare(Some(18), "{}"),
                None,
                true,
                vec![Ages(Some(18), None), AgeUnknown],
                vec![],
            ),
            (
                bare(Some(18), r#"{"dob":true}"#),
                None,
                true,
                vec![Details(vec!["dob"]), Ages(Some(18), None)],
                vec![AgeUnknown],
            ),
            (
                with(r#"{"documentFileUpload":true}"#),
                Some("https://a.example"),
                true,
                vec![
                    Documents(vec![DocumentType::IdCard, DocumentType::Drivers]),
                    Selfie(Biometric::Selfie),
                    Files,
                ],
                vec![Camera, Compared, NoDocument, InsecureWebhook],
            ),
            (
                with(
                    r#"{"documentFileUpload":true,"documentCapture":true,"liveSelfie":true,"ocrMatch":true,"idCardBack":false,"driversBack":true}"#,
                ),
                Some("http://a.example"),
                true,
                vec![
                    Selfie(Biometric::LiveSelfie),
                    Camera,
                    Compared,
                    Back(DocumentType::IdCard, false),
                    Back(DocumentType::Drivers, true),
                    InsecureWebhook,
                ],
                vec![Files],
            ),
            (
                with(r#"{"liveness":true,"selfie":true}"#),
                Some("http://a.example"),
                false,
                vec![Selfie(Biometric::Liveness)],
                vec![InsecureWebhook],
            ),
            (
                flow(FlowParts {
                    settings: r#"{"reviewPolicy":"always","attemptsPerLink":1,"retentionDays":30}"#,
                    geo_blocked_countries: r#"[{"countryAlpha2":"SE"}]"#,
                    country_overrides: r#"[{"countryAlpha3":"FRA","restricted":true},{"countryAlpha3":"DEU"}]"#,
                    max_age: Some(65),
                    ..EMPTY
                }),
                None,
                true,
                vec![
                    Reviewed(ReviewPolicy::Always),
                    Attempts(1),
                    Kept(30),
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
            let all = of_flow(&flow, url, &["AT".into(), "se".into(), "??".into()], live);
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
        assert_eq!(of("FRA").refused, Some(Refused::ByFlow));
        assert_eq!(of("PRK").refused, Some(Refused::ByLaw));
        assert_eq!(of("DEU").refused, None);
        assert_eq!(
            (of("ITA").biometric, of("ITA").fields),
            (Some(Biometric::Liveness), vec!["ssn"])
        );
        assert_eq!((of("ESP").biometric, of("ESP").overridden), (None, true));
        assert!(!of("DEU").overridden && of("DEU").biometric == Some(Biometric::Selfie));
    }
}
