//! Follows money from an address or a transaction, back to where it came from or on to where it went, until labelled
//! parties absorb it.
//!
//! The definition (`design/engines.md` §5): mass moves pro rata to value; a labelled party absorbs what reaches it; own
//! change costs no hop; the largest mass goes first; what lies beyond the hops, below ε or behind the budget is
//! unresolved. Masses are exact fractions and sum to 1. Nothing here weighs risk.

mod step;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use num_traits::{One, Zero};
use rustc_hash::FxHashSet;

pub use self::step::{Coin, Step};
use crate::category::Category;
pub use crate::pool::{Method, Share};
use crate::source::{Party, Position, Source, SourceError, TxId};

/// Which way money is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Back to its sources.
    Incoming,
    /// On to its destinations.
    Outgoing,
}

/// How far and how a trace goes.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// How mixed money is told apart.
    pub method: Method,
    /// The farthest hop whose parties are asked for.
    pub max_hops: u32,
    /// Masses below this are not followed.
    pub epsilon: Share,
    /// At most so many coins are followed.
    pub max_nodes: usize,
    /// At most so many transactions of an account's history are replayed.
    pub max_history: usize,
    /// Whether inputs spent together share a label, and CoinJoins absorb what they mixed.
    pub heuristics: bool,
    /// Nothing after this place is known: for repeating an old decision.
    pub up_to: Option<Position>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            method: Method::Haircut,
            max_hops: 5,
            epsilon: Share::new(1.into(), 1000.into()),
            max_nodes: 1000,
            max_history: 1000,
            heuristics: true,
            up_to: None,
        }
    }
}

/// Whom a party belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attribution {
    /// The entity's name.
    pub name: String,
    /// What it is.
    pub category: Category,
    /// How sure, 0-100.
    pub confidence: u8,
}

/// Money to be followed.
#[derive(Clone, Debug)]
pub enum Seed {
    /// A coin whose other side is not yet known.
    Coin(Coin, Share),
    /// A coin that is known to have come from, or gone to, a party.
    Step(Step),
}

/// Where a path led, from the screened address outwards.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Via {
    /// The transaction that moved the money.
    pub transaction: String,
    /// The party on the far side, if known.
    pub address: Option<String>,
}

/// What a labelled party absorbed at one distance.
#[derive(Clone, Debug, PartialEq)]
pub struct Exposure {
    /// Its category.
    pub category: Category,
    /// Its name.
    pub entity: String,
    /// How many parties away, 1 for a direct counterparty.
    pub hop: u32,
    /// What part of the traced money.
    pub share: Share,
    /// How sure the label is, 0-100: the greatest of those met.
    pub confidence: u8,
    /// The way of the largest part.
    pub path: Vec<Via>,
}

/// Why some money was not followed to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Cut {
    /// Beyond the farthest hop.
    Hops,
    /// Too small a part.
    Epsilon,
    /// Too many coins.
    Nodes,
    /// The source's budget of requests or time was spent.
    Budget,
    /// A history too long, or not known to the source.
    History,
}

/// One edge of what was traced, for the picture.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// The edge that led here; `None`: the screened address itself.
    pub parent: Option<usize>,
    /// The transaction.
    pub transaction: TxId,
    /// The party reached.
    pub party: Option<Party>,
    /// The hop.
    pub hop: u32,
    /// The mass that moved.
    pub share: Share,
    /// What absorbed it, if that was its end.
    pub absorbed: Option<(Category, String)>,
}

/// What a trace found.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// Which way.
    pub direction: Direction,
    /// By category, entity and hop.
    pub exposures: Vec<Exposure>,
    /// Followed to an end that nobody has labelled (an unspent output, a script without an address).
    pub unattributed: Share,
    /// Not followed to an end, by reason.
    pub cuts: BTreeMap<Cut, Share>,
    /// How many coins were followed.
    pub expansions: usize,
    /// Every edge met.
    pub nodes: Vec<Node>,
}

impl Trace {
    /// A trace of nothing.
    pub fn empty(direction: Direction) -> Trace {
        Trace {
            direction,
            exposures: Vec::new(),
            unattributed: Share::zero(),
            cuts: BTreeMap::new(),
            expansions: 0,
            nodes: Vec::new(),
        }
    }

    /// What was not followed to an end.
    pub fn unresolved(&self) -> Share {
        self.cuts.values().sum()
    }

    /// What labelled parties (and miners) absorbed.
    pub fn attributed(&self) -> Share {
        self.exposures.iter().map(|exposure| &exposure.share).sum()
    }
}

/// A coin waiting to be followed. The largest mass goes first; equals in the order that they were met.
struct Waiting {
    mass: Share,
    order: Reverse<usize>,
    hop: u32,
    seed: usize,
    node: Option<usize>,
    coin: Coin,
}

impl PartialEq for Waiting {
    fn eq(&self, other: &Waiting) -> bool {
        self.cmp(other).is_eq()
    }
}
impl Eq for Waiting {}
impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Waiting) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Waiting {
    fn cmp(&self, other: &Waiting) -> std::cmp::Ordering {
        (&self.mass, self.order).cmp(&(&other.mass, other.order))
    }
}

type ExposureKey = (Category, String, u32);

/// One trace in progress.
struct Tracer<'a> {
    source: &'a dyn Source,
    attribute: &'a dyn Fn(&str) -> Option<Attribution>,
    own: &'a FxHashSet<Party>,
    options: &'a Options,
    trace: Trace,
    /// Exposures with the largest single mass of each, whose way is kept.
    exposures: BTreeMap<(&'static str, String, u32), (Exposure, Share)>,
    waiting: BinaryHeap<Waiting>,
    met: usize,
    /// Poison counts each source once for each seed.
    counted: FxHashSet<(usize, Option<ExposureKey>)>,
    followed: FxHashSet<(usize, Coin, u32)>,
}

/// Follows seeds whose masses are parts of one whole.
///
/// # Errors
/// When the source cannot be reached, answers nonsense or times out. A spent budget is no error: its mass is cut.
pub fn trace(
    source: &dyn Source,
    attribute: &dyn Fn(&str) -> Option<Attribution>,
    own: &FxHashSet<Party>,
    direction: Direction,
    seeds: Vec<Seed>,
    options: &Options,
) -> Result<Trace, SourceError> {
    let mut tracer = Tracer {
        source,
        attribute,
        own,
        options,
        trace: Trace::empty(direction),
        exposures: BTreeMap::new(),
        waiting: BinaryHeap::new(),
        met: 0,
        counted: FxHashSet::default(),
        followed: FxHashSet::default(),
    };
    for (seed, money) in seeds.into_iter().enumerate() {
        match money {
            Seed::Coin(coin, mass) => tracer.wait(coin, mass, 1, seed, None),
            Seed::Step(step) => {
                let mass = step.weight.clone();
                tracer.arrive(step, mass, 1, seed, None, None);
            }
        }
    }
    tracer.run()
}

impl Tracer<'_> {
    fn run(mut self) -> Result<Trace, SourceError> {
        while let Some(next) = self.waiting.pop() {
            if self.trace.expansions >= self.options.max_nodes {
                self.cut(Cut::Nodes, next.mass, next.seed);
                continue;
            }
            if self.options.method == Method::Poison
                && !self.followed.insert((next.seed, next.coin.clone(), next.hop))
            {
                continue;
            }
            self.trace.expansions += 1;
            self.expand(next)?;
        }
        self.trace.exposures = self
            .exposures
            .into_values()
            .map(|(exposure, _)| exposure)
            .collect();
        Ok(self.trace)
    }

    fn expand(&mut self, next: Waiting) -> Result<(), SourceError> {
        let found = match self.trace.direction {
            Direction::Incoming => step::back(self.source, &next.coin, self.options),
            Direction::Outgoing => step::on(self.source, &next.coin, self.options),
        };
        let ends = match found {
            Ok(ends) => ends,
            Err(SourceError::Budget) => {
                self.cut(Cut::Budget, next.mass, next.seed);
                return Ok(());
            }
            Err(SourceError::NotFound | SourceError::Unsupported(_)) => {
                self.cut(Cut::History, next.mass, next.seed);
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        if let Some((category, name, confidence)) = ends.absorbed {
            let by = Attribution {
                name: name.to_owned(),
                category,
                confidence,
            };
            let node = self.note(
                next.node,
                next.coin.transaction().clone(),
                None,
                next.hop,
                &next.mass,
            );
            self.absorb(by, next.mass, next.hop, next.seed, node);
            return Ok(());
        }
        let shared = if self.options.heuristics && ends.one_spender {
            self.shared_label(&ends.steps)
        } else {
            None
        };
        let own_spend = ends.one_spender && ends.steps.iter().any(|step| self.is_own(step));
        let mut given = Share::zero();
        for step in ends.steps {
            given += &step.weight;
            let label = if own_spend && self.options.heuristics {
                None
            } else {
                shared.as_ref()
            };
            let mass = match self.options.method {
                Method::Poison if !step.weight.is_zero() => next.mass.clone(),
                _ => &next.mass * &step.weight,
            };
            self.arrive(step, mass, next.hop, next.seed, next.node, label);
        }
        if self.options.method == Method::Poison {
            if !ends.resting.is_zero() {
                self.rest(next.mass, next.seed);
            }
            return Ok(());
        }
        given += &ends.resting;
        if !ends.resting.is_zero() {
            self.rest(&next.mass * &ends.resting, next.seed);
        }
        let lost = Share::one() - given;
        if !lost.is_zero() {
            self.cut(Cut::History, &next.mass * lost, next.seed);
        }
        Ok(())
    }

    /// The label that inputs spent together share: that of those labelled, if they agree.
    fn shared_label(&self, steps: &[Step]) -> Option<Attribution> {
        let mut found: Option<Attribution> = None;
        for step in steps {
            let Some(label) = step.party.as_deref().and_then(self.attribute) else {
                continue;
            };
            match &found {
                Some(first) if first.name != label.name || first.category != label.category => return None,
                Some(_) => {}
                None => found = Some(label),
            }
        }
        found
    }

    fn is_own(&self, step: &Step) -> bool {
        step.party.as_ref().is_some_and(|party| self.own.contains(party))
    }

    /// Money reached a party: it is absorbed, or waits to be followed on.
    fn arrive(
        &mut self,
        step: Step,
        mass: Share,
        hop: u32,
        seed: usize,
        parent: Option<usize>,
        shared: Option<&Attribution>,
    ) {
        if mass.is_zero() {
            return;
        }
        let own = self.is_own(&step);
        let node = self.note(parent, step.transaction, step.party.clone(), hop, &mass);
        let label = step
            .party
            .as_deref()
            .filter(|_| !own)
            .and_then(|party| (self.attribute)(party));
        if let Some(label) = label.or_else(|| shared.filter(|_| !own).cloned()) {
            self.absorb(label, mass, hop, seed, node);
            return;
        }
        match step.next {
            Some(coin) => self.wait(coin, mass, if own { hop } else { hop + 1 }, seed, Some(node)),
            None if self.trace.direction == Direction::Incoming => {
                let mint = Attribution {
                    name: "coinbase".to_owned(),
                    category: Category::Mining,
                    confidence: 100,
                };
                self.absorb(mint, mass, hop, seed, node);
            }
            None => self.rest(mass, seed),
        }
    }

    fn wait(&mut self, coin: Coin, mass: Share, hop: u32, seed: usize, node: Option<usize>) {
        let tamed = crate::pool::tame(mass.clone());
        if tamed != mass {
            self.cut(Cut::Epsilon, mass - &tamed, seed);
        }
        if hop > self.options.max_hops {
            return self.cut(Cut::Hops, tamed, seed);
        }
        if tamed < self.options.epsilon {
            return self.cut(Cut::Epsilon, tamed, seed);
        }
        self.met += 1;
        self.waiting.push(Waiting {
            mass: tamed,
            order: Reverse(self.met),
            hop,
            seed,
            node,
            coin,
        });
    }

    fn note(
        &mut self,
        parent: Option<usize>,
        transaction: TxId,
        party: Option<Party>,
        hop: u32,
        share: &Share,
    ) -> usize {
        self.trace.nodes.push(Node {
            parent,
            transaction,
            party,
            hop,
            share: share.clone(),
            absorbed: None,
        });
        self.trace.nodes.len() - 1
    }

    fn absorb(&mut self, by: Attribution, mass: Share, hop: u32, seed: usize, node: usize) {
        let poison = self.options.method == Method::Poison;
        if poison
            && !self
                .counted
                .insert((seed, Some((by.category, by.name.clone(), hop))))
        {
            return;
        }
        self.trace.nodes[node].absorbed = Some((by.category, by.name.clone()));
        let key = (by.category.as_str(), by.name.clone(), hop);
        match self.exposures.get_mut(&key) {
            Some((exposure, largest)) => {
                exposure.share += &mass;
                exposure.confidence = exposure.confidence.max(by.confidence);
                if mass > *largest {
                    exposure.path = path(&self.trace.nodes, node);
                    *largest = mass;
                }
            }
            None => {
                let exposure = Exposure {
                    category: by.category,
                    entity: by.name,
                    hop,
                    share: mass.clone(),
                    confidence: by.confidence,
                    path: path(&self.trace.nodes, node),
                };
                self.exposures.insert(key, (exposure, mass));
            }
        }
    }

    fn rest(&mut self, mass: Share, seed: usize) {
        if self.options.method == Method::Poison
            && !self
                .counted
                .insert((seed, Some((Category::Unattributed, String::new(), 0))))
        {
            return;
        }
        self.trace.unattributed += mass;
    }

    fn cut(&mut self, why: Cut, mass: Share, seed: usize) {
        if self.options.method == Method::Poison && !self.counted.insert((seed, None)) {
            return;
        }
        *self.trace.cuts.entry(why).or_insert_with(Share::zero) += mass;
    }
}

/// The way from the screened address to an edge.
fn path(nodes: &[Node], node: usize) -> Vec<Via> {
    let mut path = Vec::new();
    let mut at = Some(node);
    while let Some(node) = at.and_then(|at| nodes.get(at)) {
        path.push(Via {
            transaction: node.transaction.to_string(),
            address: node.party.as_deref().map(str::to_owned),
        });
        at = node.parent;
    }
    path.reverse();
    path
}
