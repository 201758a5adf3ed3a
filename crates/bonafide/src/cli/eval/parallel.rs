//! Spreads numbered pieces of work over threads. It knows nothing of the work.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::anyhow;

/// The results of the pieces 0 to `count`, in their order, done by so many threads. A piece may have no result.
///
/// # Errors
/// The first error of a piece stops its thread; the others end their work first.
pub(in crate::cli) fn each<T: Send>(
    count: usize,
    threads: usize,
    piece: impl Fn(usize) -> anyhow::Result<Option<T>> + Sync,
) -> anyhow::Result<Vec<T>> {
    let (next, results) = (AtomicUsize::new(0), Mutex::new(Vec::with_capacity(count)));
    let panicked = || anyhow!("a thread panicked");
    let work = || -> anyhow::Result<()> {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                return Ok(());
            }
            if let Some(result) = piece(number)? {
                results.lock().map_err(|_| panicked())?.push((number, result));
            }
        }
    };
    std::thread::scope(|scope| -> anyhow::Result<()> {
        let threads: Vec<_> = (0..threads.max(1)).map(|_| scope.spawn(work)).collect();
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().map_err(|_| panicked())?)
    })?;
    let mut results = results.into_inner().map_err(|_| panicked())?;
    results.sort_by_key(|(number, _)| *number);
    Ok(results.into_iter().map(|(_, result)| result).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_piece_is_done_once_and_in_order() {
        for threads in [0, 1, 3] {
            let even = each(9, threads, |number| Ok((number % 2 == 0).then_some(number)));
            assert_eq!(even.unwrap(), [0, 2, 4, 6, 8]);
        }
        let failed = each(9, 2, |number| {
            if number == 4 {
                Err(anyhow!("four"))
            } else {
                Ok(Some(number))
            }
        });
        assert_eq!(failed.unwrap_err().to_string(), "four");
    }
}
