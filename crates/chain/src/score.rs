//! The risk score, 0-100, as a pure function of exposures and a profile. It can be recomputed from its
//! detail.
//!
//! The effective share of a category is e = Σ share·decay^(hop−1); its risk is x = severity/100 · min(1,
//! e/full) · direction. The score is 100·(1 − Π(1−x)). It is at least the own label's severity × confidence,
//! and 100 for an authority's sanctions label on the address itself.
//!
//! All fractions are exact; only points are floats, because they need logarithms. The fractions are not in
//! lowest terms ([`parts::lowest`] reduces them), because they have thousands of digits and reducing them is
//! slow.

mod bound;
mod risk;

use std::collections::BTreeMap;

use num_traits::Zero;
use serde::Serialize;

use self::bound::upper_bound;
use self::risk::{Effective, combined, minus, risk, times};
use crate::category::Category;
use crate::parts::{self, Share, number};
use crate::profile::Profile;
use crate::trace::Direction;

pub use crate::screen::{Request, Screen, Subject, screen_address, screen_labels, screen_transaction};

/// An exposure at one distance in one direction.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The direction.
    pub direction: Direction,
    /// The category.
    pub category: Category,
    /// The distance in parties, from 1.
    pub hop: u32,
    /// The part of the money.
    pub share: Share,
}

/// A label of the screened address itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnLabel {
    /// The label's category.
    pub category: Category,
    /// The label's confidence, 0-100.
    pub confidence: u8,
    /// Whether the label comes from an authority's current sanctions list.
    pub authority: bool,
}

/// The origin of points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// The address's own label.
    Own,
    /// The sources of its money.
    Incoming,
    /// The destinations of its money.
    Outgoing,
}

impl From<Direction> for Origin {
    fn from(direction: Direction) -> Origin {
        match direction {
            Direction::Incoming => Origin::Incoming,
            Direction::Outgoing => Origin::Outgoing,
        }
    }
}

/// A category's part in a score.
#[derive(Clone, Debug, PartialEq)]
pub struct Contribution {
    /// The origin of the points.
    pub origin: Origin,
    /// The category.
    pub category: Category,
    /// The effective share e; for an own label, its confidence.
    pub effective: Share,
    /// The category's risk x.
    pub risk: Share,
    /// The category's points; the points of all contributions sum to the score.
    pub points: f64,
}

/// A score with its explanation.
#[derive(Clone, Debug, PartialEq)]
pub struct Score {
    /// The exact score, 0 to 100.
    pub exact: Share,
    /// The contributions, from the most points to the fewest.
    pub contributions: Vec<Contribution>,
    /// The highest score that is possible for any true sources of the unknown money, in any mixture of
    /// categories.
    pub upper_bound: Share,
}

impl Score {
    /// The score as a float, for answers.
    pub fn value(&self) -> f64 {
        number(&self.exact)
    }
}

/// The unknown part of the money in each direction, which determines the upper bound.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UnknownShares {
    /// The unknown part of the received money.
    pub incoming: Share,
    /// The unknown part of the sent money.
    pub outgoing: Share,
}

/// Calculates the score of findings.
pub fn score(
    profile: &Profile,
    findings: &[Finding],
    own: Option<OwnLabel>,
    unknown: &UnknownShares,
) -> Score {
    let effective = effective_shares(profile, findings);
    let exact = combined(profile, &effective);
    let mut score = Score {
        contributions: contributions(profile, &effective, &exact),
        upper_bound: upper_bound(profile, &effective, [&unknown.incoming, &unknown.outgoing]),
        exact,
    };
    if let Some(own) = own {
        score.raise_to(profile, own);
    }
    score
}

impl Score {
    /// Raises the score to the own label's severity × confidence; an authority's sanction alone makes it 100.
    fn raise_to(&mut self, profile: &Profile, own: OwnLabel) {
        let hundred = Share::from_integer(100.into());
        let confidence = Share::new(own.confidence.min(100).into(), 100.into());
        let sanctioned = own.authority && own.category == Category::Sanctions;
        let floor = if sanctioned {
            self.contributions.clear();
            hundred.clone()
        } else {
            Share::from_integer(profile.severity(own.category).into()) * &confidence
        };
        let risk = &floor / &hundred;
        if sanctioned || floor > self.exact {
            let before = if sanctioned {
                Share::zero()
            } else {
                self.exact.clone()
            };
            let contribution = Contribution {
                origin: Origin::Own,
                category: own.category,
                effective: confidence,
                risk,
                points: number(&minus(&floor, &before)),
            };
            self.contributions.insert(0, contribution);
            self.exact = floor;
        }
        if self.upper_bound < self.exact {
            self.upper_bound = self.exact.clone();
        }
    }
}

fn effective_shares(profile: &Profile, findings: &[Finding]) -> Effective {
    let mut effective = Effective::new();
    for finding in findings {
        let sum = effective
            .entry((finding.direction, finding.category))
            .or_insert_with(Share::zero);
        parts::add(sum, &decayed(profile, &finding.share, finding.hop));
    }
    effective
}

/// The share that remains at a distance.
fn decayed(profile: &Profile, share: &Share, hop: u32) -> Share {
    let hops = hop.saturating_sub(1);
    let decay = &profile.hop_decay.0;
    times(
        share,
        &Share::new_raw(decay.numer().pow(hops), decay.denom().pow(hops)),
    )
}

fn contributions(profile: &Profile, effective: &Effective, exact: &Share) -> Vec<Contribution> {
    let mut found: Vec<(Contribution, f64)> = effective
        .iter()
        .filter_map(|((direction, category), share)| {
            let risk = risk(profile, *direction, *category, share);
            let weight = -(-number(&risk)).ln_1p();
            (!risk.is_zero()).then(|| {
                let contribution = Contribution {
                    origin: (*direction).into(),
                    category: *category,
                    effective: share.clone(),
                    risk,
                    points: 0.0,
                };
                (contribution, weight)
            })
        })
        .collect();
    // A risk of 1 takes all points; several of them divide the points equally.
    let certain = found.iter().filter(|(_, weight)| weight.is_infinite()).count();
    let whole: f64 = found.iter().map(|(_, weight)| weight).sum();
    let score = number(exact);
    for (contribution, weight) in &mut found {
        contribution.points = match certain {
            0 => score * *weight / whole,
            _ if weight.is_infinite() => score / certain as f64,
            _ => 0.0,
        };
    }
    found.sort_by(|(a, _), (b, _)| b.points.total_cmp(&a.points));
    found.into_iter().map(|(contribution, _)| contribution).collect()
}

/// The distribution of severities among a transaction's sources, weighted by value.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// The lowest severity.
    pub low: f64,
    /// The median of the money: at least half of it has this severity or a lower one.
    pub median: f64,
    /// The mean of the money.
    pub average: f64,
    /// The highest severity.
    pub high: f64,
}

/// Calculates the distribution of severities. Unknown money has severity 0; without any money all values are
/// 0.
pub fn spread(profile: &Profile, findings: &[Finding], unknown: &Share) -> Spread {
    let mut weights: BTreeMap<u8, Share> = BTreeMap::new();
    for finding in findings
        .iter()
        .filter(|finding| finding.direction == Direction::Incoming)
    {
        let severity = profile.severity(finding.category);
        parts::add(
            weights.entry(severity).or_insert_with(Share::zero),
            &finding.share,
        );
    }
    parts::add(weights.entry(0).or_insert_with(Share::zero), unknown);
    weights.retain(|_, share| !share.is_zero());
    let mut whole = Share::zero();
    let mut graves = Share::zero();
    for (severity, share) in &weights {
        parts::add(&mut whole, share);
        parts::add(
            &mut graves,
            &times(share, &Share::from_integer((*severity).into())),
        );
    }
    if whole.is_zero() {
        return Spread {
            low: 0.0,
            median: 0.0,
            average: 0.0,
            high: 0.0,
        };
    }
    let mut below = Share::zero();
    let median = weights.iter().find(|(_, share)| {
        parts::add(&mut below, share);
        times(&below, &Share::from_integer(2.into())) >= whole
    });
    Spread {
        low: weights.keys().next().copied().map_or(0.0, f64::from),
        median: median.map_or(0.0, |(severity, _)| f64::from(*severity)),
        average: number(&times(&graves, &whole.recip())),
        high: weights.keys().next_back().copied().map_or(0.0, f64::from),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn fraction(numerator: u32, denominator: u32) -> Share {
        Share::new(numerator.into(), denominator.into())
    }

    fn finding(direction: Direction, category: Category, hop: u32, share: Share) -> Finding {
        Finding {
            direction,
            category,
            hop,
            share,
        }
    }

    #[test]
    fn an_own_label_raises_the_score() {
        let profile = Profile::built_in();
        let own = |category, confidence, authority| {
            Some(OwnLabel {
                category,
                confidence,
                authority,
            })
        };
        let none = UnknownShares::default();
        let mixed = [finding(Direction::Incoming, Category::Mixer, 1, fraction(1, 10))];
        for (label, findings, expected) in [
            (own(Category::Sanctions, 60, true), &[][..], 100.0),
            (own(Category::Sanctions, 60, false), &[], 60.0),
            (own(Category::Mixer, 80, false), &mixed, 60.0),
            (own(Category::Exchange, 100, false), &mixed, 30.0),
            (own(Category::Gambling, 50, false), &mixed, 30.0),
        ] {
            let score = score(&profile, findings, label, &none);
            assert!(
                (score.value() - expected).abs() < 1e-9,
                "{label:?}: {}",
                score.value()
            );
            let points: f64 = score
                .contributions
                .iter()
                .map(|contribution| contribution.points)
                .sum();
            assert!((points - expected).abs() < 1e-9);
        }
    }

    #[test]
    fn distance_and_direction_weigh() {
        let profile = Profile::built_in();
        let none = UnknownShares::default();
        let near = score(
            &profile,
            &[finding(Direction::Incoming, Category::Scam, 1, fraction(1, 10))],
            None,
            &none,
        );
        let far = score(
            &profile,
            &[finding(Direction::Incoming, Category::Scam, 3, fraction(1, 10))],
            None,
            &none,
        );
        let paid = score(
            &profile,
            &[finding(Direction::Outgoing, Category::Scam, 1, fraction(1, 10))],
            None,
            &none,
        );
        assert_eq!(near.exact, fraction(40, 1));
        assert_eq!(far.exact, fraction(128, 5));
        assert_eq!(paid.exact, fraction(20, 1));
    }

    /// Two categories have their full weight at a twentieth. A tenth fills both, and neither alone is the
    /// worst case.
    #[test]
    fn a_mixture_may_be_worse_than_any_one_category() {
        let mut profile = Profile::built_in();
        for weight in profile.categories.values_mut() {
            weight.severity = 0;
        }
        for category in [Category::Mixer, Category::Scam] {
            let weight = profile.categories.get_mut(&category).unwrap();
            weight.severity = 50;
            weight.full_share.0 = fraction(1, 20);
        }
        for (unknown, bound) in [(fraction(1, 10), 75), (fraction(1, 20), 50), (fraction(1, 1), 75)] {
            let unknown = UnknownShares {
                incoming: unknown,
                outgoing: Share::zero(),
            };
            assert_eq!(
                score(&profile, &[], None, &unknown).upper_bound,
                fraction(bound, 1)
            );
        }
    }

    #[test]
    fn severities_are_spread_by_value() {
        let profile = Profile::built_in();
        let findings = [
            finding(Direction::Incoming, Category::Mixer, 1, fraction(1, 2)),
            finding(Direction::Incoming, Category::Exchange, 1, fraction(3, 10)),
            finding(Direction::Outgoing, Category::Sanctions, 1, fraction(1, 1)),
        ];
        let found = spread(&profile, &findings, &fraction(1, 5));
        assert_eq!(
            found,
            Spread {
                low: 0.0,
                median: 0.0,
                average: 37.5,
                high: 75.0
            }
        );
        let found = spread(&profile, &[], &Share::zero());
        assert_eq!(found.high, 0.0);
    }

    fn any_findings() -> impl Strategy<Value = Vec<Finding>> {
        prop::collection::vec((any::<bool>(), 0usize..16, 1u32..6, 0u32..100), 0..8).prop_map(|found| {
            found
                .into_iter()
                .map(|(incoming, category, hop, share)| Finding {
                    direction: if incoming {
                        Direction::Incoming
                    } else {
                        Direction::Outgoing
                    },
                    category: Category::ALL[category],
                    hop,
                    share: fraction(share, 1000),
                })
                .collect()
        })
    }

    proptest! {
        #[test]
        fn points_sum_to_the_score_and_more_risk_never_scores_less(
            findings in any_findings(), more in any_findings(), unknown in 0u32..100,
        ) {
            let profile = Profile::built_in();
            let unknown = UnknownShares { incoming: fraction(unknown, 100), outgoing: fraction(unknown, 200) };
            let first = score(&profile, &findings, None, &unknown);
            let points: f64 = first.contributions.iter().map(|contribution| contribution.points).sum();
            prop_assert!((points - first.value()).abs() < 1e-9);
            prop_assert!(first.upper_bound >= first.exact);
            prop_assert!(first.upper_bound <= fraction(100, 1));
            let all: Vec<Finding> = findings.iter().chain(&more).cloned().collect();
            prop_assert!(score(&profile, &all, None, &unknown).exact >= first.exact);
        }

        /// The bound is valid for any mixture of the unknown money at any distance.
        #[test]
        fn nothing_scores_above_the_bound(
            findings in any_findings(),
            unknown in 1u32..120,
            mixture in prop::collection::vec((0usize..16, 1u32..4, 1u32..100), 1..6),
            severities in prop::collection::vec((0u8..=100, 1u32..40), 16),
        ) {
            let mut profile = Profile::built_in();
            for (weight, (severity, full)) in profile.categories.values_mut().zip(severities) {
                weight.severity = severity;
                weight.full_share.0 = fraction(1, full);
            }
            let whole: u32 = mixture.iter().map(|(_, _, part)| part).sum();
            let unseen = UnknownShares { incoming: fraction(unknown, 1000), outgoing: fraction(unknown, 2000) };
            let bound = score(&profile, &findings, None, &unseen).upper_bound;
            for direction in [Direction::Incoming, Direction::Outgoing] {
                let money = match direction {
                    Direction::Incoming => &unseen.incoming,
                    Direction::Outgoing => &unseen.outgoing,
                };
                let truth = mixture.iter().map(|(category, hop, part)| {
                    finding(direction, Category::ALL[*category], *hop, money * fraction(*part, whole))
                });
                let all: Vec<Finding> = findings.iter().cloned().chain(truth).collect();
                let found = score(&profile, &all, None, &UnknownShares::default()).exact;
                let above = number(&minus(&found, &bound));
                prop_assert!(above <= 1e-9, "{found} is above {bound}");
            }
        }
    }
}
