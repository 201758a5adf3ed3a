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
    /// An operator's own model did not run, or gave no usable answer.
    #[error("the own model `{model}` cannot be used: {reason}")]
    OwnModel {
        /// The model.
        model: String,
        /// Why.
        reason: String,
    },
    /// An own model gave a golden picture another score than declared.
    #[error(
        "the own model `{model}` gives the golden picture `{picture}` the score {found:.4}, and its declaration says \
         {expected} ± {tolerance}. Check `input` and `output` in the declaration"
    )]
    Golden {
        /// The model.
        model: String,
        /// The picture's file name.
        picture: String,
        /// The score.
        found: f32,
        /// The declared score.
        expected: f32,
        /// The declared tolerance.
        tolerance: f32,
    },
    /// An own embedder gave a golden picture other numbers than declared.
    #[error(
        "the own model `{model}` gives the golden picture `{picture}` numbers at a cosine distance of {distance:.4} from \
         those of its declaration, which allows {tolerance}. Check `input` and `output` in the declaration"
    )]
    GoldenEmbedding {
        /// The model.
        model: String,
        /// The picture's file name.
        picture: String,
        /// The cosine distance.
        distance: f32,
        /// The declared tolerance.
        tolerance: f32,
    },
}

impl FaceError {
    /// A stable, short name for logs, metrics and batch output.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Model(_) | Self::OwnModel { .. } => "model-failed",
            Self::Golden { .. } | Self::GoldenEmbedding { .. } | Self::UnexpectedAnswer(_) => "model-answer",
        }
    }
}
