//! Addresses: the forms that can exist on each chain, one canonical form, and the reasons for refusals.
//!
//! Each family of encodings has one file. An error never contains the refused text, because it may be a
//! private key that was pasted by mistake ([`crate::secret`]).

mod base58;
mod bech32;
mod cardano;
mod cashaddr;
mod evm;
mod family;
mod form;
mod script;
mod segwit;
mod solana;
mod stacks;
mod stellar;
mod tron;
mod xrp;
mod zcash;

use crate::currency::Currency;
use crate::{hint, secret};

pub use evm::checksummed as evm_checksummed;
pub(crate) use family::exists_anywhere;
pub use form::{Address, AddressError, Kind, MAX_LENGTH};

impl Address {
    /// Parses an address of a chain, including checksums.
    ///
    /// # Errors
    /// Why the address cannot exist on the chain. The error never contains the text.
    pub fn parse(currency: Currency, text: &str) -> Result<Address, AddressError> {
        checked(text)?;
        let error = match family::parse(currency, text) {
            Ok(address) => return Ok(address),
            Err(error) => error,
        };
        if let Some(kind) = secret::recognise(text) {
            return Err(AddressError::Secret(kind));
        }
        let found: Vec<Currency> = Currency::ALL
            .into_iter()
            // Any 32 bytes are an address of Solana, so this would explain nothing.
            .filter(|other| *other != currency && *other != Currency::Sol)
            .filter(|other| family::parse(*other, text).is_ok())
            .collect();
        if !found.is_empty() {
            return Err(AddressError::OtherChain {
                asked: currency,
                found,
            });
        }
        Err(hint::instead_of_address(text).map_or(error, AddressError::Form))
    }

    /// The account's address on an EVM chain (or Syscoin's EVM), with its checksum.
    pub fn evm(currency: Currency, account: [u8; 20]) -> Address {
        evm::address(currency, account)
    }

    /// The address that an output script pays, if it has one: P2PKH, P2SH, witness programs. A script that
    /// pays a bare public key gets the address of the key's hash, as in explorers.
    pub fn of_script(currency: Currency, script: &[u8]) -> Option<Address> {
        script::address(currency, script)
    }

    /// The output script that pays this address, on chains with such scripts.
    pub fn script(&self) -> Option<Vec<u8>> {
        script::of(self)
    }

    /// A demo address of the given bytes; it uses only as many bytes as the chain's addresses have.
    pub(crate) fn demo(currency: Currency, bytes: &[u8; 32]) -> Option<Address> {
        let (hash, _) = bytes.split_first_chunk::<20>()?;
        let text = match currency {
            Currency::Eth | Currency::Etc | Currency::Bsc | Currency::Xdc => {
                return Some(Address::evm(currency, *hash));
            }
            Currency::Xrp => xrp::classic(hash),
            Currency::Xlm => stellar::account(bytes),
            Currency::Ada => cardano::enterprise(bytes.first_chunk::<28>()?)?,
            Currency::Stx => stacks::of_key_hash(hash),
            Currency::Sol => bs58::encode(bytes).into_string(),
            Currency::Trx => base58::encode(&[0x41], hash),
            _ => return Address::of_script(currency, &script::pay_to_key_hash(hash)),
        };
        Address::parse(currency, &text).ok()
    }
}

/// Refuses a text that no parser needs to see; a secret gets its own error.
pub(crate) fn checked(text: &str) -> Result<(), AddressError> {
    checked_form(text).map_err(|reason| match secret::recognise(text) {
        Some(kind) => AddressError::Secret(kind),
        None => hint::explain(text).map_or(reason, AddressError::Form),
    })
}

fn checked_form(text: &str) -> Result<(), AddressError> {
    if text.is_empty() {
        return Err(AddressError::Form("is empty"));
    }
    if text.len() > MAX_LENGTH {
        return Err(AddressError::Form("is longer than any address"));
    }
    if text.bytes().any(|byte| !byte.is_ascii_graphic()) {
        return Err(AddressError::Form(
            "has a space or another character that no address has",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
