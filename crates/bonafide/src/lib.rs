//! The `bonafide` program: its command line, its log, and every route in one list.
//!
//! Nothing happens here: the command line and the routes call `service`.

pub mod cli;
pub mod logging;
pub mod router;
