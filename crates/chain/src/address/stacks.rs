//! Stacks: c32check, which is Crockford's base32 with a version and a checksum of four bytes (SIP-005).

use sha2::{Digest as _, Sha256};

use super::form::{Address, AddressError, Kind};
use crate::currency::Currency;

const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

pub(super) fn parse(text: &str) -> Result<Address, AddressError> {
    let digits: Option<Vec<u8>> = text
        .strip_prefix('S')
        .filter(|rest| rest.len() >= 2)
        .and_then(|rest| {
            rest.bytes()
                .map(|byte| ALPHABET.iter().position(|c| *c == byte).map(|at| at as u8))
                .collect()
        });
    let Some(digits) = digits else {
        return Err(AddressError::Form(if text.contains('.') {
            "is a contract; screen the account before the full stop"
        } else {
            "is no Stacks address (SP… or SM…, in upper case, without I, L, O and U)"
        }));
    };
    let (version, digits) = (digits[0], &digits[1..]);
    const LENGTH: AddressError = AddressError::Form("does not hold a hash of 20 bytes");
    let bytes = decode(digits).ok_or(LENGTH)?;
    let (hash, sum) = bytes.split_at(20);
    if checksum(version, hash) != sum {
        return Err(AddressError::Checksum);
    }
    // Each number has only one valid text, with as many leading zeros as leading zero bytes.
    if encode(&bytes) != digits {
        return Err(LENGTH);
    }
    let kind = match version {
        22 => Kind::P2pkh,
        20 => Kind::P2sh,
        26 | 21 => return Err(AddressError::TestNetwork),
        _ => {
            return Err(AddressError::Form(
                "has a version that does not exist (SP… or SM… do)",
            ));
        }
    };
    Ok(Address::new(Currency::Stx, kind, text, hash))
}

/// The text of the address of a key hash.
pub(super) fn of_key_hash(hash: &[u8; 20]) -> String {
    let mut bytes = [0; 24];
    bytes[..20].copy_from_slice(hash);
    bytes[20..].copy_from_slice(&checksum(22, hash));
    let digits = encode(&bytes)
        .into_iter()
        .map(|digit| char::from(ALPHABET[usize::from(digit)]));
    ['S', 'P'].into_iter().chain(digits).collect()
}

/// Converts digits of five bits to a number of 24 bytes, if it fits.
fn decode(digits: &[u8]) -> Option<[u8; 24]> {
    let mut bytes = [0_u8; 24];
    for digit in digits {
        let mut carry = u32::from(*digit);
        for byte in bytes.iter_mut().rev() {
            carry |= u32::from(*byte) << 5;
            *byte = carry as u8;
            carry >>= 8;
        }
        if carry != 0 {
            return None;
        }
    }
    Some(bytes)
}

fn encode(bytes: &[u8; 24]) -> Vec<u8> {
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    // 24 bytes fit into 39 digits of five bits; the first digit's upper three bits are zero.
    let bit = |at: usize| {
        at.checked_sub(3)
            .map_or(0, |at| bytes[at / 8] >> (7 - at % 8) & 1)
    };
    let digits = (0..39).map(|digit| (0..5).fold(0, |value, at| value << 1 | bit(digit * 5 + at)));
    let mut out = vec![0; zeros];
    out.extend(digits.skip_while(|digit| *digit == 0));
    out
}

fn checksum(version: u8, hash: &[u8]) -> [u8; 4] {
    let once = Sha256::new()
        .chain_update([version])
        .chain_update(hash)
        .finalize();
    let twice = Sha256::digest(once);
    [twice[0], twice[1], twice[2], twice[3]]
}
