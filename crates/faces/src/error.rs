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
    /// A custom model did not run, or gave no usable answer.
    #[error("the custom model `{model}` cannot be used: {reason}")]
    OwnModel {
        /// The model.
        model: String,
        /// Why.
        reason: String,
    },
    /// A custom model gave a golden picture a different score than declared.
    #[error(
        "the custom model `{model}` gives the golden picture `{picture}` the score {found:.4}, but its declaration \
         requires {expected} ± {tolerance}. Check `input` and `output` in the declaration"
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
    /// A custom embedder gave a golden picture different numbers than declared.
    #[error(
        "the custom model `{model}` gives the golden picture `{picture}` numbers at a cosine distance of {distance:.4} \
         from the declared ones, but its declaration allows {tolerance}. Check `input` and `output` in the declaration"
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
