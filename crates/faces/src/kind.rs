//! The kind of picture, which decides how faces are searched and which quality rules apply.

/// The expected content of a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PictureKind {
    /// A person's own picture, usually upright.
    Selfie,
    /// An identity document in any orientation, with a small portrait and possibly its ghost image.
    Document,
}
