//! The low frequencies of a picture's luma in blocks of 8 × 8 pixels: JPEG's transform (ITU-T T.81 §A.3.3).
//!
//! It never interprets the coefficients.

use std::array;
use std::f32::consts::PI;
use std::sync::LazyLock;

use crate::Picture;

const SIDE: usize = 8;
/// One more than the highest frequency in each direction.
const LOW: usize = 5;

/// The frequencies that are computed (across, down): those after the mean, in JPEG's order.
pub const FREQUENCIES: [(usize, usize); 14] = [
    (1, 0),
    (0, 1),
    (0, 2),
    (1, 1),
    (2, 0),
    (3, 0),
    (2, 1),
    (1, 2),
    (0, 3),
    (0, 4),
    (1, 3),
    (2, 2),
    (3, 1),
    (4, 0),
];

/// The transform's waves, by frequency.
static WAVES: LazyLock<[[f32; SIDE]; LOW]> = LazyLock::new(|| {
    array::from_fn(|k| {
        let scale = if k == 0 { 0.125_f32 } else { 0.25 }.sqrt();
        array::from_fn(|n| scale * ((2 * n + 1) as f32 * k as f32 * PI / 16.0).cos())
    })
});

/// Coefficients of a picture's blocks, row by row.
#[derive(Debug)]
pub struct Coefficients {
    /// Blocks in a row.
    pub columns: usize,
    values: Vec<[f32; FREQUENCIES.len()]>,
}

impl Coefficients {
    /// Transforms whole blocks from an offset on (x, y in pixels): all, or about `most`, each so many after the one before
    /// it in reading order. `None` if none fits.
    pub fn of(picture: &Picture, offset: (u32, u32), most: usize) -> Option<Self> {
        let blocks = |side: u32, from: u32| side.saturating_sub(from) as usize / SIDE;
        let (columns, rows) = (blocks(picture.width, offset.0), blocks(picture.height, offset.1));
        let every = (columns * rows).div_ceil(most).max(1);
        let values: Vec<_> = (0..columns * rows)
            .step_by(every)
            .map(|at| {
                let x = offset.0 as usize + at % columns * SIDE;
                let y = offset.1 as usize + at / columns * SIDE;
                transform(picture, x, y)
            })
            .collect();
        (!values.is_empty()).then_some(Self { columns, values })
    }

    /// The number of blocks.
    pub fn count(&self) -> usize {
        self.values.len()
    }

    /// Every block's coefficient of a frequency, by its place in [`FREQUENCIES`].
    pub fn of_frequency(&self, at: usize) -> impl Iterator<Item = f32> {
        self.values.iter().map(move |block| block[at])
    }
}

/// The coefficients of the block whose first pixel is at (x, y).
fn transform(picture: &Picture, x: usize, y: usize) -> [f32; FREQUENCIES.len()] {
    let mut rows = [[0.0_f32; SIDE]; LOW];
    for down in 0..SIDE {
        let pixels = &picture.row((y + down) as u32)[x * 3..(x + SIDE) * 3];
        let luma: [f32; SIDE] = array::from_fn(|across| {
            let [red, green, blue] = array::from_fn(|channel| f32::from(pixels[across * 3 + channel]));
            0.299 * red + 0.587 * green + 0.114 * blue
        });
        for (row, wave) in rows.iter_mut().zip(&*WAVES) {
            row[down] = luma.iter().zip(wave).map(|(value, wave)| value * wave).sum();
        }
    }
    FREQUENCIES.map(|(u, v)| {
        let wave = &WAVES[v];
        rows[u].iter().zip(wave).map(|(value, wave)| value * wave).sum()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wave_has_one_coefficient() {
        for (at, (u, v)) in FREQUENCIES.iter().enumerate() {
            let mut picture = Picture::filled(16, 16, [0; 3]);
            for (place, pixel) in picture.pixels.as_chunks_mut::<3>().0.iter_mut().enumerate() {
                let wave = |k: usize, n: usize| ((2 * n + 1) as f32 * k as f32 * PI / 16.0).cos();
                let value = 128.0 + 60.0 * wave(*u, place % 16 % 8) * wave(*v, place / 16 % 8);
                *pixel = [value.round() as u8; 3];
            }
            let coefficients = Coefficients::of(&picture, (0, 0), usize::MAX).unwrap();
            assert_eq!((coefficients.columns, coefficients.count()), (2, 4));
            for other in 0..FREQUENCIES.len() {
                for value in coefficients.of_frequency(other) {
                    assert_eq!(value > 100.0, other == at, "({u}, {v}), {other}: {value}");
                    assert!(value.abs() < 3.0 || other == at, "({u}, {v}), {other}: {value}");
                }
            }
        }
    }

    #[test]
    fn blocks_lie_within_the_picture() {
        let of = |width, height, offset| {
            let found = Coefficients::of(&Picture::filled(width, height, [9; 3]), offset, usize::MAX);
            found.map(|found| (found.columns, found.count()))
        };
        assert_eq!(of(17, 24, (0, 0)), Some((2, 6)));
        assert_eq!(of(17, 24, (4, 4)), Some((1, 2)));
        assert_eq!(of(11, 24, (4, 4)), None);
        assert_eq!(of(3, 3, (4, 4)), None);
        let some = Coefficients::of(&Picture::filled(80, 80, [9; 3]), (0, 0), 30).unwrap();
        assert_eq!(some.count(), 25);
    }
}
