//! Grey pictures and their integral sums.

use resampling::resize_grey;

use crate::geometry::{Homography, Point};
use crate::interpolation::{columns_inside, neighbours, surrounds};
use crate::reducible::Reducible;

/// A grey picture: one byte per pixel, row-major, 0 is black.
#[derive(Clone, PartialEq, Eq)]
pub struct Luma {
    /// Pixels in a row.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// The grey value of each pixel.
    pub pixels: Vec<u8>,
}

impl std::fmt::Debug for Luma {
    /// Prints only the size, because pixels are personal data.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Luma({} × {})", self.width, self.height)
    }
}

impl Luma {
    /// A picture of one grey value. Sides of zero become one.
    pub fn filled(width: u32, height: u32, grey: u8) -> Self {
        let (width, height) = (width.max(1), height.max(1));
        Self {
            width,
            height,
            pixels: vec![grey; width as usize * height as usize],
        }
    }

    /// The grey value at column `x`, row `y`.
    ///
    /// # Panics
    /// Panics if the pixel is outside the picture.
    pub fn pixel(&self, x: u32, y: u32) -> u8 {
        assert!(x < self.width && y < self.height, "pixel outside the picture");
        self.pixels[y as usize * self.width as usize + x as usize]
    }

    /// The bytes of one row.
    ///
    /// # Panics
    /// Panics if the row is outside the picture.
    pub fn row(&self, y: u32) -> &[u8] {
        &self.pixels[y as usize * self.width as usize..][..self.width as usize]
    }

    /// The part of the picture inside a rectangle, which is clipped to the picture; `None` if the result is
    /// empty.
    pub fn crop(&self, x: u32, y: u32, width: u32, height: u32) -> Option<Self> {
        let right = x.saturating_add(width).min(self.width);
        let bottom = y.saturating_add(height).min(self.height);
        if x >= right || y >= bottom {
            return None;
        }
        let columns = x as usize..right as usize;
        let pixels = (y..bottom)
            .flat_map(|row| &self.row(row)[columns.clone()])
            .copied()
            .collect();
        Some(Self {
            width: right - x,
            height: bottom - y,
            pixels,
        })
    }

    /// The picture at another size: averaged when smaller, bicubic when larger. Sides of zero become one.
    pub fn resized(&self, width: u32, height: u32) -> Self {
        let (width, height) = (width.max(1), height.max(1));
        if (width, height) == (self.width, self.height) {
            return self.clone();
        }
        let pixels = resize_grey(&self.pixels, (self.width, self.height), (width, height));
        Self {
            width,
            height,
            pixels,
        }
    }

    /// [`crate::Picture::warp`] for grey pictures.
    pub fn warp(&self, map: &Homography, width: u32, height: u32, outside: u8) -> Self {
        let mut picture = Self::filled(width, height, outside);
        let stride = self.width as usize;
        let size = (self.width, self.height);
        let is_affine = map.is_affine();
        for (y, row) in picture.pixels.chunks_exact_mut(width.max(1) as usize).enumerate() {
            let y = y as f32 + 0.5;
            let inside = columns_inside(map, y, width, size);
            for (x, target) in inside.clone().zip(&mut row[inside.start as usize..]) {
                *target = self.sample_inside(map.apply_affine(Point::new(x as f32 + 0.5, y)));
            }
            for x in (0..inside.start).chain(inside.end..width) {
                let at = Point::new(x as f32 + 0.5, y);
                let at = if is_affine {
                    map.apply_affine(at)
                } else {
                    map.apply(at)
                };
                let target = &mut row[x as usize];
                if surrounds(size, at) {
                    *target = self.sample_inside(at);
                    continue;
                }
                let Some(([x0, x1], [y0, y1], fx, fy)) = neighbours(at, self.width, self.height) else {
                    continue;
                };
                let at = |x: usize, y: usize| f32::from(self.pixels[y * stride + x]);
                let top = at(x0, y0) + (at(x1, y0) - at(x0, y0)) * fx;
                let bottom = at(x0, y1) + (at(x1, y1) - at(x0, y1)) * fx;
                *target = (top + (bottom - top) * fy + 0.5) as u8;
            }
        }
        picture
    }

    /// The grey at a point that this picture [surrounds].
    #[inline]
    fn sample_inside(&self, at: Point) -> u8 {
        let stride = self.width as usize;
        let (left, top) = (at.x - 0.5, at.y - 0.5);
        let (x0, y0) = (left as u32, top as u32);
        let (fx, fy) = (left - x0 as f32, top - y0 as f32);
        let from = y0 as usize * stride + x0 as usize;
        let (upper, lower) = (&self.pixels[from..][..2], &self.pixels[from + stride..][..2]);
        let [a, b, c, d] = [upper[0], upper[1], lower[0], lower[1]].map(f32::from);
        let (top, bottom) = (a + (b - a) * fx, c + (d - c) * fx);
        (top + (bottom - top) * fy + 0.5) as u8
    }

    /// The integral sums, which give the mean of any rectangle in four look-ups.
    pub fn integral(&self) -> Integral {
        let stride = self.width as usize + 1;
        let mut sums = vec![0u64; stride * (self.height as usize + 1)];
        for y in 0..self.height as usize {
            let mut row_sum = 0;
            for (x, &grey) in self.row(y as u32).iter().enumerate() {
                row_sum += u64::from(grey);
                sums[(y + 1) * stride + x + 1] = sums[y * stride + x + 1] + row_sum;
            }
        }
        Integral {
            width: self.width,
            height: self.height,
            sums,
        }
    }
}

impl Reducible for Luma {
    fn size(&self) -> (u32, u32) {
        (self.width, self.height)
    }

    fn halved(&self) -> Self {
        let mut pixels = Vec::with_capacity(self.pixels.len() / 4);
        for rows in self.pixels.chunks_exact(2 * self.width as usize) {
            let (upper, lower) = rows.split_at(rows.len() / 2);
            let pairs = upper.as_chunks::<2>().0.iter().zip(lower.as_chunks::<2>().0);
            pixels.extend(pairs.map(|([a, b], [c, d])| {
                ((u16::from(*a) + u16::from(*b) + u16::from(*c) + u16::from(*d) + 2) / 4) as u8
            }));
        }
        Self {
            width: self.width / 2,
            height: self.height / 2,
            pixels,
        }
    }
}

/// Integral sums of a [`Luma`].
#[derive(Debug, Clone)]
pub struct Integral {
    width: u32,
    height: u32,
    sums: Vec<u64>,
}

impl Integral {
    /// The sum over columns `x0..x1` and rows `y0..y1`, which are clipped to the picture.
    pub fn sum(&self, x0: u32, y0: u32, x1: u32, y1: u32) -> u64 {
        let (x1, y1) = (x1.min(self.width) as usize, y1.min(self.height) as usize);
        let (x0, y0) = ((x0 as usize).min(x1), (y0 as usize).min(y1));
        let stride = self.width as usize + 1;
        let at = |x: usize, y: usize| self.sums[y * stride + x];
        at(x1, y1) + at(x0, y0) - at(x0, y1) - at(x1, y0)
    }

    /// The mean over columns `x0..x1` and rows `y0..y1`, clipped to the picture; 0 if the rectangle is empty.
    pub fn mean(&self, x0: u32, y0: u32, x1: u32, y1: u32) -> f32 {
        let columns = x1.min(self.width).saturating_sub(x0);
        let rows = y1.min(self.height).saturating_sub(y0);
        let area = u64::from(columns) * u64::from(rows);
        if area == 0 {
            0.0
        } else {
            self.sum(x0, y0, x1, y1) as f32 / area as f32
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integral_sums_are_sums() {
        let luma = Luma {
            width: 5,
            height: 4,
            pixels: (0..20).map(|i| i * 7).collect(),
        };
        let integral = luma.integral();
        for (x0, y0, x1, y1) in [
            (0, 0, 5, 4),
            (1, 1, 3, 2),
            (4, 3, 5, 4),
            (2, 0, 2, 4),
            (0, 0, 99, 99),
            (9, 9, 12, 12),
        ] {
            let inside = |&(x, y): &(u32, u32)| x >= x0 && x < x1 && y >= y0 && y < y1;
            let all = (0..4).flat_map(|y| (0..5).map(move |x| (x, y)));
            let expected: Vec<u64> = all
                .filter(inside)
                .map(|(x, y)| u64::from(luma.pixel(x, y)))
                .collect();
            let sum: u64 = expected.iter().sum();
            assert_eq!(integral.sum(x0, y0, x1, y1), sum);
            let mean = if expected.is_empty() {
                0.0
            } else {
                sum as f32 / expected.len() as f32
            };
            assert!((integral.mean(x0, y0, x1, y1) - mean).abs() < 1e-3);
        }
    }

    #[test]
    fn warping_by_identity_is_exact() {
        let luma = Luma {
            width: 4,
            height: 3,
            pixels: (0..12).map(|i| i * 20).collect(),
        };
        assert_eq!(luma.warp(&Homography::IDENTITY, 4, 3, 0), luma);
    }
}
