//! Whether a part of a picture was put in after the rest had been compressed.
//!
//! A photograph that was saved as JPEG and then edited and saved again has been compressed twice, which leaves gaps in the
//! distribution of its DCT coefficients. A part from elsewhere has been compressed once in these blocks and has no gaps
//! (after T. Bianchi and A. Piva, *Image Forgery Localization via Block-Grained Analysis of JPEG Artifacts*, 2012).
//! What the coefficients were like before any compression is estimated from blocks that lie across the grid.
//!
//! A picture that was saved once, cropped off its grid, or saved more coarsely the second time has no measure. Whatever
//! was drawn over a photograph is found alike, so a name that was blacked out is a part, too.

use imaging::Decoded;
use imaging::block_transform::{Coefficients, FREQUENCIES};

use crate::fraud_signs::{FraudKind, FraudSign};

/// From this evidence on, the sign is raised.
const LIMIT: f32 = 5.0;
/// The least evidence per block that the picture as a whole was compressed twice.
const LEAST_EVIDENCE: f32 = 0.4;
/// The coarsest first quantisation that is looked for.
const COARSEST: usize = 40;
/// Coefficients are counted up to this multiple of their step on both sides of 0; larger ones prove nothing.
const LARGEST: i32 = 60;
const BINS: usize = 2 * LARGEST as usize + 1;
/// Rounding to whole grey levels moves a coefficient by these, which are evenly likely (a Gaussian of deviation 0.5).
const ROUNDING: [f32; 8] = [-0.77, -0.44, -0.24, -0.08, 0.08, 0.24, 0.44, 0.77];
/// The sizes of parts that are looked for, in blocks: a line of text and a portrait.
const PARTS: [(usize, usize); 2] = [(12, 4), (20, 24)];
/// So many blocks on the grid, and across it, tell how the whole picture was compressed.
const SAMPLE: usize = 8_000;

/// The sign of a file; `None` if the file does not allow a measure.
pub(super) fn sign(file: &Decoded) -> Option<FraudSign> {
    let steps = file.luma_steps?;
    let stored = file.as_stored()?;
    let across = Coefficients::of(&stored, (4, 4), SAMPLE)?;
    let sample = Coefficients::of(&stored, (0, 0), SAMPLE)?;
    let frequencies = FREQUENCIES.iter().enumerate();
    let gains = frequencies.filter_map(|(place, &(u, v))| {
        let step = f32::from(steps[v * 8 + u]);
        let natural: Vec<f32> = across.of_frequency(place).collect();
        let of_bins = twice_compressed(sample.of_frequency(place), &natural, step)?;
        Some(Gain { place, step, of_bins })
    });
    let gains: Vec<Gain> = gains.collect();
    let of_sample = evidence(&sample, &gains);
    if of_sample.iter().sum::<f32>() < LEAST_EVIDENCE * of_sample.len() as f32 {
        return None;
    }
    let blocks = Coefficients::of(&stored, (0, 0), usize::MAX)?;
    let evidence = evidence(&blocks, &gains);
    let parts = PARTS
        .into_iter()
        .filter_map(|size| least_compressed(&evidence, blocks.columns, size));
    let (measure, [x, y, width, height]) = parts.max_by(|(a, _), (b, _)| a.total_cmp(b))?;
    let pixels = |blocks: usize| (blocks * 8) as f32;
    let (left, top) = file.upright_point(pixels(x), pixels(y));
    let (right, bottom) = file.upright_point(pixels(x + width), pixels(y + height));
    let bounds = [
        left.min(right),
        top.min(bottom),
        (right - left).abs(),
        (bottom - top).abs(),
    ];
    Some(FraudSign {
        bounds: Some(bounds),
        ..FraudSign::of(FraudKind::Edited, measure, LIMIT)
    })
}

/// By how much a coefficient is more likely after two compressions than after one.
struct Gain {
    /// The frequency's place in [`FREQUENCIES`].
    place: usize,
    /// The step to which the file rounds it.
    step: f32,
    /// As a logarithm, by bin.
    of_bins: [f32; BINS],
}

/// The evidence of each block that it was compressed twice.
fn evidence(blocks: &Coefficients, gains: &[Gain]) -> Vec<f32> {
    let mut evidence = vec![0.0; blocks.count()];
    for gain in gains {
        for (sum, value) in evidence.iter_mut().zip(blocks.of_frequency(gain.place)) {
            *sum += gain.of_bins[bin(value / gain.step)];
        }
    }
    evidence
}

/// The place of a coefficient in multiples of its step among the bins.
fn bin(multiple: f32) -> usize {
    (nearest(multiple).clamp(-LARGEST, LARGEST) + LARGEST) as usize
}

/// The nearest whole number: as `round`, which is a call on processors without SSE 4.1.
fn nearest(value: f32) -> i32 {
    // `as` saturates.
    (value + 0.5_f32.copysign(value)) as i32
}

/// By how much each bin is more likely, as a logarithm, after the first compression that best explains the values;
/// `None` if a single one explains them better. `natural` are coefficients as before any compression.
fn twice_compressed(values: impl Iterator<Item = f32>, natural: &[f32], step: f32) -> Option<[f32; BINS]> {
    let counts = counted(values.map(|value| bin(value / step)));
    let total: f32 = counts.iter().sum();
    let once = likelihoods(natural.iter().map(|value| bin(value / step)));
    let mut best = None;
    let mut most = 0.01 * total;
    for first in (1..=COARSEST)
        .map(|first| first as f32)
        .filter(|first| *first != step)
    {
        let rounded = natural.iter().zip(ROUNDING.iter().cycle());
        let twice = likelihoods(
            rounded.map(|(value, moved)| bin((nearest(value / first) as f32 * first + moved) / step)),
        );
        let mut gain: [f32; BINS] = std::array::from_fn(|at| twice[at] - once[at]);
        (gain[0], gain[BINS - 1]) = (0.0, 0.0);
        let sum: f32 = counts.iter().zip(&gain).map(|(count, gain)| count * gain).sum();
        if sum > most {
            most = sum;
            best = Some(gain);
        }
    }
    best
}

fn counted(bins: impl Iterator<Item = usize>) -> [f32; BINS] {
    let mut counts = [0.0; BINS];
    bins.for_each(|bin| counts[bin] += 1.0);
    counts
}

/// The logarithms of the bins' likelihoods. One is added to each count, so that no bin is impossible.
fn likelihoods(bins: impl Iterator<Item = usize>) -> [f32; BINS] {
    let counts = counted(bins).map(|count| count + 1.0);
    let total: f32 = counts.iter().sum();
    counts.map(|count| (count / total).ln())
}

/// The part of a size (columns, rows) with the strongest evidence of having been compressed once: the evidence, in
/// deviations of a sum whose terms are as likely positive as negative, and the part, in blocks. `None` if no part fits.
fn least_compressed(evidence: &[f32], columns: usize, size: (usize, usize)) -> Option<(f32, [usize; 4])> {
    let (across, down) = size;
    let rows = evidence.len() / columns;
    let sums = summed(evidence.iter().map(|value| f64::from(*value)), columns);
    let squares = summed(evidence.iter().map(|value| f64::from(*value).powi(2)), columns);
    let within = |sums: &[f64], x: usize, y: usize| {
        let at = |x: usize, y: usize| sums[y * (columns + 1) + x];
        at(x + across, y + down) - at(x, y + down) - at(x + across, y) + at(x, y)
    };
    let mut best: Option<(f32, [usize; 4])> = None;
    for y in 0..(rows + 1).saturating_sub(down) {
        for x in 0..(columns + 1).saturating_sub(across) {
            let deviation = within(&squares, x, y).max(1e-3).sqrt();
            let found = (-within(&sums, x, y) / deviation) as f32;
            if best.is_none_or(|(most, _)| found > most) {
                best = Some((found, [x, y, across, down]));
            }
        }
    }
    best
}

/// Sums over all values above and left of each corner of a grid with so many columns.
fn summed(values: impl Iterator<Item = f64>, columns: usize) -> Vec<f64> {
    let mut sums = vec![0.0; columns + 1];
    let mut row = 0.0;
    for (at, value) in values.enumerate() {
        if at % columns == 0 {
            sums.push(0.0);
            row = 0.0;
        }
        row += value;
        sums.push(sums[sums.len() - columns - 1] + row);
    }
    sums
}

#[cfg(test)]
mod tests {
    use imaging::{Limits, Picture, decode, encode_jpeg};

    use super::*;

    /// A page with strokes, soft shades and noise.
    fn page(seed: u32) -> Picture {
        let (width, height) = (800, 640);
        let mut picture = Picture::filled(width, height, [0; 3]);
        let mut noise = seed;
        for (at, pixel) in picture.pixels.as_chunks_mut::<3>().0.iter_mut().enumerate() {
            let (x, y) = ((at as u32 % width) as f32, (at as u32 / width) as f32);
            noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let seed = seed as f32;
            let strokes = 35.0 * ((x / 5.3 + seed).sin() * (y / 11.0).cos()).max(0.2);
            let shade = 40.0 * (x / 90.0 + seed).sin() * (y / 70.0).cos();
            let value = 190.0 - strokes + shade + (noise >> 24) as f32 / 40.0;
            *pixel = [value as u8; 3];
        }
        picture
    }

    fn saved(picture: &Picture, quality: u8) -> Decoded {
        decode(&encode_jpeg(picture, quality).unwrap(), &Limits::default()).unwrap()
    }

    /// A page that was saved, and then given a part of another one.
    fn edited(first: u8, part: [u32; 4]) -> Picture {
        let (mut page, other) = (saved(&page(3), first).picture, saved(&page(8), 90).picture);
        let [x, y, width, height] = part;
        for row in 0..height {
            let from = ((row + 13) * other.width + 21) as usize * 3;
            let to = ((row + y) * page.width + x) as usize * 3;
            let length = width as usize * 3;
            page.pixels[to..to + length].copy_from_slice(&other.pixels[from..from + length]);
        }
        page
    }

    #[test]
    fn a_part_that_was_compressed_once_is_found() {
        for (name, part) in [
            ("a line", [300, 205, 160, 40]),
            ("a portrait", [90, 130, 210, 260]),
        ] {
            for second in [95, 97] {
                let sign = sign(&saved(&edited(86, part), second)).expect("it was saved twice");
                assert!(sign.raised, "{name}, {second}: {sign:?}");
                let [left, top, width, height] = sign.bounds.unwrap();
                let (x, y) = (left + width / 2.0, top + height / 2.0);
                let [px, py, pw, ph] = part.map(|side| side as f32);
                assert!(
                    (px - 20.0..px + pw + 20.0).contains(&x) && (py - 20.0..py + ph + 20.0).contains(&y),
                    "{name}: {sign:?}"
                );
            }
        }
    }

    #[test]
    fn a_picture_saved_twice_or_once_raises_nothing() {
        let twice = sign(&saved(&saved(&page(3), 86).picture, 95)).expect("it was saved twice");
        assert!(!twice.raised, "{twice:?}");
        assert_eq!(sign(&saved(&page(3), 86)), None);
        assert_eq!(sign(&saved(&saved(&page(3), 95).picture, 70)), None);
    }

    #[test]
    fn a_picture_without_blocks_has_no_measure() {
        for side in [1, 7, 30] {
            assert_eq!(sign(&saved(&Picture::filled(side, side, [90; 3]), 90)), None);
        }
    }
}
