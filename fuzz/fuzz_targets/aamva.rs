//! Parses AAMVA payloads of driving licences.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = documents::aamva::parse_aamva(bytes);
});
