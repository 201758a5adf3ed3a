//! The risk score, 0-100, as a pure function of exposures and a profile; anybody can reckon it again from the detail.
//!
//! Effective share of a category e = Σ share·decay^(hop−1); x = severity/100 · min(1, e/full) · direction;
//! score = 100·(1 − Π(1−x)), at least the own label's severity × confidence, and 100 for an authority's sanctions label
//! on the address itself. Exact fractions throughout; only points, which need logarithms, are floats.

use std::collections::BTreeMap;

use num_traits::{One, ToPrimitive, Zero};
use serde::Serialize;

use crate::category::Category;
use crate::pool::Share;
use crate::profile::Profile;
use crate::trace::Direction;

pub use crate::screen::{Request, Screen, Subject, screen_address, screen_labels, screen_transaction};

/// What was found at one distance in one direction.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// Which way.
    pub direction: Direction,
    /// What.
    pub category: Category,
    /// How many parties away, from 1.
    pub hop: u32,
    /// What part of the money.
    pub share: Share,
}

/// A label of the screened address itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Own {
    /// What it says.
    pub category: Category,
    /// How sure, 0-100.
    pub confidence: u8,
    /// Whether an authority's current sanctions list says it.
    pub authority: bool,
}

/// Where points come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// The address's own label.
    Own,
    /// Where its money came from.
    Incoming,
    /// Where its money went.
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
    /// Where the points come from.
    pub origin: Origin,
    /// The category.
    pub category: Category,
    /// The effective share e; of an own label, its confidence.
    pub effective: Share,
    /// x, the category's risk alone.
    pub risk: Share,
    /// Its points; all points sum to the score.
    pub points: f64,
}

/// A score that shows its work.
#[derive(Clone, Debug, PartialEq)]
pub struct Score {
    /// Exactly, 0 to 100.
    pub exact: Share,
    /// What it is made of, the most points first.
    pub contributions: Vec<Contribution>,
    /// What the score would be if all that is not attributed were of the gravest category, next door.
    pub upper_bound: Share,
}

impl Score {
    /// As a number for an answer.
    pub fn value(&self) -> f64 {
        self.exact.to_f64().unwrap_or(0.0)
    }
}

/// How much of the money in each direction has no name: it makes the upper bound.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Unknown {
    /// Of the money received.
    pub incoming: Share,
    /// Of the money sent.
    pub outgoing: Share,
}

type Effective = BTreeMap<(Direction, Category), Share>;

/// Scores findings.
pub fn score(profile: &Profile, findings: &[Finding], own: Option<Own>, unknown: &Unknown) -> Score {
    let effective = effective_shares(profile, findings);
    let exact = combined(profile, &effective);
    let mut score = Score {
        contributions: contributions(profile, &effective, &exact),
        upper_bound: upper_bound(profile, &effective, unknown, &exact),
        exact,
    };
    if let Some(own) = own {
        score.raise_to(profile, own);
    }
    score
}

impl Score {
    /// An own label makes the score at least its severity × confidence; an authority's sanction makes it 100 alone.
    fn raise_to(&mut self, profile: &Profile, own: Own) {
        let hundred = Share::from_integer(100.into());
        let confidence = Share::new(own.confidence.min(100).into(), 100.into());
        let sanctioned = own.authority && own.category == Category::Sanctions;
        let floor = if sanctioned {
            self.contributions.clear();
            hundred.clone()
        } else {
            Share::from_integer(profile.severity(own.category).into()) * &confidence
        };
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
                risk: &floor / &hundred,
                points: (&floor - before).to_f64().unwrap_or(0.0),
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
        let decayed = decayed(profile, &finding.share, finding.hop);
        *effective
            .entry((finding.direction, finding.category))
            .or_insert_with(Share::zero) += decayed;
    }
    effective
}

/// What remains of a share at a distance.
pub(crate) fn decayed(profile: &Profile, share: &Share, hop: u32) -> Share {
    let hops = i32::try_from(hop.saturating_sub(1)).unwrap_or(i32::MAX);
    share * profile.hop_decay.0.pow(hops)
}

/// x of one category.
fn risk(profile: &Profile, direction: Direction, category: Category, effective: &Share) -> Share {
    let Some(weight) = profile.categories.get(&category) else {
        return Share::zero();
    };
    let part = (effective / &weight.full_share.0).min(Share::one());
    let factor = match direction {
        Direction::Incoming => Share::one(),
        Direction::Outgoing => weight.outgoing.0.clone(),
    };
    Share::new(weight.severity.into(), 100.into()) * part * factor
}

fn combined(profile: &Profile, effective: &Effective) -> Share {
    let safe: Share = effective
        .iter()
        .map(|((direction, category), share)| Share::one() - risk(profile, *direction, *category, share))
        .product();
    Share::from_integer(100.into()) * (Share::one() - safe)
}

fn contributions(profile: &Profile, effective: &Effective, exact: &Share) -> Vec<Contribution> {
    let mut found: Vec<(Contribution, f64)> = effective
        .iter()
        .filter_map(|((direction, category), share)| {
            let risk = risk(profile, *direction, *category, share);
            let weight = -(-risk.to_f64()?).ln_1p();
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
    // A risk of 1 outweighs all others; several share the score alike.
    let certain = found.iter().filter(|(_, weight)| weight.is_infinite()).count();
    let whole: f64 = found.iter().map(|(_, weight)| weight).sum();
    let score = exact.to_f64().unwrap_or(0.0);
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

/// The greatest score that any truth about the unknown money could make.
fn upper_bound(profile: &Profile, effective: &Effective, unknown: &Unknown, exact: &Share) -> Share {
    let choices = |direction: Direction, share: &Share| -> Vec<Option<(Direction, Category)>> {
        if share.is_zero() {
            return vec![None];
        }
        Category::ALL
            .into_iter()
            .map(|category| Some((direction, category)))
            .collect()
    };
    let mut bound = exact.clone();
    // Each direction's unknown money is tried as each category. Risk weighs by -ln(1-x), which is convex, so splitting the
    // money between categories gives no more than the best of these, as long as no category fills up at less than 100.
    let mut worst = effective.clone();
    for (direction, share) in [
        (Direction::Incoming, &unknown.incoming),
        (Direction::Outgoing, &unknown.outgoing),
    ] {
        let mut best = worst.clone();
        let mut best_score = combined(profile, &best);
        for choice in choices(direction, share).into_iter().flatten() {
            let mut guess = worst.clone();
            *guess.entry(choice).or_insert_with(Share::zero) += share;
            let score = combined(profile, &guess);
            if score > best_score {
                best = guess;
                best_score = score;
            }
        }
        worst = best;
        bound = bound.max(best_score);
    }
    bound
}

/// How the severities of a transaction's sources are spread, weighted by value.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// The least grave source.
    pub low: f64,
    /// The middle of the money: at least half of it is of sources no graver.
    pub median: f64,
    /// The mean over the money.
    pub average: f64,
    /// The gravest source.
    pub high: f64,
}

/// Spreads severities. Money without a name counts as 0; nothing known at all is 0 throughout.
pub fn spread(profile: &Profile, findings: &[Finding], unknown: &Share) -> Spread {
    let mut weights: BTreeMap<u8, Share> = BTreeMap::new();
    for finding in findings
        .iter()
        .filter(|finding| finding.direction == Direction::Incoming)
    {
        *weights
            .entry(profile.severity(finding.category))
            .or_insert_with(Share::zero) += &finding.share;
    }
    *weights.entry(0).or_insert_with(Share::zero) += unknown;
    weights.retain(|_, share| !share.is_zero());
    let whole: Share = weights.values().sum();
    if whole.is_zero() {
        return Spread {
            low: 0.0,
            median: 0.0,
            average: 0.0,
            high: 0.0,
        };
    }
    let half = &whole / Share::from_integer(2.into());
    let mut below = Share::zero();
    let median = weights.iter().find(|(_, share)| {
        below += *share;
        below >= half
    });
    let mean: Share = weights
        .iter()
        .map(|(severity, share)| Share::from_integer((*severity).into()) * share)
        .sum();
    Spread {
        low: weights.keys().next().copied().map_or(0.0, f64::from),
        median: median.map_or(0.0, |(severity, _)| f64::from(*severity)),
        average: (mean / whole).to_f64().unwrap_or(0.0),
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
            Some(Own {
                category,
                confidence,
                authority,
            })
        };
        let none = Unknown::default();
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
        let none = Unknown::default();
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
            let unknown = Unknown { incoming: fraction(unknown, 100), outgoing: fraction(unknown, 200) };
            let first = score(&profile, &findings, None, &unknown);
            let points: f64 = first.contributions.iter().map(|contribution| contribution.points).sum();
            prop_assert!((points - first.value()).abs() < 1e-9);
            prop_assert!(first.upper_bound >= first.exact);
            prop_assert!(first.upper_bound <= fraction(100, 1));
            let all: Vec<Finding> = findings.iter().chain(&more).cloned().collect();
            prop_assert!(score(&profile, &all, None, &unknown).exact >= first.exact);
        }
    }
}
