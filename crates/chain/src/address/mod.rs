//! Addresses: what can exist on each chain, in one canonical form, and why what cannot exist cannot.
//!
//! One file a family of encodings. A text that is refused is never part of the error: it may be a private key pasted by
//! mistake ([`crate::secret`]).

mod base58;
mod bech32;
mod cardano;
mod cashaddr;
mod evm;
mod script;
mod segwit;
mod solana;
mod stacks;
mod stellar;
mod tron;
mod xrp;
mod zcash;

use std::borrow::Cow;

use crate::currency::Currency;
use crate::{hint, secret};

pub use evm::checksummed as evm_checksummed;

/// The longest text that is looked at: the longest query of the contract (§8).
pub const MAX_LENGTH: usize = 255;

/// An address that can exist on its chain.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Address {
    /// The chain.
    pub currency: Currency,
    /// What it stands for.
    pub kind: Kind,
    /// The one form of the account under which labels and histories are kept: another encoding of the same account
    /// (legacy and new Bitcoin Cash, X-address and classic XRP, muxed and plain Stellar, TEX and t1 Zcash) has the same.
    pub canonical: String,
    /// What the text encodes, without version bytes and checksums: a hash of a key or script, a public key.
    pub payload: Vec<u8>,
}

/// What an address stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The hash of a public key.
    P2pkh,
    /// The hash of a script.
    P2sh,
    /// Bitcoin Cash in Bitcoin's encoding: the hash of a public key.
    P2pkhLegacy,
    /// Bitcoin Cash in Bitcoin's encoding: the hash of a script.
    P2shLegacy,
    /// Bitcoin Cash: the hash of a public key, by a wallet that takes tokens.
    P2pkhToken,
    /// Bitcoin Cash: the hash of a script, by a wallet that takes tokens.
    P2shToken,
    /// Witness version 0, the hash of a public key.
    P2wpkh,
    /// Witness version 0, the hash of a script.
    P2wsh,
    /// Witness version 1, a taproot key.
    P2tr,
    /// Any other witness program, by its version.
    Witness(u8),
    /// Litecoin's MimbleWimble extension block.
    Mweb,
    /// An account of a chain that has one kind of address.
    Account,
    /// XRP Ledger's usual form.
    Classic,
    /// XRP Ledger's form that carries a destination tag.
    XAddress,
    /// Stellar: an account with an id of the holder's own.
    Muxed,
    /// Stellar: a contract.
    Contract,
    /// Stellar: a liquidity pool.
    LiquidityPool,
    /// Stellar: a claimable balance.
    ClaimableBalance,
    /// Cardano: payment and stake part.
    Base,
    /// Cardano: payment part and a pointer to a stake registration.
    Pointer,
    /// Cardano: payment part only.
    Enterprise,
    /// Cardano: stake part only.
    Stake,
    /// Cardano: from before Shelley.
    Byron,
    /// Zcash: a transparent address that takes transparent money only (ZIP 320).
    Tex,
    /// Zcash: several receivers in one (ZIP 316).
    Unified,
    /// Zcash: shielded, Sapling.
    Sapling,
    /// Zcash: shielded, Sprout.
    Sprout,
}

impl Kind {
    /// Its name in answers.
    pub fn name(self) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            Kind::P2pkh => "p2pkh",
            Kind::P2sh => "p2sh",
            Kind::P2pkhLegacy => "p2pkh_legacy",
            Kind::P2shLegacy => "p2sh_legacy",
            Kind::P2pkhToken => "p2pkh_token",
            Kind::P2shToken => "p2sh_token",
            Kind::P2wpkh => "p2wpkh",
            Kind::P2wsh => "p2wsh",
            Kind::P2tr => "p2tr",
            Kind::Witness(version) => return Cow::Owned(format!("witness_v{version}")),
            Kind::Mweb => "mweb",
            Kind::Account => "account",
            Kind::Classic => "classic",
            Kind::XAddress => "x-address",
            Kind::Muxed => "muxed",
            Kind::Contract => "contract",
            Kind::LiquidityPool => "liquidity_pool",
            Kind::ClaimableBalance => "claimable_balance",
            Kind::Base => "base",
            Kind::Pointer => "pointer",
            Kind::Enterprise => "enterprise",
            Kind::Stake => "stake",
            Kind::Byron => "byron",
            Kind::Tex => "tex",
            Kind::Unified => "unified",
            Kind::Sapling => "sapling",
            Kind::Sprout => "sprout",
        })
    }
}

/// Why a text is no address (or transaction hash) of the chain. The texts follow a field's name: "query - …".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// A private key, a seed or what looks like one. Whoever holds the text must not keep, show or log it.
    #[error("{}", secret::refusal(.0))]
    Secret(&'static str),
    /// Right, but elsewhere.
    #[error("is an address of {}, not of {}", names(.found), .asked.name())]
    OtherChain {
        /// The chain that was asked for.
        asked: Currency,
        /// Where the address can exist.
        found: Vec<Currency>,
    },
    /// Of the chain's test network.
    #[error("is an address of a test network")]
    TestNetwork,
    /// The checksum does not hold.
    #[error("has a wrong checksum: a character is wrong, missing or added")]
    Checksum,
    /// It has another form than the chain's addresses.
    #[error("{0}")]
    Form(&'static str),
}

/// `Bitcoin, Bitcoin Cash or Bitcoin SV`.
fn names(chains: &[Currency]) -> String {
    let mut text = String::new();
    for (at, chain) in chains.iter().enumerate() {
        match at {
            0 => {}
            _ if at + 1 == chains.len() => text.push_str(" or "),
            _ => text.push_str(", "),
        }
        text.push_str(chain.name());
    }
    text
}

impl Address {
    /// Reads an address of a chain, checksums included.
    ///
    /// # Errors
    /// Why it cannot exist there; the text itself is never part of it.
    pub fn parse(currency: Currency, text: &str) -> Result<Address, AddressError> {
        checked(text)?;
        let error = match parse_plainly(currency, text) {
            Ok(address) => return Ok(address),
            Err(error) => error,
        };
        if let Some(kind) = secret::recognise(text) {
            return Err(AddressError::Secret(kind));
        }
        let found: Vec<Currency> = Currency::ALL
            .into_iter()
            // Any 32 bytes are an address of Solana, so it is no explanation.
            .filter(|other| *other != currency && *other != Currency::Sol)
            .filter(|other| parse_plainly(*other, text).is_ok())
            .collect();
        if !found.is_empty() {
            return Err(AddressError::OtherChain {
                asked: currency,
                found,
            });
        }
        Err(hint::instead_of_address(text).map_or(error, AddressError::Form))
    }

    /// The account's address on a chain of the EVM family (Syscoin's EVM side too), with its checksum.
    pub fn evm(currency: Currency, account: [u8; 20]) -> Address {
        evm::address(currency, account)
    }

    /// The address that an output script pays, where it has one: P2PKH, P2SH, witness programs. A script that pays a
    /// bare public key is shown as the hash of that key, as explorers do.
    pub fn of_script(currency: Currency, script: &[u8]) -> Option<Address> {
        script::address(currency, script)
    }

    /// The output script that pays this address, on the chains that have such scripts.
    pub fn script(&self) -> Option<Vec<u8>> {
        script::of(self)
    }

    /// An address made of given bytes, of as many of them as the chain's addresses hold: for demonstrations.
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

    fn new(
        currency: Currency,
        kind: Kind,
        canonical: impl Into<String>,
        payload: impl Into<Vec<u8>>,
    ) -> Self {
        Address {
            currency,
            kind,
            canonical: canonical.into(),
            payload: payload.into(),
        }
    }
}

/// Refuses what no parser needs to see, a secret by its name.
pub(crate) fn checked(text: &str) -> Result<(), AddressError> {
    checked_form(text).map_err(|reason| match secret::recognise(text) {
        Some(kind) => AddressError::Secret(kind),
        None => hint::of(text).map_or(reason, AddressError::Form),
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

/// Whether some chain has this address, whatever else the text may look like.
pub(crate) fn exists_anywhere(text: &str) -> bool {
    Currency::ALL
        .into_iter()
        .any(|currency| parse_plainly(currency, text).is_ok())
}

/// The family's own verdict.
fn parse_plainly(currency: Currency, text: &str) -> Result<Address, AddressError> {
    match currency {
        Currency::Btc | Currency::Ltc => match segwit::parse(currency, text) {
            Some(result) => result,
            None => base58::parse(currency, text),
        },
        Currency::Sys => match segwit::parse(currency, text) {
            Some(result) => result,
            None if text.starts_with("0x") => evm::parse(currency, text),
            None => base58::parse(currency, text),
        },
        Currency::Bch => cashaddr::parse(text),
        Currency::Bsv | Currency::Doge | Currency::Dash => base58::parse(currency, text),
        Currency::Zec => zcash::parse(text),
        Currency::Eth | Currency::Etc | Currency::Bsc | Currency::Xdc => evm::parse(currency, text),
        Currency::Xrp => xrp::parse(text),
        Currency::Xlm => stellar::parse(text),
        Currency::Ada => cardano::parse(text),
        Currency::Stx => stacks::parse(text),
        Currency::Sol => solana::parse(text),
        Currency::Trx => tron::parse(text),
    }
}

#[cfg(test)]
mod tests;
