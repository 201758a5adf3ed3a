//! The files of a folder that a backup contains: the sanctions lists and the labels. The programs that write
//! these files replace them atomically, so each copied file is consistent.

use std::fs;
use std::path::{Component, Path, PathBuf};

use crate::archive::Writer;
use crate::error::BackupError;

/// The folders, by their names in the data folder and in a backup.
pub(crate) const FOLDERS: [&str; 2] = ["lists", "labels"];

/// Adds the files of a folder, which may be missing. Hidden files and files that are still written
/// (`….new`) are left out.
pub(crate) fn add(writer: &mut Writer, name: &str, folder: &Path) -> Result<u64, BackupError> {
    let mut added = 0;
    for file in files(folder)? {
        let Ok(below) = file.strip_prefix(folder) else {
            continue;
        };
        let Some(below) = below.to_str() else {
            let reason = format!("{}: the name is not UTF-8", file.display());
            return Err(BackupError::Argument(reason));
        };
        writer.add_file(&format!("{name}/{below}"), &file)?;
        added += 1;
    }
    Ok(added)
}

/// All files below a folder, in order.
fn files(folder: &Path) -> Result<Vec<PathBuf>, BackupError> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(BackupError::file(folder))?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.map_err(BackupError::file(folder))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() && !name.starts_with('.') {
            found.extend(files(&path)?);
        } else if path.is_file() && !name.starts_with('.') && !name.ends_with(".new") {
            found.push(path);
        }
    }
    found.sort_unstable();
    Ok(found)
}

/// Where an entry of a folder belongs below `root`. `None` if its path leads elsewhere.
pub(crate) fn target(root: &Path, entry: &str) -> Option<PathBuf> {
    let path = Path::new(entry);
    let mut parts = path.components();
    let Some(Component::Normal(folder)) = parts.next() else {
        return None;
    };
    let is_known = FOLDERS.iter().any(|known| folder == *known);
    let is_plain = parts.clone().count() > 0 && parts.all(|part| matches!(part, Component::Normal(_)));
    (is_known && is_plain).then(|| root.join(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_stay_in_their_folder() {
        let root = Path::new("/data");
        for (entry, expected) in [
            ("lists/un.list.jsonl", Some("/data/lists/un.list.jsonl")),
            (
                "labels/accounts/a/sets.json",
                Some("/data/labels/accounts/a/sets.json"),
            ),
            ("lists", None),
            ("lists/", None),
            ("lists/../master.key", None),
            ("lists/./x", Some("/data/lists/x")),
            ("/lists/x", None),
            ("../lists/x", None),
            ("master.key", None),
            ("objects/x", None),
            ("", None),
        ] {
            let found = target(root, entry).map(|path| path.components().collect::<PathBuf>());
            assert_eq!(found.as_deref(), expected.map(Path::new), "{entry:?}");
        }
    }
}
