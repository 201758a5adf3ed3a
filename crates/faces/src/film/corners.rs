//! How well a window of a picture can be followed: the smaller eigenvalue of the mean products of its gradients (Shi and
//! Tomasi, "Good Features to Track", 1994), for every window of an area at once.
//!
//! This module follows no points; [`super::flow`] does, and computes the same score for the window that it follows.

use imaging::Point;

/// Sums over windows, from integral images.
pub(super) struct Corners {
    /// The first column and row of the area, in pixels of the picture.
    left: isize,
    top: isize,
    /// Values in a row of `sums`: one more than the area has columns.
    stride: usize,
    /// For each place, the sums over all pixels of the area that are above and on the left: of the gradients, across and
    /// down, and of their products, across², across·down, down².
    sums: Vec<[f64; 5]>,
    side: usize,
    /// The size of the picture, in pixels.
    picture: (usize, usize),
}

impl Corners {
    /// Sums up an area (left, top, right, bottom, in pixels) of a picture of `width` × `height` grey values, for windows of
    /// `side` × `side` pixels around the points of the area. Beyond the picture's edge, the edge's values repeat.
    pub(super) fn of(
        values: &[f32],
        (width, height): (usize, usize),
        area: [f32; 4],
        side: usize,
    ) -> Option<Self> {
        // A window's half, and a pixel for rounding.
        let space = side as isize / 2 + 1;
        // `as` saturates, and converts NaN to 0.
        let inside = |value: f32, length: usize| (value.max(0.0) as usize).min(length) as isize;
        let (left, right) = (inside(area[0], width) - space, inside(area[2], width) + space + 1);
        let (top, bottom) = (
            inside(area[1], height) - space,
            inside(area[3], height) + space + 1,
        );
        if width == 0 || values.len() < width * height || right <= left || bottom <= top {
            return None;
        }
        let (columns, rows) = ((right - left) as usize, (bottom - top) as usize);
        // A row of the picture, with a pixel more on each side of the area.
        let row = |y: isize| -> Vec<f32> {
            let row = &values[y.clamp(0, height as isize - 1) as usize * width..][..width];
            let columns = left - 1..=right;
            columns
                .map(|x| row[x.clamp(0, width as isize - 1) as usize])
                .collect()
        };
        let stride = columns + 1;
        let mut sums = vec![[0.0; 5]; stride * (rows + 1)];
        let (mut above, mut own) = (row(top - 1), row(top));
        for y in 0..rows {
            let below = row(top + y as isize + 1);
            let (done, rest) = sums.split_at_mut((y + 1) * stride);
            let done = &done[y * stride..];
            let mut so_far = [0.0; 5];
            for x in 0..columns {
                let across = f64::from((own[x + 2] - own[x]) / 2.0);
                let down = f64::from((below[x + 1] - above[x + 1]) / 2.0);
                let terms = [across, down, across * across, across * down, down * down];
                for (sum, term) in so_far.iter_mut().zip(terms) {
                    *sum += term;
                }
                rest[x + 1] = std::array::from_fn(|term| done[x + 1][term] + so_far[term]);
            }
            above = std::mem::replace(&mut own, below);
        }
        Some(Self {
            left,
            top,
            stride,
            sums,
            side,
            picture: (width, height),
        })
    }

    /// The middle of the window of whole pixels that is nearest to a point (pixels), with its score. `None` if the
    /// point is outside the area, or the middle is outside the picture.
    pub(super) fn near(&self, point: Point) -> Option<(Point, f32)> {
        let half = self.side as f32 / 2.0;
        let (x, y) = (
            ((point.x - half).round() as isize).saturating_sub(self.left),
            ((point.y - half).round() as isize).saturating_sub(self.top),
        );
        let (columns, rows) = (self.stride - 1, self.sums.len() / self.stride - 1);
        let (x, y) = (usize::try_from(x).ok()?, usize::try_from(y).ok()?);
        if x.saturating_add(self.side) > columns || y.saturating_add(self.side) > rows {
            return None;
        }
        let middle = Point::new(
            (x as isize + self.left) as f32 + half,
            (y as isize + self.top) as f32 + half,
        );
        let (width, height) = self.picture;
        if !(0.0..width as f32).contains(&middle.x) || !(0.0..height as f32).contains(&middle.y) {
            return None;
        }
        let sum = |x: usize, y: usize| self.sums[y * self.stride + x];
        let (far_x, far_y) = (x + self.side, y + self.side);
        let (whole, left, upper, corner) = (sum(far_x, far_y), sum(x, far_y), sum(far_x, y), sum(x, y));
        let count = (self.side * self.side) as f64;
        let [across, down, xx, xy, yy] =
            std::array::from_fn(|term| (whole[term] - left[term] - upper[term] + corner[term]) / count);
        // Gradients are relative to their means, because light that changes everywhere moves nothing.
        let (a, b, c) = (xx - across * across, xy - across * down, yy - down * down);
        Some((middle, (f64::midpoint(a, c) - ((a - c) / 2.0).hypot(b)) as f32))
    }
}
