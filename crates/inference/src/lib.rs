//! Checks and loads models, and runs them with ONNX Runtime.
//!
//! Only this crate uses ONNX Runtime; engines pass numbers in and receive numbers. It never downloads a model
//! (`xtask models` does that at set-up) and never reads a picture. It never runs a file whose hash differs
//! from the manifest's.

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
/// Opening reads and hashes each file. A model's weights are loaded at its first use, or by
/// [`Models::warm_up`].
#[derive(Debug)]
pub struct Models {
    pools: Vec<Pool>,
}

impl Models {
    /// Checks the models in `dir` and loads the runtime.
    ///
    /// One run uses `threads_per_run` threads (at least one). The number of concurrent runs of one model is
    /// the number of the machine's cores divided by that; further runs wait.
    ///
    /// # Errors
    /// Fails if the manifest or a file is missing, or a file differs from the one in the manifest. Also fails
    /// if the runtime does not load. Each error states the solution.
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

    /// Loads every model and runs each once, so that the first request is as fast as later ones.
    ///
    /// # Errors
    /// Fails if the runtime refuses a model.
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

    /// Runs a model. The outputs are in the order that [`ModelName`] documents.
    ///
    /// # Errors
    /// Fails if the input's shape does not fit its data, the model does not accept that shape, or the model
    /// does not load.
    pub fn run(&self, name: ModelName, input: Input<'_>) -> Result<Vec<Tensor>, ModelError> {
        self.pool(name).run(input)
    }

    /// The number of inputs that a model has processed in this process. An input of a batch counts once.
    #[must_use]
    pub fn inputs_run(&self, name: ModelName) -> u64 {
        self.pool(name).inputs_run()
    }

    /// The metadata of a model's file under `key` (the recogniser's alphabet is under `character`).
    #[must_use]
    pub fn metadata(&self, name: ModelName, key: &str) -> Option<String> {
        self.pool(name).metadata(key)
    }

    /// A short name for the weights: the first 12 hexadecimal digits of the file's SHA-256. It is stored with
    /// a model's results, so that results of different weights are never compared.
    #[must_use]
    pub fn version(&self, name: ModelName) -> &str {
        self.pool(name).version()
    }

    /// The order of dimensions in a model's input.
    #[must_use]
    pub fn layout(name: ModelName) -> Layout {
        name.layout()
    }

    fn pool(&self, name: ModelName) -> &Pool {
        &self.pools[name as usize]
    }
}
