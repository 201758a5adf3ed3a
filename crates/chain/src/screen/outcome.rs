//! The result of a screening: the score with its full explanation.

use super::detail::Detail;
use crate::labels::Label;
use crate::score::Score;
use crate::source::SourceError;
use crate::trace::Trace;

/// The result of a screening.
#[derive(Clone, Debug)]
pub struct Screen {
    /// The score.
    pub score: Score,
    /// The explanation in a serialisable form: the members of the contract's detailed report.
    pub detail: Detail,
    /// The traces behind the score, for the picture.
    pub traces: Vec<Trace>,
    /// The labels of the address itself (or of a transaction's parties).
    pub labels: Vec<Label>,
    /// Why the source gave no answer, if only labels gave one.
    pub failed: Option<SourceError>,
}
