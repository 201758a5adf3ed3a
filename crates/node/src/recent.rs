//! Shares a costly result for a short time: one caller computes it, and the others reuse it.
//!
//! Only readiness is cached this way, for one second. It comes from probes, so after the database returns to
//! an earlier state the next probe is correct.

use std::time::{Duration, Instant};

use tokio::sync::Mutex;

/// The last result and when it was computed.
pub struct Recent<T> {
    last: Mutex<Option<(Instant, T)>>,
    keep: Duration,
}

impl<T: Clone> Recent<T> {
    /// Creates a cache whose results are reused for `keep`.
    pub fn new(keep: Duration) -> Self {
        Recent {
            last: Mutex::new(None),
            keep,
        }
    }

    /// The last result, or a new one. Callers that arrive during the computation wait for it.
    pub async fn get(&self, find: impl Future<Output = T>) -> T {
        let mut last = self.last.lock().await;
        if let Some((found, answer)) = &*last
            && found.elapsed() < self.keep
        {
            return answer.clone();
        }
        let answer = find.await;
        *last = Some((Instant::now(), answer.clone()));
        answer
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[tokio::test]
    async fn a_crowd_asks_once_and_an_old_answer_is_found_anew() {
        let found = AtomicU32::new(0);
        let recent = Recent::new(Duration::from_millis(100));
        let ask = || {
            recent.get(async {
                tokio::time::sleep(Duration::from_millis(10)).await;
                found.fetch_add(1, Ordering::Relaxed) + 1
            })
        };
        let answers = futures_util::future::join_all((0..100).map(|_| ask())).await;
        assert!(answers.iter().all(|answer| *answer == 1));
        tokio::time::sleep(Duration::from_millis(120)).await;
        assert_eq!(ask().await, 2);
    }
}
