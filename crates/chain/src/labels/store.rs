//! Imported label files, kept in a folder: one set a file, a header line and one label a line.
//!
//! A set that is imported again replaces what it said before without forgetting it: a label that is new holds from the
//! import on (unless the file says since when), one that is gone ends with it. Files are written beside and renamed, so a
//! reader sees the old set or the new one, whole.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, BufWriter, Read, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::import;
use super::rows::{ImportError, LabelRow, Reject};
use super::{Label, LabelIndex};
use crate::currency::Currency;

const FORMAT: u32 = 1;
const EXTENSION: &str = "labels.jsonl";

/// The label sets of a folder.
#[derive(Clone, Debug)]
pub struct LabelStore {
    folder: PathBuf,
}

/// Why a label set cannot be kept or read.
#[derive(Debug, thiserror::Error)]
pub enum LabelStoreError {
    /// The file holds no labels.
    #[error(transparent)]
    Import(#[from] ImportError),
    /// The folder cannot be read or written.
    #[error("the labels' folder: {0}")]
    Folder(#[from] std::io::Error),
    /// A file of the folder is broken.
    #[error("the label set {0} is damaged: import it anew")]
    Damaged(String),
}

/// What an import found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SetReport {
    /// The set's name.
    pub set: String,
    /// Labels that hold now.
    pub labels: usize,
    /// How many are new.
    pub added: usize,
    /// How many ended, being gone from the file.
    pub ended: usize,
    /// Rows that could not be read.
    pub rejected: usize,
    /// Some of them.
    pub rejects: Vec<Reject>,
    /// Words for categories that mean nothing here, and how many rows have each: read as `other`, unless another word of the
    /// row says more. The first hundred of them.
    pub unknown_categories: BTreeMap<String, usize>,
}

/// One set in the folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SetStatus {
    /// Its name.
    pub set: String,
    /// Labels, ended ones included.
    pub labels: usize,
    /// How many of them hold no longer.
    pub ended: usize,
    /// When it was imported.
    pub imported_at: String,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Header {
    format: u32,
    set: String,
    imported_at: i64,
    labels: usize,
    ended: usize,
}

/// A label on its line.
#[derive(Serialize, Deserialize)]
struct Line {
    chain: Currency,
    address: String,
    #[serde(flatten)]
    label: Label,
}

/// Tells one state of the folder from another.
pub type Fingerprint = BTreeMap<PathBuf, (Option<Duration>, u64)>;

/// What makes two labels the same in two versions of a set.
fn key(row: &LabelRow) -> (Currency, String, String, crate::category::Category, String, u8) {
    let label = &row.label;
    (
        row.currency,
        row.address.clone(),
        label.name.clone(),
        label.category,
        label.source.clone(),
        label.confidence,
    )
}

impl LabelStore {
    /// Opens the folder, and makes it if there is none.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn open(folder: &Path) -> Result<LabelStore, LabelStoreError> {
        if !folder.exists() {
            fs::create_dir_all(folder)?;
            // Without its entry a new folder is gone after a power cut, and with it every file in it.
            File::open(folder.join(".."))?.sync_all()?;
        }
        Ok(LabelStore {
            folder: folder.to_owned(),
        })
    }

    /// Imports a file as the set of that name, at a time (milliseconds since 1970).
    ///
    /// # Errors
    /// When the file holds no labels or the folder cannot be written; then the set stays as it was.
    pub fn import(&self, set: &str, input: impl Read, now: i64) -> Result<SetReport, LabelStoreError> {
        let imported = import::read(input)?;
        if imported.rows.is_empty() {
            return Err(ImportError::Form(match imported.rejects.first() {
                Some(reject) => format!("no row can be used; row {}: {}", reject.row, reject.reason),
                None => "it has no rows".into(),
            })
            .into());
        }
        let replaced = self.replace(set, imported.rows, now, Some(now))?;
        Ok(SetReport {
            rejected: imported.rejected,
            rejects: imported.rejects,
            unknown_categories: imported.unknown_categories,
            ..replaced
        })
    }

    /// Makes rows the set of that name: what is new holds from `now` on (in a set that is new itself, from `first` on),
    /// what is gone ends now.
    ///
    /// # Errors
    /// When the folder cannot be written; then the set stays as it was.
    pub fn replace(
        &self,
        set: &str,
        fresh: Vec<LabelRow>,
        now: i64,
        first: Option<i64>,
    ) -> Result<SetReport, LabelStoreError> {
        let path = self.path(set);
        let since = if path.exists() { Some(now) } else { first };
        let mut before: HashMap<_, LabelRow> = HashMap::new();
        let mut ended = Vec::new();
        if path.exists() {
            for row in self.rows(&path)?.1 {
                if row.label.valid_to.is_none_or(|to| to > now) {
                    before.insert(key(&row), row);
                } else {
                    ended.push(row);
                }
            }
        }
        let mut report = SetReport {
            set: set.to_owned(),
            ..SetReport::default()
        };
        let mut rows = Vec::with_capacity(fresh.len() + ended.len());
        for mut row in fresh {
            match before.remove(&key(&row)) {
                Some(old) => row.label.valid_from = row.label.valid_from.or(old.label.valid_from),
                None => {
                    row.label.valid_from = row.label.valid_from.or(since);
                    report.added += 1;
                }
            }
            rows.push(row);
        }
        report.labels = rows.len();
        for (_, mut gone) in before {
            gone.label.valid_to = Some(now);
            report.ended += 1;
            ended.push(gone);
        }
        let header = Header {
            format: FORMAT,
            set: set.to_owned(),
            imported_at: now,
            labels: rows.len() + ended.len(),
            ended: ended.len(),
        };
        rows.append(&mut ended);
        self.write(&path, &header, rows)?;
        Ok(report)
    }

    fn write(&self, path: &Path, header: &Header, rows: Vec<LabelRow>) -> Result<(), LabelStoreError> {
        let unique = format!("{}-{}", std::process::id(), Timestamp::now().as_nanosecond());
        let beside = path.with_extension(format!("{unique}.new"));
        let written = (|| {
            let mut file = BufWriter::new(File::create(&beside)?);
            serde_json::to_writer(&mut file, header)?;
            file.write_all(b"\n")?;
            for LabelRow {
                currency,
                address,
                label,
            } in rows
            {
                let line = Line {
                    chain: currency,
                    address,
                    label,
                };
                serde_json::to_writer(&mut file, &line)?;
                file.write_all(b"\n")?;
            }
            file.into_inner()
                .map_err(std::io::IntoInnerError::into_error)?
                .sync_all()?;
            fs::rename(&beside, path)?;
            File::open(&self.folder)?.sync_all()
        })();
        if written.is_err() {
            let _ = fs::remove_file(&beside);
        }
        Ok(written?)
    }

    /// Forgets a set, its history included; whether there was one of that name.
    ///
    /// # Errors
    /// When the folder cannot be written.
    pub fn remove(&self, set: &str) -> Result<bool, LabelStoreError> {
        match fs::remove_file(self.path(set)) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// The sets in the folder.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn status(&self) -> Result<Vec<SetStatus>, LabelStoreError> {
        self.files()?
            .iter()
            .map(|path| {
                let (header, _) = self.header(path)?;
                Ok(SetStatus {
                    set: header.set,
                    labels: header.labels,
                    ended: header.ended,
                    imported_at: Timestamp::from_millisecond(header.imported_at)
                        .map(|at| at.to_string())
                        .unwrap_or_default(),
                })
            })
            .collect()
    }

    /// Reads all sets into one index. What names no source is said by its set.
    ///
    /// # Errors
    /// When the folder cannot be read or a set is damaged.
    pub fn load(&self) -> Result<LabelIndex, LabelStoreError> {
        let mut rows = Vec::new();
        for path in self.files()? {
            let (header, read) = self.rows(&path)?;
            rows.extend(read.into_iter().map(|mut row| {
                if row.label.source.is_empty() {
                    row.label.source.clone_from(&header.set);
                }
                (row.currency, row.address, row.label)
            }));
        }
        Ok(LabelIndex::new(rows))
    }

    /// The folder's state, to see whether [`LabelStore::load`] would say something new.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn fingerprint(&self) -> Result<Fingerprint, LabelStoreError> {
        let mut state = Fingerprint::new();
        for path in self.files()? {
            let meta = fs::metadata(&path)?;
            let changed = meta.modified()?.duration_since(SystemTime::UNIX_EPOCH).ok();
            state.insert(path, (changed, meta.len()));
        }
        Ok(state)
    }

    fn path(&self, set: &str) -> PathBuf {
        let safe = |c: char| {
            if c.is_ascii_alphanumeric() || c == '_' || c == '-' {
                c
            } else {
                '_'
            }
        };
        let name: String = set.chars().map(safe).take(80).collect();
        self.folder.join(format!("{name}.{EXTENSION}"))
    }

    fn files(&self) -> Result<Vec<PathBuf>, LabelStoreError> {
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let path = entry?.path();
            if path.to_string_lossy().ends_with(&format!(".{EXTENSION}")) {
                files.push(path);
            }
        }
        files.sort();
        Ok(files)
    }

    fn header(&self, path: &Path) -> Result<(Header, BufReader<File>), LabelStoreError> {
        let mut reader = BufReader::with_capacity(1 << 16, File::open(path)?);
        let mut line = String::new();
        reader.read_line(&mut line)?;
        match serde_json::from_str::<Header>(&line) {
            Ok(header) if header.format == FORMAT => Ok((header, reader)),
            _ => Err(damaged(path)),
        }
    }

    fn rows(&self, path: &Path) -> Result<(Header, Vec<LabelRow>), LabelStoreError> {
        let (header, reader) = self.header(path)?;
        let mut rows = Vec::with_capacity(header.labels.min(1 << 24));
        for line in reader.lines() {
            let Line {
                chain,
                address,
                label,
            } = serde_json::from_str(&line?).map_err(|_| damaged(path))?;
            rows.push(LabelRow {
                currency: chain,
                address,
                label,
            });
        }
        if rows.len() != header.labels {
            return Err(damaged(path));
        }
        Ok((header, rows))
    }
}

fn damaged(path: &Path) -> LabelStoreError {
    LabelStoreError::Damaged(
        path.file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned(),
    )
}
