//! Recognition of one row of a machine-readable zone by our own network, which knows OCR-B and nothing else.
//!
//! The network is trained on rendered lines (`training/mrz`). Where a character is covered or blurred away, it spreads
//! its probability over the characters that may stand there. This module never decides what is printed.

use imaging::Pyramid;
use inference::{Input, ModelName};

use super::ctc::{Emissions, SYMBOL_COUNT};
use super::recognise::{Size, View, cut_out};
use super::{Ocr, OcrError, Quad};

/// The network's height in pixels.
const HEIGHT: u32 = 32;
/// Rows are narrowed by this factor, because OCR-B's characters are widely spaced.
const SQUEEZE: f32 = 0.64;
/// The usual distance of characters in pixels, so narrowed.
const PITCH: f32 = 12.5;
/// Least and most width in pixels.
const MIN_WIDTH: f32 = 64.0;
const MAX_WIDTH: f32 = 640.0;
/// Widths are multiples of this, so that the runtime has few different input shapes.
const WIDTH_STEP: u32 = 16;
/// The network's classes: every symbol but Ñ, then the blank.
const CLASSES: usize = SYMBOL_COUNT;
/// A character lasts about three steps, whose errors are nearly the same. `training/mrz` states what was measured
/// of the certainty that remains.
const REPEATS: f64 = 2.3;

impl Ocr {
    /// Reads the row of a machine-readable zone inside `quad`. `pitch` is the distance of its characters as a share of
    /// its length, if it is known: rows seen from their side are shortened. Otherwise, the row's proportions tell.
    ///
    /// # Errors
    /// Fails when the model does not run, or its output does not fit the symbols.
    pub fn recognise_zone(
        &self,
        pyramid: &Pyramid<'_>,
        quad: &Quad,
        view: View,
        pitch: Option<f32>,
    ) -> Result<Emissions, OcrError> {
        let width = match pitch {
            Some(pitch) => PITCH / pitch.max(1e-3),
            None => HEIGHT as f32 * quad.aspect() * SQUEEZE,
        };
        let width = width.clamp(MIN_WIDTH, MAX_WIDTH);
        let size = Size {
            width: (width as u32).div_ceil(WIDTH_STEP) * WIDTH_STEP,
            height: HEIGHT,
        };
        let line = cut_out(pyramid, quad, view, size);
        let grey: Vec<f32> = line.pixels.chunks_exact(3).map(luminance).collect();
        let shape = [1, 1, HEIGHT as usize, line.width as usize];
        let output = self.models.run(
            ModelName::MrzRecogniser,
            Input {
                shape: &shape,
                data: &grey,
            },
        )?;
        let steps = output.first().map_or(&[][..], |tensor| &tensor.data);
        if steps.is_empty() || !steps.len().is_multiple_of(CLASSES) {
            return Err(OcrError::Alphabet);
        }
        Ok(emissions(steps))
    }
}

/// ITU-R BT.601 luminance, 0–255.
fn luminance(rgb: &[u8]) -> f32 {
    0.299 * f32::from(rgb[0]) + 0.587 * f32::from(rgb[1]) + 0.114 * f32::from(rgb[2])
}

fn emissions(steps: &[f32]) -> Emissions {
    let mut emissions = Emissions::repeating(REPEATS);
    for step in steps.chunks_exact(CLASSES) {
        // The network does not know Ñ, the last symbol.
        let mut symbols = [0.0; SYMBOL_COUNT];
        symbols[..CLASSES - 1].copy_from_slice(&step[..CLASSES - 1]);
        emissions.push(step[CLASSES - 1], symbols);
    }
    emissions
}
