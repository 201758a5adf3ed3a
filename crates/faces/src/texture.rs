//! The texture of a face: its light and dark details after alignment. A copy of a picture mostly keeps the texture;
//! two photographs of one person have different ones. See `similarity` for how far that was measured.
//!
//! A texture tells copies, not people. It is personal data all the same, so `Debug` omits the numbers.

use imaging::{Luma, Picture};
use serde::{Deserialize, Serialize};

/// Cells along a side of the texture.
const SIDE: usize = 40;
const CELLS: usize = SIDE * SIDE;
/// The chip's middle that is measured, as a share of its side: the face without hair and background.
const FACE: f32 = 0.72;
/// Light that changes over more than this many cells is shading, and is left out.
const SHADING: u32 = 5;
/// The most cells by which one texture is moved on the other.
const SHIFT: isize = 2;
/// The value of one standard deviation.
const DEVIATION: f32 = 40.0;

/// Details of a face, 40 × 40 cells of 8 bits. A flat picture has zeros only.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<i8>", into = "Vec<i8>")]
pub struct Texture(Box<[i8; CELLS]>);

impl Texture {
    /// The texture of an aligned chip.
    pub(crate) fn of(chip: &Picture) -> Self {
        let grey = chip.luma();
        let margin = ((1.0 - FACE) / 2.0 * grey.width as f32) as u32;
        let inner = grey.width - 2 * margin;
        let face = grey.crop(margin, margin, inner, inner).unwrap_or(grey);
        let side = SIDE as u32;
        let detail = face.resized(side, side);
        let shading = detail.resized(side / SHADING, side / SHADING).resized(side, side);
        Self::of_difference(&detail, &shading)
    }

    fn of_difference(detail: &Luma, shading: &Luma) -> Self {
        let differences = detail.pixels.iter().zip(&shading.pixels);
        let differences: Vec<f32> = differences.map(|(&a, &b)| f32::from(a) - f32::from(b)).collect();
        let mean = differences.iter().sum::<f32>() / CELLS as f32;
        let variance = differences
            .iter()
            .map(|value| (value - mean).powi(2))
            .sum::<f32>()
            / CELLS as f32;
        // Less than one grey level of detail is no texture.
        let scale = if variance > 1.0 {
            DEVIATION / variance.sqrt()
        } else {
            0.0
        };
        let mut cells = Box::new([0; CELLS]);
        for (cell, value) in cells.iter_mut().zip(&differences) {
            // `as` saturates: an eye's glint counts no more than three deviations.
            *cell = ((value - mean) * scale).round() as i8;
        }
        Self(cells)
    }

    /// How alike two textures are, from −1 to 1: the highest correlation of their cells, with the second one
    /// mirrored or not, and moved by a few cells, because the points of a mesh are not exact. A flat texture is
    /// like no other.
    #[must_use]
    pub fn correlation(&self, other: &Self) -> f32 {
        let mut mirrored = other.clone();
        mirrored.0.chunks_exact_mut(SIDE).for_each(<[i8]>::reverse);
        let shifts = || -SHIFT..=SHIFT;
        let places = shifts().flat_map(|across| shifts().map(move |down| (across, down)));
        places
            .flat_map(|place| [other, &mirrored].map(|second| self.correlation_at(second, place)))
            .fold(-1.0, f32::max)
    }

    /// The correlation of the cells that both textures have if the second is moved.
    fn correlation_at(&self, other: &Self, (across, down): (isize, isize)) -> f32 {
        let shared = |shift: isize| {
            let size = SIDE - shift.unsigned_abs();
            (shift.max(0).unsigned_abs(), (-shift).max(0).unsigned_abs(), size)
        };
        let ((x, other_x, width), (y, other_y, height)) = (shared(across), shared(down));
        let (mut products, mut squares, mut other_squares) = (0, 0, 0);
        for row in 0..height {
            let own = &self.0[(y + row) * SIDE + x..][..width];
            let others = &other.0[(other_y + row) * SIDE + other_x..][..width];
            for (&a, &b) in own.iter().zip(others) {
                let (a, b) = (i32::from(a), i32::from(b));
                products += a * b;
                squares += a * a;
                other_squares += b * b;
            }
        }
        let lengths = (squares as f32 * other_squares as f32).sqrt();
        if lengths > 0.0 {
            products as f32 / lengths
        } else {
            0.0
        }
    }
}

impl std::fmt::Debug for Texture {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Texture")
    }
}

impl From<Texture> for Vec<i8> {
    fn from(texture: Texture) -> Self {
        texture.0.to_vec()
    }
}

impl TryFrom<Vec<i8>> for Texture {
    type Error = String;

    fn try_from(cells: Vec<i8>) -> Result<Self, String> {
        let cells = cells.into_boxed_slice().try_into();
        cells
            .map(Self)
            .map_err(|cells: Box<[i8]>| format!("a texture has {CELLS} cells, not {}", cells.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A chip of spots that depend on the seed.
    fn chip(seed: u32) -> Picture {
        let mut state = seed;
        let spots: Vec<u8> = (0..400)
            .map(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (state >> 24) as u8
            })
            .collect();
        let pixels = spots.iter().flat_map(|&value| [value; 3]).collect();
        Picture::new(20, 20, pixels)
            .expect("the right size")
            .resized(150, 150)
    }

    fn changed(chip: &Picture, change: impl Fn(f32, f32) -> f32) -> Picture {
        let mut picture = chip.clone();
        for (at, value) in picture.pixels.iter_mut().enumerate() {
            *value = change(f32::from(*value), (at / 3 % 150) as f32 / 150.0) as u8;
        }
        picture
    }

    #[test]
    fn a_copy_has_the_texture_and_another_picture_has_not() {
        let original = chip(1);
        let texture = Texture::of(&original);
        let copies = [
            original.clone(),
            original.mirrored(),
            original.resized(60, 60).resized(150, 150),
            changed(&original, |value, _| value * 0.5 + 60.0),
            changed(&original, |value, across| value * (0.5 + 0.5 * across)),
        ];
        for (number, copy) in copies.iter().enumerate() {
            let alike = texture.correlation(&Texture::of(copy));
            assert!(alike > 0.9, "copy {number}: {alike}");
        }
        let others = (2..12).map(|seed| texture.correlation(&Texture::of(&chip(seed))));
        assert!(others.fold(0.0, f32::max) < 0.4);
    }

    #[test]
    fn a_flat_picture_is_like_none() {
        let flat = Texture::of(&Picture::filled(150, 150, [120; 3]));
        assert_eq!(flat.correlation(&flat), 0.0);
        assert_eq!(flat.correlation(&Texture::of(&chip(1))), 0.0);
    }

    #[test]
    fn json_round_trips_and_another_length_is_refused() {
        let texture = Texture::of(&chip(3));
        let json = serde_json::to_string(&texture).expect("serialises");
        assert_eq!(serde_json::from_str::<Texture>(&json).expect("parses"), texture);
        assert!(serde_json::from_str::<Texture>("[1,2]").is_err());
    }
}
