//! `manifest.json`: which files the models' folder holds, where they came from and what they hash to. Written by
//! `xtask models`; reading it never changes it.

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

/// What the models' folder holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// A hash over everything the files were made from: package versions and hashes, and the converter.
    pub recipe: String,
    /// One entry a file.
    pub files: Vec<ManifestEntry>,
}

/// One file of the models' folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManifestEntry {
    /// What the file is: [`crate::ModelName::as_str`], [`RUNTIME`], or `sample1`…`sample6` (photographs for tests
    /// and specimens).
    pub name: String,
    /// File name in the models' folder.
    pub file: String,
    /// SHA-256 of the file, hexadecimal.
    pub sha256: String,
    /// The package it came from.
    pub source: String,
    /// That package's version.
    pub version: String,
    /// That package's licence.
    pub licence: String,
}

/// A file whose hash was the manifest's when it was looked at.
#[derive(Debug, Clone)]
pub(crate) struct CheckedFile {
    pub(crate) path: PathBuf,
    pub(crate) sha256: String,
}

impl Manifest {
    /// Reads the manifest of a models' folder.
    ///
    /// # Errors
    /// When there is none or it is not a manifest.
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

    /// The path behind an entry, once its hash has been compared.
    ///
    /// # Errors
    /// When there is no such entry or file, or the file is another one.
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
        // The loader takes a bare name for a library to search for: make the path absolute.
        let path = std::path::absolute(dir.join(&entry.file)).map_err(|_| missing())?;
        let mut digest = Sha256::new();
        File::open(&path)
            .and_then(|mut file| io::copy(&mut file, &mut HashWriter(&mut digest)))
            .map_err(|_| missing())?;
        let sha256 = hex::encode(digest.finalize());
        if sha256 == entry.sha256 {
            Ok(CheckedFile { path, sha256 })
        } else {
            Err(ModelError::Changed { path })
        }
    }
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
