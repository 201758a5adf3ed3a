//! Runs a trace: the largest mass first, until labels, ends and limits have absorbed everything.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use num_bigint::BigUint;
use num_traits::Zero;
use rustc_hash::{FxHashMap, FxHashSet};

use super::step::{self, Coin, Step};
use super::{Attribution, Cut, Direction, Exposure, Node, Options, PathStep, Seeds, Start, Trace};
use crate::category::Category;
use crate::cluster;
use crate::parts::{Part, Scale};
use crate::pool::Method;
use crate::source::{Party, Source, SourceError, TxId, Window};

/// A coin in the queue. The largest mass is first; equal masses are in the order in which they were queued.
struct QueuedCoin {
    mass: Part,
    /// The sort key of the mass, for quick comparison.
    key: u128,
    order: Reverse<usize>,
    hop: u32,
    seed: usize,
    node: Option<usize>,
    coin: Coin,
}

impl PartialEq for QueuedCoin {
    fn eq(&self, other: &QueuedCoin) -> bool {
        self.cmp(other).is_eq()
    }
}
impl Eq for QueuedCoin {}
impl PartialOrd for QueuedCoin {
    fn partial_cmp(&self, other: &QueuedCoin) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for QueuedCoin {
    fn cmp(&self, other: &QueuedCoin) -> std::cmp::Ordering {
        (self.key, &self.mass, self.order).cmp(&(other.key, &other.mass, other.order))
    }
}

type ExposureKey = (Category, String, u32);

/// An exposure during the trace.
struct OpenExposure {
    by: Attribution,
    hop: u32,
    mass: Part,
    /// The largest mass of one path, and that path.
    largest: Part,
    path: Vec<PathStep>,
}

/// The number of a party's latest transactions that determine its cluster.
const CLUSTER_HISTORY: usize = 100;

/// A trace in progress.
struct Tracer<'a> {
    source: &'a dyn Source,
    attribute: &'a dyn Fn(&str) -> Option<Attribution>,
    own: &'a FxHashSet<Party>,
    options: &'a Options,
    trace: Trace,
    scale: Scale,
    epsilon: Part,
    exposures: BTreeMap<(&'static str, String, u32), OpenExposure>,
    unattributed: Part,
    cuts: BTreeMap<Cut, Part>,
    /// The labels of parties by their clusters.
    clusters: FxHashMap<Party, Option<Attribution>>,
    waiting: BinaryHeap<QueuedCoin>,
    met: usize,
    /// Poison counts each end once for each seed.
    counted: FxHashSet<(usize, Option<ExposureKey>)>,
    followed: FxHashSet<(usize, Coin, u32)>,
}

/// Traces seeds whose masses are parts of one whole.
///
/// # Errors
/// When the source cannot be reached, sends an invalid response or times out. A spent budget is not an error:
/// its mass is cut.
pub fn trace(
    source: &dyn Source,
    attribute: &dyn Fn(&str) -> Option<Attribution>,
    own: &FxHashSet<Party>,
    direction: Direction,
    seeds: Seeds,
    options: &Options,
) -> Result<Trace, SourceError> {
    let mut scale = Scale::default();
    let masses: Vec<&BigUint> = seeds.starts.iter().map(|(_, mass)| mass).collect();
    let masses = scale.weigh(&masses, &seeds.whole);
    let mut tracer = Tracer {
        source,
        attribute,
        own,
        options,
        trace: Trace::empty(direction),
        // Epsilon is only compared, so it needs no place on the trace's scale.
        epsilon: Scale::default().to_part(&options.epsilon),
        exposures: BTreeMap::new(),
        unattributed: scale.nothing(),
        cuts: BTreeMap::new(),
        clusters: FxHashMap::default(),
        waiting: BinaryHeap::new(),
        met: 0,
        counted: FxHashSet::default(),
        followed: FxHashSet::default(),
        scale,
    };
    let mut money = tracer.scale.nothing();
    for (seed, ((start, _), mass)) in seeds.starts.into_iter().zip(masses).enumerate() {
        tracer.scale.add(&mut money, &mass);
        match start {
            Start::Coin(coin) => tracer.wait(coin, mass, 1, seed, None),
            Start::Step(step) => tracer.arrive(step, mass, 1, seed, None, None)?,
            Start::Unseen(why) => tracer.cut(why, &mass, seed),
        }
    }
    tracer.run(&money)
}

impl Tracer<'_> {
    fn run(mut self, money: &Part) -> Result<Trace, SourceError> {
        while let Some(next) = self.waiting.pop() {
            if self.trace.expansions >= self.options.max_nodes {
                self.cut(Cut::Nodes, &next.mass, next.seed);
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
        Ok(self.finish(money))
    }

    /// The finished trace with all parts over one denominator. The mass that rounding lost becomes a cut.
    fn finish(mut self, money: &Part) -> Trace {
        let scale = &self.scale;
        let mut trace = self.trace;
        trace.whole = scale.whole().clone();
        let mut given = scale.numerator(&self.unattributed);
        given += self
            .cuts
            .values()
            .map(|mass| scale.numerator(mass))
            .sum::<BigUint>();
        for met in self.exposures.into_values() {
            let part = scale.numerator(&met.mass);
            given += &part;
            trace.exposures.push(Exposure {
                category: met.by.category,
                entity: met.by.name,
                hop: met.hop,
                part,
                confidence: met.by.confidence,
                path: met.path,
            });
        }
        let money = scale.numerator(money);
        if self.options.method != Method::Poison && given < money {
            let lost = scale.part(money - given);
            let sum = self.cuts.entry(Cut::Precision).or_insert_with(|| scale.nothing());
            scale.add(sum, &lost);
        }
        trace.unattributed = scale.share(&self.unattributed);
        trace.cuts = self
            .cuts
            .iter()
            .map(|(why, mass)| (*why, scale.share(mass)))
            .collect();
        trace
    }

    fn expand(&mut self, next: QueuedCoin) -> Result<(), SourceError> {
        let found = match self.trace.direction {
            Direction::Incoming => step::expand_backwards(self.source, &next.coin, self.options),
            Direction::Outgoing => step::expand_onwards(self.source, &next.coin, self.options),
        };
        let ends = match found {
            Ok(ends) => ends,
            Err(SourceError::Budget) => {
                self.cut(Cut::Budget, &next.mass, next.seed);
                return Ok(());
            }
            Err(SourceError::NotFound | SourceError::Unsupported(_)) => {
                self.cut(Cut::History, &next.mass, next.seed);
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
            let transaction = next.coin.transaction().clone();
            let node = self.note(next.node, transaction, None, next.hop, &next.mass);
            self.absorb(by, &next.mass, next.hop, next.seed, node);
            return Ok(());
        }
        let shared = if self.options.heuristics && ends.one_spender {
            self.shared_label(&ends.steps)
        } else {
            None
        };
        let own_spend = ends.one_spender && ends.steps.iter().any(|(_, step)| self.is_own(step));
        let label = shared.as_ref().filter(|_| !own_spend);
        let poison = self.options.method == Method::Poison;
        let mut amounts: Vec<&BigUint> = ends.steps.iter().map(|(part, _)| part).collect();
        amounts.extend([&ends.resting, &ends.missing]);
        let mut masses = if poison {
            let whole_or_nothing = |part: &&BigUint| {
                if part.is_zero() {
                    self.scale.nothing()
                } else {
                    next.mass.clone()
                }
            };
            amounts.iter().map(whole_or_nothing).collect()
        } else {
            self.scale.split(&next.mass, &amounts, &ends.whole)
        };
        let missing = masses.pop().unwrap_or_else(|| self.scale.nothing());
        let resting = masses.pop().unwrap_or_else(|| self.scale.nothing());
        for ((_, step), mass) in ends.steps.into_iter().zip(masses) {
            self.arrive(step, mass, next.hop, next.seed, next.node, label)?;
        }
        if !resting.is_zero() {
            self.rest(&resting, next.seed);
        }
        if !missing.is_zero() {
            self.cut(Cut::History, &missing, next.seed);
        }
        Ok(())
    }

    /// The label that inputs spent together share: the label of the labelled ones, if they agree.
    fn shared_label(&self, steps: &[(BigUint, Step)]) -> Option<Attribution> {
        let mut found: Option<Attribution> = None;
        for (_, step) in steps {
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

    /// The gravest label among the parties that spent together with a party, who count as one holder. It
    /// comes from the party's own history; the options limit how many histories are read.
    fn cluster_label(&mut self, party: &Party) -> Result<Option<Attribution>, SourceError> {
        if let Some(known) = self.clusters.get(party) {
            return Ok(known.clone());
        }
        if self.trace.clusters >= self.options.max_clusters {
            return Ok(None);
        }
        self.trace.clusters += 1;
        let window = Window {
            up_to: self.options.up_to,
            limit: CLUSTER_HISTORY,
        };
        let members = match cluster::cluster_of(self.source, party, window, 1) {
            Ok(cluster) => cluster.members,
            Err(SourceError::Budget | SourceError::NotFound | SourceError::Unsupported(_)) => Vec::new(),
            Err(error) => return Err(error),
        };
        let label = members
            .iter()
            .filter_map(|member| (self.attribute)(member))
            .min_by(|a, b| {
                (a.category, Reverse(a.confidence), &a.name).cmp(&(
                    b.category,
                    Reverse(b.confidence),
                    &b.name,
                ))
            });
        self.clusters.insert(party.clone(), label.clone());
        Ok(label)
    }

    /// Handles money that reached a party: it is absorbed, or queued for the next step.
    fn arrive(
        &mut self,
        step: Step,
        mass: Part,
        hop: u32,
        seed: usize,
        parent: Option<usize>,
        shared: Option<&Attribution>,
    ) -> Result<(), SourceError> {
        if mass.is_zero() {
            return Ok(());
        }
        let own = self.is_own(&step);
        let node = self.note(parent, step.transaction, step.party.clone(), hop, &mass);
        if let Some(party) = step.party.as_ref().filter(|_| !own) {
            let mut label = (self.attribute)(party).or_else(|| shared.cloned());
            let on_outputs = matches!(step.next, Some(Coin::Output(..)));
            if label.is_none() && self.options.heuristics && on_outputs && mass >= self.epsilon {
                label = self.cluster_label(party)?;
            }
            if let Some(label) = label {
                self.absorb(label, &mass, hop, seed, node);
                return Ok(());
            }
        } else if let Some(shared) = shared.filter(|_| !own) {
            self.absorb(shared.clone(), &mass, hop, seed, node);
            return Ok(());
        }
        match step.next {
            Some(coin) => self.wait(coin, mass, if own { hop } else { hop + 1 }, seed, Some(node)),
            None if self.trace.direction == Direction::Incoming => {
                let mint = Attribution {
                    name: "coinbase".to_owned(),
                    category: Category::Mining,
                    confidence: 100,
                };
                self.absorb(mint, &mass, hop, seed, node);
            }
            None => self.rest(&mass, seed),
        }
        Ok(())
    }

    fn wait(&mut self, coin: Coin, mass: Part, hop: u32, seed: usize, node: Option<usize>) {
        if hop > self.options.max_hops {
            return self.cut(Cut::Hops, &mass, seed);
        }
        if mass < self.epsilon {
            return self.cut(Cut::Epsilon, &mass, seed);
        }
        self.met += 1;
        self.waiting.push(QueuedCoin {
            key: mass.key(),
            mass,
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
        mass: &Part,
    ) -> usize {
        self.trace.nodes.push(Node {
            parent,
            transaction,
            party,
            hop,
            share: mass.to_f64(),
            absorbed: None,
        });
        self.trace.nodes.len() - 1
    }

    fn absorb(&mut self, by: Attribution, mass: &Part, hop: u32, seed: usize, node: usize) {
        if self.spoilt_already(seed, Some((by.category, by.name.clone(), hop))) {
            return;
        }
        self.trace.nodes[node].absorbed = Some((by.category, by.name.clone()));
        let key = (by.category.as_str(), by.name.clone(), hop);
        match self.exposures.get_mut(&key) {
            Some(met) => {
                self.scale.add(&mut met.mass, mass);
                met.by.confidence = met.by.confidence.max(by.confidence);
                if *mass > met.largest {
                    met.path = path(&self.trace.nodes, node);
                    met.largest = mass.clone();
                }
            }
            None => {
                let met = OpenExposure {
                    by,
                    hop,
                    mass: mass.clone(),
                    largest: mass.clone(),
                    path: path(&self.trace.nodes, node),
                };
                self.exposures.insert(key, met);
            }
        }
    }

    fn rest(&mut self, mass: &Part, seed: usize) {
        if !self.spoilt_already(seed, Some((Category::Unattributed, String::new(), 0))) {
            self.scale.add(&mut self.unattributed, mass);
        }
    }

    fn cut(&mut self, why: Cut, mass: &Part, seed: usize) {
        if !self.spoilt_already(seed, None) {
            let sum = self.cuts.entry(why).or_insert_with(|| self.scale.nothing());
            self.scale.add(sum, mass);
        }
    }

    /// Whether poison counted this end before: it counts each end once for each seed.
    fn spoilt_already(&mut self, seed: usize, end: Option<ExposureKey>) -> bool {
        self.options.method == Method::Poison && !self.counted.insert((seed, end))
    }
}

/// The path from the screened address to an edge.
fn path(nodes: &[Node], node: usize) -> Vec<PathStep> {
    let mut path = Vec::new();
    let mut at = Some(node);
    while let Some(node) = at.and_then(|at| nodes.get(at)) {
        path.push(PathStep {
            transaction: node.transaction.to_string(),
            address: node.party.as_deref().map(str::to_owned),
        });
        at = node.parent;
    }
    path.reverse();
    path
}
