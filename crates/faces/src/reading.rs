//! What a picture shows: its faces, each with its place, pose, quality and embedding.
//!
//! Finds and judges nothing itself; see [`crate::FaceEngine`].

use imaging::Point;

use crate::embedding::Embedding;
use crate::mesh::Pose;
use crate::quality::QualityIssue;

/// The centres of a face's eyes in picture pixels, by the person's own sides.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Eyes {
    /// The right eye: on the left in a picture that is not mirrored.
    pub right: Point,
    /// The left eye.
    pub left: Point,
}

/// One face of a picture.
#[derive(Debug, Clone)]
pub struct Face {
    /// Left, top, width, height in picture pixels; may reach past the picture's edge.
    pub bounds: [f32; 4],
    /// The detector's score, 0–1.
    pub score: f32,
    /// Whether it counts; see [`FaceReading::significant`].
    pub significant: bool,
    /// Where its eyes are.
    pub eyes: Eyes,
    /// How the head is turned.
    pub pose: Pose,
    /// The distance between the eyes' centres in pixels, as if the head looked straight ahead.
    pub inter_eye_px: f32,
    /// What is wrong with it, gravest first; empty when nothing is.
    pub quality: Vec<QualityIssue>,
    /// The numbers to compare it by; only foreground faces have them.
    pub embedding: Option<Embedding>,
}

impl Face {
    /// Whether a quality fault forbids to compare this face.
    pub fn is_usable(&self) -> bool {
        self.embedding.is_some() && !self.quality.iter().any(|issue| issue.blocking)
    }
}

/// The faces of a picture.
#[derive(Debug, Clone, Default)]
pub struct FaceReading {
    /// Every face, largest first.
    pub faces: Vec<Face>,
}

impl FaceReading {
    /// The faces that count: neither background nor a document's ghost portrait. Largest first. A verification needs
    /// exactly one.
    pub fn significant(&self) -> impl Iterator<Item = &Face> {
        self.faces.iter().filter(|face| face.significant)
    }

    /// The largest significant face.
    pub fn main(&self) -> Option<&Face> {
        self.significant().next()
    }
}
