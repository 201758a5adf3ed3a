//! The explanation of a score in answers: exposures by entity, category and rank, each category's points, and
//! coverage. The score can be recomputed from it. This module calculates no risk.

use std::collections::BTreeMap;

use num_bigint::BigUint;
use num_traits::{ToPrimitive, Zero};
use serde::Serialize;

use super::iso::iso;
use super::request::Request;
use crate::amount::Amount;
use crate::category::Category;
use crate::freshness;
use crate::parts::{self, Share};
use crate::pool::Method;
use crate::profile::Profile;
use crate::score::{Origin, Score};
use crate::trace::{Cut, Direction, Exposure, PathStep, Trace};

/// The breakdown from which the score can be recomputed.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Exposures {
    /// By entity.
    pub entity: Vec<NamedExposure>,
    /// By category.
    pub flag: Vec<NamedExposure>,
    /// By rank.
    pub rank: Vec<RankExposure>,
    /// Each category's part of the score; the points sum to the score.
    pub contributions: Vec<CategoryPoints>,
    /// What the trace covered.
    pub coverage: Coverage,
    /// How the sources of mixed money were determined.
    pub method: Method,
    /// The last block that was considered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub as_of_block: Option<u64>,
    /// The time of that block (ISO 8601), if it was the newest known block and the source states its time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub as_of_time: Option<String>,
    /// The version of the labels.
    pub label_set_version: String,
    /// The version of the merchant's profile; 0 is the built-in one.
    pub profile_version: u32,
    /// The source of the chain's data; `labels` when there was none.
    pub source: String,
}

/// An entity or a category from which money came or to which it went.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NamedExposure {
    /// The entity's name, or the category's.
    pub name: String,
    /// The category.
    pub category: Category,
    /// The direction.
    pub direction: Direction,
    /// `direct` at one hop, `indirect` beyond.
    pub r#type: &'static str,
    /// The amount in whole coins, rounded down.
    pub amount: String,
    /// The percentage of the money in that direction.
    pub percentage: f64,
    /// The smallest number of hops.
    pub min_hops: u32,
    /// The confidence of the label, 0-100.
    pub confidence: u8,
    /// The points in the score.
    pub points: f64,
    /// The path of the largest part (entities only).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub path: Vec<PathStep>,
    /// The exact shares at each hop, from which the score is calculated.
    pub shares: Vec<ShareAt>,
}

/// An exact share at a distance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ShareAt {
    /// The hop.
    pub hop: u32,
    /// A fraction such as `7/10`.
    pub share: String,
}

/// Money by the rank of its counterparties.
#[derive(Clone, Debug, Serialize)]
pub struct RankExposure {
    /// `low`, `medium`, `high` or `severe`, by the profile's thresholds.
    pub rank: &'static str,
    /// The direction.
    pub direction: Direction,
    /// The amount in whole coins, rounded down.
    pub amount: String,
    /// The percentage of the money in that direction.
    pub percentage: f64,
}

/// A category's part of the score.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CategoryPoints {
    /// `own`, `incoming` or `outgoing`.
    pub direction: Origin,
    /// The category.
    pub category: Category,
    /// The effective share with decay; for an own label, its confidence.
    pub effective_share: f64,
    /// The category's risk x alone, 0-1.
    pub risk: f64,
    /// The category's points.
    pub points: f64,
}

/// The coverage of a trace. Percentages refer to the received money or, under `outgoing`, to the sent money.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Coverage {
    /// Money that ended at a label or a miner.
    pub attributed: f64,
    /// Money that ended at an unknown party.
    pub unattributed: f64,
    /// Money that was not traced to its end.
    pub unresolved: f64,
    /// The highest score that is possible given the unknown money.
    pub score_upper_bound: f64,
    /// The number of coins that were traced.
    pub transactions_examined: usize,
    /// The number of parties without a label whose cluster was searched.
    pub clusters_examined: usize,
    /// Whether a limit ended the trace, and not its definition.
    pub truncated: bool,
    /// Whether the newest known block was too old for its chain ([`crate::freshness`]), so that recent events
    /// are missing.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub stale: bool,
    /// Whether transactions that moved only tokens may be missing from the address's history. Tokens are not
    /// traced.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub token_transfers_incomplete: bool,
    /// Why money was not traced, in percent by reason.
    pub cuts: BTreeMap<Cut, f64>,
    /// The coverage of the sent money.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outgoing: Option<DirectionCoverage>,
}

/// The coverage of the sent money.
#[derive(Clone, Debug, Default, Serialize)]
pub struct DirectionCoverage {
    /// Money that ended at a label.
    pub attributed: f64,
    /// Money that remains with an unknown party.
    pub unattributed: f64,
    /// Money that was not traced to its end.
    pub unresolved: f64,
    /// The reasons, in percent by reason.
    pub cuts: BTreeMap<Cut, f64>,
}

/// The data for a report.
pub(super) struct Context<'a> {
    pub(super) profile: &'a Profile,
    pub(super) request: &'a Request<'a>,
    pub(super) source: &'a str,
    pub(super) block: u64,
    /// The time of the newest block, if the report is about the present.
    pub(super) newest: Option<i64>,
    pub(super) label_version: String,
    /// The amount of money in each trace.
    pub(super) totals: [&'a Amount; 2],
    /// Whether the histories were complete.
    pub(super) complete: bool,
}

fn percent(share: &Share) -> f64 {
    parts::to_f64(&(share.numer().magnitude() * 100u8), share.denom().magnitude())
}

/// A part of the traced money.
struct Piece<'a> {
    part: BigUint,
    whole: &'a BigUint,
}

impl Piece<'_> {
    fn percentage(&self) -> f64 {
        parts::to_f64(&(&self.part * 100u8), self.whole)
    }

    /// The amount in whole coins, rounded down.
    fn coins(&self, total: &Amount, decimals: u8) -> String {
        Amount::from(total.units() * &self.part / self.whole).to_coins(decimals)
    }
}

impl Exposures {
    /// The explanation when nothing was traced.
    pub(super) fn untraced(label_set_version: String, profile: &Profile, request: &Request<'_>) -> Exposures {
        Exposures {
            entity: Vec::new(),
            flag: Vec::new(),
            rank: Vec::new(),
            contributions: Vec::new(),
            coverage: Coverage {
                unresolved: 100.0,
                truncated: true,
                ..Coverage::default()
            },
            method: request.options.method,
            as_of_block: None,
            as_of_time: None,
            label_set_version,
            profile_version: profile.version,
            source: "labels".to_owned(),
        }
    }

    pub(super) fn of(context: &Context<'_>, score: &Score, traces: &[Trace]) -> Exposures {
        let mut exposures = Exposures {
            coverage: Coverage::default(),
            as_of_block: Some(context.block),
            as_of_time: context.newest.and_then(iso),
            source: context.source.to_owned(),
            ..Exposures::untraced(context.label_version.clone(), context.profile, context.request)
        };
        let decimals = context.request.chain.decimals();
        for (trace, total) in traces.iter().zip(context.totals) {
            let by_entity = grouped(context.profile, trace, |exposure| exposure.entity.clone());
            let by_category = grouped(context.profile, trace, |exposure| exposure.category.to_string());
            for (groups, into, ways) in [
                (by_entity, &mut exposures.entity, true),
                (by_category, &mut exposures.flag, false),
            ] {
                let mut of_category: BTreeMap<Category, f64> = BTreeMap::new();
                for group in &groups {
                    *of_category.entry(group.category).or_default() += group.effective;
                }
                into.extend(groups.into_iter().map(|group| {
                    let whole = of_category[&group.category];
                    let part = if whole == 0.0 {
                        0.0
                    } else {
                        group.effective / whole
                    };
                    let points = points(score, trace.direction, group.category) * part;
                    group.exposed(trace, points, total, decimals, ways)
                }));
            }
            exposures
                .rank
                .extend(ranks(context.profile, trace, total, decimals));
        }
        exposures.finish(score, traces);
        exposures.coverage.truncated |= !context.complete;
        let (chain, now) = (context.request.chain, context.request.at);
        exposures.coverage.stale = freshness::is_stale(chain, context.newest, now);
        exposures
    }

    /// Adds the data that depends on the score and the traces as a whole.
    pub(super) fn finish(&mut self, score: &Score, traces: &[Trace]) {
        self.contributions = score
            .contributions
            .iter()
            .map(|contribution| CategoryPoints {
                direction: contribution.origin,
                category: contribution.category,
                effective_share: parts::number(&contribution.effective),
                risk: parts::number(&contribution.risk),
                points: contribution.points,
            })
            .collect();
        self.coverage.score_upper_bound = parts::number(&score.upper_bound);
        for trace in traces {
            let cuts: BTreeMap<Cut, f64> = trace
                .cuts
                .iter()
                .map(|(why, share)| (*why, percent(share)))
                .collect();
            self.coverage.transactions_examined += trace.expansions;
            self.coverage.clusters_examined += trace.clusters;
            self.coverage.truncated |= trace
                .cuts
                .keys()
                .any(|why| matches!(why, Cut::Nodes | Cut::Budget | Cut::History));
            let rest = DirectionCoverage {
                attributed: percent(&trace.attributed()),
                unattributed: percent(&trace.unattributed),
                unresolved: percent(&trace.unresolved()),
                cuts,
            };
            match trace.direction {
                Direction::Incoming => {
                    self.coverage.attributed = rest.attributed;
                    self.coverage.unattributed = rest.unattributed;
                    self.coverage.unresolved = rest.unresolved;
                    self.coverage.cuts = rest.cuts;
                }
                Direction::Outgoing => self.coverage.outgoing = Some(rest),
            }
        }
    }
}

/// Exposures with the same name, category and distance class.
struct Group {
    name: String,
    category: Category,
    direct: bool,
    /// Parts by hop.
    parts: BTreeMap<u32, BigUint>,
    /// The effective share with decay, by which points are divided.
    effective: f64,
    confidence: u8,
    path: Vec<PathStep>,
    largest: BigUint,
}

fn grouped(profile: &Profile, trace: &Trace, name: impl Fn(&Exposure) -> String) -> Vec<Group> {
    let decay = profile.hop_decay.0.to_f64().unwrap_or(1.0);
    let mut groups: BTreeMap<(Category, String, bool), Group> = BTreeMap::new();
    for exposure in &trace.exposures {
        let direct = exposure.hop <= 1;
        let name = name(exposure);
        let group = groups
            .entry((exposure.category, name.clone(), !direct))
            .or_insert_with(|| Group {
                name,
                category: exposure.category,
                direct,
                parts: BTreeMap::new(),
                effective: 0.0,
                confidence: 0,
                path: Vec::new(),
                largest: BigUint::zero(),
            });
        *group.parts.entry(exposure.hop).or_default() += &exposure.part;
        let hops = i32::try_from(exposure.hop.saturating_sub(1)).unwrap_or(i32::MAX);
        group.effective += parts::to_f64(&exposure.part, &trace.whole) * decay.powi(hops);
        group.confidence = group.confidence.max(exposure.confidence);
        if exposure.part > group.largest {
            group.largest = exposure.part.clone();
            group.path.clone_from(&exposure.path);
        }
    }
    groups.into_values().collect()
}

fn points(score: &Score, direction: Direction, category: Category) -> f64 {
    score
        .contributions
        .iter()
        .filter(|contribution| contribution.origin == direction.into() && contribution.category == category)
        .map(|contribution| contribution.points)
        // An empty sum of floats is -0.
        .fold(0.0, |sum, points| sum + points)
}

impl Group {
    fn exposed(
        self,
        trace: &Trace,
        points: f64,
        total: &Amount,
        decimals: u8,
        with_path: bool,
    ) -> NamedExposure {
        let piece = Piece {
            part: self.parts.values().sum(),
            whole: &trace.whole,
        };
        NamedExposure {
            name: self.name,
            category: self.category,
            direction: trace.direction,
            r#type: if self.direct { "direct" } else { "indirect" },
            amount: piece.coins(total, decimals),
            percentage: piece.percentage(),
            min_hops: self.parts.keys().next().copied().unwrap_or(1),
            confidence: self.confidence,
            points,
            path: if with_path { self.path } else { Vec::new() },
            shares: self
                .parts
                .into_iter()
                .map(|(hop, part)| ShareAt {
                    hop,
                    share: parts::share(&part, &trace.whole).to_string(),
                })
                .collect(),
        }
    }
}

fn ranks(profile: &Profile, trace: &Trace, total: &Amount, decimals: u8) -> Vec<RankExposure> {
    ["low", "medium", "high", "severe"]
        .into_iter()
        .filter_map(|rank| {
            let of_rank = |exposure: &&Exposure| profile.rank(exposure.category) == rank;
            let part = trace
                .exposures
                .iter()
                .filter(of_rank)
                .map(|exposure| &exposure.part);
            let piece = Piece {
                part: part.sum(),
                whole: &trace.whole,
            };
            (!piece.part.is_zero()).then(|| RankExposure {
                rank,
                direction: trace.direction,
                amount: piece.coins(total, decimals),
                percentage: piece.percentage(),
            })
        })
        .collect()
}
