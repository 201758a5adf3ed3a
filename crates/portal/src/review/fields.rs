//! Compares the submitted data with each source on a document, field by field, and marks differences.
//!
//! Names and dates that the engine compared keep its result. The other fields are compared here as plain
//! text, only for the reviewer's eyes.

use std::collections::BTreeMap;

use reference::{icao, normalise_name};
use service::attempt_detail::{DocumentMeasures, FieldComparison};
use verification::dates;
use verification::evidence::{ExpectedComparison, Source};
use verification::judge::expected::{Verdict, verdict};

/// How a cell compares with the other cells of its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// Nothing was read or submitted.
    Missing,
    /// The reference value of the row, or a value that agrees with it.
    Same,
    /// A different value.
    Differs,
}

/// A value in the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    /// The value as it was written.
    pub value: String,
    /// How it compares with the row.
    pub mark: Mark,
}

/// A field's row in the table.
#[derive(Clone, Debug)]
pub struct Row {
    /// The field's key in the texts `review.field.…`.
    pub field: &'static str,
    /// The values: submitted, machine-readable zone, visual zone, barcode.
    pub cells: [Cell; 4],
}

impl Row {
    /// Whether any cell differs.
    pub fn differs(&self) -> bool {
        self.cells.iter().any(|cell| cell.mark == Mark::Differs)
    }
}

/// Each field's name on documents and in the submission.
const FIELDS: [(&str, &str); 8] = [
    ("firstName", "firstName"),
    ("lastName", "lastName"),
    ("birthDate", "dob"),
    ("nationality", "nationality"),
    ("sex", ""),
    ("documentNumber", ""),
    ("issuer", "documentCountry"),
    ("expiryDate", ""),
];

/// The comparison table of a document. Fields without any value are omitted.
pub fn rows(
    request: &BTreeMap<String, String>,
    document: &DocumentMeasures,
    compared: &[FieldComparison],
) -> Vec<Row> {
    let row = |(field, submitted): &(&'static str, &'static str)| {
        let values = [
            self::submitted(request, submitted),
            document.mrz.get(*field).cloned(),
            document.visual.get(*field).cloned(),
            document.barcode.get(*field).cloned(),
        ];
        values.iter().any(Option::is_some).then(|| Row {
            field,
            cells: marked(field, submitted, values, compared),
        })
    };
    FIELDS.iter().filter_map(row).collect()
}

/// A row of the comparison with the expected person.
#[derive(Debug, PartialEq, Eq)]
pub struct ExpectedRow {
    /// The field's key in the texts `review.field.…`.
    pub field: &'static str,
    /// The expected value.
    pub expected: String,
    /// What the documents' parts say.
    pub found: Vec<ExpectedFinding>,
}

/// What a part of a document says of an expected value.
#[derive(Debug, PartialEq, Eq)]
pub struct ExpectedFinding {
    /// The number of the document, if there are several.
    pub document: Option<usize>,
    /// The key of the part's text.
    pub source: &'static str,
    /// The value.
    pub value: String,
    /// Whether it confirms the expected one.
    pub verdict: Verdict,
}

/// The comparison with the expected person, a row for each expected field.
pub fn expected_rows(compared: &ExpectedComparison) -> Vec<ExpectedRow> {
    let ExpectedComparison { person, documents } = compared;
    let found = |field: &str| {
        let numbered = documents.iter().enumerate();
        let of_field = numbered.flat_map(|(index, fields)| fields.iter().map(move |one| (index, one)));
        of_field
            .filter(|(_, one)| one.field == field)
            .filter_map(|(index, one)| {
                Some(ExpectedFinding {
                    document: (documents.len() > 1).then_some(index + 1),
                    source: match one.source {
                        Source::Mrz => "review.source.mrz",
                        Source::Ocr => "review.source.visual",
                        Source::Pdf417 => "review.source.barcode",
                    },
                    value: one.found.clone()?,
                    verdict: verdict(one),
                })
            })
            .collect()
    };
    let row = |field, key, expected: String| ExpectedRow {
        field: key,
        expected,
        found: found(field),
    };
    let dob = person
        .dob
        .map(|dob| row("dob", "birthDate", dates::format_iso(dob)));
    let names = [
        row("firstName", "firstName", person.first_name.clone()),
        row("lastName", "lastName", person.last_name.clone()),
    ];
    names.into_iter().chain(dob).collect()
}

/// Converts a submitted date (`MM/DD/YYYY`) to `YYYY-MM-DD`, the format of documents and lists. Other text
/// remains unchanged.
pub fn iso_date(text: &str) -> String {
    dates::parse_us(text).map_or_else(|| text.to_owned(), dates::format_iso)
}

fn submitted(request: &BTreeMap<String, String>, field: &str) -> Option<String> {
    let value = |field: &str| {
        request
            .get(field)
            .filter(|value| !value.trim().is_empty())
            .cloned()
    };
    match field {
        "firstName" => {
            let names = [value("firstName"), value("middleName")];
            let given = names.into_iter().flatten().collect::<Vec<_>>().join(" ");
            (!given.is_empty()).then_some(given)
        }
        "dob" => value("dob").map(|text| iso_date(&text)),
        _ => value(field),
    }
}

fn marked(
    field: &str,
    submitted: &str,
    values: [Option<String>; 4],
    compared: &[FieldComparison],
) -> [Cell; 4] {
    let against = values
        .iter()
        .flatten()
        .next()
        .map(|value| canonical(field, value));
    let sources = ["", "MRZ", "OCR", "PDF417"];
    let mut index = 0;
    values.map(|value| {
        let source = sources[index];
        index += 1;
        let Some(value) = value else {
            return Cell {
                value: String::new(),
                mark: Mark::Missing,
            };
        };
        // Given names are one cell here, but two fields in the engine's comparison.
        let verdicts = compared
            .iter()
            .filter(|seen| seen.source == source)
            .filter(|seen| {
                seen.field == submitted || (submitted == "firstName" && seen.field == "middleName")
            })
            .filter_map(|seen| seen.matches);
        let verdict = verdicts.reduce(|all, one| all && one);
        let agrees = verdict.unwrap_or_else(|| {
            against
                .as_deref()
                .is_none_or(|against| agree(field, against, &canonical(field, &value)))
        });
        Cell {
            mark: if agrees { Mark::Same } else { Mark::Differs },
            value,
        }
    })
}

/// The normalised form in which values are compared.
fn canonical(field: &str, value: &str) -> String {
    match field {
        "issuer" | "nationality" => icao::issuer(value)
            .and_then(|issuer| issuer.country)
            .map_or_else(|| value.to_ascii_uppercase(), |country| country.alpha3.to_owned()),
        "documentNumber" => value
            .chars()
            .filter(char::is_ascii_alphanumeric)
            .collect::<String>()
            .to_ascii_uppercase(),
        _ => normalise_name(value),
    }
}

fn agree(field: &str, one: &str, other: &str) -> bool {
    let is_date = field.ends_with("Date");
    // A partial date agrees with every date that begins like it.
    one == other || (is_date && (one.starts_with(other) || other.starts_with(one)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs
            .iter()
            .map(|(name, value)| ((*name).into(), (*value).into()))
            .collect()
    }

    fn document(mrz: &[(&str, &str)], visual: &[(&str, &str)]) -> DocumentMeasures {
        DocumentMeasures {
            document_type: "PASSPORT".into(),
            similarity: None,
            sides_agree: None,
            mrz: map(mrz),
            barcode: BTreeMap::new(),
            visual: map(visual),
        }
    }

    #[test]
    fn differences_are_marked() {
        let request = map(&[
            ("firstName", "Ada"),
            ("middleName", "Byron"),
            ("lastName", "King"),
            ("dob", "02/03/1990"),
            ("documentCountry", "DEU"),
        ]);
        let document = document(
            &[
                ("firstName", "ADA BYRON"),
                ("lastName", "QUEEN"),
                ("birthDate", "1990-02-03"),
                ("issuer", "D"),
                ("documentNumber", "C01X00T47"),
            ],
            &[
                ("lastName", "KING"),
                ("birthDate", "1990-02"),
                ("documentNumber", "C01X-00T48"),
            ],
        );
        let engine = [FieldComparison {
            field: "lastName".into(),
            source: "MRZ".into(),
            extracted: None,
            matches: Some(false),
            score: 20.0,
        }];
        let rows = rows(&request, &document, &engine);
        let marks = |field: &str| {
            rows.iter()
                .find(|row| row.field == field)
                .map(|row| row.cells.clone().map(|cell| cell.mark))
        };
        use Mark::{Differs, Missing, Same};
        for (field, expected) in [
            ("firstName", [Same, Same, Missing, Missing]),
            ("lastName", [Same, Differs, Same, Missing]),
            ("birthDate", [Same, Same, Same, Missing]),
            ("issuer", [Same, Same, Missing, Missing]),
            ("documentNumber", [Missing, Same, Differs, Missing]),
        ] {
            assert_eq!(marks(field), Some(expected), "{field}");
        }
        assert_eq!(marks("sex"), None, "nobody says anything about it");
        assert_eq!(rows[2].cells[0].value, "1990-02-03");
    }
}
