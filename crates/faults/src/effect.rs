//! The evidence that a fault took hold. A fault that changed nothing tests nothing, so a run reports it.

use std::fmt;

/// What a fault did, and how often. A count of 0 shows that it had no effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Effect {
    count: u64,
    what: &'static str,
}

impl Effect {
    /// `what` is countable, such as `connections ended`.
    pub(crate) const fn counted(count: u64, what: &'static str) -> Effect {
        Effect { count, what }
    }

    /// Something that happens once or not at all, such as `process killed`.
    pub(crate) const fn once(happened: bool, what: &'static str) -> Effect {
        Effect::counted(happened as u64, what)
    }

    /// Whether the fault had no effect.
    pub(crate) fn is_missing(self) -> bool {
        self.count == 0
    }
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.is_missing() {
            true => write!(f, "without effect (0 × {})", self.what),
            false => write!(f, "{} × {}", self.count, self.what),
        }
    }
}
