//! The types that all families of encodings share: an address, and why a text is not one.
//!
//! This module parses nothing; each family does.

use std::borrow::Cow;

use crate::currency::Currency;
use crate::secret::refusal;

/// The longest text that is parsed, in bytes: the longest query of the contract (§8).
pub const MAX_LENGTH: usize = 255;

/// An address that can exist on its chain.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Address {
    /// The chain.
    pub currency: Currency,
    /// The kind of the address.
    pub kind: Kind,
    /// The canonical text of the account, under which labels and histories are stored. Other encodings of the
    /// same account have the same text, such as legacy Bitcoin Cash, X-addresses of XRP, muxed Stellar and
    /// TEX Zcash addresses.
    pub canonical: String,
    /// The encoded data without version bytes and checksums: a hash of a key or script, or a public key.
    pub payload: Vec<u8>,
}

/// The kind of an address.
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
    /// Bitcoin Cash: the hash of a public key, from a wallet that accepts tokens.
    P2pkhToken,
    /// Bitcoin Cash: the hash of a script, from a wallet that accepts tokens.
    P2shToken,
    /// Witness version 0, the hash of a public key.
    P2wpkh,
    /// Witness version 0, the hash of a script.
    P2wsh,
    /// Witness version 1, a taproot key.
    P2tr,
    /// Any other witness program, with its version.
    Witness(u8),
    /// Litecoin's MimbleWimble extension block.
    Mweb,
    /// An account of a chain that has one kind of address.
    Account,
    /// XRP Ledger's usual form.
    Classic,
    /// XRP Ledger's form with a destination tag.
    XAddress,
    /// Stellar: an account with an id that its owner chose.
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
    /// Zcash: a transparent address that accepts only transparent money (ZIP 320).
    Tex,
    /// Zcash: several receivers in one (ZIP 316).
    Unified,
    /// Zcash: shielded, Sapling.
    Sapling,
    /// Zcash: shielded, Sprout.
    Sprout,
}

impl Kind {
    /// The kind's name in answers.
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

/// Why a text is not an address (or transaction hash) of the chain. The texts follow a field's name: "query -
/// …".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// A private key, a seed, or a text that looks like one. Callers must not store, show or log the text.
    #[error("{}", refusal(.0))]
    Secret(&'static str),
    /// The text is a valid address of other chains.
    #[error("is an address of {}, not of {}", names(.found), .asked.name())]
    OtherChain {
        /// The requested chain.
        asked: Currency,
        /// The chains on which the address can exist.
        found: Vec<Currency>,
    },
    /// The address belongs to the chain's test network.
    #[error("is an address of a test network")]
    TestNetwork,
    /// The checksum is wrong.
    #[error("has a wrong checksum: a character is wrong, missing or added")]
    Checksum,
    /// The text does not have the form of the chain's addresses.
    #[error("{0}")]
    Form(&'static str),
}

/// Joins chains' names: `Bitcoin, Bitcoin Cash or Bitcoin SV`.
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
    pub(super) fn new(
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
