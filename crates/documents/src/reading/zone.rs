//! The machine-readable zone as read: its layout, lines, parts and what is unusual about it.
//!
//! Only types. `mrz` parses lines and decides what is accepted.

use serde::{Deserialize, Serialize};

use super::PartialDate;

/// The layouts of machine-readable zones that can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum MrzFormat {
    /// 3 × 30, cards (ICAO 9303-5).
    Td1,
    /// 2 × 36, older and larger cards (ICAO 9303-6).
    Td2,
    /// 2 × 44, passports (ICAO 9303-4).
    Td3,
    /// 2 × 44, visas (ICAO 9303-7 §4).
    MrvA,
    /// 2 × 36, visas (ICAO 9303-7 §5).
    MrvB,
    /// 2 × 36, the French national identity card of 1988–2021. Its layout is not an ICAO one and has no
    /// expiry date.
    FrId,
}

impl MrzFormat {
    /// `TD1`, `TD2`, `TD3`, `MRVA`, `MRVB` or `FRID`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Td1 => "TD1",
            Self::Td2 => "TD2",
            Self::Td3 => "TD3",
            Self::MrvA => "MRVA",
            Self::MrvB => "MRVB",
            Self::FrId => "FRID",
        }
    }
}

/// The check digits of a machine-readable zone, named after the data that they protect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum MrzCheck {
    /// The document's number.
    DocumentNumber,
    /// The date of birth.
    BirthDate,
    /// The date of expiry.
    ExpiryDate,
    /// The optional data (TD3 only).
    OptionalData,
    /// The composite digit over most of the zone.
    Composite,
}

/// A machine-readable zone as read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MrzReading {
    /// Its layout.
    pub format: MrzFormat,
    /// The lines as printed, with only repairs that check digits prove.
    pub lines: Vec<String>,
    /// Whether every check digit of the format is correct.
    pub valid: bool,
    /// Whether the zone is valid and was read with a sufficient margin or is proven by print in the same picture.
    /// What is implausible must also be printed so outside the zone.
    pub accepted: bool,
    /// The check digits that are wrong.
    pub failed_checks: Vec<MrzCheck>,
    /// The zone's parts.
    pub fields: MrzFields,
    /// Unusual properties. Each one that is not [harmless](MrzWarning::is_harmless) also prevents `accepted`, unless
    /// print in the same picture states the same.
    pub warnings: Vec<MrzWarning>,
    /// How much likelier, in nats, these lines are than the next reading that the grammar allows. `None` if
    /// the lines were given as text or no other reading was possible.
    pub margin: Option<f32>,
    /// Whether all but the names and the number was read with a sufficient margin, so that the same names and number in
    /// another source of the document prove an uncertain reading. The default is for readings of earlier versions.
    #[serde(default)]
    pub confirmable: bool,
}

impl MrzReading {
    /// Whether the check digits and the margin prove the lines, whatever they state.
    pub(crate) fn is_certain(&self) -> bool {
        self.valid && !self.warnings.contains(&MrzWarning::UncertainReading)
    }

    /// Whether all that the lines state can be true. No verdict may rest on others, even if they are printed so.
    pub fn is_plausible(&self) -> bool {
        self.warnings.iter().all(|warning| warning.leaves_open())
    }

    /// Whether signs of fraud and results may rest on it, as far as the picture alone shows.
    pub(crate) fn is_reliable(&self) -> bool {
        self.accepted && self.is_plausible()
    }

    /// Takes back the acceptance of a reading that its picture does not prove, even with print beside it.
    pub(crate) fn unaccept(&mut self) {
        self.confirmable = false;
        self.accepted = false;
        if self.is_certain() {
            self.warnings.push(MrzWarning::UncertainReading);
        }
    }
}

/// Something unusual in a machine-readable zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum MrzWarning {
    /// ICAO 9303-3 §5 does not list the issuer's code.
    UnknownIssuer,
    /// ICAO 9303-3 §5 does not list the nationality's code.
    UnknownNationality,
    /// The document code begins with a letter that the format does not allow.
    UnknownDocumentCode,
    /// The date of birth is not a date.
    ImplausibleBirthDate,
    /// The date of expiry is not a date.
    ImplausibleExpiryDate,
    /// The sex is not one of `M`, `F`, `<` and `X` (which some issuers print).
    ImplausibleSex,
    /// The name is empty, or is not made of letters separated by single fillers.
    ImplausibleName,
    /// The name reaches the last position, so its end may be missing (ICAO 9303-3 §4.7).
    NameMayBeTruncated,
    /// The picture allows more than one likely reading.
    UncertainReading,
}

impl MrzWarning {
    /// Whether a zone with it can be accepted without other print. Many long names are truncated; every other warning
    /// suggests a misreading or an unusual document.
    pub fn is_harmless(self) -> bool {
        self == Self::NameMayBeTruncated
    }

    /// Whether a reading with it is plausible, so that equal names and an equal number in another source can prove it.
    pub fn leaves_open(self) -> bool {
        self.is_harmless() || self == Self::UncertainReading
    }
}

/// The parts of a machine-readable zone, without fillers: `<` inside a name becomes a space, trailing ones
/// are removed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MrzFields {
    /// Such as `P`, `ID`, `V`.
    pub document_code: String,
    /// ICAO 9303-3 §5 code of the issuing state or organisation, as printed (`D` for Germany).
    pub issuer: String,
    /// Alpha-3 code of the issuer's country, if the issuer's code belongs to one.
    pub issuer_country: Option<String>,
    /// Primary identifier.
    pub surname: String,
    /// Secondary identifier: all given names.
    pub given_names: String,
    /// Without fillers; longer than nine characters where a card prints a long number.
    pub document_number: String,
    /// ICAO 9303-3 §5 code, as printed.
    pub nationality: String,
    /// Alpha-3 code of the nationality's country, if its code belongs to one.
    pub nationality_country: Option<String>,
    /// `None` when unknown or not a date.
    pub birth_date: Option<PartialDate>,
    /// `None` when absent or not a date.
    pub expiry_date: Option<PartialDate>,
    /// `FRID` only: year and month of issue, which are part of the document number.
    pub issue_date: Option<PartialDate>,
    /// `M`, `F`, or `X` for unspecified (`<`); `None` for anything else.
    pub sex: Option<char>,
    /// Optional data; for TD1, that of the first line.
    pub optional_data: String,
    /// TD1 only: optional data of the second line.
    pub optional_data2: String,
}
