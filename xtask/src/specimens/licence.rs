//! The machine-readable part of a driver's licence: an AAMVA payload (DL/ID Card Design Standard, version 9)
//! in a PDF417 symbol.

use anyhow::{Context, Result};
use imaging::Picture;
use rxing::{BarcodeFormat, EncodeHints, Writer, pdf417::PDF417Writer, pdf417::encoder::Dimensions};

use super::{
    canvas::BLACK,
    mrz::STATE,
    person::{Date, Person},
};

/// The payload of a person's licence.
pub(crate) fn aamva(person: &Person) -> String {
    let date = |Date { year, month, day }: Date| format!("{month:02}{day:02}{year}");
    let (first, middle) = person.given.split_once(' ').unwrap_or((person.given, "NONE"));
    let elements = [
        ("DAQ", person.number.to_owned()),
        ("DCS", person.surname.to_uppercase()),
        ("DDE", "N".to_owned()),
        ("DAC", first.to_uppercase()),
        ("DDF", "N".to_owned()),
        ("DAD", middle.to_uppercase()),
        ("DDG", "N".to_owned()),
        ("DCA", "C".to_owned()),
        ("DCB", "NONE".to_owned()),
        ("DCD", "NONE".to_owned()),
        ("DBD", date(person.issued)),
        ("DBB", date(person.born)),
        ("DBA", date(person.expires)),
        ("DBC", if person.sex == 'F' { "2" } else { "1" }.to_owned()),
        ("DAU", "068 in".to_owned()),
        ("DAY", "BRO".to_owned()),
        ("DAG", "7 HARBOUR LANE".to_owned()),
        ("DAI", "AMAUROTE".to_owned()),
        ("DAJ", "AM".to_owned()),
        ("DAK", "151600000  ".to_owned()),
        ("DCF", format!("{}0516", person.number)),
        ("DCG", STATE.to_owned()),
    ];
    let body: String = elements
        .iter()
        .map(|(name, value)| format!("{name}{value}\n"))
        .collect();
    let subfile = format!("DL{}\r", body.trim_end_matches('\n').to_owned() + "\n");
    // The header has the file type, issuer (an unassigned number), version 9, the jurisdiction's version and
    // one entry; then follow the subfile's offset and length.
    const HEADER: usize = 21 + 10;
    format!(
        "@\n\u{1e}\rANSI 636999090001DL{HEADER:04}{:04}{subfile}",
        subfile.len()
    )
}

/// A PDF417 symbol with its quiet zone; `module` is the pixels of the narrowest bar.
pub(crate) fn pdf417(payload: &str, module: u32) -> Result<Picture> {
    const QUIET: u32 = 4;
    let hints = EncodeHints {
        ErrorCorrection: Some("5".to_owned()),
        Margin: Some("0".to_owned()),
        Pdf417Dimensions: Some(Dimensions::new(13, 13, 5, 60)),
        ..EncodeHints::default()
    };
    // The writer draws one pixel per module, because the requested size is too small for a larger scale.
    let bits = PDF417Writer
        .encode_with_hints(payload, &BarcodeFormat::PDF_417, 2, 1, &hints)
        .context("writing a PDF417")?;
    let (width, height) = (bits.getWidth() + 2 * QUIET, bits.getHeight() + 2 * QUIET);
    let mut picture = Picture::filled(width * module, height * module, [252; 3]);
    for (index, pixel) in picture.pixels.as_chunks_mut::<3>().0.iter_mut().enumerate() {
        let (x, y) = (
            index as u32 % (width * module) / module,
            index as u32 / (width * module) / module,
        );
        let inside = (QUIET..width - QUIET).contains(&x) && (QUIET..height - QUIET).contains(&y);
        if inside && bits.get(x - QUIET, y - QUIET) {
            *pixel = BLACK;
        }
    }
    Ok(picture)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_tells_where_the_subfile_lies() {
        let payload = aamva(&Person {
            surname: "Veil",
            given: "Ada",
            number: "U1",
            ..Person::default()
        });
        let number = |at: usize| payload[at..at + 4].parse::<usize>().unwrap();
        let (offset, length) = (number(23), number(27));
        assert_eq!(&payload[offset..offset + 2], "DL");
        assert_eq!(payload.len(), offset + length);
    }
}
