//! The fields of the applicant page's forms as they were sent. The only check here is that a decision names
//! the state that was reviewed.

use serde::Deserialize;
use service::problem::Problem;

use crate::proposal::version_missing;

/// The fields of all forms; each form sends some of them.
#[derive(Deserialize, Default)]
#[serde(default)]
pub struct ReviewForm {
    /// The version of the state that was reviewed; decisions require it.
    pub version: Option<i64>,
    /// The reason, as typed.
    pub reason: String,
    /// The ID of a reason template, which applies if no reason was typed.
    pub template: String,
    /// A note.
    pub note: String,
    /// The hit's ID.
    pub hit: String,
    /// The disposition of the hit.
    pub disposition: String,
    /// The reason for the disposition.
    pub because: String,
    /// The detail that does not match, for "not this person".
    pub why: String,
    /// The queue's filters that the reader came from.
    pub q: String,
}

impl ReviewForm {
    /// The version of the state that was reviewed. Without it a decision could apply to a state that the
    /// reviewer never saw.
    ///
    /// # Errors
    /// 400 if the field is missing.
    pub(super) fn reviewed(&self) -> Result<i64, Problem> {
        self.version.ok_or_else(version_missing)
    }
}
