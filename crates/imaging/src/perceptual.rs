//! The perceptual hash of a picture: 256 bits that mostly survive another size, another encoding and a narrow crop.
//!
//! It finds candidates for the same picture. It never decides that two pictures are one: pictures of one person in one
//! place can have similar hashes, so `faces` compares the textures of the faces too. It reads no files.

use serde::{Deserialize, Serialize};

use crate::luma::Luma;
use crate::picture::Picture;

/// Pixels along a side of the reduced picture.
const SIDE: usize = 32;
/// An amplitude up to which a frequency counts as absent, so that rounding never decides about a flat picture's bits.
const NOISE: f32 = 1.0;
/// The bytes of a hash.
const BYTES: usize = 32;
/// The bits of a hash.
const BITS: usize = BYTES * 8;
/// The bits that the bands contain. A crop changes the high frequencies first.
const LOWEST: usize = 64;
/// The bits of a band.
const BAND_BITS: usize = 16;
/// Each of these divides the lowest bits into four bands, by taking every so-manieth bit. They are odd, so each
/// division contains every bit once.
const STEPS: [usize; 4] = [1, 5, 13, 27];

/// A picture's perceptual hash: the signs of its 256 lowest spatial frequencies, lowest first, without the mean.
///
/// It is personal data, because it recognises a picture of a person, so `Debug` omits it.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PerceptualHash([u8; BYTES]);

impl PerceptualHash {
    /// The number of [`PerceptualHash::bands`].
    pub const BANDS: usize = STEPS.len() * LOWEST / BAND_BITS;

    /// The hash of an upright picture. Turned and mirrored pictures have other hashes.
    #[must_use]
    pub fn of(picture: &Picture) -> Self {
        Self::of_luma(&picture.luma())
    }

    fn of_luma(luma: &Luma) -> Self {
        let side = SIDE as u32;
        let spectrum = spectrum(&luma.resized(side, side).pixels);
        let mut bytes = [0; BYTES];
        for (at, (across, down)) in lowest_frequencies().into_iter().enumerate() {
            if spectrum[down * SIDE + across] > NOISE {
                bytes[at / 8] |= 1 << (at % 8);
            }
        }
        Self(bytes)
    }

    /// The hash of stored bytes.
    #[must_use]
    pub fn from_bytes(bytes: [u8; BYTES]) -> Self {
        Self(bytes)
    }

    /// The bytes to store.
    #[must_use]
    pub fn to_bytes(self) -> [u8; BYTES] {
        self.0
    }

    /// The number of bits in which two hashes differ, 0 to 256. Unrelated pictures differ in about 128.
    #[must_use]
    pub fn distance(self, other: Self) -> u32 {
        let bytes = self.0.iter().zip(other.0);
        bytes.map(|(a, b)| (a ^ b).count_ones()).sum()
    }

    /// Sixteen selections of 16 of the lowest bits. Pictures that look the same mostly have one of them in common, so
    /// an index of them finds candidates.
    #[must_use]
    pub fn bands(self) -> [u16; Self::BANDS] {
        let of_step = LOWEST / BAND_BITS;
        std::array::from_fn(|band| {
            let (step, first) = (STEPS[band / of_step], band % of_step * BAND_BITS);
            (first..first + BAND_BITS).fold(0, |bits, place| bits << 1 | self.bit(place * step % LOWEST))
        })
    }

    fn bit(self, at: usize) -> u16 {
        u16::from(self.0[at / 8] >> (at % 8) & 1)
    }
}

impl std::fmt::Debug for PerceptualHash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PerceptualHash")
    }
}

/// The positions (across, down) of the 256 lowest frequencies, without the mean, lowest first.
fn lowest_frequencies() -> Vec<(usize, usize)> {
    let mut all: Vec<(usize, usize)> = (1..SIDE * SIDE).map(|at| (at % SIDE, at / SIDE)).collect();
    all.sort_by_key(|&(across, down)| (across * across + down * down, down));
    all.truncate(BITS);
    all
}

/// The two-dimensional discrete cosine transform (type II, not scaled) of `SIDE` × `SIDE` grey values.
fn spectrum(pixels: &[u8]) -> Vec<f32> {
    let cosines: Vec<f32> = (0..SIDE * SIDE)
        .map(|at| {
            let (frequency, position) = ((at / SIDE) as f32, (at % SIDE) as f32);
            (std::f32::consts::PI * frequency * (position + 0.5) / SIDE as f32).cos()
        })
        .collect();
    // Transforms each row and transposes the result, so that a second pass transforms the columns.
    let transform = |values: &[f32]| -> Vec<f32> {
        let mut result = vec![0.0; SIDE * SIDE];
        for (row, values) in values.chunks_exact(SIDE).enumerate() {
            for (frequency, cosines) in cosines.chunks_exact(SIDE).enumerate() {
                result[frequency * SIDE + row] = values.iter().zip(cosines).map(|(a, b)| a * b).sum();
            }
        }
        result
    };
    let grey: Vec<f32> = pixels.iter().map(|&value| f32::from(value)).collect();
    transform(&transform(&grey))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::{Limits, decode, encode_jpeg};

    /// A picture of soft spots that depend on the seed.
    fn picture(seed: u32) -> Picture {
        let mut state = seed;
        let spots: Vec<u8> = (0..12 * 16 * 3)
            .map(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (state >> 24) as u8
            })
            .collect();
        Picture::new(12, 16, spots)
            .expect("the right size")
            .resized(480, 640)
    }

    fn encoded(picture: &Picture, quality: u8) -> Picture {
        let jpeg = encode_jpeg(picture, quality).expect("encodes");
        decode(&jpeg, &Limits::default()).expect("decodes").picture
    }

    fn shares_band(a: PerceptualHash, b: PerceptualHash) -> bool {
        a.bands().iter().zip(b.bands()).any(|(a, b)| *a == b)
    }

    #[test]
    fn a_copy_is_near_and_another_picture_is_far() {
        let original = picture(1);
        let hash = PerceptualHash::of(&original);
        let brighter = {
            let mut brighter = original.clone();
            let brighten = |value: &mut u8| *value = (f32::from(*value) * 0.8 + 40.0) as u8;
            brighter.pixels.iter_mut().for_each(brighten);
            brighter
        };
        let copies = [
            ("re-encoded", encoded(&original, 40), 12),
            ("reduced", original.resized(120, 160), 12),
            ("enlarged", encoded(&original.resized(720, 960), 80), 12),
            ("brighter", brighter, 12),
            (
                "cropped by 1 %",
                original.crop(5, 6, 470, 628).expect("inside"),
                60,
            ),
        ];
        for (name, copy, most) in copies {
            let copy = PerceptualHash::of(&copy);
            assert!(hash.distance(copy) <= most, "{name}: {}", hash.distance(copy));
            assert!(shares_band(hash, copy), "{name}");
        }
        for seed in 2..30 {
            let other = PerceptualHash::of(&picture(seed));
            assert!(hash.distance(other) > 80, "{seed}: {}", hash.distance(other));
        }
        assert!(hash.distance(PerceptualHash::of(&original.mirrored())) > 80);
    }

    #[test]
    fn a_flat_picture_has_no_frequencies() {
        for picture in [Picture::filled(1, 1, [7; 3]), Picture::filled(90, 40, [255; 3])] {
            assert_eq!(PerceptualHash::of(&picture).to_bytes(), [0; BYTES]);
        }
    }

    #[test]
    fn every_low_bit_is_in_four_bands() {
        for at in 0..BITS {
            let mut bytes = [0; BYTES];
            bytes[at / 8] = 1 << (at % 8);
            let bands = PerceptualHash::from_bytes(bytes).bands();
            let changed = bands.iter().filter(|band| **band != 0).count();
            assert_eq!(changed, if at < LOWEST { STEPS.len() } else { 0 }, "bit {at}");
        }
    }

    #[test]
    fn frequencies_are_distinct_and_the_mean_is_none_of_them() {
        let all = lowest_frequencies();
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), BITS);
        assert!(!all.contains(&(0, 0)));
        assert_eq!(all[..3], [(1, 0), (0, 1), (1, 1)]);
    }
}
