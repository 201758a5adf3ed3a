//! The result of reading a document: plain data that the reading pipeline produces and the other crates use.
//!
//! Serialised, these types are the output of `bonafide read-document` (keys in camelCase), and a worker's answer in
//! postcard, which cannot skip a member. This module contains only data: it never decides whether a document is genuine,
//! current or the applicant's.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::fraud_signs::FraudSign;
pub use zone::{MrzCheck, MrzFields, MrzFormat, MrzReading, MrzWarning};

mod zone;

/// Everything read from one picture of one side of a document.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DocumentReading {
    /// What the picture seems to show.
    pub kind: DocumentKind,
    /// The machine-readable zone, when lines of one were found.
    pub mrz: Option<MrzReading>,
    /// Every barcode that was decoded.
    pub barcodes: Vec<BarcodeReading>,
    /// Lines of text in reading order, MRZ lines included.
    pub text: Vec<TextLine>,
    /// The best value per field over all sources; keys are the constants of [`field`].
    pub fields: BTreeMap<String, Field>,
    /// The visual zone's values. [`DocumentReading::fields`] contains them only where no better source has a
    /// value.
    pub visual: BTreeMap<String, Field>,
    /// Problems that made reading hard, each with advice for the person who takes the next picture.
    pub quality: Vec<QualityIssue>,
    /// Signs of fraud, where they were asked for. None decides about a person.
    #[serde(default)]
    pub fraud: Vec<FraudSign>,
    /// Milliseconds spent per stage.
    pub timing_ms: BTreeMap<String, f64>,
}

impl DocumentReading {
    /// The value of a field (a constant of [`field`]), if it was read.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.fields.get(name).map(|f| f.value.as_str())
    }

    /// The first barcode payload that is a driving licence's or ID card's.
    pub fn aamva(&self) -> Option<&Aamva> {
        self.barcodes.iter().find_map(|b| b.aamva.as_ref())
    }
}

/// What a picture seems to show. The first four are the document types of the contract.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum DocumentKind {
    /// A passport's data page.
    Passport,
    /// A driving licence.
    Drivers,
    /// A national identity card.
    IdCard,
    /// A residence permit.
    ResidencyCard,
    /// A visa. The contract does not accept visas.
    Visa,
    /// A document of a kind that could not be determined.
    Unknown,
    /// Nothing in the picture looks like a document.
    #[default]
    None,
}

/// Names of the keys of [`DocumentReading::fields`].
pub mod field {
    /// Given names; only the first one if the source separates them.
    pub const FIRST_NAME: &str = "firstName";
    /// Given names after the first.
    pub const MIDDLE_NAME: &str = "middleName";
    /// Family name.
    pub const LAST_NAME: &str = "lastName";
    /// Document number, without separators.
    pub const DOCUMENT_NUMBER: &str = "documentNumber";
    /// A personal number that differs from the document number.
    pub const PERSONAL_NUMBER: &str = "personalNumber";
    /// `YYYY-MM-DD`, or only the known parts: `YYYY-MM` or `YYYY`.
    pub const BIRTH_DATE: &str = "birthDate";
    /// `YYYY-MM-DD`.
    pub const EXPIRY_DATE: &str = "expiryDate";
    /// `YYYY-MM-DD`.
    pub const ISSUE_DATE: &str = "issueDate";
    /// `M`, `F` or `X`.
    pub const SEX: &str = "sex";
    /// Alpha-3 or other ICAO 9303-3 code.
    pub const NATIONALITY: &str = "nationality";
    /// Alpha-3 or other ICAO 9303-3 code of the issuing state or organisation.
    pub const ISSUER: &str = "issuer";
    /// The address in one line.
    pub const ADDRESS: &str = "address";
}

/// One value and its source.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Field {
    /// The value, in the form that [`field`] describes.
    pub value: String,
    /// The part of the document where the value was read.
    pub source: Source,
    /// 0–1.
    pub confidence: f32,
    /// Of the visual zone: x, y, width, height of the print in pixels of the upright picture.
    #[serde(rename = "box", default)]
    pub bounds: Option<[f32; 4]>,
    /// Of the visual zone: the print, where it is not the value.
    #[serde(default)]
    pub printed: Option<String>,
}

/// Where on a document a value was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Source {
    /// The machine-readable zone.
    #[serde(rename = "MRZ")]
    Mrz,
    /// A PDF417 barcode.
    #[serde(rename = "PDF417")]
    Pdf417,
    /// The visual zone, by optical character recognition.
    #[serde(rename = "OCR")]
    Ocr,
}

impl Source {
    /// `MRZ`, `PDF417` or `OCR`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Mrz => "MRZ",
            Self::Pdf417 => "PDF417",
            Self::Ocr => "OCR",
        }
    }
}

/// One line of text in the picture.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TextLine {
    /// The recognised text.
    pub text: String,
    /// x, y, width, height in pixels of the upright picture.
    #[serde(rename = "box")]
    pub bounds: [f32; 4],
    /// 0–1.
    pub confidence: f32,
}

/// Something that made reading hard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QualityIssue {
    /// Stable code in snake case, such as `blurred`, `glare`, `too_small`.
    pub code: String,
    /// What the person can do about it, in plain words.
    pub advice: String,
}

/// A date whose month and day may be unknown, as ICAO 9303-3 §4.8 allows for dates of birth.
///
/// It is written `YYYY`, `YYYY-MM` or `YYYY-MM-DD`. The known parts always form a real date.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PartialDate {
    year: i16,
    month: Option<u8>,
    day: Option<u8>,
}

impl PartialDate {
    /// Creates a date from its known parts. Returns `None` if they form no real date or a day has no month.
    pub fn new(year: i16, month: Option<u8>, day: Option<u8>) -> Option<Self> {
        if !(1..=9999).contains(&year) || (month.is_none() && day.is_some()) {
            return None;
        }
        // A missing part is checked as 1, because every year has a January and every month a first day.
        let probe = |part: Option<u8>| part.map_or(Some(1), |p| i8::try_from(p).ok());
        jiff::civil::Date::new(year, probe(month)?, probe(day)?).ok()?;
        Some(Self { year, month, day })
    }

    /// Creates a date whose parts are all known.
    pub fn from_ymd(year: i16, month: u8, day: u8) -> Option<Self> {
        Self::new(year, Some(month), Some(day))
    }

    /// The year.
    pub fn year(&self) -> i16 {
        self.year
    }

    /// The month, 1–12.
    pub fn month(&self) -> Option<u8> {
        self.month
    }

    /// The day of the month, 1–31.
    pub fn day(&self) -> Option<u8> {
        self.day
    }

    /// The calendar day, when all parts are known.
    pub fn to_date(&self) -> Option<jiff::civil::Date> {
        let (month, day) = (i8::try_from(self.month?).ok()?, i8::try_from(self.day?).ok()?);
        jiff::civil::Date::new(self.year, month, day).ok()
    }

    /// The date with day and month the other way round; `None` if that is no date.
    pub fn swapped(&self) -> Option<Self> {
        Self::from_ymd(self.year, self.day?, self.month?)
    }

    /// The same day a century earlier; `None` if there was none.
    pub fn century_earlier(&self) -> Option<Self> {
        Self::new(self.year - 100, self.month, self.day)
    }

    /// Whether the known parts of both dates are equal. Two dates with different years never agree.
    pub fn agrees_with(&self, other: &Self) -> bool {
        let agree = |a: Option<u8>, b: Option<u8>| a.is_none() || b.is_none() || a == b;
        self.year == other.year && agree(self.month, other.month) && agree(self.day, other.day)
    }
}

impl fmt::Display for PartialDate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}", self.year)?;
        if let Some(month) = self.month {
            write!(f, "-{month:02}")?;
        }
        if let Some(day) = self.day {
            write!(f, "-{day:02}")?;
        }
        Ok(())
    }
}

/// The text is not `YYYY`, `YYYY-MM` or `YYYY-MM-DD`, or is no real date.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a date of the form YYYY-MM-DD")]
pub struct DateError;

impl FromStr for PartialDate {
    type Err = DateError;

    fn from_str(text: &str) -> Result<Self, DateError> {
        let mut parts = text.split('-');
        let mut part = |width: usize| -> Result<Option<i16>, DateError> {
            let Some(digits) = parts.next() else {
                return Ok(None);
            };
            if digits.len() != width || !digits.bytes().all(|b| b.is_ascii_digit()) {
                return Err(DateError);
            }
            digits.parse().map(Some).map_err(|_| DateError)
        };
        let (year, month, day) = (part(4)?.ok_or(DateError)?, part(2)?, part(2)?);
        let small = |n: Option<i16>| n.and_then(|n| u8::try_from(n).ok());
        match parts.next() {
            None => Self::new(year, small(month), small(day)).ok_or(DateError),
            Some(_) => Err(DateError),
        }
    }
}

impl Serialize for PartialDate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for PartialDate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

/// A decoded barcode.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BarcodeReading {
    /// Such as `PDF417`.
    pub symbology: String,
    /// The payload as text.
    pub text: String,
    /// The payload's bytes.
    #[serde(skip)]
    pub bytes: Vec<u8>,
    /// The kind of payload.
    pub payload: PayloadKind,
    /// The card's data, if the payload follows the AAMVA standard.
    pub aamva: Option<Aamva>,
}

/// The kind of a barcode's payload.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PayloadKind {
    /// A payload of the AAMVA standard that was parsed.
    Aamva,
    /// A payload with an AAMVA header whose data is incomplete or wrong.
    Damaged,
    /// Another payload: South Africa and Argentina, among others, use their own formats.
    #[default]
    Unknown,
}

/// The barcode data of a North American driving licence or ID card (AAMVA DL/ID Card Design Standard, annex
/// D).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Aamva {
    /// Version of the standard, 0 for cards older than it; `None` when the header is unreadable.
    pub version: Option<u8>,
    /// Issuer identification number, six digits; `None` when the header is unreadable.
    pub iin: Option<String>,
    /// State or province, two letters.
    pub jurisdiction: Option<String>,
    /// Alpha-3.
    pub country: Option<String>,
    /// `DL` (licence), `ID` (card) or `EN` (enhanced).
    pub subfile: Option<String>,
    /// Every element by its three-letter identifier, as written, without surrounding blanks.
    pub elements: BTreeMap<String, String>,
    /// Family name.
    pub last_name: Option<String>,
    /// First given name.
    pub first_name: Option<String>,
    /// Given names after the first.
    pub middle_names: Vec<String>,
    /// Such as `JR`.
    pub name_suffix: Option<String>,
    /// Date of birth.
    pub birth_date: Option<PartialDate>,
    /// Date of expiry.
    pub expiry_date: Option<PartialDate>,
    /// Date of issue.
    pub issue_date: Option<PartialDate>,
    /// `M`, `F` or `X`.
    pub sex: Option<char>,
    /// Centimetres.
    pub height_cm: Option<u16>,
    /// Customer number (DAQ).
    pub document_number: Option<String>,
    /// The address of the card's holder.
    pub address: AamvaAddress,
    /// Which of `lastName`, `firstName`, `middleNames` the issuer marked as truncated.
    pub truncated: Vec<String>,
}

/// An address on a North American card.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AamvaAddress {
    /// First line.
    pub street: Option<String>,
    /// Second line.
    pub street2: Option<String>,
    /// Town.
    pub city: Option<String>,
    /// State or province, two letters.
    pub state: Option<String>,
    /// Postal code, without blanks or an empty extension.
    pub postal_code: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partial_dates_hold_only_real_dates() {
        let rows: &[(&str, Option<&str>)] = &[
            ("1974-08-12", Some("1974-08-12")),
            ("1974-08", Some("1974-08")),
            ("1974", Some("1974")),
            ("2024-02-29", Some("2024-02-29")),
            ("2023-02-29", None),
            ("1974-13", None),
            ("1974-00", None),
            ("1974-8-12", None),
            ("1974-08-12-01", None),
            ("+974", None),
            ("0000", None),
            ("", None),
        ];
        for (text, expected) in rows {
            let parsed = text.parse::<PartialDate>().ok().map(|d| d.to_string());
            assert_eq!(parsed.as_deref(), *expected, "{text}");
        }
        assert_eq!(PartialDate::new(1974, None, Some(3)), None);
    }

    #[test]
    fn a_reading_is_written_with_the_keys_of_the_command_line() {
        let reading = DocumentReading::default();
        let json = serde_json::to_value(&reading).unwrap();
        let keys: Vec<&String> = json.as_object().unwrap().keys().collect();
        assert_eq!(
            keys,
            [
                "kind", "mrz", "barcodes", "text", "fields", "visual", "quality", "fraud", "timingMs"
            ]
        );
        assert_eq!(
            serde_json::to_string(&MrzCheck::DocumentNumber).unwrap(),
            "\"documentNumber\""
        );
        for format in [
            MrzFormat::Td1,
            MrzFormat::Td2,
            MrzFormat::Td3,
            MrzFormat::MrvA,
            MrzFormat::MrvB,
            MrzFormat::FrId,
        ] {
            assert_eq!(
                serde_json::to_string(&format).unwrap(),
                format!("\"{}\"", format.as_str())
            );
        }
        let back: DocumentReading = serde_json::from_value(json).unwrap();
        assert_eq!(back, reading);
    }
}
