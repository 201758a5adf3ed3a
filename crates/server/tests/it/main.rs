//! The real program on a free port, on SQLite and on PostgreSQL, used as a merchant's developer would.

mod account;
mod bad_input;
mod documents;
mod flows;
mod groups;
mod harness;
mod openapi;
mod verify;
