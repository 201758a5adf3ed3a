//! Whether a barcode, or print outside the zone, proves an uncertain reading of the machine-readable zone, proves that
//! implausible data is printed so, or casts doubt on a certain reading.
//!
//! Only readings whose uncertainty is limited to names and number can be proven so ([`MrzReading::confirmable`]), and
//! only by equal values. `compare` forgives what people write into forms; this module forgives nothing: no lookalikes,
//! no other spelling, no part of a name, no part of a number.
//!
//! Names have no check digits. If print has one or two other letters, either may be misread, so nothing rests on the
//! zone.
//!
//! It never changes a reading, and never says which one is wrong.

use reference::icao::transliterate;

use crate::compare::{SourceData, fold_lookalikes, plain_number};
use crate::mrz::{DateOfZone, date_digits};
use crate::reading::{MrzReading, MrzWarning};
use crate::visual::date_digits::are_printed;

/// Shorter numbers prove nothing: they occur by chance in other print.
const MIN_NUMBER: usize = 5;
/// Shorter codes of an issuer prove nothing, for the same reason.
const MIN_CODE: usize = 3;
/// Nor do shorter family names.
const MIN_SURNAME: usize = 2;

/// Whether a barcode, or labelled fields of the visual zone, state the same names and number, and no other date of
/// birth.
pub fn by_source(mrz: &MrzReading, source: &SourceData) -> bool {
    let Some(zone) = Stated::by(mrz) else {
        return false;
    };
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    let is_contradicted = mrz
        .fields
        .birth_date
        .zip(source.birth_date)
        .is_some_and(|(zone, other)| !zone.agrees_with(&other));
    !is_contradicted
        && plain_number(&text(&source.document_number)) == zone.number
        && words(&text(&source.surname)) == zone.surname
        && words(&text(&source.given_names)) == zone.given_names
}

/// Whether lines of print state the names and the number of the zone. `printed` has the texts of single lines, without
/// those of the zone.
///
/// The family name and the given names must each end a line of their own, because print on one line does not show where
/// the family name ends. The number must be a whole word, or several that are printed apart.
pub(crate) fn by_print(mrz: &MrzReading, printed: &[&str]) -> bool {
    let Some(zone) = Stated::by(mrz) else {
        return false;
    };
    let ends_line = |name: &[String]| -> Vec<usize> {
        let ends = |text: &&str| words(text).ends_with(name);
        (0..printed.len()).filter(|&at| ends(&printed[at])).collect()
    };
    let (surnames, given_names) = (ends_line(&zone.surname), ends_line(&zone.given_names));
    let is_named = surnames.iter().any(|a| given_names.iter().any(|b| a != b));
    is_named && printed.iter().any(|text| has_number(text, &zone.number))
}

/// Whether lines of print state all data for which a certain reading is implausible: an issuer's or nationality's code
/// that ICAO does not list, or a date that does not exist. `printed` is as for [`by_print`].
///
/// It proves the reading, not the document. Other implausible data cannot be proven.
pub(crate) fn of_implausible_data(mrz: &MrzReading, printed: &[&str]) -> bool {
    let has_code = |code: &str| {
        let is_code = |word: &str| word.len() >= MIN_CODE && word == code;
        printed
            .iter()
            .any(|text| text.split(|c: char| !c.is_alphanumeric()).any(is_code))
    };
    let has_date = |date: DateOfZone| {
        date_digits(mrz, date).is_some_and(|digits| printed.iter().any(|text| are_printed(&digits, text)))
    };
    mrz.is_certain()
        && mrz.warnings.iter().all(|warning| match warning {
            MrzWarning::UnknownIssuer => has_code(&mrz.fields.issuer),
            MrzWarning::UnknownNationality => has_code(&mrz.fields.nationality),
            MrzWarning::ImplausibleBirthDate => has_date(DateOfZone::Birth),
            MrzWarning::ImplausibleExpiryDate => has_date(DateOfZone::Expiry),
            other => other.is_harmless(),
        })
}

/// Whether labelled fields of the visual zone state names or a number that differ from the zone's in one or two
/// characters. Values that differ more are another matter: a forgery, or other print.
pub fn casts_doubt(mrz: &MrzReading, visual: &SourceData) -> bool {
    let spelt = |name: &str| words(name).concat();
    let of_zone = &mrz.fields;
    let near = |zone: String, printed: Option<String>| {
        printed.is_some_and(|printed| is_nearly(&fold_lookalikes(&zone), &fold_lookalikes(&printed)))
    };
    near(spelt(&of_zone.surname), visual.surname.as_deref().map(spelt))
        || near(
            spelt(&of_zone.given_names),
            visual.given_names.as_deref().map(spelt),
        )
        || near(
            plain_number(&of_zone.document_number),
            visual.document_number.as_deref().map(plain_number),
        )
}

/// So many characters of a text may be misread.
const MISREAD: usize = 2;

/// Whether two texts of one length differ in one or two characters, and in at most half of all.
fn is_nearly(one: &str, other: &str) -> bool {
    let (length, of_other) = (one.chars().count(), other.chars().count());
    let different = one.chars().zip(other.chars()).filter(|(a, b)| a != b).count();
    length == of_other && (1..=MISREAD.min(length / 2)).contains(&different)
}

/// The names and the number of a zone that another source can prove.
struct Stated {
    surname: Vec<String>,
    given_names: Vec<String>,
    number: String,
}

impl Stated {
    fn by(mrz: &MrzReading) -> Option<Self> {
        let is_open = mrz.valid && mrz.confirmable && mrz.warnings.iter().all(|w| w.leaves_open());
        let stated = Self {
            surname: words(&mrz.fields.surname),
            given_names: words(&mrz.fields.given_names),
            number: plain_number(&mrz.fields.document_number),
        };
        let is_enough = stated.surname.concat().len() >= MIN_SURNAME
            && !stated.given_names.is_empty()
            && stated.number.len() >= MIN_NUMBER;
        (is_open && is_enough).then_some(stated)
    }
}

/// The words of a name, transliterated as in a zone (ICAO 9303-3 §6).
fn words(name: &str) -> Vec<String> {
    transliterate(name)
        .split_whitespace()
        .map(str::to_owned)
        .collect()
}

/// Whether neighbouring words of a line are together exactly the number.
fn has_number(text: &str, number: &str) -> bool {
    let words: Vec<String> = text
        .split_whitespace()
        .map(plain_number)
        .filter(|word| !word.is_empty())
        .collect();
    (0..words.len()).any(|first| (first..words.len()).any(|last| words[first..=last].concat() == number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mrz;
    use crate::reading::{MrzWarning, PartialDate, Source};

    /// An uncertain reading of the specimen in ICAO 9303-4 Appendix A.
    fn uncertain() -> MrzReading {
        let lines = [
            "P<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<<",
            "L898902C36UTO7408122F1204159ZE184226B<<<<<10",
        ];
        let mut mrz = mrz::parse(&lines).unwrap();
        mrz.accepted = false;
        mrz.confirmable = true;
        mrz.warnings = vec![MrzWarning::UncertainReading];
        mrz
    }

    #[test]
    fn print_confirms_by_equal_names_and_number() {
        for (expected, printed) in [
            (true, &["Surname Eriksson", "Anna Maria", "No. L898902C3"][..]),
            (true, &["ERIKSSON", "Given names ANNA MARIA", "L898 902 C3"]),
            // One letter of the name, or the number's end, is printed otherwise.
            (false, &["Erikssdn", "Anna Maria", "No. L898902C3"]),
            (false, &["Eriksson", "Anna Maria", "L898902C30"]),
            (false, &["Eriksson", "Anna Maria", "KL898902C3"]),
            (false, &["Eriksson", "Anna Maria", "L898902C"]),
            (false, &["Eriksson", "Anna Maria"]),
            // Names in another order, only in part, with more names, or with an unknown division.
            (false, &["Eriksson", "Maria Anna", "L898902C3"]),
            (false, &["Eriksson", "Anna", "Maria", "L898902C3"]),
            (false, &["Eriksson", "Anna Maria Eva", "L898902C3"]),
            (false, &["Eriksson Anna Maria", "L898902C3"]),
            (false, &[]),
        ] {
            assert_eq!(by_print(&uncertain(), printed), expected, "{printed:?}");
        }
    }

    #[test]
    fn a_source_confirms_by_equal_names_and_number() {
        let source = |surname: &str, given: &str, number: &str, birth: Option<&str>| SourceData {
            surname: Some(surname.into()),
            given_names: Some(given.into()),
            document_number: Some(number.into()),
            birth_date: birth.map(|date| date.parse::<PartialDate>().unwrap()),
            ..SourceData::from_fields(&std::collections::BTreeMap::new(), Source::Pdf417)
        };
        for (expected, said) in [
            (true, source("Eriksson", "Anna Maria", "L898902C3", None)),
            (
                true,
                source("ERIKSSON", "ANNA MARIA", "L 898902-C3", Some("1974-08-12")),
            ),
            (
                false,
                source("Eriksson", "Anna Maria", "L898902C3", Some("1974-08-13")),
            ),
            // `compare` counts each of these as the same.
            (false, source("Eriksson", "Anna Maria", "1898902C3", None)),
            (false, source("Ericsson", "Anna Maria", "L898902C3", None)),
            (false, source("Eriksson Jr", "Anna Maria", "L898902C3", None)),
            (false, source("Eriksson", "Anna", "L898902C3", None)),
            (false, source("", "", "L898902C3", None)),
        ] {
            assert_eq!(by_source(&uncertain(), &said), expected, "{:?}", said.surname);
        }
    }

    #[test]
    fn print_that_nearly_agrees_casts_doubt() {
        let doubted = |surname: &str, given: &str, number: &str| {
            let visual = SourceData {
                surname: Some(surname.into()),
                given_names: Some(given.into()),
                document_number: Some(number.into()),
                ..SourceData::from_fields(&std::collections::BTreeMap::new(), Source::Ocr)
            };
            casts_doubt(&uncertain(), &visual)
        };
        for (expected, surname, given, number) in [
            (false, "Eriksson", "Anna Maria", "L898902C3"),
            (true, "Ericsson", "Anna Maria", "L898902C3"),
            (true, "Eriksson", "Anma Marla", "L898902C3"),
            (true, "Eriksson", "Anna Maria", "L898902K3"),
            // What recognition confuses in print, other words, and other lengths.
            (false, "ERIKSS0N", "Anna-Maria", "L8989O2C3"),
            (false, "Morrison", "Anna Maria", "L898902C3"),
            (false, "Erikson", "Anna", "898902C3"),
        ] {
            assert_eq!(
                doubted(surname, given, number),
                expected,
                "{surname} {given} {number}"
            );
        }
        let nothing = SourceData::from_fields(&std::collections::BTreeMap::new(), Source::Ocr);
        assert!(!casts_doubt(&uncertain(), &nothing));
    }

    #[test]
    fn print_proves_implausible_data_that_it_repeats() {
        let no_day = [
            "P<CZESPECIMEN<<VZOR<<<<<<<<<<<<<<<<<<<<<<<<<",
            "99006000<8CZE1102299F16090641152291111<<<<24",
        ];
        let no_issuer = [
            "P<INPSPECIMEN<<SAMPLE<<<<<<<<<<<<<<<<<<<<<<<",
            "XX000000<0FRA7501012F19073021234567890<<<<70",
        ];
        let expired_never = [
            "P<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<<",
            "L898902C36UTO7408122F1202306ZE184226B<<<<<14",
        ];
        for (expected, lines, printed) in [
            (true, no_day, &["Vzor", "29.02.1911"][..]),
            (false, no_day, &["28.02.1911", "115229/1111"]),
            (false, no_day, &[]),
            (true, no_issuer, &["PASSPORT", "Code INP", "FRA"]),
            (false, no_issuer, &["PASSPORT", "INPUT", "FRA"]),
            (true, expired_never, &["30 FEB 12"]),
            (false, expired_never, &["28 FEB 12"]),
        ] {
            let mut mrz = mrz::parse(&lines).unwrap();
            assert!(mrz.valid && !mrz.accepted, "{lines:?}");
            assert_eq!(of_implausible_data(&mrz, printed), expected, "{printed:?}");
            // An uncertain reading is not proven by print of its dates and codes.
            mrz.warnings.push(MrzWarning::UncertainReading);
            assert!(!of_implausible_data(&mrz, printed));
        }
        let mut odd = mrz::parse(&no_issuer).unwrap();
        odd.warnings.push(MrzWarning::ImplausibleSex);
        assert!(!of_implausible_data(&odd, &["INP"]));
    }

    #[test]
    fn readings_with_more_doubts_stay_uncertain() {
        let printed = ["Eriksson", "Anna Maria", "L898902C3"];
        assert!(by_print(&uncertain(), &printed));
        for spoil in [
            (|mrz| mrz.confirmable = false) as fn(&mut MrzReading),
            |mrz| mrz.valid = false,
            |mrz| mrz.warnings.push(MrzWarning::UnknownNationality),
            |mrz| mrz.warnings.push(MrzWarning::ImplausibleSex),
            |mrz| mrz.fields.given_names.clear(),
            |mrz| mrz.fields.document_number = "L898".into(),
        ] {
            let mut mrz = uncertain();
            spoil(&mut mrz);
            assert!(!by_print(&mrz, &printed), "{mrz:?}");
        }
    }
}
