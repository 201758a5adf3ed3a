//! Imports label files: TagPack YAML, CSV and JSON lines.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = chain::labels::read(bytes);
});
