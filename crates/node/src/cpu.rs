//! The node's capacity for heavy work: permits with a short bounded queue, and a 503 when the queue is full.
//! The queue has 8 places per worker and a wait of at most 5 s
//! (`docs/decisions/0009-rate-limits-and-capacity.md`).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::problem::Problem;

const QUEUE_PER_WORKER: usize = 8;
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// Permits for work that keeps a core busy.
pub struct CpuPool {
    permits: Arc<Semaphore>,
    waiting: AtomicUsize,
    most_waiting: usize,
    wait: Duration,
}

/// How much of a pool is in use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Capacity {
    /// How many tasks can run at once.
    pub workers: usize,
    /// How many tasks are running.
    pub running: usize,
    /// How many tasks are waiting.
    pub waiting: usize,
    /// How many tasks may wait.
    pub most_waiting: usize,
}

impl CpuPool {
    /// A pool of `workers` permits.
    pub fn new(workers: usize) -> Self {
        CpuPool {
            permits: Arc::new(Semaphore::new(workers)),
            waiting: AtomicUsize::new(0),
            most_waiting: workers * QUEUE_PER_WORKER,
            wait: LONGEST_WAIT,
        }
    }

    /// How much of the pool is in use now.
    pub fn capacity(&self) -> Capacity {
        let workers = self.most_waiting / QUEUE_PER_WORKER;
        Capacity {
            workers,
            running: workers.saturating_sub(self.permits.available_permits()),
            waiting: self.waiting.load(Ordering::Acquire),
            most_waiting: self.most_waiting,
        }
    }

    /// Waits a short time for a permit. Responds 503 if the queue is full or no permit becomes free in time.
    pub async fn permit(&self) -> Result<OwnedSemaphorePermit, Problem> {
        if let Ok(permit) = Arc::clone(&self.permits).try_acquire_owned() {
            return Ok(permit);
        }
        let _place = QueuePlace::take(&self.waiting, self.most_waiting).ok_or_else(full)?;
        match tokio::time::timeout(self.wait, Arc::clone(&self.permits).acquire_owned()).await {
            Ok(Ok(permit)) => Ok(permit),
            _ => Err(full()),
        }
    }

    /// Runs blocking work under a permit. The closure receives a flag that states whether the caller has
    /// gone.
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Abandoned) -> T + Send + 'static,
    ) -> Result<T, Problem> {
        let permit = self.permit().await?;
        let gone = Abandoned::default();
        let _guard = AbandonOnDrop(gone.clone());
        let span = tracing::Span::current();
        tokio::task::spawn_blocking(move || {
            let _permit = permit;
            span.in_scope(|| work(&gone))
        })
        .await
        .map_err(|_| Problem::internal("heavy work panicked; the log says where"))
    }
}

/// Runs short blocking work (spilled files, hashing, sealing) outside the runtime's threads, without a
/// permit.
pub async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> std::io::Result<T> + Send + 'static,
) -> Result<T, Problem> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|_| Problem::internal("blocking work panicked; the log says where"))?
        .map_err(Problem::internal)
}

fn full() -> Problem {
    metrics::counter!("bonafide_over_capacity_total").increment(1);
    Problem::unavailable("The server is busy; please try again shortly")
}

/// A place in the queue, released on drop.
struct QueuePlace<'a>(&'a AtomicUsize);

impl<'a> QueuePlace<'a> {
    fn take(waiting: &'a AtomicUsize, most: usize) -> Option<Self> {
        waiting
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |now| {
                (now < most).then_some(now + 1)
            })
            .ok()
            .map(|_| QueuePlace(waiting))
    }
}

impl Drop for QueuePlace<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Whether the caller of some work has gone.
#[derive(Clone, Default)]
pub struct Abandoned(Arc<AtomicBool>);

impl Abandoned {
    /// True if the caller has gone. The work must then stop before its next expensive step.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

struct AbandonOnDrop(Abandoned);

impl Drop for AbandonOnDrop {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_full_queue_and_a_vain_wait_answer_busy() {
        let mut pool = CpuPool::new(1);
        pool.wait = Duration::from_millis(20);
        let pool = Arc::new(pool);
        let _held = pool.permit().await.unwrap();
        let waiting: Vec<_> = (0..QUEUE_PER_WORKER + 3)
            .map(|_| {
                let pool = Arc::clone(&pool);
                tokio::spawn(async move { pool.permit().await.is_ok() })
            })
            .collect();
        for one in waiting {
            assert!(!one.await.unwrap());
        }
        assert_eq!(pool.waiting.load(Ordering::Acquire), 0);
    }

    #[tokio::test]
    async fn work_learns_that_its_caller_has_gone() {
        let pool = Arc::new(CpuPool::new(1));
        let (started, starting) = tokio::sync::oneshot::channel();
        let (told, telling) = std::sync::mpsc::channel();
        let inner = Arc::clone(&pool);
        let call = tokio::spawn(async move {
            inner
                .run(move |gone| {
                    let _ = started.send(());
                    while !gone.is_set() {
                        std::thread::sleep(Duration::from_millis(1));
                    }
                    told.send(()).unwrap();
                })
                .await
        });
        starting.await.unwrap();
        call.abort();
        tokio::task::spawn_blocking(move || telling.recv_timeout(Duration::from_secs(5)).unwrap())
            .await
            .unwrap();
    }
}
