//! Checks a backup without restoring it.

use std::path::Path;

use store::Keyring;

use crate::archive::{DATABASE, Identities, OBJECT_LIST, Reader};
use crate::error::BackupError;
use crate::manifest::{DatabaseKind, Header, Manifest};
use crate::{folders, postgres_tools};

/// The result of a check.
pub struct Verification {
    /// What the backup contains.
    pub manifest: Manifest,
    /// Whether the installation of the keyring made the backup; `None` without a keyring.
    pub is_ours: Option<bool>,
}

/// Reads a whole backup and compares it with its manifest, and checks the database in it: SQLite's pages,
/// indexes, references and row counts; PostgreSQL's list of contents. It writes only into a temporary folder.
///
/// # Errors
/// [`BackupError`].
pub async fn verify(
    path: &Path,
    identities: &Identities,
    keyring: Option<&Keyring>,
) -> Result<Verification, BackupError> {
    let header = Reader::header(path, identities)?;
    if let Some(keyring) = keyring {
        check_master_key(&header, keyring)?;
    }
    let work = tempfile::tempdir().map_err(BackupError::file(&std::env::temp_dir()))?;
    let copy = work.path().join("database");
    let reader = Reader::open(path, identities)?;
    let checked = reader
        .read_entries(async |entry| match classify_entry(entry.path) {
            Some(EntryKind::Database) => entry.into_file(&copy),
            Some(_) => Ok(()),
            None => Err(unexpected_entry(entry.path)),
        })
        .await?;
    check_header(&header, &checked.manifest)?;
    check_database(&header, &copy, &checked.manifest).await?;
    Ok(Verification {
        is_ours: keyring.map(|keyring| checked.is_made_by(keyring)),
        manifest: checked.manifest,
    })
}

/// Reads every entry of a backup and compares the backup with its manifest. It does not check the database, and
/// writes nothing.
///
/// # Errors
/// [`BackupError::Damaged`].
pub async fn verify_entries(reader: Reader) -> Result<Manifest, BackupError> {
    let checked = reader
        .read_entries(async |entry| match classify_entry(entry.path) {
            Some(_) => entry.into_bytes().map(drop),
            None => Err(unexpected_entry(entry.path)),
        })
        .await?;
    Ok(checked.manifest)
}

/// Refuses a keyring of the same installation that could not open the restored data.
pub(crate) fn check_master_key(header: &Header, keyring: &Keyring) -> Result<(), BackupError> {
    let has_key = header
        .master_key
        .as_deref()
        .is_none_or(|id| keyring.has_master_key(id));
    match has_key || header.installation != keyring.installation_id() {
        true => Ok(()),
        false => Err(BackupError::OlderKey),
    }
}

/// Checks a copy of the database against the manifest.
pub(crate) async fn check_database(
    header: &Header,
    copy: &Path,
    manifest: &Manifest,
) -> Result<(), BackupError> {
    if !copy.exists() {
        return Err(BackupError::Damaged("it contains no database".into()));
    }
    match header.database {
        DatabaseKind::Postgres => postgres_tools::check(copy).await,
        DatabaseKind::Sqlite => {
            let tables = store::snapshots::check_sqlite_file(copy).await?;
            check_counts(&tables, manifest)
        }
    }
}

/// Compares the numbers of rows with the manifest's.
pub(crate) fn check_counts(
    tables: &store::snapshots::TableCounts,
    manifest: &Manifest,
) -> Result<(), BackupError> {
    let differing = manifest
        .tables
        .iter()
        .find(|(name, rows)| tables.get(*name) != Some(rows));
    match differing {
        None => Ok(()),
        Some((name, rows)) => Err(BackupError::Damaged(format!(
            "the table {name} has {} rows, and the manifest says {rows}",
            tables.get(name).copied().unwrap_or_default()
        ))),
    }
}

/// The header decided what happened, so it must be the one that the manifest contains.
pub(crate) fn check_header(header: &Header, manifest: &Manifest) -> Result<(), BackupError> {
    if *header == manifest.header {
        return Ok(());
    }
    Err(BackupError::Damaged(
        "its header differs from the header in its manifest".into(),
    ))
}

/// The kind of an entry, by its path.
pub(crate) enum EntryKind<'a> {
    Database,
    /// An object, with its path in the object store.
    Object(&'a str),
    ObjectList,
    /// A file of the folder of lists or labels.
    Folder,
    /// An entry of the erasure journal, with its name.
    Erasure(&'a str),
}

pub(crate) fn classify_entry(path: &str) -> Option<EntryKind<'_>> {
    match path {
        DATABASE => Some(EntryKind::Database),
        OBJECT_LIST => Some(EntryKind::ObjectList),
        _ => match path.split_once('/')? {
            ("objects", object) => Some(EntryKind::Object(object)),
            ("erasures", name) => Some(EntryKind::Erasure(name)),
            _ => folders::target(Path::new(""), path).map(|_| EntryKind::Folder),
        },
    }
}

pub(crate) fn unexpected_entry(path: &str) -> BackupError {
    BackupError::Damaged(format!("it contains an unexpected entry, {path:?}"))
}
