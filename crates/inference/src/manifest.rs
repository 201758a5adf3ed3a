//! `manifest.json`: the files of the models' folder, with their sources and hashes. `xtask models` writes it.
//! Reading never changes it.

use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::ModelError;
use crate::folder::MANIFEST;

/// The manifest's entry for the ONNX Runtime library.
pub const RUNTIME: &str = "onnxruntime";

/// The contents of the models' folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// A hash over the inputs of the files: package versions and hashes, and the converter.
    pub recipe: String,
    /// One entry per file.
    pub files: Vec<ManifestEntry>,
}

/// One file of the models' folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManifestEntry {
    /// The entry's name: [`crate::ModelName::as_str`], [`RUNTIME`], or `sample1`…`sample6` (photographs for
    /// tests and specimens).
    pub name: String,
    /// File name in the models' folder.
    pub file: String,
    /// SHA-256 of the file, hexadecimal.
    pub sha256: String,
    /// The version of an earlier file with the same weights in another form, which computes the same numbers apart from
    /// rounding. Absent if there was none, or if results of both must not be compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same_as: Option<String>,
    /// The package it came from.
    pub source: String,
    /// That package's version.
    pub version: String,
    /// That package's licence.
    pub licence: String,
}

/// A file whose hash was equal to the manifest's when it was checked.
#[derive(Debug, Clone)]
pub(crate) struct CheckedFile {
    pub(crate) path: PathBuf,
    /// The first [`VERSION_DIGITS`] digits of its SHA-256, or of the SHA-256 of the equivalent earlier file.
    pub(crate) version: String,
}

/// The number of hexadecimal digits by which results name the weights.
pub(crate) const VERSION_DIGITS: usize = 12;

impl Manifest {
    /// Reads the manifest of a models' folder.
    ///
    /// # Errors
    /// Fails if there is no manifest, or it is invalid.
    pub fn read(dir: &Path) -> Result<Self, ModelError> {
        let path = dir.join(MANIFEST);
        let Ok(text) = std::fs::read(&path) else {
            return Err(ModelError::NoManifest {
                dir: dir.to_path_buf(),
            });
        };
        serde_json::from_slice(&text).map_err(|error| ModelError::BadManifest {
            path,
            reason: error.to_string(),
        })
    }

    /// The path of an entry's file, after its hash has been checked.
    ///
    /// # Errors
    /// Fails if there is no such entry or file, or its hash differs.
    pub fn file(&self, dir: &Path, name: &str) -> Result<PathBuf, ModelError> {
        self.checked(dir, name).map(|file| file.path)
    }

    pub(crate) fn checked(&self, dir: &Path, name: &str) -> Result<CheckedFile, ModelError> {
        let missing = || ModelError::Missing {
            name: name.to_owned(),
            dir: dir.to_path_buf(),
        };
        let entry = self
            .files
            .iter()
            .find(|entry| entry.name == name)
            .ok_or_else(missing)?;
        // The loader would search for a bare name among system libraries, so the path is made absolute.
        let path = std::path::absolute(dir.join(&entry.file)).map_err(|_| missing())?;
        let sha256 = sha256_of(&path).map_err(|_| missing())?;
        if sha256 != entry.sha256 {
            return Err(ModelError::Changed { path });
        }
        let version = match &entry.same_as {
            Some(version) => version.clone(),
            None => sha256[..VERSION_DIGITS].to_owned(),
        };
        Ok(CheckedFile { path, version })
    }
}

/// SHA-256 of a file, hexadecimal.
pub(crate) fn sha256_of(path: &Path) -> io::Result<String> {
    let mut digest = Sha256::new();
    io::copy(&mut File::open(path)?, &mut HashWriter(&mut digest))?;
    Ok(hex::encode(digest.finalize()))
}

struct HashWriter<'a>(&'a mut Sha256);

impl io::Write for HashWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
