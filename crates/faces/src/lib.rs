//! Faces in pictures: detection, quality, embedding, similarity, liveness, and the exact face index.
//!
//! - [`FaceEngine::analyse`] finds the faces of a picture: BlazeFace detects them in windows, and FaceMesh
//!   confirms them. It separates significant faces from background faces and an ID card's ghost portrait. It
//!   checks their quality and computes an [`Embedding`] of each.
//! - [`distance`] compares two embeddings. [`similarity`] converts the distance to a calibrated scale of
//!   0–100, and [`MatchVerdict`] divides that scale into match, review and no match.
//! - [`FaceEngine::film`] measures the frames of a film: poses, colours, and depth by followed pixels.
//! - [`FaceEngine::passive_cue`] checks for signs of a picture of a picture, also with a custom model.
//! - [`KnownFaces`] finds a face among millions, exactly. It has a [`FaceIndex`] of the built-in networks, and a second
//!   index of the faces that a custom embedder measured.
//!
//! This crate never decides about a person; `verification` does. It never estimates age, sex or origin,
//! persists nothing, and uses neither HTTP nor SQL. Error texts and `Debug` output never contain pixels,
//! embeddings or file contents.

mod align;
mod batch;
mod detector;
mod embedder;
mod embedding;
mod engine;
mod error;
mod film;
mod index;
mod kind;
mod mesh;
mod own_embedder;
mod own_index;
mod own_input;
mod pad_model;
mod passive_cue;
mod quality;
mod reading;
mod restore;
mod same_picture;
mod significance;
mod similarity;
mod texture;
mod window;

pub use batch::{check_liveness_line, compare_faces_line, detect_faces_line};
pub use embedding::{
    EMBEDDING_LEN, Embedding, InvalidEmbedding, are_comparable, built_in_distance, built_in_version,
    distance, has_own_part, is_of_same_picture,
};
pub use engine::FaceEngine;
pub use error::FaceError;
pub use film::{FilmFrame, FilmRequest, FilmedFace, Relief, Track};
pub use index::{FaceIndex, Hit};
pub use kind::PictureKind;
pub use mesh::Pose;
pub use own_embedder::EMBEDDER_RECIPE;
pub use own_index::KnownFaces;
pub use pad_model::{PAD_RECIPE, PadScore};
pub use passive_cue::{CueOutcome, Cues, PassiveCue};
pub use quality::QualityIssue;
pub use reading::{Eyes, Face, FaceReading};
pub use same_picture::is_same_picture;
pub use similarity::{
    IDENTIFICATION_BAND, IDENTIFICATION_DISTANCE, Identification, MATCH_SIMILARITY, MatchVerdict,
    REVIEW_SIMILARITY, is_copy, similarity,
};
pub use texture::Texture;
