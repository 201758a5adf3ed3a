//! Colours of a frame in linear light, and how much a frame differs from the one before.
//!
//! This module never decides what a change of colour means.

use std::sync::LazyLock;

use imaging::{Luma, Picture, Point};

use crate::mesh::Mesh;

/// Points of the mesh in the middle of skin: the cheeks, then the forehead.
const SKIN: [usize; 12] = [50, 280, 205, 425, 101, 330, 36, 266, 151, 9, 108, 337];
/// Half the side of the square that is measured around each of them, in eye distances.
const SKIN_REACH: f32 = 0.08;
/// Every n-th pixel of the background's rows and columns is measured.
const STRIDE: usize = 3;
/// Space around the face's box that hair and ears may fill, as shares of its size: aside and above.
const HAIR: (f32, f32) = (0.2, 0.45);
/// Rows below this share of the face's height, from its top, may show shoulders.
const SHOULDERS: f32 = 0.85;
/// Fewer pixels are no background; the picture's upper corners are measured instead.
const MIN_PIXELS: usize = 40;
/// The side of those corners, as a share of the picture's.
const CORNER: f32 = 0.12;
/// The most cells of a grid along a side.
const GRID: usize = 64;
/// A cell whose mean differs by less has not changed, in grey levels.
const SAME: f32 = 0.02;
/// Grey levels that are not clipped.
const UNCLIPPED: std::ops::RangeInclusive<f32> = 3.0..=252.0;
/// The difference of frames of different sizes.
const ANOTHER_SIZE: f32 = 255.0;

/// The linear light of an sRGB value, 0–1.
static LINEAR: LazyLock<[f32; 256]> = LazyLock::new(|| {
    std::array::from_fn(|value| {
        let value = value as f32 / 255.0;
        if value <= 0.04045 {
            value / 12.92
        } else {
            ((value + 0.055) / 1.055).powf(2.4)
        }
    })
});

#[derive(Default)]
struct Mean {
    sums: [f64; 3],
    count: usize,
}

impl Mean {
    fn add(&mut self, pixel: &[u8]) {
        for (sum, value) in self.sums.iter_mut().zip(pixel) {
            *sum += f64::from(LINEAR[usize::from(*value)]);
        }
        self.count += 1;
    }

    fn colour(&self) -> [f32; 3] {
        self.sums.map(|sum| (sum / self.count.max(1) as f64) as f32)
    }
}

/// The mean colour of the skin of cheeks and forehead; black if all of it is outside the picture.
pub(super) fn skin(picture: &Picture, mesh: &Mesh) -> [f32; 3] {
    let places = SKIN.map(|index| mesh.point(index));
    around(picture, &places, mesh.inter_eye() * SKIN_REACH).colour()
}

/// The mean of the squares around these places.
fn around(picture: &Picture, places: &[Point], reach: f32) -> Mean {
    let mut mean = Mean::default();
    for place in places {
        // `as` saturates, and makes 0 of what is no number.
        let (left, right) = ((place.x - reach) as u32, (place.x + reach) as u32);
        let (top, bottom) = ((place.y - reach) as u32, (place.y + reach) as u32);
        let columns = left as usize * 3..right.min(picture.width) as usize * 3;
        for y in top..bottom.min(picture.height) {
            if let Some(pixels) = picture.row(y).get(columns.clone()) {
                pixels.chunks_exact(3).for_each(|pixel| mean.add(pixel));
            }
        }
    }
    mean
}

/// The mean colour of what is neither head nor shoulders. `face` is the face's box (left, top, right, bottom).
/// Without a face it is the mean of the whole picture.
pub(super) fn background(picture: &Picture, face: Option<[f32; 4]>) -> [f32; 3] {
    let mut mean = Mean::default();
    let head = face.map(|[left, top, right, bottom]| {
        let (aside, above) = ((right - left) * HAIR.0, (bottom - top) * HAIR.1);
        [
            left - aside,
            top - above,
            right + aside,
            top + (bottom - top) * SHOULDERS,
        ]
    });
    for y in (0..picture.height).step_by(STRIDE) {
        for (column, pixel) in picture.row(y).chunks_exact(3).enumerate().step_by(STRIDE) {
            let (x, y) = (column as f32, y as f32);
            let is_person = head.is_some_and(|[left, top, right, bottom]| {
                y > bottom || (y > top && (left..right).contains(&x))
            });
            if !is_person {
                mean.add(pixel);
            }
        }
    }
    if mean.count >= MIN_PIXELS || face.is_none() {
        return mean.colour();
    }
    corners(picture)
}

fn corners(picture: &Picture) -> [f32; 3] {
    let mut mean = Mean::default();
    let side = |length: u32| ((length as f32 * CORNER) as usize).max(1);
    let (width, corner) = (picture.width as usize, side(picture.width));
    for y in 0..side(picture.height) {
        let row = picture.row(y as u32);
        let pixels = row.chunks_exact(3).enumerate();
        pixels
            .filter(|(x, _)| *x < corner || *x + corner >= width)
            .for_each(|(_, pixel)| mean.add(pixel));
    }
    mean.colour()
}

/// A picture's mean grey in at most 64 × 64 cells.
pub(super) struct Grid {
    size: (u32, u32),
    means: Vec<f32>,
}

impl Grid {
    pub(super) fn of(grey: &Luma) -> Self {
        let (width, height) = (grey.width as usize, grey.height as usize);
        let (columns, rows) = (width.min(GRID), height.min(GRID));
        let starts: Vec<usize> = (0..=columns)
            .map(|column| (column * width).div_ceil(columns))
            .collect();
        let mut sums = vec![(0_u32, 0_usize); columns * rows];
        for (y, row) in grey.pixels.chunks_exact(width).enumerate() {
            let cells = &mut sums[y * rows / height * columns..][..columns];
            for (pair, (sum, count)) in starts.windows(2).zip(cells) {
                let part = &row[pair[0]..pair[1]];
                *sum += part.iter().map(|&value| u32::from(value)).sum::<u32>();
                *count += part.len();
            }
        }
        Self {
            size: (grey.width, grey.height),
            means: sums
                .iter()
                .map(|(sum, count)| *sum as f32 / (*count).max(1) as f32)
                .collect(),
        }
    }

    /// The mean absolute difference of the cells, in grey levels (0–255).
    pub(super) fn difference(&self, before: &Self) -> f32 {
        if self.size != before.size {
            return ANOTHER_SIZE;
        }
        let sum: f32 = self
            .means
            .iter()
            .zip(&before.means)
            .map(|(a, b)| (a - b).abs())
            .sum();
        sum / self.means.len().max(1) as f32
    }

    /// The share of cells that have not changed and are neither black nor white, 0–1.
    pub(super) fn unchanged(&self, before: &Self) -> f32 {
        if self.size != before.size {
            return 0.0;
        }
        let cells = self.means.iter().zip(&before.means);
        // A clipped cell has no noise that could be seen.
        let same = cells
            .filter(|(a, b)| (*a - *b).abs() < SAME && UNCLIPPED.contains(*a))
            .count();
        same as f32 / self.means.len().max(1) as f32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_background_is_what_is_beside_and_above_the_head() {
        // Blue, with a head in red and shoulders in green.
        let pixels = (0..120 * 160).flat_map(|i| match (i % 120, i / 120) {
            (_, 110..) => [0, 200, 0],
            (34..86, 30..) => [200, 0, 0],
            _ => [0, 0, 255],
        });
        let picture = Picture::new(120, 160, pixels.collect()).expect("the right size");
        assert_eq!(
            background(&picture, Some([40.0, 50.0, 80.0, 110.0])),
            [0.0, 0.0, 1.0]
        );
        let whole = background(&picture, None);
        assert!(whole.iter().all(|value| (0.05..0.7).contains(value)), "{whole:?}");
        // A face that leaves nothing: the corners.
        assert_eq!(
            background(&picture, Some([-500.0, -500.0, 900.0, 900.0])),
            [0.0, 0.0, 1.0]
        );
        assert_eq!(
            background(&Picture::filled(1, 1, [255; 3]), Some([f32::NAN; 4])),
            [1.0; 3]
        );
    }

    #[test]
    fn skin_is_measured_in_linear_light() {
        let mesh = crate::mesh::tests::synthetic(0.0, 0.0, 0.3);
        let grey = skin(&Picture::filled(600, 600, [188, 0, 255]), &mesh);
        assert!(
            (grey[0] - 0.5).abs() < 0.01 && grey[1] == 0.0 && (grey[2] - 1.0).abs() < 1e-4,
            "{grey:?}"
        );
        assert_eq!(skin(&Picture::filled(20, 20, [200; 3]), &mesh), [0.0; 3]);
    }

    #[test]
    fn differences_of_frames_are_in_grey_levels() {
        let of = |width, height, grey| Grid::of(&Picture::filled(width, height, [grey; 3]).luma());
        assert_eq!(of(360, 480, 90).difference(&of(360, 480, 90)), 0.0);
        assert!((of(360, 480, 93).difference(&of(360, 480, 90)) - 3.0).abs() < 1e-3);
        assert_eq!(of(360, 481, 90).difference(&of(360, 480, 90)), ANOTHER_SIZE);
        assert_eq!(of(360, 480, 90).unchanged(&of(360, 480, 90)), 1.0);
        assert_eq!(of(360, 480, 255).unchanged(&of(360, 480, 255)), 0.0);
        assert_eq!(of(360, 480, 91).unchanged(&of(360, 480, 90)), 0.0);
        assert_eq!(of(360, 481, 90).unchanged(&of(360, 480, 90)), 0.0);
        for (width, height) in [(1, 1), (1, 9_000), (9_000, 1), (65, 63)] {
            assert!((of(width, height, 255).difference(&of(width, height, 0)) - 255.0).abs() < 1e-3);
        }
    }
}
