//! Errors of models, each with its solution. They never contain a caller's data.

use std::path::PathBuf;

/// Why a model could not be opened or run.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// The folder has no manifest.
    #[error("no models in {}: run `make models`, or set {} to the folder that holds manifest.json", .dir.display(), crate::MODELS_VARIABLE)]
    NoManifest {
        /// The folder that was searched.
        dir: PathBuf,
    },
    /// The manifest is not JSON of the expected form.
    #[error("{} cannot be read ({reason}): run `make models` again", .path.display())]
    BadManifest {
        /// The manifest.
        path: PathBuf,
        /// The parser's error.
        reason: String,
    },
    /// The manifest has no entry of this name, or the entry's file is not readable.
    #[error("the model file `{name}` is missing from {}: run `make models`", .dir.display())]
    Missing {
        /// The entry's name.
        name: String,
        /// The models' folder.
        dir: PathBuf,
    },
    /// A file differs from the one in the manifest.
    #[error("{} has been changed or cut short (its SHA-256 is not the manifest's): run `make models` again", .path.display())]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// The ONNX Runtime library does not load.
    #[error("the ONNX Runtime library {} does not load ({reason}): run `make models` on this machine", .path.display())]
    Runtime {
        /// The library.
        path: PathBuf,
        /// The loader's error.
        reason: String,
    },
    /// The runtime refuses a model's file.
    #[error(
        "the model `{name}` cannot be loaded ({reason}): if it is built in, run `make models` again; if it is a custom \
         model, replace its file"
    )]
    Load {
        /// The model.
        name: String,
        /// The runtime's error.
        reason: String,
    },
    /// The caller's shape and data differ in size, or the model does not accept that shape.
    #[error("the model `{name}` does not take a tensor of shape {shape:?} ({reason})")]
    Input {
        /// The model.
        name: String,
        /// The caller's shape.
        shape: Vec<usize>,
        /// The reason.
        reason: String,
    },
    /// A custom model cannot be used.
    #[error(transparent)]
    Own(#[from] crate::own::OwnModelError),
}
