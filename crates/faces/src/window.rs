//! Windows onto a picture: similarity transforms that give a model a turned, scaled and moved part of it.
//!
//! - The detector uses windows for frames, tiles and orientations.
//! - The mesh uses a turned square around a face.
//! - The embedding uses a chip aligned by five points.
//!
//! A window never stretches or shears.

use imaging::{Homography, Picture, Point};

/// From this reduction on, the picture is averaged before it is sampled, because plain sampling would alias.
const AVERAGE_FROM: f32 = 1.25;

/// A map from a window's pixels to a picture's pixels by scale, rotation and translation.
/// `x' = a·x − b·y + tx`, `y' = b·x + a·y + ty`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Window {
    a: f32,
    b: f32,
    tx: f32,
    ty: f32,
    /// Pixels along a side of the square window.
    size: u32,
}

impl Window {
    /// A square of `side` picture pixels around `centre`, turned by `angle` (radians, clockwise for the
    /// viewer), sampled at `size` × `size` pixels.
    pub(crate) fn square(centre: Point, side: f32, angle: f32, size: u32) -> Self {
        let scale = side / size as f32;
        let (a, b) = (scale * angle.cos(), scale * angle.sin());
        let middle = size as f32 / 2.0;
        let (tx, ty) = (
            centre.x - a * middle + b * middle,
            centre.y - b * middle - a * middle,
        );
        Self { a, b, tx, ty, size }
    }

    /// The window that maps its points `from` as near as possible (least squares) to the picture's points
    /// `to`. `None` if the points coincide.
    pub(crate) fn fit(from: &[Point], to: &[Point], size: u32) -> Option<Self> {
        let count = from.len().min(to.len());
        let mean = |points: &[Point]| {
            let (x, y) = points
                .iter()
                .take(count)
                .fold((0.0, 0.0), |(x, y), p| (x + p.x, y + p.y));
            Point::new(x / count as f32, y / count as f32)
        };
        let (from_mean, to_mean) = (mean(from), mean(to));
        let (mut dot, mut cross, mut spread) = (0.0, 0.0, 0.0);
        for (f, t) in from.iter().zip(to) {
            let (fx, fy, tx, ty) = (
                f.x - from_mean.x,
                f.y - from_mean.y,
                t.x - to_mean.x,
                t.y - to_mean.y,
            );
            dot += fx * tx + fy * ty;
            cross += fx * ty - fy * tx;
            spread += fx * fx + fy * fy;
        }
        let (a, b) = (dot / spread, cross / spread);
        let (tx, ty) = (
            to_mean.x - a * from_mean.x + b * from_mean.y,
            to_mean.y - b * from_mean.x - a * from_mean.y,
        );
        let window = Self { a, b, tx, ty, size };
        (window.scale() > 1e-4 && tx.is_finite() && ty.is_finite()).then_some(window)
    }

    /// Picture pixels per window pixel.
    pub(crate) fn scale(&self) -> f32 {
        self.a.hypot(self.b)
    }

    /// Maps a point of the window to the picture.
    pub(crate) fn apply(&self, point: Point) -> Point {
        Point::new(
            self.a * point.x - self.b * point.y + self.tx,
            self.b * point.x + self.a * point.y + self.ty,
        )
    }

    /// Samples the window's part of a picture; pixels beyond the picture's edge are black.
    pub(crate) fn cut(&self, picture: &Picture) -> Picture {
        let scale = self.scale();
        if scale < AVERAGE_FROM {
            return picture.warp(&self.homography(0.0, 0.0, 1.0, 1.0), self.size, self.size, [0; 3]);
        }
        // The covered part is cropped, averaged down to the window's scale, and then sampled one to one.
        let size = self.size as f32;
        let corners =
            [(0.0, 0.0), (size, 0.0), (0.0, size), (size, size)].map(|(x, y)| self.apply(Point::new(x, y)));
        let low = |values: [f32; 4]| values.into_iter().fold(f32::INFINITY, f32::min).max(0.0);
        let high = |values: [f32; 4]| values.into_iter().fold(f32::NEG_INFINITY, f32::max).max(0.0);
        let (left, top) = (low(corners.map(|p| p.x)) as u32, low(corners.map(|p| p.y)) as u32);
        let (right, bottom) = (
            high(corners.map(|p| p.x)).ceil() as u32,
            high(corners.map(|p| p.y)).ceil() as u32,
        );
        let size = (right.saturating_sub(left), bottom.saturating_sub(top));
        let Some((small, [width, height])) = picture.crop_reduced((left, top), size, scale) else {
            return Picture::filled(self.size, self.size, [0; 3]);
        };
        let (sx, sy) = (
            width as f32 / small.width as f32,
            height as f32 / small.height as f32,
        );
        small.warp(
            &self.homography(left as f32, top as f32, sx, sy),
            self.size,
            self.size,
            [0; 3],
        )
    }

    /// The map to a picture that was cropped at (`left`, `top`) and then reduced by the factors `sx`, `sy`.
    fn homography(&self, left: f32, top: f32, sx: f32, sy: f32) -> Homography {
        let row = |x: f32, y: f32, t: f32, by: f32| [x, y, t].map(|value| f64::from(value) / f64::from(by));
        Homography([
            row(self.a, -self.b, self.tx - left, sx),
            row(self.b, self.a, self.ty - top, sy),
            [0.0, 0.0, 1.0],
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: Point, b: Point) -> bool {
        a.distance(b) < 1e-2
    }

    #[test]
    fn a_square_window_turns_about_its_centre() {
        let window = Window::square(Point::new(100.0, 50.0), 40.0, std::f32::consts::FRAC_PI_2, 20);
        assert!(close(
            window.apply(Point::new(10.0, 10.0)),
            Point::new(100.0, 50.0)
        ));
        // Up in the window is to the right in the picture after a quarter turn clockwise.
        assert!(close(
            window.apply(Point::new(10.0, 0.0)),
            Point::new(120.0, 50.0)
        ));
        assert!((window.scale() - 2.0).abs() < 1e-5);
    }

    #[test]
    fn a_fit_recovers_a_similarity_and_refuses_a_single_point() {
        let truth = Window::square(Point::new(31.0, 77.0), 90.0, 0.4, 150);
        let from = [(20.0, 30.0), (120.0, 35.0), (70.0, 110.0)].map(|(x, y)| Point::new(x, y));
        let fitted = Window::fit(&from, &from.map(|p| truth.apply(p)), 150).expect("three distinct points");
        for corner in [Point::new(0.0, 0.0), Point::new(150.0, 150.0)] {
            assert!(close(fitted.apply(corner), truth.apply(corner)));
        }
        assert!(Window::fit(&[Point::new(1.0, 1.0); 3], &from, 150).is_none());
        assert!(Window::fit(&from, &[Point::new(1.0, 1.0); 3], 150).is_none());
        assert!(Window::fit(&from, &[Point::new(f32::NAN, 1.0); 3], 150).is_none());
    }

    #[test]
    fn cutting_shows_the_same_colours_at_every_scale() {
        // Left half red, right half blue.
        let pixels = (0..200 * 100)
            .flat_map(|i| if i % 200 < 100 { [255, 0, 0] } else { [0, 0, 255] })
            .collect();
        let picture = Picture::new(200, 100, pixels).expect("the right size");
        for size in [20, 60, 100, 300] {
            let view = Window::square(Point::new(100.0, 50.0), 100.0, 0.0, size).cut(&picture);
            assert_eq!(view.pixel(2, size / 2), [255, 0, 0]);
            assert_eq!(view.pixel(size - 3, size / 2), [0, 0, 255]);
        }
        let outside = Window::square(Point::new(-500.0, 50.0), 100.0, 0.0, 20).cut(&picture);
        assert_eq!(outside, Picture::filled(20, 20, [0; 3]));
    }
}
