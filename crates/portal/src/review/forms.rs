//! The fields of the applicant page's forms, as they were sent. Nothing is checked here but that a decision names the state that it is
//! about.

use serde::Deserialize;
use service::problem::Problem;

use crate::proposal::version_missing;

/// What the forms send; each has some of it.
#[derive(Deserialize, Default)]
#[serde(default)]
pub struct Sent {
    /// The state that was reviewed; decisions require it.
    pub version: Option<i64>,
    /// Why, as typed.
    pub reason: String,
    /// A kept reason, used where nothing was typed.
    pub template: String,
    /// A note.
    pub note: String,
    /// A hit.
    pub hit: String,
    /// What was concluded about it.
    pub disposition: String,
    /// Why.
    pub because: String,
    /// What of it does not fit.
    pub why: String,
    /// The queue that one came from.
    pub q: String,
}

impl Sent {
    /// The state of the attempt that was reviewed. Without it a decision could fall on another one.
    pub(super) fn reviewed(&self) -> Result<i64, Problem> {
        self.version.ok_or_else(version_missing)
    }
}
