//! One serving process: its settings, its parts, and their readiness.
//!
//! Nothing authoritative is stored here. Engines, indexes and replicas can be rebuilt from the store at any
//! time, so any node may be killed. The crate opens no transaction, and contains no use case, no HTTP and no
//! page.
//!
//! **When the database returns to an earlier state.** This happens behind a running process when a replica
//! that lagged is promoted or a backup is restored. Accounts and their settings, keys, Flows, sessions, rate
//! limits, idempotency keys, suppressions and risk profiles are read from the database for each request, so
//! none of them can be stale. A request that is under way decides by what it read, and its transaction checks
//! uniqueness again. Of the state that outlives a request, only [`face_replicas`] copies rows; at each use it
//! checks that they are still there. All other caches are made of files, the configuration or the process
//! itself, and the comment at each one states which.

pub mod api_calls;
pub mod app;
pub mod background;
pub mod challenge_capacity;
pub mod checks;
pub mod config;
pub mod cpu;
pub mod face_replicas;
pub mod geo;
pub mod labels;
mod listed_wallets;
pub mod lists;
pub mod mail;
pub mod metric_table;
pub mod presence;
pub mod problem;
pub mod public_address;
pub mod recent;
pub mod settings;
pub mod spill;
pub mod theme;
pub mod time;
pub mod upload;
pub mod visitor;
pub mod webhook_address;

pub use app::{App, Shared};
