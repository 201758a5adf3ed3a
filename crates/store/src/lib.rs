//! SQL and objects: one module per table, migrations, encryption at rest.
//!
//! It stores what its callers pass and contains none of the rules: the callers decide who counts as the same
//! person, what a status allows, and what JSON contains. It never logs the data that it stores.
//!
//! **Connecting.** Call [`Keyring::open_or_create`], then [`Db::connect`]. SQLite migrates itself. PostgreSQL
//! needs [`Db::migrate`] (a command), or [`Db::migrate_if_empty`] for a throw-away database. Call
//! [`Db::check_schema`] before serving.
//!
//! **Reading.** Functions that only read take `&mut Conn`. A transaction is a [`Conn`] too, so they also work
//! inside one. **Writing.** Functions that write take `&mut Tx`; [`transaction!`] combines them:
//!
//! ```
//! # use store::{Db, Error, Scope, audit, groups};
//! # use store::groups::{Group, NewGroup};
//! async fn create_group(db: &Db, scope: Scope, new: &NewGroup, limit: Option<i64>) -> Result<Group, Error> {
//!     store::transaction!(db, |tx| -> Result<Group, Error> {
//!         let group = groups::create(tx, scope, new, limit).await?;
//!         let subject = group.id.to_string();
//!         let entry = audit::Entry { actor: "key", action: "group.created", subject: &subject, detail: "{}" };
//!         audit::write(tx, scope, &entry).await?;
//!         Ok(group)
//!     })
//! }
//!
//! async fn list_groups(db: &Db, scope: Scope) -> Result<Vec<Group>, Error> {
//!     groups::list(&mut db.read().await?, scope).await
//! }
//! ```
//!
//! The macro awaits, so use it in an `async fn`. The block may run several times (serialization failures), so
//! it must change nothing outside. `?` and `return` leave the block, and an `Err` rolls back.
//!
//! **Verifying.** First the objects are sealed under the attempt's new [`DataKey`] ([`Objects::put`]). Then
//! one transaction calls [`faces::lock`], searches the face changes after its index, and calls [`people`] and
//! [`registrations`], [`attempts::insert`], [`audit::write`] and [`outbox::enqueue`].
//! `tests/suite/verification.rs` shows all of it.
//!
//! **Errors.** Every function that runs a statement may return [`Error::Unavailable`],
//! [`Error::DatabaseFull`] and [`Error::Database`]. A function's documentation names only further errors, or
//! a special cause of one of these.
//!
//! **Scope.** Every function on a merchant's data takes a [`Scope`]. Rows of another account, or of the other
//! mode of the same account, do not exist for it. The macros that run statements bind the scope. They check
//! at compile time that the text restricts every table of an account by it (`sql.rs`, `tenancy.rs`). Times
//! are milliseconds since 1970 UTC; [`Conn::now`] is the time of all rows that a transaction writes. JSON is
//! stored as text.

pub mod admissions;
pub mod alerts;
pub mod api_log;
pub mod applicant_invitation_state;
pub mod applicant_invitations;
pub mod applicant_letters;
pub mod applicants;
pub mod attempts;
pub mod audit;
pub mod bulk;
pub mod challenges;
mod clock;
mod conn;
pub mod consents;
mod counters;
pub mod credentials;
mod db;
pub mod dispositions;
pub mod document_readings;
pub mod durability;
pub mod earlier_rows;
pub mod erasure_journal;
pub mod erasures;
mod error;
pub mod faces;
pub mod files;
pub mod flows;
mod group_commit;
pub mod groups;
pub mod handoffs;
pub mod idempotency;
pub mod insight;
pub mod installation;
pub mod invitations;
pub mod jobs;
pub mod key_renewal;
pub mod keyring;
mod labels;
pub mod limits;
pub mod link_tokens;
mod list_objects;
pub mod list_sets;
pub mod list_updates;
pub mod logos;
pub mod merchant_profiles;
pub mod merchants;
mod migrations;
pub mod monitoring;
pub mod nodes;
pub mod object_copies;
pub mod objects;
pub mod operator_audit;
mod options;
pub mod outbox;
pub mod people;
pub mod picture_fingerprints;
pub mod portal_sessions;
pub mod proposals;
pub mod reason_templates;
pub mod registrations;
pub mod rescreenings;
pub mod review;
pub mod risk_profiles;
pub mod saved_views;
mod schema;
pub mod session_events;
pub mod sessions;
pub mod sign_ups;
pub mod snapshots;
mod sql;
mod sqlite;
pub mod staff;
pub mod staff_devices;
pub mod staff_passkeys;
pub mod suppressions;
mod tenancy;
mod text_enum;
pub mod transfer;
pub mod wallet_alerts;
pub mod wallet_rescreenings;
pub mod webhooks;

use uuid::Uuid;

pub use conn::{Conn, Tx};
pub use db::Db;
pub use error::Error;
pub use keyring::{DataKey, Keyring, KeyringOrigin, SealContext};
pub use list_objects::ListCopy;
pub use objects::{ObjectName, Objects};
pub use options::Options;
pub use schema::Schema;

/// A merchant account in one of its two modes. The data of the modes never mix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Scope {
    /// The account.
    pub merchant_id: Uuid,
    /// Sandbox or live.
    pub sandbox: bool,
}
