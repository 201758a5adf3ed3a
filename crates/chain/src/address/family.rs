//! Selects the family of encodings that parses a chain's addresses.
//!
//! It returns the family's own result. [`super::Address::parse`] explains secrets, other chains and other
//! mistakes.

use super::form::{Address, AddressError};
use super::{base58, cardano, cashaddr, evm, segwit, solana, stacks, stellar, tron, xrp, zcash};
use crate::currency::Currency;

/// Whether the text is an address of some chain.
pub(crate) fn exists_anywhere(text: &str) -> bool {
    Currency::ALL
        .into_iter()
        .any(|currency| parse(currency, text).is_ok())
}

/// Parses an address with the chain's family of encodings.
pub(super) fn parse(currency: Currency, text: &str) -> Result<Address, AddressError> {
    match currency {
        Currency::Btc | Currency::Ltc => match segwit::parse(currency, text) {
            Some(result) => result,
            None => base58::parse(currency, text),
        },
        Currency::Sys => match segwit::parse(currency, text) {
            Some(result) => result,
            None if text.starts_with("0x") => evm::parse(currency, text),
            None => base58::parse(currency, text),
        },
        Currency::Bch => cashaddr::parse(text),
        Currency::Bsv | Currency::Doge | Currency::Dash => base58::parse(currency, text),
        Currency::Zec => zcash::parse(text),
        Currency::Eth | Currency::Etc | Currency::Bsc | Currency::Xdc => evm::parse(currency, text),
        Currency::Xrp => xrp::parse(text),
        Currency::Xlm => stellar::parse(text),
        Currency::Ada => cardano::parse(text),
        Currency::Stx => stacks::parse(text),
        Currency::Sol => solana::parse(text),
        Currency::Trx => tron::parse(text),
    }
}
