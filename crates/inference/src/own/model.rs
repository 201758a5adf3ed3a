//! A custom model, opened and ready to run.

use std::path::PathBuf;

use ort::environment::Environment;

use super::folder::ModelFiles;
use super::{Calibration, Declaration, EmbedderCalibration, ModelKind, OwnModelError};
use crate::manifest::{CheckedFile, VERSION_DIGITS};
use crate::pool::Pool;
use crate::{Input, Layout, ModelError, Tensor};

/// A custom model whose file is the declared one.
#[derive(Debug)]
pub struct OwnModel {
    files: ModelFiles,
    pool: Pool,
    bytes: u64,
}

impl OwnModel {
    pub(crate) fn open(
        files: ModelFiles,
        environment: &'static Environment,
        threads: usize,
        sessions: usize,
    ) -> Result<Self, OwnModelError> {
        let path = files.model()?;
        let bytes = std::fs::metadata(&path).map_or(0, |metadata| metadata.len());
        let file = CheckedFile {
            path,
            version: files.declaration.sha256[..VERSION_DIGITS].to_owned(),
        };
        let pool = Pool::new(
            environment,
            files.declaration.name.clone(),
            file,
            threads,
            sessions,
        );
        Ok(Self { files, pool, bytes })
    }

    /// What the operator declared.
    #[must_use]
    pub fn declaration(&self) -> &Declaration {
        &self.files.declaration
    }

    /// SHA-256 of the declaration's file, hexadecimal.
    #[must_use]
    pub fn declaration_sha256(&self) -> &str {
        &self.files.declaration_sha256
    }

    /// The first 12 hexadecimal digits of the file's SHA-256.
    #[must_use]
    pub fn version(&self) -> &str {
        self.pool.version()
    }

    /// The first 8 hexadecimal digits of a SHA-256 over declaration and calibration, which change what the model decides.
    #[must_use]
    pub fn fingerprint(&self) -> &str {
        &self.files.fingerprint
    }

    /// The size of the model's file.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The path of a golden picture.
    #[must_use]
    pub fn golden_picture(&self, name: &str) -> PathBuf {
        self.files.dir.join(name)
    }

    /// The calibration with which a model for presentation attack detection may decide. `recipe` is the version of the
    /// way of cutting out faces.
    ///
    /// # Errors
    /// Fails if there is none, if the model is of another kind, or if the calibration was made with another declaration
    /// or recipe or shows that the model is blind.
    pub fn calibration(&self, recipe: u32) -> Result<&Calibration, OwnModelError> {
        self.files.calibrated(recipe)
    }

    /// The calibration with which an embedder may be used; see [`OwnModel::calibration`].
    ///
    /// # Errors
    /// As [`OwnModel::calibration`].
    pub fn embedder_calibration(&self, recipe: u32) -> Result<&EmbedderCalibration, OwnModelError> {
        self.files.embedder_calibrated(recipe)
    }

    pub(crate) fn require_kind(&self, kind: ModelKind) -> Result<(), OwnModelError> {
        self.files.require_kind(kind)
    }

    /// Runs the model on one input of the declared size, whose values have the declared order.
    ///
    /// # Errors
    /// Fails if the model does not load, or does not take or return what was declared.
    pub fn run(&self, data: &[f32]) -> Result<Tensor, ModelError> {
        let input = &self.files.declaration.input;
        let shape = match input.layout {
            Layout::Nchw => [1, 3, input.height, input.width],
            Layout::Nhwc => [1, input.height, input.width, 3],
        };
        let outputs = self.pool.run_first(Input { shape: &shape, data })?;
        let refused = |reason: String| ModelError::Input {
            name: self.files.declaration.name.clone(),
            shape: shape.to_vec(),
            reason,
        };
        let output = outputs
            .into_iter()
            .next()
            .ok_or_else(|| refused("it returned nothing".into()))?;
        match output.shape.as_slice() {
            [_] | [1, _] => Ok(output),
            other => Err(refused(format!(
                "its first output has the shape {other:?}, not [1, N]"
            ))),
        }
    }
}
