//! Finds the models' folder by its manifest. [`crate::Models::open`] checks the folder's files.

use std::path::{Path, PathBuf};

/// The environment variable that names the models' folder.
pub const MODELS_VARIABLE: &str = "BONAFIDE_MODELS";

/// The manifest's file name in the models' folder.
pub const MANIFEST: &str = "manifest.json";

/// The folder of the models: `configured`, else `BONAFIDE_MODELS`, else `models` next to the executable, else
/// `./models`. Under Cargo (tests, `cargo run`), the workspace's `models` is the last choice.
///
/// A configured folder is returned without a check, so that [`crate::Models::open`] can report its errors. A
/// default folder is returned only if it contains a manifest.
#[must_use]
pub fn find_models_dir(configured: Option<&Path>) -> Option<PathBuf> {
    let named = configured
        .map(Path::to_path_buf)
        .or_else(|| std::env::var_os(MODELS_VARIABLE).map(PathBuf::from));
    if named.is_some() {
        return named;
    }
    let beside_executable = std::env::current_exe()
        .ok()
        .and_then(|executable| Some(executable.parent()?.join("models")));
    // Cargo sets this variable for programs that it runs; an installed program never has it. The folder is
    // `../models` or `../../models` of the crate.
    let in_workspace = std::env::var_os("CARGO_MANIFEST_DIR")
        .map(PathBuf::from)
        .into_iter()
        .flat_map(|package| {
            package
                .ancestors()
                .skip(1)
                .take(2)
                .map(|above| above.join("models"))
                .collect::<Vec<_>>()
        });
    beside_executable
        .into_iter()
        .chain([PathBuf::from("models")])
        .chain(in_workspace)
        .find(|dir| dir.join(MANIFEST).is_file())
}
