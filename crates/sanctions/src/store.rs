//! The lists in use, one file each in the data folder: a header line (format, version, checksum, time of import) and
//! one entity a line. Files are written beside and renamed, so that a reader sees the old list or the new one, whole;
//! a file that fails its checksum is not used, and without a usable and fresh list there is no screener.
//!
//! Nothing is ever deleted here but what a newer version replaces, or [`ListStore::remove`] is told to.

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
    self, Diff, Guards, ImportError, ImportReport, List, ListFormat, Refusal, Reject, Source,
};
use crate::screener::Screener;

/// The form of the files; a file of another form is imported anew.
const FORMAT: u32 = 1;
const EXTENSION: &str = "list.jsonl";
/// What came of the last import of a list lies beside it.
const REPORT: &str = "import.json";

/// How long after its import a list may be relied on, unless configured: OFAC publishes several times a week, and a
/// month without an import means that nobody looks after the lists.
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
    /// Of everything after this line.
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
    /// Entities in it.
    pub entities: usize,
    /// When it was imported, or last confirmed by importing the same version again.
    pub imported_at: String,
    /// Seconds since then.
    pub age_seconds: u64,
    /// Whether screening uses it: it is readable and not too old.
    pub active: bool,
    /// SHA-256 of its entities, in hexadecimal: the same wherever the same files were imported.
    pub digest: String,
}

/// What came of the last import of a list, activated or refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LastImport {
    /// The list's name.
    pub list: String,
    /// The version that was read.
    pub version: String,
    /// When (ms since 1970).
    pub at: i64,
    /// Records of subjects in the files.
    pub rows: u64,
    /// Entities that came of them.
    pub entities: usize,
    /// Rows that could not be used, all counted.
    pub rejected: u64,
    /// The first of them.
    pub rejects: Vec<Reject>,
    /// Against the version that was active.
    pub diff: Option<Diff>,
    /// Why it was not activated; `None`: it was.
    pub refused: Option<String>,
}

impl LastImport {
    fn of(report: &ImportReport, refusal: Option<&Refusal>) -> LastImport {
        LastImport {
            list: report.list.clone(),
            version: report.version.clone(),
            at: Timestamp::now().as_millisecond(),
            rows: report.rows,
            entities: report.entities,
            rejected: report.rejected,
            rejects: report.rejects.clone(),
            diff: report.diff.clone(),
            refused: refusal.map(Refusal::to_string),
        }
    }
}

/// Screening is not possible now; whoever asked must not be called clear.
#[derive(Debug, thiserror::Error)]
pub enum ScreenError {
    /// There is no list that may be relied on.
    #[error("sanctions screening is unavailable: {reason}")]
    Unavailable {
        /// What is missing, and what to do about it.
        reason: String,
    },
}

/// Why exactly these lists cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum SetError {
    /// The folder has another content of a list, or no such list.
    #[error(
        "this node lacks the list {list} {version} that the installation uses (it has {found}): import the same file here with `bonafide lists import FILE`"
    )]
    Lacks {
        /// The list.
        list: String,
        /// The version that is wanted.
        version: String,
        /// The version that is here.
        found: String,
    },
    /// A list is damaged or too old.
    #[error(transparent)]
    Unusable(#[from] ScreenError),
}

/// A list that must be loaded in exactly this content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// For people.
    pub version: String,
    /// SHA-256 of its entities, in hexadecimal.
    pub digest: String,
}

/// Why a list did not become active.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The files hold no list.
    #[error(transparent)]
    Import(#[from] ImportError),
    /// The list was read, and must not be used.
    #[error("{list} {version} was not activated: {refusal}")]
    Refused {
        /// The list.
        list: String,
        /// The version that was read.
        version: String,
        /// Why.
        refusal: Refusal,
        /// What the import found.
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

/// Tells one state of the folder from another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fingerprint(BTreeMap<String, (SystemTimeKey, u64)>);

type SystemTimeKey = Option<Duration>;

/// Nobody else changes the folder's lists until this is dropped.
#[derive(Debug)]
pub struct FolderLock {
    _folder: File,
}

impl ListStore {
    /// Opens the folder of lists, and makes it if there is none. `max_age` zero means that age does not matter.
    pub fn open(folder: &Path, max_age: Duration) -> Result<ListStore, StoreError> {
        if !folder.exists() {
            fs::create_dir_all(folder)?;
            // Without its entry a new folder is gone after a power cut, and with it every list in it.
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
        // What the installation uses counts, wherever it was imported; else what is here.
        let installed = guards.installed.get(&list.name);
        let active = match installed {
            Some((version, entities)) => Some((version.as_str(), *entities)),
            None => before
                .as_ref()
                .map(|(header, before)| (header.version.as_str(), before.entities.len())),
        };
        if let Err(refusal) = import::check(&report, active, guards) {
            self.remember(&LastImport::of(&report, Some(&refusal)));
            let (list, version) = (list.name, list.version);
            return Err(StoreError::Refused {
                list,
                version,
                refusal,
                report: Box::new(report),
            });
        }
        report.digest = self.put(&list)?;
        self.remember(&LastImport::of(&report, None));
        Ok(report)
    }

    /// Writes down what came of an import. Whether the list is active does not depend on it.
    fn remember(&self, import: &LastImport) {
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

    /// What came of each list's last import, by list. A list whose first import was refused is among them.
    pub fn imports(&self) -> Result<Vec<LastImport>, StoreError> {
        let mut all = Vec::new();
        for path in self.files_with(REPORT)? {
            let text = fs::read(&path)?;
            all.extend(serde_json::from_slice::<LastImport>(&text).ok());
        }
        Ok(all)
    }

    /// Waits until no other process changes the lists of the folder; until the lock is dropped, none does.
    pub fn lock(&self) -> Result<FolderLock, StoreError> {
        let folder = File::open(&self.folder)?;
        folder.lock()?;
        Ok(FolderLock { _folder: folder })
    }

    /// Makes a list active without asking the guards, as the sandbox does with its demo list. Answers its digest.
    pub fn put(&self, list: &List) -> Result<String, StoreError> {
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
        // A name of its own for each writer, so that two imports at once cannot mix.
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
            // The rename itself has to survive a crash.
            File::open(&self.folder)?.sync_all()
        })();
        if written.is_err() {
            let _ = fs::remove_file(&beside);
        }
        written?;
        Ok(digest)
    }

    /// Takes a list out of use for good; whether there was one of that name.
    pub fn remove(&self, list: &str) -> Result<bool, StoreError> {
        // Of a list whose first import was refused there is a report alone.
        let had_report = fs::remove_file(self.report_path(list)).is_ok();
        match fs::remove_file(self.path(list)) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(had_report),
            Err(error) => Err(error.into()),
        }
    }

    /// What is in the store, by list.
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
                active: header.format == FORMAT && self.fresh(age),
                digest: header.sha256,
            });
        }
        Ok(out)
    }

    /// The state of the folder; when it differs from the one before, [`ListStore::load`] again.
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

    /// Loads every list. Fails closed: when there is none, or one is damaged or too old, nothing can be screened.
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
            if !self.fresh(age_of(&header)) {
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

    /// Loads these lists in exactly these contents; others in the folder are left out. Fails closed, as [`ListStore::load`] does.
    pub fn load_exactly(&self, wanted: &BTreeMap<String, Wanted>) -> Result<Screener, SetError> {
        let lacks = |list: &str, wanted: &Wanted, found: &str| SetError::Lacks {
            list: list.to_owned(),
            version: wanted.version.clone(),
            found: found.to_owned(),
        };
        let unusable = |reason: String| SetError::Unusable(ScreenError::Unavailable { reason });
        let mut lists = Vec::with_capacity(wanted.len());
        for (name, wanted) in wanted {
            let path = self.path(name);
            if !path.exists() {
                return Err(lacks(name, wanted, "none of that name"));
            }
            // The header first: a list that will not do is not read.
            if let Ok((header, _)) = read_header(&path)
                && (header.sha256 != wanted.digest || header.list != *name)
            {
                return Err(lacks(name, wanted, &header.version));
            }
            let (header, list) = self.read_list(&path).map_err(unusable)?;
            if header.sha256 != wanted.digest {
                return Err(lacks(name, wanted, &header.version));
            }
            if !self.fresh(age_of(&header)) {
                let days = age_of(&header).as_secs() / 86_400;
                return Err(unusable(format!(
                    "list {name} was imported {days} days ago; import it anew"
                )));
            }
            lists.push(list);
        }
        Ok(Screener::new(lists))
    }

    /// Whether every list is still fresh enough to answer from an index loaded earlier.
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

    /// Whether a list of this age may be relied on.
    pub fn fresh(&self, age: Duration) -> bool {
        self.max_age.is_zero() || age <= self.max_age
    }

    fn path(&self, list: &str) -> PathBuf {
        self.path_with(list, EXTENSION)
    }

    fn report_path(&self, list: &str) -> PathBuf {
        self.path_with(list, REPORT)
    }

    fn path_with(&self, list: &str, extension: &str) -> PathBuf {
        // Names come from file contents and file names: nothing but these characters may reach the folder.
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

/// Time since the import; a clock that went backwards counts as no age.
fn age_of(header: &Header) -> Duration {
    let age = Timestamp::now()
        .as_millisecond()
        .saturating_sub(header.imported_at);
    Duration::from_millis(u64::try_from(age).unwrap_or(0))
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;
