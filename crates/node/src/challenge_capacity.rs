//! How many liveness challenges this node carries at once, estimated from the time that its frames took. This module
//! does not count challenges.

use std::sync::atomic::{AtomicU64, Ordering};

/// The most challenges per worker, which is also what a node is assumed to carry before it has measured a frame.
pub const MOST_PER_WORKER: usize = 4;
/// The milliseconds that a worker with one challenge has for each frame, at ten frames a second.
const MS_FOR_FRAMES: f64 = 100.0;
/// The weight of one frame in the mean.
const WEIGHT: f64 = 0.02;

/// The mean time of a frame. A busy machine takes longer, so it carries fewer challenges.
#[derive(Debug, Default)]
pub struct ChallengeCapacity {
    /// Microseconds; 0 before the first frame.
    mean_us: AtomicU64,
}

impl ChallengeCapacity {
    /// Adds frames and the milliseconds that they took together.
    pub fn note(&self, frames: usize, took_ms: f64) {
        if frames == 0 || !took_ms.is_finite() || took_ms < 0.0 {
            return;
        }
        let each = took_ms * 1e3 / frames as f64;
        let _ = self
            .mean_us
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |mean| {
                let weight = 1.0 - (1.0 - WEIGHT).powf(frames as f64);
                let mean = if mean == 0 { each } else { mean as f64 };
                // `as` saturates.
                Some(((mean + weight * (each - mean)) as u64).max(1))
            });
    }

    /// The challenges that this many workers carry, at least one.
    pub fn challenges(&self, workers: usize) -> usize {
        let mean_ms = self.mean_us.load(Ordering::Acquire) as f64 / 1e3;
        let carried = workers as f64 * MS_FOR_FRAMES / mean_ms;
        // `as` saturates: before the first frame the mean is zero.
        (carried as usize).clamp(1, (workers * MOST_PER_WORKER).max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_frames_leave_room_for_fewer() {
        for (each_ms, workers, challenges) in [
            (0.5, 2, 8),
            (12.0, 2, 8),
            (25.0, 2, 8),
            (26.0, 2, 7),
            (50.0, 2, 4),
            (50.0, 1, 2),
            (400.0, 2, 1),
        ] {
            let capacity = ChallengeCapacity::default();
            assert_eq!(capacity.challenges(workers), MOST_PER_WORKER * workers);
            for _ in 0..3 {
                capacity.note(2, 2.0 * each_ms);
            }
            assert_eq!(capacity.challenges(workers), challenges, "{each_ms} ms");
        }
    }

    #[test]
    fn one_slow_body_changes_little_and_many_change_the_mean() {
        let capacity = ChallengeCapacity::default();
        for _ in 0..200 {
            capacity.note(2, 20.0);
        }
        capacity.note(2, 300.0);
        assert_eq!(capacity.challenges(2), 8);
        for _ in 0..200 {
            capacity.note(2, 200.0);
        }
        assert_eq!(capacity.challenges(2), 2);
        for took_ms in [f64::NAN, f64::INFINITY, -1.0] {
            capacity.note(2, took_ms);
        }
        capacity.note(0, 5.0);
        assert_eq!(capacity.challenges(2), 2);
    }
}
