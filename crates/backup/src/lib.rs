//! Encrypted backups of an installation: making, checking and restoring them.
//!
//! A backup is one file: a tar archive, encrypted with [age](https://age-encryption.org/v1) to the operator's
//! public key. [`archive`] describes its content. It contains the database at one moment, the objects (or a
//! list of them), the sanctions lists, the labels and the erasure journal. It never contains the master key.
//!
//! A restore never overwrites an installation. It checks every byte against the archive's description, and
//! repeats the erasures in the erasure journal.
//!
//! This crate opens no transaction and never opens a sealed value; `service` erases, `store` copies.

mod archive;
mod create;
mod erasures;
mod error;
mod folders;
mod manifest;
mod postgres_tools;
mod restore;
mod verify;
mod work;

pub use age::x25519::{Identity, Recipient};
pub use archive::{Identities, Reader};
pub use create::{Contents, CreatedBackup, create};
pub use erasures::{RepeatedErasures, repeat_erasures};
pub use error::BackupError;
pub use manifest::{DatabaseKind, Header, Manifest, ObjectMode, Section};
pub use restore::{JournalSource, RestoreReport, Target, restore};
pub use verify::{Verification, verify, verify_entries};
