//! RGB pictures and the operations that the engines share.

use resampling::{Part, resize_rgb};

use crate::geometry::{Homography, Point};
use crate::interpolation::{columns_inside, neighbours, surrounds};
use crate::luma::Luma;
use crate::reducible::Reducible;

/// An upright picture: 8-bit sRGB, row-major, three bytes per pixel, no padding.
///
/// In every picture from this crate, `pixels.len() == width * height * 3`; [`Picture::new`] checks it.
#[derive(Clone, PartialEq, Eq)]
pub struct Picture {
    /// Pixels in a row.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Red, green, blue of each pixel.
    pub pixels: Vec<u8>,
}

impl std::fmt::Debug for Picture {
    /// Prints only the size, because pixels are personal data.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Picture({} × {})", self.width, self.height)
    }
}

impl Picture {
    /// Creates a picture from its pixels. Returns `None` if their number does not fit the size or a side is
    /// zero.
    pub fn new(width: u32, height: u32, pixels: Vec<u8>) -> Option<Self> {
        (width > 0 && height > 0 && pixels.len() == byte_len(width, height)?).then_some(Self {
            width,
            height,
            pixels,
        })
    }

    /// A picture of one colour. Sides of zero become one.
    pub fn filled(width: u32, height: u32, colour: [u8; 3]) -> Self {
        let (width, height) = (width.max(1), height.max(1));
        Self {
            width,
            height,
            pixels: colour.repeat(width as usize * height as usize),
        }
    }

    /// The colour at column `x`, row `y`.
    ///
    /// # Panics
    /// Panics if the pixel is outside the picture.
    pub fn pixel(&self, x: u32, y: u32) -> [u8; 3] {
        assert!(x < self.width && y < self.height, "pixel outside the picture");
        let at = (y as usize * self.width as usize + x as usize) * 3;
        [self.pixels[at], self.pixels[at + 1], self.pixels[at + 2]]
    }

    /// The bytes of one row.
    ///
    /// # Panics
    /// Panics if the row is outside the picture.
    pub fn row(&self, y: u32) -> &[u8] {
        let stride = self.width as usize * 3;
        &self.pixels[y as usize * stride..][..stride]
    }

    /// The part of the picture inside a rectangle, which is clipped to the picture; `None` if the result is
    /// empty.
    pub fn crop(&self, x: u32, y: u32, width: u32, height: u32) -> Option<Self> {
        let part = self.clipped(x, y, width, height)?;
        let columns = x as usize * 3..(x + part.width) as usize * 3;
        let mut pixels = Vec::with_capacity(byte_len(part.width, part.height)?);
        for row in y..y + part.height {
            pixels.extend_from_slice(&self.row(row)[columns.clone()]);
        }
        Some(Self {
            width: part.width,
            height: part.height,
            pixels,
        })
    }

    /// The size of the rectangle after it was clipped to the picture; `None` if it is empty.
    fn clipped(&self, x: u32, y: u32, width: u32, height: u32) -> Option<Part> {
        let right = x.saturating_add(width).min(self.width);
        let bottom = y.saturating_add(height).min(self.height);
        (x < right && y < bottom).then(|| Part {
            left: x,
            top: y,
            width: right - x,
            height: bottom - y,
        })
    }

    /// The part of the picture inside a rectangle, reduced by the factor `scale` (at least 1): the same pixels as
    /// [`Picture::crop`] and [`Picture::resized`] give, without a copy of the part. The rectangle is clipped to the
    /// picture; `None` if the result is empty. The second value is the size of the clipped rectangle.
    pub fn crop_reduced(
        &self,
        (x, y): (u32, u32),
        (width, height): (u32, u32),
        scale: f32,
    ) -> Option<(Self, [u32; 2])> {
        let part = self.clipped(x, y, width, height)?;
        let reduced = |length: u32| ((length as f32 / scale.max(1.0)).round() as u32).max(1);
        let (width, height) = (reduced(part.width), reduced(part.height));
        let pixels = resize_rgb(&self.pixels, (self.width, self.height), part, (width, height));
        let small = Self {
            width,
            height,
            pixels,
        };
        Some((small, [part.width, part.height]))
    }

    /// The picture at another size: averaged when smaller, bicubic when larger. Sides of zero become one.
    pub fn resized(&self, width: u32, height: u32) -> Self {
        let (width, height) = (width.max(1), height.max(1));
        if (width, height) == (self.width, self.height) {
            return self.clone();
        }
        let size = (self.width, self.height);
        let pixels = resize_rgb(&self.pixels, size, Part::whole(size), (width, height));
        Self {
            width,
            height,
            pixels,
        }
    }

    /// The picture reduced so that neither side exceeds `max_side`; unchanged when it is small enough.
    pub fn reduced(self, max_side: u32) -> Self {
        let longest = self.width.max(self.height);
        if longest <= max_side.max(1) {
            return self;
        }
        let scale = f64::from(max_side.max(1)) / f64::from(longest);
        let side = |length: u32| (f64::from(length) * scale).round() as u32;
        self.resized(side(self.width), side(self.height))
    }

    /// The picture turned clockwise by `quarter_turns` × 90°.
    pub fn rotated(&self, quarter_turns: u32) -> Self {
        let (w, h) = (self.width, self.height);
        match quarter_turns % 4 {
            0 => self.clone(),
            1 => self.gathered(h, w, |x, y| (y, h - 1 - x)),
            2 => self.gathered(w, h, |x, y| (w - 1 - x, h - 1 - y)),
            _ => self.gathered(h, w, |x, y| (w - 1 - y, x)),
        }
    }

    /// The picture with left and right exchanged.
    pub fn mirrored(&self) -> Self {
        self.gathered(self.width, self.height, |x, y| (self.width - 1 - x, y))
    }

    /// The picture made upright by EXIF's orientation tag 1–8 (CIPA DC-008 §4.6.5); other values change
    /// nothing.
    pub fn oriented(self, exif_orientation: u8) -> Self {
        match exif_orientation {
            2 => self.mirrored(),
            3 => self.rotated(2),
            4 => self.mirrored().rotated(2),
            5 => self.mirrored().rotated(3),
            6 => self.rotated(1),
            7 => self.mirrored().rotated(1),
            8 => self.rotated(3),
            _ => self,
        }
    }

    /// A picture of `width` × `height`. `map` gives the position of each of its pixels in this picture, which
    /// is sampled bilinearly. Pixels from outside this picture have the colour `outside`.
    ///
    /// To cut out a quadrilateral upright, use [`Homography::from_rectangle`]; to turn by any angle, use
    /// [`Homography::rotation`]. If the target is much smaller than the source region, reduce the source
    /// first.
    pub fn warp(&self, map: &Homography, width: u32, height: u32, outside: [u8; 3]) -> Self {
        let mut picture = Self::filled(width, height, outside);
        let stride = self.width as usize * 3;
        let is_affine = map.is_affine();
        for (y, row) in picture
            .pixels
            .chunks_exact_mut(width.max(1) as usize * 3)
            .enumerate()
        {
            let y = y as f32 + 0.5;
            let inside = columns_inside(map, y, width, (self.width, self.height));
            if !inside.is_empty() {
                self.warp_row_inside(map, y, inside.clone(), row);
            }
            for x in (0..inside.start).chain(inside.end..width) {
                let target = &mut row[x as usize * 3..][..3];
                let at = Point::new(x as f32 + 0.5, y);
                let at = if is_affine {
                    map.apply_affine(at)
                } else {
                    map.apply(at)
                };
                if surrounds((self.width, self.height), at) {
                    self.sample_inside(at, target);
                    continue;
                }
                let Some(([x0, x1], [y0, y1], fx, fy)) = neighbours(at, self.width, self.height) else {
                    continue;
                };
                let colour = |x: usize, y: usize| -> [f32; 3] {
                    let colour = &self.pixels[y * stride + x * 3..][..3];
                    [colour[0], colour[1], colour[2]].map(f32::from)
                };
                let (a, b, c, d) = (colour(x0, y0), colour(x1, y0), colour(x0, y1), colour(x1, y1));
                for (channel, value) in target.iter_mut().enumerate() {
                    let top = a[channel] + (b[channel] - a[channel]) * fx;
                    let bottom = c[channel] + (d[channel] - c[channel]) * fx;
                    *value = (top + (bottom - top) * fy + 0.5) as u8;
                }
            }
        }
        picture
    }

    /// Computes what [`Picture::warp`] does for columns whose places this picture [surrounds], without
    /// checking for edges. `map` is affine.
    fn warp_row_inside(&self, map: &Homography, y: f32, columns: std::ops::Range<u32>, row: &mut [u8]) {
        let targets = row.as_chunks_mut::<3>().0.iter_mut().skip(columns.start as usize);
        for (x, target) in columns.zip(targets) {
            self.sample_inside(map.apply_affine(Point::new(x as f32 + 0.5, y)), target);
        }
    }

    /// The colour at a point that this picture [surrounds].
    #[inline]
    fn sample_inside(&self, at: Point, target: &mut [u8]) {
        let stride = self.width as usize * 3;
        let (left, top) = (at.x - 0.5, at.y - 0.5);
        let (x0, y0) = (left as u32, top as u32);
        let (fx, fy) = (left - x0 as f32, top - y0 as f32);
        let from = y0 as usize * stride + x0 as usize * 3;
        let (upper, lower) = (&self.pixels[from..][..6], &self.pixels[from + stride..][..6]);
        for (channel, target) in target.iter_mut().enumerate().take(3) {
            let [a, b, c, d] = [
                upper[channel],
                upper[channel + 3],
                lower[channel],
                lower[channel + 3],
            ]
            .map(f32::from);
            let top = a + (b - a) * fx;
            let bottom = c + (d - c) * fx;
            *target = (top + (bottom - top) * fy + 0.5) as u8;
        }
    }

    /// The picture in grey: luma of ITU-R BT.601, as in JPEG.
    pub fn luma(&self) -> Luma {
        let grey =
            |p: &[u8]| (77 * u32::from(p[0]) + 150 * u32::from(p[1]) + 29 * u32::from(p[2]) + 128) >> 8;
        Luma {
            width: self.width,
            height: self.height,
            pixels: self.pixels.chunks_exact(3).map(|p| grey(p) as u8).collect(),
        }
    }

    /// Red minus green, halved, around 128: shows the colours of a screen's sub-pixels, and little of what is printed
    /// in black.
    pub fn red_minus_green(&self) -> Luma {
        let difference = |p: &[u8]| (128 + (i16::from(p[0]) - i16::from(p[1])) / 2) as u8;
        Luma {
            width: self.width,
            height: self.height,
            pixels: self.pixels.chunks_exact(3).map(difference).collect(),
        }
    }

    /// A picture of `width` × `height` whose pixel (x, y) is this one's pixel at `source(x, y)`.
    fn gathered(&self, width: u32, height: u32, source: impl Fn(u32, u32) -> (u32, u32)) -> Self {
        let mut pixels = Vec::with_capacity(self.pixels.len());
        for y in 0..height {
            for x in 0..width {
                let (sx, sy) = source(x, y);
                let at = (sy as usize * self.width as usize + sx as usize) * 3;
                pixels.extend_from_slice(&self.pixels[at..at + 3]);
            }
        }
        Self {
            width,
            height,
            pixels,
        }
    }
}

/// The number of bytes of an RGB picture, or `None` if it overflows.
pub(crate) fn byte_len(width: u32, height: u32) -> Option<usize> {
    (width as usize).checked_mul(height as usize)?.checked_mul(3)
}

impl Reducible for Picture {
    fn size(&self) -> (u32, u32) {
        (self.width, self.height)
    }

    fn halved(&self) -> Self {
        let (width, height) = (self.width / 2, self.height / 2);
        let mut pixels = vec![0; width as usize * height as usize * 3];
        let rows = self.pixels.chunks_exact(2 * 3 * self.width as usize);
        for (rows, means) in rows.zip(pixels.chunks_exact_mut(3 * width as usize)) {
            let (upper, lower) = rows.split_at(rows.len() / 2);
            let pairs = upper.as_chunks::<6>().0.iter().zip(lower.as_chunks::<6>().0);
            for ((a, b), mean) in pairs.zip(means.as_chunks_mut::<3>().0) {
                for (c, mean) in mean.iter_mut().enumerate() {
                    let sum = u16::from(a[c]) + u16::from(a[c + 3]) + u16::from(b[c]) + u16::from(b[c + 3]);
                    *mean = ((sum + 2) / 4) as u8;
                }
            }
        }
        Self {
            width,
            height,
            pixels,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A picture of 3 × 2 pixels with different colours.
    fn numbered() -> Picture {
        Picture::new(3, 2, (0..6).flat_map(|i| [i * 40, i, 255 - i]).collect()).expect("six pixels")
    }

    fn reds(picture: &Picture) -> Vec<u8> {
        picture.pixels.chunks_exact(3).map(|p| p[0] / 40).collect()
    }

    #[test]
    fn sizes_must_fit() {
        assert!(Picture::new(3, 2, vec![0; 17]).is_none());
        assert!(Picture::new(0, 2, vec![]).is_none());
        assert!(Picture::new(u32::MAX, u32::MAX, vec![]).is_none());
    }

    #[test]
    fn turns_and_mirrors() {
        let picture = numbered();
        assert_eq!(reds(&picture.rotated(1)), [3, 0, 4, 1, 5, 2]);
        assert_eq!(reds(&picture.rotated(2)), [5, 4, 3, 2, 1, 0]);
        assert_eq!(reds(&picture.rotated(3)), [2, 5, 1, 4, 0, 3]);
        assert_eq!(reds(&picture.mirrored()), [2, 1, 0, 5, 4, 3]);
        assert_eq!(picture.rotated(5), picture.rotated(1));
    }

    /// The stored picture of each orientation, by the tag's definition (row 0 and column 0 of the stored
    /// picture).
    #[test]
    fn every_exif_orientation_comes_upright() {
        let upright = numbered();
        let stored = [
            (1, upright.clone()),
            (2, upright.mirrored()),
            (3, upright.rotated(2)),
            (4, upright.rotated(2).mirrored()),
            (5, upright.rotated(1).mirrored()),
            (6, upright.rotated(3)),
            (7, upright.rotated(3).mirrored()),
            (8, upright.rotated(1)),
        ];
        for (orientation, stored) in stored {
            assert_eq!(
                reds(&stored.oriented(orientation)),
                reds(&upright),
                "orientation {orientation}"
            );
        }
    }

    #[test]
    fn crops_are_clipped() {
        let picture = numbered();
        assert_eq!(reds(&picture.crop(1, 0, 9, 1).expect("inside")), [1, 2]);
        assert_eq!(
            reds(&picture.crop(2, 1, u32::MAX, u32::MAX).expect("inside")),
            [5]
        );
        assert!(picture.crop(3, 0, 1, 1).is_none());
        assert!(picture.crop(0, 0, 0, 1).is_none());
    }

    #[test]
    fn a_part_is_reduced_like_its_copy() {
        let pixels = (0..90 * 70 * 3_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8);
        let picture = Picture::new(90, 70, pixels.collect()).expect("the right size");
        for (corner, size, scale) in [
            ((0, 0), (90, 70), 2.0),
            ((13, 7), (50, 40), 1.25),
            ((60, 50), (999, 999), 3.3),
            ((5, 5), (9, 9), 100.0),
            ((20, 20), (30, 30), 1.0),
        ] {
            let part = picture.crop(corner.0, corner.1, size.0, size.1).expect("inside");
            let (small, [width, height]) = picture.crop_reduced(corner, size, scale).expect("inside");
            assert_eq!((width, height), (part.width, part.height));
            assert_eq!(small, part.resized(small.width, small.height));
        }
        assert!(picture.crop_reduced((90, 0), (1, 1), 2.0).is_none());
    }

    #[test]
    fn warping_by_identity_and_quarter_turn_is_exact() {
        let picture = numbered();
        assert_eq!(picture.warp(&Homography::IDENTITY, 3, 2, [0; 3]), picture);
        let quarter = Homography::rotation(-std::f64::consts::FRAC_PI_2, Point::new(1.5, 1.0), 2, 3);
        assert_eq!(picture.warp(&quarter, 2, 3, [0; 3]), picture.rotated(1));
    }

    #[test]
    fn warping_inside_needs_no_edges_to_be_the_same() {
        let pixels = (0..40 * 30 * 3_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8);
        let picture = Picture::new(40, 30, pixels.collect()).expect("the right size");
        for angle in [0.0_f64, 0.3, -1.1, 2.4] {
            // The largest windows are partly outside.
            for (scale, size) in [(0.3, 8.0), (0.8, 8.0), (1.1, 8.0), (1.0, 24.0), (2.5, 16.0)] {
                let side = 2 * size as u32;
                let (a, b) = (scale * angle.cos(), scale * angle.sin());
                let map = [
                    [a, -b, 18.0 - size * (a - b)],
                    [b, a, 15.0 - size * (a + b)],
                    [0.0, 0.0, 1.0],
                ];
                // The same map, which does not look affine.
                let doubled = Homography(map.map(|row| row.map(|value| 2.0 * value)));
                let (ours, other) = (
                    picture.warp(&Homography(map), side, side, [7; 3]),
                    picture.warp(&doubled, side, side, [7; 3]),
                );
                let mut differences = ours.pixels.iter().zip(&other.pixels).map(|(a, b)| a.abs_diff(*b));
                assert!(differences.all(|difference| difference <= 1), "{angle} {scale}");
            }
        }
    }

    #[test]
    fn warping_outside_gives_the_outside_colour() {
        let far = Homography([[1.0, 0.0, 99.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]);
        assert_eq!(
            numbered().warp(&far, 2, 2, [9, 8, 7]),
            Picture::filled(2, 2, [9, 8, 7])
        );
        let infinite = Homography([[0.0; 3]; 3]);
        assert_eq!(
            numbered().warp(&infinite, 2, 2, [9, 8, 7]),
            Picture::filled(2, 2, [9, 8, 7])
        );
    }

    #[test]
    fn resizing_keeps_flat_colours_and_proportions() {
        let flat = Picture::filled(40, 30, [10, 200, 90]);
        for (w, h) in [(20, 15), (80, 60), (1, 1), (0, 0)] {
            assert_eq!(flat.resized(w, h), Picture::filled(w, h, [10, 200, 90]));
        }
        let reduced = flat.clone().reduced(20);
        assert_eq!((reduced.width, reduced.height), (20, 15));
        assert_eq!(flat.clone().reduced(40), flat);
    }

    #[test]
    fn luma_weighs_the_colours() {
        let picture =
            Picture::new(4, 1, vec![255, 255, 255, 255, 0, 0, 0, 255, 0, 0, 0, 255]).expect("four pixels");
        assert_eq!(picture.luma().pixels, [255, 77, 149, 29]);
    }
}
