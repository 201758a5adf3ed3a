//! Cardano: Shelley addresses (CIP-19, bech32) and Byron ones (base58 of CBOR with a CRC).

use super::bech32::{self, Decoded, Variant};
use super::form::{Address, AddressError, Kind};
use crate::currency::Currency;

/// The main network's protocol magic, which its Byron addresses omit.
const MAIN_MAGIC: u64 = 764_824_073;

pub(super) fn parse(text: &str) -> Result<Address, AddressError> {
    match bech32::hrp(text).as_deref() {
        Some(hrp @ ("addr" | "stake" | "addr_test" | "stake_test")) => shelley(hrp, text),
        _ => byron(text),
    }
}

fn shelley(hrp: &str, text: &str) -> Result<Address, AddressError> {
    let Decoded { variant, data } = bech32::decode(text)?;
    if variant != Variant::Bech32 {
        return Err(AddressError::Checksum);
    }
    if hrp.ends_with("_test") {
        return Err(AddressError::TestNetwork);
    }
    let bytes = bech32::bytes(&data)?;
    let Some((&header, body)) = bytes.split_first() else {
        return Err(AddressError::Form("has no data"));
    };
    let kind = match (header >> 4, body.len()) {
        (0..=3, 56) => Kind::Base,
        (4 | 5, 29..) if is_pointer(&body[28..]) => Kind::Pointer,
        (6 | 7, 28) => Kind::Enterprise,
        (14 | 15, 28) => Kind::Stake,
        (8, _) => {
            return Err(AddressError::Form(
                "is a Byron address, which is never written in bech32",
            ));
        }
        (9..=13, _) => return Err(AddressError::Form("has a type that does not exist")),
        _ => return Err(AddressError::Form("has another length than its type says")),
    };
    match header & 15 {
        1 => {}
        0 => return Err(AddressError::TestNetwork),
        _ => return Err(AddressError::Form("belongs to a network that does not exist")),
    }
    if (kind == Kind::Stake) != (hrp == "stake") {
        return Err(AddressError::Form(
            "has the prefix of another type than it says inside",
        ));
    }
    Ok(Address::new(
        Currency::Ada,
        kind,
        text.to_ascii_lowercase(),
        bytes,
    ))
}

/// The text of the enterprise address of a key hash.
pub(super) fn enterprise(hash: &[u8; 28]) -> Option<String> {
    let hrp = ::bech32::Hrp::parse("addr").ok()?;
    let bytes = [&[0x61], hash.as_slice()].concat();
    ::bech32::encode::<::bech32::Bech32>(hrp, &bytes).ok()
}

/// Whether the bytes are exactly three numbers of variable length (slot, transaction, certificate).
fn is_pointer(mut bytes: &[u8]) -> bool {
    for _ in 0..3 {
        let Some(last) = bytes.iter().position(|byte| byte & 0x80 == 0) else {
            return false;
        };
        // Ten groups of seven bits suffice for any 64-bit number.
        if last >= 10 {
            return false;
        }
        bytes = &bytes[last + 1..];
    }
    bytes.is_empty()
}

fn byron(text: &str) -> Result<Address, AddressError> {
    const NO: AddressError = AddressError::Form("is no Cardano address (addr1…, stake1…, Ae2… or DdzFF…)");
    let bytes = bs58::decode(text).into_vec().map_err(|_| NO)?;
    // [#6.24(bytes), crc32]
    let mut outer = Cbor(&bytes);
    let inside = outer
        .array(2)
        .and_then(|()| outer.tag(24))
        .and_then(|()| outer.bytes());
    let (Some(inside), Some(sum)) = (inside, outer.unsigned()) else {
        return Err(NO);
    };
    if u64::from(crc32fast::hash(inside)) != sum {
        return Err(AddressError::Checksum);
    }
    // [hash (28 bytes), attributes, type]
    let mut inner = Cbor(inside);
    let root = inner.array(3).and_then(|()| inner.bytes());
    let attributes = inner.map();
    let (Some(28), Some(attributes)) = (root.map(<[u8]>::len), attributes) else {
        return Err(NO);
    };
    for _ in 0..attributes {
        let (Some(key), Some(value)) = (inner.unsigned(), inner.bytes()) else {
            return Err(NO);
        };
        if key == 2 {
            match Cbor(value).unsigned() {
                Some(MAIN_MAGIC) => {}
                Some(_) => return Err(AddressError::TestNetwork),
                None => return Err(NO),
            }
        }
    }
    let complete = inner.unsigned().is_some() && inner.0.is_empty() && outer.0.is_empty();
    if !complete {
        return Err(NO);
    }
    Ok(Address::new(Currency::Ada, Kind::Byron, text, bytes))
}

/// A reader of the part of CBOR (RFC 8949) that Byron addresses use.
struct Cbor<'a>(&'a [u8]);

impl<'a> Cbor<'a> {
    /// The argument of an item of a major type.
    fn head(&mut self, major: u8) -> Option<u64> {
        let (&first, rest) = self.0.split_first()?;
        if first >> 5 != major {
            return None;
        }
        let (length, rest) = match first & 31 {
            value @ 0..=23 => {
                self.0 = rest;
                return Some(u64::from(value));
            }
            info @ 24..=27 => (1_usize << (info - 24), rest),
            _ => return None,
        };
        let (argument, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        Some(
            argument
                .iter()
                .fold(0, |value, byte| value << 8 | u64::from(*byte)),
        )
    }

    fn unsigned(&mut self) -> Option<u64> {
        self.head(0)
    }

    fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.head(2)?).ok()?;
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes)
    }

    fn array(&mut self, length: u64) -> Option<()> {
        (self.head(4)? == length).then_some(())
    }

    fn map(&mut self) -> Option<u64> {
        self.head(5)
    }

    fn tag(&mut self, tag: u64) -> Option<()> {
        (self.head(6)? == tag).then_some(())
    }
}
