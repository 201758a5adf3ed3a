//! Reads the decrypted content of a backup. Anyone with the public key can make a backup.
#![no_main]

use std::io::Cursor;

use backup::{Reader, verify_entries};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().build() else {
        return;
    };
    let reader = || Reader::of_decrypted(Cursor::new(bytes.to_vec()));
    let _ = runtime.block_on(verify_entries(reader()));
    let _ = reader().into_header();
});
