//! What was submitted beside what each source on a document says, field by field, with the differences marked. Names and dates that the
//! engine compared keep its verdict; the rest is compared as plain text here, to be looked at by a person only.

use std::collections::BTreeMap;

use reference::{icao, normalise_name};
use service::attempt_detail::{DocumentSeen, FieldSeen};
use verification::dates;

/// What a cell is beside the others of its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// Nothing was read or submitted.
    Missing,
    /// It is what the others are held against, or agrees with it.
    Same,
    /// It says something else.
    Differs,
}

/// A value in the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    /// As it was written.
    pub value: String,
    /// Beside the others.
    pub mark: Mark,
}

/// A field.
#[derive(Clone, Debug)]
pub struct Row {
    /// Its name, as in the texts `review.field.…`.
    pub field: &'static str,
    /// Submitted, machine-readable zone, visual zone, barcode.
    pub cells: [Cell; 4],
}

impl Row {
    /// Whether anything in it differs.
    pub fn differs(&self) -> bool {
        self.cells.iter().any(|cell| cell.mark == Mark::Differs)
    }
}

/// Field on documents, and the submission's name of it.
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

/// The table of a document. Fields that nobody says anything about are left out.
pub fn rows(request: &BTreeMap<String, String>, document: &DocumentSeen, compared: &[FieldSeen]) -> Vec<Row> {
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

/// A submitted date (`MM/DD/YYYY`) as documents' and lists' dates are written; what is none stays.
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

fn marked(field: &str, submitted: &str, values: [Option<String>; 4], compared: &[FieldSeen]) -> [Cell; 4] {
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
        // Given names are one cell here and two fields there.
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

/// The form in which values are held against each other.
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
    // A date of which only the beginning is known contradicts nothing that begins so.
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

    fn document(mrz: &[(&str, &str)], visual: &[(&str, &str)]) -> DocumentSeen {
        DocumentSeen {
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
        let engine = [FieldSeen {
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
