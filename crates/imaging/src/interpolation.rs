//! Interpolation for both colour and grey pictures.

use std::ops::Range;

use crate::geometry::{Homography, Point};

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

/// Columns of a warped row at `y`, `width` pixels wide, that come from places with pixels of the source on all sides. It
/// may leave out some at the ends. Empty if the map is not affine.
pub(crate) fn columns_inside(map: &Homography, y: f32, width: u32, source: (u32, u32)) -> Range<u32> {
    if !map.is_affine() || width == 0 {
        return 0..0;
    }
    let [from, to] = [0.5, width as f32 - 0.5].map(|x| map.apply_affine(Point::new(x, y)));
    // The range of columns, as shares of the way from first to last, in which a coordinate is inside.
    let shares = |from: f32, to: f32, length: u32| {
        let (low, high) = (1.0 - from, length as f32 - 1.0 - from);
        let way = to - from;
        if way.abs() < 1e-3 {
            // The coordinate hardly changes, so its value at the end decides.
            return match low < way.min(0.0) && way.max(0.0) < high {
                true => (0.0, 1.0),
                false => (1.0, 0.0),
            };
        }
        let (a, b) = (low / way, high / way);
        (a.min(b), a.max(b))
    };
    let (across, down) = (shares(from.x, to.x, source.0), shares(from.y, to.y, source.1));
    let (first, last) = (across.0.max(down.0).max(0.0), across.1.min(down.1).min(1.0));
    let columns = (width - 1) as f32;
    // `as` saturates, and converts NaN to 0.
    let (start, end) = (
        (first * columns).ceil() as u32,
        (last * columns).floor() as u32 + 1,
    );
    let surrounded = |column: u32| surrounds(source, map.apply_affine(Point::new(column as f32 + 0.5, y)));
    // Rounding can move an end outside.
    match start < end && end <= width && surrounded(start) && surrounded(end - 1) {
        true => start..end,
        false => 0..0,
    }
}

/// Whether pixels of a picture of this size lie on all sides of a point.
#[inline]
pub(crate) fn surrounds((width, height): (u32, u32), at: Point) -> bool {
    (0.75..width as f32 - 0.75).contains(&at.x) && (0.75..height as f32 - 0.75).contains(&at.y)
}
