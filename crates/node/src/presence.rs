//! This process among those that serve: its id and its name. What it reports is `service::nodes`'s.

use jiff::Timestamp;
use uuid::Uuid;

/// This process among the others.
#[derive(Clone, Debug)]
pub struct Presence {
    id: Uuid,
    name: String,
    started_at: i64,
}

impl Presence {
    /// A process that begins to serve.
    pub fn begin() -> Self {
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        Presence {
            id: Uuid::now_v7(),
            name: format!("{} · {}", host.trim(), std::process::id()),
            started_at: Timestamp::now().as_millisecond(),
        }
    }

    /// Its id among the others.
    pub fn id(&self) -> Uuid {
        self.id
    }

    /// What people call it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// When it started (ms).
    pub fn started_at(&self) -> i64 {
        self.started_at
    }
}
