//! Queues calls for the API log: a bounded queue between requests and the task that writes them. It decides
//! nothing about what is recorded; `service::api_log` does.

use store::api_log::Call;
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio_util::sync::CancellationToken;

/// Calls that may wait to be written. Further calls are counted and dropped.
const WAITING: usize = 2_048;

/// The sending end of the queue, for requests.
pub struct ApiLog {
    sender: Sender<Call>,
    stop: CancellationToken,
}

/// The receiving end of the queue, for the task that writes the calls.
pub struct Recorded {
    /// Calls to write.
    pub calls: Receiver<Call>,
    /// Cancelled when no more calls will come.
    pub stop: CancellationToken,
}

impl ApiLog {
    /// Creates the queue and returns both ends.
    pub fn new() -> (Self, Recorded) {
        let (sender, calls) = mpsc::channel(WAITING);
        let stop = CancellationToken::new();
        let recorded = Recorded {
            calls,
            stop: stop.clone(),
        };
        (ApiLog { sender, stop }, recorded)
    }

    /// Queues a call without waiting. A call that does not fit is dropped and counted.
    pub fn record(&self, call: Call) {
        if self.sender.try_send(call).is_err() {
            dropped(1);
        }
    }

    /// Lets the writing task end once all queued calls are written.
    pub fn stop(&self) {
        self.stop.cancel();
    }
}

/// Counts calls that were not written.
pub fn dropped(calls: usize) {
    metrics::counter!("bonafide_api_log_dropped_total").increment(calls as u64);
    tracing::warn!(calls, "calls were not written to the API log");
}
