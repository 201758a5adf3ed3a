//! Imports sanctions lists of the format `CslCsv`.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| fuzz::import(sanctions::ListFormat::CslCsv, bytes));
