//! The models by name: what each takes and answers. A fact about a model is stated here only.

/// A model of the catalogue, with its contract. `N` is a batch of any size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ModelName {
    /// BlazeFace (back camera, from `@vladmandic/human`).
    ///
    /// Takes `[N, 256, 256, 3]`, RGB, −1..1 (`v / 127.5 − 1`). Answers one tensor `[N, 896, 17]`, a row per anchor: the
    /// score before its sigmoid, then box centre x, y and width, height in pixels of the 256² input relative to
    /// the anchor, then six points x, y likewise (right eye, left eye, nose, mouth, right ear, left ear, in the
    /// person's own sides). Anchors: first a 16×16 grid with two each (rows 0–511), then 8×8 with six each.
    FaceDetector,
    /// FaceMesh (from `@vladmandic/human`).
    ///
    /// Takes `[N, 192, 192, 3]`, RGB, 0..1. Answers `[N, 1404]`: 468 points x, y, z in pixels of the input, and
    /// `[N, 1]`: the probability that a face is there.
    FaceMesh,
    /// dlib's ResNet-29 (from `@vladmandic/face-api`, 8-bit weights).
    ///
    /// Takes `[N, 3, 150, 150]`, RGB, 0..255 (it subtracts its own mean). Answers `[N, 128]`, not normalised; faces are
    /// compared by Euclidean distance.
    FaceEmbedding,
    /// FaceRes (from `@vladmandic/human`), its descriptor only: age and gender are left out on purpose.
    ///
    /// Takes `[N, 224, 224, 3]`, RGB, 0..255. Answers `[N, 1024]`.
    FaceFeatures,
    /// PP-OCRv6 small, detection (from `rapidocr`).
    ///
    /// Takes `[N, 3, H, W]`, BGR, `(v / 255 − mean) / deviation` as PP-OCR does, H and W multiples of 32. Answers
    /// `[N, 1, H, W]`: the probability that a pixel belongs to text.
    TextDetector,
    /// PP-OCRv6 small, recognition (from `rapidocr`); its alphabet is in the metadata under `character`.
    ///
    /// Takes `[N, 3, 48, W]`, BGR, −1..1. Answers `[N, W / 8, classes]`: probabilities, class 0 being CTC's blank.
    TextRecogniser,
}

/// The order of a picture's dimensions in a tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// Batch, height, width, channel.
    Nhwc,
    /// Batch, channel, height, width.
    Nchw,
}

impl ModelName {
    /// Every model, in the order of the declaration.
    pub const ALL: [Self; 6] = [
        Self::FaceDetector,
        Self::FaceMesh,
        Self::FaceEmbedding,
        Self::FaceFeatures,
        Self::TextDetector,
        Self::TextRecogniser,
    ];

    /// The model's name in the manifest.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::FaceDetector => "face-detector",
            Self::FaceMesh => "face-mesh",
            Self::FaceEmbedding => "face-embedding",
            Self::FaceFeatures => "face-features",
            Self::TextDetector => "text-detector",
            Self::TextRecogniser => "text-recogniser",
        }
    }

    /// How the model wants its pictures laid out.
    #[must_use]
    pub const fn layout(self) -> Layout {
        match self {
            Self::FaceDetector | Self::FaceMesh | Self::FaceFeatures => Layout::Nhwc,
            Self::FaceEmbedding | Self::TextDetector | Self::TextRecogniser => Layout::Nchw,
        }
    }

    /// A usual input: the only one (but for the batch) of the face models, a small one of the text models.
    #[must_use]
    pub const fn nominal_shape(self) -> [usize; 4] {
        match self {
            Self::FaceDetector => [1, 256, 256, 3],
            Self::FaceMesh => [1, 192, 192, 3],
            Self::FaceEmbedding => [1, 3, 150, 150],
            Self::FaceFeatures => [1, 224, 224, 3],
            Self::TextDetector => [1, 3, 320, 320],
            Self::TextRecogniser => [1, 3, 48, 320],
        }
    }
}
