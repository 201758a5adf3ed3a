//! The parts of bech32 and bech32m (BIP 173, BIP 350) that several address formats share.

use ::bech32::primitives::decode::{CheckedHrpstring, UncheckedHrpstring};
use ::bech32::{Bech32, Bech32m};

use super::form::AddressError;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Variant {
    Bech32,
    Bech32m,
}

/// A decoded text: the variant of its checksum, and its data in groups of five bits.
pub(super) struct Decoded {
    pub(super) variant: Variant,
    pub(super) data: Vec<u8>,
}

/// The human-readable part in lower case, if the text's characters suit bech32.
pub(super) fn hrp(text: &str) -> Option<String> {
    let (hrp, data) = text.rsplit_once('1')?;
    let plausible = !hrp.is_empty() && data.len() >= 6 && data.bytes().all(|b| b.is_ascii_alphanumeric());
    plausible.then(|| hrp.to_ascii_lowercase())
}

pub(super) fn decode(text: &str) -> Result<Decoded, AddressError> {
    if UncheckedHrpstring::new(text).is_err() {
        let mixed =
            text.bytes().any(|b| b.is_ascii_lowercase()) && text.bytes().any(|b| b.is_ascii_uppercase());
        return Err(AddressError::Form(if mixed {
            "mixes upper and lower case, which bech32 forbids"
        } else {
            "has a character that bech32 does not have (1, b, i, o after the separator)"
        }));
    }
    let (variant, checked) = match CheckedHrpstring::new::<Bech32m>(text) {
        Ok(checked) => (Variant::Bech32m, checked),
        Err(_) => match CheckedHrpstring::new::<Bech32>(text) {
            Ok(checked) => (Variant::Bech32, checked),
            Err(_) => return Err(AddressError::Checksum),
        },
    };
    Ok(Decoded {
        variant,
        data: checked.fe32_iter().map(|group| group.to_u8()).collect(),
    })
}

/// Converts groups of five bits to bytes. The remaining bits must be fewer than five and zero.
pub(super) fn bytes(groups: &[u8]) -> Result<Vec<u8>, AddressError> {
    let mut out = Vec::with_capacity(groups.len() * 5 / 8);
    let (mut bits, mut count) = (0_u32, 0);
    for group in groups {
        bits = (bits << 5) | u32::from(*group);
        count += 5;
        if count >= 8 {
            count -= 8;
            out.push((bits >> count) as u8);
            bits &= (1 << count) - 1;
        }
    }
    if count >= 5 || bits != 0 {
        return Err(AddressError::Form(
            "has padding bits that are not zero, or too many",
        ));
    }
    Ok(out)
}
