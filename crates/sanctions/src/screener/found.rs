//! What a search found before any hit is explained. It searches nothing.

use crate::score::BestName;
use crate::subject::Subject;

/// A query's readings, the pairs of names that may count, and the hits in their order.
pub(super) struct Found {
    /// The ways to read the query.
    pub(super) subjects: Vec<Subject>,
    /// The compared pairs of names.
    pub(super) pairs: Vec<ReadName>,
    pub(super) hits: Vec<FoundHit>,
}

/// A compared pair of names.
pub(super) struct ReadName {
    /// Which of the query's readings it belongs to.
    pub(super) reading: usize,
    pub(super) best: BestName,
}

/// The best OFAC score of an entity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OfacMatch {
    /// 0–100.
    pub(super) score: u8,
    /// The written forms of the query's name and the listed one.
    pub(super) query: String,
    pub(super) listed: String,
}

/// A listed entity with its score.
pub(super) struct FoundHit {
    pub(super) score: f64,
    pub(super) entity: u32,
    /// Its best pair of names, if its name counts.
    pub(super) pair: Option<u32>,
    /// Why the profile added it; `None`: it is a hit of the standard profile.
    pub(super) added: Option<Box<Added>>,
}

/// Why a profile added a hit.
pub(super) enum Added {
    /// What the score would be if nothing lowered it.
    Strict(f64),
    /// What OFAC's search would show.
    Ofac(OfacMatch),
}
