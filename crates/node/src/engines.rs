//! The engines that read documents and faces: opened in the background at start, so that the server answers at once and says honestly
//! what it cannot do yet.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use anyhow::Context;
use documents::DocumentEngine;
use faces::FaceEngine;
use inference::Models;

/// Both engines over one set of models.
pub struct Loaded {
    /// Reads documents.
    pub documents: DocumentEngine,
    /// Finds and compares faces.
    pub faces: FaceEngine,
}

/// The engines, once they are loaded, or why they cannot be.
#[derive(Clone, Default)]
pub struct Engines(Arc<OnceLock<Result<Loaded, String>>>);

impl Engines {
    /// Begins loading.
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

    /// The engines, or what is wrong with them.
    pub fn get(&self) -> Result<&Loaded, &str> {
        match self.0.get() {
            None => Err("the models are still being loaded"),
            Some(Ok(loaded)) => Ok(loaded),
            Some(Err(reason)) => Err(reason),
        }
    }

    /// Waits until loading has ended, well or not.
    pub fn wait(&self) {
        self.0.wait();
    }
}

/// Opens the models once for both engines.
fn open(models: Option<&Path>) -> anyhow::Result<Loaded> {
    let models = Arc::new(open_models(models, 1)?);
    Ok(Loaded {
        documents: DocumentEngine::new(Arc::clone(&models))?,
        faces: FaceEngine::new(models),
    })
}

/// Opens the models, or says where they were looked for.
pub fn open_models(configured: Option<&Path>, threads: usize) -> anyhow::Result<Models> {
    let dir = inference::find_models_dir(configured)
        .context("no model folder found in BONAFIDE_MODELS, next to the program or at ./models; `make models` downloads the models")?;
    Models::open(&dir, threads).context("the models cannot be used")
}
