//! Which family of encodings reads a chain's addresses.
//!
//! Gives the family's own verdict; secrets, other chains and other mistakes are told apart in [`super::Address::parse`].

use super::form::{Address, AddressError};
use super::{base58, cardano, cashaddr, evm, segwit, solana, stacks, stellar, tron, xrp, zcash};
use crate::currency::Currency;

/// Whether some chain has this address, whatever else the text may look like.
pub(crate) fn exists_anywhere(text: &str) -> bool {
    Currency::ALL
        .into_iter()
        .any(|currency| parse(currency, text).is_ok())
}

/// The family's own verdict.
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
