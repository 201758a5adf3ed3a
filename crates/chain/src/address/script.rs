//! Converts between output scripts and addresses on Bitcoin-like chains.

use ripemd::Ripemd160;
use sha2::{Digest as _, Sha256};

use super::form::{Address, Kind};
use super::{base58, cashaddr, segwit};
use crate::currency::Currency;

const DUP: u8 = 0x76;
const HASH160: u8 = 0xa9;
const HASH256: u8 = 0xaa;
const EQUAL: u8 = 0x87;
const EQUALVERIFY: u8 = 0x88;
const CHECKSIG: u8 = 0xac;

pub(super) fn address(currency: Currency, script: &[u8]) -> Option<Address> {
    let versions = base58::versions(currency)?;
    let key_hash = |hash: &[u8]| match currency {
        Currency::Bch => Address::new(currency, Kind::P2pkh, cashaddr::encode(Kind::P2pkh, hash), hash),
        _ => base58::of_key_hash(currency, &versions, hash),
    };
    match script {
        [DUP, HASH160, 20, hash @ .., EQUALVERIFY, CHECKSIG] if hash.len() == 20 => Some(key_hash(hash)),
        [HASH160, 20, hash @ .., EQUAL] if hash.len() == 20 => Some(match currency {
            Currency::Bch => Address::new(currency, Kind::P2sh, cashaddr::encode(Kind::P2sh, hash), hash),
            _ => base58::of_script_hash(currency, &versions, hash),
        }),
        [HASH256, 32, hash @ .., EQUAL] if hash.len() == 32 && currency == Currency::Bch => {
            let canonical = cashaddr::encode(Kind::P2sh, hash);
            Some(Address::new(currency, Kind::P2sh, canonical, hash))
        }
        // A bare public key, compressed or not.
        [33, key @ .., CHECKSIG] if key.len() == 33 && matches!(key[0], 2 | 3) => {
            Some(key_hash(&hash160(key)))
        }
        [65, key @ .., CHECKSIG] if key.len() == 65 && key[0] == 4 => Some(key_hash(&hash160(key))),
        // A version, a push and a program.
        [version @ (0 | 0x51..=0x60), length @ 2..=40, program @ ..]
            if program.len() == usize::from(*length) =>
        {
            segwit::address(currency, version.saturating_sub(0x50), program)
        }
        _ => None,
    }
}

pub(super) fn pay_to_key_hash(hash: &[u8]) -> Vec<u8> {
    [&[DUP, HASH160, 20], hash, &[EQUALVERIFY, CHECKSIG]].concat()
}

pub(super) fn of(address: &Address) -> Option<Vec<u8>> {
    base58::versions(address.currency)?;
    let hash = address.payload.as_slice();
    Some(match address.kind {
        Kind::P2pkh | Kind::P2pkhLegacy | Kind::P2pkhToken | Kind::Tex => pay_to_key_hash(hash),
        Kind::P2sh | Kind::P2shLegacy | Kind::P2shToken if hash.len() == 32 => {
            [&[HASH256, 32], hash, &[EQUAL]].concat()
        }
        Kind::P2sh | Kind::P2shLegacy | Kind::P2shToken => [&[HASH160, 20], hash, &[EQUAL]].concat(),
        Kind::P2wpkh | Kind::P2wsh => [&[0, hash.len() as u8], hash].concat(),
        Kind::P2tr => [&[0x51, 32], hash].concat(),
        Kind::Witness(version) => [&[0x50 + version, hash.len() as u8], hash].concat(),
        _ => return None,
    })
}

/// RIPEMD-160 of SHA-256.
fn hash160(key: &[u8]) -> [u8; 20] {
    Ripemd160::digest(Sha256::digest(key)).into()
}
