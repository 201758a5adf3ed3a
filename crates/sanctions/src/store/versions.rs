//! Versions of a list in the folder: those that are kept, the return to one of them, and the confirmation that the
//! publisher still offers the one in use. A confirmation changes a list's dates and never its content.

use std::fs::{self, File};
use std::io::{BufReader, BufWriter, Read, Seek as _, SeekFrom, Write};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::{FORMAT, Header, ListContent, ListStore, StoreError, read_header, safe_name};
use crate::freshness::{ListDates, Stale};
use crate::import::{self, List};
use crate::last_import::LastImport;

/// Extension of the confirmation of a list.
const CONFIRMATION_EXTENSION: &str = "confirmed.json";

/// When the publisher last offered the content that is in use.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Confirmation {
    /// SHA-256 of the entities in hexadecimal.
    digest: String,
    /// Milliseconds since 1970.
    at: i64,
}

impl ListStore {
    /// A version of a list, in use or kept; `None` if the folder lacks it or it is damaged.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn version(&self, list: &str, digest: &str) -> Result<Option<List>, StoreError> {
        let in_use = Some(self.path(list)).filter(|path| path.exists());
        let kept = self.kept.find(&safe_name(list), digest);
        for path in in_use.into_iter().chain(kept) {
            let is_it =
                read_header(&path).is_ok_and(|(header, _)| header.sha256 == digest && header.list == list);
            if is_it && let Ok((_, list)) = self.read_list(&path) {
                return Ok(Some(list));
            }
        }
        Ok(None)
    }

    /// The versions of a list that the folder has: the kept ones, the latest replaced one last, then the one in use.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn versions(&self, list: &str) -> Result<Vec<ListContent>, StoreError> {
        let kept = self.kept.files(&safe_name(list))?;
        let in_use = Some(self.path(list)).filter(|path| path.exists());
        let headers = kept
            .into_iter()
            .chain(in_use)
            .filter_map(|path| Some(read_header(&path).ok()?.0));
        let of_list = headers.filter(|header| header.list == list && header.format == FORMAT);
        Ok(of_list
            .map(|header| ListContent {
                version: header.version,
                digest: header.sha256,
            })
            .collect())
    }

    /// The file of a list in use, if it has this content and is not damaged.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn open_file(&self, list: &str, digest: &str) -> Result<Option<File>, StoreError> {
        Self::open_version(self.path(list), list, digest)
    }

    /// The file of a replaced version, if it is kept and not damaged.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn open_kept(&self, list: &str, digest: &str) -> Result<Option<File>, StoreError> {
        match self.kept.find(&safe_name(list), digest) {
            Some(path) => Self::open_version(path, list, digest),
            None => Ok(None),
        }
    }

    fn open_version(path: PathBuf, list: &str, digest: &str) -> Result<Option<File>, StoreError> {
        let Ok((header, mut reader)) = read_header(&path) else {
            return Ok(None);
        };
        if header.sha256 != digest || header.list != list {
            return Ok(None);
        }
        // Whoever replaces the file meanwhile changes nothing here: this is still the file that was opened.
        if copy_rest(&mut reader, &mut std::io::sink())? != digest {
            return Ok(None);
        }
        let mut file = reader.into_inner();
        file.seek(SeekFrom::Start(0))?;
        Ok(Some(file))
    }

    /// Deletes files that a killed process left half-written. Returns how many. Does nothing while another process
    /// changes the folder's lists.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn delete_leftovers(&self) -> Result<usize, StoreError> {
        let folder = File::open(&self.folder)?;
        if folder.try_lock().is_err() {
            return Ok(0);
        }
        let leftovers = self.files_with("new")?;
        let deleted = leftovers.iter().filter(|path| fs::remove_file(path).is_ok());
        Ok(deleted.count())
    }

    /// A file in the folder without a name, which disappears with the process.
    ///
    /// # Errors
    /// When the folder cannot be written.
    pub fn unnamed_file(&self) -> std::io::Result<File> {
        tempfile::tempfile_in(&self.folder)
    }

    /// Makes a copy of a list's file the one in use, if it has exactly the given content. It gets the given version and
    /// time of import (ms since 1970); without one it keeps its own. A replaced file with another content is kept.
    ///
    /// # Errors
    /// When the copy has another content or is damaged, or the folder cannot be written.
    pub fn install(
        &self,
        list: &str,
        content: &ListContent,
        imported_at: Option<i64>,
        file: File,
    ) -> Result<(), InstallError> {
        let path = self.path(list);
        let beside = path.with_extension(format!("{}.copy.new", std::process::id()));
        let installed = (|| {
            let mut reader = BufReader::with_capacity(1 << 16, file);
            let mut line = Vec::new();
            import::read_line(&mut reader, &mut line)?;
            let mut header: Header = serde_json::from_slice(&line).map_err(|_| InstallError::Damaged)?;
            if header.format != FORMAT {
                return Err(InstallError::Format);
            }
            if header.sha256 != content.digest {
                return Err(InstallError::Other);
            }
            // The same entities may be in use under several names, and publishers give them another date.
            list.clone_into(&mut header.list);
            header.version.clone_from(&content.version);
            // The clock of the node that wrote the copy may be ahead.
            header.imported_at = imported_at.unwrap_or(header.imported_at).min(self.now());
            let mut written = BufWriter::new(File::create(&beside)?);
            serde_json::to_writer(&mut written, &header).map_err(std::io::Error::from)?;
            written.write_all(b"\n")?;
            if copy_rest(&mut reader, &mut written)? != content.digest {
                return Err(InstallError::Damaged);
            }
            let written = written
                .into_inner()
                .map_err(std::io::IntoInnerError::into_error)?;
            written.sync_all()?;
            self.replace(&path, &beside, &safe_name(list), &content.digest)?;
            Ok(())
        })();
        if installed.is_err() {
            let _ = fs::remove_file(&beside);
        }
        installed
    }

    /// Makes a kept version the one in use again, with the time of now as its import. The replaced one is kept.
    ///
    /// # Errors
    /// When the version is not kept, is damaged or is too old for screening, or the folder cannot be written.
    pub fn roll_back(&self, list: &str, to: &ListContent) -> Result<(), RollbackError> {
        let not_kept = || RollbackError::NotKept {
            list: list.to_owned(),
            version: to.version.clone(),
        };
        // Its bytes are copied, so that its digest stays.
        let file = self.open_kept(list, &to.digest)?.ok_or_else(not_kept)?;
        let now = self.now();
        let dates = ListDates::new(list, &to.version, now);
        self.check(&dates)
            .map_err(|stale| RollbackError::Stale(Box::new(stale)))?;
        self.install(list, to, Some(now), file)
            .map_err(|error| match error {
                InstallError::File(error) => RollbackError::Store(error.into()),
                InstallError::Format | InstallError::Other | InstallError::Damaged => not_kept(),
            })
    }

    /// Records that the publisher offers the content in use at a time (ms since 1970), which renews the list's import
    /// without a new file. Returns whether the folder has this content.
    ///
    /// # Errors
    /// When the folder cannot be written.
    pub fn confirm(&self, list: &str, digest: &str, at: i64) -> Result<bool, StoreError> {
        let Ok((header, _)) = read_header(&self.path(list)) else {
            return Ok(false);
        };
        if header.sha256 != digest || header.list != list {
            return Ok(false);
        }
        let path = self.confirmation_path(list);
        let beside = path.with_extension(format!("{}.new", std::process::id()));
        let confirmation = Confirmation {
            digest: digest.to_owned(),
            at,
        };
        let text = serde_json::to_vec(&confirmation).map_err(std::io::Error::from)?;
        fs::write(&beside, text)?;
        fs::rename(&beside, &path)?;
        Ok(true)
    }

    /// Counts an import that found the content in use, without its file. Returns how many there were in a row.
    pub fn count_unchanged(&self, list: &str) -> u32 {
        let earlier = fs::read(self.report_path(list)).ok();
        let earlier = earlier.and_then(|text| serde_json::from_slice::<LastImport>(&text).ok());
        let Some(mut import) = earlier else { return 0 };
        import.count_unchanged();
        self.write_report(&import);
        import.unchanged
    }

    /// A list's dates. A later confirmation counts as an import.
    pub(super) fn dates_of(&self, header: &Header) -> ListDates {
        let confirmed = fs::read(self.confirmation_path(&header.list)).ok();
        let confirmed = confirmed
            .and_then(|text| serde_json::from_slice::<Confirmation>(&text).ok())
            .filter(|confirmation| confirmation.digest == header.sha256)
            .map_or(header.imported_at, |confirmation| {
                confirmation.at.max(header.imported_at)
            });
        ListDates::new(&header.list, &header.version, confirmed)
    }

    pub(super) fn confirmation_path(&self, list: &str) -> PathBuf {
        self.path_with(list, CONFIRMATION_EXTENSION)
    }
}

/// Why a list cannot return to a version.
#[derive(Debug, thiserror::Error)]
pub enum RollbackError {
    /// The folder lacks the version, or its file is damaged.
    #[error("version {version} of {list} is not kept on this node, or its file is damaged: import its file")]
    NotKept {
        /// The list.
        list: String,
        /// The version.
        version: String,
    },
    /// The version is too old for screening.
    #[error(transparent)]
    Stale(Box<Stale>),
    /// The folder cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Copies what follows a header. Returns its SHA-256 in hexadecimal.
fn copy_rest(from: &mut impl Read, to: &mut impl Write) -> std::io::Result<String> {
    let mut hash = Sha256::new();
    let mut part = vec![0; 1 << 16];
    loop {
        let read = from.read(&mut part)?;
        let Some(read @ [_, ..]) = part.get(..read) else {
            return Ok(hex::encode(hash.finalize()));
        };
        hash.update(read);
        to.write_all(read)?;
    }
}

/// Why a copy of a list cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// It is another list or content.
    #[error("it is another list")]
    Other,
    /// A version of this program with another format wrote it.
    #[error("a different version of this program wrote it")]
    Format,
    /// Its checksum is wrong.
    #[error("it is damaged")]
    Damaged,
    /// A file cannot be read or written.
    #[error("{0}")]
    File(#[from] std::io::Error),
}
