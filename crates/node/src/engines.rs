//! The engines that read documents and faces. They load in the background, so that the server accepts
//! requests at once; until then their state is an error.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use anyhow::Context;
use documents::DocumentEngine;
use faces::FaceEngine;
use inference::Models;

/// Both engines. They share one set of models.
pub struct LoadedEngines {
    /// Reads documents.
    pub documents: DocumentEngine,
    /// Finds and compares faces.
    pub faces: FaceEngine,
}

/// The engines once they are loaded, or the reason why they cannot load.
#[derive(Clone, Default)]
pub struct Engines(Arc<OnceLock<Result<LoadedEngines, String>>>);

impl Engines {
    /// Starts loading in the background.
    pub fn load(models: Option<PathBuf>) -> Self {
        let engines = Engines::default();
        let slot = Arc::clone(&engines.0);
        std::thread::spawn(move || {
            let loaded = open(models.as_deref());
            if let Err(error) = &loaded {
                tracing::error!("engines cannot be used: {error:#}");
            }
            let _ = slot.set(loaded.map_err(|error| format!("{error:#}")));
        });
        engines
    }

    /// The engines, or why they cannot be used.
    pub fn get(&self) -> Result<&LoadedEngines, &str> {
        match self.0.get() {
            None => Err("the models are still being loaded"),
            Some(Ok(loaded)) => Ok(loaded),
            Some(Err(reason)) => Err(reason),
        }
    }

    /// Waits until loading has succeeded or failed.
    pub fn wait(&self) {
        self.0.wait();
    }
}

/// Opens the models once for both engines.
fn open(models: Option<&Path>) -> anyhow::Result<LoadedEngines> {
    let models = Arc::new(open_models(models, 1)?);
    Ok(LoadedEngines {
        documents: DocumentEngine::new(Arc::clone(&models))?,
        faces: FaceEngine::new(models),
    })
}

/// Opens the models. The error states where the program searched for them.
pub fn open_models(configured: Option<&Path>, threads: usize) -> anyhow::Result<Models> {
    let dir = inference::find_models_dir(configured)
        .context("no model folder found in BONAFIDE_MODELS, next to the program or at ./models; `make models` downloads the models")?;
    Models::open(&dir, threads).context("the models cannot be used")
}
