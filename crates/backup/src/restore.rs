//! Restores a backup into a new data folder and an empty database.
//!
//! **Order.** The master key, the target and the erasure journal are checked before anything is written. Then
//! the backup is unpacked and compared with its manifest, the database is copied, and the erasures of the
//! journal are repeated. Only then can a server use the database: a SQLite file gets its name last, and a mark
//! in PostgreSQL is removed last. An interrupted restore is repeated from its beginning. A backup that fails
//! the comparison can leave objects in the object store, but no usable database.
//!
//! Objects and journal entries that already exist are not changed.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use futures_util::TryStreamExt as _;
use serde::Deserialize;
use service::backups;
use service::config::DataConfig;
use store::erasure_journal::Journal;
use store::snapshots::{RESTORE_FOLDER, sqlite_path};
use store::{Db, Keyring, Objects, Options, Scope, attempts, files, installation};
use uuid::Uuid;

use crate::archive::{Identities, Reader};
use crate::create::format_time;
use crate::erasures::{RepeatedErasures, repeat_erasures};
use crate::error::BackupError;
use crate::folders::{self, FOLDERS};
use crate::manifest::{DatabaseKind, Header, Manifest};
use crate::postgres_tools;
use crate::verify::{
    EntryKind, check_counts, check_database, check_header, check_master_key, classify_entry, unexpected_entry,
};
use crate::work::{self, WorkFolder};

/// The folder for lists and labels of a restore in progress, in the data folder. The SQLite file has another
/// one beside its final place, because a renaming does not leave a file system.
const WORK: &str = "restore-work";
/// The name of the copy of the database.
const DATABASE: &str = "bonafide.db";

/// Where the erasures come from.
pub enum JournalSource {
    /// The object store of the target: it still is the one of the installation.
    ObjectStore,
    /// A copy of the journal in another object store.
    Copy(Objects),
    /// Nowhere, except from the backup: erasures after the backup are lost.
    BackupOnly,
}

/// Where a backup is restored to.
pub struct Target<'a> {
    /// The data folder, the database and the object store.
    pub config: &'a DataConfig,
    /// The installation's keys.
    pub keyring: Arc<Keyring>,
    /// The object store.
    pub objects: &'a Objects,
    /// Where the erasures come from.
    pub journal: JournalSource,
}

/// What was restored.
pub struct RestoreReport {
    /// What the backup contains.
    pub manifest: Manifest,
    /// The time of the newest entry of the erasure journal; `None` if it is empty.
    pub latest_erasure: Option<String>,
    /// People who were erased again.
    pub people_erased: u64,
    /// Attempts that were erased again, besides those of these people.
    pub attempts_erased: u64,
    /// Objects that were written.
    pub objects_written: u64,
    /// Objects that were there already.
    pub objects_present: u64,
    /// Objects that attempts need and that neither the backup nor the object store has.
    pub objects_missing: u64,
    /// Folders that were there already and stayed as they were.
    pub folders_present: Vec<&'static str>,
}

/// Restores a backup.
///
/// # Errors
/// [`BackupError`]. The database can then not be served, and the restore can be repeated.
pub async fn restore(
    path: &Path,
    identities: &Identities,
    target: &Target<'_>,
) -> Result<RestoreReport, BackupError> {
    let header = Reader::header(path, identities)?;
    if header.installation != target.keyring.installation_id() {
        return Err(BackupError::ForeignKey);
    }
    check_master_key(&header, &target.keyring)?;
    check_kind(&header, target)?;
    let journal = load_journal(&header, target).await?;
    let data = &target.config.data;
    let work = WorkFolder::create(data, WORK)?;
    // From here on, no server starts on the target.
    let database_work = lock_target(&header, target).await?;
    let copy = database_work.path.join(DATABASE);
    let read = async {
        let manifest = check_origin(path, identities, target).await?;
        check_header(&header, &manifest)?;
        let unpacked = unpack(path, identities, target, &work, &copy).await?;
        if unpacked.manifest != manifest {
            return Err(BackupError::Damaged("it changed while it was read".into()));
        }
        check_journal(target, &journal, &unpacked.erasures)?;
        check_database(&header, &copy, &unpacked.manifest).await?;
        Ok(unpacked)
    };
    let unpacked = match read.await {
        Ok(unpacked) => unpacked,
        Err(error) => {
            release_target(&header, target).await?;
            return Err(error);
        }
    };

    let db = open_copy(&header, target, &copy, &unpacked.manifest).await?;
    let journal = restore_journal(target, journal, unpacked.erasures).await?;
    let RepeatedErasures { people, attempts } = repeat_erasures(&db, target.objects, &journal.keys).await?;
    let objects_missing = count_missing(&db, target.objects, &unpacked.listed).await?;
    backups::record_restore(&db, &header.snapshot_at).await?;
    for name in FOLDERS {
        let from = work.path.join(name);
        if from.exists() {
            let to = data.join(name);
            std::fs::rename(from, &to).map_err(BackupError::file(&to))?;
            files::sync_entry(&to).map_err(BackupError::file(&to))?;
        }
    }
    publish(target, db, &copy).await?;
    Ok(RestoreReport {
        manifest: unpacked.manifest,
        latest_erasure: journal.latest.map(format_time),
        people_erased: people,
        attempts_erased: attempts,
        objects_written: unpacked.objects_written,
        objects_present: unpacked.objects_present,
        objects_missing,
        folders_present: unpacked.folders_present,
    })
}

/// Refuses another kind of database than the backup contains.
fn check_kind(header: &Header, target: &Target<'_>) -> Result<(), BackupError> {
    let url = target.config.database_url();
    let kind = if url.starts_with("sqlite:") {
        DatabaseKind::Sqlite
    } else {
        DatabaseKind::Postgres
    };
    if kind != header.database {
        let (inside, named) = match kind {
            DatabaseKind::Sqlite => ("PostgreSQL", "SQLite"),
            DatabaseKind::Postgres => ("SQLite", "PostgreSQL"),
        };
        return Err(BackupError::Argument(format!(
            "the backup contains a {inside} database, and --database names a {named} database. Nothing was restored"
        )));
    }
    Ok(())
}

/// Makes sure that the target is empty and stays so: no server starts on it until the restore has finished.
/// Returns the folder for the copy of the database.
async fn lock_target(header: &Header, target: &Target<'_>) -> Result<WorkFolder, BackupError> {
    const USE_ANOTHER: &str = "Use --data and --database to specify a new data folder and an empty database. Keep the \
         installation's own object store if it survived";
    let url = target.config.database_url();
    if header.database == DatabaseKind::Sqlite {
        let file = sqlite_path(&url)?;
        let parent = file.parent().unwrap_or(Path::new(""));
        let work = WorkFolder::create(parent, RESTORE_FOLDER)?;
        // SQLite would apply an old write-ahead log to the new file.
        return match files::of_database(&file).into_iter().find(|file| file.exists()) {
            Some(used) => Err(BackupError::NotEmpty(
                format!("{} exists", used.display()),
                USE_ANOTHER,
            )),
            None => Ok(work),
        };
    }
    let work = WorkFolder::create(&target.config.data, RESTORE_FOLDER)?;
    let db = Db::connect(&url, target.keyring.clone(), &options()).await?;
    postgres_tools::check_version(db.postgres_version().await?).await?;
    if db.is_being_restored().await? {
        db.clear_restore().await?;
    } else {
        db.begin_restore().await?;
        if db.has_tables().await? {
            db.finish_restore().await?;
            let what = "the PostgreSQL database has tables".to_owned();
            return Err(BackupError::NotEmpty(what, USE_ANOTHER));
        }
    }
    db.close().await;
    Ok(work)
}

/// Makes an empty target usable again after a backup was refused.
async fn release_target(header: &Header, target: &Target<'_>) -> Result<(), BackupError> {
    if header.database == DatabaseKind::Postgres {
        let url = target.config.database_url();
        let db = Db::connect(&url, target.keyring.clone(), &options()).await?;
        if !db.has_tables().await? {
            db.finish_restore().await?;
        }
        db.close().await;
    }
    Ok(())
}

/// Loads the journal that contains the erasures after the backup.
async fn load_journal(header: &Header, target: &Target<'_>) -> Result<Journal, BackupError> {
    let of_target = target.objects.journal_installation().await?;
    if of_target.is_some_and(|owner| owner != header.installation) {
        return Err(BackupError::WrongJournal);
    }
    let source = match &target.journal {
        JournalSource::ObjectStore => target.objects,
        JournalSource::Copy(objects) => objects,
        JournalSource::BackupOnly => return Ok(Journal::default()),
    };
    match source.journal_installation().await? {
        None => Err(BackupError::NoJournal(header.snapshot_at.clone())),
        Some(other) if other != header.installation => Err(BackupError::WrongJournal),
        Some(_) => Ok(source.erasure_journal().await?),
    }
}

/// Reads the whole backup once without using it, because anyone with the public key can make one.
async fn check_origin(
    path: &Path,
    identities: &Identities,
    target: &Target<'_>,
) -> Result<Manifest, BackupError> {
    let checked = Reader::open(path, identities)?
        .read_entries(async |entry| {
            classify_entry(entry.path).ok_or_else(|| unexpected_entry(entry.path))?;
            Ok(())
        })
        .await?;
    if checked.is_made_by(&target.keyring) {
        return Ok(checked.manifest);
    }
    Err(BackupError::Damaged(
        "its authentication code does not match this master key, so another party made it. Use a backup that \
         this installation made"
            .into(),
    ))
}

/// Refuses a journal that lacks an entry of the backup: it was copied before the backup was made.
fn check_journal(
    target: &Target<'_>,
    journal: &Journal,
    erasures: &[(String, Vec<u8>)],
) -> Result<(), BackupError> {
    if matches!(target.journal, JournalSource::BackupOnly) {
        return Ok(());
    }
    let missing = erasures
        .iter()
        .find(|(name, _)| !journal.entries.contains_key(name));
    missing.map_or(Ok(()), |(name, _)| Err(BackupError::OlderJournal(name.clone())))
}

/// Whether a folder exists and contains something.
fn is_used(folder: &Path) -> bool {
    std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some())
}

/// What was unpacked from a backup that is what its manifest says.
struct Unpacked {
    manifest: Manifest,
    /// The entries of the erasure journal: name and content.
    erasures: Vec<(String, Vec<u8>)>,
    /// The paths of the objects that the backup only lists, or contains.
    listed: Vec<String>,
    objects_written: u64,
    objects_present: u64,
    folders_present: Vec<&'static str>,
}

/// A line of the list of objects.
#[derive(Deserialize)]
struct ListedObject {
    path: String,
}

async fn unpack(
    path: &Path,
    identities: &Identities,
    target: &Target<'_>,
    work: &WorkFolder,
    copy: &Path,
) -> Result<Unpacked, BackupError> {
    let data = &target.config.data;
    let folders_present: Vec<&str> = FOLDERS
        .into_iter()
        .filter(|name| is_used(&data.join(name)))
        .collect();
    let (mut erasures, mut listed) = (Vec::new(), Vec::new());
    let (mut objects_written, mut objects_present) = (0, 0);
    let checked = Reader::open(path, identities)?
        .read_entries(async |entry| {
            let path = entry.path;
            match classify_entry(path).ok_or_else(|| unexpected_entry(path))? {
                EntryKind::Database => entry.into_file(copy)?,
                EntryKind::Object(object) => {
                    listed.push(object.to_owned());
                    if target.objects.stored_size(object).await?.is_some() {
                        objects_present += 1;
                    } else {
                        let sealed = entry.into_bytes()?;
                        target.objects.write_stored(object, sealed).await?;
                        objects_written += 1;
                    }
                }
                EntryKind::ObjectList => {
                    for line in entry.into_bytes()?.split(|byte| *byte == b'\n') {
                        if !line.is_empty() {
                            let object: ListedObject = serde_json::from_slice(line)
                                .map_err(|error| BackupError::Damaged(error.to_string()))?;
                            listed.push(object.path);
                        }
                    }
                }
                EntryKind::Erasure(name) => {
                    let name = name.to_owned();
                    erasures.push((name, entry.into_bytes()?));
                }
                EntryKind::Folder
                    if folders_present
                        .iter()
                        .any(|kept| path.starts_with(&format!("{kept}/"))) => {}
                EntryKind::Folder => {
                    let to = folders::target(&work.path, path).ok_or_else(|| unexpected_entry(path))?;
                    if let Some(folder) = to.parent() {
                        files::create_folder(folder).map_err(BackupError::file(folder))?;
                    }
                    entry.into_file(&to)?;
                }
            }
            Ok(())
        })
        .await?;
    Ok(Unpacked {
        manifest: checked.manifest,
        erasures,
        listed,
        objects_written,
        objects_present,
        folders_present,
    })
}

/// Opens the restored database with this version's schema. PostgreSQL is marked as being restored.
async fn open_copy(
    header: &Header,
    target: &Target<'_>,
    copy: &Path,
    manifest: &Manifest,
) -> Result<Db, BackupError> {
    let url = match header.database {
        DatabaseKind::Sqlite => format!("sqlite:{}", copy.display()),
        DatabaseKind::Postgres => target.config.database_url(),
    };
    let db = match header.database {
        DatabaseKind::Sqlite => Db::connect(&url, target.keyring.clone(), &options()).await?,
        DatabaseKind::Postgres => {
            let db = Db::connect(&url, target.keyring.clone(), &options()).await?;
            postgres_tools::restore(&url, copy).await?;
            check_counts(&db.table_counts().await?, manifest)?;
            db.migrate().await?;
            db
        }
    };
    installation::verify(&mut db.read().await?).await?;
    Ok(db)
}

/// Adds the entries of the backup and of a copy to the journal of the target.
async fn restore_journal(
    target: &Target<'_>,
    known: Journal,
    erasures: Vec<(String, Vec<u8>)>,
) -> Result<Journal, BackupError> {
    for (name, text) in known.entries.into_iter().chain(erasures) {
        target.objects.restore_to_journal(&name, text).await?;
    }
    // The header vouches for the entries, so it comes last, and only if they are complete.
    if !matches!(target.journal, JournalSource::BackupOnly) {
        let installation = target.keyring.installation_id();
        target.objects.begin_journal(&installation).await?;
    }
    Ok(target.objects.erasure_journal().await?)
}

/// The number of objects that are missing although their attempts exist.
async fn count_missing(db: &Db, objects: &Objects, listed: &[String]) -> Result<u64, BackupError> {
    let stored = objects.stored().map_ok(|object| object.path);
    let stored: HashSet<String> = stored.try_collect().await?;
    let mut missing = 0;
    for path in listed.iter().filter(|path| !stored.contains(*path)) {
        let Some((scope, attempt_id)) = attempt_of(path) else {
            continue;
        };
        let is_needed = attempts::exists(&mut db.read().await?, scope, attempt_id).await?;
        missing += u64::from(is_needed);
    }
    Ok(missing)
}

/// The attempt of an object's path.
fn attempt_of(path: &str) -> Option<(Scope, Uuid)> {
    let mut parts = path.split('/');
    let merchant_id = parts.next()?.parse().ok()?;
    let sandbox = parts.next()? == "sandbox";
    let attempt_id = parts.nth(1)?.parse().ok()?;
    Some((Scope { merchant_id, sandbox }, attempt_id))
}

/// Makes the restored database the installation's.
async fn publish(target: &Target<'_>, db: Db, copy: &Path) -> Result<(), BackupError> {
    if db.is_postgres() {
        db.finish_restore().await?;
        db.close().await;
        return Ok(());
    }
    db.truncate_wal().await?;
    db.close().await;
    work::publish(copy, &sqlite_path(&target.config.database_url())?)
}

fn options() -> Options {
    Options {
        max_connections: 2,
        ..Options::default()
    }
}
