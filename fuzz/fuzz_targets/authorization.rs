//! Parses the `Authorization` header.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|value: &[u8]| {
    let _ = http_server::authorization::parse_value(value);
});
