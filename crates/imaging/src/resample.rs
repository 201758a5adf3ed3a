//! Interpolation and resizing for both colour and grey pictures.

use fast_image_resize::images::{TypedImage, TypedImageRef};
use fast_image_resize::{FilterType, PixelTrait, ResizeAlg, ResizeOptions, Resizer};

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

/// Resizes raw pixels of type `P` by convolution: a bilinear kernel (antialiased) for reducing, Catmull-Rom for
/// enlarging. The pixel type is a parameter of the function, because `Resizer::resize` compiles the code of
/// all thirteen types.
pub(crate) fn resize<P: PixelTrait>(pixels: &[u8], from: (u32, u32), to: (u32, u32)) -> Vec<u8> {
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
