//! The table of all specimens: each one's holder and fault.

use super::person::{Date, Person};

/// The invented holders, as surname, given names, document number and date of birth. A holder's index is also
/// the index of the sitter with the holder's face.
///
/// The numbers avoid digits that recognition confuses with letters (0, 1, 2, 5, 8). Days are after the
/// twelfth where a licence prints the date in figures, month first.
const PEOPLE: [(&str, &str, &str, Date); 21] = [
    ("Velloway", "Tamsin Iris", "UTA776763", day(1991, 3, 14)),
    ("Pendrake", "Isaura", "UTC463469", day(1988, 11, 22)),
    ("Quillfeather", "Noemi", "UTD763776", day(1994, 7, 23)),
    ("Ashgrove", "Linnea Mae", "UTE444344", day(1990, 1, 30)),
    ("Merrowick", "Odile", "UTF446949", day(1986, 5, 19)),
    ("Larkhurst", "Bettina", "UTH734496", day(1989, 9, 18)),
    ("Thornbury", "Cosima Jane", "UTJ774967", day(1993, 12, 12)),
    ("Fairwether", "Delphine", "UTK366636", day(1987, 4, 27)),
    ("Saltmarsh", "Elodie", "UTL749739", day(1992, 8, 5)),
    ("Wintergale", "Rosalba", "UTM637333", day(1984, 2, 17)),
    ("Hollowell", "Imelda Ruth", "UTN997633", day(1985, 6, 21)),
    ("Brightmere", "Saskia", "UTP796749", day(1995, 10, 11)),
    ("Dovecote", "Marguerite", "UTR733644", day(1990, 3, 3)),
    ("Nightingale", "Paloma", "UTT946637", day(1991, 7, 16)),
    ("Copperfield", "Yolanda", "UTU943737", day(1988, 12, 24)),
    ("Elderberry", "Winifred", "UTV694499", day(1993, 5, 29)),
    ("Foxglove", "Henrietta", "UTW349974", day(1992, 1, 28)),
    ("Goldcrest", "Amabel", "UTX644699", day(1989, 9, 19)),
    ("Harebell", "Clementine", "UTY699999", day(1994, 4, 6)),
    ("Ivywood", "Perpetua", "UTA447667", day(1987, 11, 13)),
    ("Kestrel", "Sidonie", "UTC677497", day(1985, 8, 26)),
];

/// The index of the holder in attempts that cannot prove the face, so the face may appear in several of them.
pub(crate) const UNPROVEN_HOLDER: usize = 19;

/// A holder by number.
pub(crate) fn person(number: usize) -> Person {
    let (surname, given, document, born) = PEOPLE[number];
    Person {
        surname,
        given,
        number: document,
        born,
        ..Person::default()
    }
}

/// A further holder with a name and document number that no other has, of at most 441 ones.
pub(crate) fn further_person(number: usize) -> Person {
    // Digits that recognition confuses with no letter.
    const DIGITS: [char; 5] = ['3', '4', '6', '7', '9'];
    let count = PEOPLE.len();
    let digits: String = (0..6)
        .map(|place| DIGITS[number / 5_usize.pow(place) % 5])
        .collect();
    let (_, given, _, born) = PEOPLE[(number / count + number) % count];
    Person {
        surname: PEOPLE[number % count].0,
        given,
        // A program for one run needs no owner for its few hundred numbers.
        number: format!("UTK{digits}").leak(),
        born,
        ..Person::default()
    }
}

pub(crate) const fn day(year: u16, month: u8, day: u8) -> Date {
    Date { year, month, day }
}

/// The document that is photographed.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum SpecimenDocument {
    /// No document is submitted.
    NoDocument,
    Passport,
    LargeId,
    SmallId,
    Permit,
    Licence,
}

/// The fault of a specimen.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Fault {
    None,
    /// The portrait is missing from the document.
    NoPortrait,
    /// The document's file is truncated.
    CutDocument,
    /// A larger ID card that is submitted as a passport.
    OtherType,
    /// A wall instead of a selfie.
    EmptySelfie,
    /// The selfie's file is truncated.
    CutSelfie,
    /// Two people in the selfie.
    TwoInSelfie,
    /// The selfie of another person.
    OtherSelfie,
    /// A selfie shown on a screen and photographed from it.
    Screen,
    /// The selfie of a person who resembles the holder more than most: neither a match nor clearly different.
    UnlikeSelfie,
    /// A selfie that is too dark and small to check.
    DimSelfie,
    /// Wrong check digits.
    BadCheckDigits,
    /// No MRZ, or no barcode.
    NothingForMachines,
    /// A barcode that is not a licence's.
    ForeignBarcode,
    /// Front and back have the names of different people.
    OtherBack,
    /// The request states another country than the document.
    OtherCountry,
    Expired,
    /// The request has another surname than the MRZ and the print.
    OtherSurnameSent,
    /// The print has another birth date than the MRZ and the request.
    OtherPrint,
    /// Only a title and a portrait; all other text is illegible.
    Illegible,
    /// A minor holder, born in 2012.
    Minor,
}

/// One specimen of the table.
pub(crate) struct SpecimenSpec {
    pub(crate) name: &'static str,
    pub(crate) expect: &'static str,
    pub(crate) flow: &'static str,
    pub(crate) kind: SpecimenDocument,
    pub(crate) fault: Fault,
    /// The index of the holder and of the face. A face that no attempt can prove may appear again. So may a
    /// face whose attempts all fail, under the same `externalUserId`.
    pub(crate) person: usize,
}

#[rustfmt::skip]
pub(crate) const SPECIMEN_SPECS: [SpecimenSpec; 34] = [
    order("pass-passport", "pass", "passport", SpecimenDocument::Passport, Fault::None, 0),
    order("pass-drivers", "pass", "licence", SpecimenDocument::Licence, Fault::None, 1),
    order("pass-id-card-td1", "pass", "any-document", SpecimenDocument::SmallId, Fault::None, 2),
    order("pass-id-card-td2", "pass", "any-document", SpecimenDocument::LargeId, Fault::None, 3),
    order("pass-residency-card", "pass", "residence", SpecimenDocument::Permit, Fault::None, 4),
    order("pass-liveness", "pass", "liveness", SpecimenDocument::Passport, Fault::None, 7),
    order("pass-age", "pass", "age-18-60", SpecimenDocument::Passport, Fault::None, 8),
    order("pass-data-only", "pass", "data-only", SpecimenDocument::NoDocument, Fault::None, 20),
    order("2001-no-face-in-document", "2001", "passport", SpecimenDocument::Passport, Fault::NoPortrait, UNPROVEN_HOLDER),
    order("2003-document-corrupted", "2003", "passport", SpecimenDocument::Passport, Fault::CutDocument, UNPROVEN_HOLDER),
    order("2404-other-document-type", "2404", "passport", SpecimenDocument::LargeId, Fault::OtherType, 18),
    order("2101-no-face-in-selfie", "2101", "passport", SpecimenDocument::Passport, Fault::EmptySelfie, UNPROVEN_HOLDER),
    order("2103-selfie-corrupted", "2103", "passport", SpecimenDocument::Passport, Fault::CutSelfie, UNPROVEN_HOLDER),
    order("2104-screen-instead-of-person", "2104", "passport", SpecimenDocument::Passport, Fault::Screen, UNPROVEN_HOLDER),
    order("2105-selfie-too-poor", "2105", "passport", SpecimenDocument::Passport, Fault::DimSelfie, UNPROVEN_HOLDER),
    order("2203-two-faces-in-selfie", "2203", "passport", SpecimenDocument::Passport, Fault::TwoInSelfie, UNPROVEN_HOLDER),
    order("2201-other-person-passport", "2201", "passport", SpecimenDocument::Passport, Fault::OtherSelfie, UNPROVEN_HOLDER),
    order("2204-other-person-id-card", "2204", "any-document", SpecimenDocument::SmallId, Fault::OtherSelfie, UNPROVEN_HOLDER),
    order("2202-hardly-alike", "2202", "any-document", SpecimenDocument::SmallId, Fault::UnlikeSelfie, 16),
    order("2501-mrz-check-digits", "2501", "passport", SpecimenDocument::Passport, Fault::BadCheckDigits, 5),
    order("2511-no-mrz", "2511", "passport", SpecimenDocument::Passport, Fault::NothingForMachines, 6),
    order("2507-barcode-of-another-kind", "2507", "licence", SpecimenDocument::Licence, Fault::ForeignBarcode, 15),
    order("2512-no-barcode", "2512", "licence", SpecimenDocument::Licence, Fault::NothingForMachines, 17),
    order("2505-licence-sides-differ", "2505", "licence", SpecimenDocument::Licence, Fault::OtherBack, 9),
    order("2506-id-card-sides-differ", "2506", "any-document", SpecimenDocument::SmallId, Fault::OtherBack, 10),
    order("2508-other-country", "2508", "passport", SpecimenDocument::Passport, Fault::OtherCountry, 11),
    order("2509-passport-expired", "2509", "passport", SpecimenDocument::Passport, Fault::Expired, 12),
    order("2509-permit-expired", "2509", "residence", SpecimenDocument::Permit, Fault::Expired, 6),
    order("2502-mrz-differs", "2502", "passport", SpecimenDocument::Passport, Fault::OtherSurnameSent, 13),
    order("2502-barcode-differs", "2502", "licence", SpecimenDocument::Licence, Fault::OtherSurnameSent, 5),
    order("2504-print-differs", "2504", "passport", SpecimenDocument::Passport, Fault::OtherPrint, 14),
    order("2503-nothing-to-compare", "2503", "licence", SpecimenDocument::Licence, Fault::Illegible, 15),
    order("2701-too-young", "2701", "age-18-60", SpecimenDocument::Passport, Fault::Minor, 16),
    order("2703-no-birth-date", "2703", "age-18-60", SpecimenDocument::Licence, Fault::Illegible, 17),
];

const fn order(
    name: &'static str,
    expect: &'static str,
    flow: &'static str,
    kind: SpecimenDocument,
    fault: Fault,
    person: usize,
) -> SpecimenSpec {
    SpecimenSpec {
        name,
        expect,
        flow,
        kind,
        fault,
        person,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn further_people_have_names_and_numbers_of_their_own() {
        let names: HashSet<_> = (0..441)
            .map(further_person)
            .map(|holder| (holder.surname, holder.given))
            .collect();
        let numbers: HashSet<_> = (0..441).map(|number| further_person(number).number).collect();
        assert_eq!((names.len(), numbers.len()), (441, 441));
    }

    #[test]
    fn names_are_unique_and_begin_with_what_is_expected() {
        let names: HashSet<_> = SPECIMEN_SPECS.iter().map(|order| order.name).collect();
        assert_eq!(names.len(), SPECIMEN_SPECS.len());
        for order in &SPECIMEN_SPECS {
            assert!(order.name.starts_with(order.expect), "{}", order.name);
        }
    }

    #[test]
    fn a_face_that_passes_appears_nowhere_else() {
        for order in SPECIMEN_SPECS.iter().filter(|order| order.expect == "pass") {
            let others = SPECIMEN_SPECS.iter().filter(|other| other.name != order.name);
            assert!(
                others.clone().all(|other| other.person != order.person),
                "{}",
                order.name
            );
        }
    }
}
