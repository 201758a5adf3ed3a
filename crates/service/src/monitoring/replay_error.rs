//! Why a stored decision cannot be replayed.

use chain::source::SourceError;

/// Why a decision cannot be replayed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    /// The screening had no score.
    #[error("this screening has no score: there was no answer then")]
    NoScore,
    /// A vendor made the score.
    #[error("the score is from a vendor that does not report its components")]
    Vendor,
    /// Another version stored its evidence.
    #[error("the components of the score can no longer be read")]
    Unreadable,
    /// Its version of the account's profile no longer exists.
    #[error("the risk profile of that day no longer exists")]
    ProfileGone,
    /// Another version wrote its profile.
    #[error("the risk profile of that day cannot be read any more")]
    ProfileUnreadable,
    /// Without lists and labels no address may be called clean.
    #[error("the sanctions lists or labels cannot be used: {0}")]
    NoLabels(String),
    /// The source of that day is no longer configured.
    #[error("the source that answered then ({0}) gives no answer now")]
    SourceGone(String),
    /// The source ends at an earlier block: a graph that was started anew, or a node that lags behind.
    #[error("the source has come to block {0} only")]
    Behind(u64),
    /// The source gives no answer.
    #[error(transparent)]
    Source(#[from] SourceError),
}

impl ReplayError {
    /// The reason's name in the audit trail and in text keys.
    pub fn word(&self) -> &'static str {
        match self {
            ReplayError::NoScore => "no_score",
            ReplayError::Vendor => "vendor",
            ReplayError::Unreadable => "unreadable",
            ReplayError::ProfileGone => "profile_gone",
            ReplayError::ProfileUnreadable => "profile_unreadable",
            ReplayError::NoLabels(_) => "no_labels",
            ReplayError::SourceGone(_) => "source_gone",
            ReplayError::Behind(_) => "behind",
            ReplayError::Source(SourceError::TimedOut | SourceError::Budget) => "timed_out",
            ReplayError::Source(_) => "source_failed",
        }
    }
}
