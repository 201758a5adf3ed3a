//! Transaction ids: the forms that can exist on each chain, and one canonical form.
//!
//! Ids have no checksum, so a mistyped id is only noticed when a source does not find it.

use crate::address::{AddressError, checked, exists_anywhere};
use crate::currency::Currency;
use crate::{hint, secret};

/// A transaction id that can exist on its chain.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TransactionHash {
    /// The chain.
    pub currency: Currency,
    /// The canonical text: lower case, but upper case on the XRP Ledger and unchanged on Solana.
    pub canonical: String,
}

impl TransactionHash {
    /// The bytes of the id.
    pub fn bytes(&self) -> Vec<u8> {
        let digits = self.canonical.trim_start_matches("0x");
        hex::decode(digits)
            .or_else(|_| bs58::decode(&self.canonical).into_vec())
            .unwrap_or_default()
    }

    /// Parses a transaction id of a chain.
    ///
    /// # Errors
    /// Why the id cannot exist on the chain. The error never contains the text.
    pub fn parse(currency: Currency, text: &str) -> Result<TransactionHash, AddressError> {
        checked(text)?;
        // A Solana key pair has the length of a signature, so the check for secrets comes first.
        if let Some(kind) = secret::recognise(text) {
            return Err(AddressError::Secret(kind));
        }
        match canonical(currency, text) {
            Ok(canonical) => Ok(TransactionHash { currency, canonical }),
            Err(_) if exists_anywhere(text) => Err(AddressError::Form(
                "is an address, not a transaction hash: send it with type `address`",
            )),
            Err(reason) => Err(AddressError::Form(hint::explain(text).unwrap_or(reason))),
        }
    }
}

fn canonical(currency: Currency, text: &str) -> Result<String, &'static str> {
    let digits = text.strip_prefix("0x");
    let is_hash = |digits: &str| digits.len() == 64 && digits.bytes().all(|b| b.is_ascii_hexdigit());
    match currency {
        Currency::Sol => match bs58::decode(text).into_vec() {
            Ok(bytes) if bytes.len() == 64 => Ok(text.to_owned()),
            _ => Err("is no transaction signature: base58 of 64 bytes"),
        },
        Currency::Eth | Currency::Etc | Currency::Bsc | Currency::Xdc | Currency::Stx => match digits {
            Some(digits) if is_hash(digits) => Ok(format!("0x{}", digits.to_ascii_lowercase())),
            None if is_hash(text) => Err("lacks its prefix: send it as 0x…"),
            _ => Err("is no transaction hash: 0x and 64 hexadecimal digits"),
        },
        // Hashes of Syscoin's EVM have Ethereum's form.
        Currency::Sys if digits.is_some_and(is_hash) => Ok(text.to_ascii_lowercase()),
        _ if is_hash(text) => Ok(match currency {
            Currency::Xrp => text.to_ascii_uppercase(),
            _ => text.to_ascii_lowercase(),
        }),
        _ if digits.is_some_and(is_hash) => Err("has the prefix 0x, which this chain's hashes do not have"),
        _ => Err("is no transaction hash: 64 hexadecimal digits"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms() {
        let hex = "E26AB8F3372D2FC02DEC1FD5674ADAB762D684BFFDBBDF5D674E9D7CF4A47054";
        let lower = hex.to_ascii_lowercase();
        let prefixed = format!("0x{hex}");
        for (currency, text, canonical) in [
            (Currency::Btc, hex, Ok(lower.as_str())),
            (Currency::Xrp, lower.as_str(), Ok(hex)),
            (Currency::Eth, &prefixed, Ok(&format!("0x{lower}"))),
            (Currency::Stx, &prefixed, Ok(&format!("0x{lower}"))),
            (Currency::Sys, &prefixed, Ok(&format!("0x{lower}"))),
            (Currency::Sys, hex, Ok(&lower)),
            (Currency::Eth, hex, Err("lacks its prefix")),
            (Currency::Btc, &prefixed, Err("has the prefix 0x")),
            (Currency::Btc, &hex[1..], Err("64 hexadecimal")),
            (Currency::Sol, hex, Err("base58 of 64 bytes")),
            (
                Currency::Eth,
                "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
                Err("is an address"),
            ),
            (Currency::Btc, "", Err("is empty")),
        ] {
            let got = TransactionHash::parse(currency, text);
            match canonical {
                Ok(canonical) => assert_eq!(got.unwrap().canonical, canonical),
                Err(part) => assert!(got.unwrap_err().to_string().contains(part), "{currency} {part}"),
            }
        }
    }

    #[test]
    fn a_solana_key_pair_is_no_signature() {
        // A key pair of the seed 1, 2, 3 … 32 in base58, as `solana-keygen` writes it.
        let seed: Vec<u8> = (1..=32).collect();
        let pair = ring::signature::Ed25519KeyPair::from_seed_unchecked(&seed).unwrap();
        let public = ring::signature::KeyPair::public_key(&pair).as_ref();
        let secret = bs58::encode([&seed, public].concat()).into_string();
        for error in [
            TransactionHash::parse(Currency::Sol, &secret).unwrap_err(),
            crate::address::Address::parse(Currency::Sol, &secret).unwrap_err(),
        ] {
            assert!(matches!(error, AddressError::Secret(_)));
            assert!(!error.to_string().contains(&secret));
        }
        let signature = bs58::encode(pair.sign(b"message").as_ref()).into_string();
        assert!(TransactionHash::parse(Currency::Sol, &signature).is_ok());
    }
}
