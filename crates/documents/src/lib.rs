//! Reads a picture of a document into a [`reading::DocumentReading`]: machine-readable zone, PDF417 barcode
//! with AAMVA payload, visual-zone text and picture quality.
//!
//! - [`locate`], [`ocr`] and [`barcode`] turn a picture into lines of text and barcode payloads.
//! - [`mrz`] and [`aamva`] parse those into fields.
//! - [`compare`] compares fields with the data that a person submitted.
//! - [`fraud_signs`] are signs of a screen, a copy, or edited print, on request.
//! - [`confirmation`] proves an uncertain zone by equal data elsewhere on the document.
//! - [`read`] runs all stages.
//!
//! This crate never decides whether a person passes; the crate `verification` does.

pub mod aamva;
pub mod barcode;
mod batch;
pub mod compare;
pub mod confirmation;
mod detection;
mod fields;
mod fraud;
pub mod fraud_signs;
mod issuer_numbers;
pub mod locate;
pub mod mrz;
pub mod ocr;
mod page_lines;
mod quality;
pub mod read;
pub mod reading;
mod visual;
mod zone;
mod zone_place;
mod zone_row;
mod zone_search;

pub use batch::answer_line;
pub use fraud::{contradictions, file_signs};
pub use read::{DocumentEngine, ReadError, ReadHints, Side};
pub use visual::kind_of_zone;
