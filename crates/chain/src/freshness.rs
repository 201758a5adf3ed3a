//! The one rule for when the newest block of a source is too old, for all chains. The functions are pure;
//! callers decide what follows from a stale block.

use std::time::Duration;

use crate::currency::Currency;

/// The number of blocks that may be missing. Bitcoin's next block takes longer than this many intervals once
/// in sixty million.
const BLOCKS: u32 = 18;
/// The shortest time limit, for sources of fast chains, which may be busy for this long.
const LEAST: Duration = Duration::from_mins(30);

/// The chain's target time between two blocks; for fast chains a round figure above it.
pub const fn block_interval(currency: Currency) -> Duration {
    Duration::from_secs(match currency {
        Currency::Btc | Currency::Bch | Currency::Bsv => 600,
        Currency::Ltc | Currency::Dash | Currency::Sys => 150,
        Currency::Zec => 75,
        Currency::Doge => 60,
        Currency::Stx => 30,
        Currency::Ada => 20,
        Currency::Eth | Currency::Etc => 12,
        Currency::Xrp | Currency::Xlm | Currency::Bsc | Currency::Xdc | Currency::Trx | Currency::Sol => 5,
    })
}

/// The age from which a newest block is stale.
pub fn stale_after(currency: Currency) -> Duration {
    (block_interval(currency) * BLOCKS).max(LEAST)
}

/// The age of a block at a time (both in milliseconds since 1970). Clocks differ, so a block from the future
/// has age zero.
pub fn age(block_time: i64, now: i64) -> Duration {
    Duration::from_millis(u64::try_from(now.saturating_sub(block_time)).unwrap_or_default())
}

/// Whether a newest block is too old at a time. A block of unknown time is never stale.
pub fn is_stale(currency: Currency, block_time: Option<i64>, now: i64) -> bool {
    block_time.is_some_and(|time| age(time, now) > stale_after(currency))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_chain_has_its_patience() {
        const MINUTE: i64 = 60_000;
        let now = 1_900_000_000_000;
        for (currency, minutes, stale) in [
            (Currency::Btc, 180, false),
            (Currency::Btc, 181, true),
            (Currency::Ltc, 45, false),
            (Currency::Ltc, 46, true),
            (Currency::Eth, 30, false),
            (Currency::Eth, 31, true),
            (Currency::Sol, 31, true),
            (Currency::Eth, -120, false),
        ] {
            let time = Some(now - minutes * MINUTE);
            assert_eq!(is_stale(currency, time, now), stale, "{currency} {minutes}");
        }
        assert!(!is_stale(Currency::Sol, None, now));
        assert!(is_stale(Currency::Btc, Some(i64::MIN), now));
        assert!(
            Currency::ALL
                .into_iter()
                .all(|currency| stale_after(currency) >= LEAST)
        );
    }
}
