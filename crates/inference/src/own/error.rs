//! Errors of custom models. Each names the file or field, and the solution.

use std::path::PathBuf;

use super::kind::ModelKind;

/// Why a custom model cannot be added, calibrated or used.
#[derive(Debug, thiserror::Error)]
pub enum OwnModelError {
    /// A file cannot be read.
    #[error("{} cannot be read: {reason}", .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// A file cannot be written.
    #[error("{} cannot be written: {reason}", .path.display())]
    Unwritable {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// A field of a declaration has a value that is not accepted.
    #[error("the declaration is not valid (`{field}`): {fix}")]
    Field {
        /// Its path, such as `input.width`.
        field: &'static str,
        /// What is accepted.
        fix: String,
    },
    /// There is no model of this name.
    #[error(
        "no model named `{name}` was added. Added models: {}",
        if .known.is_empty() { "none".to_owned() } else { .known.join(", ") }
    )]
    Unknown {
        /// The name.
        name: String,
        /// The models that were added.
        known: Vec<String>,
    },
    /// There is a model of this name already.
    #[error(
        "a model named `{0}` already exists. Give the new one another name, or remove the old one with \
         `bonafide models remove {0}`"
    )]
    Exists(String),
    /// The model is in use.
    #[error(
        "the model `{name}` is in use. First run `bonafide models use --built-in {kind}`, and restart the servers"
    )]
    InUse {
        /// The model.
        name: String,
        /// Its kind.
        kind: ModelKind,
    },
    /// The server's settings require another model.
    #[error(
        "`--{kind}` requires the custom model `{required}`, but {} is in use: restore the folder `own` in the models \
         folder and run `bonafide models use {required}`, or change `--{kind}`",
        .used.as_ref().map_or_else(|| "none".to_owned(), |used| format!("`{used}`"))
    )]
    Required {
        /// The kind of model.
        kind: ModelKind,
        /// The model that is required.
        required: String,
        /// The model in use.
        used: Option<String>,
    },
    /// The model is of another kind.
    #[error(
        "the model `{name}` is of kind `{kind}`, not `{wanted}`; `bonafide models list` shows all models"
    )]
    Kind {
        /// The model.
        name: String,
        /// Its kind.
        kind: ModelKind,
        /// The kind that was needed.
        wanted: ModelKind,
    },
    /// The model's file is not the declared one.
    #[error("{} is not the declared file: its SHA-256 is {found}. Restore the file, or correct `sha256` in the declaration", .path.display())]
    Changed {
        /// The file.
        path: PathBuf,
        /// Its hash, hexadecimal.
        found: String,
    },
    /// The model has no calibration.
    #[error("the model `{name}` is not calibrated: run `bonafide models calibrate {name} {}`", match .kind {
        ModelKind::Pad => "--live FOLDER --attacks FOLDER",
        ModelKind::Embedder => "--people FOLDER",
    })]
    NotCalibrated {
        /// The model.
        name: String,
        /// Its kind.
        kind: ModelKind,
    },
    /// The calibration was made with another declaration, or with another way of cutting out faces.
    #[error(
        "the model `{0}` was calibrated with another declaration or another version of Bonafide: run \
         `bonafide models calibrate {0}` again"
    )]
    OutdatedCalibration(String),
    /// The calibration shows that the model does not distinguish attacks from live people.
    #[error(
        "the model `{name}` classifies {apcer:.0} % of the attacks as live, even for the type that it detects best. \
         Either `output.class` or `output.means` in its declaration is wrong, or the model was not made for such \
         attacks"
    )]
    Blind {
        /// The model.
        name: String,
        /// Its lowest APCER, in per cent.
        apcer: f64,
    },
    /// The calibration shows that the model does not recognise people.
    #[error(
        "the model `{name}` does not match {missed:.0} % of the pairs of one person. Either `input` in its declaration \
         is wrong, or the model was not trained for faces"
    )]
    RecognisesNobody {
        /// The model.
        name: String,
        /// The share of such pairs, in per cent.
        missed: f64,
    },
    /// The calibration shows that the model matches too many pairs of two people.
    #[error(
        "the model `{name}` matches {matches} of {pairs} pairs of two people, more than the default threshold allows \
         and more than the built-in networks match. Calibrate it with more people, or use another model"
    )]
    MatchesStrangers {
        /// The model.
        name: String,
        /// The false matches of the reported half.
        matches: u64,
        /// Its pairs of two people.
        pairs: u64,
    },
}
