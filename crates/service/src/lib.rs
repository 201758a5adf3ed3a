//! The use cases: what happens behind the API, the portal and the command line.
//!
//! Each use case is a module named by its subject. It opens its own transactions. Above this crate, only
//! `portal-accounts` opens transactions; it contains the use cases of staff accounts. The crate contains no axum, no header and no page. Rules are in `verification`, SQL is in
//! `store`, and picture processing is in the engines.

pub mod actor;
pub mod acts_by_key;
pub mod admissions;
pub mod alerts;
pub mod api_log;
pub mod applicant_invitations;
pub mod applicant_letters;
pub mod applicant_view;
pub mod applicants;
pub mod attempt_detail;
pub mod audit_trail;
pub mod authentication;
pub mod backups;
pub mod branding;
pub mod caller;
pub mod chain_watch;
pub mod challenge;
pub mod comparison;
pub mod configurations;
pub mod dispositions;
pub mod document_readings;
mod document_side;
pub mod erasure;
pub mod events;
pub mod evidence;
pub(crate) mod flow_choices;
pub mod flow_content;
pub mod flows;
pub mod four_eyes;
pub mod gauges;
pub mod groups;
pub mod held_faces;
pub mod hosted;
pub mod housekeeping;
pub mod idempotency;
pub mod identify;
pub mod insight;
pub mod installation_acts;
pub mod invitation_file;
pub mod key_permissions;
pub mod key_renewal;
pub mod key_restrictions;
pub mod keys;
pub mod labels;
pub mod letter_texts;
pub mod list_copies;
pub mod list_import;
pub mod list_schedule;
pub mod list_set;
pub mod list_update;
pub mod list_watch;
pub mod master_keys;
pub mod merchants;
pub mod merging;
pub mod monitoring;
pub mod names;
pub mod nodes;
pub mod operations;
pub mod people;
pub mod permissions;
pub mod pictures;
pub mod placeholders;
pub mod privacy;
pub mod rates;
pub mod refused_origins;
pub mod reindex;
pub mod reports;
pub mod rescreening;
pub mod retention;
pub mod reuse;
pub mod review_tools;
pub mod reviews;
pub mod screening_hits;
pub mod sessions;
pub mod splitting;
pub mod stored_hits;
pub mod subject_access;
pub mod suppressions;
pub mod verify;
pub mod wallet_alerts;
mod wallet_comparison;
pub mod wallet_rescreening;
mod watched;
pub mod webhooks;
pub mod yente;

// Parts of the node that callers of use cases need.
pub use node::{
    App, Shared, app, background, challenge_capacity, checks, config, cpu, face_replicas, geo, lists, mail,
    metric_table, presence, problem, public_address, recent, settings, spill, theme, time, upload, visitor,
    webhook_address,
};
