//! The use cases: what happens behind the API, the portal and the command line.
//!
//! One module a use case, named by its subject; each opens the transactions that it needs, and nothing above this crate does. It knows
//! no axum, no header and no page. A rule of verification is `verification`'s, SQL is `store`'s, pixels are the engines'.
//!
//! Nothing authoritative lives here: engines, indexes and replicas can be rebuilt from the store at any time, so any node may be killed.
//!
//! **When the database goes back.** A replica that lagged is promoted, or a backup is restored, behind a running process. Accounts, their
//! settings, keys, Flows, sessions, rate limits, idempotency keys, suppressions and risk profiles are read from the database for each
//! request, so none of them can be stale. A request that is under way decides on what it read, and its transaction checks again what must
//! be unique. Of the state that outlives a request, only [`face_replicas`] copies rows; it checks at each use that they are still there.
//! The rest is made of files, of the configuration or of the process itself: the comment at each cache says so.

pub mod accounts;
pub mod admissions;
pub mod api_log;
pub mod app;
pub mod applicant_view;
pub mod applicants;
pub mod applications;
pub mod audit_trail;
pub mod authentication;
pub mod background;
pub mod branding;
pub mod caller;
pub mod chain_follow;
mod chain_lines;
pub mod chain_nodes;
pub mod chain_sources;
pub mod chain_tls;
pub mod chain_transport;
pub mod chain_watch;
pub mod checks;
pub mod comparison;
pub mod config;
pub mod configurations;
pub mod cpu;
pub mod decoders;
pub mod desk;
pub mod dispositions;
pub mod engines;
pub mod erasure;
pub mod events;
pub mod evidence;
pub mod face_replicas;
pub mod flows;
pub mod four_eyes;
pub mod geo;
pub mod groups;
pub mod held_faces;
pub mod hosted;
pub mod housekeeping;
pub mod idempotency;
pub mod identify;
pub mod insight;
pub mod installation_acts;
pub mod keys;
pub mod labels;
pub mod list_set;
pub mod lists;
pub mod mail;
pub mod master_keys;
pub mod merchants;
pub mod monitoring;
pub mod names;
pub mod nodes;
pub mod operations;
pub mod people;
pub mod permissions;
pub mod pictures;
pub mod privacy;
pub mod problem;
pub mod public_address;
pub mod rates;
pub mod recent;
pub mod reindex;
pub mod retention;
pub mod reviews;
pub mod screening_hits;
pub mod seen;
pub mod sessions;
pub mod spill;
pub mod subject_access;
pub mod suppressions;
pub mod theme;
pub mod time;
pub mod upload;
pub mod verify;
pub mod webhooks;

pub use app::{App, Shared};
