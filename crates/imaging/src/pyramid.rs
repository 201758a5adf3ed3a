//! A picture with its reductions to a half, a quarter and so on. Parts that are read much smaller than they are can be
//! taken from a reduction, which is averaged once for all of them.
//!
//! It never decides what a part is read for.

use std::cell::OnceCell;

use crate::geometry::{Homography, Point};
use crate::picture::Picture;
use crate::reducible::Reducible;

/// At most so many reductions: to a sixteenth.
const MOST_REDUCTIONS: usize = 4;

/// A picture and its reductions, each of which is averaged at its first use.
#[derive(Debug)]
pub struct Pyramid<'a, P = Picture> {
    whole: &'a P,
    reductions: [OnceCell<P>; MOST_REDUCTIONS],
}

impl<'a, P: Reducible> Pyramid<'a, P> {
    /// The pyramid of a picture.
    pub fn of(whole: &'a P) -> Self {
        Self {
            whole,
            reductions: Default::default(),
        }
    }

    /// The picture itself.
    pub fn whole(&self) -> &'a P {
        self.whole
    }

    /// The smallest picture that is still not smaller than the whole by more than `factor`, and how many pixels of the
    /// whole its pixels are wide: a power of two.
    pub fn reduced(&self, factor: f32) -> (&P, f32) {
        let (mut picture, mut scale) = (self.whole, 1.0);
        for reduction in &self.reductions {
            let is_enough = factor.is_nan() || 2.0 * scale > factor;
            if is_enough || picture.size().0 < 2 || picture.size().1 < 2 {
                break;
            }
            picture = reduction.get_or_init(|| picture.halved());
            scale *= 2.0;
        }
        (picture, scale)
    }
}

impl Pyramid<'_, Picture> {
    /// Cuts out a quadrilateral of the whole upright, with corners in the order of [`Homography::from_rectangle`], as
    /// `width` × `height` pixels. Finer detail is averaged along each axis. `None` if the quadrilateral has no area.
    pub fn cut_out(
        &self,
        corners: [Point; 4],
        (width, height): (u32, u32),
        outside: [u8; 3],
    ) -> Option<Picture> {
        let [a, b, c, d] = corners;
        let middle = |p: Point, q: Point| Point::new(f32::midpoint(p.x, q.x), f32::midpoint(p.y, q.y));
        let across = middle(a, d).distance(middle(b, c)) / width as f32;
        let down = middle(a, b).distance(middle(d, c)) / height as f32;
        let (level, scale) = self.reduced(across.min(down));
        let samples = |reduction: f32| (reduction / scale).round().clamp(1.0, MOST_SAMPLES) as u32;
        let (w, h) = (width * samples(across), height * samples(down));
        let map = Homography::from_rectangle(w, h, corners.map(|p| Point::new(p.x / scale, p.y / scale)))?;
        Some(level.warp(&map, w, h, outside).resized(width, height))
    }
}

/// A pixel of a cut-out is the mean of at most so many samples along each axis.
const MOST_SAMPLES: f32 = 4.0;

#[cfg(test)]
mod tests {
    use super::*;

    fn chequered(width: u32, height: u32) -> Picture {
        let pixels = (0..height)
            .flat_map(|y| (0..width).flat_map(move |x| [if (x + y) % 2 == 0 { 0 } else { 200 }; 3]));
        Picture::new(width, height, pixels.collect()).expect("the right size")
    }

    #[test]
    fn reductions_are_means_of_four_pixels() {
        let picture = chequered(9, 7);
        let pyramid = Pyramid::of(&picture);
        for (factor, scale, size) in [
            (0.3, 1.0, (9, 7)),
            (1.9, 1.0, (9, 7)),
            (2.0, 2.0, (4, 3)),
            (3.9, 2.0, (4, 3)),
            (4.0, 4.0, (2, 1)),
            (99.0, 4.0, (2, 1)),
            (f32::NAN, 1.0, (9, 7)),
        ] {
            let (reduced, by) = pyramid.reduced(factor);
            assert_eq!((by, (reduced.width, reduced.height)), (scale, size), "{factor}");
            if scale > 1.0 {
                assert_eq!(*reduced, Picture::filled(size.0, size.1, [100; 3]));
            }
        }
    }

    #[test]
    fn a_part_is_the_same_from_every_reduction() {
        // A slope of colour looks the same at every scale.
        let slope = |x: u32, y: u32| [(x / 4) as u8, (y / 4) as u8, ((x + y) / 8) as u8];
        let pixels = (0..1000).flat_map(|y| (0..1000).flat_map(move |x| slope(x, y)));
        let picture = Picture::new(1000, 1000, pixels.collect()).expect("the right size");
        let corners =
            [(100.0, 200.0), (900.0, 100.0), (900.0, 700.0), (120.0, 760.0)].map(|(x, y)| Point::new(x, y));
        let pyramid = Pyramid::of(&picture);
        let sharp = pyramid
            .cut_out(corners, (800, 600), [0; 3])
            .expect("it has an area");
        for divisor in [3, 5, 10] {
            let size = (800 / divisor, 600 / divisor);
            let small = pyramid.cut_out(corners, size, [0; 3]).expect("it has an area");
            let expected = sharp.resized(size.0, size.1);
            let mut differences = small
                .pixels
                .iter()
                .zip(&expected.pixels)
                .map(|(a, b)| a.abs_diff(*b));
            assert!(differences.all(|difference| difference <= 3), "{divisor}");
        }
    }

    #[test]
    fn a_quadrilateral_without_area_is_not_cut_out() {
        let picture = chequered(40, 40);
        let line = [Point::new(3.0, 3.0); 4];
        assert_eq!(Pyramid::of(&picture).cut_out(line, (10, 10), [0; 3]), None);
    }
}
