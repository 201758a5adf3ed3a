//! The use cases: what happens behind the API, the portal and the command line.
//!
//! One module a use case, named by its subject; each opens the transactions that it needs, and nothing above this crate does. It knows
//! no axum, no header and no page. A rule of verification is `verification`'s, SQL is `store`'s, pixels are the engines'.

pub mod accounts;
pub mod actor;
pub mod admissions;
pub mod api_log;
pub mod applicant_view;
pub mod applicants;
pub mod applications;
pub mod attempt_detail;
pub mod audit_trail;
pub mod authentication;
pub mod branding;
pub mod caller;
pub mod chain_watch;
pub mod comparison;
pub mod configurations;
pub mod desk;
pub mod dispositions;
pub mod erasure;
pub mod events;
pub mod evidence;
pub mod flow_content;
pub mod flows;
pub mod four_eyes;
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
pub mod list_watch;
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
pub mod rates;
pub mod reindex;
pub mod retention;
pub mod reviews;
pub mod screening_hits;
pub mod sessions;
pub mod stored_hits;
pub mod subject_access;
pub mod suppressions;
pub mod verify;
pub mod webhooks;

// What callers of a use case need of the node.
pub use node::{
    App, Shared, app, background, checks, config, cpu, decoders, engines, face_replicas, geo, lists, mail,
    presence, problem, public_address, recent, settings, spill, theme, time, upload,
};
