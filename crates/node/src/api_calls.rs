//! Calls on their way to the API log: a bounded queue between requests and the task that writes. `service::api_log` says what is kept.

use store::api_log::Call;
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio_util::sync::CancellationToken;

/// Calls that may wait to be written; further ones are counted and dropped.
const WAITING: usize = 2_048;

/// Where calls are handed in.
pub struct ApiLog {
    sender: Sender<Call>,
    stop: CancellationToken,
}

/// Where they come out, for the task that writes them.
pub struct Recorded {
    /// Calls to write.
    pub calls: Receiver<Call>,
    /// Cancelled when no more will come.
    pub stop: CancellationToken,
}

impl ApiLog {
    /// Both ends.
    pub fn new() -> (Self, Recorded) {
        let (sender, calls) = mpsc::channel(WAITING);
        let stop = CancellationToken::new();
        let recorded = Recorded {
            calls,
            stop: stop.clone(),
        };
        (ApiLog { sender, stop }, recorded)
    }

    /// Hands a call in; never waits.
    pub fn record(&self, call: Call) {
        if self.sender.try_send(call).is_err() {
            dropped(1);
        }
    }

    /// Lets the writing task end when all that waits is written.
    pub fn stop(&self) {
        self.stop.cancel();
    }
}

/// Counts calls that were not written.
pub fn dropped(calls: usize) {
    metrics::counter!("bonafide_api_log_dropped_total").increment(calls as u64);
    tracing::warn!(calls, "calls were not written to the API log");
}
