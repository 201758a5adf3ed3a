//! What a [`crate::Pyramid`] needs to know of a picture, in colour or grey.

/// A picture that can be reduced to a half.
pub trait Reducible {
    /// Its width and height in pixels.
    fn size(&self) -> (u32, u32);

    /// The picture with sides of half the length, rounded down: each pixel is the mean of four. Both sides are at least
    /// two pixels long.
    #[must_use]
    fn halved(&self) -> Self;
}
