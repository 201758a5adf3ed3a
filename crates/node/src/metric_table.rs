//! Every metric of the server: its name, kind, labels and meaning, which `/metrics` renders as HELP. It measures nothing:
//! each metric is recorded where its event occurs. Times are histograms, whose buckets can be added across nodes.

use metrics::{Unit, counter, describe_counter, describe_gauge, describe_histogram};
use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusHandle};

use self::Kind::{Counter, Gauge, Seconds};

/// A metric.
pub struct Metric {
    /// Its name in code and on `/metrics`.
    pub name: &'static str,
    /// How it behaves.
    pub kind: Kind,
    /// Its labels.
    pub labels: &'static [Label],
    /// Its meaning, in one line.
    pub help: &'static str,
}

/// The kinds of metrics.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// A count that only grows while the process runs.
    Counter,
    /// A value that rises and falls.
    Gauge,
    /// Durations in seconds, counted in buckets up to these limits.
    Seconds(&'static [f64]),
}

/// A label of a metric.
pub struct Label {
    /// Its name.
    pub name: &'static str,
    /// Its possible values, if they are few and known. Counters of such values begin at 0.
    pub values: &'static [&'static str],
}

const fn any(name: &'static str) -> Label {
    Label { name, values: &[] }
}

/// Limits of the times of answers, in seconds.
const ANSWERS: &[f64] = &[
    0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0,
];
/// Limits of the times of a verification's stages, in seconds.
const STAGES: &[f64] = &[
    0.01, 0.025, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0, 1.5, 2.5, 5.0, 10.0,
];

const fn counts(name: &'static str, labels: &'static [Label], help: &'static str) -> Metric {
    Metric {
        name,
        kind: Counter,
        labels,
        help,
    }
}

const fn shows(name: &'static str, labels: &'static [Label], help: &'static str) -> Metric {
    Metric {
        name,
        kind: Gauge,
        labels,
        help,
    }
}

const MODE: Label = Label {
    name: "mode",
    values: &["live", "sandbox"],
};

const STATUS: Label = Label {
    name: "status",
    values: &["approved", "declined", "failed", "pending"],
};

/// The metrics, by name.
pub const METRICS: &[Metric] = &[
    counts(
        "bonafide_api_log_dropped_total",
        &[],
        "Calls that the API log dropped",
    ),
    counts(
        "bonafide_applicant_letters_total",
        &[Label {
            name: "result",
            values: &["sent", "failed", "void"],
        }],
        "Emails to applicants that were sent, failed or became void",
    ),
    counts(
        "bonafide_attempt_codes_total",
        &[any("code"), MODE],
        "Failure codes of recorded attempts",
    ),
    counts(
        "bonafide_attempts_total",
        &[STATUS, MODE],
        "Attempts that were recorded, by their first status",
    ),
    shows(
        "bonafide_build_info",
        &[any("version")],
        "Always 1; the label states the server's version",
    ),
    shows(
        "bonafide_capacity_running",
        &[any("pool")],
        "Tasks that run now in a pool of this process",
    ),
    shows(
        "bonafide_capacity_waiting",
        &[any("pool")],
        "Tasks that wait for a place in a pool",
    ),
    shows(
        "bonafide_capacity_workers",
        &[any("pool")],
        "Tasks that can run at once in a pool",
    ),
    shows(
        "bonafide_chain_source_ok",
        &[any("chain"), any("source")],
        "1 while the source answers and its newest block is fresh",
    ),
    shows(
        "bonafide_chain_tip_age_seconds",
        &[any("chain"), any("source")],
        "Age of the source's newest block",
    ),
    shows(
        "bonafide_challenge_capacity",
        &[],
        "Liveness challenges that this node can run at once",
    ),
    counts(
        "bonafide_challenges_total",
        &[any("kind"), any("end")],
        "Liveness challenges that ended, by kind and outcome; abandoned ones are not counted",
    ),
    counts(
        "bonafide_connections_refused_total",
        &[],
        "Connections closed because their host reached its limit (--connections-per-host)",
    ),
    shows(
        "bonafide_database_connections",
        &[any("state")],
        "Database connections of this process by state: busy, idle, or most (the limit); on SQLite, those that read",
    ),
    counts(
        "bonafide_document_readings_total",
        &[],
        "Pictures of documents that were read before their submission",
    ),
    counts(
        "bonafide_engine_worker_crashes_total",
        &[],
        "Engine workers that crashed, were killed, or did not finish a file",
    ),
    counts(
        "bonafide_engine_worker_starts_total",
        &[],
        "Engine workers that were started",
    ),
    shows("bonafide_engine_workers", &[], "Engine workers that run now"),
    Metric {
        name: "bonafide_http_request_seconds",
        kind: Seconds(ANSWERS),
        labels: &[any("method"), any("route")],
        help: "Time until a request was answered",
    },
    counts(
        "bonafide_http_requests_total",
        &[any("method"), any("route"), any("status")],
        "Requests that were answered",
    ),
    shows(
        "bonafide_job_failed",
        &[any("task")],
        "1 if the last run of a background job of this process failed",
    ),
    shows(
        "bonafide_job_run_age_seconds",
        &[any("task")],
        "Time since the last run of a background job of this process ended, or since the process started",
    ),
    shows(
        "bonafide_letter_oldest_seconds",
        &[],
        "Age of the oldest unsent email to an applicant, in the whole installation",
    ),
    shows(
        "bonafide_letters_waiting",
        &[],
        "Unsent emails to applicants, in the whole installation",
    ),
    shows(
        "bonafide_list_age_seconds",
        &[any("list")],
        "Time since the publisher's date of a list in this node's folder",
    ),
    shows(
        "bonafide_list_import_age_seconds",
        &[any("list")],
        "Time since a list in this node's folder was imported or confirmed",
    ),
    shows(
        "bonafide_list_unchanged_imports",
        &[any("list")],
        "Consecutive imports that did not change a list in this node's folder",
    ),
    counts(
        "bonafide_list_updates_total",
        &[any("list"), any("result")],
        "Updates from publishers by this node: imported, unchanged or failed",
    ),
    shows(
        "bonafide_model_info",
        &[any("model"), any("version")],
        "Always 1; the labels state the models in use",
    ),
    shows("bonafide_open_connections", &[], "Connections that are open now"),
    counts(
        "bonafide_over_capacity_total",
        &[],
        "Requests refused because the queue was full or the wait too long",
    ),
    shows(
        "bonafide_ready",
        &[any("part")],
        "1 while a part is ready, as /readyz states it",
    ),
    counts(
        "bonafide_rescreened_people_total",
        &[],
        "People whom this node screened again after a change of the lists",
    ),
    counts("bonafide_sessions_total", &[], "Hosted sessions that were opened"),
    shows(
        "bonafide_stored_bytes",
        &[],
        "Size of the object store at its last count by this process",
    ),
    shows(
        "bonafide_stored_objects",
        &[],
        "Objects in the object store at their last count by this process",
    ),
    counts("bonafide_verifications_total", &[], "Verifications that ran"),
    Metric {
        name: "bonafide_verify_stage_seconds",
        kind: Seconds(STAGES),
        labels: &[any("stage")],
        help: "Time of a verification's stages: decode, read, faces, liveness for each file; screening and recording once",
    },
    counts(
        "bonafide_webhook_deliveries_total",
        &[Label {
            name: "result",
            values: &["delivered", "failed", "given_up"],
        }],
        "Tries to deliver a webhook event, by result",
    ),
    shows(
        "bonafide_webhook_events_failing",
        &[],
        "Waiting webhook events with a failed try, in the whole installation",
    ),
    shows(
        "bonafide_webhook_events_given_up",
        &[],
        "Webhook events that were given up and not deleted yet, in the whole installation",
    ),
    shows(
        "bonafide_webhook_events_waiting",
        &[],
        "Webhook events that wait, in the whole installation",
    ),
    shows(
        "bonafide_webhook_oldest_seconds",
        &[],
        "Age of the oldest waiting webhook event, in the whole installation",
    ),
];

/// Every combination of values of labels; none if the values of a label are not known.
fn known_labels(labels: &[Label]) -> Vec<Vec<(&'static str, &'static str)>> {
    labels.iter().fold(vec![Vec::new()], |found, label| {
        let with = |known: &Vec<_>, value: &'static str| [known.as_slice(), &[(label.name, value)]].concat();
        let extend =
            |known: &Vec<_>| -> Vec<_> { label.values.iter().map(|value| with(known, value)).collect() };
        found.iter().flat_map(extend).collect()
    })
}

/// Reads the processor time, memory, files and threads of this process (`process_…`).
pub fn read_process() {
    metrics_process::Collector::default().collect();
}

/// Installs the recorder of this process's metrics, with their descriptions. Counts whose labels are known begin at 0, so
/// that their first increase is visible.
///
/// # Errors
/// A recorder is installed already.
pub fn install() -> Result<PrometheusHandle, BuildError> {
    let mut builder = PrometheusBuilder::new();
    for metric in METRICS {
        if let Seconds(limits) = metric.kind {
            builder = builder.set_buckets_for_metric(Matcher::Full(metric.name.to_owned()), limits)?;
        }
    }
    let handle = builder.install_recorder()?;
    for metric in METRICS {
        match metric.kind {
            Counter => describe_counter!(metric.name, metric.help),
            Gauge => describe_gauge!(metric.name, metric.help),
            Seconds(_) => describe_histogram!(metric.name, Unit::Seconds, metric.help),
        }
        if metric.kind == Counter {
            for labels in known_labels(metric.labels) {
                counter!(metric.name, &labels).increment(0);
            }
        }
    }
    metrics_process::Collector::default().describe();
    Ok(handle)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted_and_match_their_kind() {
        assert!(METRICS.is_sorted_by(|a, b| a.name < b.name));
        for Metric { name, kind, help, .. } in METRICS {
            assert!(name.starts_with("bonafide_"), "{name}");
            assert_eq!(*kind == Counter, name.ends_with("_total"), "{name}");
            assert!(
                !matches!(kind, Seconds(_)) || name.ends_with("_seconds"),
                "{name}"
            );
            assert!(!help.is_empty() && !help.ends_with('.'), "{name}: {help}");
        }
    }

    #[test]
    fn counts_begin_at_zero_only_if_all_values_are_known() {
        let mode = ["live", "sandbox"].map(|mode| ("mode", mode));
        for (labels, expected) in [
            (&[][..], vec![vec![]]),
            (&[MODE][..], mode.map(|mode| vec![mode]).to_vec()),
            (&[MODE, any("code")][..], vec![]),
        ] {
            assert_eq!(known_labels(labels), expected);
        }
        assert_eq!(known_labels(&[STATUS, MODE]).len(), 8);
    }
}
