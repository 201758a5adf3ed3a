//! Rules about the person whom a merchant expects.

use super::names::code_of_difference;
use crate::codes::Code;
use crate::evidence::{ExpectedComparison, ExpectedField, Source};

/// Score from which a name agrees. Initials and swapped names have less: they agree with an entry that its person made
/// by hand, but they do not tell two people apart.
const NAME_SCORE: f64 = 85.0;
/// Score of a whole date that agrees.
const DATE_SCORE: f64 = 100.0;

/// What one source says of an expected value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It confirms the value.
    Agrees,
    /// It states another value.
    Differs,
    /// It states nothing, too little, or was not read with certainty.
    Unclear,
}

/// What a source says of an expected value.
pub fn verdict(one: &ExpectedField) -> Verdict {
    let enough = if one.field == "dob" {
        DATE_SCORE
    } else {
        NAME_SCORE
    };
    match one.matches {
        Some(false) => Verdict::Differs,
        Some(true) if one.is_reliable && one.score >= enough => Verdict::Agrees,
        Some(true) | None => Verdict::Unclear,
    }
}

/// Why the person is not confirmed, as the code that the comparison of entries has for it: 2502 if a zone or a barcode
/// differs, 2504 if print does, and 2503 if a field is neither confirmed nor contradicted. `None` if every document
/// confirms each field.
///
/// A zone or a barcode that agrees outweighs print, of which a part may be missing.
pub fn difference(compared: &ExpectedComparison) -> Option<Code> {
    if compared.documents.is_empty() {
        return Some(Code::OcrDataMismatch);
    }
    let has_date = compared.person.dob.is_some();
    let expected = |field: &&str| *field != "dob" || has_date;
    let of_document = |fields: &Vec<ExpectedField>| {
        let asked = ["firstName", "lastName", "dob"].into_iter().filter(expected);
        asked.filter_map(|field| difference_of(fields, field)).min()
    };
    compared.documents.iter().filter_map(of_document).min()
}

fn difference_of(fields: &[ExpectedField], field: &str) -> Option<Code> {
    let said = |is_print: bool, wanted: Verdict| {
        let of_field = fields.iter().filter(|one| one.field == field);
        of_field
            .filter(|one| (one.source == Source::Ocr) == is_print)
            .find(|one| verdict(one) == wanted)
    };
    if let Some(other) = said(false, Verdict::Differs) {
        return Some(code_of_difference(other.source));
    }
    if said(false, Verdict::Agrees).is_some() {
        return None;
    }
    if let Some(other) = said(true, Verdict::Differs) {
        return Some(code_of_difference(other.source));
    }
    match said(true, Verdict::Agrees) {
        Some(_) => None,
        None => Some(Code::OcrDataMismatch),
    }
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;
    use crate::expected::ExpectedPerson;

    #[test]
    fn only_a_confirmed_person_is_the_expected_one() {
        use Source::{Mrz, Ocr, Pdf417};
        let (yes, no) = (Some(true), Some(false));
        let field = |field: &str, source, matches, score, is_reliable| ExpectedField {
            field: field.into(),
            source,
            found: Some("x".into()),
            matches,
            score,
            is_reliable,
        };
        let said = |name: &str, source, matches| field(name, source, matches, 100.0, true);
        let names =
            |source, first, last| vec![said("firstName", source, first), said("lastName", source, last)];
        let zone = || names(Mrz, yes, yes);
        let with = |mut fields: Vec<ExpectedField>, more: Vec<ExpectedField>| {
            fields.extend(more);
            fields
        };
        let (differs, print_differs, unread) = (
            Some(Code::MrzDataMismatch),
            Some(Code::OcrFieldsMismatch),
            Some(Code::OcrDataMismatch),
        );
        // The documents' fields, whether a date is expected, and the difference.
        for (documents, with_date, expected) in [
            (vec![zone()], false, None),
            (vec![names(Ocr, yes, yes)], false, None),
            (vec![names(Mrz, no, yes)], false, differs),
            (vec![names(Pdf417, yes, no)], false, differs),
            (vec![names(Ocr, yes, no)], false, print_differs),
            // Of print, a part may be missing. It excuses no zone.
            (vec![with(zone(), names(Ocr, no, yes))], false, None),
            (
                vec![with(names(Ocr, yes, yes), names(Mrz, yes, no))],
                false,
                differs,
            ),
            // An uncertain zone confirms nothing, but may contradict.
            (
                vec![
                    zone()
                        .into_iter()
                        .map(|one| ExpectedField {
                            is_reliable: false,
                            ..one
                        })
                        .collect(),
                ],
                false,
                unread,
            ),
            (
                vec![with(
                    names(Ocr, yes, yes),
                    vec![field("lastName", Mrz, no, 20.0, false)],
                )],
                false,
                differs,
            ),
            // An initial, or swapped names.
            (
                vec![vec![
                    field("firstName", Mrz, yes, 80.0, true),
                    said("lastName", Mrz, yes),
                ]],
                false,
                unread,
            ),
            (
                vec![vec![
                    field("firstName", Mrz, yes, 85.0, true),
                    said("lastName", Mrz, yes),
                ]],
                false,
                None,
            ),
            // Nothing was read, or it is unclear.
            (vec![], false, unread),
            (vec![vec![]], false, unread),
            (vec![names(Mrz, None, yes)], false, unread),
            // Each document must confirm the person.
            (vec![zone(), zone()], false, None),
            (vec![zone(), vec![]], false, unread),
            (vec![vec![], names(Mrz, yes, no)], false, differs),
            // So must an expected date, as a whole.
            (vec![zone()], true, unread),
            (vec![with(zone(), vec![said("dob", Mrz, yes)])], true, None),
            (
                vec![with(zone(), vec![field("dob", Mrz, yes, 90.0, true)])],
                true,
                unread,
            ),
            (vec![with(zone(), vec![said("dob", Mrz, no)])], true, differs),
        ] {
            let shown = format!("{documents:?}");
            let compared = ExpectedComparison {
                person: ExpectedPerson {
                    first_name: "Ada".into(),
                    last_name: "Byron".into(),
                    dob: with_date.then_some(date(1990, 1, 31)),
                },
                documents,
            };
            assert_eq!(difference(&compared), expected, "{shown} date {with_date}");
        }
    }
}
