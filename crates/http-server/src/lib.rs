//! Everything between the network and a handler: the accept loop, request ids, authentication, rate limits
//! and body parsing.
//!
//! It contains no business rule.

pub mod api_log;
pub mod authorization;
pub mod body;
pub mod error;
pub mod files;
pub mod form;
pub mod gate;
pub mod hosts;
pub mod idempotency;
pub mod json;
pub mod listener;
pub mod no_store;
pub mod openapi;
pub mod path;
pub mod query;
pub mod request_id;
pub mod security_headers;
pub mod unread_body;
