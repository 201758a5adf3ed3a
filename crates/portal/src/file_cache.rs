//! A cache for values computed from the portal's files. A release build computes a value once, because its
//! files are embedded. A debug build, whose files change while it runs, does so at most once a second. It
//! reads no file itself.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long a debug build reuses a value.
const DEBUG_AGE: Duration = Duration::from_secs(1);

/// A cached value and the function that computes it.
pub(super) struct FileCache<T> {
    made: Mutex<Option<(Instant, T)>>,
    make: fn() -> T,
}

impl<T: Clone> FileCache<T> {
    /// An empty cache.
    pub(super) const fn new(make: fn() -> T) -> Self {
        FileCache {
            made: Mutex::new(None),
            make,
        }
    }

    /// Returns the value, and computes it if there is none or it is too old.
    pub(super) fn get(&self) -> T {
        // The code that holds the lock changes the value in one step, so a poisoned lock protects a valid
        // value.
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        match &*made {
            Some((at, value)) if !cfg!(debug_assertions) || at.elapsed() < DEBUG_AGE => value.clone(),
            _ => {
                let value = (self.make)();
                *made = Some((Instant::now(), value.clone()));
                value
            }
        }
    }
}
