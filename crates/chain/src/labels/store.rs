//! Stores imported label files in a folder: one file per set, with a header line and one label per line.
//!
//! Importing a set again replaces its labels and retains its history. A new label is valid from the import
//! on, unless the file states a start; a removed label ends with the import. Files are written under a
//! temporary name and renamed, so a reader sees either the old set or the new one.

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

/// Why a label set cannot be stored or read.
#[derive(Debug, thiserror::Error)]
pub enum LabelStoreError {
    /// The file cannot be imported.
    #[error(transparent)]
    Import(#[from] ImportError),
    /// The folder cannot be read or written.
    #[error("the labels' folder: {0}")]
    Folder(#[from] std::io::Error),
    /// A file of the folder is broken.
    #[error("the label set {0} is damaged: import it anew")]
    Damaged(String),
}

/// The result of an import.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SetReport {
    /// The set's name.
    pub set: String,
    /// The number of labels that are valid now.
    pub labels: usize,
    /// The number of new labels.
    pub added: usize,
    /// The number of labels that ended because the file no longer has them.
    pub ended: usize,
    /// The number of rejected rows.
    pub rejected: usize,
    /// The first rejected rows.
    pub rejects: Vec<Reject>,
    /// Unknown words for categories, with the number of rows that have each. They count as `other`, unless
    /// another word of the row is known. Only the first hundred are listed.
    pub unknown_categories: BTreeMap<String, usize>,
}

/// The status of one set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SetStatus {
    /// The set's name.
    pub set: String,
    /// The number of labels, including ended ones.
    pub labels: usize,
    /// The number of ended labels.
    pub ended: usize,
    /// The time of the import.
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

/// A label in the set's file.
#[derive(Serialize, Deserialize)]
struct Line {
    chain: Currency,
    address: String,
    #[serde(flatten)]
    label: Label,
}

/// The times and sizes of the folder's files, to detect changes.
pub type Fingerprint = BTreeMap<PathBuf, (Option<Duration>, u64)>;

/// The identity of a label across versions of a set.
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
    /// Opens the folder, or creates it.
    ///
    /// # Errors
    /// When it cannot be created.
    pub fn open(folder: &Path) -> Result<LabelStore, LabelStoreError> {
        if !folder.exists() {
            fs::create_dir_all(folder)?;
            // A power failure could otherwise remove the new folder's entry, and with it every file in the
            // folder.
            File::open(folder.join(".."))?.sync_all()?;
        }
        Ok(LabelStore {
            folder: folder.to_owned(),
        })
    }

    /// Imports a file as the set with this name, at a time (milliseconds since 1970).
    ///
    /// # Errors
    /// When the file has no usable label or the folder cannot be written; the set is then unchanged.
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

    /// Replaces the labels of a set. New labels are valid from `now` on, or from `first` on if the set itself
    /// is new. Removed labels end now.
    ///
    /// # Errors
    /// When the folder cannot be written; the set is then unchanged.
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

    /// Removes a set with its history; returns whether it existed.
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
    /// When the folder cannot be read or a set is damaged.
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

    /// Reads all sets into one index. A label without a source gets the set's name as its source.
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

    /// The folder's state; if it changes, [`LabelStore::load`] may return other labels.
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
