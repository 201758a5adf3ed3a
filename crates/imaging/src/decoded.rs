//! The results of decoding: a picture as stored in its file, and the upright picture with data about its
//! file. Also the size check that every format makes first.

use std::borrow::Cow;

use crate::error::DecodeError;
use crate::format::Format;
use crate::limits::Limits;
use crate::origin::FileOrigin;
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
    /// What the file's metadata say about its origin; nothing for a PDF or a BMP.
    pub origin: FileOrigin,
    /// The steps to which the file rounds luma's DCT coefficients, 1–255 or 65,535, row by row from the lowest
    /// frequency: a JPEG's. In a lossless file they are 1. `None` for a PDF, and for a WEBP, which may be lossy.
    pub luma_steps: Option<[u16; 64]>,
}

impl Decoded {
    /// The picture with its pixels where the file stores them, before EXIF orientation; `None` if it was reduced.
    pub fn as_stored(&self) -> Option<Cow<'_, Picture>> {
        let picture = match self.exif_orientation {
            1 => Cow::Borrowed(&self.picture),
            // A quarter turn is undone by the opposite one, anything else by itself.
            6 => Cow::Owned(self.picture.clone().oriented(8)),
            8 => Cow::Owned(self.picture.clone().oriented(6)),
            other => Cow::Owned(self.picture.clone().oriented(other)),
        };
        let is_whole = (picture.width, picture.height) == (self.source_width, self.source_height);
        is_whole.then_some(picture)
    }

    /// Where a point of the stored picture lies in the upright one (CIPA DC-008 §4.6.5).
    pub fn upright_point(&self, x: f32, y: f32) -> (f32, f32) {
        let (left, up) = (self.source_width as f32 - x, self.source_height as f32 - y);
        match self.exif_orientation {
            2 => (left, y),
            3 => (left, up),
            4 => (x, up),
            5 => (y, x),
            6 => (up, x),
            7 => (up, left),
            8 => (y, left),
            _ => (x, y),
        }
    }
}

/// A picture as the file stores it.
pub(crate) struct StoredPicture {
    pub(crate) picture: Picture,
    pub(crate) exif_orientation: u8,
    pub(crate) origin: FileOrigin,
    pub(crate) luma_steps: Option<[u16; 64]>,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_pixel_is_found_in_the_upright_picture_and_back() {
        for exif_orientation in 1..=8 {
            let mut stored = Picture::filled(7, 5, [0; 3]);
            stored.pixels[(3 * 7 + 1) * 3..][..3].fill(200);
            let decoded = Decoded {
                picture: stored.clone().oriented(exif_orientation),
                format: Format::Jpeg,
                source_width: 7,
                source_height: 5,
                exif_orientation,
                page: None,
                pages: None,
                origin: FileOrigin::default(),
                luma_steps: None,
            };
            assert_eq!(
                decoded.as_stored().as_deref(),
                Some(&stored),
                "{exif_orientation}"
            );
            // The middle of the pixel, so that it lies inside the pixel on both sides.
            let (x, y) = decoded.upright_point(1.5, 3.5);
            let found = decoded.picture.pixel(x as u32, y as u32);
            assert_eq!(found, [200; 3], "{exif_orientation}: {x}, {y}");
        }
    }

    #[test]
    fn a_reduced_picture_is_not_as_stored() {
        let decoded = Decoded {
            picture: Picture::filled(4, 3, [0; 3]),
            format: Format::Jpeg,
            source_width: 8,
            source_height: 6,
            exif_orientation: 1,
            page: None,
            pages: None,
            origin: FileOrigin::default(),
            luma_steps: None,
        };
        assert_eq!(decoded.as_stored(), None);
    }
}
