//! What a labelled address is: the categories that the score knows (`docs/decisions/0019-risk-score.md`).
//!
//! What a category weighs is a risk profile's matter, not this module's.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// What the holder of an address does, or what its money is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Category {
    /// On a sanctions list.
    Sanctions,
    /// Terrorism financing.
    TerrorismFinancing,
    /// Sexual exploitation of children.
    ChildExploitation,
    /// Ransomware.
    Ransomware,
    /// Stolen funds.
    StolenFunds,
    /// A darknet market.
    DarknetMarket,
    /// Scams: fraud, phishing, extortion by mass mail.
    Scam,
    /// A mixer.
    Mixer,
    /// A CoinJoin.
    Coinjoin,
    /// Gambling.
    Gambling,
    /// An exchange that does not know its customers.
    ExchangeHighRisk,
    /// A bridge between chains.
    DefiBridge,
    /// An exchange.
    Exchange,
    /// Newly mined money and its miners.
    Mining,
    /// Known, and none of the above: wallets, shops, payment services, other contracts.
    Other,
    /// Nobody knows.
    Unattributed,
}

impl Category {
    /// All of them, the gravest first.
    pub const ALL: [Category; 16] = [
        Category::Sanctions,
        Category::TerrorismFinancing,
        Category::ChildExploitation,
        Category::Ransomware,
        Category::StolenFunds,
        Category::DarknetMarket,
        Category::Scam,
        Category::Mixer,
        Category::Coinjoin,
        Category::Gambling,
        Category::ExchangeHighRisk,
        Category::DefiBridge,
        Category::Exchange,
        Category::Mining,
        Category::Other,
        Category::Unattributed,
    ];

    /// Its name in answers and files.
    pub const fn as_str(self) -> &'static str {
        match self {
            Category::Sanctions => "sanctions",
            Category::TerrorismFinancing => "terrorism_financing",
            Category::ChildExploitation => "child_exploitation",
            Category::Ransomware => "ransomware",
            Category::StolenFunds => "stolen_funds",
            Category::DarknetMarket => "darknet_market",
            Category::Scam => "scam",
            Category::Mixer => "mixer",
            Category::Coinjoin => "coinjoin",
            Category::Gambling => "gambling",
            Category::ExchangeHighRisk => "exchange_high_risk",
            Category::DefiBridge => "defi_bridge",
            Category::Exchange => "exchange",
            Category::Mining => "mining",
            Category::Other => "other",
            Category::Unattributed => "unattributed",
        }
    }
}

impl fmt::Display for Category {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A word that names no category.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no such category")]
pub struct UnknownCategory;

impl FromStr for Category {
    type Err = UnknownCategory;

    fn from_str(text: &str) -> Result<Self, UnknownCategory> {
        Category::ALL
            .into_iter()
            .find(|category| category.as_str().eq_ignore_ascii_case(text))
            .ok_or(UnknownCategory)
    }
}
