//! The kinds of custom models.

use serde::{Deserialize, Serialize};

/// What a custom model is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ModelKind {
    /// Presentation attack detection: whether a selfie shows a picture of a picture, a mask or a rendered face.
    Pad,
    /// Face embeddings: whether two pictures show one person.
    Embedder,
}

impl std::fmt::Display for ModelKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl ModelKind {
    /// All kinds.
    pub const ALL: [Self; 2] = [Self::Pad, Self::Embedder];

    /// The name of the kind.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pad => "pad",
            Self::Embedder => "embedder",
        }
    }
}
