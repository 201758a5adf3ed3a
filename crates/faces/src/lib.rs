//! Pixels to faces: detection, quality, embedding, similarity, liveness, and the exact face index.
//!
//! [`FaceEngine::analyse`] finds the faces of a picture (BlazeFace on windows onto it, confirmed by FaceMesh), tells the
//! significant ones from a crowd in the background or an ID card's ghost portrait, judges their quality and turns each
//! into an [`Embedding`]. Two embeddings compare by [`distance`], which [`similarity`] puts on a calibrated scale of
//! 0–100 and [`MatchVerdict`] cuts into match, review and no match. [`FaceEngine::liveness`] looks for signs of a picture
//! of a picture. [`FaceIndex`] finds a face among millions, exactly.
//!
//! The crate never decides about a person (that is `verification`), never guesses age, sex or origin, keeps nothing, and
//! knows no HTTP and no SQL. Pixels, embeddings and file contents appear in no error text and no `Debug` output.

mod align;
mod batch;
mod detector;
mod embedding;
mod engine;
mod error;
mod index;
mod kind;
mod liveness;
mod mesh;
mod quality;
mod reading;
mod significance;
mod similarity;
mod spectrum;
mod window;

pub use batch::{check_liveness_line, compare_faces_line, detect_faces_line};
pub use embedding::{EMBEDDING_BYTES, EMBEDDING_LEN, Embedding, InvalidEmbedding, distance};
pub use engine::FaceEngine;
pub use error::FaceError;
pub use index::{FaceIndex, Hit};
pub use kind::PictureKind;
pub use liveness::{Cues, Liveness, LivenessOutcome};
pub use mesh::Pose;
pub use quality::QualityIssue;
pub use reading::{Eyes, Face, FaceReading};
pub use similarity::{
    COPY_DISTANCE, IDENTIFICATION_BAND, IDENTIFICATION_DISTANCE, Identification, MATCH_SIMILARITY,
    MatchVerdict, REVIEW_SIMILARITY, similarity,
};
