//! Bitcoin Cash: cashaddr with or without its prefix, or Bitcoin's legacy form.
//!
//! Source: the CashAddr specification (bitcoincashorg), with CashTokens' token-aware types (CHIP-2022-02).

use super::base58;
use super::form::{Address, AddressError, Kind};
use crate::currency::Currency;

const CHARSET: &[u8; 32] = b"qpzry9x8gf2tvdw0s3jn54khce6mua7l";
const PREFIX: &str = "bitcoincash";
const TEST_PREFIXES: [&str; 2] = ["bchtest", "bchreg"];

pub(super) fn parse(text: &str) -> Result<Address, AddressError> {
    let (prefix, data) = match text.split_once(':') {
        Some((prefix, data)) => (Some(prefix), data),
        None => (None, text),
    };
    // The first character distinguishes the forms: a legacy address begins with 1 or 3, and cashaddr's
    // alphabet does not use these for the type.
    if prefix.is_none()
        && !matches!(
            data.as_bytes().first(),
            Some(b'q' | b'p' | b'z' | b'r' | b'Q' | b'P' | b'Z' | b'R')
        )
    {
        return legacy(text);
    }
    let lower = data.to_ascii_lowercase();
    let upper = text.bytes().any(|b| b.is_ascii_uppercase());
    if upper && text.bytes().any(|b| b.is_ascii_lowercase()) {
        return Err(AddressError::Form(
            "mixes upper and lower case, which cashaddr forbids",
        ));
    }
    let prefix = prefix.unwrap_or(PREFIX).to_ascii_lowercase();
    let groups = groups(&lower)?;
    if checksum(&prefix, &groups) != 0 {
        let test = TEST_PREFIXES.iter().any(|p| checksum(p, &groups) == 0);
        return Err(if test {
            AddressError::TestNetwork
        } else {
            AddressError::Checksum
        });
    }
    if TEST_PREFIXES.contains(&prefix.as_str()) {
        return Err(AddressError::TestNetwork);
    }
    if prefix != PREFIX {
        return Err(AddressError::Form(
            "has the prefix of another chain than Bitcoin Cash",
        ));
    }
    let payload = super::bech32::bytes(&groups[..groups.len() - 8])?;
    let Some((&version, hash)) = payload.split_first() else {
        return Err(AddressError::Form("has no data"));
    };
    // The version byte: a zero bit, four bits of type, three of size (the specification's table).
    const SIZES: [usize; 8] = [20, 24, 28, 32, 40, 48, 56, 64];
    if version & 0x80 != 0 || SIZES[usize::from(version & 7)] != hash.len() {
        return Err(AddressError::Form(
            "has a hash of another length than its version says",
        ));
    }
    let kind = match (version >> 3, hash.len()) {
        (0, 20) => Kind::P2pkh,
        (1, 20 | 32) => Kind::P2sh,
        (2, 20) => Kind::P2pkhToken,
        (3, 20 | 32) => Kind::P2shToken,
        _ => return Err(AddressError::Form("has a type that does not exist")),
    };
    Ok(Address::new(Currency::Bch, kind, encode(kind, hash), hash))
}

fn legacy(text: &str) -> Result<Address, AddressError> {
    let address = base58::parse(Currency::Bch, text)?;
    let kind = match address.kind {
        Kind::P2sh => Kind::P2shLegacy,
        _ => Kind::P2pkhLegacy,
    };
    let canonical = encode(kind, &address.payload);
    Ok(Address {
        kind,
        canonical,
        ..address
    })
}

/// The canonical form: with prefix, in lower case, without the token flag, which does not change the owner.
pub(super) fn encode(kind: Kind, hash: &[u8]) -> String {
    let script = matches!(kind, Kind::P2sh | Kind::P2shLegacy | Kind::P2shToken);
    let version = (u8::from(script) << 3) | if hash.len() == 32 { 3 } else { 0 };
    let mut groups = Vec::with_capacity(64);
    let (mut bits, mut count) = (0_u32, 0);
    for byte in std::iter::once(&version).chain(hash) {
        bits = (bits << 8) | u32::from(*byte);
        count += 8;
        while count >= 5 {
            count -= 5;
            groups.push((bits >> count) as u8 & 31);
        }
    }
    if count > 0 {
        groups.push((bits << (5 - count)) as u8 & 31);
    }
    let mut with_zeros = groups.clone();
    with_zeros.extend([0; 8]);
    let sum = checksum(PREFIX, &with_zeros);
    groups.extend((0..8).rev().map(|at| (sum >> (5 * at)) as u8 & 31));
    let data: String = groups
        .iter()
        .map(|g| char::from(CHARSET[usize::from(*g)]))
        .collect();
    format!("{PREFIX}:{data}")
}

fn groups(data: &str) -> Result<Vec<u8>, AddressError> {
    let groups: Option<Vec<u8>> = data
        .bytes()
        .map(|byte| CHARSET.iter().position(|c| *c == byte).map(|at| at as u8))
        .collect();
    match groups {
        Some(groups) if groups.len() > 8 => Ok(groups),
        Some(_) => Err(AddressError::Form("is too short for an address")),
        None => Err(AddressError::Form("has a character that cashaddr does not have")),
    }
}

/// The checksum, which is zero for a valid address.
fn checksum(prefix: &str, groups: &[u8]) -> u64 {
    const GENERATOR: [u64; 5] = [
        0x98_f2bc_8e61,
        0x79_b76d_99e2,
        0xf3_3e5f_b3c4,
        0xae_2eab_e2a8,
        0x1e_4f43_e470,
    ];
    let mut sum = 1_u64;
    let prefix = prefix.bytes().map(|byte| byte & 31).chain([0]);
    for group in prefix.chain(groups.iter().copied()) {
        let top = sum >> 35;
        sum = ((sum & 0x07_ffff_ffff) << 5) ^ u64::from(group);
        for (bit, generator) in GENERATOR.iter().enumerate() {
            if top >> bit & 1 == 1 {
                sum ^= generator;
            }
        }
    }
    sum ^ 1
}
