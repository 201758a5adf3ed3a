//! Zcash: transparent, TEX (ZIP 320), unified (ZIP 316), Sapling and Sprout addresses.

use blake2::Blake2bVarCore;
use blake2::digest::block_api::{Buffer, UpdateCore as _, VariableOutputCore as _};
use bs58::Alphabet;

use super::base58;
use super::bech32::{self, Decoded, Variant};
use super::form::{Address, AddressError, Kind};
use crate::currency::Currency;

pub(super) fn parse(text: &str) -> Result<Address, AddressError> {
    match bech32::hrp(text).as_deref() {
        Some("u") => unified(text),
        Some("tex") => tex(text),
        Some("zs") => sapling(text),
        Some("utest" | "uregtest" | "textest" | "texregtest" | "ztestsapling" | "zregtestsapling") => {
            bech32::decode(text).and(Err(AddressError::TestNetwork))
        }
        _ => transparent_or_sprout(text),
    }
}

fn transparent_or_sprout(text: &str) -> Result<Address, AddressError> {
    let bytes = base58::decode(text, Alphabet::BITCOIN)?;
    match bytes.as_slice() {
        [0x16, 0x9a, keys @ ..] if keys.len() == 64 => {
            Ok(Address::new(Currency::Zec, Kind::Sprout, text, keys))
        }
        [0x16, 0xb6, keys @ ..] if keys.len() == 64 => Err(AddressError::TestNetwork),
        _ => base58::parse(Currency::Zec, text),
    }
}

/// A TEX address has the same key hash as a t1 address, so it has the same money and history.
fn tex(text: &str) -> Result<Address, AddressError> {
    let Decoded { variant, data } = bech32::decode(text)?;
    let hash = bech32::bytes(&data)?;
    if variant != Variant::Bech32m {
        return Err(AddressError::Checksum);
    }
    if hash.len() != 20 {
        return Err(AddressError::Form("does not hold a hash of 20 bytes"));
    }
    let canonical = base58::encode(&[0x1c, 0xb8], &hash);
    Ok(Address::new(Currency::Zec, Kind::Tex, canonical, hash))
}

fn sapling(text: &str) -> Result<Address, AddressError> {
    let Decoded { variant, data } = bech32::decode(text)?;
    let bytes = bech32::bytes(&data)?;
    if variant != Variant::Bech32 {
        return Err(AddressError::Checksum);
    }
    if bytes.len() != 43 {
        return Err(AddressError::Form("does not hold 43 bytes"));
    }
    Ok(Address::new(
        Currency::Zec,
        Kind::Sapling,
        text.to_ascii_lowercase(),
        bytes,
    ))
}

/// The allowed lengths of a jumbled text in bytes (ZIP 316).
const JUMBLED: std::ops::RangeInclusive<usize> = 48..=4_194_368;

fn unified(text: &str) -> Result<Address, AddressError> {
    let Decoded { variant, data } = bech32::decode(text)?;
    if variant != Variant::Bech32m {
        return Err(AddressError::Checksum);
    }
    let mut bytes = bech32::bytes(&data)?;
    if !JUMBLED.contains(&bytes.len()) {
        return Err(AddressError::Form("is too short for a unified address"));
    }
    unjumble(&mut bytes);
    // The last 16 bytes repeat the prefix, as a second checksum.
    let receivers = bytes.len() - 16;
    if bytes[receivers] != b'u' || bytes[receivers + 1..].iter().any(|byte| *byte != 0) {
        return Err(AddressError::Checksum);
    }
    bytes.truncate(receivers);
    check_receivers(&bytes).ok_or(AddressError::Form(
        "has receivers that ZIP 316 does not allow in a unified address",
    ))?;
    Ok(Address::new(
        Currency::Zec,
        Kind::Unified,
        text.to_ascii_lowercase(),
        bytes,
    ))
}

/// Checks the receivers, each with type, length and bytes. Types must ascend, with at most one transparent
/// receiver and at least one shielded or other.
fn check_receivers(mut bytes: &[u8]) -> Option<()> {
    let mut before = None;
    let mut shielded = false;
    while !bytes.is_empty() {
        let kind = compact_size(&mut bytes)?;
        let length = compact_size(&mut bytes)?;
        let (_, rest) = bytes.split_at_checked(usize::try_from(length).ok()?)?;
        bytes = rest;
        let right = match kind {
            // A key hash, or a script hash, which excludes the key hash.
            0 => length == 20,
            1 => length == 20 && before != Some(0),
            // Sapling and Orchard.
            2 | 3 => length == 43,
            // These types may not be skipped by software that does not support them.
            0xe0..=0xfc => false,
            _ => kind <= 0x0200_0000,
        };
        if !right || before.is_some_and(|before| before >= kind) {
            return None;
        }
        shielded |= kind >= 2;
        before = Some(kind);
    }
    shielded.then_some(())
}

/// Bitcoin's variable-length number, in its shortest form.
fn compact_size(bytes: &mut &[u8]) -> Option<u64> {
    let (&first, rest) = bytes.split_first()?;
    let (length, least) = match first {
        0xfd => (2, 0xfd),
        0xfe => (4, 0x1_0000),
        0xff => (8, 0x1_0000_0000),
        value => {
            *bytes = rest;
            return Some(u64::from(value));
        }
    };
    let (number, rest) = rest.split_at_checked(length)?;
    *bytes = rest;
    let number = number
        .iter()
        .rev()
        .fold(0_u64, |value, byte| value << 8 | u64::from(*byte));
    (number >= least).then_some(number)
}

/// The inverse of F4Jumble (ZIP 316): four rounds of Feistel over the halves.
fn unjumble(bytes: &mut [u8]) {
    let left = (bytes.len() / 2).min(64);
    let (left, right) = bytes.split_at_mut(left);
    h_round(1, left, right);
    g_round(1, left, right);
    h_round(0, left, right);
    g_round(0, left, right);
}

/// `left ^= H_i(right)`.
fn h_round(round: u8, left: &mut [u8], right: &[u8]) {
    let mut personal = *b"UA_F4Jumble_H\0\0\0";
    personal[13] = round;
    let hash = blake2b(&personal, left.len(), right);
    xor(left, &hash);
}

/// `right ^= G_i(left)`.
fn g_round(round: u8, left: &[u8], right: &mut [u8]) {
    for (at, part) in right.chunks_mut(64).enumerate() {
        let mut personal = *b"UA_F4Jumble_G\0\0\0";
        personal[13] = round;
        // 4,194,368 bytes have fewer than 2^16 parts.
        personal[14..].copy_from_slice(&(at as u16).to_le_bytes());
        xor(part, &blake2b(&personal, 64, left));
    }
}

fn xor(target: &mut [u8], with: &[u8]) {
    target.iter_mut().zip(with).for_each(|(a, b)| *a ^= b);
}

fn blake2b(personal: &[u8; 16], length: usize, input: &[u8]) -> [u8; 64] {
    let mut core = Blake2bVarCore::new_with_params(&[], personal, 0, length);
    let mut buffer = Buffer::<Blake2bVarCore>::default();
    buffer.digest_blocks(input, |blocks| core.update_blocks(blocks));
    let mut out = Default::default();
    core.finalize_variable_core(&mut buffer, &mut out);
    out.into()
}

#[cfg(test)]
pub(super) fn jumbled(mut bytes: Vec<u8>) -> Vec<u8> {
    let left = (bytes.len() / 2).min(64);
    let (left, right) = bytes.split_at_mut(left);
    g_round(0, left, right);
    h_round(0, left, right);
    g_round(1, left, right);
    h_round(1, left, right);
    bytes
}
