//! Measures how far the guard patterns of a nearly straightened PDF417 symbol are from their places.
//!
//! The edges of a blurred pattern move by more than a module, but the pattern as a whole does not. This module
//! never finds a symbol; `guards` does.

use imaging::Luma;

use super::rows::{ACROSS, DOWN, MARGIN_ACROSS, MARGIN_DOWN};

/// The modules of the start pattern after the quiet zone, and of the stop pattern before it.
const START: [u8; 17] = [1, 1, 1, 1, 1, 1, 1, 1, 0, 1, 0, 1, 0, 1, 0, 0, 0];
const STOP: [u8; 18] = [1, 1, 1, 1, 1, 1, 1, 0, 1, 0, 0, 0, 1, 0, 1, 0, 0, 1];
/// The modules of the quiet zone that are compared.
const QUIET: usize = 2;
/// The blur of the patterns, as a standard deviation in modules.
const BLUR: f32 = 0.7;
/// The largest offset in pixels that is measured.
const MAX_OFFSET: i32 = 2 * ACROSS as i32 - 2;
/// A band of lines with a smaller correlation has no offset.
const MIN_CORRELATION: f32 = 0.75;
/// The lines of a band, about a row.
const BAND: u32 = 3 * DOWN;
/// The smallest number of bands that give a side's offset.
const MIN_BANDS: usize = 4;

/// The offsets in pixels of the left and the right side, each at the symbol's upper and lower end. Returns
/// `None` if a side is not recognised.
pub(super) fn side_offsets(symbol: &Luma, columns: usize) -> Option<[[f32; 2]; 2]> {
    let start: Vec<u8> = [0; QUIET].into_iter().chain(START).collect();
    let stop: Vec<u8> = STOP.into_iter().chain([0; QUIET]).collect();
    let left = MARGIN_ACROSS as usize - QUIET;
    let right = MARGIN_ACROSS as usize + (columns + 3) * 17;
    let bands: Vec<(f32, Vec<f32>)> = (0..symbol.height.saturating_sub(BAND))
        .step_by(BAND as usize)
        .map(|top| (top as f32 + BAND as f32 / 2.0, band(symbol, top)))
        .collect();
    let bottom = symbol.height as f32 - (MARGIN_DOWN * DOWN) as f32;
    let side = |pattern: &[u8], module: usize| {
        let pattern = blurred(pattern);
        let offsets: Vec<(f32, f32)> = bands
            .iter()
            .filter_map(|(y, band)| Some((*y, offset(band, &pattern, module as i32 * ACROSS as i32)?)))
            .collect();
        let (first, slope) = line(&offsets)?;
        Some([(MARGIN_DOWN * DOWN) as f32, bottom].map(|y| first + slope * y))
    };
    Some([side(&start, left)?, side(&stop, right)?])
}

/// The mean of neighbouring lines.
fn band(symbol: &Luma, top: u32) -> Vec<f32> {
    (0..symbol.width)
        .map(|x| {
            let sum: u32 = (top..top + BAND).map(|y| u32::from(symbol.pixel(x, y))).sum();
            sum as f32 / BAND as f32
        })
        .collect()
}

/// The brightness of the pixels of a pattern, in which 1 is a bar.
fn blurred(pattern: &[u8]) -> Vec<f32> {
    let fine: Vec<f32> = pattern
        .iter()
        .flat_map(|&module| [1.0 - f32::from(module); ACROSS as usize])
        .collect();
    let deviation = BLUR * ACROSS as f32;
    let pixels = (0..fine.len()).map(|at| {
        let weight = |from: usize| (-0.5 * ((at as f32 - from as f32) / deviation).powi(2)).exp();
        let total: f32 = (0..fine.len()).map(weight).sum();
        fine.iter()
            .enumerate()
            .map(|(from, value)| weight(from) * value)
            .sum::<f32>()
            / total
    });
    pixels.collect()
}

/// The offset at which a band resembles a pattern most, to a fraction of a pixel.
fn offset(band: &[f32], pattern: &[f32], place: i32) -> Option<f32> {
    let scores: Vec<f32> = (-MAX_OFFSET - 1..=MAX_OFFSET + 1)
        .map(|shift| {
            let first = usize::try_from(place + shift).ok();
            let part = first.and_then(|first| band.get(first..first + pattern.len()));
            part.map_or(-1.0, |part| correlation(part, pattern))
        })
        .collect();
    let best = (1..scores.len() - 1).max_by(|&a, &b| scores[a].total_cmp(&scores[b]))?;
    if scores[best] < MIN_CORRELATION {
        return None;
    }
    let (before, after) = (scores[best - 1], scores[best + 1]);
    let curvature = before - 2.0 * scores[best] + after;
    let fraction = if curvature < -1e-6 {
        (0.5 * (before - after) / curvature).clamp(-0.5, 0.5)
    } else {
        0.0
    };
    Some((best as i32 - MAX_OFFSET - 1) as f32 + fraction)
}

fn correlation(a: &[f32], b: &[f32]) -> f32 {
    let count = a.len() as f32;
    let (mean_a, mean_b) = (a.iter().sum::<f32>() / count, b.iter().sum::<f32>() / count);
    let (mut ab, mut aa, mut bb) = (0.0, 0.0, 0.0);
    for (x, y) in a.iter().zip(b) {
        let (x, y) = (x - mean_a, y - mean_b);
        ab += x * y;
        aa += x * x;
        bb += y * y;
    }
    ab / (aa * bb).sqrt().max(1e-3)
}

/// The line through points by Theil and Sen's estimate: value at 0 and slope.
fn line(points: &[(f32, f32)]) -> Option<(f32, f32)> {
    if points.len() < MIN_BANDS {
        return None;
    }
    let mut slopes: Vec<f32> = Vec::new();
    for (i, a) in points.iter().enumerate() {
        slopes.extend(points[i + 1..].iter().map(|b| (b.1 - a.1) / (b.0 - a.0)));
    }
    let slope = median(&mut slopes)?;
    let mut values: Vec<f32> = points.iter().map(|(y, offset)| offset - slope * y).collect();
    Some((median(&mut values)?, slope))
}

fn median(values: &mut [f32]) -> Option<f32> {
    values.sort_by(f32::total_cmp);
    values.get(values.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A symbol without codewords whose sides are moved by an offset at its top and another at its bottom.
    fn symbol(columns: usize, offsets: [f32; 2]) -> Luma {
        let modules = 17 * columns + 69;
        let width = (modules as u32 + 2 * MARGIN_ACROSS) * ACROSS;
        let height = 60 * DOWN + 2 * MARGIN_DOWN * DOWN;
        let mut luma = Luma::filled(width, height, 220);
        for (index, grey) in luma.pixels.iter_mut().enumerate() {
            let (x, y) = ((index as u32 % width) as f32, (index as u32 / width) as f32);
            let place = y / height as f32;
            let offset = offsets[0] * (1.0 - place) + offsets[1] * place;
            let module = ((x - offset) / ACROSS as f32).floor() as i32 - MARGIN_ACROSS as i32;
            let stop = module - (modules as i32 - 18);
            let is_bar =
                |pattern: &[u8], at: i32| usize::try_from(at).is_ok_and(|at| pattern.get(at) == Some(&1));
            if is_bar(&START, module) || is_bar(&STOP, stop) {
                *grey = 30;
            }
        }
        luma
    }

    #[test]
    fn offsets_are_measured_to_a_quarter_of_a_module() {
        for offsets in [[0.0, 0.0], [3.0, 3.0], [-4.0, 2.0], [5.0, 1.0]] {
            let luma = symbol(10, offsets);
            let measured = side_offsets(&luma, 10).expect("both sides are recognised");
            let share = (MARGIN_DOWN * DOWN) as f32 / luma.height as f32;
            for [top, bottom] in measured {
                let at = |share: f32| offsets[0] + (offsets[1] - offsets[0]) * share;
                assert!((top - at(share)).abs() < 1.0, "{offsets:?} {measured:?}");
                assert!((bottom - at(1.0 - share)).abs() < 1.0, "{offsets:?} {measured:?}");
            }
        }
    }

    #[test]
    fn a_picture_without_guards_has_no_offsets() {
        for (width, height) in [(1, 1), (900, 40), (900, 200)] {
            assert_eq!(side_offsets(&Luma::filled(width, height, 90), 10), None);
        }
    }
}
