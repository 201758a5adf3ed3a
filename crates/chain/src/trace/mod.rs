//! Follows money from an address or a transaction, back to where it came from or on to where it went, until labelled
//! parties absorb it.
//!
//! The definition (`docs/decisions/0019-risk-score.md`): mass moves pro rata to value; a labelled party absorbs what reaches it; own
//! change costs no hop; the largest mass goes first; what lies beyond the hops, below ε or behind the budget is
//! unresolved. Masses are exact parts ([`crate::parts`]) and sum to 1: what their bounded size cannot hold is told as
//! [`Cut::Precision`]. Nothing here weighs risk.

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
    /// At most so many inputs, outputs and transfers are read for one screening, whatever it asks for.
    pub max_entries: usize,
    /// Whether inputs spent together share a label, and CoinJoins absorb what they mixed.
    pub heuristics: bool,
    /// At most so many histories are read in each direction to see whether a party without a label has one by its
    /// cluster (needs `heuristics`).
    pub max_clusters: usize,
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
            max_entries: 200_000,
            heuristics: true,
            max_clusters: 16,
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

/// Where following money begins.
#[derive(Clone, Debug)]
pub enum Start {
    /// A coin whose other side is not yet known.
    Coin(Coin),
    /// A coin that is known to have come from, or gone to, a party.
    Step(Step),
    /// Money of which is known only that it is there, and why.
    Unseen(Cut),
}

/// Money to be followed.
#[derive(Clone, Debug, Default)]
pub struct Seeds {
    /// What the masses are parts of: their sum, if nothing is left aside.
    pub whole: BigUint,
    /// Where each mass begins.
    pub starts: Vec<(Start, BigUint)>,
}

impl Seeds {
    /// Masses that make up their whole. Nothing is nowhere.
    pub fn of(starts: impl IntoIterator<Item = (Start, BigUint)>) -> Seeds {
        let starts: Vec<(Start, BigUint)> = starts.into_iter().filter(|(_, mass)| !mass.is_zero()).collect();
        Seeds {
            whole: starts.iter().map(|(_, mass)| mass).sum(),
            starts,
        }
    }
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
    /// What part of the traced money: of [`Trace::whole`].
    pub part: BigUint,
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
    /// Parts too fine to be written exactly.
    Precision,
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
    /// The mass that moved, about: for drawing.
    pub share: f64,
    /// What absorbed it, if that was its end.
    pub absorbed: Option<(Category, String)>,
}

/// What a trace found. Shares are parts of `whole` as they come, not in lowest terms.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// Which way.
    pub direction: Direction,
    /// What the exposures' parts are parts of.
    pub whole: BigUint,
    /// By category, entity and hop.
    pub exposures: Vec<Exposure>,
    /// Followed to an end that nobody has labelled (an unspent output, a script without an address).
    pub unattributed: Share,
    /// Not followed to an end, by reason.
    pub cuts: BTreeMap<Cut, Share>,
    /// How many coins were followed.
    pub expansions: usize,
    /// How many parties' clusters were looked for.
    pub clusters: usize,
    /// Every edge met.
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

    /// What was not followed to an end.
    pub fn unresolved(&self) -> Share {
        let mut sum = Share::zero();
        for share in self.cuts.values() {
            parts::add(&mut sum, share);
        }
        sum
    }

    /// What part an exposure is.
    pub fn share(&self, exposure: &Exposure) -> Share {
        parts::fraction(&exposure.part, &self.whole)
    }

    /// What labelled parties (and miners) absorbed.
    pub fn attributed(&self) -> Share {
        let attributed = self.exposures.iter().map(|exposure| &exposure.part).sum();
        parts::fraction(&attributed, &self.whole)
    }
}
