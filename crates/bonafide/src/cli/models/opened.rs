//! The models' folder as the commands open it.

use std::sync::Arc;

use anyhow::Context;
use faces::FaceEngine;
use inference::Models;
use inference::own::{OwnFolder, OwnModel, Selection};

use crate::cli::engines::ModelsArg;

/// The models folder, opened without any custom model.
pub(super) struct Opened {
    pub(super) folder: OwnFolder,
    pub(super) models: Arc<Models>,
    pub(super) engine: FaceEngine,
}

impl Opened {
    pub(super) fn of(arg: &ModelsArg) -> anyhow::Result<Self> {
        let dir = arg.dir()?;
        let models =
            Arc::new(Models::open_with(&dir, 1, &Selection::default()).context("the models cannot be used")?);
        Ok(Self {
            folder: OwnFolder::of(&dir),
            engine: FaceEngine::new(Arc::clone(&models)),
            models,
        })
    }

    pub(super) fn model(&self, name: &str) -> anyhow::Result<OwnModel> {
        Ok(self.models.open_own(&self.folder, name)?)
    }
}
