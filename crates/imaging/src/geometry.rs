//! Points and plane homographies, which map pixels of a rectified picture to the photograph.

use serde::{Deserialize, Serialize};

/// A point of a picture in pixels: x to the right, y down. Pixel (0, 0) covers the square from (0, 0) to (1,
/// 1), so its centre is (0.5, 0.5).
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Point {
    /// To the right.
    pub x: f32,
    /// Down.
    pub y: f32,
}

impl Point {
    /// The point (x, y).
    pub const fn new(x: f32, y: f32) -> Self {
        Self { x, y }
    }

    /// The distance to another point, in pixels.
    pub fn distance(self, other: Self) -> f32 {
        (self.x - other.x).hypot(self.y - other.y)
    }
}

/// A projective map of the plane (3 × 3, row-major), from points of one picture to points of another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Homography(pub [[f64; 3]; 3]);

impl Homography {
    /// The map that changes nothing.
    pub const IDENTITY: Self = Self([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]);

    /// The map from the four points of `from` to those of `to`, in order. `None` if three points of either
    /// are on a line (or nearly), or a coordinate is not finite.
    pub fn between(from: [Point; 4], to: [Point; 4]) -> Option<Self> {
        // These are eight linear equations for the eight free entries (h22 = 1).
        let mut rows = [[0f64; 9]; 8];
        for (i, (f, t)) in from.iter().zip(&to).enumerate() {
            let (x, y, u, v) = (f64::from(f.x), f64::from(f.y), f64::from(t.x), f64::from(t.y));
            rows[2 * i] = [x, y, 1.0, 0.0, 0.0, 0.0, -u * x, -u * y, u];
            rows[2 * i + 1] = [0.0, 0.0, 0.0, x, y, 1.0, -v * x, -v * y, v];
        }
        let h = solve(rows)?;
        let map = Self([[h[0], h[1], h[2]], [h[3], h[4], h[5]], [h[6], h[7], 1.0]]);
        map.inverse().map(|_| map)
    }

    /// The map from the rectangle (0, 0)–(`width`, `height`) to `quad` (its corners top-left, top-right,
    /// bottom-right, bottom-left). [`crate::Picture::warp`] needs this map to cut out a quadrilateral
    /// upright.
    pub fn from_rectangle(width: u32, height: u32, quad: [Point; 4]) -> Option<Self> {
        let (w, h) = (width as f32, height as f32);
        let rectangle = [
            Point::new(0.0, 0.0),
            Point::new(w, 0.0),
            Point::new(w, h),
            Point::new(0.0, h),
        ];
        Self::between(rectangle, quad)
    }

    /// The map from a target of `width` × `height` to a source, without scaling. The target is turned about
    /// its centre by `radians` (clockwise for the viewer, because y points down) and placed at `centre` in
    /// the source.
    pub fn rotation(radians: f64, centre: Point, width: u32, height: u32) -> Self {
        let (sin, cos) = radians.sin_cos();
        let (cx, cy) = (f64::from(width) / 2.0, f64::from(height) / 2.0);
        let (sx, sy) = (f64::from(centre.x), f64::from(centre.y));
        Self([
            [cos, -sin, sx - cos * cx + sin * cy],
            [sin, cos, sy - sin * cx - cos * cy],
            [0.0, 0.0, 1.0],
        ])
    }

    /// Maps a point. A point at infinity gives coordinates that are not finite.
    pub fn apply(&self, point: Point) -> Point {
        let [a, b, c] = self.0;
        let (x, y) = (f64::from(point.x), f64::from(point.y));
        let w = c[0] * x + c[1] * y + c[2];
        Point::new(
            ((a[0] * x + a[1] * y + a[2]) / w) as f32,
            ((b[0] * x + b[1] * y + b[2]) / w) as f32,
        )
    }

    /// Whether the map keeps parallel lines parallel.
    pub(crate) fn is_affine(&self) -> bool {
        self.0[2] == [0.0, 0.0, 1.0]
    }

    /// What [`Homography::apply`] gives for an affine map, without its divisions.
    pub(crate) fn apply_affine(&self, point: Point) -> Point {
        let [a, b, _] = self.0;
        let (x, y) = (f64::from(point.x), f64::from(point.y));
        Point::new(
            (a[0] * x + a[1] * y + a[2]) as f32,
            (b[0] * x + b[1] * y + b[2]) as f32,
        )
    }

    /// The map that applies `self` first and `next` second.
    pub fn then(&self, next: &Self) -> Self {
        let mut product = [[0f64; 3]; 3];
        for (row, out) in next.0.iter().zip(&mut product) {
            for (column, cell) in out.iter_mut().enumerate() {
                *cell = (0..3).map(|k| row[k] * self.0[k][column]).sum();
            }
        }
        Self(product)
    }

    /// The inverse map, or `None` if the map is singular.
    pub fn inverse(&self) -> Option<Self> {
        let [[a, b, c], [d, e, f], [g, h, i]] = self.0;
        let determinant = a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g);
        if !determinant.is_finite() || determinant.abs() < 1e-12 {
            return None;
        }
        let adjugate = [
            [e * i - f * h, c * h - b * i, b * f - c * e],
            [f * g - d * i, a * i - c * g, c * d - a * f],
            [d * h - e * g, b * g - a * h, a * e - b * d],
        ];
        Some(Self(adjugate.map(|row| row.map(|cell| cell / determinant))))
    }
}

/// Solves eight equations in eight unknowns by Gaussian elimination with partial pivoting. The ninth column
/// is the right-hand side.
fn solve(mut rows: [[f64; 9]; 8]) -> Option<[f64; 8]> {
    for column in 0..8 {
        let pivot = (column..8).max_by(|&a, &b| rows[a][column].abs().total_cmp(&rows[b][column].abs()))?;
        rows.swap(column, pivot);
        let head = rows[column];
        if !head[column].is_finite() || head[column].abs() < 1e-9 {
            return None;
        }
        for row in rows.iter_mut().skip(column + 1) {
            let factor = row[column] / head[column];
            for (cell, above) in row.iter_mut().zip(head).skip(column) {
                *cell -= factor * above;
            }
        }
    }
    let mut solution = [0f64; 8];
    for i in (0..8).rev() {
        let known: f64 = (i + 1..8).map(|k| rows[i][k] * solution[k]).sum();
        solution[i] = (rows[i][8] - known) / rows[i][i];
    }
    solution.iter().all(|value| value.is_finite()).then_some(solution)
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUAD: [Point; 4] = [
        Point::new(12.0, 7.0),
        Point::new(205.0, 31.0),
        Point::new(180.0, 140.0),
        Point::new(3.0, 110.0),
    ];

    #[test]
    fn corners_go_to_corners_and_back() {
        let map = Homography::from_rectangle(100, 50, QUAD).expect("a proper quadrilateral");
        let back = map.inverse().expect("invertible");
        let corners = [
            Point::new(0.0, 0.0),
            Point::new(100.0, 0.0),
            Point::new(100.0, 50.0),
            Point::new(0.0, 50.0),
        ];
        for (corner, target) in corners.into_iter().zip(QUAD) {
            assert!(map.apply(corner).distance(target) < 1e-3);
            assert!(back.apply(target).distance(corner) < 1e-3);
            assert!(map.then(&back).apply(corner).distance(corner) < 1e-3);
        }
    }

    #[test]
    fn degenerate_quadrilaterals_are_refused() {
        let p = Point::new;
        let cases = [
            [p(0.0, 0.0), p(1.0, 1.0), p(2.0, 2.0), p(0.0, 9.0)],
            [p(5.0, 5.0); 4],
            [p(f32::NAN, 0.0), p(1.0, 0.0), p(1.0, 1.0), p(0.0, 1.0)],
            [p(f32::INFINITY, 0.0), p(1.0, 0.0), p(1.0, 1.0), p(0.0, 1.0)],
        ];
        for quad in cases {
            assert_eq!(Homography::from_rectangle(100, 50, quad), None, "{quad:?}");
        }
    }

    #[test]
    fn a_quarter_turn_is_a_rotation() {
        let map = Homography::rotation(std::f64::consts::FRAC_PI_2, Point::new(10.0, 20.0), 40, 20);
        assert!(map.apply(Point::new(20.0, 10.0)).distance(Point::new(10.0, 20.0)) < 1e-4);
        assert!(map.apply(Point::new(21.0, 10.0)).distance(Point::new(10.0, 21.0)) < 1e-4);
    }
}
