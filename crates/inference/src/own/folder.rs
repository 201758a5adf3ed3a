//! The folder of custom models: which were added, and which are in use. A change takes effect completely or not at all.

use std::fs::{self, File};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::embedder_calibration::SCALES;
use super::names::{CALIBRATION, DECLARATION, MODEL, SELECTION, STAGED, is_name};
use super::{Calibration, Declaration, EmbedderCalibration, ModelKind, OwnModelError};
use crate::manifest::sha256_of;

/// A folder that is still incomplete after this time was abandoned.
const ABANDONED: Duration = Duration::from_secs(3_600);

/// The custom models that decide, by their kind.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Selection {
    /// The model for presentation attack detection; `None`: only the built-in cue.
    #[serde(default)]
    pub pad: Option<String>,
    /// The embedder; `None`: only the built-in networks. Earlier versions refuse this member, so `None` is not written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub embedder: Option<String>,
}

impl Selection {
    /// The model of a kind.
    #[must_use]
    pub fn of(&self, kind: ModelKind) -> Option<&str> {
        match kind {
            ModelKind::Pad => self.pad.as_deref(),
            ModelKind::Embedder => self.embedder.as_deref(),
        }
    }

    /// The same selection with another model of a kind, or none.
    #[must_use]
    pub fn with(mut self, kind: ModelKind, name: Option<String>) -> Self {
        match kind {
            ModelKind::Pad => self.pad = name,
            ModelKind::Embedder => self.embedder = name,
        }
        self
    }

    /// Checks that every model that `required` names is in use.
    ///
    /// # Errors
    /// Names the model in use, if there is one.
    pub fn require(&self, required: &Selection) -> Result<(), OwnModelError> {
        for kind in ModelKind::ALL {
            if let Some(name) = required.of(kind)
                && self.of(kind) != Some(name)
            {
                return Err(OwnModelError::Required {
                    kind,
                    required: name.to_owned(),
                    used: self.of(kind).map(str::to_owned),
                });
            }
        }
        Ok(())
    }
}

/// A calibration of either kind.
#[derive(Debug, Clone, PartialEq)]
pub enum AnyCalibration {
    /// Of a model for presentation attack detection.
    Pad(Calibration),
    /// Of an embedder.
    Embedder(EmbedderCalibration),
}

/// The folder `own` in a models folder.
#[derive(Debug, Clone)]
pub struct OwnFolder {
    root: PathBuf,
}

/// The files of one custom model.
#[derive(Debug, Clone)]
pub(crate) struct ModelFiles {
    pub(crate) dir: PathBuf,
    pub(crate) declaration: Declaration,
    /// SHA-256 of the declaration's file, hexadecimal.
    pub(crate) declaration_sha256: String,
    pub(crate) calibration: Option<AnyCalibration>,
    /// The first 8 hexadecimal digits of a SHA-256 over declaration and calibration.
    pub(crate) fingerprint: String,
}

/// A model that is being added. Dropping it removes the files.
#[derive(Debug)]
pub struct Staged {
    dir: PathBuf,
    kept: bool,
}

impl OwnFolder {
    /// The folder `own` in this models folder. It need not exist.
    #[must_use]
    pub fn of(models: &Path) -> Self {
        Self {
            root: models.join("own"),
        }
    }

    /// The names of all models that were added, sorted.
    ///
    /// # Errors
    /// Fails if the folder exists and cannot be read.
    pub fn names(&self) -> Result<Vec<String>, OwnModelError> {
        let entries = match fs::read_dir(&self.root) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(unreadable(&self.root, &error)),
        };
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|error| unreadable(&self.root, &error))?;
            names.extend(
                entry
                    .file_name()
                    .to_str()
                    .filter(|name| is_name(name) && entry.path().is_dir())
                    .map(str::to_owned),
            );
        }
        names.sort();
        Ok(names)
    }

    /// The models in use.
    ///
    /// # Errors
    /// Fails if the file cannot be read or does not have the form that [`OwnFolder::select`] writes. An error never
    /// counts as an empty selection.
    pub fn selection(&self) -> Result<Selection, OwnModelError> {
        let path = self.root.join(SELECTION);
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Selection::default()),
            Err(error) => return Err(unreadable(&path, &error)),
        };
        serde_json::from_slice(&text).map_err(|error| unreadable(&path, &error))
    }

    /// Records the models in use. Processes that start later use them.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub fn select(&self, selection: &Selection) -> Result<(), OwnModelError> {
        fs::create_dir_all(&self.root).map_err(|error| unwritable(&self.root, &error))?;
        replace(&self.root.join(SELECTION), selection)
    }

    /// Copies a declaration and the files that it names into a temporary folder. [`OwnFolder::keep`] then makes it the
    /// model's folder.
    ///
    /// # Errors
    /// Names the field or file that cannot be used.
    pub fn stage(&self, declaration: &Path) -> Result<Staged, OwnModelError> {
        let text = fs::read(declaration).map_err(|error| unreadable(declaration, &error))?;
        let parsed = Declaration::parse(&text)?;
        if self.root.join(&parsed.name).exists() {
            return Err(OwnModelError::Exists(parsed.name));
        }
        let from = declaration.parent().unwrap_or(Path::new("."));
        // Before the copy, so that the error names the caller's file.
        check_hash(&from.join(&parsed.model), &parsed.sha256)?;
        self.sweep()?;
        let random: u64 = RandomState::new().hash_one(std::process::id());
        let dir = self.root.join(format!("{STAGED}{random:016x}"));
        fs::create_dir_all(&self.root)
            .and_then(|()| fs::create_dir(&dir))
            .map_err(|error| unwritable(&dir, &error))?;
        let staged = Staged { dir, kept: false };
        copy(&from.join(&parsed.model), &staged.dir.join(MODEL))?;
        for picture in parsed.golden_pictures() {
            copy(&from.join(picture), &staged.dir.join(picture))?;
        }
        let written = staged.dir.join(DECLARATION);
        write(&written, &text).map_err(|error| unwritable(&written, &error))?;
        Ok(staged)
    }

    /// Makes a staged model available under its name.
    ///
    /// # Errors
    /// Fails if the folder cannot be renamed.
    pub fn keep(&self, mut staged: Staged) -> Result<(), OwnModelError> {
        let name = staged.files()?.declaration.name;
        let dir = self.root.join(&name);
        if dir.exists() {
            return Err(OwnModelError::Exists(name));
        }
        fs::rename(&staged.dir, &dir)
            .and_then(|()| sync(&self.root))
            .map_err(|error| unwritable(&dir, &error))?;
        staged.kept = true;
        Ok(())
    }

    /// Removes a model.
    ///
    /// # Errors
    /// Fails if there is no such model, it is in use, or its files cannot be removed.
    pub fn remove(&self, name: &str) -> Result<(), OwnModelError> {
        let dir = self.dir(name)?;
        self.require_unused(name)?;
        // The folder is renamed first, so that one that is only half removed is not taken for a model.
        let removed = self.root.join(format!("{STAGED}{name}"));
        let _ = fs::remove_dir_all(&removed);
        fs::rename(&dir, &removed)
            .and_then(|()| fs::remove_dir_all(&removed))
            .map_err(|error| unwritable(&dir, &error))
    }

    /// Records a model's calibration, a [`Calibration`] or [`EmbedderCalibration`].
    ///
    /// # Errors
    /// Fails if there is no such model, it is in use, or the file cannot be written.
    pub fn calibrate(&self, name: &str, calibration: &impl Serialize) -> Result<(), OwnModelError> {
        let dir = self.dir(name)?;
        self.require_unused(name)?;
        replace(&dir.join(CALIBRATION), calibration)
    }

    /// Removes what is left of additions and removals that were interrupted at least an hour ago.
    fn sweep(&self) -> Result<(), OwnModelError> {
        let Ok(entries) = fs::read_dir(&self.root) else {
            // The folder does not exist yet, or is not readable: then the next write to it reports the problem.
            return Ok(());
        };
        for entry in entries.flatten() {
            let is_staged = entry
                .file_name()
                .to_str()
                .is_some_and(|name| name.starts_with(STAGED));
            let age = entry
                .metadata()
                .and_then(|metadata| metadata.modified())
                .ok()
                .and_then(|at| at.elapsed().ok());
            if is_staged && age.is_some_and(|age| age > ABANDONED) {
                let path = entry.path();
                fs::remove_dir_all(&path).map_err(|error| unwritable(&path, &error))?;
            }
        }
        Ok(())
    }

    /// Checks that a model is not in use. Servers decide with a model and its threshold until they restart, so neither
    /// may change before.
    ///
    /// # Errors
    /// Fails if the model is in use.
    pub fn require_unused(&self, name: &str) -> Result<(), OwnModelError> {
        let selection = self.selection()?;
        match ModelKind::ALL
            .into_iter()
            .find(|kind| selection.of(*kind) == Some(name))
        {
            None => Ok(()),
            Some(kind) => Err(OwnModelError::InUse {
                name: name.to_owned(),
                kind,
            }),
        }
    }

    /// A model's declaration, and its calibration if it has one. This does not check that the calibration was made with
    /// the declaration.
    ///
    /// # Errors
    /// Fails if there is no such model, or a file cannot be read.
    pub fn read(&self, name: &str) -> Result<(Declaration, Option<AnyCalibration>), OwnModelError> {
        let files = self.files(name)?;
        Ok((files.declaration, files.calibration))
    }

    /// Whether a model's file exists. Its content is not checked.
    #[must_use]
    pub fn has_model(&self, name: &str) -> bool {
        is_name(name) && self.root.join(name).join(MODEL).is_file()
    }

    pub(crate) fn files(&self, name: &str) -> Result<ModelFiles, OwnModelError> {
        ModelFiles::read(self.dir(name)?)
    }

    fn dir(&self, name: &str) -> Result<PathBuf, OwnModelError> {
        let dir = self.root.join(name);
        if is_name(name) && dir.is_dir() {
            return Ok(dir);
        }
        Err(OwnModelError::Unknown {
            name: name.to_owned(),
            known: self.names()?,
        })
    }
}

impl Staged {
    pub(crate) fn files(&self) -> Result<ModelFiles, OwnModelError> {
        ModelFiles::read(self.dir.clone())
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        if !self.kept {
            // If this fails, the name marks the folder as incomplete, and `sweep` removes it later.
            let _ = fs::remove_dir_all(&self.dir);
        }
    }
}

impl ModelFiles {
    fn read(dir: PathBuf) -> Result<Self, OwnModelError> {
        let path = dir.join(DECLARATION);
        let text = fs::read(&path).map_err(|error| unreadable(&path, &error))?;
        let declaration = Declaration::parse(&text)?;
        let mut digest = Sha256::new_with_prefix(Sha256::digest(&text));
        let path = dir.join(CALIBRATION);
        let calibration = match fs::read(&path) {
            Ok(text) => {
                digest.update(&text);
                let read = match declaration.kind() {
                    ModelKind::Pad => serde_json::from_slice(&text).map(AnyCalibration::Pad),
                    ModelKind::Embedder => serde_json::from_slice(&text).map(AnyCalibration::Embedder),
                };
                let calibration = read.map_err(|error| unreadable(&path, &error))?;
                if let AnyCalibration::Embedder(embedder) = &calibration
                    && !SCALES.contains(&embedder.scale)
                {
                    return Err(unreadable(&path, &"`scale` is out of range: calibrate again"));
                }
                Some(calibration)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(unreadable(&path, &error)),
        };
        let mut fingerprint = hex::encode(digest.finalize());
        fingerprint.truncate(8);
        Ok(Self {
            declaration,
            declaration_sha256: hex::encode(Sha256::digest(&text)),
            calibration,
            fingerprint,
            dir,
        })
    }

    /// The model's file, if it is the declared one.
    pub(crate) fn model(&self) -> Result<PathBuf, OwnModelError> {
        let path = self.dir.join(MODEL);
        check_hash(&path, &self.declaration.sha256)?;
        Ok(path)
    }

    /// The calibration for presentation attack detection, if it was made with this declaration and this way of cutting
    /// out faces.
    pub(crate) fn calibrated(&self, recipe: u32) -> Result<&Calibration, OwnModelError> {
        let calibration = match &self.calibration {
            Some(AnyCalibration::Pad(calibration)) => calibration,
            None if self.declaration.kind() == ModelKind::Pad => return Err(self.not_calibrated()),
            _ => return Err(self.of_another_kind(ModelKind::Pad)),
        };
        self.require_current(&calibration.declaration_sha256, calibration.recipe == recipe)?;
        match calibration.blindness() {
            None => Ok(calibration),
            Some(apcer) => Err(OwnModelError::Blind {
                name: self.declaration.name.clone(),
                apcer: apcer * 100.0,
            }),
        }
    }

    /// The calibration of an embedder, if it was made with this declaration and this way of aligning faces.
    pub(crate) fn embedder_calibrated(&self, recipe: u32) -> Result<&EmbedderCalibration, OwnModelError> {
        let calibration = match &self.calibration {
            Some(AnyCalibration::Embedder(calibration)) => calibration,
            None if self.declaration.kind() == ModelKind::Embedder => return Err(self.not_calibrated()),
            _ => return Err(self.of_another_kind(ModelKind::Embedder)),
        };
        self.require_current(&calibration.declaration_sha256, calibration.recipe == recipe)?;
        if let Some(matches) = calibration.leaks() {
            return Err(OwnModelError::MatchesStrangers {
                name: self.declaration.name.clone(),
                matches,
                pairs: calibration.own.impostor,
            });
        }
        match calibration.blindness() {
            None => Ok(calibration),
            Some(missed) => Err(OwnModelError::RecognisesNobody {
                name: self.declaration.name.clone(),
                missed: missed * 100.0,
            }),
        }
    }

    fn require_current(&self, declaration_sha256: &str, same_recipe: bool) -> Result<(), OwnModelError> {
        if declaration_sha256 == self.declaration_sha256 && same_recipe {
            return Ok(());
        }
        Err(OwnModelError::OutdatedCalibration(self.declaration.name.clone()))
    }

    fn not_calibrated(&self) -> OwnModelError {
        OwnModelError::NotCalibrated {
            name: self.declaration.name.clone(),
            kind: self.declaration.kind(),
        }
    }

    /// Fails if the model is of another kind.
    pub(crate) fn require_kind(&self, kind: ModelKind) -> Result<(), OwnModelError> {
        if self.declaration.kind() == kind {
            return Ok(());
        }
        Err(self.of_another_kind(kind))
    }

    fn of_another_kind(&self, wanted: ModelKind) -> OwnModelError {
        OwnModelError::Kind {
            name: self.declaration.name.clone(),
            kind: self.declaration.kind(),
            wanted,
        }
    }
}

/// Fails unless the file has this SHA-256 (hexadecimal).
fn check_hash(path: &Path, declared: &str) -> Result<(), OwnModelError> {
    let found = sha256_of(path).map_err(|error| unreadable(path, &error))?;
    if found == declared {
        return Ok(());
    }
    let path = path.to_path_buf();
    Err(OwnModelError::Changed { path, found })
}

fn copy(from: &Path, to: &Path) -> Result<(), OwnModelError> {
    let mut source = File::open(from).map_err(|error| unreadable(from, &error))?;
    let copied = File::create(to).and_then(|mut file| {
        io::copy(&mut source, &mut file)?;
        file.sync_all()
    });
    copied.map_err(|error| unwritable(to, &error))
}

/// Replaces a file as a whole.
fn replace(path: &Path, content: &impl Serialize) -> Result<(), OwnModelError> {
    let temporary = path.with_extension("json.new");
    let written = serde_json::to_vec_pretty(content)
        .map_err(io::Error::other)
        .and_then(|text| write(&temporary, &text))
        .and_then(|()| fs::rename(&temporary, path))
        .and_then(|()| sync(path.parent().unwrap_or(Path::new("."))));
    written.map_err(|error| unwritable(path, &error))
}

fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(content)?;
    file.sync_all()
}

fn sync(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

fn unreadable(path: &Path, reason: &impl ToString) -> OwnModelError {
    OwnModelError::Unreadable {
        path: path.to_owned(),
        reason: reason.to_string(),
    }
}

fn unwritable(path: &Path, reason: &impl ToString) -> OwnModelError {
    OwnModelError::Unwritable {
        path: path.to_owned(),
        reason: reason.to_string(),
    }
}
