//! The `bonafide` program: its command line, its log, and the router with every route.
//!
//! It contains no use case: the command line and the routes call `service`.

#![warn(
    clippy::print_stderr,
    reason = "eprintln! panics if stderr cannot be written, and that would end the server: use cli::output::note!"
)]

pub mod cli;
pub mod logging;
pub mod router;
