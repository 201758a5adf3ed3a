//! The options of a database connection.

use std::time::Duration;

/// The options of a database connection.
#[derive(Clone, Debug)]
pub struct Options {
    /// The most connections. On SQLite these are the readers, and the writer is one more.
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
