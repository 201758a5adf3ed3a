//! Errors of the face engine. A picture without a face is a result, not an error.

use inference::ModelError;
use thiserror::Error;

/// Why a picture was not analysed. The picture is never the cause: any pixels give a reading.
#[derive(Debug, Error)]
pub enum FaceError {
    /// A model is missing or the runtime refused to run it.
    #[error("a face model did not run")]
    Model(#[from] ModelError),
    /// A model returned a tensor of another shape than documented, or invalid numbers.
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
