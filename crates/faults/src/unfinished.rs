//! When a hosted session that nobody finishes may be pending or expired. It reads no session.

use std::time::{Duration, Instant};

/// A session that nobody finishes has expired after so long: its ten minutes, and a minute for the sweep.
pub(crate) const EXPIRED: Duration = Duration::from_secs(660);
/// A session may expire after so long: the time of its access token, less what the nodes' measure of the
/// database's time may be off.
const LIVES: Duration = Duration::from_secs(599);

/// When an exchanged session began: between these two times.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Left {
    /// Before its link was exchanged for the first time.
    pub(crate) earliest: Instant,
    /// After the answer.
    pub(crate) latest: Instant,
}

impl Left {
    /// Whether a session that nobody finishes may have a status now.
    pub(crate) fn may_be(self, status: &str) -> bool {
        may_be(status, self.earliest.elapsed(), self.latest.elapsed())
    }
}

/// Whether a session that nobody finishes may have a status at most `longest` and at least `shortest` after it
/// began.
fn may_be(status: &str, longest: Duration, shortest: Duration) -> bool {
    match status {
        "expired" => longest >= LIVES,
        "pending" => shortest <= EXPIRED,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unfinished_session_expires_when_its_token_does() {
        let seconds = Duration::from_secs;
        for (status, longest, shortest, is_right) in [
            ("expired", 0, 0, false),
            ("expired", 598, 590, false),
            ("expired", 600, 590, true),
            ("expired", 5_000, 5_000, true),
            ("pending", 0, 0, true),
            ("pending", 700, 660, true),
            ("pending", 700, 661, false),
            ("success", 600, 600, false),
            ("lost", 0, 0, false),
        ] {
            let found = may_be(status, seconds(longest), seconds(shortest));
            assert_eq!(found, is_right, "{status} after {longest} s to {shortest} s");
        }
    }
}
