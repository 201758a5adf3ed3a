//! Errors of own models. Each names the file or field, and the solution.

use std::path::PathBuf;

/// Why an own model cannot be added, calibrated or used.
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
    #[error("`{field}` in the declaration: {fix}")]
    Field {
        /// Its path, such as `input.width`.
        field: &'static str,
        /// What is accepted.
        fix: String,
    },
    /// There is no model of this name.
    #[error("no model `{name}` was added; known: {}", if .known.is_empty() { "none".to_owned() } else { .known.join(", ") })]
    Unknown {
        /// The name.
        name: String,
        /// The models that were added.
        known: Vec<String>,
    },
    /// There is a model of this name already.
    #[error(
        "a model `{0}` was added before. Give the new one another name, or remove the old one with `bonafide models remove {0}`"
    )]
    Exists(String),
    /// The model is in use.
    #[error(
        "the model `{0}` is in use. First run `bonafide models use --built-in pad`, and restart the servers"
    )]
    InUse(String),
    /// The server's settings require another model.
    #[error(
        "`--pad` requires the own model `{required}`, and {} is in use: restore the folder `own` in the models folder and \
         run `bonafide models use {required}`, or change `--pad`",
        .used.as_ref().map_or_else(|| "none".to_owned(), |used| format!("`{used}`"))
    )]
    Required {
        /// The model that is required.
        required: String,
        /// The model in use.
        used: Option<String>,
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
    #[error(
        "the model `{0}` is not calibrated: run `bonafide models calibrate {0} --live FOLDER --attacks FOLDER`"
    )]
    NotCalibrated(String),
    /// The calibration was made with another declaration, or another way to cut out faces.
    #[error(
        "the calibration of the model `{0}` is for another declaration or another version of Bonafide: run `bonafide models calibrate {0}` again"
    )]
    OutdatedCalibration(String),
    /// The calibration shows that the model does not tell attacks from live people.
    #[error(
        "the model `{name}` takes {apcer:.0} % of the attacks in its best type for live people. Either `output.class` or `output.means` in its declaration is wrong, or it is not made for such attacks"
    )]
    Blind {
        /// The model.
        name: String,
        /// Its lowest APCER, in per cent.
        apcer: f64,
    },
}
