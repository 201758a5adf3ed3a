//! The `bonafide` program: its command line, its log, and the router with every route.
//!
//! It contains no use case: the command line and the routes call `service`.

pub mod cli;
pub mod logging;
pub mod router;
