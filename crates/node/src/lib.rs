//! One process that serves: its settings, the parts that it is made of, and whether they are ready.
//!
//! Nothing authoritative lives here: engines, indexes and replicas can be rebuilt from the store at any time, so any node may be killed.
//! It opens no transaction and knows no use case, no HTTP and no page.
//!
//! **When the database goes back.** A replica that lagged is promoted, or a backup is restored, behind a running process. Accounts, their
//! settings, keys, Flows, sessions, rate limits, idempotency keys, suppressions and risk profiles are read from the database for each
//! request, so none of them can be stale. A request that is under way decides on what it read, and its transaction checks again what must
//! be unique. Of the state that outlives a request, only [`face_replicas`] copies rows; it checks at each use that they are still there.
//! The rest is made of files, of the configuration or of the process itself: the comment at each cache says so.

pub mod api_calls;
pub mod app;
pub mod background;
pub mod checks;
pub mod config;
pub mod cpu;
pub mod decoders;
pub mod engines;
pub mod face_replicas;
pub mod geo;
pub mod labels;
pub mod lists;
pub mod mail;
pub mod presence;
pub mod problem;
pub mod public_address;
pub mod recent;
pub mod settings;
pub mod spill;
pub mod theme;
pub mod time;
pub mod upload;

pub use app::{App, Shared};
