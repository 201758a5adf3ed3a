//! Whether a number that a state gave to the holder has wrong check characters, or belongs to a person of another birth or
//! sex.
//!
//! A forger who edits a date of birth, or invents a person, seldom knows the rule of the number beside it. Numbers of
//! unknown form are never judged.

use crate::compare::{SourceData, plain_number};
use crate::fraud_signs::{FraudKind, FraudSign};
use crate::issuer_numbers::{Judgement, has_numbers_of_foreigners, judge, masked, may_be_document_number};
use crate::reading::{DocumentReading, MrzReading, PartialDate, Source, field};

/// From this confidence of the number on, the sign is raised.
const CONFIDENCE: f32 = 0.8;
/// The confidence of a zone's number, and the most of a printed one that is judged by a zone, if the zone is reliable, and
/// if it is only valid.
const OF_ZONE: [f32; 2] = [0.99, 0.5];

/// The person to whom a number should belong.
struct Holder {
    birth: Option<PartialDate>,
    sex: Option<char>,
}

impl Holder {
    fn of_zone(zone: &MrzReading) -> Self {
        Self {
            birth: zone.fields.birth_date,
            sex: zone.fields.sex,
        }
    }

    fn of_print(print: &DocumentReading) -> Self {
        let sex = print.visual.get(field::SEX);
        Self {
            birth: SourceData::from_fields(&print.visual, Source::Ocr).birth_date,
            sex: sex.and_then(|sex| sex.value.chars().next()),
        }
    }

    /// Whether a state's number is wrong, or another person's; `None` if its form is unknown.
    fn is_contradicted(&self, state: &str, number: &str) -> Option<bool> {
        Some(match judge(state, &plain_number(number))? {
            Judgement::Right(facts) => facts.contradict(self.birth, self.sex),
            Judgement::Wrong => true,
        })
    }
}

/// The signs of the numbers in a valid zone's optional data.
pub(super) fn in_zone(reading: &DocumentReading) -> Vec<FraudSign> {
    let Some(zone) = reading.mrz.as_ref().filter(|mrz| mrz.valid) else {
        return Vec::new();
    };
    let fields = &zone.fields;
    let Some(state) = &fields.issuer_country else {
        return Vec::new();
    };
    // A foreigner's document has other numbers in the same place.
    if fields.nationality_country.as_ref() != Some(state) && !has_numbers_of_foreigners(state) {
        return Vec::new();
    }
    let holder = Holder::of_zone(zone);
    let numbers = [&fields.optional_data, &fields.optional_data2];
    let contradicted = numbers
        .into_iter()
        .find(|number| holder.is_contradicted(state, number) == Some(true));
    let confidence = OF_ZONE[usize::from(!zone.is_reliable())];
    contradicted
        .map(|number| FraudSign {
            field: Some(field::PERSONAL_NUMBER.to_owned()),
            value: Some(masked(state, number)),
            ..FraudSign::of(FraudKind::Number, confidence, CONFIDENCE)
        })
        .into_iter()
        .collect()
}

/// The signs of one side's printed numbers. The state and the holder are those of the zone on the same or the other side,
/// if there is a valid one.
pub(super) fn in_print(print: &DocumentReading, data: &DocumentReading) -> Vec<FraudSign> {
    let zone = data.mrz.as_ref().filter(|mrz| mrz.valid);
    let state = match zone {
        Some(zone) => zone.fields.issuer_country.as_deref(),
        None => print
            .fields
            .get(field::ISSUER)
            .map(|issuer| issuer.value.as_str()),
    };
    let Some(state) = state else {
        return Vec::new();
    };
    let holder = zone.map_or_else(|| Holder::of_print(print), Holder::of_zone);
    let most = zone.map_or(1.0, |zone| OF_ZONE[usize::from(!zone.is_reliable())]);
    [field::PERSONAL_NUMBER, field::DOCUMENT_NUMBER]
        .into_iter()
        .filter(|name| *name == field::PERSONAL_NUMBER || may_be_document_number(state))
        .filter_map(|name| {
            let number = print.visual.get(name)?;
            holder.is_contradicted(state, &number.value)?.then(|| FraudSign {
                field: Some(name.to_owned()),
                value: Some(masked(state, &number.value)),
                bounds: number.bounds,
                ..FraudSign::of(FraudKind::Number, number.confidence.min(most), CONFIDENCE)
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mrz;
    use crate::reading::{Field, MrzWarning};

    /// A document of a state whose holder was born on 12 August 1974 and is female, with optional data in the zone.
    fn document(state: &str, nationality: &str, optional: &str) -> DocumentReading {
        let mut zone = mrz::parse(&[
            "P<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<<",
            "L898902C36UTO7408122F1204159ZE184226B<<<<<10",
        ])
        .unwrap();
        zone.fields.issuer_country = Some(state.to_owned());
        zone.fields.nationality_country = Some(nationality.to_owned());
        zone.fields.optional_data = optional.to_owned();
        DocumentReading {
            mrz: Some(zone),
            ..DocumentReading::default()
        }
    }

    #[test]
    fn a_zone_s_number_must_be_right_and_the_holder_s() {
        for (state, nationality, optional, raised) in [
            ("POL", "POL", "74081200002", None),
            // A wrong check digit, another birth, another sex.
            ("POL", "POL", "74081200003", Some(true)),
            ("POL", "POL", "74081300009", Some(true)),
            ("POL", "POL", "74081200019", Some(true)),
            // Another form, a foreigner, and a state without known numbers.
            ("POL", "POL", "ZZC003483", None),
            ("POL", "UKR", "74081200003", None),
            ("FRA", "FRA", "74081200003", None),
            ("FRA", "FRA", "", None),
            ("ESP", "MAR", "X1234567L", None),
            ("ESP", "MAR", "X1234567A", Some(true)),
            ("CZE", "CZE", "745812<0010", None),
        ] {
            let reading = document(state, nationality, optional);
            let found = in_zone(&reading);
            assert_eq!(
                found.first().map(|sign| sign.raised),
                raised,
                "{state} {optional}"
            );
            assert!(
                found
                    .iter()
                    .all(|sign| sign.field.as_deref() == Some(field::PERSONAL_NUMBER)
                        && sign.value.as_deref() == Some(optional))
            );
        }
    }

    #[test]
    fn a_zone_that_is_not_relied_on_raises_nothing() {
        let mut reading = document("POL", "POL", "74081200003");
        assert!(in_zone(&reading)[0].raised);
        reading.mrz.as_mut().unwrap().warnings = vec![MrzWarning::ImplausibleBirthDate];
        assert!(!in_zone(&reading)[0].raised);
        reading.mrz.as_mut().unwrap().warnings.clear();
        reading.mrz.as_mut().unwrap().accepted = false;
        assert!(!in_zone(&reading)[0].raised);
        reading.mrz.as_mut().unwrap().valid = false;
        assert_eq!(in_zone(&reading), []);
        assert_eq!(in_zone(&DocumentReading::default()), []);
    }

    #[test]
    fn a_printed_number_is_judged_where_it_is_the_document_s() {
        let text = |value: &str, confidence| Field {
            value: value.to_owned(),
            source: Source::Ocr,
            confidence,
            bounds: Some([1.0, 2.0, 3.0, 4.0]),
            printed: None,
        };
        let licence = "MORGA758124SM9IJ";
        for (state, number, confidence, birth, raised) in [
            ("GBR", licence, 0.95, "1974-08-12", None),
            ("GBR", licence, 0.95, "1975-08-12", Some(true)),
            ("GBR", licence, 0.6, "1975-08-12", Some(false)),
            ("ESP", "99999999-R", 0.95, "1974-08-12", None),
            ("ESP", "99999999-S", 0.95, "1974-08-12", Some(true)),
            // Poland's documents have numbers of their own.
            ("POL", "74081200003", 0.95, "1974-08-12", None),
        ] {
            let print = DocumentReading {
                fields: [(field::ISSUER.to_owned(), text(state, 0.9))].into(),
                visual: [
                    (field::DOCUMENT_NUMBER.to_owned(), text(number, confidence)),
                    (field::BIRTH_DATE.to_owned(), text(birth, 0.95)),
                    (field::SEX.to_owned(), text("F", 0.95)),
                ]
                .into(),
                ..DocumentReading::default()
            };
            let found = in_print(&print, &DocumentReading::default());
            assert_eq!(found.first().map(|sign| sign.raised), raised, "{state} {number}");
            assert!(found.iter().all(|sign| sign.bounds == Some([1.0, 2.0, 3.0, 4.0])));
            assert!(found.iter().all(|sign| sign.value.as_deref() == Some(number)));
            // The zone's holder comes first.
            let zone = document(state, state, "");
            let found = in_print(&print, &zone);
            let is_wrong = number.ends_with('S') && state == "ESP";
            assert_eq!(!found.is_empty(), is_wrong, "{state} {number}");
        }
    }
}
