//! TRON: base58check of the byte 0x41 and the 20 bytes of a key's hash, which is computed like Ethereum's.

use bs58::Alphabet;

use super::base58;
use super::form::{Address, AddressError, Kind};
use crate::currency::Currency;

pub(super) fn parse(text: &str) -> Result<Address, AddressError> {
    let bytes = base58::decode(text, Alphabet::BITCOIN)?;
    match bytes.as_slice() {
        [0x41, account @ ..] if account.len() == 20 => {
            Ok(Address::new(Currency::Trx, Kind::Account, text, account))
        }
        [0xa0, account @ ..] if account.len() == 20 => Err(AddressError::TestNetwork),
        _ => Err(AddressError::Form("is no TRON address (T…)")),
    }
}
