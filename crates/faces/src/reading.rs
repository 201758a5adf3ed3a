//! The faces of a picture with their position, pose, quality and embedding.
//!
//! This module contains only data; see [`crate::FaceEngine`] for the analysis.

use imaging::Point;
use serde::{Deserialize, Serialize};

use crate::embedding::Embedding;
use crate::mesh::Pose;
use crate::quality::QualityIssue;
use crate::texture::Texture;

/// The centres of a face's eyes in picture pixels. Left and right are the person's own.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Eyes {
    /// The right eye, on the left in a picture that is not mirrored.
    pub right: Point,
    /// The left eye.
    pub left: Point,
}

/// One face of a picture.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Face {
    /// Left, top, width, height in picture pixels; may extend beyond the picture's edge.
    pub bounds: [f32; 4],
    /// The detector's score, 0–1.
    pub score: f32,
    /// Whether the face is significant; see [`FaceReading::significant`].
    pub significant: bool,
    /// The centres of its eyes.
    pub eyes: Eyes,
    /// The orientation of the head.
    pub pose: Pose,
    /// The distance between the eyes' centres in pixels, as if the head faced the camera.
    pub inter_eye_px: f32,
    /// Quality issues, in the order of severity.
    pub quality: Vec<QualityIssue>,
    /// The embedding for comparisons. Only the largest foreground faces have one.
    pub embedding: Option<Embedding>,
    /// The texture, which tells a copy of a picture from a second picture. Faces with an embedding have one.
    pub texture: Option<Texture>,
}

impl Face {
    /// Whether the face can be compared: it has an embedding and no blocking quality issue.
    pub fn is_usable(&self) -> bool {
        self.embedding.is_some() && !self.quality.iter().any(|issue| issue.blocking)
    }
}

/// The faces of a picture.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FaceReading {
    /// Every face, largest first.
    pub faces: Vec<Face>,
}

impl FaceReading {
    /// The significant faces, largest first: neither background nor a document's ghost portrait. A
    /// verification needs exactly one.
    pub fn significant(&self) -> impl Iterator<Item = &Face> {
        self.faces.iter().filter(|face| face.significant)
    }

    /// The largest significant face.
    pub fn main(&self) -> Option<&Face> {
        self.significant().next()
    }
}
