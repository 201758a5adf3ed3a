//! Witness programs of Bitcoin, Litecoin and Syscoin (BIP 173, BIP 350), and Litecoin's MWEB addresses.

use ::bech32::{Fe32, Hrp, segwit};

use super::bech32::{self, Decoded, Variant};
use super::form::{Address, AddressError, Kind};
use crate::currency::Currency;

pub(super) fn hrp(currency: Currency) -> Option<&'static str> {
    match currency {
        Currency::Btc => Some("bc"),
        Currency::Ltc => Some("ltc"),
        Currency::Sys => Some("sys"),
        _ => None,
    }
}

const TEST_HRPS: [&str; 8] = ["tb", "bcrt", "tltc", "rltc", "tsys", "scrt", "tmweb", "tb4"];

/// The parsed address or its error; `None` when the text does not begin like this chain's bech32.
pub(super) fn parse(currency: Currency, text: &str) -> Option<Result<Address, AddressError>> {
    let found = bech32::hrp(text)?;
    if TEST_HRPS.contains(&found.as_str()) {
        return Some(bech32::decode(text).and(Err(AddressError::TestNetwork)));
    }
    if currency == Currency::Ltc && found == "ltcmweb" {
        return Some(mweb(text));
    }
    (Some(found.as_str()) == hrp(currency)).then(|| program(currency, text))
}

fn program(currency: Currency, text: &str) -> Result<Address, AddressError> {
    if text.len() > 90 {
        return Err(AddressError::Form("is longer than a witness program's address"));
    }
    let Decoded { variant, data } = bech32::decode(text)?;
    let Some((&version, groups)) = data.split_first() else {
        return Err(AddressError::Form("has no data"));
    };
    let right = if version == 0 {
        Variant::Bech32
    } else {
        Variant::Bech32m
    };
    if variant != right {
        return Err(AddressError::Form(
            "has the checksum of another witness version (BIP 350)",
        ));
    }
    if version > 16 {
        return Err(AddressError::Form("has a witness version above 16"));
    }
    let program = bech32::bytes(groups)?;
    address(currency, version, &program).ok_or(AddressError::Form(
        "has a witness program of a length that its version does not allow",
    ))
}

/// The address of a witness program, if its version and length are valid.
pub(super) fn address(currency: Currency, version: u8, program: &[u8]) -> Option<Address> {
    let kind = match (version, program.len()) {
        (0, 20) => Kind::P2wpkh,
        (0, 32) => Kind::P2wsh,
        (0, _) => return None,
        (1, 32) => Kind::P2tr,
        (1..=16, 2..=40) => Kind::Witness(version),
        _ => return None,
    };
    let hrp = Hrp::parse(hrp(currency)?).ok()?;
    let version = Fe32::try_from(version).ok()?;
    let canonical = segwit::encode(hrp, version, program).ok()?;
    Some(Address::new(currency, kind, canonical, program))
}

/// A stealth address of two public keys (LIP 0004); `chainparams.cpp`: `mweb_hrp`.
fn mweb(text: &str) -> Result<Address, AddressError> {
    let Decoded { variant, data } = bech32::decode(text)?;
    let keys = match data.split_first() {
        Some((0, groups)) if variant == Variant::Bech32 => bech32::bytes(groups)?,
        _ => return Err(AddressError::Form("has an unknown version of MWEB addresses")),
    };
    let compressed = |key: &[u8]| matches!(key.first(), Some(2 | 3));
    if keys.len() != 66 || !compressed(&keys) || !compressed(&keys[33..]) {
        return Err(AddressError::Form("does not hold two public keys"));
    }
    Ok(Address::new(
        Currency::Ltc,
        Kind::Mweb,
        text.to_ascii_lowercase(),
        keys,
    ))
}
