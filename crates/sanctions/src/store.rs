//! The folder of lists in use, with one file per list: a header line (format, version, checksum, time of
//! import), then one entity per line. A new file is written under another name and renamed, so readers see a
//! complete old or new list. A file with a wrong checksum is not used. They are read through an index, which is built from them. Without usable and fresh lists there
//! is no screener.
//!
//! The versions that were replaced last are kept beside the lists in use. Nothing else is deleted except by
//! [`ListStore::remove`].

mod indexes;
mod versions;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

pub use self::versions::{InstallError, RollbackError};
use crate::entity::Entity;
use crate::freshness::{Clock, ClockBehind, ListDates, MaxAge, Stale};
use crate::import::{self, Diff, Guards, ImportError, ImportRefusal, ImportReport, List, ListFormat, Source};
use crate::index::IndexDamaged;
use crate::kept::KeptVersions;
pub use crate::last_import::LastImport;

/// The version of the file format. A list in another format must be imported again.
const FORMAT: u32 = 1;
const EXTENSION: &str = "list.jsonl";
/// Extension of the report on the last import of a list.
const REPORT_EXTENSION: &str = "import.json";

/// The file with the latest time that this folder's clock has shown.
const LATEST_TIME: &str = "latest-time";

/// The first line of a list's file.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Header {
    format: u32,
    list: String,
    version: String,
    /// Milliseconds since 1970.
    imported_at: i64,
    entities: usize,
    /// SHA-256 of everything after this line, in hexadecimal.
    sha256: String,
}

/// One list in the store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ListStatus {
    /// The list's name.
    pub list: String,
    /// Its version.
    pub version: String,
    /// Number of entities in the list.
    pub entities: usize,
    /// Time of import, which importing the same version again renews.
    pub imported_at: String,
    /// The publisher's date, if it gives one.
    pub published_at: Option<String>,
    /// Seconds since the publisher's date, or since the import if it gives none.
    pub age_seconds: u64,
    /// Seconds since the import.
    pub import_age_seconds: u64,
    /// Whether screening uses the list: its format is current and it is not too old.
    pub active: bool,
    /// Why screening does not use the list.
    pub problem: Option<String>,
    /// How many times in a row an import found the version that was already active.
    pub unchanged_imports: u32,
    /// The time of the first of these imports.
    pub unchanged_since: Option<String>,
    /// SHA-256 of the entities in hexadecimal, the same wherever the same files were imported.
    pub digest: String,
}

/// Screening is not possible now. The caller must not report the subject as clear.
#[derive(Debug, thiserror::Error)]
pub enum ScreenError {
    /// There are no usable lists.
    #[error("sanctions screening is unavailable: {reason}")]
    Unavailable {
        /// What is missing, and how to fix it.
        reason: String,
    },
}

impl From<IndexDamaged> for ScreenError {
    fn from(damage: IndexDamaged) -> ScreenError {
        ScreenError::Unavailable {
            reason: damage.to_string(),
        }
    }
}

/// Why [`ListStore::load_exactly`] fails.
#[derive(Debug, thiserror::Error)]
pub enum LoadExactlyError {
    /// The folder has the list with another content, or not at all.
    #[error(
        "this node lacks the list {list} {version} that the installation uses (it has {found}). It gets it from the object store; if it does not, import the same file here with `bonafide lists import FILE`"
    )]
    Missing {
        /// The list.
        list: String,
        /// The required version.
        version: String,
        /// The version in the folder.
        found: String,
    },
    /// A list is damaged or too old.
    #[error(transparent)]
    Unusable(#[from] ScreenError),
}

/// The exact content of a list to load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListContent {
    /// The version, for messages only.
    pub version: String,
    /// SHA-256 of its entities, in hexadecimal.
    pub digest: String,
}

/// Why a list did not become active.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The files cannot be imported.
    #[error(transparent)]
    Import(#[from] ImportError),
    /// The list was read, but the guards refuse it.
    #[error("{list} {version} was not activated: {refusal}")]
    Refused {
        /// The list.
        list: String,
        /// The version that was read.
        version: String,
        /// The reason.
        refusal: ImportRefusal,
        /// The report of the import.
        report: Box<ImportReport>,
    },
    /// The machine's clock cannot be trusted, so no age is known.
    #[error(transparent)]
    Clock(#[from] ClockBehind),
    /// The folder cannot be read or written.
    #[error("the lists' folder: {0}")]
    Folder(#[from] std::io::Error),
}

/// The lists of a data folder.
#[derive(Clone, Debug)]
pub struct ListStore {
    folder: PathBuf,
    kept: KeptVersions,
    max_age: MaxAge,
    clock: Arc<Clock>,
}

/// A list's entities as its file contains them.
struct Content {
    /// One entity per line.
    lines: Vec<u8>,
    /// Their SHA-256 in hexadecimal.
    digest: String,
}

impl Content {
    fn of(list: &List) -> std::io::Result<Content> {
        let mut lines = Vec::new();
        for entity in &list.entities {
            serde_json::to_writer(&mut lines, entity)?;
            lines.push(b'\n');
        }
        let digest = hex::encode(Sha256::digest(&lines));
        Ok(Content { lines, digest })
    }
}

/// The state of the folder, to detect changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fingerprint(BTreeMap<String, (SystemTimeKey, u64)>);

type SystemTimeKey = Option<Duration>;

/// The lock on the folder; no other process changes its lists until this is dropped.
#[derive(Debug)]
pub struct FolderLock {
    _folder: File,
}

impl ListStore {
    /// Opens the folder of lists and creates it if it does not exist.
    pub fn open(folder: &Path, max_age: MaxAge) -> Result<ListStore, StoreError> {
        if !folder.exists() {
            fs::create_dir_all(folder)?;
            // The parent folder must be synced too. Otherwise a power failure could remove the new folder
            // with all its lists.
            File::open(folder.join(".."))?.sync_all()?;
        }
        Ok(ListStore {
            folder: folder.to_owned(),
            kept: KeptVersions::of(folder),
            max_age,
            clock: Arc::new(Clock::new(folder.join(LATEST_TIME))),
        })
    }

    /// The same folder with another clock, for tests.
    #[cfg(test)]
    fn with_clock(mut self, system: fn() -> i64) -> ListStore {
        self.clock = Arc::new(Clock::with(self.folder.join(LATEST_TIME), system));
        self
    }

    /// Imports one list from its files and makes it active, unless `guards` refuse it.
    pub fn import(
        &self,
        sources: Vec<Source>,
        format: Option<ListFormat>,
        guards: &Guards,
    ) -> Result<ImportReport, StoreError> {
        let in_use = |list: &str| self.read_list(&self.path(list)).ok().map(|(_, list)| list);
        let (list, mut report) = import::import_onto(sources, format, in_use)?;
        let refused = |list: List, refusal, report| StoreError::Refused {
            list: list.name,
            version: list.version,
            refusal,
            report: Box::new(report),
        };
        if let Some(expected) = guards.expected_list.clone().filter(|name| *name != list.name) {
            return Err(refused(list, ImportRefusal::OtherList { expected }, report));
        }
        let content = Content::of(&list)?;
        let before = self.read_list(&self.path(&list.name)).ok();
        report.diff = before.as_ref().map(|(_, before)| Diff::between(before, &list));
        // The installation's version counts, wherever it was imported; without one, the folder's.
        let installed = guards.installed.get(&list.name);
        let active = match installed {
            Some((version, entities)) => Some((version.as_str(), *entities)),
            None => before
                .as_ref()
                .map(|(header, before)| (header.version.as_str(), before.entities.len())),
        };
        let earlier = fs::read(self.report_path(&list.name))
            .ok()
            .and_then(|text| serde_json::from_slice::<LastImport>(&text).ok());
        let is_rolled_back = guards.rolled_back.get(&list.name) == Some(&content.digest);
        let checked = match is_rolled_back {
            true => Err(ImportRefusal::RolledBack),
            false => self.check_import(&report, active, guards)?,
        };
        if let Err(refusal) = checked {
            self.write_report(&LastImport::of(&report, Some(&refusal), false, earlier));
            return Err(refused(list, refusal, report));
        }
        self.activate_content(&list, &content)?;
        report.digest = content.digest;
        let same_version = before
            .is_some_and(|(header, _)| header.sha256 == report.digest && header.version == report.version);
        let import = LastImport::of(&report, None, same_version, earlier);
        report.unchanged = import.unchanged;
        self.write_report(&import);
        Ok(report)
    }

    /// Checks the guards, and that the list is not too old already. The outer error is the clock's.
    fn check_import(
        &self,
        report: &ImportReport,
        active: Option<(&str, usize)>,
        guards: &Guards,
    ) -> Result<Result<(), ImportRefusal>, StoreError> {
        let checked = import::check_guards(report, active, guards);
        if checked.is_err() || self.max_age.published.is_zero() {
            return Ok(checked);
        }
        let now = self.clock.now()?;
        let dates = ListDates::new(&report.list, &report.version, now);
        Ok(dates
            .check(now, self.max_age)
            .map_err(|stale| ImportRefusal::Stale(Box::new(stale))))
    }

    /// Writes the report of an import. Failure is ignored, because the list's activation does not depend on
    /// it.
    fn write_report(&self, import: &LastImport) {
        let path = self.report_path(&import.list);
        let beside = path.with_extension(format!("{}.new", std::process::id()));
        let text = serde_json::to_vec(import).unwrap_or_default();
        if fs::write(&beside, text)
            .and_then(|()| fs::rename(&beside, &path))
            .is_err()
        {
            let _ = fs::remove_file(&beside);
        }
    }

    /// The report of each list's last import, sorted by list. It includes lists whose first import was
    /// refused.
    pub fn last_imports(&self) -> Result<Vec<LastImport>, StoreError> {
        let mut all = Vec::new();
        for path in self.files_with(REPORT_EXTENSION)? {
            let text = fs::read(&path)?;
            all.extend(serde_json::from_slice::<LastImport>(&text).ok());
        }
        Ok(all)
    }

    /// Waits until no other process changes the folder's lists, and locks them until the lock is dropped.
    pub fn lock(&self) -> Result<FolderLock, StoreError> {
        let folder = File::open(&self.folder)?;
        folder.lock()?;
        Ok(FolderLock { _folder: folder })
    }

    /// Activates a list without checking the guards, for example the sandbox's demo list. Returns the list's
    /// digest.
    pub fn activate(&self, list: &List) -> Result<String, StoreError> {
        let content = Content::of(list)?;
        self.activate_content(list, &content)?;
        Ok(content.digest)
    }

    fn activate_content(&self, list: &List, content: &Content) -> Result<(), StoreError> {
        let path = self.path(&list.name);
        let Content { lines, digest } = content;
        let header = Header {
            format: FORMAT,
            list: list.name.clone(),
            version: list.version.clone(),
            imported_at: self.now(),
            entities: list.entities.len(),
            sha256: digest.clone(),
        };
        // Each writer has its own file name, so that two simultaneous imports cannot mix.
        let unique = format!("{}-{}", std::process::id(), Timestamp::now().as_nanosecond());
        let beside = path.with_extension(format!("{unique}.new"));
        let written = (|| {
            let mut file = BufWriter::new(File::create(&beside)?);
            serde_json::to_writer(&mut file, &header)?;
            file.write_all(b"\n")?;
            file.write_all(lines)?;
            file.into_inner()
                .map_err(std::io::IntoInnerError::into_error)?
                .sync_all()?;
            self.replace(&path, &beside, &safe_name(&list.name), digest)
        })();
        if written.is_err() {
            let _ = fs::remove_file(&beside);
        }
        Ok(written?)
    }

    /// Renames a written file to a list's path. A replaced file with another content is kept.
    fn replace(&self, path: &Path, beside: &Path, list: &str, digest: &str) -> std::io::Result<()> {
        if let Ok((replaced, _)) = read_header(path)
            && replaced.sha256 != digest
        {
            // Without it a comparison searches the whole list. That is no reason to refuse a newer version.
            let _ = self.kept.keep(path, list, &replaced.sha256);
        }
        fs::rename(beside, path)?;
        // The rename itself must survive a crash.
        File::open(&self.folder)?.sync_all()
    }

    /// Removes a list, its earlier versions and its report permanently. Returns whether the list or the report existed.
    pub fn remove(&self, list: &str) -> Result<bool, StoreError> {
        // A list whose first import was refused has only a report.
        let had_report = fs::remove_file(self.report_path(list)).is_ok();
        let _ = fs::remove_file(self.confirmation_path(list));
        self.kept.remove(&safe_name(list))?;
        match fs::remove_file(self.path(list)) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(had_report),
            Err(error) => Err(error.into()),
        }
    }

    /// The status of each list in the folder, sorted by list.
    pub fn status(&self) -> Result<Vec<ListStatus>, StoreError> {
        let mut out = Vec::new();
        let now = self.now();
        let imports = self.last_imports()?;
        let show = |ms: i64| Timestamp::from_millisecond(ms).ok().map(|t| format!("{t:.3}"));
        for path in self.files()? {
            let Ok((header, _)) = read_header(&path) else {
                continue;
            };
            let dates = self.dates_of(&header);
            let problem = match header.format {
                FORMAT => self.check(&dates).err().map(|stale| stale.to_string()),
                _ => Some(other_version(&header.list)),
            };
            let last = imports.iter().find(|import| import.list == header.list);
            let seconds = |ms: i64| u64::try_from(ms / 1_000).unwrap_or(0);
            out.push(ListStatus {
                list: header.list,
                version: header.version,
                entities: header.entities,
                imported_at: show(dates.imported_at).unwrap_or_default(),
                published_at: dates.published_at.and_then(show),
                age_seconds: seconds(dates.age(now)),
                import_age_seconds: seconds(now.saturating_sub(dates.imported_at)),
                active: problem.is_none(),
                problem,
                unchanged_imports: last.map_or(0, |import| import.unchanged),
                unchanged_since: last.and_then(|import| import.unchanged_since).and_then(show),
                digest: header.sha256,
            });
        }
        Ok(out)
    }

    /// The dates of each list in the folder.
    pub fn dates(&self) -> Result<Vec<ListDates>, StoreError> {
        let files = self.files()?.into_iter();
        Ok(files
            .filter_map(|path| Some(self.dates_of(&read_header(&path).ok()?.0)))
            .collect())
    }

    /// The state of the folder. If it differs from an earlier one, call [`ListStore::load`] again.
    pub fn fingerprint(&self) -> Result<Fingerprint, StoreError> {
        let mut states = BTreeMap::new();
        for path in self.files()? {
            let Ok(data) = fs::metadata(&path) else { continue };
            let modified = data
                .modified()
                .ok()
                .and_then(|t| t.duration_since(SystemTime::UNIX_EPOCH).ok());
            states.insert(path.display().to_string(), (modified, data.len()));
        }
        Ok(Fingerprint(states))
    }

    /// Checks that a list may be used now.
    ///
    /// # Errors
    /// When it is too old, or the clock went back so far that no age is known.
    pub fn check(&self, dates: &ListDates) -> Result<(), Stale> {
        if self.max_age.published.is_zero() {
            return Ok(());
        }
        dates.check(self.clock.now()?, self.max_age)
    }

    /// The time for ages that are shown and recorded. While the clock cannot be trusted it is the clock's,
    /// and [`ListStore::check`] refuses every list.
    fn now(&self) -> i64 {
        let system = |_| Timestamp::now().as_millisecond();
        self.clock.now().unwrap_or_else(system)
    }

    fn path(&self, list: &str) -> PathBuf {
        self.path_with(list, EXTENSION)
    }

    fn report_path(&self, list: &str) -> PathBuf {
        self.path_with(list, REPORT_EXTENSION)
    }

    fn path_with(&self, list: &str, extension: &str) -> PathBuf {
        self.folder.join(format!("{}.{extension}", safe_name(list)))
    }

    fn files(&self) -> Result<Vec<PathBuf>, StoreError> {
        self.files_with(EXTENSION)
    }

    fn files_with(&self, extension: &str) -> Result<Vec<PathBuf>, StoreError> {
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let path = entry?.path();
            if path.to_string_lossy().ends_with(&format!(".{extension}")) {
                files.push(path);
            }
        }
        files.sort();
        Ok(files)
    }

    fn read_list(&self, path: &Path) -> Result<(Header, List), String> {
        let mut entities: Vec<Entity> = Vec::new();
        let header = self.read_entities(path, |entity| {
            entities.push(entity);
            true
        })?;
        let list = List {
            name: header.list.clone(),
            version: header.version.clone(),
            entities,
        };
        Ok((header, list))
    }

    /// Reads a list's file entity by entity, until `add` is false. What was read counts only if this succeeds.
    fn read_entities(&self, path: &Path, mut add: impl FnMut(Entity) -> bool) -> Result<Header, String> {
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let unreadable = |error: std::io::Error| format!("{name} cannot be read: {error}");
        let (header, mut reader) = read_header(path).map_err(unreadable)?;
        if header.format != FORMAT {
            return Err(other_version(&name));
        }
        let mut hash = Sha256::new();
        let mut line = Vec::new();
        while import::read_line(&mut reader, &mut line).map_err(unreadable)? {
            hash.update(&line);
            let entity = serde_json::from_slice(&line).map_err(|_| damaged(&name))?;
            if !add(entity) {
                break;
            }
        }
        if hex::encode(hash.finalize()) != header.sha256 {
            return Err(damaged(&name));
        }
        Ok(header)
    }
}

/// A list's name as a part of a path. Names come from file contents and file names, so only these characters are safe.
fn safe_name(list: &str) -> String {
    let safe = |c: char| match c.is_ascii_alphanumeric() || c == '_' || c == '-' {
        true => c,
        false => '_',
    };
    list.chars().map(safe).take(80).collect()
}

fn read_header(path: &Path) -> std::io::Result<(Header, BufReader<File>)> {
    let mut reader = BufReader::with_capacity(1 << 16, File::open(path)?);
    let mut line = Vec::new();
    import::read_line(&mut reader, &mut line)?;
    let header = serde_json::from_slice(&line)?;
    Ok((header, reader))
}

/// The file differs from what an import wrote.
fn damaged(name: &str) -> String {
    format!("{name} is damaged; import the list again with `bonafide lists import FILE`")
}

fn other_version(name: &str) -> String {
    format!("{name} was written by another version of this program; import it again")
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;
