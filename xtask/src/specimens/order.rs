//! Renders one specimen of the table: its pictures and its request.

use anyhow::Result;
use imaging::Picture;
use serde_json::{Map, Value};

use super::{
    Specimen, camera,
    canvas::{Canvas, Fonts},
    cast::{Fault, SPECIMEN_SPECS, SpecimenDocument, SpecimenSpec, UNPROVEN_HOLDER, day, person},
    documents::{self, PORTRAIT},
    face::{Studio, View},
    licence,
    moment::Moment,
    mrz,
    person::Person,
};

impl SpecimenSpec {
    /// Renders the pictures and the request's fields.
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
        if self.kind != SpecimenDocument::NoDocument {
            add("selfie", self.selfie(studio)?);
        }
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
        if self.kind == SpecimenDocument::NoDocument {
            return Ok(vec![]);
        }
        let portrait = self.portrait(studio)?;
        let mut printed = holder.clone();
        let mut machine = holder.clone();
        match self.fault {
            Fault::OtherPrint => printed.born = day(holder.born.year - 3, 6, 27),
            Fault::OtherBack => machine = person(UNPROVEN_HOLDER),
            _ => {}
        }
        let number = |person: &Person| person.number.to_owned();
        Ok(match self.kind {
            SpecimenDocument::NoDocument => vec![],
            SpecimenDocument::Passport => {
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
            SpecimenDocument::LargeId => {
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
            SpecimenDocument::SmallId | SpecimenDocument::Permit => {
                let (title, code, fields) = if self.kind == SpecimenDocument::Permit {
                    ("RESIDENCE PERMIT", "IR", ["residencyFront", "residencyBack"])
                } else {
                    ("IDENTITY CARD", "I<", ["idCardFront", "idCardBack"])
                };
                let front = documents::small_id_front(fonts, title, &printed, &portrait);
                let back = documents::small_id_back(fonts, title, &mrz::td1(&machine, code));
                vec![(fields[0], front), (fields[1], back)]
            }
            SpecimenDocument::Licence => {
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
            moment: None,
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
            // This sitter's attempts all fail.
            Fault::OtherSelfie => 10,
            // This sitter is among those most similar to the holder.
            Fault::UnlikeSelfie => 17,
            _ => self.person,
        };
        let sitter = studio.sitter(shown)?;
        let view = |eye_distance: f32, eyes_at: [f32; 2]| View {
            width: 720,
            height: 960,
            eye_distance,
            eyes_at,
            turn: sitter.towards_camera(8.0 + (shown * 3 % 7) as f32, 3.0),
            moment: Some(Moment::new(self.seed() + 31)),
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
            Fault::Screen => {
                let mut screen = sitter.picture(&view(140.0, [0.49, 0.42]), seed);
                show_on_screen(&mut screen);
                screen
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
            (SpecimenDocument::NoDocument, _) => "",
            (SpecimenDocument::Passport, _) | (_, Fault::OtherType) => "PASSPORT",
            (SpecimenDocument::Licence, _) => "DRIVERS",
            (SpecimenDocument::Permit, _) => "RESIDENCY_CARD",
            (SpecimenDocument::SmallId | SpecimenDocument::LargeId, _) => "ID_CARD",
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
        // The server identifies a provable face as one person, so that person always has the same user id.
        let user = if self.person == UNPROVEN_HOLDER {
            format!("specimen-{}", self.name)
        } else {
            format!("specimen-{}", holder.number.to_lowercase())
        };
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
        if !document.is_empty() {
            add("documentTypes", document);
            add("documentCountry", country);
        }
        fields
    }

    /// A seed from the specimen's index in the table, so that each has different light and noise.
    fn seed(&self) -> u64 {
        let position = SPECIMEN_SPECS
            .iter()
            .position(|order| order.name == self.name)
            .unwrap_or(0);
        1000 * (position as u64 + 1)
    }
}

/// Simulates a photograph of a screen: the grid of coloured strips, their moiré with the sensor's grid, and a
/// dark edge.
fn show_on_screen(picture: &mut Picture) {
    const EDGE: usize = 26;
    let (width, height) = (picture.width as usize, picture.height as usize);
    for (index, pixel) in picture.pixels.as_chunks_mut::<3>().0.iter_mut().enumerate() {
        let (x, y) = (index % width, index / width);
        // The camera is slightly tilted.
        let (across, down) = (
            x as f32 * 0.99 + y as f32 * 0.14,
            y as f32 * 0.99 - x as f32 * 0.14,
        );
        let edge = x.min(width - 1 - x).min(y).min(height - 1 - y) < EDGE;
        for (channel, value) in pixel.iter_mut().enumerate() {
            let strips = (across * 1.93 + channel as f32 * 0.5).sin();
            let rows = (down * 1.71).sin();
            let beat = (across * 0.21 + down * 0.05).sin();
            let factor = 1.08 + 0.16 * strips + 0.10 * rows + 0.06 * beat;
            *value = if edge {
                12
            } else {
                (f32::from(*value) * factor + 6.0) as u8
            };
        }
    }
}

/// The second line of a passport's MRZ with a wrong check digit of the number and a wrong composite digit.
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
