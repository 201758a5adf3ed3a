//! Labelled pictures: the label is the name of a folder.

use std::path::Path;

/// The names of folders and file below a folder.
pub(super) fn parts(folder: &Path, file: &Path) -> Vec<String> {
    let below = file.strip_prefix(folder).unwrap_or(file);
    below
        .iter()
        .map(|part| part.to_string_lossy().into_owned())
        .collect()
}
