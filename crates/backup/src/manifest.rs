//! The description of a backup. The header comes first, so an impossible restore stops at once. The manifest
//! comes last, so a truncated backup is detected.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// The version of the format.
pub(crate) const FORMAT: u32 = 1;

/// Which database a backup contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DatabaseKind {
    /// A SQLite file.
    Sqlite,
    /// PostgreSQL, in `pg_dump`'s custom format.
    Postgres,
}

/// Whether a backup contains the objects themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ObjectMode {
    /// It contains every object.
    Copied,
    /// It contains their names and sizes. The object store keeps the objects.
    Listed,
}

/// The first entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Header {
    /// The version of the format.
    pub format: u32,
    /// The version of the program that made the backup.
    pub program: String,
    /// The time of the database copy (RFC 3339). The backup contains everything that was acknowledged earlier.
    pub snapshot_at: String,
    /// The database.
    pub database: DatabaseKind,
    /// Whether the objects are in it.
    pub objects: ObjectMode,
    /// See [`store::Keyring::installation_id`].
    pub installation: String,
    /// See [`store::installation::master_key_in_use`]. Earlier versions wrote none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub master_key: Option<String>,
}

/// The entries of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Section {
    /// Their number.
    pub entries: u64,
    /// Their total size in bytes.
    pub bytes: u64,
    /// SHA-256 over each entry's path, a zero byte, its size (8 bytes, big-endian) and its content.
    pub sha256: String,
}

/// The last entry but one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Manifest {
    /// The first entry again.
    pub header: Header,
    /// The number of rows of each table.
    pub tables: BTreeMap<String, i64>,
    /// The entries by the first part of their paths.
    pub sections: BTreeMap<String, Section>,
}

/// A section while its entries are written or read.
#[derive(Default)]
pub(crate) struct SectionDigest {
    entries: u64,
    bytes: u64,
    sha256: Sha256,
}

impl SectionDigest {
    /// Begins an entry.
    pub(crate) fn begin(&mut self, path: &str, bytes: u64) {
        self.entries += 1;
        self.bytes += bytes;
        self.sha256.update(path.as_bytes());
        self.sha256.update([0]);
        self.sha256.update(bytes.to_be_bytes());
    }

    /// Continues the entry's content.
    pub(crate) fn update(&mut self, content: &[u8]) {
        self.sha256.update(content);
    }

    pub(crate) fn finish(self) -> Section {
        Section {
            entries: self.entries,
            bytes: self.bytes,
            sha256: hex::encode(self.sha256.finalize()),
        }
    }
}
