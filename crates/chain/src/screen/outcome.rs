//! What a screening answers: the score with everything that explains it.

use super::detail::Detail;
use crate::labels::Label;
use crate::score::Score;
use crate::source::SourceError;
use crate::trace::Trace;

/// A screening's outcome.
#[derive(Clone, Debug)]
pub struct Screen {
    /// The score.
    pub score: Score,
    /// What explains it, serialisable; the members of the contract's detailed report.
    pub detail: Detail,
    /// The traces behind it, for the picture.
    pub traces: Vec<Trace>,
    /// Labels of the address itself (or of a transaction's parties).
    pub labels: Vec<Label>,
    /// Why the source gave no answer, where labels alone gave one instead.
    pub failed: Option<SourceError>,
}
