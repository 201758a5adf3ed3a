//! Compares submitted data with a document's data, and the two sides of a card with each other.
//!
//! Names are compared in their MRZ transliteration (ICAO 9303-3 §6). The same name is `Müller` on a form,
//! `MUELLER` in the zone and `Muller` on some keyboards.
//!
//! This module reports which fields agree and how well. It never decides what follows from that; the crate
//! `verification` does.

mod names;
mod sides;
mod values;
mod verdict;

use serde::Serialize;

use crate::reading::{PartialDate, Source};
pub(crate) use sides::differing_names;
pub use sides::{Consistency, SideComparison, compare_sides};
use values::non_empty;
pub use values::{SourceData, SubmittedData};
use verdict::{Agreement, NEAR_MATCH_SCORE};

/// The comparison of one submitted field with one source.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FieldResult {
    /// The field's name in the submission: `firstName`, `middleName`, `lastName`, `dob`, `documentNumber` or
    /// `nationality`.
    pub field: &'static str,
    /// The source.
    pub source: Source,
    /// The index of the source in the slice that was passed to [`compare`].
    #[serde(skip)]
    pub said: usize,
    /// The submitted value.
    pub submitted: String,
    /// The value that was read; `None` if the source has none.
    pub extracted: Option<String>,
    /// Whether the values agree; `None` if that is unclear.
    #[serde(rename = "match")]
    pub matches: Option<bool>,
    /// How well the values agree, 0–100.
    pub score: f64,
}

/// The comparison of all submitted fields with all sources.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// Whether something was compared and no field contradicts.
    #[serde(rename = "match")]
    pub matches: bool,
    /// The mean score of the compared fields, 0–100.
    pub match_score: f64,
    /// The results by source, and for each source by field.
    pub field_results: Vec<FieldResult>,
    /// Names of the fields with a contradiction.
    pub mismatches: Vec<String>,
    /// Remarks for the reviewer. They never contain values of fields.
    pub warnings: Vec<String>,
}

/// Compares the submitted data with each source.
///
/// A small difference in the visual zone counts as a misreading if a certain MRZ or a barcode of the same document agrees
/// with the same field.
pub fn compare(claimed: &SubmittedData, said: &[SourceData]) -> Comparison {
    let mut results: Vec<(FieldResult, Option<&'static str>)> = Vec::new();
    for (index, said) in said.iter().enumerate() {
        let mut add = |field, submitted: Option<String>, extracted: Option<String>, verdict: Agreement| {
            if let Some(submitted) = submitted {
                let verdict = if extracted.is_some() {
                    verdict
                } else {
                    Agreement {
                        matches: None,
                        score: 0.0,
                        note: None,
                    }
                };
                let Agreement { matches, score, note } = verdict;
                results.push((
                    FieldResult {
                        field,
                        source: said.source,
                        said: index,
                        submitted,
                        extracted,
                        matches,
                        score,
                    },
                    note,
                ));
            }
        };
        let names = names::compare(claimed, said);
        let all_names = || {
            non_empty(
                &[said.given_names.as_deref(), said.surname.as_deref()]
                    .map(Option::unwrap_or_default)
                    .join(" "),
            )
        };
        let given = said.given_names.clone().or_else(all_names);
        add(
            "lastName",
            claimed.last_name.clone(),
            said.surname.clone().or_else(all_names),
            names.last,
        );
        add(
            "firstName",
            claimed.first_name.clone(),
            given.clone(),
            names.first,
        );
        add(
            "middleName",
            claimed.middle_name.clone().filter(|m| non_empty(m).is_some()),
            given,
            names.middle,
        );
        let text = |date: Option<PartialDate>| date.map(|d| d.to_string());
        add(
            "dob",
            text(claimed.birth_date),
            text(said.birth_date),
            compare_dates(claimed.birth_date, said.birth_date, said.certain),
        );
        add(
            "documentNumber",
            claimed.document_number.clone(),
            said.document_number.clone(),
            compare_document_numbers(claimed.document_number.as_deref(), said),
        );
        add(
            "nationality",
            claimed.nationality.clone(),
            said.nationality.clone(),
            compare_nationalities(claimed.nationality.as_deref(), said.nationality.as_deref()),
        );
    }
    excuse_misread(&mut results, said);
    conclude(results)
}

/// Marks a small difference in the visual zone as unclear if a certain MRZ or a barcode of the same document agrees with
/// the field.
fn excuse_misread(results: &mut [(FieldResult, Option<&'static str>)], said: &[SourceData]) {
    let document = |result: &FieldResult| said[result.said].document;
    let confirmed: Vec<(&str, usize)> = results
        .iter()
        .filter(|(r, _)| r.source != Source::Ocr && r.matches == Some(true) && said[r.said].certain)
        .map(|(r, _)| (r.field, document(r)))
        .collect();
    for (result, note) in results {
        let small =
            result.source == Source::Ocr && result.matches == Some(false) && result.score >= NEAR_MATCH_SCORE;
        if small && confirmed.contains(&(result.field, document(result))) {
            result.matches = None;
            *note = Some("A field of the visual zone was not clearly legible");
        }
    }
}

fn conclude(results: Vec<(FieldResult, Option<&'static str>)>) -> Comparison {
    let mut warnings: Vec<String> = Vec::new();
    let mut mismatches: Vec<String> = Vec::new();
    let (mut sum, mut compared) = (0.0, 0.0);
    for (result, note) in &results {
        if let Some(note) = note.filter(|note| !warnings.iter().any(|w| w == note)) {
            warnings.push(note.to_owned());
        }
        if result.matches.is_some() {
            sum += result.score;
            compared += 1.0;
        }
        if result.matches == Some(false) && !mismatches.iter().any(|m| m == result.field) {
            mismatches.push(result.field.to_owned());
        }
    }
    Comparison {
        matches: compared > 0.0 && mismatches.is_empty(),
        match_score: if compared > 0.0 { sum / compared } else { 0.0 },
        field_results: results.into_iter().map(|(result, _)| result).collect(),
        mismatches,
        warnings,
    }
}

fn compare_dates(claimed: Option<PartialDate>, said: Option<PartialDate>, certain: bool) -> Agreement {
    let (Some(claimed), Some(said)) = (claimed, said) else {
        return Agreement::different(0.0);
    };
    if claimed == said {
        return Agreement::same(100.0, None);
    }
    if claimed.agrees_with(&said) {
        return Agreement::same(90.0, Some("A date is printed without its day or month"));
    }
    if !certain && said.swapped() == Some(claimed) {
        return Agreement::same(85.0, Some("Day and month of a date may be the other way round"));
    }
    let (a, b) = (claimed.to_string(), said.to_string());
    let wrong = a.bytes().zip(b.bytes()).filter(|(a, b)| a != b).count();
    Agreement::different(if a.len() == b.len() && wrong == 1 {
        NEAR_MATCH_SCORE
    } else {
        0.0
    })
}

/// The number's ASCII letters and digits, in capitals.
pub(crate) fn plain_number(number: &str) -> String {
    number
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|c| c.to_ascii_uppercase())
        .collect()
}

/// Replaces letters that look like digits by those digits.
pub(crate) fn fold_lookalikes(number: &str) -> String {
    let like = |c| match c {
        'O' | 'Q' | 'D' => '0',
        'I' | 'L' => '1',
        'Z' => '2',
        'S' => '5',
        'G' => '6',
        'B' => '8',
        c => c,
    };
    number.chars().map(like).collect()
}

fn compare_document_numbers(claimed: Option<&str>, said: &SourceData) -> Agreement {
    let (claimed, read) = (
        plain_number(claimed.unwrap_or_default()),
        plain_number(said.document_number.as_deref().unwrap_or_default()),
    );
    if claimed.is_empty() || read.is_empty() {
        return Agreement::unclear("A document number holds neither letters nor digits");
    }
    if claimed == read {
        return Agreement::same(100.0, None);
    }
    if fold_lookalikes(&claimed) == fold_lookalikes(&read) {
        return Agreement::same(
            95.0,
            Some("A document number differs in letters that look like digits"),
        );
    }
    if said
        .other_numbers
        .iter()
        .any(|other| plain_number(other) == claimed)
    {
        return Agreement::same(
            90.0,
            Some("The document number submitted is another number on the document"),
        );
    }
    Agreement::different(names::similarity(&claimed, &read))
}

fn compare_nationalities(claimed: Option<&str>, said: Option<&str>) -> Agreement {
    let country = |code: &str| {
        let code = code.trim().to_ascii_uppercase();
        reference::icao::issuer(&code)
            .and_then(|i| i.country)
            .or_else(|| reference::country(&code))
            .map(|c| c.alpha3)
    };
    match (claimed.and_then(country), said.and_then(country)) {
        (Some(a), Some(b)) if a == b => Agreement::same(100.0, None),
        (Some(_), Some(_)) => Agreement::different(0.0),
        _ => Agreement::unclear("A nationality is no country's"),
    }
}

#[cfg(test)]
#[path = "compare/tests.rs"]
mod tests;
