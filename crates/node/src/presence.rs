//! This process's identity among the serving processes: its id and name. `service::nodes` reports its state.

use jiff::Timestamp;
use uuid::Uuid;

/// This process's identity.
#[derive(Clone, Debug)]
pub struct Presence {
    id: Uuid,
    name: String,
    started_at: i64,
}

impl Presence {
    /// Creates the identity of a process that begins to serve.
    pub fn begin() -> Self {
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        Presence {
            id: Uuid::now_v7(),
            name: format!("{} · {}", host.trim(), std::process::id()),
            started_at: Timestamp::now().as_millisecond(),
        }
    }

    /// A random id, new at every start.
    pub fn id(&self) -> Uuid {
        self.id
    }

    /// The host name and process id, for people.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// When it started (ms).
    pub fn started_at(&self) -> i64 {
        self.started_at
    }
}
