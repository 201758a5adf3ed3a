//! The background jobs of a process: how often each one runs, and the result of its last run here. The
//! operator console shows the results. They contain no personal data.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::checks::Check;

/// A job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Job {
    /// Delivers webhook events.
    Webhooks,
    /// Sends letters and reminders to applicants.
    Letters,
    /// Checks for newer sanctions lists and labels, and checks their age.
    Lists,
    /// Updates sanctions lists from their publishers.
    ListUpdates,
    /// Screens approved people again after a change of the lists.
    Rescreening,
    /// Compares wallet screenings again after a change of the listed wallets.
    WalletRescreening,
    /// Checks the sources of chains' histories.
    Chains,
    /// Ends sessions that have run out of time, and deletes expired rows.
    Expiry,
    /// Removes calls past their retention from the API log.
    ApiLog,
    /// Removes attempts past their Flow's retention.
    Retention,
    /// Deletes objects that no attempt refers to, and measures what is stored.
    Orphans,
    /// Replaces the keys below a new master key.
    KeyRenewal,
    /// Embeds the faces of an earlier model again.
    Faces,
}

impl Job {
    /// Every job.
    pub const ALL: [Job; 13] = [
        Job::Webhooks,
        Job::Letters,
        Job::Lists,
        Job::ListUpdates,
        Job::Rescreening,
        Job::WalletRescreening,
        Job::Chains,
        Job::Expiry,
        Job::ApiLog,
        Job::Retention,
        Job::Orphans,
        Job::KeyRenewal,
        Job::Faces,
    ];

    /// The job's name in reports and in text keys.
    pub fn as_str(self) -> &'static str {
        match self {
            Job::Webhooks => "webhooks",
            Job::Letters => "letters",
            Job::Lists => "lists",
            Job::ListUpdates => "list-updates",
            Job::Rescreening => "rescreening",
            Job::WalletRescreening => "wallet-rescreening",
            Job::Chains => "chains",
            Job::Expiry => "expiry",
            Job::ApiLog => "api-log",
            Job::Retention => "retention",
            Job::Orphans => "orphans",
            Job::KeyRenewal => "key-renewal",
            Job::Faces => "faces",
        }
    }

    /// The pause between two runs.
    pub fn interval(self) -> Duration {
        match self {
            Job::Webhooks | Job::Letters => Duration::from_secs(1),
            Job::Lists | Job::Rescreening | Job::WalletRescreening | Job::KeyRenewal | Job::Faces => {
                Duration::from_secs(5)
            }
            Job::Chains => Duration::from_secs(30),
            Job::ListUpdates => Duration::from_secs(10),
            // With a lease of 30 s, a session whose node died is settled within a minute.
            Job::Expiry => Duration::from_secs(20),
            Job::ApiLog | Job::Retention => Duration::from_hours(1),
            Job::Orphans => Duration::from_hours(24),
        }
    }
}

/// The result of a job's run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct JobRun {
    /// When it ended (ms).
    pub at: i64,
    /// How many items it processed. For deliveries, how many it started.
    pub done: u64,
    /// Why it failed, if it did.
    pub error: Option<String>,
    /// When a run last failed (ms).
    pub failed_at: Option<i64>,
}

/// What the object store contains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct StoredObjects {
    /// The number of objects.
    pub objects: u64,
    /// Their total size in bytes.
    pub bytes: u64,
    /// When they were counted (ms).
    pub at: i64,
}

/// The reports of this process's jobs. It contains no copy of the database, so it stays valid when the
/// database returns to an earlier state.
#[derive(Debug, Default)]
pub struct Background(Mutex<JobReports>);

#[derive(Debug, Default)]
struct JobReports {
    runs: BTreeMap<String, JobRun>,
    stored: Option<StoredObjects>,
    chains: Vec<Check>,
    log_emptied_for: Option<i64>,
    log_holds_keys: bool,
}

impl Background {
    /// Whether the database's write-ahead log may still contain destroyed keys. They come from this process's
    /// retention, or from an erasure by any process; the newest erasure was at `erased_at` (ms).
    pub fn log_holds_keys(&self, erased_at: Option<i64>) -> bool {
        let known = self.lock_reports();
        known.log_holds_keys || erased_at > known.log_emptied_for
    }

    /// Records that retention is about to destroy keys.
    pub fn note_key_destruction(&self) {
        self.lock_reports().log_holds_keys = true;
    }

    /// Records that the write-ahead log was emptied after the newest erasure (ms).
    pub fn note_log_emptied(&self, erased_at: Option<i64>) {
        let mut known = self.lock_reports();
        known.log_holds_keys = false;
        known.log_emptied_for = erased_at;
    }

    fn lock_reports(&self) -> MutexGuard<'_, JobReports> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records a run that ends now.
    pub fn record_run<E: Display>(&self, job: Job, outcome: &Result<u64, E>) {
        let at = Timestamp::now().as_millisecond();
        let mut known = self.lock_reports();
        let last = known.runs.entry(job.as_str().to_owned()).or_default();
        let error = outcome.as_ref().err().map(E::to_string);
        *last = JobRun {
            at,
            done: *outcome.as_ref().unwrap_or(&0),
            failed_at: if error.is_some() { Some(at) } else { last.failed_at },
            error,
        };
    }

    /// The last runs, by job name.
    pub fn runs(&self) -> BTreeMap<String, JobRun> {
        self.lock_reports().runs.clone()
    }

    /// Records the state of the sources of chains' histories.
    pub fn record_chain_checks(&self, checks: Vec<Check>) {
        self.lock_reports().chains = checks;
    }

    /// The state of the sources of chains' histories at their last check by this process.
    pub fn chains(&self) -> Vec<Check> {
        self.lock_reports().chains.clone()
    }

    /// Records what the object store contains.
    pub fn record_stored(&self, objects: u64, bytes: u64) {
        let at = Timestamp::now().as_millisecond();
        self.lock_reports().stored = Some(StoredObjects { objects, bytes, at });
    }

    /// What the object store contained when this process last counted it.
    pub fn stored(&self) -> Option<StoredObjects> {
        self.lock_reports().stored
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_remembered_after_the_next_good_run() {
        let jobs = Background::default();
        assert!(jobs.runs().is_empty());
        jobs.record_run(Job::Retention, &Err("no database"));
        let failed = jobs.runs()["retention"].clone();
        assert_eq!(
            (failed.error.as_deref(), failed.failed_at),
            (Some("no database"), Some(failed.at))
        );
        jobs.record_run(Job::Retention, &Ok::<u64, String>(3));
        let good = jobs.runs()["retention"].clone();
        assert_eq!((good.error, good.done), (None, 3));
        assert_eq!(good.failed_at, failed.failed_at);
    }

    #[test]
    fn jobs_have_names_of_their_own() {
        let mut names = Job::ALL.map(Job::as_str).to_vec();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Job::ALL.len());
    }
}
