//! Submitted data held against what documents say, and the two sides of a card held against each other.
//!
//! Everything is compared as an MRZ would write it (ICAO 9303-3 §6), since the same name is `Müller` to its bearer,
//! `MUELLER` in the zone and `Muller` on a keyboard. It says what agrees and how well; what follows from that is
//! `verification`'s to decide.

mod names;
mod sides;
mod values;
mod verdict;

use serde::Serialize;

use crate::reading::{PartialDate, Source};
pub use sides::{Consistency, SideComparison, compare_sides};
use values::filled;
pub use values::{Claimed, Said};
use verdict::{NEARLY, Verdict};

/// One submitted field held against one source.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FieldResult {
    /// The submission's name of the field: `firstName`, `middleName`, `lastName`, `dob`, `documentNumber`, `nationality`.
    pub field: &'static str,
    /// The source.
    pub source: Source,
    /// The index of the source among those that were given.
    #[serde(skip)]
    pub said: usize,
    /// What was submitted.
    pub submitted: String,
    /// What was read; `None` when nothing was.
    pub extracted: Option<String>,
    /// Whether they agree; `None` when that cannot be told.
    #[serde(rename = "match")]
    pub matches: Option<bool>,
    /// How well, 0–100.
    pub score: f64,
}

/// Everything submitted held against everything read.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// Something was compared, and nothing contradicts.
    #[serde(rename = "match")]
    pub matches: bool,
    /// 0–100, the mean over what was compared.
    pub match_score: f64,
    /// Field by field, source by source.
    pub field_results: Vec<FieldResult>,
    /// Names of the fields that contradict.
    pub mismatches: Vec<String>,
    /// What a reader should know. Never holds values.
    pub warnings: Vec<String>,
}

/// Compares what was submitted with each source.
///
/// Where a certain source agrees with a field, a small difference in the visual zone counts as misread.
pub fn compare(claimed: &Claimed, said: &[Said]) -> Comparison {
    let mut results: Vec<(FieldResult, Option<&'static str>)> = Vec::new();
    for (index, said) in said.iter().enumerate() {
        let mut add = |field, submitted: Option<String>, extracted: Option<String>, verdict: Verdict| {
            if let Some(submitted) = submitted {
                let verdict = if extracted.is_some() {
                    verdict
                } else {
                    Verdict {
                        matches: None,
                        score: 0.0,
                        note: None,
                    }
                };
                let Verdict { matches, score, note } = verdict;
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
            filled(
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
            claimed.middle_name.clone().filter(|m| filled(m).is_some()),
            given,
            names.middle,
        );
        let text = |date: Option<PartialDate>| date.map(|d| d.to_string());
        add(
            "dob",
            text(claimed.birth_date),
            text(said.birth_date),
            dates(claimed.birth_date, said.birth_date, said.certain),
        );
        add(
            "documentNumber",
            claimed.document_number.clone(),
            said.document_number.clone(),
            numbers(claimed.document_number.as_deref(), said),
        );
        add(
            "nationality",
            claimed.nationality.clone(),
            said.nationality.clone(),
            nationalities(claimed.nationality.as_deref(), said.nationality.as_deref()),
        );
    }
    excuse_misread(&mut results);
    conclude(results)
}

/// Small differences in the visual zone are unclear where a certain source agrees.
fn excuse_misread(results: &mut [(FieldResult, Option<&'static str>)]) {
    let confirmed: Vec<&str> = results
        .iter()
        .filter(|(r, _)| r.source != Source::Ocr && r.matches == Some(true))
        .map(|(r, _)| r.field)
        .collect();
    for (result, note) in results {
        let small = result.source == Source::Ocr && result.matches == Some(false) && result.score >= NEARLY;
        if small && confirmed.contains(&result.field) {
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

fn dates(claimed: Option<PartialDate>, said: Option<PartialDate>, certain: bool) -> Verdict {
    let (Some(claimed), Some(said)) = (claimed, said) else {
        return Verdict::different(0.0);
    };
    if claimed == said {
        return Verdict::same(100.0, None);
    }
    if claimed.agrees_with(&said) {
        return Verdict::same(90.0, Some("A date is printed without its day or month"));
    }
    let swapped = said
        .month()
        .zip(said.day())
        .and_then(|(m, d)| PartialDate::from_ymd(said.year(), d, m));
    if !certain && swapped == Some(claimed) {
        return Verdict::same(85.0, Some("Day and month of a date may be the other way round"));
    }
    let (a, b) = (claimed.to_string(), said.to_string());
    let wrong = a.bytes().zip(b.bytes()).filter(|(a, b)| a != b).count();
    Verdict::different(if a.len() == b.len() && wrong == 1 {
        NEARLY
    } else {
        0.0
    })
}

/// Letters and digits only, capitals.
fn plain_number(number: &str) -> String {
    number
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|c| c.to_ascii_uppercase())
        .collect()
}

/// Letters that look like digits made digits.
fn look(number: &str) -> String {
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

fn numbers(claimed: Option<&str>, said: &Said) -> Verdict {
    let (claimed, read) = (
        plain_number(claimed.unwrap_or_default()),
        plain_number(said.document_number.as_deref().unwrap_or_default()),
    );
    if claimed.is_empty() || read.is_empty() {
        return Verdict::unclear("A document number holds neither letters nor digits");
    }
    if claimed == read {
        return Verdict::same(100.0, None);
    }
    if look(&claimed) == look(&read) {
        return Verdict::same(
            95.0,
            Some("A document number differs in letters that look like digits"),
        );
    }
    if said
        .other_numbers
        .iter()
        .any(|other| plain_number(other) == claimed)
    {
        return Verdict::same(
            90.0,
            Some("The document number submitted is another number on the document"),
        );
    }
    Verdict::different(names::similarity(&claimed, &read))
}

fn nationalities(claimed: Option<&str>, said: Option<&str>) -> Verdict {
    let country = |code: &str| {
        let code = code.trim().to_ascii_uppercase();
        reference::icao::issuer(&code)
            .and_then(|i| i.country)
            .or_else(|| reference::country(&code))
            .map(|c| c.alpha3)
    };
    match (claimed.and_then(country), said.and_then(country)) {
        (Some(a), Some(b)) if a == b => Verdict::same(100.0, None),
        (Some(_), Some(_)) => Verdict::different(0.0),
        _ => Verdict::unclear("A nationality is no country's"),
    }
}

#[cfg(test)]
#[path = "compare/tests.rs"]
mod tests;
