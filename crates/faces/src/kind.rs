//! What a picture is supposed to show: it decides where faces are looked for and what is asked of them.

/// What a picture is supposed to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PictureKind {
    /// A person, taken by that person: upright as a rule.
    Selfie,
    /// An identity document: in any orientation, with a small portrait and perhaps a ghost image of it.
    Document,
}
