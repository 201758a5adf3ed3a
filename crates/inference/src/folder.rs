//! Where the models' folder is. Looks for its manifest alone; [`crate::Models::open`] checks what it holds.

use std::path::{Path, PathBuf};

/// The environment variable that names the models' folder.
pub const MODELS_VARIABLE: &str = "BONAFIDE_MODELS";

/// The manifest's file name in the models' folder.
pub const MANIFEST: &str = "manifest.json";

/// The folder that holds the models: `configured`, else `BONAFIDE_MODELS`, else `models` beside the executable,
/// else `./models`. Under Cargo (tests, `cargo run`) the workspace's own `models` comes last.
///
/// A folder that someone named is returned whether or not it is good, so that [`crate::Models::open`] can say what is wrong
/// with it; one that was only guessed is returned when it holds a manifest.
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
    // Cargo sets this variable for what it runs, never for what is shipped: CRATE/../../models or CRATE/../models.
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
