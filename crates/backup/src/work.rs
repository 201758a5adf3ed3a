//! The folder of a backup or a restore in progress. One process at a time uses it.

use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};

use store::files;

use crate::error::BackupError;

const LOCK: &str = "lock";

/// A locked folder, empty except for the lock. It is deleted in the end; what a killed process left is deleted
/// by the next one.
pub(crate) struct WorkFolder {
    pub(crate) path: PathBuf,
    _lock: File,
}

impl WorkFolder {
    pub(crate) fn create(parent: &Path, name: &str) -> Result<Self, BackupError> {
        let path = parent.join(name);
        let failed = || BackupError::file(&path);
        files::create_folder(&path).map_err(failed())?;
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(path.join(LOCK))
            .map_err(failed())?;
        if lock.try_lock().is_err() {
            return Err(BackupError::Busy(path));
        }
        for entry in fs::read_dir(&path).map_err(failed())? {
            let left = entry.map_err(failed())?.path();
            if left.is_dir() {
                fs::remove_dir_all(&left).map_err(failed())?;
            } else if left.file_name().is_some_and(|name| name != LOCK) {
                fs::remove_file(&left).map_err(failed())?;
            }
        }
        Ok(Self { path, _lock: lock })
    }
}

impl Drop for WorkFolder {
    fn drop(&mut self) {
        // What stays is deleted by the next process.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Gives a finished file its final name. It never replaces another file.
pub(crate) fn publish(file: &Path, to: &Path) -> Result<(), BackupError> {
    File::open(file)
        .and_then(|file| file.sync_all())
        .and_then(|()| fs::hard_link(file, to))
        .and_then(|()| fs::remove_file(file))
        .and_then(|()| files::sync_entry(to))
        .map_err(BackupError::file(to))
}
