//! Who appears on which specimen, and what is wrong with it: the table from which everything is rendered.

use anyhow::Result;
use imaging::Picture;
use serde_json::{Map, Value};

use super::{
    Specimen, camera,
    canvas::{Canvas, Fonts},
    documents::{self, PORTRAIT},
    face::{Studio, View},
    licence, mrz,
    person::{Date, Person},
};

/// The invented holders. A holder's number is also that of the sitter who lends the face.
const PEOPLE: [(&str, &str, &str, Date); 20] = [
    ("Velloway", "Tamsin Iris", "UTA100231", day(1991, 3, 14)),
    ("Pendrake", "Isaura", "UTB200342", day(1988, 11, 2)),
    ("Quillfeather", "Noemi", "UTC300453", day(1994, 7, 23)),
    ("Ashgrove", "Linnea Mae", "UTD400564", day(1990, 1, 30)),
    ("Merrowick", "Odile", "UTE500675", day(1986, 5, 19)),
    ("Larkhurst", "Bettina", "UTF600786", day(1989, 9, 8)),
    ("Thornbury", "Cosima Jane", "UTG700897", day(1993, 12, 12)),
    ("Fairwether", "Delphine", "UTH800918", day(1987, 4, 27)),
    ("Saltmarsh", "Elodie", "UTJ900129", day(1992, 8, 5)),
    ("Wintergale", "Rosalba", "UTK110230", day(1984, 2, 17)),
    ("Hollowell", "Imelda Ruth", "UTL120341", day(1985, 6, 21)),
    ("Brightmere", "Saskia", "UTM130452", day(1995, 10, 11)),
    ("Dovecote", "Marguerite", "UTN140563", day(1990, 3, 3)),
    ("Nightingale", "Paloma", "UTP150674", day(1991, 7, 16)),
    ("Copperfield", "Yolanda", "UTQ160785", day(1988, 12, 24)),
    ("Elderberry", "Winifred", "UTR170896", day(1993, 5, 9)),
    ("Foxglove", "Henrietta", "UTS180917", day(1992, 1, 28)),
    ("Goldcrest", "Amabel", "UTT190128", day(1989, 9, 19)),
    ("Harebell", "Clementine", "UTU210239", day(1994, 4, 6)),
    ("Ivywood", "Perpetua", "UTV220340", day(1987, 11, 13)),
];

const fn day(year: u16, month: u8, day: u8) -> Date {
    Date { year, month, day }
}

/// What is photographed of a document.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Passport,
    LargeId,
    SmallId,
    Permit,
    Licence,
}

/// What is wrong with a specimen.
#[derive(Clone, Copy, PartialEq)]
enum Fault {
    None,
    /// The portrait is missing from the document.
    NoPortrait,
    /// The document's file breaks off.
    CutDocument,
    /// A larger ID card, sent as a passport.
    OtherType,
    /// A wall instead of a selfie.
    EmptySelfie,
    /// The selfie's file breaks off.
    CutSelfie,
    /// Two people in the selfie.
    TwoInSelfie,
    /// Somebody else's selfie.
    OtherSelfie,
    /// A selfie too dark and small to tell anything from.
    DimSelfie,
    /// Check digits that do not hold.
    BadCheckDigits,
    /// No MRZ, or no barcode.
    NothingForMachines,
    /// A barcode that is not a licence's.
    ForeignBarcode,
    /// Front and back name different people.
    OtherBack,
    /// Sent as the document of another country.
    OtherCountry,
    Expired,
    /// The request gives another surname than MRZ and print.
    OtherSurnameSent,
    /// The print gives another birth date than MRZ and request.
    OtherPrint,
    /// Nothing on it can be read.
    Illegible,
    /// A holder of fourteen.
    Minor,
}

/// One line of the table.
pub(crate) struct Order {
    pub(crate) name: &'static str,
    expect: &'static str,
    flow: &'static str,
    kind: Kind,
    fault: Fault,
    /// The holder, and whose face it is. A face that no attempt can prove may appear again; so may one whose attempts
    /// all fail, under the same `externalUserId`.
    person: usize,
}

const ORDERS: [Order; 29] = [
    order(
        "pass-passport",
        "pass",
        "passport",
        Kind::Passport,
        Fault::None,
        0,
    ),
    order("pass-drivers", "pass", "licence", Kind::Licence, Fault::None, 1),
    order(
        "pass-id-card-td1",
        "pass",
        "any-document",
        Kind::SmallId,
        Fault::None,
        2,
    ),
    order(
        "pass-id-card-td2",
        "pass",
        "any-document",
        Kind::LargeId,
        Fault::None,
        3,
    ),
    order(
        "pass-residency-card",
        "pass",
        "residence",
        Kind::Permit,
        Fault::None,
        4,
    ),
    order(
        "2001-no-face-in-document",
        "2001",
        "passport",
        Kind::Passport,
        Fault::NoPortrait,
        19,
    ),
    order(
        "2003-document-corrupted",
        "2003",
        "passport",
        Kind::Passport,
        Fault::CutDocument,
        19,
    ),
    order(
        "2404-other-document-type",
        "2404",
        "passport",
        Kind::LargeId,
        Fault::OtherType,
        18,
    ),
    order(
        "2101-no-face-in-selfie",
        "2101",
        "passport",
        Kind::Passport,
        Fault::EmptySelfie,
        19,
    ),
    order(
        "2103-selfie-corrupted",
        "2103",
        "passport",
        Kind::Passport,
        Fault::CutSelfie,
        19,
    ),
    order(
        "2203-two-faces-in-selfie",
        "2203",
        "passport",
        Kind::Passport,
        Fault::TwoInSelfie,
        19,
    ),
    order(
        "2201-other-person-passport",
        "2201",
        "passport",
        Kind::Passport,
        Fault::OtherSelfie,
        19,
    ),
    order(
        "2204-other-person-id-card",
        "2204",
        "any-document",
        Kind::SmallId,
        Fault::OtherSelfie,
        19,
    ),
    order(
        "2105-selfie-too-poor",
        "2105",
        "passport",
        Kind::Passport,
        Fault::DimSelfie,
        19,
    ),
    order(
        "2501-mrz-check-digits",
        "2501",
        "passport",
        Kind::Passport,
        Fault::BadCheckDigits,
        5,
    ),
    order(
        "2511-no-mrz",
        "2511",
        "passport",
        Kind::Passport,
        Fault::NothingForMachines,
        6,
    ),
    order(
        "2507-barcode-unreadable",
        "2507",
        "licence",
        Kind::Licence,
        Fault::ForeignBarcode,
        7,
    ),
    order(
        "2512-no-barcode",
        "2512",
        "licence",
        Kind::Licence,
        Fault::NothingForMachines,
        8,
    ),
    order(
        "2505-licence-sides-differ",
        "2505",
        "licence",
        Kind::Licence,
        Fault::OtherBack,
        9,
    ),
    order(
        "2506-id-card-sides-differ",
        "2506",
        "any-document",
        Kind::SmallId,
        Fault::OtherBack,
        10,
    ),
    order(
        "2508-other-country",
        "2508",
        "passport",
        Kind::Passport,
        Fault::OtherCountry,
        11,
    ),
    order(
        "2509-expired",
        "2509",
        "passport",
        Kind::Passport,
        Fault::Expired,
        12,
    ),
    order(
        "2502-mrz-differs",
        "2502",
        "passport",
        Kind::Passport,
        Fault::OtherSurnameSent,
        13,
    ),
    order(
        "2504-print-differs",
        "2504",
        "passport",
        Kind::Passport,
        Fault::OtherPrint,
        14,
    ),
    order(
        "2503-nothing-to-compare",
        "2503",
        "licence",
        Kind::Licence,
        Fault::Illegible,
        15,
    ),
    order(
        "2701-too-young",
        "2701",
        "age-18-60",
        Kind::Passport,
        Fault::Minor,
        16,
    ),
    order(
        "2703-no-birth-date",
        "2703",
        "age-18-60",
        Kind::Licence,
        Fault::Illegible,
        17,
    ),
    order(
        "2502-barcode-differs",
        "2502",
        "licence",
        Kind::Licence,
        Fault::OtherSurnameSent,
        5,
    ),
    order(
        "2509-permit-expired",
        "2509",
        "residence",
        Kind::Permit,
        Fault::Expired,
        6,
    ),
];

const fn order(
    name: &'static str,
    expect: &'static str,
    flow: &'static str,
    kind: Kind,
    fault: Fault,
    person: usize,
) -> Order {
    Order {
        name,
        expect,
        flow,
        kind,
        fault,
        person,
    }
}

pub(crate) fn orders() -> &'static [Order] {
    &ORDERS
}

fn person(number: usize) -> Person {
    let (surname, given, document, born) = PEOPLE[number];
    Person {
        surname,
        given,
        number: document,
        born,
        ..Person::default()
    }
}

impl Order {
    /// Renders the pictures and writes the request.
    pub(crate) fn specimen(&self, studio: &Studio, fonts: &Fonts) -> Result<Specimen> {
        let mut holder = person(self.person);
        match self.fault {
            Fault::Expired => {
                holder.issued = day(2011, 5, 6);
                holder.expires = day(2021, 5, 5);
            }
            Fault::Minor => holder.born = day(2012, holder.born.month, holder.born.day),
            _ => {}
        }
        let mut contents = Vec::new();
        let mut files = Map::new();
        let mut add = |field: &str, bytes: Vec<u8>| {
            let name = format!("{}-{field}.jpg", self.name);
            files.insert(field.to_owned(), Value::from(name.as_str()));
            contents.push((name, bytes));
        };
        let seed = self.seed();
        for (position, (field, side)) in self.sides(&holder, studio, fonts)?.into_iter().enumerate() {
            let mut bytes = camera::photograph(&side, seed + position as u64)?;
            if self.fault == Fault::CutDocument {
                bytes.truncate(bytes.len() / 3);
            }
            add(field, bytes);
        }
        add("selfie", self.selfie(studio)?);
        Ok(Specimen {
            name: self.name,
            expect: self.expect,
            fields: self.fields(&holder),
            files,
            flow: self.flow,
            contents,
        })
    }

    /// The form fields and flat pictures of the document's sides.
    fn sides(&self, holder: &Person, studio: &Studio, fonts: &Fonts) -> Result<Vec<(&'static str, Picture)>> {
        let portrait = self.portrait(studio)?;
        let mut printed = holder.clone();
        let mut machine = holder.clone();
        match self.fault {
            Fault::OtherPrint => printed.born = day(holder.born.year - 3, 6, 27),
            Fault::OtherBack => machine = person((self.person + 1) % PEOPLE.len()),
            _ => {}
        }
        let number = |person: &Person| person.number.to_owned();
        Ok(match self.kind {
            Kind::Passport => {
                let mut lines = mrz::td3(&machine);
                if self.fault == Fault::BadCheckDigits {
                    lines[1] = wrong_check_digits(&lines[1]);
                }
                let lines = (self.fault != Fault::NothingForMachines).then_some(lines.as_slice());
                vec![(
                    "passportFront",
                    documents::passport(fonts, &printed, lines, &portrait),
                )]
            }
            Kind::LargeId => {
                let front = documents::large_id_front(fonts, &printed, &mrz::td2(&machine), &portrait);
                if self.fault == Fault::OtherType {
                    vec![("passportFront", front)]
                } else {
                    vec![
                        ("idCardFront", front),
                        ("idCardBack", documents::large_id_back(fonts)),
                    ]
                }
            }
            Kind::SmallId | Kind::Permit => {
                let (title, code, fields) = if self.kind == Kind::Permit {
                    ("RESIDENCE PERMIT", "IR", ["residencyFront", "residencyBack"])
                } else {
                    ("IDENTITY CARD", "I<", ["idCardFront", "idCardBack"])
                };
                let front = documents::small_id_front(fonts, title, &printed, &portrait);
                let back = documents::small_id_back(fonts, title, &mrz::td1(&machine, code));
                vec![(fields[0], front), (fields[1], back)]
            }
            Kind::Licence => {
                let payload = match self.fault {
                    Fault::NothingForMachines | Fault::Illegible => None,
                    Fault::ForeignBarcode => {
                        Some(format!("UTOPIA PARCEL SERVICE {}", number(&machine).repeat(12)))
                    }
                    _ => Some(licence::aamva(&machine)),
                };
                let printed = (self.fault != Fault::Illegible).then_some(&printed);
                vec![
                    (
                        "driversFront",
                        documents::licence_front(fonts, printed, &portrait),
                    ),
                    ("driversBack", documents::licence_back(fonts, payload.as_deref())?),
                ]
            }
        })
    }

    fn portrait(&self, studio: &Studio) -> Result<Picture> {
        let [width, height] = PORTRAIT;
        if self.fault == Fault::NoPortrait {
            return Ok(Picture::filled(width, height, [206, 206, 210]));
        }
        let sitter = studio.sitter(self.person)?;
        let view = View {
            width,
            height,
            eye_distance: 96.0,
            eyes_at: [0.5, 0.44],
            turn: [0.0, 0.0],
            wall: Some([214, 216, 222]),
        };
        Ok(sitter.picture(&view, self.seed() + 10))
    }

    fn selfie(&self, studio: &Studio) -> Result<Vec<u8>> {
        const WALLS: [[u8; 3]; 5] = [
            [186, 178, 164],
            [150, 164, 172],
            [196, 188, 184],
            [160, 172, 150],
            [172, 160, 176],
        ];
        let wall = WALLS[self.person % WALLS.len()];
        let shown = match self.fault {
            // The face of somebody whose own attempts, if any, all fail.
            Fault::OtherSelfie => 18,
            _ => self.person,
        };
        let sitter = studio.sitter(shown)?;
        let view = |eye_distance: f32, eyes_at: [f32; 2]| View {
            width: 720,
            height: 960,
            eye_distance,
            eyes_at,
            turn: sitter.towards_camera(8.0 + (self.person * 3 % 7) as f32, 3.0),
            wall: Some(wall),
        };
        let seed = self.seed() + 20;
        let picture = match self.fault {
            Fault::EmptySelfie => {
                let mut wall = Picture::filled(720, 960, wall);
                camera::light(&mut wall, [0.3, 0.2], 3.0, &mut camera::Random(seed));
                wall
            }
            Fault::TwoInSelfie => {
                let left = sitter.picture(
                    &View {
                        width: 480,
                        ..view(120.0, [0.5, 0.42])
                    },
                    seed,
                );
                let other = studio.sitter(18)?;
                let right = other.picture(
                    &View {
                        width: 480,
                        ..view(120.0, [0.5, 0.46])
                    },
                    seed + 1,
                );
                let mut both = Canvas::new(960, 960, wall);
                both.paste(0, 0, &left);
                both.paste(480, 0, &right);
                both.picture
            }
            Fault::DimSelfie => {
                let mut dim = sitter.picture(&view(70.0, [0.5, 0.45]), seed);
                for value in &mut dim.pixels {
                    *value = (f32::from(*value) * 0.11) as u8;
                }
                dim
            }
            _ => sitter.picture(&view(140.0, [0.49, 0.42]), seed),
        };
        let mut bytes = camera::jpeg(&picture, 87)?;
        if self.fault == Fault::CutSelfie {
            bytes.truncate(bytes.len() / 3);
        }
        Ok(bytes)
    }

    fn fields(&self, holder: &Person) -> Map<String, Value> {
        let document = match (self.kind, self.fault) {
            (Kind::Passport, _) | (_, Fault::OtherType) => "PASSPORT",
            (Kind::Licence, _) => "DRIVERS",
            (Kind::Permit, _) => "RESIDENCY_CARD",
            (Kind::SmallId | Kind::LargeId, _) => "ID_CARD",
        };
        let surname = if self.fault == Fault::OtherSurnameSent {
            "Underwood"
        } else {
            holder.surname
        };
        let country = if self.fault == Fault::OtherCountry {
            "DEU"
        } else {
            mrz::STATE
        };
        let (first, middle) = holder
            .given
            .split_once(' ')
            .map_or((holder.given, None), |(a, b)| (a, Some(b)));
        let user = format!("specimen-{}", holder.number.to_lowercase());
        let mut fields = Map::new();
        let mut add = |name: &str, value: &str| {
            fields.insert(name.to_owned(), Value::from(value));
        };
        add("firstName", first);
        if let Some(middle) = middle {
            add("middleName", middle);
        }
        add("lastName", surname);
        add("externalUserId", &user);
        add("dob", &holder.born.american());
        add("phone", "+15550100123");
        add("email", &format!("{}@example.com", first.to_lowercase()));
        add("street", "7 Harbour Lane");
        add("city", "Amaurote");
        add("state", "AM");
        add("postcode", "15160");
        add("country", mrz::STATE);
        add("nationality", mrz::STATE);
        add("documentTypes", document);
        add("documentCountry", country);
        fields
    }

    /// Its place in the table: every specimen has its own camera.
    fn seed(&self) -> u64 {
        let position = ORDERS
            .iter()
            .position(|order| order.name == self.name)
            .unwrap_or(0);
        1000 * (position as u64 + 1)
    }
}

/// The second line of a passport with another digit for the number's check and for the last one.
fn wrong_check_digits(line: &str) -> String {
    let other = |digit: char| char::from_digit((digit.to_digit(10).unwrap_or(0) + 4) % 10, 10).unwrap_or('0');
    line.chars()
        .enumerate()
        .map(|(at, character)| {
            if at == 9 || at == 43 {
                other(character)
            } else {
                character
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_are_unique_and_begin_with_what_is_expected() {
        let names: HashSet<_> = ORDERS.iter().map(|order| order.name).collect();
        assert_eq!(names.len(), ORDERS.len());
        for order in &ORDERS {
            assert!(order.name.starts_with(order.expect), "{}", order.name);
        }
    }

    #[test]
    fn a_face_that_passes_appears_nowhere_else() {
        for order in ORDERS.iter().filter(|order| order.expect == "pass") {
            let others = ORDERS.iter().filter(|other| other.name != order.name);
            assert!(
                others.clone().all(|other| other.person != order.person),
                "{}",
                order.name
            );
        }
    }
}
