//! Resizes raw pixels by convolution: a bilinear kernel (antialiased) for reducing, Catmull-Rom for enlarging.
//!
//! The resizer compiles thousands of small functions for each type of pixel. This separate crate compiles them
//! once, not again for the tests of `imaging`.
//!
//! It decodes no files. Callers pass sizes and raw bytes.

use fast_image_resize::images::{TypedImage, TypedImageRef};
use fast_image_resize::pixels::{U8, U8x3};
use fast_image_resize::{FilterType, PixelTrait, ResizeAlg, ResizeOptions, Resizer};

/// Resizes rows of RGB pixels, three bytes each, from `from` to `to` (width, height).
pub fn resize_rgb(pixels: &[u8], from: (u32, u32), to: (u32, u32)) -> Vec<u8> {
    resize::<U8x3>(pixels, from, to)
}

/// Resizes rows of grey pixels, one byte each, from `from` to `to` (width, height).
pub fn resize_grey(pixels: &[u8], from: (u32, u32), to: (u32, u32)) -> Vec<u8> {
    resize::<U8>(pixels, from, to)
}

/// The pixel type is a parameter, because `Resizer::resize` compiles the code of all thirteen types.
fn resize<P: PixelTrait>(pixels: &[u8], from: (u32, u32), to: (u32, u32)) -> Vec<u8> {
    let filter = if to.0 < from.0 {
        FilterType::Bilinear
    } else {
        FilterType::CatmullRom
    };
    let options = ResizeOptions::new().resize_alg(ResizeAlg::Convolution(filter));
    let mut resized = vec![0; to.0 as usize * to.1 as usize * P::size()];
    let source = TypedImageRef::<P>::from_buffer(from.0, from.1, pixels);
    let target = TypedImage::<P>::from_buffer(to.0, to.1, &mut resized);
    let done = match (source, target) {
        (Ok(source), Ok(mut target)) => Resizer::new()
            .resize_typed(&source, &mut target, &options)
            .is_ok(),
        _ => false,
    };
    // The resizer refuses only buffers that do not fit their size or type. Pictures always fit.
    debug_assert!(done, "resize refused a valid picture");
    resized
}
