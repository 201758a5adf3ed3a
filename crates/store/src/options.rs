//! How to connect to a database.

use std::time::Duration;

/// How to connect.
#[derive(Clone, Debug)]
pub struct Options {
    /// Connections kept at most (on SQLite: readers; there is one writer besides).
    pub max_connections: u32,
    /// How long to wait for a free connection before [`Error::Unavailable`](crate::Error::Unavailable).
    pub acquire_timeout: Duration,
    /// SQLite: how long to wait for another process's write lock.
    pub busy_timeout: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            max_connections: 16,
            acquire_timeout: Duration::from_secs(10),
            busy_timeout: Duration::from_secs(10),
        }
    }
}
