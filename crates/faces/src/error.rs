//! Why the engine could not answer. A picture without a face is an answer, not an error.

use inference::ModelError;
use thiserror::Error;

/// Why a picture was not analysed. Never the picture's fault: any pixels give a reading.
#[derive(Debug, Error)]
pub enum FaceError {
    /// A model is missing or the runtime refused to run it.
    #[error("a face model did not run")]
    Model(#[from] ModelError),
    /// A model answered with a tensor of a shape that its documentation rules out.
    #[error("the model `{0}` gave an answer of an unexpected shape")]
    UnexpectedAnswer(&'static str),
}

impl FaceError {
    /// A stable, short name for logs, metrics and batch output.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Model(_) => "model-failed",
            Self::UnexpectedAnswer(_) => "model-answer",
        }
    }
}
