//! Why a recorded decision cannot be made again.

use chain::source::SourceError;

/// Why a decision cannot be made again.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAgain {
    /// There was none.
    #[error("this screening has no score: there was no answer then")]
    NoScore,
    /// Our own engine did not make it.
    #[error("the score is from a vendor that does not report its components")]
    Vendor,
    /// Another version kept what it was made of.
    #[error("the components of the score can no longer be read")]
    Unreadable,
    /// Its version of the account's profile is not there.
    #[error("the risk profile of that day no longer exists")]
    ProfileGone,
    /// Another version wrote it.
    #[error("the risk profile of that day cannot be read any more")]
    ProfileUnreadable,
    /// Nothing may be called clean then.
    #[error("the sanctions lists or labels cannot be used: {0}")]
    NoLabels(String),
    /// Whoever told the chain's history then does not now.
    #[error("the source that answered then ({0}) gives no answer now")]
    SourceGone(String),
    /// A graph that was begun anew, or a node that lags behind.
    #[error("the source has come to block {0} only")]
    Behind(u64),
    /// The source gives no answer.
    #[error(transparent)]
    Source(#[from] SourceError),
}

impl NotAgain {
    /// Its name, in the audit trail and in the texts' keys.
    pub fn word(&self) -> &'static str {
        match self {
            NotAgain::NoScore => "no_score",
            NotAgain::Vendor => "vendor",
            NotAgain::Unreadable => "unreadable",
            NotAgain::ProfileGone => "profile_gone",
            NotAgain::ProfileUnreadable => "profile_unreadable",
            NotAgain::NoLabels(_) => "no_labels",
            NotAgain::SourceGone(_) => "source_gone",
            NotAgain::Behind(_) => "behind",
            NotAgain::Source(SourceError::TimedOut | SourceError::Budget) => "timed_out",
            NotAgain::Source(_) => "source_failed",
        }
    }
}
