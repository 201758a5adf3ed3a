//! Reads the body of `POST /v2/sdk/session/challenge/frames`, and checks it against a challenge with the same nonce.
#![no_main]

use libfuzzer_sys::fuzz_target;
use verification::challenge::frames::{Body, Chain, NONCE_BYTES};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(body) = Body::parse(bytes) {
        let first = body.frames.first().map_or(0, |frame| frame.number);
        let _ = Chain::begin(body.nonce, first).fit(&body);
        let _ = Chain::begin([0; NONCE_BYTES], first).fit(&body);
    }
});
