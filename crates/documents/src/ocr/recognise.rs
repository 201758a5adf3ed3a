//! Recognition of one line: cut out, straightened, brought to 48 pixels' height, read.

use imaging::{Homography, Picture};
use inference::{Input, ModelName};

use super::ctc::{self, Emissions};
use super::detect::planes;
use super::{Ocr, OcrError, Quad};

/// The recogniser's height in pixels.
const HEIGHT: u32 = 48;
/// Lines are at most this wide; longer ones are squeezed.
const MAX_WIDTH: u32 = 1600;
/// Widths are rounded up to multiples of this, so that the runtime meets few different shapes.
const WIDTH_STEP: u32 = 16;
/// Large print is sampled at up to this multiple of the recogniser's height, then averaged down.
const MAX_SUPERSAMPLING: f32 = 4.0;

/// How a line is shown to the recogniser.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum View {
    /// In its colours.
    Colour,
    /// The brightest channel of each pixel: coloured backgrounds and guilloches fade, black ink stays.
    Ink,
    /// [`View::Ink`], slightly blurred against moiré and grain.
    SoftInk,
}

/// What a line says.
#[derive(Debug, Clone)]
pub struct Recognised {
    /// The most probable text.
    pub text: String,
    /// Mean probability of its characters, 0–1; 0 when there are none.
    pub confidence: f32,
    /// The line over the MRZ alphabet.
    pub emissions: Emissions,
}

impl Ocr {
    /// Reads the line inside `quad`. `squeeze` narrows it (1 = true proportions): long lines of wide-set characters read as
    /// well at 0.75 and cost less. About 30 ms for 320 pixels of width, 90 ms for 1,200, on one core.
    ///
    /// # Errors
    /// When the model does not run.
    pub fn recognise(
        &self,
        picture: &Picture,
        quad: &Quad,
        view: View,
        squeeze: f32,
    ) -> Result<Recognised, OcrError> {
        let width = (HEIGHT as f32 * quad.aspect() * squeeze).clamp(WIDTH_STEP as f32, MAX_WIDTH as f32);
        let width = (width as u32).div_ceil(WIDTH_STEP) * WIDTH_STEP;
        let line = cut_out(picture, quad, view, width);
        let shape = [1, 3, HEIGHT as usize, line.width as usize];
        let output = self.models.run(
            ModelName::TextRecogniser,
            Input {
                shape: &shape,
                data: &planes(&line),
            },
        )?;
        let classes = self.classes.len();
        let steps = output.first().map_or(&[][..], |tensor| &tensor.data);
        if steps.is_empty() || !steps.len().is_multiple_of(classes) {
            return Err(OcrError::Alphabet);
        }
        Ok(self.decoded(steps))
    }

    /// Greedy CTC decoding (a character counts once until another class or a blank parts it), and the emissions.
    fn decoded(&self, steps: &[f32]) -> Recognised {
        let (mut text, mut sum, mut count, mut previous) = (String::new(), 0.0, 0usize, 0);
        let mut emissions = Emissions::default();
        for step in steps.chunks_exact(self.classes.len()) {
            let (class, probability) =
                step.iter().enumerate().fold(
                    (0, f32::MIN),
                    |best, (i, &p)| if p > best.1 { (i, p) } else { best },
                );
            if class != 0 && class != previous {
                text.push_str(&self.classes[class]);
                sum += probability;
                count += 1;
            }
            previous = class;
            let mut symbols = [0.0; ctc::SYMBOL_COUNT];
            for &(class, symbol, share) in &self.symbol_classes {
                symbols[symbol] += step[class] * share;
            }
            emissions.push(step[0], symbols);
        }
        let confidence = if count == 0 {
            0.0
        } else {
            (sum / count as f32).clamp(0.0, 1.0)
        };
        Recognised {
            text: text.trim().to_owned(),
            confidence,
            emissions,
        }
    }
}

/// The line upright, `width` × 48.
fn cut_out(picture: &Picture, quad: &Quad, view: View, width: u32) -> Picture {
    let oversize = (quad.height() / HEIGHT as f32)
        .clamp(1.0, MAX_SUPERSAMPLING)
        .round() as u32;
    let (w, h) = (width * oversize, HEIGHT * oversize);
    // A quad of no area has no map; it reads as a grey line.
    let grey = [127; 3];
    let mut line = Homography::from_rectangle(w, h, quad.0)
        .map_or_else(
            || Picture::filled(w, h, grey),
            |map| picture.warp(&map, w, h, grey),
        )
        .resized(width, HEIGHT);
    if view != View::Colour {
        for pixel in line.pixels.chunks_exact_mut(3) {
            let brightest = pixel.iter().copied().max().unwrap_or(0);
            pixel.fill(brightest);
        }
    }
    if view == View::SoftInk {
        line = blurred(&line);
    }
    line
}

/// A 3 × 3 binomial blur; the outermost pixels stay.
fn blurred(picture: &Picture) -> Picture {
    let mut out = picture.clone();
    let stride = picture.width as usize * 3;
    let p = &picture.pixels;
    for y in 1..picture.height as usize - 1 {
        for at in y * stride + 3..(y + 1) * stride - 3 {
            let row = |at: usize| u32::from(p[at - 3]) + 2 * u32::from(p[at]) + u32::from(p[at + 3]);
            out.pixels[at] = ((row(at - stride) + 2 * row(at) + row(at + stride) + 8) / 16) as u8;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use imaging::Point;

    #[test]
    fn hostile_quads_are_cut_out_without_panic() {
        let picture = Picture::filled(40, 30, [200, 10, 10]);
        let point = Point::new(5.0, 5.0);
        for quad in [
            Quad([point; 4]),
            Quad::around(Point::new(-900.0, 1e9), Point::new(0.6, 0.8), 1e9, 3.0),
            Quad::around(Point::new(20.0, 15.0), Point::new(1.0, 0.0), 20.0, 10.0),
        ] {
            for view in [View::Colour, View::Ink, View::SoftInk] {
                let line = cut_out(&picture, &quad, view, 32);
                assert_eq!((line.width, line.height), (32, HEIGHT));
            }
        }
    }

    #[test]
    fn ink_fades_colours() {
        let picture = Picture::filled(40, 30, [250, 10, 10]);
        let quad = Quad::around(Point::new(20.0, 15.0), Point::new(1.0, 0.0), 20.0, 10.0);
        assert_eq!(cut_out(&picture, &quad, View::Ink, 32).pixel(16, 24), [250; 3]);
        assert_eq!(
            cut_out(&picture, &quad, View::Colour, 32).pixel(16, 24),
            [250, 10, 10]
        );
    }
}
