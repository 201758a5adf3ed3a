//! XRP Ledger: classic addresses (`r…`) and X-addresses, which contain a destination tag (XLS-5d).

use bs58::Alphabet;

use super::base58;
use super::form::{Address, AddressError, Kind};
use crate::currency::Currency;

pub(super) fn parse(text: &str) -> Result<Address, AddressError> {
    let bytes = base58::decode(text, Alphabet::RIPPLE)?;
    match bytes.as_slice() {
        [0, account @ ..] if account.len() == 20 => {
            Ok(Address::new(Currency::Xrp, Kind::Classic, text, account))
        }
        [0x05, 0x44, rest @ ..] if rest.len() == 29 => x_address(rest),
        [0x04, 0x93, rest @ ..] if rest.len() == 29 => Err(AddressError::TestNetwork),
        [0x1c | 0x23, key @ ..] if key.len() == 33 => Err(AddressError::Form(
            "is a public key, not an account's address (which begins with r)",
        )),
        _ => Err(AddressError::Form(
            "is not an account's address (which begins with r or X)",
        )),
    }
}

/// Account (20 bytes), flag (1), tag (8, little-endian).
fn x_address(rest: &[u8]) -> Result<Address, AddressError> {
    let (account, tagged) = rest.split_at(20);
    let right = match tagged {
        [0, tag @ ..] => tag.iter().all(|byte| *byte == 0),
        [1, tag @ ..] => tag[4..].iter().all(|byte| *byte == 0),
        _ => false,
    };
    if !right {
        return Err(AddressError::Form("has a destination tag of an unknown form"));
    }
    Ok(Address::new(
        Currency::Xrp,
        Kind::XAddress,
        classic(account),
        account,
    ))
}

pub(super) fn classic(account: &[u8]) -> String {
    bs58::encode([&[0], account].concat())
        .with_alphabet(Alphabet::RIPPLE)
        .with_check()
        .into_string()
}
