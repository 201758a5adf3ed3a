//! Parses blocks framed as in `blk*.dat` files, and single transactions, of every chain that has such files.
#![no_main]

use chain::currency::Currency;
use chain_sources::graph::NewBlock;
use chain_sources::ingest::blk;
use chain_sources::ingest::block::{RawBlock, parse_transaction};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    for currency in Currency::ALL.into_iter().filter(|currency| blk::is_supported(*currency)) {
        let framed = blk::frames(currency, bytes).map(|found| found.frames).unwrap_or_default();
        for frame in framed {
            if let Ok(block) = RawBlock::parse(currency, &bytes[frame.start..frame.start + frame.length]) {
                let _ = NewBlock::of_raw(currency, 0, &block);
            }
        }
        // Parsing without the frame reaches the code behind the header for any bytes.
        let _ = RawBlock::parse(currency, bytes);
        let _ = parse_transaction(currency, bytes);
    }
});
