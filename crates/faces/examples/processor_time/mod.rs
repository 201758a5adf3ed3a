//! The processor time of the measurements in this folder.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// How often work is repeated.
pub(crate) const ROUNDS: usize = 15;

/// The median of milliseconds of processor time, of all threads of this process.
pub(crate) fn median(mut work: impl FnMut()) -> f64 {
    let mut times: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let start = processor_time();
            work();
            (processor_time() - start).as_secs_f64() * 1e3
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[ROUNDS / 2]
}

fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    Duration::from_secs(seconds) + Duration::from_nanos(u64::try_from(time.tv_nsec).unwrap_or_default())
}
