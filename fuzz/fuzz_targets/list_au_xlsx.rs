//! Imports sanctions lists of the format `AuXlsx`.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| fuzz::import(sanctions::ListFormat::AuXlsx, bytes));
