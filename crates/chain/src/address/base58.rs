//! Bitcoin's base58 with a checksum of four bytes: version bytes and a hash of 20 bytes.
//!
//! Sources: each chain's `chainparams.cpp` (`base58Prefixes`), Zcash protocol specification §5.6.

use bs58::Alphabet;
use bs58::decode::Error;

use super::form::{Address, AddressError, Kind};
use crate::currency::Currency;

/// Decodes base58 and checks the checksum in the last four bytes.
pub(super) fn decode(text: &str, alphabet: &Alphabet) -> Result<Vec<u8>, AddressError> {
    match bs58::decode(text)
        .with_alphabet(alphabet)
        .with_check(None)
        .into_vec()
    {
        Ok(bytes) => Ok(bytes),
        Err(Error::InvalidChecksum { .. }) => Err(AddressError::Checksum),
        Err(Error::InvalidCharacter { .. } | Error::NonAsciiCharacter { .. }) => Err(AddressError::Form(
            "has a character that base58 does not have (0, O, I, l, or a sign)",
        )),
        Err(_) => Err(AddressError::Form("is too short for an address")),
    }
}

/// Encodes version bytes and a payload with their checksum.
pub(super) fn encode(version: &[u8], payload: &[u8]) -> String {
    bs58::encode([version, payload].concat())
        .with_check()
        .into_string()
}

/// The version bytes of a chain's key hashes and script hashes. Encoders write the first of several script
/// versions.
pub(super) struct Versions {
    pub(super) key: &'static [u8],
    pub(super) script: &'static [&'static [u8]],
    test: &'static [&'static [u8]],
}

pub(super) fn versions(currency: Currency) -> Option<Versions> {
    let versions = |key, script, test| Some(Versions { key, script, test });
    match currency {
        Currency::Btc | Currency::Bch | Currency::Bsv => versions(&[0], &[&[5]], &[&[0x6f], &[0xc4]]),
        Currency::Ltc => versions(&[0x30], &[&[0x32], &[5]], &[&[0x6f], &[0xc4], &[0x3a]]),
        Currency::Doge => versions(&[0x1e], &[&[0x16]], &[&[0x71], &[0xc4], &[0x6f]]),
        Currency::Dash => versions(&[0x4c], &[&[0x10]], &[&[0x8c], &[0x13]]),
        Currency::Sys => versions(&[0x3f], &[&[5]], &[&[0x41], &[0xc4], &[0x6f]]),
        Currency::Zec => versions(&[0x1c, 0xb8], &[&[0x1c, 0xbd]], &[&[0x1d, 0x25], &[0x1c, 0xba]]),
        _ => None,
    }
}

/// Parses an address of a Bitcoin-like chain.
pub(super) fn parse(currency: Currency, text: &str) -> Result<Address, AddressError> {
    const OTHER: AddressError = AddressError::Form("has a version that this chain's addresses do not have");
    let bytes = decode(text, Alphabet::BITCOIN)?;
    let versions = versions(currency).ok_or(OTHER)?;
    let Some((version, hash)) = bytes.len().checked_sub(20).map(|at| bytes.split_at(at)) else {
        return Err(AddressError::Form("is too short for an address"));
    };
    if version == versions.key {
        Ok(of_key_hash(currency, &versions, hash))
    } else if versions.script.contains(&version) {
        Ok(of_script_hash(currency, &versions, hash))
    } else if versions.test.contains(&version) {
        Err(AddressError::TestNetwork)
    } else {
        Err(OTHER)
    }
}

pub(super) fn of_key_hash(currency: Currency, versions: &Versions, hash: &[u8]) -> Address {
    Address::new(currency, Kind::P2pkh, encode(versions.key, hash), hash)
}

pub(super) fn of_script_hash(currency: Currency, versions: &Versions, hash: &[u8]) -> Address {
    // Litecoin first wrote script hashes with Bitcoin's version; both forms are the same script.
    let canonical = encode(versions.script[0], hash);
    Address::new(currency, Kind::P2sh, canonical, hash)
}
