//! Creates files and folders that only this program's user may read and that survive a power cut, and closes
//! existing ones to others. This module never reads or interprets their content.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// Permission bits of the group and of other users.
const OTHERS: u32 = 0o077;

/// Creates a folder and its missing parents. New folders have mode 0700, and their directory entries are
/// durable when this returns. An existing folder is not changed.
///
/// # Errors
/// Those of the file system.
pub fn create_folder(folder: &Path) -> io::Result<()> {
    let missing: Vec<&Path> = folder
        .ancestors()
        .take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists())
        .collect();
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    missing.into_iter().try_for_each(sync_entry)
}

/// Makes the directory entry of a file or folder durable. Without this, a power cut can remove even a synced
/// file.
///
/// # Errors
/// Those of the file system.
pub fn sync_entry(path: &Path) -> io::Result<()> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    File::open(parent.unwrap_or(Path::new(".")))?.sync_all()
}

/// Whether the group or other users may access a file or folder.
///
/// # Errors
/// Those of the file system.
pub fn is_open_to_others(path: &Path) -> io::Result<bool> {
    Ok(fs::metadata(path)?.permissions().mode() & OTHERS != 0)
}

/// SQLite's files of one database: the database, the write-ahead log and the shared-memory index.
#[must_use]
pub fn of_database(path: &Path) -> [PathBuf; 3] {
    ["", "-wal", "-shm"].map(|suffix| {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        PathBuf::from(name)
    })
}

/// Creates a database file and its folder, or closes an existing file to other users. SQLite gives its
/// further files the same permissions.
pub(crate) fn prepare(path: &Path) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        create_folder(folder)?;
    }
    match OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
    {
        Ok(file) => {
            file.sync_all()?;
            sync_entry(path)
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            for file in of_database(path).iter().filter(|file| file.exists()) {
                close_to_others(file);
            }
            Ok(())
        }
        Err(error) => Err(error),
    }
}

/// Removes other users' access. The file may belong to another user and cannot be changed then; the server
/// still works, so this only warns.
fn close_to_others(file: &Path) {
    let closed = is_open_to_others(file).and_then(|is_open| {
        if is_open {
            fs::set_permissions(file, Permissions::from_mode(0o600))?;
        }
        Ok(())
    });
    if let Err(error) = closed {
        tracing::warn!(file = %file.display(), %error, "other users may read this file, and it cannot be closed to them");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn new_folders_and_databases_belong_to_the_user_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b/test.db");
        prepare(&path).unwrap();
        assert_eq!(mode(&path), 0o600);
        assert_eq!(mode(&folder.path().join("a")), 0o700);
        assert_eq!(mode(&folder.path().join("a/b")), 0o700);
    }

    #[test]
    fn an_open_database_is_closed_and_its_folder_stays() {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
        let path = folder.path().join("test.db");
        for file in of_database(&path) {
            fs::write(&file, "").unwrap();
            fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
        }
        prepare(&path).unwrap();
        assert_eq!(of_database(&path).map(|file| mode(&file)), [0o600; 3]);
        assert_eq!(mode(folder.path()), 0o755);
        assert!(is_open_to_others(folder.path()).unwrap());
    }
}
