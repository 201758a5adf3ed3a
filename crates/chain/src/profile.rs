//! Risk profiles: the weight of each category. Each merchant has its own versions; the built-in profile is
//! the table of `docs/decisions/0019-risk-score.md`.
//!
//! This module has only the data and its checks; [`crate::score`] and [`crate::trace`] calculate.

use std::collections::BTreeMap;

use num_traits::{One, Zero};
use serde::{Deserialize, Serialize};

use crate::category::Category;
use crate::pool::{Method, Share};
use crate::trace::Options;

/// The weight of a category.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Weight {
    /// The severity, 0-100.
    pub severity: u8,
    /// The share at which the category has its full weight, such as `1/20` or `0.05`.
    pub full_share: Fraction,
    /// The factor for money that was sent to the category, 0 to 1.
    pub outgoing: Fraction,
}

/// An exact fraction, written `1/20`, `1` or `0.05`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fraction(pub Share);

impl std::str::FromStr for Fraction {
    type Err = FractionError;

    fn from_str(text: &str) -> Result<Fraction, FractionError> {
        if text.is_empty() || text.len() > 200 {
            return Err(FractionError);
        }
        let digits = |text: &str| {
            (!text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()))
                .then(|| text.parse::<num_bigint::BigInt>().ok())
                .flatten()
                .ok_or(FractionError)
        };
        if let Some((above, below)) = text.split_once('/') {
            let (above, below) = (digits(above)?, digits(below)?);
            return if below.is_zero() {
                Err(FractionError)
            } else {
                Ok(Fraction(Share::new(above, below)))
            };
        }
        let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
        let above = digits(&format!("{whole}{decimals}"))?;
        let places = u32::try_from(decimals.len()).map_err(|_| FractionError)?;
        Ok(Fraction(Share::new(
            above,
            num_bigint::BigInt::from(10u8).pow(places),
        )))
    }
}

/// A text that is not a fraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a fraction such as 1/20, 1 or 0.05")]
pub struct FractionError;

impl Serialize for Fraction {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Fraction {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Fraction, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// The severities at which a counterparty's rank begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Thresholds {
    /// The first severity of `medium`; lower ones are `low`.
    pub medium: u8,
    /// The first severity of `high`.
    pub high: u8,
    /// The first severity of `severe`.
    pub severe: u8,
}

impl Default for Thresholds {
    fn default() -> Thresholds {
        Thresholds {
            medium: 25,
            high: 60,
            severe: 90,
        }
    }
}

/// How, and how far, money is traced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct TraceSettings {
    /// How the sources of mixed money are determined.
    pub method: Method,
    /// The largest number of hops, 1 to 20.
    pub max_hops: u32,
    /// Shares below this are not traced.
    pub epsilon: Fraction,
    /// The largest number of coins to trace in each direction, 1 to 10000.
    pub max_nodes: u32,
}

impl Default for TraceSettings {
    fn default() -> TraceSettings {
        let options = Options::default();
        TraceSettings {
            method: options.method,
            max_hops: options.max_hops,
            epsilon: Fraction(options.epsilon),
            max_nodes: options.max_nodes as u32,
        }
    }
}

/// One version of a merchant's risk profile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Profile {
    /// The version: 0 is the built-in profile; a merchant's versions count from 1.
    #[serde(default)]
    pub version: u32,
    /// The factor that a share is multiplied by for every hop beyond the first.
    pub hop_decay: Fraction,
    /// The weights by category; a missing category weighs nothing.
    pub categories: BTreeMap<Category, Weight>,
    /// The thresholds of the ranks.
    #[serde(default)]
    pub thresholds: Thresholds,
    /// The settings of traces.
    #[serde(default)]
    pub following: TraceSettings,
}

/// Why a profile is not valid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProfileError {
    /// A severity is above 100.
    #[error("categories.{0}.severity - must be 0 to 100")]
    Severity(Category),
    /// A full share is 0 or above 1.
    #[error("categories.{0}.fullShare - must be above 0 and at most 1")]
    FullShare(Category),
    /// An outgoing factor is above 1.
    #[error("categories.{0}.outgoing - must be 0 to 1")]
    Outgoing(Category),
    /// The decay is above 1.
    #[error("hopDecay - must be 0 to 1")]
    HopDecay,
    /// The severity of sanctions is below 100. Merchants may not disable this screening.
    #[error("categories.sanctions.severity - must be 100")]
    Sanctions,
    /// The thresholds are out of order.
    #[error("thresholds - medium, high and severe must not fall, and be at most 100")]
    Thresholds,
    /// The number of hops is out of range.
    #[error("following.maxHops - must be 1 to 20")]
    MaxHops,
    /// Epsilon is above 1.
    #[error("following.epsilon - must be 0 to 1")]
    Epsilon,
    /// The number of coins is out of range.
    #[error("following.maxNodes - must be 1 to 10000")]
    MaxNodes,
}

impl Profile {
    /// The built-in profile.
    pub fn built_in() -> Profile {
        use Category as C;
        /// Numerator and denominator.
        type Parts = (u8, u8);
        let rows: [(C, u8, Parts, Parts); 16] = [
            (C::Sanctions, 100, (1, 20), (1, 1)),
            (C::TerrorismFinancing, 100, (1, 20), (1, 1)),
            (C::ChildExploitation, 100, (1, 20), (1, 1)),
            (C::Ransomware, 95, (1, 10), (1, 2)),
            (C::StolenFunds, 90, (1, 10), (1, 1)),
            (C::DarknetMarket, 90, (1, 10), (1, 1)),
            (C::Scam, 80, (1, 5), (1, 2)),
            (C::Mixer, 75, (1, 4), (1, 1)),
            (C::Coinjoin, 50, (1, 2), (1, 1)),
            (C::Gambling, 40, (1, 2), (1, 1)),
            (C::ExchangeHighRisk, 40, (1, 2), (1, 1)),
            (C::DefiBridge, 25, (1, 1), (1, 1)),
            (C::Exchange, 0, (1, 1), (1, 1)),
            (C::Mining, 0, (1, 1), (1, 1)),
            (C::Other, 0, (1, 1), (1, 1)),
            (C::Unattributed, 0, (1, 1), (1, 1)),
        ];
        let fraction = |(above, below): Parts| Fraction(Share::new(above.into(), below.into()));
        let categories = rows
            .into_iter()
            .map(|(category, severity, full_share, outgoing)| {
                (
                    category,
                    Weight {
                        severity,
                        full_share: fraction(full_share),
                        outgoing: fraction(outgoing),
                    },
                )
            })
            .collect();
        Profile {
            version: 0,
            hop_decay: fraction((4, 5)),
            categories,
            thresholds: Thresholds::default(),
            following: TraceSettings::default(),
        }
    }

    /// A category's severity; 0 for a missing one.
    pub fn severity(&self, category: Category) -> u8 {
        self.categories.get(&category).map_or(0, |weight| weight.severity)
    }

    /// The rank of a category: `low`, `medium`, `high` or `severe`.
    pub fn rank(&self, category: Category) -> &'static str {
        let severity = self.severity(category);
        let Thresholds { medium, high, severe } = self.thresholds;
        match severity {
            _ if severity >= severe => "severe",
            _ if severity >= high => "high",
            _ if severity >= medium => "medium",
            _ => "low",
        }
    }

    /// The options of a trace with this profile.
    pub fn options(&self) -> Options {
        Options {
            method: self.following.method,
            max_hops: self.following.max_hops,
            epsilon: self.following.epsilon.0.clone(),
            max_nodes: self.following.max_nodes as usize,
            ..Options::default()
        }
    }

    /// Checks a merchant's profile.
    ///
    /// # Errors
    /// The first error, with the name of the member.
    pub fn check(&self) -> Result<(), ProfileError> {
        let one = Share::one();
        if self.hop_decay.0 > one {
            return Err(ProfileError::HopDecay);
        }
        for (category, weight) in &self.categories {
            if weight.severity > 100 {
                return Err(ProfileError::Severity(*category));
            }
            if weight.full_share.0.is_zero() || weight.full_share.0 > one {
                return Err(ProfileError::FullShare(*category));
            }
            if weight.outgoing.0 > one {
                return Err(ProfileError::Outgoing(*category));
            }
        }
        if self.severity(Category::Sanctions) != 100 {
            return Err(ProfileError::Sanctions);
        }
        let Thresholds { medium, high, severe } = self.thresholds;
        if !(medium <= high && high <= severe && severe <= 100) {
            return Err(ProfileError::Thresholds);
        }
        if !(1..=20).contains(&self.following.max_hops) {
            return Err(ProfileError::MaxHops);
        }
        if self.following.epsilon.0 > one {
            return Err(ProfileError::Epsilon);
        }
        if !(1..=10_000).contains(&self.following.max_nodes) {
            return Err(ProfileError::MaxNodes);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_are_written_read_back_and_checked() {
        let built_in = Profile::built_in();
        assert_eq!(built_in.check(), Ok(()));
        let text = serde_json::to_string(&built_in).unwrap();
        assert!(
            text.contains(r#""sanctions":{"severity":100,"fullShare":"1/20","outgoing":"1"}"#),
            "{text}"
        );
        assert_eq!(serde_json::from_str::<Profile>(&text).unwrap(), built_in);
        assert_eq!(built_in.options(), Options::default());
        let mut far = built_in.clone();
        far.following.max_hops = 21;
        assert_eq!(far.check(), Err(ProfileError::MaxHops));
        let mut fallen = built_in.clone();
        fallen.thresholds.high = 95;
        assert_eq!(fallen.check(), Err(ProfileError::Thresholds));
        for (category, rank) in [
            (Category::Exchange, "low"),
            (Category::DefiBridge, "medium"),
            (Category::Mixer, "high"),
            (Category::StolenFunds, "severe"),
        ] {
            assert_eq!(built_in.rank(category), rank);
        }
        // Members that a file omits have the built-in values.
        let short = r#"{"hopDecay": "1/2", "categories": {}, "following": {"method": "fifo"}}"#;
        let short: Profile = serde_json::from_str(short).unwrap();
        assert_eq!((short.version, short.thresholds), (0, Thresholds::default()));
        assert_eq!(
            (short.following.method, short.following.max_hops),
            (Method::Fifo, 5)
        );
        let misspelt = r#"{"hopDecay": "1/2", "categories": {}, "following": {"hops": 3}}"#;
        assert!(serde_json::from_str::<Profile>(misspelt).is_err());

        let mut lenient = built_in.clone();
        lenient.categories.remove(&Category::Sanctions);
        assert_eq!(lenient.check(), Err(ProfileError::Sanctions));
        let mut nothing = built_in;
        nothing.categories.insert(
            Category::Mixer,
            Weight {
                severity: 75,
                full_share: Fraction(Share::zero()),
                outgoing: Fraction(Share::one()),
            },
        );
        assert_eq!(
            nothing.check().unwrap_err().to_string(),
            "categories.mixer.fullShare - must be above 0 and at most 1"
        );
    }

    #[test]
    fn fractions_are_exact() {
        assert_eq!("0.05".parse::<Fraction>(), "1/20".parse());
        for wrong in ["", "1/0", "-1", "1/", ".", "a", "1e3", "1.5/2"] {
            assert_eq!(wrong.parse::<Fraction>(), Err(FractionError), "{wrong}");
        }
    }
}
