//! What an address is, and why a text is none: the types that all families of encodings share.
//!
//! Reads nothing: that is each family's.

use std::borrow::Cow;

use crate::currency::Currency;
use crate::secret::refusal;

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
    #[error("{}", refusal(.0))]
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
