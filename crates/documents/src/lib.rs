//! Pixels to a [`reading::DocumentReading`]: machine-readable zone, PDF417 with AAMVA payload, visual-zone text, quality.
//!
//! The optical half turns a picture into lines and payloads ([`locate`], [`ocr`], [`barcode`]), the parsing half
//! ([`mrz`], [`aamva`]) turns those into fields, [`compare`] holds fields against what a person submitted, and
//! [`read`] is the way through all of them. It never decides whether a person passes: that is `verification`'s.

pub mod aamva;
pub mod barcode;
mod batch;
pub mod compare;
mod fields;
pub mod locate;
pub mod mrz;
pub mod ocr;
mod quality;
pub mod read;
pub mod reading;
mod visual;
mod zone;

pub use batch::answer_line;
pub use read::{DocumentEngine, ReadError, ReadHints, Side};
