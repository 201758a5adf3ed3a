//! Renders the [`verification::consequences`] of a Flow as plain sentences.

use reference::{Country, DocumentType};
use service::webhook_address::AddressFault;
use verification::consequences::{Consequence, CountryConsequences, CountryRefusal, Sides};
use verification::flow::Biometric;
use verification::settings::ReviewPolicy;

use crate::page::Page;

/// The most countries that a sentence names; it counts the rest.
const NAMED: usize = 6;

/// A sentence about the Flow.
#[derive(Debug, PartialEq, Eq)]
pub struct Sentence {
    /// Whether the sentence is a warning.
    pub warns: bool,
    /// The text.
    pub text: String,
}

/// A consequence for every applicant, as a sentence.
pub fn sentence(page: &Page, consequence: &Consequence) -> Sentence {
    use Consequence as C;
    let warns = matches!(consequence, C::AgeUnknown);
    let t = |key: &str| page.t(&format!("flows.follows.{key}"));
    let with = |key: &str, values: &[(&str, &str)]| page.tf(&format!("flows.follows.{key}"), values);
    let with_fields = |key: &str, fields: &[&str]| {
        let names: Vec<String> = fields
            .iter()
            .map(|field| page.t(&format!("flows.field.{field}")))
            .collect();
        with(key, &[("fields", &list(page, &names, "and").to_lowercase())])
    };
    let text = match consequence {
        C::Details(fields) if fields.is_empty() => t("details.name"),
        C::Details(fields) => with_fields("details", fields),
        C::Confirmed(fields) => {
            let what = match fields.is_empty() {
                true => t("confirmed.name"),
                false => with_fields("confirmed", fields),
            };
            format!("{what} {}", t("confirmed.evidence"))
        }
        C::NoDocument => t("no_document"),
        C::Documents(types) => {
            let names: Vec<String> = types.iter().map(|each| document(page, *each)).collect();
            with("documents", &[("types", &list(page, &names, "or"))])
        }
        C::Selfie(biometric) => t(biometric_key(*biometric)),
        C::Camera => t("camera"),
        C::Files => t("files"),
        C::DataComparison => t("compared"),
        C::Back(document_type, needed) => with(
            if *needed { "back.always" } else { "back.never" },
            &[("type", &document(page, *document_type))],
        ),
        C::Ages(min, max) => {
            let (min, max) = (min.map(|age| age.to_string()), max.map(|age| age.to_string()));
            match (&min, &max) {
                (Some(min), Some(max)) => with("ages.between", &[("min", min), ("max", max)]),
                (Some(min), None) => with("ages.from", &[("min", min)]),
                (_, max) => with("ages.to", &[("max", max.as_deref().unwrap_or_default())]),
            }
        }
        C::AgeUnknown => t("age_unknown"),
        C::GeoBlocked(countries) => with("geo_blocked", &[("countries", &names(page, countries))]),
        C::Restricted(countries) => with("restricted", &[("countries", &names(page, countries))]),
        C::Reviewed(policy) => t(match policy {
            ReviewPolicy::Never => "review.never",
            ReviewPolicy::OnMatch => "review.on_match",
            ReviewPolicy::Always => "review.always",
        }),
        C::Attempts(1) => t("attempts.one"),
        C::Attempts(count) => with("attempts", &[("count", &count.to_string())]),
        C::RetentionDays(days) => with("kept", &[("days", &days.to_string())]),
    };
    Sentence { warns, text }
}

/// Why no event is ever sent to the Flow's webhook URL.
pub fn webhook_fault(page: &Page, fault: AddressFault) -> Sentence {
    Sentence {
        warns: true,
        text: page.word("webhooks.fault", fault.as_str()),
    }
}

fn biometric_key(biometric: Biometric) -> &'static str {
    match biometric {
        Biometric::Selfie => "selfie",
        Biometric::LiveSelfie => "live_selfie",
        Biometric::Liveness => "liveness",
    }
}

/// The consequences for a country's applicants, as sentences.
pub fn country_sentences(page: &Page, found: &CountryConsequences) -> Vec<Sentence> {
    let country = found.country.name;
    let with = |key: &str, values: &[(&str, &str)]| {
        let values: Vec<(&str, &str)> = values.iter().copied().chain([("country", country)]).collect();
        page.tf(&format!("flows.follows.{key}"), &values)
    };
    if let Some(refused) = found.refused {
        let text = match refused {
            CountryRefusal::ByFlow => with("country.refused.flow", &[]),
            CountryRefusal::ByLaw => with("country.refused.law", &[]),
        };
        return vec![Sentence { warns: true, text }];
    }
    if found.documents.is_empty() {
        let text = with("country.no_document", &[]);
        return vec![Sentence { warns: false, text }];
    }
    let lines = found.documents.iter().map(|(document_type, sides)| {
        let key = match sides {
            Sides::Front => "country.front",
            Sides::Both => "country.both",
            Sides::BackIfAny => "country.back_if_any",
            Sides::Unsupported => "country.unsupported",
        };
        let name = page.t(&format!("flows.a.{document_type}"));
        Sentence {
            warns: *sides == Sides::Unsupported,
            text: with(key, &[("type", &name)]),
        }
    });
    let biometric = found
        .biometric
        .filter(|_| found.overridden)
        .map(|biometric| Sentence {
            warns: false,
            text: page.t(&format!("flows.follows.{}", biometric_key(biometric))),
        });
    lines.chain(biometric).collect()
}

/// A document type's name for use inside a sentence.
pub fn document(page: &Page, document_type: DocumentType) -> String {
    page.t(&format!("flows.within.{document_type}"))
}

fn names(page: &Page, countries: &[&'static Country]) -> String {
    let mut names: Vec<String> = countries
        .iter()
        .take(NAMED)
        .map(|country| country.name.to_owned())
        .collect();
    if countries.len() > NAMED {
        names.push(page.t1("flows.follows.more", "n", countries.len() - NAMED));
    }
    list(page, &names, "and")
}

/// `a, b and c`.
pub fn list(page: &Page, items: &[String], word: &str) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => page.tf(
            &format!("flows.list.{word}"),
            &[("first", &first.join(", ")), ("last", last)],
        ),
    }
}
