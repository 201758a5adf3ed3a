//! Multipart bodies. Their boundary is `X`.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|body: &[u8]| fuzz::multipart(body));
