//! Finds the files to measure on. It reads none of them.

use std::path::{Path, PathBuf};

use anyhow::Context;

/// The files below a folder, in the order of their names.
pub(super) fn files_below(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries =
            std::fs::read_dir(&folder).with_context(|| format!("{} cannot be read", folder.display()))?;
        for entry in entries {
            let path = entry?.path();
            // Links are not followed: they may go round.
            match std::fs::symlink_metadata(&path)?.file_type() {
                kind if kind.is_dir() => folders.push(path),
                kind if kind.is_file() => files.push(path),
                _ => {}
            }
        }
    }
    files.sort();
    Ok(files)
}

/// The pictures below a folder, told by their names.
pub(super) fn pictures_below(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = files_below(folder)?;
    files.retain(|file| {
        let extension = file.extension().unwrap_or_default().to_ascii_lowercase();
        ["jpg", "jpeg", "png", "webp", "bmp", "pdf"]
            .iter()
            .any(|known| extension == *known)
    });
    Ok(files)
}
