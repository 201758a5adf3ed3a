//! Interpolation for both colour and grey pictures.

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
