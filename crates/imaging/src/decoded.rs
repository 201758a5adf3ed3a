//! The results of decoding: a picture as stored in its file, and the upright picture with data about its
//! file. Also the size check that every format makes first.

use crate::error::DecodeError;
use crate::format::Format;
use crate::limits::Limits;
use crate::picture::Picture;

/// A decoded file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decoded {
    /// The upright picture.
    pub picture: Picture,
    /// The file's format.
    pub format: Format,
    /// Width as stored, before [`Limits::max_side`] and EXIF orientation; for a PDF, the width of the
    /// rendered page.
    pub source_width: u32,
    /// Height, in the same way.
    pub source_height: u32,
    /// The EXIF orientation tag (1–8) that was applied; 1 if there is none.
    pub exif_orientation: u8,
    /// The index of the PDF's page, counted from 0; `None` for other formats.
    pub page: Option<u32>,
    /// The number of the PDF's pages; `None` for other formats.
    pub pages: Option<u32>,
}

/// A picture as the file stores it.
pub(crate) struct StoredPicture {
    pub(crate) picture: Picture,
    pub(crate) exif_orientation: u8,
}

/// Checks a declared size before anything is allocated for it.
pub(crate) fn check_size(width: u32, height: u32, limits: &Limits) -> Result<(), DecodeError> {
    if width == 0 || height == 0 {
        return Err(DecodeError::Damaged);
    }
    if u64::from(width) * u64::from(height) > limits.max_pixels {
        return Err(DecodeError::TooManyPixels { width, height });
    }
    Ok(())
}
