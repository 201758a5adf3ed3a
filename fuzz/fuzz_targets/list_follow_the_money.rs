//! Imports sanctions lists of the format `FollowTheMoney`.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| fuzz::import(sanctions::ListFormat::FollowTheMoney, bytes));
