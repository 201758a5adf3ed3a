//! Makes a backup while servers use the installation.
//!
//! **Order.** The database is copied first, at one moment, then the objects, then the erasure journal. A row
//! is written after its objects and deleted before them, and a journal entry is written before both. So the
//! copied objects contain everything that the copied rows refer to, except what was deleted meanwhile; the
//! copied journal lists the keys of the deleted objects.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use age::x25519::Recipient;
use futures_util::{StreamExt as _, TryStreamExt as _};
use jiff::Timestamp;
use serde_json::json;
use service::config::DataConfig;
use store::{Db, Keyring, Objects};

use crate::archive::{DATABASE, OBJECT_LIST, Writer};
use crate::error::BackupError;
use crate::folders;
use crate::manifest::{DatabaseKind, FORMAT, Header, Manifest, ObjectMode};
use crate::postgres_tools;
use crate::work::WorkFolder;

/// Objects that are read at once.
const CONCURRENT_READS: usize = 8;
/// The folder for the copy of the database. It is in the data folder, because the copy is not encrypted to the
/// public key.
const WORK: &str = "backup-work";
/// The size in bytes from which another list of objects is begun.
const LIST_BYTES: usize = 16 << 20;

/// What a backup contains, and who can open it.
pub struct Contents<'a> {
    /// Whether the objects are copied.
    pub objects: ObjectMode,
    /// Whether the folders of sanctions lists and labels are copied.
    pub folders: bool,
    /// The public keys.
    pub recipients: &'a [Recipient],
}

/// A backup that was made.
pub struct CreatedBackup {
    /// The file.
    pub path: PathBuf,
    /// Its size in bytes.
    pub bytes: u64,
    /// What it contains.
    pub manifest: Manifest,
}

/// Refuses a missing folder before anything is read. A name without an extension is a folder's, because the backup
/// would otherwise become a file where the next one expects the folder.
fn check_destination(to: &Path) -> Result<(), BackupError> {
    let folder = match to.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    if to.is_dir() || (folder.is_dir() && to.extension().is_some()) {
        return Ok(());
    }
    Err(BackupError::NoFolder(match to.extension() {
        Some(_) => folder.to_owned(),
        None => to.to_owned(),
    }))
}

/// Makes a backup: the file `to`, or a file named by the time in the folder `to`.
///
/// # Errors
/// [`BackupError`]; then there is no file.
pub async fn create(
    config: &DataConfig,
    db: &Db,
    objects: &Objects,
    keyring: &Keyring,
    to: &Path,
    contents: &Contents<'_>,
) -> Result<CreatedBackup, BackupError> {
    check_destination(to)?;
    objects.begin_journal(&keyring.installation_id()).await?;
    let work = WorkFolder::create(&config.data, WORK)?;
    let copy = work.path.join("database");
    let (kind, at, tables) = copy_database(config, db, &copy).await?;
    let header = Header {
        format: FORMAT,
        program: env!("CARGO_PKG_VERSION").to_owned(),
        snapshot_at: format_time(at),
        database: kind,
        objects: contents.objects,
        installation: keyring.installation_id(),
        master_key: store::installation::master_key_in_use(&mut db.read().await?).await?,
    };
    let to = if to.is_dir() {
        to.join(format!("bonafide-{}.age", header.snapshot_at.replace(':', "-")))
    } else {
        to.to_owned()
    };
    let mut writer = Writer::create(&to, contents.recipients, &header)?;
    writer.add_file(DATABASE, &copy)?;
    drop(work);
    match contents.objects {
        ObjectMode::Copied => copy_objects(&mut writer, objects).await?,
        ObjectMode::Listed => list_objects(&mut writer, objects).await?,
    }
    if contents.folders {
        for name in folders::FOLDERS {
            folders::add(&mut writer, name, &config.data.join(name))?;
        }
    }
    for (name, text) in objects.erasure_journal().await?.entries {
        writer.add_bytes(&format!("erasures/{name}"), &text)?;
    }
    let (manifest, bytes) = writer.finish(header, tables, |text| keyring.backup_mac(text))?;
    Ok(CreatedBackup {
        path: to,
        bytes,
        manifest,
    })
}

async fn copy_database(
    config: &DataConfig,
    db: &Db,
    copy: &Path,
) -> Result<(DatabaseKind, i64, BTreeMap<String, i64>), BackupError> {
    if db.is_postgres() {
        let snapshot = db.postgres_snapshot().await?;
        postgres_tools::dump(&config.database_url(), &snapshot, copy).await?;
        return Ok((DatabaseKind::Postgres, snapshot.at, snapshot.tables));
    }
    let at = db.copy_sqlite_file(copy).await?;
    let tables = store::snapshots::check_sqlite_file(copy).await?;
    Ok((DatabaseKind::Sqlite, at, tables))
}

async fn copy_objects(writer: &mut Writer, objects: &Objects) -> Result<(), BackupError> {
    let copies = objects.stored().map(async |object| {
        let path = object?.path;
        let sealed = objects.read_stored(&path).await?;
        Ok::<_, store::Error>((path, sealed))
    });
    let mut copies = std::pin::pin!(copies.buffer_unordered(CONCURRENT_READS));
    while let Some((path, sealed)) = copies.try_next().await? {
        // An object that was deleted in the meantime is not needed.
        if let Some(sealed) = sealed {
            writer.add_bytes(&format!("objects/{path}"), &sealed)?;
        }
    }
    Ok(())
}

async fn list_objects(writer: &mut Writer, objects: &Objects) -> Result<(), BackupError> {
    let mut list = String::new();
    let mut stored = std::pin::pin!(objects.stored());
    while let Some(object) = stored.try_next().await? {
        list.push_str(&json!({"path": object.path, "bytes": object.bytes}).to_string());
        list.push('\n');
        if list.len() > LIST_BYTES {
            writer.add_bytes(OBJECT_LIST, std::mem::take(&mut list).as_bytes())?;
        }
    }
    writer.add_bytes(OBJECT_LIST, list.as_bytes())
}

/// RFC 3339 with milliseconds. A time that no calendar has stays a number.
pub(crate) fn format_time(at: i64) -> String {
    Timestamp::from_millisecond(at).map_or_else(|_| at.to_string(), |time| format!("{time:.3}"))
}
