//! The categories of labelled addresses that the score uses (`docs/decisions/0019-risk-score.md`).
//!
//! The weight of a category is part of a risk profile, not of this module.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The activity of an address's holder, or the origin of its money.
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
    /// An exchange that does not identify its customers.
    ExchangeHighRisk,
    /// A bridge between chains.
    DefiBridge,
    /// An exchange.
    Exchange,
    /// Newly mined money and its miners.
    Mining,
    /// Known, and none of the above: wallets, shops, payment services, other contracts.
    Other,
    /// The holder is unknown.
    Unattributed,
}

impl Category {
    /// All categories, from the gravest to the least grave.
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

    /// The category's name in answers and files.
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

/// A text that names no category.
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
