//! Traces money from an address or a transaction, back to its sources or on to its destinations, until
//! labelled parties absorb it.
//!
//! `docs/decisions/0019-risk-score.md` defines the method. Mass moves pro rata to value, and a labelled party
//! absorbs the mass that reaches it. Own change costs no hop, and the largest mass is traced first. Mass
//! beyond the hop limit, below ε or beyond the budget is unresolved.
//!
//! Masses are exact parts ([`crate::parts`]) and sum to 1; what their bounded size cannot express is reported
//! as [`Cut::Precision`]. Nothing here calculates risk.

mod step;
#[cfg(test)]
mod tests;
mod tracer;

use std::collections::BTreeMap;

use num_bigint::BigUint;
use num_traits::Zero;

pub(crate) use self::step::all_known;
pub use self::step::{Coin, Step};
pub use self::tracer::trace;
use crate::category::Category;
use crate::parts;
pub use crate::pool::{Method, Share};
use crate::source::{Party, Position, TxId};

/// The direction of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Back to its sources.
    Incoming,
    /// On to its destinations.
    Outgoing,
}

/// The method and the limits of a trace.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// How the sources of mixed money are determined.
    pub method: Method,
    /// The farthest hop whose parties are looked up.
    pub max_hops: u32,
    /// Masses below this are not traced.
    pub epsilon: Share,
    /// The largest number of coins to trace.
    pub max_nodes: usize,
    /// The largest number of transactions of an account's history that are replayed.
    pub max_history: usize,
    /// The largest number of inputs, outputs and transfers that one screening reads, in all its queries.
    pub max_entries: usize,
    /// Whether inputs spent together share a label, and CoinJoins absorb the money that they mixed.
    pub heuristics: bool,
    /// The largest number of histories, in each direction, that are read to find a label in the cluster of an
    /// unlabelled party (needs `heuristics`).
    pub max_clusters: usize,
    /// The last position that counts, for repeating an old decision.
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
            max_entries: 200_000,
            heuristics: true,
            max_clusters: 16,
            up_to: None,
        }
    }
}

/// The entity to which a party belongs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attribution {
    /// The entity's name.
    pub name: String,
    /// The entity's category.
    pub category: Category,
    /// The confidence, 0-100.
    pub confidence: u8,
}

/// The starting point of a trace.
#[derive(Clone, Debug)]
pub enum Start {
    /// A coin whose other side is not known yet.
    Coin(Coin),
    /// A coin that is known to have come from, or gone to, a party.
    Step(Step),
    /// Money that is known to exist but cannot be traced, for this reason.
    Unseen(Cut),
}

/// The money to trace.
#[derive(Clone, Debug, Default)]
pub struct Seeds {
    /// The denominator of the masses. It is their sum, unless some money is left out.
    pub whole: BigUint,
    /// The starting point of each mass.
    pub starts: Vec<(Start, BigUint)>,
}

impl Seeds {
    /// Masses that sum to their whole; zero masses are dropped.
    pub fn of(starts: impl IntoIterator<Item = (Start, BigUint)>) -> Seeds {
        let starts: Vec<(Start, BigUint)> = starts.into_iter().filter(|(_, mass)| !mass.is_zero()).collect();
        Seeds {
            whole: starts.iter().map(|(_, mass)| mass).sum(),
            starts,
        }
    }
}

/// One step of a path, from the screened address outwards.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct PathStep {
    /// The transaction that moved the money.
    pub transaction: String,
    /// The party on the far side, if known.
    pub address: Option<String>,
}

/// The mass that one labelled party absorbed at one distance.
#[derive(Clone, Debug, PartialEq)]
pub struct Exposure {
    /// The party's category.
    pub category: Category,
    /// The party's name.
    pub entity: String,
    /// The distance in parties; 1 for a direct counterparty.
    pub hop: u32,
    /// The part of the traced money, over [`Trace::whole`].
    pub part: BigUint,
    /// The confidence of the label, 0-100; the highest one if there are several.
    pub confidence: u8,
    /// The path of the largest part.
    pub path: Vec<PathStep>,
}

/// Why some money was not traced to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Cut {
    /// It is beyond the farthest hop.
    Hops,
    /// Its part is too small.
    Epsilon,
    /// There are too many coins.
    Nodes,
    /// The source's budget of requests or time was spent.
    Budget,
    /// The history is too long, or the source does not have it.
    History,
    /// Its parts are too fine to be expressed exactly.
    Precision,
}

/// One edge of a trace, for the picture.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// The preceding edge; `None` when it is the screened address itself.
    pub parent: Option<usize>,
    /// The transaction.
    pub transaction: TxId,
    /// The party that was reached.
    pub party: Option<Party>,
    /// The hop.
    pub hop: u32,
    /// The approximate mass that moved, for drawing.
    pub share: f64,
    /// The category and name that absorbed the mass, if the path ended here.
    pub absorbed: Option<(Category, String)>,
}

/// The result of a trace. Shares are parts of `whole` that are not in lowest terms.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// The direction.
    pub direction: Direction,
    /// The denominator of the exposures' parts.
    pub whole: BigUint,
    /// The exposures by category, entity and hop.
    pub exposures: Vec<Exposure>,
    /// The mass that ended without a label (an unspent output, a script without an address).
    pub unattributed: Share,
    /// The mass that was not traced to an end, by reason.
    pub cuts: BTreeMap<Cut, Share>,
    /// The number of coins that were traced.
    pub expansions: usize,
    /// The number of parties whose clusters were searched.
    pub clusters: usize,
    /// All edges of the trace.
    pub nodes: Vec<Node>,
}

impl Trace {
    /// A trace of nothing.
    pub fn empty(direction: Direction) -> Trace {
        Trace {
            direction,
            whole: BigUint::from(1u8),
            exposures: Vec::new(),
            unattributed: Share::zero(),
            cuts: BTreeMap::new(),
            expansions: 0,
            clusters: 0,
            nodes: Vec::new(),
        }
    }

    /// The mass that was not traced to an end.
    pub fn unresolved(&self) -> Share {
        let mut sum = Share::zero();
        for share in self.cuts.values() {
            parts::add(&mut sum, share);
        }
        sum
    }

    /// An exposure's share of the traced money.
    pub fn share(&self, exposure: &Exposure) -> Share {
        parts::fraction(&exposure.part, &self.whole)
    }

    /// The share that labelled parties (and miners) absorbed.
    pub fn attributed(&self) -> Share {
        let attributed = self.exposures.iter().map(|exposure| &exposure.part).sum();
        parts::fraction(&attributed, &self.whole)
    }
}
