//! Whether print contradicts the machine-readable zone or the barcode of the document, on the same or the other side.
//!
//! A forger who edits print seldom changes the data for machines too. Only values of which both sources are certain are
//! compared: a zone whose check digits are right (for names: an accepted one), and print that was read with high
//! confidence. What recognition confuses is no contradiction.

use crate::compare::{SourceData, differing_names, fold_lookalikes, plain_number};
use crate::fraud_signs::{FraudKind, FraudSign};
use crate::issuer_numbers::masked;
use crate::reading::{DocumentReading, PartialDate, Source, field};

/// From this confidence of the print on, the sign is raised.
const CONFIDENCE: f32 = 0.8;
/// Shorter numbers may be part of another one.
const LEAST_NUMBER: usize = 5;

pub(super) fn find(printed: &DocumentReading, data: &DocumentReading) -> Vec<FraudSign> {
    let print = SourceData::from_fields(&printed.visual, Source::Ocr);
    let zone = data.mrz.as_ref().filter(|mrz| mrz.valid);
    let sources = zone
        .map(|mrz| (SourceData::from(mrz), mrz.is_reliable()))
        .into_iter()
        .chain(data.aamva().map(|card| (SourceData::from(card), true)));
    let mut fields: Vec<(&str, Option<String>)> = sources
        .flat_map(|(data, is_certain)| {
            let fields = contradicted(&print, &data, is_certain);
            fields.into_iter().map(move |name| (name, stated(&data, name)))
        })
        .collect();
    fields.sort_by_key(|(name, _)| *name);
    fields.dedup_by_key(|(name, _)| *name);
    let state = zone.and_then(|mrz| mrz.fields.issuer_country.as_deref());
    let shown = |value: &str| state.map_or_else(|| value.to_owned(), |state| masked(state, value));
    let sign = |(name, expected): (&str, Option<String>)| {
        let field = printed.visual.get(name)?;
        Some(FraudSign {
            field: Some(name.to_owned()),
            value: Some(shown(&field.value)),
            expected: expected.as_deref().map(shown),
            bounds: field.bounds,
            ..FraudSign::of(FraudKind::Contradiction, field.confidence, CONFIDENCE)
        })
    };
    fields.into_iter().filter_map(sign).collect()
}

/// What the data state as a field that [`contradicted`] compares.
fn stated(data: &SourceData, name: &str) -> Option<String> {
    let date = |date: Option<PartialDate>| date.map(|date| date.to_string());
    match name {
        field::LAST_NAME => data.surname.clone(),
        field::FIRST_NAME => data.given_names.clone(),
        field::BIRTH_DATE => date(data.birth_date),
        field::EXPIRY_DATE => date(data.expiry_date),
        field::ISSUE_DATE => date(data.issue_date),
        field::DOCUMENT_NUMBER => data.document_number.clone(),
        _ => None,
    }
}

/// The fields whose print is another value than the data's. Fields whose print has many forms are not compared.
fn contradicted(print: &SourceData, data: &SourceData, is_certain: bool) -> Vec<&'static str> {
    let mut fields = if is_certain {
        differing_names(print, data)
    } else {
        Vec::new()
    };
    // A zone has two digits of a year, so its holder may be older than it seems.
    let of_zone = data.birth_date.filter(|_| data.source == Source::Mrz);
    let earlier = of_zone.and_then(|date| date.century_earlier());
    let known = [data.birth_date, data.expiry_date, data.issue_date, earlier];
    for (name, printed, wanted) in [
        (field::BIRTH_DATE, print.birth_date, data.birth_date),
        (field::EXPIRY_DATE, print.expiry_date, data.expiry_date),
        (field::ISSUE_DATE, print.issue_date, data.issue_date),
    ] {
        if is_other_date(printed, wanted, &known) {
            fields.push(name);
        }
    }
    if is_other_number(print, data) {
        fields.push(field::DOCUMENT_NUMBER);
    }
    fields
}

/// Whether a printed date is none of the data's dates, in either order of day and month.
fn is_other_date(
    printed: Option<PartialDate>,
    wanted: Option<PartialDate>,
    known: &[Option<PartialDate>],
) -> bool {
    let (Some(printed), Some(wanted)) = (printed, wanted) else {
        return false;
    };
    !printed.swapped().is_some_and(|date| date.agrees_with(&wanted))
        && !known.iter().flatten().any(|date| date.agrees_with(&printed))
}

/// Whether a printed number is none of the data's numbers, nor part of one.
fn is_other_number(print: &SourceData, data: &SourceData) -> bool {
    let folded = |number: &str| fold_lookalikes(&plain_number(number));
    let is_long = |number: &String| number.len() >= LEAST_NUMBER;
    let printed = print.document_number.as_deref().map(folded).filter(is_long);
    let wanted = data.document_number.as_deref().map(folded).filter(is_long);
    let (Some(printed), Some(wanted)) = (printed, wanted) else {
        return false;
    };
    let others = data.other_numbers.iter().map(|other| folded(other));
    let known: Vec<String> = [wanted].into_iter().chain(others).filter(is_long).collect();
    known
        .iter()
        .all(|number| !number.contains(&printed) && !printed.contains(number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mrz;
    use crate::reading::{Field, Source};

    /// The specimen in ICAO 9303-4 Appendix A, with print beside it.
    fn specimen(is_accepted: bool, printed: &[(&str, &str, f32)]) -> DocumentReading {
        let mut zone = mrz::parse(&[
            "P<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<<",
            "L898902C36UTO7408122F1204159ZE184226B<<<<<10",
        ])
        .unwrap();
        zone.accepted = is_accepted;
        let field = |&(name, value, confidence): &(&str, &str, f32)| {
            let field = Field {
                value: value.to_owned(),
                source: Source::Ocr,
                confidence,
                bounds: Some([1.0, 2.0, 3.0, 4.0]),
                printed: None,
            };
            (name.to_owned(), field)
        };
        DocumentReading {
            mrz: Some(zone),
            visual: printed.iter().map(field).collect(),
            ..DocumentReading::default()
        }
    }

    #[test]
    fn a_birth_a_century_before_the_zone_s_is_no_contradiction() {
        for (printed, contradicts) in [("1974-08-12", false), ("1874-08-12", false), ("1875-08-12", true)] {
            let reading = specimen(true, &[(field::BIRTH_DATE, printed, 0.95)]);
            assert_eq!(!find(&reading, &reading).is_empty(), contradicts, "{printed}");
        }
    }

    #[test]
    fn print_contradicts_only_where_both_are_certain() {
        let cases: [(&str, &str, f32, bool, Option<bool>); 20] = [
            // field, print, confidence, whether the zone is accepted; whether the sign is raised, if there is one
            ("birthDate", "1974-08-12", 0.99, true, None),
            ("birthDate", "1971-08-12", 0.99, true, Some(true)),
            ("birthDate", "1971-08-12", 0.99, false, Some(true)),
            ("birthDate", "1971-08-12", 0.5, true, Some(false)),
            ("birthDate", "1974-12-08", 0.99, true, None),
            ("birthDate", "1974", 0.99, true, None),
            // A date that stands in another place of the zone was read under the wrong label.
            ("birthDate", "2012-04-15", 0.99, true, None),
            ("expiryDate", "2019-04-15", 0.99, true, Some(true)),
            // The zone states no date of issue.
            ("issueDate", "2002-04-15", 0.99, true, None),
            ("lastName", "Eriksson", 0.99, true, None),
            ("lastName", "Eriksen", 0.99, true, None),
            ("lastName", "Morrow", 0.99, true, Some(true)),
            // No check digit protects names.
            ("lastName", "Morrow", 0.99, false, None),
            ("firstName", "Anna", 0.99, true, None),
            ("firstName", "Peter", 0.99, true, Some(true)),
            ("documentNumber", "L898902C3", 0.99, true, None),
            ("documentNumber", "L8989O2C3", 0.99, true, None),
            ("documentNumber", "ZE184226B", 0.99, true, None),
            ("documentNumber", "L898402C3", 0.99, true, Some(true)),
            ("nationality", "DEU", 0.99, true, None),
        ];
        for (name, value, confidence, is_accepted, expected) in cases {
            let reading = specimen(is_accepted, &[(name, value, confidence)]);
            let found = find(&reading, &reading);
            let raised = found.first().map(|sign| sign.raised);
            assert_eq!(raised, expected, "{name} {value} {confidence} {is_accepted}");
            for sign in found {
                assert_eq!(sign.field.as_deref(), Some(name));
                assert_eq!(sign.value.as_deref(), Some(value));
                let of_zone = match name {
                    "birthDate" => "1974-08-12",
                    "expiryDate" => "2012-04-15",
                    "lastName" => "ERIKSSON",
                    "firstName" => "ANNA MARIA",
                    _ => "L898902C3",
                };
                assert_eq!(sign.expected.as_deref(), Some(of_zone));
                assert_eq!(
                    (sign.measure, sign.bounds),
                    (confidence, Some([1.0, 2.0, 3.0, 4.0]))
                );
            }
        }
    }

    #[test]
    fn an_aadhaar_number_beside_another_is_masked() {
        let mut reading = specimen(true, &[("documentNumber", "2341 2341 2346", 0.99)]);
        reading.mrz.as_mut().unwrap().fields.issuer_country = Some("IND".into());
        let found = find(&reading, &reading);
        assert_eq!(found[0].value.as_deref(), Some("XXXXXXXX2346"));
        assert_eq!(found[0].expected.as_deref(), Some("L898902C3"));
    }

    #[test]
    fn wrong_check_digits_prove_nothing() {
        let mut reading = specimen(true, &[("birthDate", "1971-08-12", 0.99)]);
        reading.mrz.as_mut().unwrap().valid = false;
        assert_eq!(find(&reading, &reading), []);
        reading.mrz = None;
        assert_eq!(find(&reading, &reading), []);
    }

    #[test]
    fn a_front_is_compared_with_its_back() {
        let front = DocumentReading {
            mrz: None,
            ..specimen(true, &[("birthDate", "1971-08-12", 0.99)])
        };
        let back = specimen(true, &[]);
        let fields = |signs: Vec<FraudSign>| {
            signs
                .into_iter()
                .filter_map(|sign| sign.field)
                .collect::<Vec<_>>()
        };
        assert_eq!(fields(find(&front, &back)), ["birthDate"]);
        assert_eq!(find(&back, &front), []);
    }
}
