//! Solana: base58 of 32 bytes, without any checksum.

use super::form::{Address, AddressError, Kind};
use crate::currency::Currency;

pub(super) fn parse(text: &str) -> Result<Address, AddressError> {
    let bytes = bs58::decode(text).into_vec().map_err(|_| {
        AddressError::Form("has a character that base58 does not have (0, O, I, l, or a sign)")
    })?;
    match bytes.len() {
        32 => Ok(Address::new(Currency::Sol, Kind::Account, text, bytes)),
        64 => Err(AddressError::Form(
            "has 64 bytes, as a transaction's signature has; an address has 32",
        )),
        _ => Err(AddressError::Form("does not hold 32 bytes")),
    }
}
