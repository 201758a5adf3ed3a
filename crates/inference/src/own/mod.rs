//! An operator's custom models: folders below `own` in the models folder. `bonafide models` writes them, and every
//! process that runs models reads them.
//!
//! - `NAME/declaration.json`: the [`Declaration`], with the file's hash, its input and its golden test.
//! - `NAME/model.onnx` and the golden pictures.
//! - `NAME/calibration.json`: the [`Calibration`] or [`EmbedderCalibration`]. Without one, the model decides nothing.
//! - `use.json`: the [`Selection`].
//!
//! Every error fails closed: a selected model that cannot be used stops the engines, and the built-in one never takes
//! its place. This module never reads a picture; `faces` cuts out the inputs.

mod calibration;
mod declaration;
mod embedder_calibration;
mod error;
mod folder;
mod kind;
mod model;
mod names;

pub use calibration::{Calibration, Presentations};
pub use declaration::{
    Activation, Channels, Crop, Declaration, EmbedderPurpose, EmbeddingOutput, Golden, GoldenSubject,
    Meaning, ModelInput, ModelOutput, PadPurpose, Purpose, Template,
};
pub use embedder_calibration::{EmbedderCalibration, Pairs, SCALES};
pub use error::OwnModelError;
pub(crate) use folder::ModelFiles;
pub use folder::{AnyCalibration, OwnFolder, Selection, Staged};
pub use kind::ModelKind;
pub use model::OwnModel;
