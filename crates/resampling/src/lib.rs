//! Resizes raw pixels by convolution: a bilinear kernel (antialiased) for reducing, Catmull-Rom for enlarging.
//!
//! The resizer compiles thousands of small functions for each type of pixel. This separate crate compiles them
//! once, not again for the tests of `imaging`.
//!
//! It decodes no files. Callers pass sizes and raw bytes.

use fast_image_resize::images::{TypedCroppedImage, TypedImage, TypedImageRef};
use fast_image_resize::pixels::{U8, U8x3};
use fast_image_resize::{FilterType, PixelTrait, ResizeAlg, ResizeOptions, Resizer};

/// A rectangle inside a picture, in pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// The first column.
    pub left: u32,
    /// The first row.
    pub top: u32,
    /// The number of columns.
    pub width: u32,
    /// The number of rows.
    pub height: u32,
}

impl Part {
    /// All of a picture of this size (width, height).
    pub fn whole((width, height): (u32, u32)) -> Self {
        Self {
            left: 0,
            top: 0,
            width,
            height,
        }
    }
}

/// Resizes a part of rows of RGB pixels, three bytes each, from a picture of `from` to `to` (width, height). Pixels
/// outside the part have no effect, so the result is that of a copy of the part.
pub fn resize_rgb(pixels: &[u8], from: (u32, u32), part: Part, to: (u32, u32)) -> Vec<u8> {
    resize::<U8x3>(pixels, from, part, to)
}

/// Resizes rows of grey pixels, one byte each, from `from` to `to` (width, height).
pub fn resize_grey(pixels: &[u8], from: (u32, u32), to: (u32, u32)) -> Vec<u8> {
    resize::<U8>(pixels, from, Part::whole(from), to)
}

/// The pixel type is a parameter, because `Resizer::resize` compiles the code of all thirteen types.
fn resize<P: PixelTrait>(pixels: &[u8], from: (u32, u32), part: Part, to: (u32, u32)) -> Vec<u8> {
    let filter = if to.0 < part.width {
        FilterType::Bilinear
    } else {
        FilterType::CatmullRom
    };
    let options = ResizeOptions::new().resize_alg(ResizeAlg::Convolution(filter));
    let mut resized = vec![0; to.0 as usize * to.1 as usize * P::size()];
    let source = TypedImageRef::<P>::from_buffer(from.0, from.1, pixels)
        .ok()
        .and_then(|whole| TypedCroppedImage::new(whole, part.left, part.top, part.width, part.height).ok());
    let target = TypedImage::<P>::from_buffer(to.0, to.1, &mut resized);
    let done = match (source, target) {
        (Some(source), Ok(mut target)) => Resizer::new()
            .resize_typed(&source, &mut target, &options)
            .is_ok(),
        _ => false,
    };
    // The resizer refuses only buffers that do not fit their size or type, and parts outside them. Those of pictures
    // always fit.
    debug_assert!(done, "resize refused a valid picture");
    resized
}
