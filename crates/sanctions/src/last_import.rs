//! The report of a list's last import, which the folder of lists keeps beside the list. It has no entity.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::import::{Diff, ImportRefusal, ImportReport, ListFormat, Reject};

/// The report of a list's last import, activated or refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LastImport {
    /// The list's name.
    pub list: String,
    /// The version that was read.
    pub version: String,
    /// Time of the import (ms since 1970).
    pub at: i64,
    /// Number of records of subjects in the files.
    pub rows: u64,
    /// Number of entities made from them.
    pub entities: usize,
    /// Number of rows that could not be used.
    pub rejected: u64,
    /// The first rejects, with line and reason.
    pub rejects: Vec<Reject>,
    /// Differences from the version that was active.
    pub diff: Option<Diff>,
    /// Why the list was not activated; `None` if it was.
    pub refused: Option<String>,
    /// How many times in a row an import found the version that was already active.
    #[serde(default)]
    pub unchanged: u32,
    /// The time of the first of these imports (ms since 1970).
    #[serde(default)]
    pub unchanged_since: Option<i64>,
    /// The format that was read; `None`: an earlier version wrote the report.
    #[serde(default)]
    pub format: Option<ListFormat>,
}

impl LastImport {
    /// The report of an import after an earlier one. A refused import changes neither the content nor the
    /// count of imports without a change.
    pub(crate) fn of(
        report: &ImportReport,
        refusal: Option<&ImportRefusal>,
        same_version: bool,
        earlier: Option<LastImport>,
    ) -> LastImport {
        let at = Timestamp::now().as_millisecond();
        let (count, since) =
            earlier.map_or((0, None), |earlier| (earlier.unchanged, earlier.unchanged_since));
        let (unchanged, unchanged_since) = match (refusal, same_version) {
            (Some(_), _) => (count, since),
            (None, true) => (count.saturating_add(1), since.or(Some(at))),
            (None, false) => (0, None),
        };
        LastImport {
            list: report.list.clone(),
            version: report.version.clone(),
            at,
            rows: report.rows,
            entities: report.entities,
            rejected: report.rejected,
            rejects: report.rejects.clone(),
            diff: report.diff.clone(),
            refused: refusal.map(ImportRefusal::to_string),
            unchanged,
            unchanged_since,
            format: Some(report.format),
        }
    }

    /// Counts an import that found the active version again, without reading its file.
    pub(crate) fn count_unchanged(&mut self) {
        self.at = Timestamp::now().as_millisecond();
        self.unchanged = self.unchanged.saturating_add(1);
        self.unchanged_since = self.unchanged_since.or(Some(self.at));
        self.refused = None;
    }
}
