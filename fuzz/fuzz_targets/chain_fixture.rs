//! Reads transaction histories in JSON and traces funds in them.
#![no_main]

use chain::fixture::Fixture;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(value) = serde_json::from_slice(bytes) else { return };
    if let Ok(fixture) = Fixture::from_json(&value) {
        let _ = fixture.trace(&value);
    }
});
