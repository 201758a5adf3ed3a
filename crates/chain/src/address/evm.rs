//! Accounts of EVM chains: 20 bytes in hexadecimal, whose case may be a checksum (EIP-55).
//!
//! The same text is a different account on each chain.

use sha3::{Digest as _, Keccak256};

use super::form::{Address, AddressError, Kind};
use crate::currency::Currency;

pub(super) fn parse(currency: Currency, text: &str) -> Result<Address, AddressError> {
    let prefixed = text
        .strip_prefix("0x")
        .or_else(|| text.strip_prefix("xdc").filter(|_| currency == Currency::Xdc));
    let Some(digits) = prefixed else {
        let bare = text.len() == 40 && text.bytes().all(|b| b.is_ascii_hexdigit());
        return Err(AddressError::Form(match (bare, currency) {
            (true, Currency::Xdc) => "lacks its prefix: send it as xdc… or 0x…",
            (true, _) => "lacks its prefix: send it as 0x…",
            (_, Currency::Xdc) => "does not begin with xdc or 0x",
            _ => "does not begin with 0x",
        }));
    };
    if !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Err(AddressError::Form("has a character that is no hexadecimal digit"));
    }
    let mut account = [0; 20];
    if hex::decode_to_slice(digits, &mut account).is_err() {
        return Err(AddressError::Form(match digits.len() {
            64 => "has 64 hexadecimal digits, as a transaction hash or a private key has; an address has 40",
            _ => "does not have 40 hexadecimal digits",
        }));
    }
    let upper = digits.bytes().any(|b| b.is_ascii_uppercase());
    let lower = digits.bytes().any(|b| b.is_ascii_lowercase());
    if upper && lower && digits != checksummed(&account) {
        return Err(AddressError::Checksum);
    }
    Ok(address(currency, account))
}

pub(super) fn address(currency: Currency, account: [u8; 20]) -> Address {
    let prefix = if currency == Currency::Xdc { "xdc" } else { "0x" };
    let canonical = format!("{prefix}{}", checksummed(&account));
    Address::new(currency, Kind::Account, canonical, account)
}

/// The 40 digits in the case that EIP-55 defines.
pub fn checksummed(account: &[u8; 20]) -> String {
    let lower = hex::encode(account);
    let hash = Keccak256::digest(lower.as_bytes());
    lower
        .bytes()
        .enumerate()
        .map(|(at, digit)| {
            let nibble = hash[at / 2] >> (4 * (1 - at % 2)) & 15;
            char::from(if nibble >= 8 {
                digit.to_ascii_uppercase()
            } else {
                digit
            })
        })
        .collect()
}
