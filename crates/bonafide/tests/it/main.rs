//! Integration tests: the real program on a free port, with SQLite and PostgreSQL, used like a merchant's
//! developer would.

#![allow(clippy::unwrap_used, reason = "a test stops at the first thing that is wrong")]

mod account;
mod api_log;
mod architecture;
mod backup;
mod bad_input;
mod chains;
mod command_line;
mod connections;
mod contract;
mod disk;
mod documents;
mod engine_worker;
mod erasure;
mod failover;
mod flow_lists;
mod flows;
mod groups;
mod harness;
mod held_faces;
mod hosted;
mod idempotency;
mod installation;
mod interruptions;
mod lifecycle;
mod list_copies;
mod list_updates;
mod lists;
mod load;
mod metrics;
mod monitoring;
mod names;
mod nodes;
mod openapi;
mod own_models;
mod portal;
mod reports;
mod rescreening;
mod screening_profiles;
mod security_headers;
mod sessions;
mod stored_configuration;
mod upstreams;
mod verify;
mod wallet_alerts;
mod webhooks;
mod yente;
