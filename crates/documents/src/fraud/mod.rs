//! Looks for signs of fraud in a picture that was read, at its native resolution.
//!
//! - `screen` and `photocopy` measure the pixels of the area with print, which `print_area` finds.
//! - `contradiction` compares print with the machine-readable zone and the barcode.
//! - `number` judges numbers that a state gave to the holder.
//! - `origin` judges what the file's metadata say.
//! - `edited` looks for a part that was put in after the rest had been compressed.
//!
//! Each check gives its measure, whether or not it is a sign. This module never decides about a document or a person,
//! and never changes a reading.

mod contradiction;
mod edited;
mod number;
mod origin;
mod photocopy;
mod print_area;
mod screen;

use imaging::{Decoded, Format, Picture};

use crate::fraud_signs::{FraudKind, FraudSign};
use crate::reading::DocumentReading;

pub(crate) use print_area::PrintArea;

/// The signs of the pixels: no sign of a kind whose measure the picture does not allow. `bounds` is the area's box in
/// the upright picture.
pub(crate) fn picture_signs(picture: &Picture, area: &PrintArea, bounds: [f32; 4]) -> Vec<FraudSign> {
    let screen = screen::pattern(picture, area)
        .map(|measure| FraudSign::of(FraudKind::Screen, measure, screen::LIMIT));
    let copy = photocopy::colour(picture, area)
        .map(|measure| FraudSign::of(FraudKind::Photocopy, measure, photocopy::LIMIT));
    let placed = |sign| FraudSign {
        bounds: Some(bounds),
        ..sign
    };
    [screen, copy].into_iter().flatten().map(placed).collect()
}

/// The signs of a file's metadata and compression.
pub fn file_signs(file: &Decoded) -> Vec<FraudSign> {
    // The metadata of PDFs are not read, so they are no proof of anything.
    let origin = (file.format != Format::Pdf).then(|| origin::sign(&file.origin));
    origin.into_iter().chain(edited::sign(file)).collect()
}

/// The signs of a picture's own print and data.
pub(crate) fn data_signs(reading: &DocumentReading) -> Vec<FraudSign> {
    let mut signs = contradictions(reading, reading);
    signs.extend(number::in_zone(reading));
    signs
}

/// The contradictions of one side's print to the machine-readable zone or barcode of the same or the other side of the
/// document, and the printed numbers that are not its holder's. Their boxes are in the picture of the print.
pub fn contradictions(print: &DocumentReading, data: &DocumentReading) -> Vec<FraudSign> {
    let mut signs = contradiction::find(print, data);
    signs.extend(number::in_print(print, data));
    signs
}
