//! Models found, checked and loaded once, and the runtime behind them.
//!
//! The one place that knows ONNX Runtime: engines hand in numbers and get numbers back. It never fetches a model
//! (`xtask models` does that at set-up), never reads a picture, and never runs a file whose hash is not the one
//! in the manifest.

mod catalogue;
mod error;
mod manifest;
mod pool;
mod runtime;

use std::{
    path::{Path, PathBuf},
    thread::available_parallelism,
};

pub use catalogue::{Layout, ModelName};
pub use error::ModelError;
pub use manifest::{MANIFEST, Manifest, ManifestEntry, RUNTIME};
use pool::Pool;

/// The environment variable that names the models' folder.
pub const MODELS_VARIABLE: &str = "BONAFIDE_MODELS";

/// A dense tensor handed to a model, borrowed from the caller.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    /// Length of each dimension, outermost first; see [`ModelName`] for what each model takes.
    pub shape: &'a [usize],
    /// Values in row-major order; as many as the shape's product.
    pub data: &'a [f32],
}

/// A dense tensor that a model answered.
#[derive(Debug, Clone, PartialEq)]
pub struct Tensor {
    /// Length of each dimension, outermost first.
    pub shape: Vec<usize>,
    /// Values in row-major order.
    pub data: Vec<f32>,
}

/// Every model of the catalogue, checked against the manifest and shared by all threads of the process.
///
/// Opening reads and hashes each file; a model's weights are loaded at its first use, or by [`Models::warm_up`].
#[derive(Debug)]
pub struct Models {
    pools: Vec<Pool>,
}

impl Models {
    /// Checks the models in `dir` and loads the runtime.
    ///
    /// One run uses `threads_per_run` threads (at least one); as many runs of one model go on at once as the
    /// machine's cores allow, and any more wait their turn.
    ///
    /// # Errors
    /// When the manifest or a file is missing, or a file is not the one that the manifest describes, or the
    /// runtime does not load. Each error says what to do.
    pub fn open(dir: &Path, threads_per_run: usize) -> Result<Self, ModelError> {
        let manifest = Manifest::read(dir)?;
        let environment = runtime::environment(&manifest.checked(dir, RUNTIME)?.path)?;
        let threads = threads_per_run.max(1);
        let sessions = (available_parallelism().map_or(1, usize::from) / threads).max(1);
        let pools = ModelName::ALL
            .into_iter()
            .map(|name| {
                let file = manifest.checked(dir, name.as_str())?;
                Ok(Pool::new(environment, name, file, threads, sessions))
            })
            .collect::<Result<_, ModelError>>()?;
        Ok(Self { pools })
    }

    /// Loads every model and runs each once, so that the first request is as fast as the next.
    ///
    /// # Errors
    /// When the runtime refuses a model.
    pub fn warm_up(&self) -> Result<(), ModelError> {
        for name in ModelName::ALL {
            let shape = name.nominal_shape();
            let data = vec![0.0; shape.iter().product()];
            self.run(
                name,
                Input {
                    shape: &shape,
                    data: &data,
                },
            )?;
        }
        Ok(())
    }

    /// Runs a model; the outputs come in the order that [`ModelName`] documents.
    ///
    /// # Errors
    /// When the input's shape does not hold its data, or the model does not take that shape.
    pub fn run(&self, name: ModelName, input: Input<'_>) -> Result<Vec<Tensor>, ModelError> {
        self.pool(name).run(input)
    }

    /// What a model's file says about itself under `key` (the recogniser's alphabet is under `character`).
    #[must_use]
    pub fn metadata(&self, name: ModelName, key: &str) -> Option<String> {
        self.pool(name).metadata(key)
    }

    /// A short name for exactly these weights: the first 12 hexadecimal digits of the file's SHA-256. Stored beside
    /// whatever a model made, so that results of different weights are never compared.
    #[must_use]
    pub fn version(&self, name: ModelName) -> &str {
        self.pool(name).version()
    }

    /// How a model wants its pictures laid out.
    #[must_use]
    pub fn layout(name: ModelName) -> Layout {
        name.layout()
    }

    fn pool(&self, name: ModelName) -> &Pool {
        &self.pools[name as usize]
    }
}

/// The folder that holds the models: `configured`, else `BONAFIDE_MODELS`, else `models` beside the executable,
/// else `./models`. Under Cargo (tests, `cargo run`) the workspace's own `models` comes last.
///
/// A folder that someone named is returned whether or not it is good, so that [`Models::open`] can say what is wrong
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
