//! Models found, checked and loaded once, and the runtime behind them.
//!
//! The one place that knows ONNX Runtime: engines hand in numbers and get numbers back. It never fetches a model
//! (`xtask models` does that at set-up), never reads a picture, and never runs a file whose hash is not the one
//! in the manifest.

mod catalogue;
mod error;
mod folder;
mod manifest;
mod pool;
mod runtime;
mod tensor;

use std::{path::Path, thread::available_parallelism};

pub use catalogue::{Layout, ModelName};
pub use error::ModelError;
pub use folder::{MANIFEST, MODELS_VARIABLE, find_models_dir};
pub use manifest::{Manifest, ManifestEntry, RUNTIME};
use pool::Pool;
pub use tensor::{Input, Tensor};

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
