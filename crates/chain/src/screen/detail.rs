//! The detailed report: the contract's members and what makes the score recomputable.
//!
//! Amounts are decimal strings, percentages 0-100, times ISO 8601. What the chain does not give is left out.

use std::collections::BTreeMap;

use num_bigint::BigUint;
use num_traits::{ToPrimitive, Zero};
use serde::Serialize;

use super::{Request, Share};
use crate::amount::Amount;
use crate::category::Category;
use crate::cluster::Cluster;
use crate::freshness;
use crate::labels::Label;
use crate::parts;
use crate::pool::Method;
use crate::profile::Profile;
use crate::score::{Origin, Score, Spread};
use crate::source::{History, Movement, Transaction};
use crate::trace::{Cut, Direction, Exposure, Trace, Via};

/// A detailed report.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum Detail {
    /// Of an address.
    Address(Box<AddressDetail>),
    /// Of a transaction.
    Transaction(Box<TransactionDetail>),
}

impl Detail {
    /// Its exposures.
    pub fn exposures(&self) -> &Exposures {
        match self {
            Detail::Address(detail) => &detail.exposures,
            Detail::Transaction(detail) => &detail.exposures,
        }
    }
}

/// A name and what it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Entity {
    /// The name.
    pub name: String,
    /// The category.
    pub category: Category,
}

/// A party and an amount.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Moved {
    /// The address; `null` when a script names none.
    pub address: Option<String>,
    /// In whole coins.
    pub amount: String,
}

/// The detailed report of an address.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the contract's names, §4.9")]
pub struct AddressDetail {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new_address: Option<bool>,
    pub entities: Vec<Entity>,
    pub flags: Vec<Entity>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster: Option<ClusterDetail>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_seen_receiving: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_seen_sending: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_seen_receiving: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_seen_sending: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub received_amount: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sent_amount: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub balance: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub number_of_transactions: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub received_transactions: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sent_transactions: Option<u64>,
    pub exposures: Exposures,
}

/// The addresses that one holder controls with the screened one.
#[derive(Clone, Debug, Serialize)]
pub struct ClusterDetail {
    /// How many are known.
    pub size: usize,
    /// The first of them in order, at most 100.
    pub addresses: Vec<String>,
    /// Whether all were looked for.
    pub complete: bool,
}

/// The detailed report of a transaction.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the contract's names, §4.9")]
pub struct TransactionDetail {
    pub entities: Vec<Entity>,
    pub flags: Vec<Entity>,
    #[serde(flatten)]
    pub spread: Option<Spread>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub amount: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fees: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inputs: Option<Vec<Moved>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outputs: Option<Vec<Moved>>,
    pub exposures: Exposures,
    #[serde(flatten)]
    pub extra: serde_json::Map<String, serde_json::Value>,
}

/// The breakdown that a score can be recomputed from.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Exposures {
    /// By entity.
    pub entity: Vec<Exposed>,
    /// By category.
    pub flag: Vec<Exposed>,
    /// By rank.
    pub rank: Vec<Ranked>,
    /// Each category's part in the score; the points sum to it.
    pub contributions: Vec<Contributed>,
    /// What the trace saw and did not see.
    pub coverage: Coverage,
    /// How mixed money was told apart.
    pub method: Method,
    /// Up to which block.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub as_of_block: Option<u64>,
    /// When that block was made (ISO 8601), where it was the newest known and the source tells its time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub as_of_time: Option<String>,
    /// By which state of the labels.
    pub label_set_version: String,
    /// By which version of the merchant's profile; 0 is built in.
    pub profile_version: u32,
    /// Who said what happened on the chain; `labels` when nobody did.
    pub source: String,
}

/// An entity or a category that money came from or went to.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Exposed {
    /// The entity's name, or the category's.
    pub name: String,
    /// The category.
    pub category: Category,
    /// Which way.
    pub direction: Direction,
    /// `direct` at one hop, `indirect` beyond.
    pub r#type: &'static str,
    /// In whole coins, rounded down.
    pub amount: String,
    /// Of the money in that direction.
    pub percentage: f64,
    /// The nearest hop.
    pub min_hops: u32,
    /// How sure the label is, 0-100.
    pub confidence: u8,
    /// Its part of the score.
    pub points: f64,
    /// The way of the largest part (entities only).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub path: Vec<Via>,
    /// The exact shares at each hop: what the score is reckoned from.
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

/// Money by the gravity of its other side.
#[derive(Clone, Debug, Serialize)]
pub struct Ranked {
    /// `low`, `medium`, `high` or `severe`, by the profile's thresholds.
    pub rank: &'static str,
    /// Which way.
    pub direction: Direction,
    /// In whole coins, rounded down.
    pub amount: String,
    /// Of the money in that direction.
    pub percentage: f64,
}

/// A category's part in the score.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Contributed {
    /// `own`, `incoming` or `outgoing`.
    pub direction: Origin,
    /// The category.
    pub category: Category,
    /// The effective share, hops counted; of an own label, its confidence.
    pub effective_share: f64,
    /// x: its risk alone, 0-1.
    pub risk: f64,
    /// Its points.
    pub points: f64,
}

/// What a trace saw. Percentages of the money received, or, under `outgoing`, of the money sent.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Coverage {
    /// Ended at a label or a miner.
    pub attributed: f64,
    /// Ended where nobody has a name for it.
    pub unattributed: f64,
    /// Was not followed to its end.
    pub unresolved: f64,
    /// The highest score that the rest could make.
    pub score_upper_bound: f64,
    /// How many coins were followed.
    pub transactions_examined: usize,
    /// How many parties without a label were looked up by their cluster.
    pub clusters_examined: usize,
    /// Whether a limit, not a definition, ended the trace.
    pub truncated: bool,
    /// The newest block known was too old for its chain ([`crate::freshness`]): what happened since is not seen.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub stale: bool,
    /// Transactions that moved nothing but tokens may be missing from the address's history; tokens are not traced.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub token_transfers_incomplete: bool,
    /// Why money was not followed, in percent by reason.
    pub cuts: BTreeMap<Cut, f64>,
    /// The same of the money sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outgoing: Option<Rest>,
}

/// Coverage of the money sent.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Rest {
    /// Ended at a label.
    pub attributed: f64,
    /// Rests where nobody has a name for it.
    pub unattributed: f64,
    /// Was not followed to its end.
    pub unresolved: f64,
    /// Why, in percent by reason.
    pub cuts: BTreeMap<Cut, f64>,
}

/// What a report is made with.
pub(super) struct Context<'a> {
    pub(super) profile: &'a Profile,
    pub(super) request: &'a Request<'a>,
    pub(super) source: &'a str,
    pub(super) block: u64,
    /// The time of the newest block, where the report is about now.
    pub(super) newest: Option<i64>,
    pub(super) label_version: String,
    /// The money in each trace.
    pub(super) totals: [&'a Amount; 2],
    /// Whether histories were read whole.
    pub(super) complete: bool,
}

fn percent(share: &Share) -> f64 {
    parts::to_f64(&(share.numer().magnitude() * 100u8), share.denom().magnitude())
}

/// A part of money.
struct Piece<'a> {
    part: BigUint,
    whole: &'a BigUint,
}

impl Piece<'_> {
    fn percentage(&self) -> f64 {
        parts::to_f64(&(&self.part * 100u8), self.whole)
    }

    /// In whole coins, rounded down.
    fn coins(&self, total: &Amount, decimals: u8) -> String {
        Amount::from(total.units() * &self.part / self.whole).to_coins(decimals)
    }
}

/// Milliseconds since 1970 as ISO 8601 with milliseconds, UTC.
pub(super) fn iso(time: i64) -> Option<String> {
    let time = jiff::Timestamp::from_millisecond(time).ok()?;
    Some(time.strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string())
}

impl Exposures {
    /// Nothing was traced.
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

    /// Fills in what depends on the score and the traces as a whole.
    pub(super) fn finish(&mut self, score: &Score, traces: &[Trace]) {
        self.contributions = score
            .contributions
            .iter()
            .map(|contribution| Contributed {
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
            let rest = Rest {
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

/// Exposures of one name, category and distance class.
struct Group {
    name: String,
    category: Category,
    direct: bool,
    /// Parts by hop.
    parts: BTreeMap<u32, BigUint>,
    /// With distance counted: for dividing points.
    effective: f64,
    confidence: u8,
    path: Vec<Via>,
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
    fn exposed(self, trace: &Trace, points: f64, total: &Amount, decimals: u8, with_path: bool) -> Exposed {
        let piece = Piece {
            part: self.parts.values().sum(),
            whole: &trace.whole,
        };
        Exposed {
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

fn ranks(profile: &Profile, trace: &Trace, total: &Amount, decimals: u8) -> Vec<Ranked> {
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
            (!piece.part.is_zero()).then(|| Ranked {
                rank,
                direction: trace.direction,
                amount: piece.coins(total, decimals),
                percentage: piece.percentage(),
            })
        })
        .collect()
}

/// Labels as entities (every label once) and flags (those that weigh).
fn named(labels: &[Label]) -> (Vec<Entity>, Vec<Entity>) {
    let mut entities: Vec<Entity> = Vec::new();
    for label in labels {
        let entity = Entity {
            name: label.name.clone(),
            category: label.category,
        };
        if !entities.contains(&entity) {
            entities.push(entity);
        }
    }
    let mut flags: Vec<Entity> = Vec::new();
    for entity in &entities {
        let flag = Entity {
            name: entity.category.to_string(),
            category: entity.category,
        };
        let weighs = !matches!(
            entity.category,
            Category::Exchange | Category::Mining | Category::Other | Category::Unattributed
        );
        if weighs && !flags.contains(&flag) {
            flags.push(flag);
        }
    }
    (entities, flags)
}

impl AddressDetail {
    /// Nothing but labels is known.
    pub(super) fn unknown(own: &[Label], exposures: Exposures) -> AddressDetail {
        let (entities, flags) = named(own);
        AddressDetail {
            new_address: None,
            entities,
            flags,
            cluster: None,
            first_seen_receiving: None,
            first_seen_sending: None,
            last_seen_receiving: None,
            last_seen_sending: None,
            received_amount: None,
            sent_amount: None,
            balance: None,
            number_of_transactions: None,
            received_transactions: None,
            sent_transactions: None,
            exposures,
        }
    }

    pub(super) fn of(
        request: &Request<'_>,
        address: &str,
        history: &History,
        cluster: &Cluster,
        own: &[Label],
        exposures: Exposures,
    ) -> AddressDetail {
        let decimals = request.chain.decimals();
        let sides: Vec<Side> = history
            .transactions
            .iter()
            .map(|transaction| Side::of(transaction, address))
            .collect();
        let received = sides.iter().filter(|side| side.receives).count() as u64;
        let sent = sides.iter().filter(|side| side.sends).count() as u64;
        // Of transactions: a trace may be whole where tokens are missing.
        let unseen_to = history.tokens_unseen_to;
        let counted = history.complete && unseen_to.is_none();
        let seen = |chosen: fn(&&Side) -> bool, last: bool| {
            let mut chosen = sides.iter().filter(chosen);
            let side = if last {
                chosen.next_back().filter(|side| side.height > unseen_to)
            } else {
                chosen.next().filter(|_| counted)
            };
            side.and_then(|side| side.time).and_then(iso)
        };
        let totals = history.totals.clone().or_else(|| {
            history.complete.then(|| crate::source::Totals {
                received: sides.iter().map(|side| &side.received).sum(),
                sent: sides.iter().map(|side| &side.sent).sum(),
                transactions: sides.len() as u64,
            })
        });
        AddressDetail {
            new_address: match sides.is_empty() {
                true if unseen_to.is_some() => None,
                is_empty => Some(is_empty && totals.as_ref().is_none_or(|totals| totals.transactions == 0)),
            },
            cluster: (cluster.members.len() > 1).then(|| ClusterDetail {
                size: cluster.members.len(),
                addresses: cluster
                    .members
                    .iter()
                    .take(100)
                    .map(ToString::to_string)
                    .collect(),
                complete: cluster.complete,
            }),
            first_seen_receiving: seen(|side| side.receives, false),
            first_seen_sending: seen(|side| side.sends, false),
            last_seen_receiving: seen(|side| side.receives, true),
            last_seen_sending: seen(|side| side.sends, true),
            received_amount: totals.as_ref().map(|totals| totals.received.to_coins(decimals)),
            sent_amount: totals.as_ref().map(|totals| totals.sent.to_coins(decimals)),
            balance: totals
                .as_ref()
                .map(|totals| totals.received.saturating_sub(&totals.sent).to_coins(decimals)),
            // An index's own counter counts those that it did not show.
            number_of_transactions: totals
                .filter(|_| unseen_to.is_none() || history.totals.is_some())
                .map(|totals| totals.transactions),
            received_transactions: counted.then_some(received),
            sent_transactions: counted.then_some(sent),
            ..AddressDetail::unknown(own, exposures)
        }
    }
}

/// One address's side of a transaction, in the chain's own money.
struct Side {
    height: Option<u64>,
    time: Option<i64>,
    received: Amount,
    sent: Amount,
    receives: bool,
    sends: bool,
}

impl Side {
    fn of(transaction: &Transaction, address: &str) -> Side {
        let is_it = |party: &Option<crate::source::Party>| party.as_deref() == Some(address);
        let mut side = Side {
            height: transaction.position.map(|position| position.height),
            time: transaction.time,
            received: Amount::default(),
            sent: Amount::default(),
            receives: false,
            sends: false,
        };
        match &transaction.movement {
            Movement::Outputs { inputs, outputs, .. } => {
                side.sent = inputs
                    .iter()
                    .filter(|input| is_it(&input.party))
                    .map(|input| &input.amount)
                    .sum();
                side.received = outputs
                    .iter()
                    .filter(|output| is_it(&output.party))
                    .map(|output| &output.amount)
                    .sum();
                side.sends = inputs.iter().any(|input| is_it(&input.party));
                side.receives = outputs.iter().any(|output| is_it(&output.party));
            }
            Movement::Transfers(transfers) => {
                let native = || transfers.iter().filter(|transfer| transfer.asset.is_none());
                side.sent = native()
                    .filter(|transfer| is_it(&transfer.from))
                    .map(|transfer| &transfer.amount)
                    .sum();
                side.received = native()
                    .filter(|transfer| is_it(&transfer.to))
                    .map(|transfer| &transfer.amount)
                    .sum();
                side.sends = transfers.iter().any(|transfer| is_it(&transfer.from));
                side.receives = transfers.iter().any(|transfer| is_it(&transfer.to));
                if let (true, Some(fee)) = (is_it(&transaction.fee_payer), &transaction.fee) {
                    side.sent += fee;
                }
            }
        }
        side
    }
}

impl TransactionDetail {
    /// Nothing is known.
    pub(super) fn unknown(exposures: Exposures) -> TransactionDetail {
        TransactionDetail {
            entities: Vec::new(),
            flags: Vec::new(),
            spread: None,
            timestamp: None,
            amount: None,
            fees: None,
            inputs: None,
            outputs: None,
            exposures,
            extra: serde_json::Map::new(),
        }
    }

    pub(super) fn of(
        request: &Request<'_>,
        transaction: &Transaction,
        total: &Amount,
        own: &[Label],
        spread: Spread,
        exposures: Exposures,
    ) -> TransactionDetail {
        let decimals = request.chain.decimals();
        let moved = |party: &Option<crate::source::Party>, amount: &Amount| Moved {
            address: party.as_deref().map(str::to_owned),
            amount: amount.to_coins(decimals),
        };
        let (inputs, outputs): (Vec<Moved>, Vec<Moved>) = match &transaction.movement {
            Movement::Outputs { inputs, outputs, .. } => (
                inputs
                    .iter()
                    .map(|input| moved(&input.party, &input.amount))
                    .collect(),
                outputs
                    .iter()
                    .map(|output| moved(&output.party, &output.amount))
                    .collect(),
            ),
            Movement::Transfers(transfers) => transfers
                .iter()
                .filter(|transfer| transfer.asset.is_none())
                .map(|transfer| {
                    (
                        moved(&transfer.from, &transfer.amount),
                        moved(&transfer.to, &transfer.amount),
                    )
                })
                .unzip(),
        };
        let (entities, flags) = named(own);
        TransactionDetail {
            entities,
            flags,
            spread: Some(spread),
            timestamp: transaction.time.and_then(iso),
            amount: Some(total.to_coins(decimals)),
            fees: transaction.fee.as_ref().map(|fee| fee.to_coins(decimals)),
            inputs: Some(inputs),
            outputs: Some(outputs),
            extra: transaction.extra.clone(),
            ..TransactionDetail::unknown(exposures)
        }
    }
}
