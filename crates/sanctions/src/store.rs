//! The folder of lists in use, with one file per list: a header line (format, version, checksum, time of
//! import), then one entity per line. A new file is written under another name and renamed, so readers see a
//! complete old or new list. A file with a wrong checksum is not used. Without usable and fresh lists there
//! is no screener.
//!
//! Nothing is deleted except by replacement with a newer version or by [`ListStore::remove`].

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::entity::Entity;
use crate::import::{
    self, Diff, Guards, ImportError, ImportRefusal, ImportReport, List, ListFormat, Reject, Source,
};
use crate::screener::Screener;

/// The version of the file format. A list in another format must be imported again.
const FORMAT: u32 = 1;
const EXTENSION: &str = "list.jsonl";
/// Extension of the report on the last import of a list.
const REPORT_EXTENSION: &str = "import.json";

/// Default time after its import for which a list is usable. OFAC publishes several times a week, so a month
/// without an import means that the lists are not maintained.
pub const DEFAULT_MAX_AGE: Duration = Duration::from_secs(30 * 24 * 3600);

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
    /// Seconds since the import.
    pub age_seconds: u64,
    /// Whether screening uses the list: its format is current and it is not too old.
    pub active: bool,
    /// SHA-256 of the entities in hexadecimal, the same wherever the same files were imported.
    pub digest: String,
}

/// The report of a list's last import, activated or refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LastImport {
    /// The list's name.
    pub list: String,
    /// The version that was read.
    pub version: String,
    /// Time of the import (ms since 1970).
    pub at: i64,
    /// Number of records of subjects in the files.
    pub rows: u64,
    /// Number of entities made from them.
    pub entities: usize,
    /// Number of rows that could not be used.
    pub rejected: u64,
    /// The first rejects, with line and reason.
    pub rejects: Vec<Reject>,
    /// Differences from the version that was active.
    pub diff: Option<Diff>,
    /// Why the list was not activated; `None` if it was.
    pub refused: Option<String>,
}

impl LastImport {
    fn of(report: &ImportReport, refusal: Option<&ImportRefusal>) -> LastImport {
        LastImport {
            list: report.list.clone(),
            version: report.version.clone(),
            at: Timestamp::now().as_millisecond(),
            rows: report.rows,
            entities: report.entities,
            rejected: report.rejected,
            rejects: report.rejects.clone(),
            diff: report.diff.clone(),
            refused: refusal.map(ImportRefusal::to_string),
        }
    }
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

/// Why [`ListStore::load_exactly`] fails.
#[derive(Debug, thiserror::Error)]
pub enum LoadExactlyError {
    /// The folder has the list with another content, or not at all.
    #[error(
        "this node lacks the list {list} {version} that the installation uses (it has {found}): import the same file here with `bonafide lists import FILE`"
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
    /// The folder cannot be read or written.
    #[error("the lists' folder: {0}")]
    Folder(#[from] std::io::Error),
}

/// The lists of a data folder.
#[derive(Clone, Debug)]
pub struct ListStore {
    folder: PathBuf,
    max_age: Duration,
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
    /// Opens the folder of lists and creates it if it does not exist. A `max_age` of zero disables the check
    /// of age.
    pub fn open(folder: &Path, max_age: Duration) -> Result<ListStore, StoreError> {
        if !folder.exists() {
            fs::create_dir_all(folder)?;
            // The parent folder must be synced too. Otherwise a power failure could remove the new folder
            // with all its lists.
            File::open(folder.join(".."))?.sync_all()?;
        }
        Ok(ListStore {
            folder: folder.to_owned(),
            max_age,
        })
    }

    /// Imports one list from its files and makes it active, unless `guards` refuse it.
    pub fn import(
        &self,
        sources: Vec<Source>,
        format: Option<ListFormat>,
        guards: &Guards,
    ) -> Result<ImportReport, StoreError> {
        let (list, mut report) = import::import(sources, format)?;
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
        if let Err(refusal) = import::check_guards(&report, active, guards) {
            self.write_report(&LastImport::of(&report, Some(&refusal)));
            let (list, version) = (list.name, list.version);
            return Err(StoreError::Refused {
                list,
                version,
                refusal,
                report: Box::new(report),
            });
        }
        report.digest = self.activate(&list)?;
        self.write_report(&LastImport::of(&report, None));
        Ok(report)
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
        let path = self.path(&list.name);
        let mut hash = Sha256::new();
        let mut lines = Vec::new();
        for entity in &list.entities {
            serde_json::to_writer(&mut lines, entity).map_err(std::io::Error::from)?;
            lines.push(b'\n');
        }
        hash.update(&lines);
        let header = Header {
            format: FORMAT,
            list: list.name.clone(),
            version: list.version.clone(),
            imported_at: Timestamp::now().as_millisecond(),
            entities: list.entities.len(),
            sha256: hex::encode(hash.finalize()),
        };
        let digest = header.sha256.clone();
        // Each writer has its own file name, so that two simultaneous imports cannot mix.
        let unique = format!("{}-{}", std::process::id(), Timestamp::now().as_nanosecond());
        let beside = path.with_extension(format!("{unique}.new"));
        let written = (|| {
            let mut file = BufWriter::new(File::create(&beside)?);
            serde_json::to_writer(&mut file, &header)?;
            file.write_all(b"\n")?;
            file.write_all(&lines)?;
            file.into_inner()
                .map_err(std::io::IntoInnerError::into_error)?
                .sync_all()?;
            fs::rename(&beside, &path)?;
            // The rename itself must survive a crash.
            File::open(&self.folder)?.sync_all()
        })();
        if written.is_err() {
            let _ = fs::remove_file(&beside);
        }
        written?;
        Ok(digest)
    }

    /// Removes a list and its report permanently. Returns whether either existed.
    pub fn remove(&self, list: &str) -> Result<bool, StoreError> {
        // A list whose first import was refused has only a report.
        let had_report = fs::remove_file(self.report_path(list)).is_ok();
        match fs::remove_file(self.path(list)) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(had_report),
            Err(error) => Err(error.into()),
        }
    }

    /// The status of each list in the folder, sorted by list.
    pub fn status(&self) -> Result<Vec<ListStatus>, StoreError> {
        let mut out = Vec::new();
        for path in self.files()? {
            let Ok((header, _)) = read_header(&path) else {
                continue;
            };
            let age = age_of(&header);
            out.push(ListStatus {
                list: header.list,
                version: header.version,
                entities: header.entities,
                imported_at: Timestamp::from_millisecond(header.imported_at)
                    .map(|t| format!("{t:.3}"))
                    .unwrap_or_default(),
                age_seconds: age.as_secs(),
                active: header.format == FORMAT && self.is_fresh(age),
                digest: header.sha256,
            });
        }
        Ok(out)
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

    /// Loads every list. It fails if there is none, or if any is damaged or too old, so screening never runs
    /// on part of them.
    pub fn load(&self) -> Result<Screener, ScreenError> {
        let unavailable = |reason: String| ScreenError::Unavailable { reason };
        let files = self.files().map_err(|e| unavailable(e.to_string()))?;
        if files.is_empty() {
            return Err(unavailable(
                "no list was imported yet; run `bonafide lists import FILE`".into(),
            ));
        }
        let mut lists = Vec::with_capacity(files.len());
        for path in files {
            let (header, list) = self.read_list(&path).map_err(&unavailable)?;
            if !self.is_fresh(age_of(&header)) {
                let days = age_of(&header).as_secs() / 86_400;
                return Err(unavailable(format!(
                    "list {} was imported {days} days ago; import it anew",
                    header.list
                )));
            }
            lists.push(list);
        }
        Ok(Screener::new(lists))
    }

    /// Loads these lists in exactly these contents and ignores others in the folder. It fails like
    /// [`ListStore::load`].
    pub fn load_exactly(&self, wanted: &BTreeMap<String, ListContent>) -> Result<Screener, LoadExactlyError> {
        let lacks = |list: &str, wanted: &ListContent, found: &str| LoadExactlyError::Missing {
            list: list.to_owned(),
            version: wanted.version.clone(),
            found: found.to_owned(),
        };
        let unusable = |reason: String| LoadExactlyError::Unusable(ScreenError::Unavailable { reason });
        let mut lists = Vec::with_capacity(wanted.len());
        for (name, wanted) in wanted {
            let path = self.path(name);
            if !path.exists() {
                return Err(lacks(name, wanted, "none of that name"));
            }
            // The header is checked first, so that a wrong list is not read in full.
            if let Ok((header, _)) = read_header(&path)
                && (header.sha256 != wanted.digest || header.list != *name)
            {
                return Err(lacks(name, wanted, &header.version));
            }
            let (header, list) = self.read_list(&path).map_err(unusable)?;
            if header.sha256 != wanted.digest {
                return Err(lacks(name, wanted, &header.version));
            }
            if !self.is_fresh(age_of(&header)) {
                let days = age_of(&header).as_secs() / 86_400;
                return Err(unusable(format!(
                    "list {name} was imported {days} days ago; import it anew"
                )));
            }
            lists.push(list);
        }
        Ok(Screener::new(lists))
    }

    /// Checks that every list is still fresh enough for an index that was loaded earlier.
    pub fn check_fresh(&self) -> Result<(), ScreenError> {
        let unavailable = |reason: String| ScreenError::Unavailable { reason };
        let lists = self.status().map_err(|e| unavailable(e.to_string()))?;
        if lists.is_empty() {
            return Err(unavailable(
                "no list was imported yet; run `bonafide lists import FILE`".into(),
            ));
        }
        match lists.iter().find(|l| !l.active) {
            Some(old) => Err(unavailable(format!(
                "list {} is too old; import it anew",
                old.list
            ))),
            None => Ok(()),
        }
    }

    /// Whether a list of this age is usable.
    pub fn is_fresh(&self, age: Duration) -> bool {
        self.max_age.is_zero() || age <= self.max_age
    }

    fn path(&self, list: &str) -> PathBuf {
        self.path_with(list, EXTENSION)
    }

    fn report_path(&self, list: &str) -> PathBuf {
        self.path_with(list, REPORT_EXTENSION)
    }

    fn path_with(&self, list: &str, extension: &str) -> PathBuf {
        // List names come from file contents and file names, so only these characters may become part of a
        // path.
        let safe = |c: char| {
            if c.is_ascii_alphanumeric() || c == '_' || c == '-' {
                c
            } else {
                '_'
            }
        };
        self.folder.join(format!(
            "{}.{extension}",
            list.chars().map(safe).take(80).collect::<String>()
        ))
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
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let (header, mut reader) = read_header(path).map_err(|e| format!("{name} cannot be read: {e}"))?;
        if header.format != FORMAT {
            return Err(format!(
                "{name} was written by another version of this program; import it anew"
            ));
        }
        let mut hash = Sha256::new();
        let mut entities: Vec<Entity> = Vec::new();
        let mut line = Vec::new();
        while import::read_line(&mut reader, &mut line).map_err(|e| format!("{name} cannot be read: {e}"))? {
            hash.update(&line);
            entities.push(serde_json::from_slice(&line).map_err(|_| format!("{name} is damaged"))?);
        }
        if hex::encode(hash.finalize()) != header.sha256 {
            return Err(format!("{name} is damaged: its checksum differs"));
        }
        let list = List {
            name: header.list.clone(),
            version: header.version.clone(),
            entities,
        };
        Ok((header, list))
    }
}

fn read_header(path: &Path) -> std::io::Result<(Header, BufReader<File>)> {
    let mut reader = BufReader::with_capacity(1 << 16, File::open(path)?);
    let mut line = Vec::new();
    import::read_line(&mut reader, &mut line)?;
    let header = serde_json::from_slice(&line)?;
    Ok((header, reader))
}

/// Time since the import; zero if the clock went backwards.
fn age_of(header: &Header) -> Duration {
    let age = Timestamp::now()
        .as_millisecond()
        .saturating_sub(header.imported_at);
    Duration::from_millis(u64::try_from(age).unwrap_or(0))
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;
