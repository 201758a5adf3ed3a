//! The `bonafide` program as a library: command line, HTTP API, and what happens behind both.
//!
//! Three floors share their file names: `api/groups.rs` (HTTP) → `app/groups.rs` (what happens) → `store::groups` (SQL).
//! Nothing here knows a rule of verification (crate `verification`), reads a picture (the engines) or holds SQL (crate `store`).

pub mod api;
pub mod app;
pub mod cli;
pub mod config;
pub mod error;
pub mod http;
pub mod logging;
pub mod portal;
pub mod router;
pub mod websdk;
