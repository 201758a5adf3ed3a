//! Finds the files to evaluate. It reads none of them.

use std::path::{Path, PathBuf};

use anyhow::Context;

/// The files below a folder, sorted by path.
pub(in crate::cli) fn files_below(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries =
            std::fs::read_dir(&folder).with_context(|| format!("{} cannot be read", folder.display()))?;
        for entry in entries {
            let path = entry?.path();
            // Symbolic links are not followed, because they can form cycles.
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

/// The images below a folder, recognised by their names.
pub(in crate::cli) fn pictures_below(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = files_below(folder)?;
    files.retain(|file| {
        let extension = file.extension().unwrap_or_default().to_ascii_lowercase();
        ["jpg", "jpeg", "png", "webp", "bmp", "pdf"]
            .iter()
            .any(|known| extension == *known)
    });
    Ok(files)
}
