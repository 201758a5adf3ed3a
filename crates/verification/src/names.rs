//! The names under which an applicant is screened (`docs/decisions/0022-names-that-are-screened.md`): the
//! submitted one, those of accepted document readings, and those of earlier attempts with the same proven
//! face.
//!
//! This module collects names with their facts and combines screenings. It neither screens nor decides.

use std::collections::{HashMap, HashSet};

use jiff::civil::Date;
use reference::icao;
use serde::{Deserialize, Serialize};

use crate::dates;
use crate::evidence::{BarcodeFinding, DocumentData, DocumentEvidence, MrzFinding};
pub use crate::name_source::{FurtherName, MatchedName, NameSource};
use crate::screening::{Screening, ScreeningHit};
use crate::submission::Submission;

/// A name to screen, with the facts of the same source. Facts that the source lacks are absent, so a
/// submitted value cannot weaken a match with a name from another source.
#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ScreenedName {
    /// The name's source.
    pub source: NameSource,
    /// The full name.
    pub name: String,
    /// All given names, if the source separates them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_name: Option<String>,
    /// The family name, if the source separates it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_name: Option<String>,
    /// Other full names that the source's spelling may mean.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variants: Vec<String>,
    /// `YYYY-MM-DD`, or only its known beginning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub birth_date: Option<String>,
    /// Country of residence, alpha-3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub country: Option<String>,
    /// Nationality, alpha-3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nationality: Option<String>,
}

impl std::fmt::Debug for ScreenedName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ScreenedName({}, ..)", self.source.as_str())
    }
}

impl ScreenedName {
    /// The submitted name.
    pub fn submitted(submission: &Submission) -> Self {
        Self::of_form(|field| submission.get(field), submission.dob)
    }

    /// The name in the fields of a form.
    pub fn of_form<'a>(field: impl Fn(&'static str) -> Option<&'a str>, dob: Option<Date>) -> Self {
        let text = |name| field(name).map(str::to_owned);
        let given = joined(&[field("firstName"), field("middleName")]);
        Self {
            source: NameSource::Submitted,
            name: joined(&[Some(given.as_str()), field("lastName")]),
            first_name: Some(given),
            last_name: text("lastName"),
            variants: Vec::new(),
            birth_date: dob.map(dates::format_iso),
            country: text("country"),
            nationality: text("nationality"),
        }
    }

    /// The same name, marked as one of an earlier attempt.
    #[must_use]
    pub fn of_earlier_attempt(self) -> Self {
        Self {
            source: NameSource::Earlier,
            ..self
        }
    }

    /// The name that a document's source states; `None` if it states none.
    fn of_document(source: NameSource, data: &DocumentData) -> Option<Self> {
        let filled = |text: &Option<String>| {
            text.as_deref()
                .map(str::trim)
                .filter(|text| text.chars().any(char::is_alphabetic))
                .map(str::to_owned)
        };
        let (given, surname) = (filled(&data.given_names), filled(&data.surname));
        let name = joined(&[given.as_deref(), surname.as_deref()]);
        if name.is_empty() {
            return None;
        }
        // Some MRZs do not separate the names, and some people have only one name.
        let is_divided = given.is_some() && surname.is_some();
        let country = |code: &str| Some(icao::issuer(code)?.country?.alpha3.to_owned());
        Some(Self {
            source,
            variants: variants(&given, &surname, data.name_may_be_truncated),
            name,
            first_name: given.filter(|_| is_divided),
            last_name: surname.filter(|_| is_divided),
            birth_date: data.birth_date.clone(),
            country: None,
            nationality: data.nationality.as_deref().and_then(country),
        })
    }

    /// The key by which names are duplicates: everything but letter case, source and the division into parts.
    fn key(&self) -> Self {
        Self {
            source: NameSource::Submitted,
            name: self.name.to_lowercase(),
            first_name: None,
            last_name: None,
            ..self.clone()
        }
    }
}

/// The names in the MRZs and barcodes that the rules rely on.
pub fn of_documents(documents: &[DocumentEvidence]) -> Vec<ScreenedName> {
    documents
        .iter()
        .flat_map(|document| {
            let mrz = match &document.mrz {
                MrzFinding::Read(mrz) if mrz.valid && mrz.accepted => Some((NameSource::Mrz, &mrz.data)),
                _ => None,
            };
            let barcode = match &document.barcode {
                BarcodeFinding::Read(data) => Some((NameSource::Barcode, data)),
                _ => None,
            };
            mrz.into_iter().chain(barcode)
        })
        .filter_map(|(source, data)| ScreenedName::of_document(source, data))
        .collect()
}

/// Removes duplicates; the first of equal names remains.
pub fn distinct(names: impl IntoIterator<Item = ScreenedName>) -> Vec<ScreenedName> {
    let mut seen = HashSet::new();
    names.into_iter().filter(|name| seen.insert(name.key())).collect()
}

/// Maximum number of hits that the screening of an attempt lists. Its total counts all hits.
pub const MAX_HITS: usize = 20;

/// Combines the screenings of several names, the submitted one first. An entry found by several names appears
/// once, with its best score and all those names. The result lists at most `most` hits; its total counts all.
pub fn combine<'a>(
    screened: impl IntoIterator<Item = (&'a ScreenedName, Screening)>,
    most: usize,
) -> Screening {
    let mut combined: Option<Screening> = None;
    let mut hits: Vec<ScreeningHit> = Vec::new();
    let mut places: HashMap<(String, Vec<String>), usize> = HashMap::new();
    let mut unlisted = 0;
    for (name, screening) in screened {
        unlisted += screening.unlisted();
        let matched = screening.is_match();
        for hit in screening.results {
            let by = MatchedName {
                source: name.source,
                name: name.name.clone(),
            };
            let place = *places
                .entry((hit.id.clone(), hit.datasets.clone()))
                .or_insert(hits.len());
            match hits.get_mut(place) {
                None => hits.push(ScreeningHit {
                    matched_names: vec![by],
                    ..hit
                }),
                Some(known) => {
                    let mut matched_names = std::mem::take(&mut known.matched_names);
                    matched_names.push(by);
                    let is_match = known.matched || hit.matched;
                    if hit.score > known.score {
                        *known = hit;
                    }
                    known.matched = is_match;
                    known.matched_names = matched_names;
                }
            }
        }
        match &mut combined {
            None => {
                combined = Some(Screening {
                    results: Vec::new(),
                    matched,
                    ..screening
                });
            }
            Some(combined) => {
                combined.matched |= matched;
                combined.further_names.push(FurtherName {
                    source: name.source,
                    name: name.name.clone(),
                    query_params: screening.query_params,
                });
            }
        }
    }
    hits.sort_by(|a, b| {
        (b.matched.cmp(&a.matched))
            .then_with(|| b.score.total_cmp(&a.score))
            .then_with(|| a.id.cmp(&b.id))
    });
    let total = hits.len() + unlisted;
    hits.truncate(most);
    Screening {
        results: hits,
        total,
        ..combined.unwrap_or_default()
    }
}

fn joined(parts: &[Option<&str>]) -> String {
    let words = parts.iter().flatten().flat_map(|part| part.split_whitespace());
    words.collect::<Vec<_>>().join(" ")
}

/// Variants of a name that may be truncated, each without the words that may be incomplete. The screening
/// engine already considers the transliterations of ICAO 9303-3 §6.
fn variants(given: &Option<String>, surname: &Option<String>, may_be_truncated: bool) -> Vec<String> {
    if !may_be_truncated {
        return Vec::new();
    }
    let (given, surname) = (
        given.as_deref().unwrap_or_default(),
        surname.as_deref().unwrap_or_default(),
    );
    // Either name may have been cut. What remains must have at least two words.
    let (shorter_given, shorter_surname) = (without_last_word(given), without_last_word(surname));
    let mut variants: Vec<String> = [
        (shorter_given, surname),
        (given, shorter_surname),
        (shorter_given, shorter_surname),
    ]
    .into_iter()
    .map(|(given, surname)| joined(&[Some(given), Some(surname)]))
    .filter(|name| name.split(' ').count() >= 2)
    .collect();
    let whole = joined(&[Some(given), Some(surname)]);
    variants.sort_unstable();
    variants.dedup();
    variants.retain(|variant| *variant != whole);
    variants
}

fn without_last_word(name: &str) -> &str {
    name.trim_end()
        .rsplit_once(' ')
        .map_or("", |(before, _)| before.trim_end())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::screening::tests::hit;
    use crate::submission::tests::{live, submit};

    fn read(given: &str, surname: &str, may_be_truncated: bool) -> DocumentData {
        let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        DocumentData {
            given_names: text(given),
            surname: text(surname),
            birth_date: text("1964-02-29"),
            nationality: text("D"),
            name_may_be_truncated: may_be_truncated,
            ..DocumentData::default()
        }
    }

    #[test]
    fn a_submitted_name_carries_what_was_submitted() {
        let fields = [
            ("middleName", "Byron"),
            ("dob", "12/10/1985"),
            ("country", "GBR"),
            ("nationality", "FRA"),
        ];
        let name = ScreenedName::submitted(&submit(&fields, &[], &live()));
        assert_eq!(name.name, "Ada Byron Lovelace");
        assert_eq!(name.first_name.as_deref(), Some("Ada Byron"));
        assert_eq!(name.last_name.as_deref(), Some("Lovelace"));
        assert_eq!(name.birth_date.as_deref(), Some("1985-12-10"));
        assert_eq!(
            (name.country.as_deref(), name.nationality.as_deref()),
            (Some("GBR"), Some("FRA"))
        );
    }

    #[test]
    fn a_name_on_a_document_carries_what_the_document_states() {
        /// Given names, surname, truncated, full name, first name, last name, variants.
        type Row<'a> = (
            &'a str,
            &'a str,
            bool,
            &'a str,
            Option<&'a str>,
            Option<&'a str>,
            &'a [&'a str],
        );
        let rows: &[Row<'_>] = &[
            (
                "ADA",
                "LOVELACE",
                false,
                "ADA LOVELACE",
                Some("ADA"),
                Some("LOVELACE"),
                &[],
            ),
            // No given names (`<<<`), or every name in one run.
            (
                "",
                "ZOLTAR QUENTHABAR",
                false,
                "ZOLTAR QUENTHABAR",
                None,
                None,
                &[],
            ),
            ("ZOLTAR", "", false, "ZOLTAR", None, None, &[]),
            // Cut in the last given name, in the surname, or in both.
            (
                "ABDUL FAHI",
                "BIN TARQUIN",
                true,
                "ABDUL FAHI BIN TARQUIN",
                Some("ABDUL FAHI"),
                Some("BIN TARQUIN"),
                &["ABDUL BIN", "ABDUL BIN TARQUIN", "ABDUL FAHI BIN"],
            ),
            ("", "ZOL QUENTHAB", true, "ZOL QUENTHAB", None, None, &[]),
        ];
        for (given, surname, truncated, name, first, last, variants) in rows {
            let data = read(given, surname, *truncated);
            let found = ScreenedName::of_document(NameSource::Mrz, &data).expect("a name");
            assert_eq!(found.name, *name);
            assert_eq!(
                (found.first_name.as_deref(), found.last_name.as_deref()),
                (*first, *last)
            );
            assert_eq!(found.variants, *variants, "{name}");
            assert_eq!(found.birth_date.as_deref(), Some("1964-02-29"));
            assert_eq!(found.nationality.as_deref(), Some("DEU"));
            assert_eq!(found.country, None);
        }
        assert!(ScreenedName::of_document(NameSource::Mrz, &read("", "", false)).is_none());
        assert!(ScreenedName::of_document(NameSource::Mrz, &read(" ", "-", false)).is_none());
    }

    fn named(text: &str, source: NameSource) -> ScreenedName {
        ScreenedName {
            source,
            name: text.into(),
            first_name: None,
            last_name: None,
            variants: Vec::new(),
            birth_date: None,
            country: None,
            nationality: None,
        }
    }

    fn found(name: &str, results: Vec<ScreeningHit>, total: usize) -> Screening {
        Screening {
            matched: results.iter().any(|hit| hit.matched),
            results,
            total,
            query_params: BTreeMap::from([("name".into(), name.into())]),
            ..Screening::default()
        }
    }

    fn listed<'a>(screened: impl IntoIterator<Item = (&'a ScreenedName, Screening)>) -> Screening {
        combine(screened, MAX_HITS)
    }

    #[test]
    fn an_entry_that_two_names_found_appears_once() {
        let (typed, zone) = (
            named("Ada Quill", NameSource::Submitted),
            named("ADA QUILLE", NameSource::Mrz),
        );
        let combined = listed([
            (&typed, found("Ada Quill", vec![hit("a", &["ofac"], 0.8)], 1)),
            (
                &zone,
                found(
                    "ADA QUILLE",
                    vec![
                        hit("a", &["ofac"], 0.9),
                        hit("a", &["un"], 0.75),
                        hit("b", &["ofac"], 0.85),
                    ],
                    3,
                ),
            ),
        ]);
        let hits: Vec<_> = combined
            .results
            .iter()
            .map(|hit| {
                let names: Vec<_> = hit.matched_names.iter().map(|by| by.source.as_str()).collect();
                (hit.id.as_str(), hit.score, names)
            })
            .collect();
        assert_eq!(
            hits,
            [
                ("a", 0.9, vec!["submitted", "mrz"]),
                ("b", 0.85, vec!["mrz"]),
                ("a", 0.75, vec!["mrz"]),
            ]
        );
        assert_eq!((combined.total, combined.is_match()), (3, true));
        assert_eq!(
            combined.query_params["name"], "Ada Quill",
            "the submitted query stays"
        );
        let further: Vec<_> = combined
            .further_names
            .iter()
            .map(|name| (name.source, name.query_params["name"].as_str()))
            .collect();
        assert_eq!(further, [(NameSource::Mrz, "ADA QUILLE")]);
    }

    #[test]
    fn hits_beyond_the_listed_ones_still_count() {
        let (typed, zone) = (
            named("Ada Quill", NameSource::Submitted),
            named("A. QUILL", NameSource::Mrz),
        );
        let many = |from: usize| {
            (from..from + 15)
                .map(|n| hit(&n.to_string(), &["ofac"], 0.8))
                .collect()
        };
        let combined = listed([
            (&typed, found("Ada Quill", many(0), 15)),
            (&zone, found("A. QUILL", many(10), 30)),
        ]);
        assert_eq!((combined.results.len(), combined.total), (20, 40));
        let nothing = listed([(&typed, found("Ada Quill", vec![], 0))]);
        assert_eq!((nothing.total, nothing.is_match()), (0, false));
    }

    #[test]
    fn the_same_name_with_the_same_facts_is_screened_once() {
        let name = |text: &str, source, birth: Option<&str>| ScreenedName {
            birth_date: birth.map(str::to_owned),
            ..named(text, source)
        };
        let names = distinct([
            name("Ada Quill", NameSource::Submitted, None),
            name("ADA QUILL", NameSource::Mrz, None),
            name("Ada Quill", NameSource::Mrz, Some("1990")),
            name("ada quill", NameSource::Earlier, Some("1990")),
        ]);
        let sources: Vec<_> = names.iter().map(|name| name.source).collect();
        assert_eq!(sources, [NameSource::Submitted, NameSource::Mrz]);
    }
}
