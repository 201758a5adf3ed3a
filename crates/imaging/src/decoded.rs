//! What decoding gives: a picture as the file stores it, and the upright one with what is known of its file. And the one
//! check that every format makes first.

use crate::error::DecodeError;
use crate::format::Format;
use crate::limits::Limits;
use crate::picture::Picture;

/// A decoded file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decoded {
    /// The upright picture.
    pub picture: Picture,
    /// What the file was.
    pub format: Format,
    /// Width as stored, before [`Limits::max_side`] and EXIF orientation; of a PDF page as rendered.
    pub source_width: u32,
    /// Height as stored, likewise.
    pub source_height: u32,
    /// The EXIF orientation tag (1–8) that was applied; 1 where there is none.
    pub exif_orientation: u8,
    /// Which page of a PDF this is, counted from 0.
    pub page: Option<u32>,
    /// How many pages the PDF has.
    pub pages: Option<u32>,
}

/// A picture as the file stores it.
pub(crate) struct Stored {
    pub(crate) picture: Picture,
    pub(crate) exif_orientation: u8,
}

/// Refuses a declared size before anything is allocated for it.
pub(crate) fn check_size(width: u32, height: u32, limits: &Limits) -> Result<(), DecodeError> {
    if width == 0 || height == 0 {
        return Err(DecodeError::Damaged);
    }
    if u64::from(width) * u64::from(height) > limits.max_pixels {
        return Err(DecodeError::TooManyPixels { width, height });
    }
    Ok(())
}
