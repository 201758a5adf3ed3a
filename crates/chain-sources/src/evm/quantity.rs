//! Parses and writes numbers in the format of Ethereum-like nodes, with checks of their range.

use chain::amount::Amount;
use chain::source::SourceError;

pub(super) fn nonsense(why: &str) -> SourceError {
    SourceError::Nonsense(why.to_owned())
}

pub(super) fn amount(text: &str) -> Result<Amount, SourceError> {
    Amount::from_hex(text).map_err(|_| nonsense("a quantity is no hexadecimal number of at most 256 bits"))
}

pub(super) fn number(text: &str) -> Result<u64, SourceError> {
    let digits = text.strip_prefix("0x").filter(|digits| !digits.starts_with('+'));
    digits
        .and_then(|digits| u64::from_str_radix(digits, 16).ok())
        .ok_or_else(|| nonsense("a number is not hexadecimal, or too large"))
}

pub(super) fn quantity(number: u64) -> String {
    format!("{number:#x}")
}

/// Converts hexadecimal seconds to milliseconds.
pub(super) fn milliseconds(seconds: &str) -> Result<i64, SourceError> {
    let seconds = i64::try_from(number(seconds)?).map_err(|_| nonsense("a time is too large"))?;
    Ok(seconds.saturating_mul(1000))
}
