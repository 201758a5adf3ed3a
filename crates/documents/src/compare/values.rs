//! The inputs of a comparison: the submitted data, and the data of one source on a document.
//!
//! This module never compares them.

use std::collections::BTreeMap;

use crate::reading::{Aamva, Field, MrzReading, MrzWarning, PartialDate, Source, field};

/// The data that a person submitted. A field that is `None` is not compared.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct SubmittedData {
    /// First name.
    pub first_name: Option<String>,
    /// Middle names.
    pub middle_name: Option<String>,
    /// Family name.
    pub last_name: Option<String>,
    /// Date of birth.
    pub birth_date: Option<PartialDate>,
    /// Number of the document.
    pub document_number: Option<String>,
    /// Alpha-3.
    pub nationality: Option<String>,
}

/// The data of one source on a document. A field that is `None` was not read.
#[derive(Clone, PartialEq)]
pub struct SourceData {
    /// The part of the document where the data was read.
    pub source: Source,
    /// Whether single characters are reliable: true for a valid zone and a barcode, false for the visual
    /// zone.
    pub certain: bool,
    /// The index of its document, where those of several are compared.
    pub document: usize,
    /// Family name.
    pub surname: Option<String>,
    /// Every given name.
    pub given_names: Option<String>,
    /// Whether a name may be truncated.
    pub truncated: bool,
    /// Date of birth.
    pub birth_date: Option<PartialDate>,
    /// Date of expiry.
    pub expiry_date: Option<PartialDate>,
    /// Date of issue.
    pub issue_date: Option<PartialDate>,
    /// Number of the document.
    pub document_number: Option<String>,
    /// Other numbers on the document. Recognition or the applicant may confuse them with the document number.
    pub other_numbers: Vec<String>,
    /// Alpha-3 or a code of ICAO 9303-3 §5.
    pub nationality: Option<String>,
}

/// The text without surrounding blanks, or `None` if it is empty.
pub(super) fn non_empty(text: &str) -> Option<String> {
    (!text.trim().is_empty()).then(|| text.trim().to_owned())
}

impl From<&MrzReading> for SourceData {
    fn from(mrz: &MrzReading) -> Self {
        let fields = &mrz.fields;
        let nationality = fields
            .nationality_country
            .as_deref()
            .unwrap_or(&fields.nationality);
        Self {
            source: Source::Mrz,
            certain: mrz.valid,
            document: 0,
            surname: non_empty(&fields.surname),
            given_names: non_empty(&fields.given_names),
            truncated: mrz.warnings.contains(&MrzWarning::NameMayBeTruncated),
            birth_date: fields.birth_date,
            expiry_date: fields.expiry_date,
            issue_date: fields.issue_date,
            document_number: non_empty(&fields.document_number),
            other_numbers: [&fields.optional_data, &fields.optional_data2]
                .into_iter()
                .filter_map(|n| non_empty(n))
                .collect(),
            nationality: non_empty(nationality),
        }
    }
}

impl From<&Aamva> for SourceData {
    fn from(card: &Aamva) -> Self {
        let given: Vec<&str> = card
            .first_name
            .iter()
            .chain(&card.middle_names)
            .map(String::as_str)
            .collect();
        let others = ["DCF", "DCK"]
            .iter()
            .filter_map(|id| card.elements.get(*id))
            .filter_map(|n| non_empty(n));
        Self {
            source: Source::Pdf417,
            certain: true,
            document: 0,
            surname: card.last_name.clone(),
            given_names: non_empty(&given.join(" ")),
            truncated: !card.truncated.is_empty(),
            birth_date: card.birth_date,
            expiry_date: card.expiry_date,
            issue_date: card.issue_date,
            document_number: card.document_number.clone(),
            other_numbers: others.collect(),
            nationality: None,
        }
    }
}

impl SourceData {
    /// The data of one source, from merged or visual-zone fields. Fields of other sources are ignored.
    pub fn from_fields(fields: &BTreeMap<String, Field>, source: Source) -> Self {
        let value = |name: &str| {
            fields
                .get(name)
                .filter(|f| f.source == source)
                .and_then(|f| non_empty(&f.value))
        };
        let date = |name: &str| value(name).and_then(|v| v.parse().ok());
        let given = [value(field::FIRST_NAME), value(field::MIDDLE_NAME)]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>();
        Self {
            source,
            certain: source != Source::Ocr,
            document: 0,
            surname: value(field::LAST_NAME),
            given_names: non_empty(&given.join(" ")),
            truncated: false,
            birth_date: date(field::BIRTH_DATE),
            expiry_date: date(field::EXPIRY_DATE),
            issue_date: date(field::ISSUE_DATE),
            document_number: value(field::DOCUMENT_NUMBER),
            other_numbers: value(field::PERSONAL_NUMBER).into_iter().collect(),
            nationality: value(field::NATIONALITY),
        }
    }
}
