//! The indexes in the folder, one file for each set of lists that was searched. A missing or damaged one is built again
//! from the lists, and one that cannot be written is kept in memory. Their names begin with a dot, so backups leave them
//! out. An index changes nothing in the lists.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use sha2::{Digest as _, Sha256};

use super::{
    FORMAT, Header, ListContent, ListStore, LoadExactlyError, ScreenError, other_version, read_header,
};
use crate::index::IndexFile;
use crate::screener::{IndexBuilder, Screener};

/// Extension of an index.
const EXTENSION: &str = "index";
/// Extension of an index that is being built.
const PART_EXTENSION: &str = "index.part";
/// Indexes that stay: other commands may use other lists of the same folder.
const KEPT: usize = 3;
/// Held while this process builds an index, so that two threads do not build the same.
static BUILDING: Mutex<()> = Mutex::new(());
/// The age from which a half-built index was left by a process that was killed.
const ABANDONED: Duration = Duration::from_hours(6);

/// A list to index: its file and what the file says of itself.
struct Listed {
    path: PathBuf,
    header: Header,
}

impl ListStore {
    /// Loads every list. It fails if there is none, or if any is too old, so screening never runs on part of them. A list
    /// is read in full, and refused if it is damaged, when its index is built; see [`ListStore::verify`].
    ///
    /// # Errors
    /// Why the lists cannot be used.
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
            let header = self.usable(&path).map_err(unavailable)?;
            lists.push(Listed { path, header });
        }
        self.index(&lists).map_err(unavailable)
    }

    /// Loads these lists in exactly these contents and ignores others in the folder. It fails like
    /// [`ListStore::load`].
    ///
    /// # Errors
    /// Why the lists cannot be used.
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
            if let Ok((header, _)) = read_header(&path)
                && (header.sha256 != wanted.digest || header.list != *name)
            {
                return Err(lacks(name, wanted, &header.version));
            }
            let header = self.usable(&path).map_err(unusable)?;
            if header.sha256 != wanted.digest {
                return Err(lacks(name, wanted, &header.version));
            }
            lists.push(Listed { path, header });
        }
        self.index(&lists).map_err(unusable)
    }

    /// Reads lists in full, as the building of an index does.
    ///
    /// # Errors
    /// Why a list is damaged.
    pub fn verify<'a>(&self, lists: impl IntoIterator<Item = &'a String>) -> Result<(), ScreenError> {
        let unavailable = |reason: String| ScreenError::Unavailable { reason };
        let mut lists = lists.into_iter();
        lists.try_for_each(|list| {
            let read = self.read_entities(&self.path(list), |_| true);
            read.map(drop).map_err(unavailable)
        })
    }

    /// The header of a list's file, if the list may be used now.
    fn usable(&self, path: &Path) -> Result<Header, String> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let (header, _) = read_header(path).map_err(|e| format!("{name} cannot be read: {e}"))?;
        if header.format != FORMAT {
            return Err(other_version(&name));
        }
        self.check(&self.dates_of(&header))
            .map_err(|stale| stale.to_string())?;
        Ok(header)
    }

    /// The index of lists: the folder's, or a new one.
    fn index(&self, lists: &[Listed]) -> Result<Screener, String> {
        let mut key = Sha256::new();
        key.update(env!("SANCTIONS_SOURCES"));
        for Listed { header, .. } in lists {
            for text in [&header.list, &header.version, &header.sha256] {
                key.update((text.len() as u64).to_le_bytes());
                key.update(text);
            }
        }
        let key = hex::encode(&key.finalize()[..16]);
        let path = self.folder.join(format!(".{key}.{EXTENSION}"));
        let open = || IndexFile::mapped(&path);
        let screener = |file| Screener::open(file).map_err(|damage| damage.to_string());
        if let Ok(file) = open()
            && let Ok(screener) = screener(file)
        {
            return Ok(screener);
        }
        let _building = BUILDING.lock().unwrap_or_else(PoisonError::into_inner);
        // Another thread may have built it meanwhile. A file that cannot be opened, but is not damaged, stays.
        let is_missing = match open() {
            Ok(file) => match screener(file) {
                Ok(screener) => return Ok(screener),
                Err(_) => true,
            },
            Err(error) => matches!(error.kind(), ErrorKind::NotFound | ErrorKind::InvalidData),
        };
        if is_missing {
            match self.write_index(lists, &key, &path) {
                Ok(()) => self.delete_old_indexes(&path),
                // A list that is damaged is so in memory too.
                Err(error) if error.kind() == ErrorKind::InvalidData => return Err(error.to_string()),
                Err(_) => {}
            }
            if let Ok(file) = open()
                && file.check_whole().is_ok()
            {
                return screener(file);
            }
        }
        let bytes = self.build(lists, Vec::new()).map_err(|error| error.to_string())?;
        screener(IndexFile::in_memory(bytes).map_err(|damage| damage.to_string())?)
    }

    /// Builds the file of an index.
    fn write_index(&self, lists: &[Listed], key: &str, path: &Path) -> std::io::Result<()> {
        // Each writer has its own file name, also in two containers with the same process ids.
        let unique = format!("{}-{}", std::process::id(), Timestamp::now().as_nanosecond());
        let part = self.folder.join(format!(".{key}.{unique}.{PART_EXTENSION}"));
        let written = File::create_new(&part).and_then(|file| {
            let file = self.build(lists, BufWriter::with_capacity(1 << 20, file))?;
            let file = file.into_inner().map_err(std::io::IntoInnerError::into_error)?;
            file.sync_all()?;
            fs::rename(&part, path)
        });
        if written.is_err() {
            let _ = fs::remove_file(&part);
        }
        written
    }

    /// Writes the index of lists. A damaged list is invalid data.
    fn build<W: Write>(&self, lists: &[Listed], to: W) -> std::io::Result<W> {
        let invalid = |reason: String| std::io::Error::new(ErrorKind::InvalidData, reason);
        let mut builder = IndexBuilder::new(to)?;
        for Listed { path, header } in lists {
            builder.begin_list(&header.list, &header.version);
            // A full disk is no damage of the list.
            let mut unwritten = None;
            let read = self.read_entities(path, |entity| {
                let added = builder.add(&header.list, &entity);
                added.map_err(|error| unwritten = Some(error)).is_ok()
            });
            if let Some(error) = unwritten {
                return Err(error);
            }
            let read = read.map_err(invalid)?;
            if read.sha256 != header.sha256 {
                return Err(invalid(format!(
                    "the list {} was replaced while it was read",
                    header.list
                )));
            }
        }
        builder.finish()
    }

    /// Deletes all but the indexes that were built last, and what killed processes left. Whoever has a deleted one open
    /// goes on reading it. Failures are ignored: they cost space only.
    fn delete_old_indexes(&self, current: &Path) {
        let mut known = Vec::new();
        for (extension, is_part) in [(EXTENSION, false), (PART_EXTENSION, true)] {
            for path in self.files_with(extension).unwrap_or_default() {
                if let Ok(modified) = fs::metadata(&path).and_then(|data| data.modified()) {
                    known.push((modified, is_part, path));
                }
            }
        }
        known.sort();
        let (parts, mut indexes): (Vec<_>, Vec<_>) = known.into_iter().partition(|(_, is_part, _)| *is_part);
        indexes.retain(|(_, _, path)| path != current);
        let old = indexes.len().saturating_sub(KEPT - 1);
        let abandoned = |time: &std::time::SystemTime| time.elapsed().is_ok_and(|age| age > ABANDONED);
        let parts = parts.into_iter().filter(|(modified, _, _)| abandoned(modified));
        for (_, _, path) in indexes.into_iter().take(old).chain(parts) {
            let _ = fs::remove_file(path);
        }
    }
}

#[cfg(test)]
#[path = "index_tests.rs"]
mod tests;
