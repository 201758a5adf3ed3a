//! Interpolation and resizing for both colour and grey pictures.

use fast_image_resize::images::{Image, ImageRef};
use fast_image_resize::{FilterType, PixelType, ResizeAlg, ResizeOptions, Resizer};

use crate::geometry::Point;

/// The two columns and two rows whose pixel centres surround a point, with the point's fractional position
/// between them. `None` if the point is outside.
pub(crate) fn neighbours(at: Point, width: u32, height: u32) -> Option<([usize; 2], [usize; 2], f32, f32)> {
    if !(at.x >= 0.0 && at.y >= 0.0 && at.x < width as f32 && at.y < height as f32) {
        return None;
    }
    let split = |value: f32, length: u32| {
        let last = length as usize - 1;
        let value = (value - 0.5).max(0.0);
        let low = (value as usize).min(last);
        ([low, (low + 1).min(last)], value - low as f32)
    };
    let ((columns, fx), (rows, fy)) = (split(at.x, width), split(at.y, height));
    Some((columns, rows, fx, fy))
}

/// Resizes raw pixels of `kind` by convolution: a bilinear kernel (antialiased) for reducing, Catmull-Rom for
/// enlarging.
pub(crate) fn resize(pixels: &[u8], from: (u32, u32), to: (u32, u32), kind: PixelType) -> Vec<u8> {
    let filter = if to.0 < from.0 {
        FilterType::Bilinear
    } else {
        FilterType::CatmullRom
    };
    let options = ResizeOptions::new().resize_alg(ResizeAlg::Convolution(filter));
    let mut target = Image::new(to.0, to.1, kind);
    ImageRef::new(from.0, from.1, pixels, kind)
        .ok()
        .and_then(|source| Resizer::new().resize(&source, &mut target, &options).ok())
        .map_or_else(|| unreachable_resize(to, kind), |()| target.into_vec())
}

/// The resizer refuses only buffers that do not fit their size or kind. Pictures always fit.
fn unreachable_resize(to: (u32, u32), kind: PixelType) -> Vec<u8> {
    debug_assert!(false, "resize refused a valid picture");
    vec![0; to.0 as usize * to.1 as usize * kind.size()]
}
