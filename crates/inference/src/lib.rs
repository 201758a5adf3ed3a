//! Checks and loads models, and runs them with ONNX Runtime.
//!
//! Only this crate uses ONNX Runtime; engines pass numbers in and receive numbers. It never downloads a model
//! (`xtask models` does that at set-up) and never reads a picture. It never runs a file whose hash differs
//! from the manifest's, or from the one that an operator declared ([`own`]).

mod catalogue;
mod error;
mod folder;
mod manifest;
pub mod own;
mod pool;
mod runtime;
mod tensor;

use std::{collections::BTreeMap, path::Path, thread::available_parallelism};

use ort::environment::Environment;

pub use catalogue::{Layout, ModelName};
pub use error::ModelError;
pub use folder::{MANIFEST, MODELS_VARIABLE, find_models_dir};
pub use manifest::{Manifest, ManifestEntry, RUNTIME};
use own::{ModelFiles, ModelKind, OwnFolder, OwnModel, Selection, Staged};
use pool::Pool;
pub use tensor::{Input, Tensor};

/// Every model of the catalogue, checked against the manifest and shared by all threads of the process, and the
/// operator's custom models that are in use.
///
/// Opening reads and hashes each file. A model's weights are loaded at its first use, or by
/// [`Models::warm_up`].
#[derive(Debug)]
pub struct Models {
    pools: Vec<Pool>,
    pad: Option<OwnModel>,
    embedder: Option<OwnModel>,
    environment: &'static Environment,
    threads: usize,
    sessions: usize,
}

impl Models {
    /// Checks the models in `dir`, with the custom models that are in use there, and loads the runtime.
    ///
    /// # Errors
    /// As [`Models::open_with`].
    pub fn open(dir: &Path, threads_per_run: usize) -> Result<Self, ModelError> {
        let selection = OwnFolder::of(dir).selection()?;
        Self::open_with(dir, threads_per_run, &selection)
    }

    /// Checks the models in `dir`, with the custom models of a selection, and loads the runtime.
    ///
    /// One run uses `threads_per_run` threads (at least one). The number of concurrent runs of one model is
    /// the number of the machine's cores divided by that; further runs wait.
    ///
    /// # Errors
    /// Fails if the manifest or a file is missing, or a file differs from the one in the manifest. Also fails
    /// if the runtime does not load, or a selected model cannot be used. Each error states the solution.
    pub fn open_with(dir: &Path, threads_per_run: usize, selection: &Selection) -> Result<Self, ModelError> {
        let manifest = Manifest::read(dir)?;
        let environment = runtime::environment(&manifest.checked(dir, RUNTIME)?.path)?;
        let threads = threads_per_run.max(1);
        let sessions = (available_parallelism().map_or(1, usize::from) / threads).max(1);
        let pools = ModelName::ALL
            .into_iter()
            .map(|name| {
                let file = manifest.checked(dir, name.as_str())?;
                Ok(Pool::new(
                    environment,
                    name.as_str().to_owned(),
                    file,
                    threads,
                    sessions,
                ))
            })
            .collect::<Result<_, ModelError>>()?;
        let mut models = Self {
            pools,
            pad: None,
            embedder: None,
            environment,
            threads,
            sessions,
        };
        let folder = OwnFolder::of(dir);
        let own = |kind| -> Result<Option<OwnModel>, ModelError> {
            let Some(name) = selection.of(kind) else {
                return Ok(None);
            };
            let model = models.open_own(&folder, name)?;
            model.require_kind(kind)?;
            Ok(Some(model))
        };
        let (pad, embedder) = (own(ModelKind::Pad)?, own(ModelKind::Embedder)?);
        (models.pad, models.embedder) = (pad, embedder);
        Ok(models)
    }

    /// Opens a custom model that need not be in use or calibrated.
    ///
    /// # Errors
    /// Fails if there is no such model, or its files are not the declared ones.
    pub fn open_own(&self, folder: &OwnFolder, name: &str) -> Result<OwnModel, ModelError> {
        self.opened(folder.files(name)?)
    }

    /// Opens a custom model that is being added.
    ///
    /// # Errors
    /// Fails if its file is not the declared one.
    pub fn open_staged(&self, staged: &Staged) -> Result<OwnModel, ModelError> {
        self.opened(staged.files()?)
    }

    fn opened(&self, files: ModelFiles) -> Result<OwnModel, ModelError> {
        Ok(OwnModel::open(
            files,
            self.environment,
            self.threads,
            self.sessions,
        )?)
    }

    /// The custom model for presentation attack detection that is in use.
    #[must_use]
    pub fn pad(&self) -> Option<&OwnModel> {
        self.pad.as_ref()
    }

    /// The custom embedder that is in use.
    #[must_use]
    pub fn embedder(&self) -> Option<&OwnModel> {
        self.embedder.as_ref()
    }

    /// The custom models that are in use.
    pub fn own(&self) -> impl Iterator<Item = &OwnModel> {
        self.pad.iter().chain(&self.embedder)
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

    /// A short name for the weights: the first 12 hexadecimal digits of the file's SHA-256, or of an earlier file's that
    /// computes the same ([`ManifestEntry::same_as`]). It is stored with a model's results, so that results of different
    /// weights are never compared.
    #[must_use]
    pub fn version(&self, name: ModelName) -> &str {
        self.pool(name).version()
    }

    /// The versions of all models by name. `pad` and `embedder` are `NAME@VERSION.FINGERPRINT` of custom models.
    #[must_use]
    pub fn versions(&self) -> BTreeMap<String, String> {
        let built_in = ModelName::ALL
            .into_iter()
            .map(|name| (name.as_str().to_owned(), self.version(name).to_owned()));
        let own = self.own().map(|model| {
            let declaration = model.declaration();
            let version = format!("{}@{}.{}", declaration.name, model.version(), model.fingerprint());
            (declaration.kind().as_str().to_owned(), version)
        });
        built_in.chain(own).collect()
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
