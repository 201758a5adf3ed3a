//! Parses barcode payloads and selects the best value per field from all sources.
//!
//! Sources have a fixed order. A value is never combined from two sources, and sources are never compared
//! here (`compare` does that).

use std::collections::BTreeMap;

use crate::aamva::parse_aamva;
use crate::barcode::RawBarcode;
use crate::reading::{Aamva, BarcodeReading, Field, MrzReading, PartialDate, PayloadKind, Source, field};

/// Confidence of a zone's field: of an accepted zone, of one that is only valid, and of one that is neither.
const MRZ_CONFIDENCE: [f32; 3] = [0.99, 0.85, 0.5];
/// Confidence of a barcode's field: the barcode's error correction has verified it.
const BARCODE_CONFIDENCE: f32 = 0.99;

/// Merges fields by source. A valid zone comes first, then the barcode, then the visual zone; an invalid zone
/// comes last.
pub(crate) fn merge_fields(
    mrz: Option<&MrzReading>,
    card: Option<&Aamva>,
    visual: BTreeMap<String, Field>,
) -> BTreeMap<String, Field> {
    let zone = mrz.map(of_mrz).unwrap_or_default();
    let card = card.map(of_aamva).unwrap_or_default();
    let proven = mrz.is_some_and(|mrz| mrz.valid);
    let sources = if proven {
        [zone, card, visual]
    } else {
        [card, visual, zone]
    };
    let mut merged = BTreeMap::new();
    let mut has_names = false;
    for source in sources {
        // All names come from one source: a middle name from a second source could repeat part of the first
        // name.
        let names = source.contains_key(field::LAST_NAME) || source.contains_key(field::FIRST_NAME);
        for (name, value) in source {
            let is_name = matches!(
                name.as_str(),
                field::FIRST_NAME | field::MIDDLE_NAME | field::LAST_NAME
            );
            if !(is_name && has_names) {
                merged.entry(name).or_insert(value);
            }
        }
        has_names |= names;
    }
    merged
}

fn of_mrz(mrz: &MrzReading) -> BTreeMap<String, Field> {
    let confidence = match (mrz.accepted, mrz.valid) {
        (true, _) => MRZ_CONFIDENCE[0],
        (false, true) => MRZ_CONFIDENCE[1],
        (false, false) => MRZ_CONFIDENCE[2],
    };
    let zone = &mrz.fields;
    let date = |date: Option<PartialDate>| date.map(|d| d.to_string());
    let state = |country: &Option<String>, code: &str| country.clone().unwrap_or_else(|| code.to_owned());
    let (first, middle) = split_given(&zone.given_names);
    let values = [
        (field::LAST_NAME, Some(zone.surname.clone())),
        (field::FIRST_NAME, first),
        (field::MIDDLE_NAME, middle),
        (field::DOCUMENT_NUMBER, Some(zone.document_number.clone())),
        (field::BIRTH_DATE, date(zone.birth_date)),
        (field::EXPIRY_DATE, date(zone.expiry_date)),
        (field::ISSUE_DATE, date(zone.issue_date)),
        (field::SEX, zone.sex.map(String::from)),
        (
            field::NATIONALITY,
            Some(state(&zone.nationality_country, &zone.nationality)),
        ),
        (field::ISSUER, Some(state(&zone.issuer_country, &zone.issuer))),
    ];
    collected(values, Source::Mrz, confidence)
}

fn of_aamva(card: &Aamva) -> BTreeMap<String, Field> {
    let date = |date: Option<PartialDate>| date.map(|d| d.to_string());
    let middle = (!card.middle_names.is_empty()).then(|| card.middle_names.join(" "));
    let address = [
        &card.address.street,
        &card.address.street2,
        &card.address.city,
        &card.address.state,
        &card.address.postal_code,
    ];
    let address: Vec<&str> = address.into_iter().filter_map(|part| part.as_deref()).collect();
    let values = [
        (field::LAST_NAME, card.last_name.clone()),
        (field::FIRST_NAME, card.first_name.clone()),
        (field::MIDDLE_NAME, middle),
        (field::DOCUMENT_NUMBER, card.document_number.clone()),
        (field::BIRTH_DATE, date(card.birth_date)),
        (field::EXPIRY_DATE, date(card.expiry_date)),
        (field::ISSUE_DATE, date(card.issue_date)),
        (field::SEX, card.sex.map(String::from)),
        (field::ISSUER, card.country.clone()),
        (field::ADDRESS, Some(address.join(", "))),
    ];
    collected(values, Source::Pdf417, BARCODE_CONFIDENCE)
}

fn collected<const N: usize>(
    values: [(&str, Option<String>); N],
    source: Source,
    confidence: f32,
) -> BTreeMap<String, Field> {
    values
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value.filter(|v| !v.is_empty())?)))
        .map(|(name, value)| {
            (
                name,
                Field {
                    value,
                    source,
                    confidence,
                    bounds: None,
                    printed: None,
                },
            )
        })
        .collect()
}

/// Splits given names into the first one and the others.
fn split_given(names: &str) -> (Option<String>, Option<String>) {
    let mut parts = names
        .splitn(2, ' ')
        .filter(|part| !part.is_empty())
        .map(str::to_owned);
    (parts.next(), parts.next())
}

/// Parses a decoded barcode's payload as far as possible.
pub(crate) fn barcode(raw: RawBarcode) -> BarcodeReading {
    let (payload, aamva) = match parse_aamva(&raw.bytes) {
        Ok(card) => (PayloadKind::Aamva, Some(card)),
        Err(error) => (error.payload_kind(), None),
    };
    BarcodeReading {
        symbology: raw.symbology.to_owned(),
        text: raw.text,
        bytes: raw.bytes,
        payload,
        aamva,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mrz;

    const TD3: [&str; 2] = [
        "P<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<<",
        "L898902C36UTO7408122F1204159ZE184226B<<<<<10",
    ];

    fn visual(values: &[(&str, &str)]) -> BTreeMap<String, Field> {
        let field = |value: &str| Field {
            value: value.to_owned(),
            source: Source::Ocr,
            confidence: 0.8,
            bounds: None,
            printed: None,
        };
        values
            .iter()
            .map(|(name, value)| ((*name).to_owned(), field(value)))
            .collect()
    }

    #[test]
    fn a_valid_zone_comes_first_and_its_names_stand_alone() {
        let zone = mrz::parse(&TD3).unwrap();
        let merged = merge_fields(
            Some(&zone),
            None,
            visual(&[("lastName", "Other"), ("issueDate", "2002-04-15")]),
        );
        assert_eq!(merged["lastName"].value, "ERIKSSON");
        assert_eq!(
            (
                merged["firstName"].value.as_str(),
                merged["middleName"].value.as_str()
            ),
            ("ANNA", "MARIA")
        );
        assert_eq!(merged["birthDate"].value, "1974-08-12");
        assert_eq!(
            (merged["issueDate"].value.as_str(), merged["issueDate"].source),
            ("2002-04-15", Source::Ocr)
        );
    }

    #[test]
    fn a_failing_zone_comes_last() {
        let mut lines = TD3.map(str::to_owned);
        lines[1].replace_range(0..1, "K");
        let zone = mrz::parse(&lines).unwrap();
        let merged = merge_fields(Some(&zone), None, visual(&[("firstName", "Anna")]));
        assert_eq!(merged["firstName"].value, "Anna");
        assert!(!merged.contains_key("middleName"));
        assert_eq!(merged["documentNumber"].source, Source::Mrz);
        assert!(merged["documentNumber"].confidence < 0.6);
    }

    #[test]
    fn a_card_gives_its_address_in_one_line() {
        let card = Aamva {
            last_name: Some("DOE".into()),
            middle_names: vec!["A".into(), "B".into()],
            address: crate::reading::AamvaAddress {
                street: Some("1 ROAD".into()),
                city: Some("TOWN".into()),
                ..Default::default()
            },
            ..Aamva::default()
        };
        let merged = merge_fields(None, Some(&card), BTreeMap::new());
        assert_eq!(merged["address"].value, "1 ROAD, TOWN");
        assert_eq!(merged["middleName"].value, "A B");
        assert!(!merged.contains_key("birthDate"));
    }
}
