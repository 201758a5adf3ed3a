//! The chains that can be screened, by the codes of the API (contract §4.9).
//!
//! This module is only a table. [`crate::address`] has the forms of addresses, and the sources have the
//! movements of money.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A chain, named by its native currency's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Currency {
    /// Bitcoin.
    Btc,
    /// Ethereum.
    Eth,
    /// Litecoin.
    Ltc,
    /// Bitcoin Cash.
    Bch,
    /// Bitcoin SV.
    Bsv,
    /// XRP Ledger.
    Xrp,
    /// Stellar.
    Xlm,
    /// Dogecoin.
    Doge,
    /// Dash.
    Dash,
    /// Zcash.
    Zec,
    /// Ethereum Classic.
    Etc,
    /// BNB Smart Chain.
    Bsc,
    /// Cardano.
    Ada,
    /// Stacks.
    Stx,
    /// XDC Network.
    Xdc,
    /// Syscoin.
    Sys,
    /// Solana.
    Sol,
    /// TRON, on which most sanctioned USDT is.
    Trx,
}

/// How a chain records money.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ledger {
    /// Transactions spend outputs of earlier ones.
    Utxo,
    /// Accounts have balances.
    Account,
}

impl Currency {
    /// All chains, in the order of the contract.
    pub const ALL: [Currency; 18] = [
        Currency::Btc,
        Currency::Eth,
        Currency::Ltc,
        Currency::Bch,
        Currency::Bsv,
        Currency::Xrp,
        Currency::Xlm,
        Currency::Doge,
        Currency::Dash,
        Currency::Zec,
        Currency::Etc,
        Currency::Bsc,
        Currency::Ada,
        Currency::Stx,
        Currency::Xdc,
        Currency::Sys,
        Currency::Sol,
        Currency::Trx,
    ];

    /// The code in the API.
    pub const fn code(self) -> &'static str {
        match self {
            Currency::Btc => "btc",
            Currency::Eth => "eth",
            Currency::Ltc => "ltc",
            Currency::Bch => "bch",
            Currency::Bsv => "bsv",
            Currency::Xrp => "xrp",
            Currency::Xlm => "xlm",
            Currency::Doge => "doge",
            Currency::Dash => "dash",
            Currency::Zec => "zec",
            Currency::Etc => "etc",
            Currency::Bsc => "bsc",
            Currency::Ada => "ada",
            Currency::Stx => "stx",
            Currency::Xdc => "xdc",
            Currency::Sys => "sys",
            Currency::Sol => "sol",
            Currency::Trx => "trx",
        }
    }

    /// The chain's name, for messages.
    pub const fn name(self) -> &'static str {
        match self {
            Currency::Btc => "Bitcoin",
            Currency::Eth => "Ethereum",
            Currency::Ltc => "Litecoin",
            Currency::Bch => "Bitcoin Cash",
            Currency::Bsv => "Bitcoin SV",
            Currency::Xrp => "XRP Ledger",
            Currency::Xlm => "Stellar",
            Currency::Doge => "Dogecoin",
            Currency::Dash => "Dash",
            Currency::Zec => "Zcash",
            Currency::Etc => "Ethereum Classic",
            Currency::Bsc => "BNB Smart Chain",
            Currency::Ada => "Cardano",
            Currency::Stx => "Stacks",
            Currency::Xdc => "XDC Network",
            Currency::Sys => "Syscoin",
            Currency::Sol => "Solana",
            Currency::Trx => "TRON",
        }
    }

    /// How the chain records money. Syscoin counts as UTXO, because its native ledger is Bitcoin's; its EVM
    /// is ignored.
    pub const fn ledger(self) -> Ledger {
        match self {
            Currency::Btc
            | Currency::Ltc
            | Currency::Bch
            | Currency::Bsv
            | Currency::Doge
            | Currency::Dash
            | Currency::Zec
            | Currency::Ada
            | Currency::Sys => Ledger::Utxo,
            Currency::Eth
            | Currency::Xrp
            | Currency::Xlm
            | Currency::Etc
            | Currency::Bsc
            | Currency::Stx
            | Currency::Xdc
            | Currency::Sol
            | Currency::Trx => Ledger::Account,
        }
    }

    /// Whether contracts run in an Ethereum virtual machine with Ethereum's transactions and JSON-RPC.
    pub const fn is_evm(self) -> bool {
        matches!(
            self,
            Currency::Eth | Currency::Etc | Currency::Bsc | Currency::Xdc
        )
    }

    /// The decimal places of the native currency.
    pub const fn decimals(self) -> u8 {
        match self {
            Currency::Btc
            | Currency::Ltc
            | Currency::Bch
            | Currency::Bsv
            | Currency::Doge
            | Currency::Dash
            | Currency::Zec
            | Currency::Sys => 8,
            Currency::Eth | Currency::Etc | Currency::Bsc | Currency::Xdc => 18,
            Currency::Xlm => 7,
            Currency::Xrp | Currency::Ada | Currency::Stx | Currency::Trx => 6,
            Currency::Sol => 9,
        }
    }
}

impl fmt::Display for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

/// A code of no supported chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no such currency")]
pub struct UnknownCurrency;

impl FromStr for Currency {
    type Err = UnknownCurrency;

    /// Reads a code; case does not matter.
    fn from_str(text: &str) -> Result<Self, UnknownCurrency> {
        Currency::ALL
            .into_iter()
            .find(|currency| currency.code().eq_ignore_ascii_case(text))
            .ok_or(UnknownCurrency)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_read_back() {
        for currency in Currency::ALL {
            assert_eq!(currency.code().parse(), Ok(currency));
            assert_eq!(currency.code().to_uppercase().parse(), Ok(currency));
        }
        assert_eq!("usdt".parse::<Currency>(), Err(UnknownCurrency));
        assert_eq!("".parse::<Currency>(), Err(UnknownCurrency));
    }
}
