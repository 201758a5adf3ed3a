//! Decodes PDF files.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(init: fuzz::forgive_decoders(), |bytes: &[u8]| fuzz::decode(imaging::Format::Pdf, bytes));
