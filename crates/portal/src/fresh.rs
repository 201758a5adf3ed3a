//! Values made of the portal's files: once in a release build, whose files are embedded, and once a second in a debug build, whose
//! files change while it runs. It reads no file itself.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long a debug build uses a value.
const DEBUG_AGE: Duration = Duration::from_secs(1);

/// A value and how it is made.
pub(super) struct Fresh<T> {
    made: Mutex<Option<(Instant, T)>>,
    make: fn() -> T,
}

impl<T: Clone> Fresh<T> {
    /// Nothing is made yet.
    pub(super) const fn new(make: fn() -> T) -> Self {
        Fresh {
            made: Mutex::new(None),
            make,
        }
    }

    /// The value; made now if there is none that is fresh enough.
    pub(super) fn get(&self) -> T {
        // Nothing panics between the parts of a change, so a poisoned value is whole.
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
