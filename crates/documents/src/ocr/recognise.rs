//! Recognition of one line: the line is cut out, straightened, scaled to a height of 48 pixels, and read.

use imaging::{Picture, Pyramid};
use inference::Input;

use super::ctc::{self, Emissions};
use super::{Alphabet, Ocr, OcrError, Quad};

/// The recogniser's height in pixels.
const HEIGHT: u32 = 48;
/// Lines are at most this many pixels wide; longer ones are narrowed.
const MAX_WIDTH: u32 = 1600;
/// Widths are multiples of this, so that the runtime has few different input shapes.
const WIDTH_STEP: u32 = 16;
/// How the pixels of a line are prepared for the recogniser.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum View {
    /// Unchanged colours.
    Colour,
    /// The brightest channel of each pixel, in which coloured backgrounds and guilloches fade and black ink
    /// remains.
    Ink,
    /// [`View::Ink`], slightly blurred against moiré and grain.
    SoftInk,
}

/// The characters that a recogniser looks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Characters {
    /// Latin letters, digits and signs.
    Latin,
    /// Those, and Han, kana and Greek letters among others.
    All,
}

impl Characters {
    /// The characters of a text.
    pub(crate) fn of(text: &str) -> Self {
        let is_latin =
            |c: char| !c.is_alphabetic() || matches!(c, 'A'..='Z' | 'a'..='z' | 'ª'..='\u{24f}' | 'Ḁ'..='ỿ');
        if text.chars().all(is_latin) {
            Self::Latin
        } else {
            Self::All
        }
    }
}

/// The recognition result of a line.
#[derive(Debug, Clone)]
pub struct RecognisedText {
    /// The most probable text.
    pub text: String,
    /// Mean probability of its characters, 0–1; 0 if it has none.
    pub confidence: f32,
    /// The probabilities of the MRZ symbols along the line.
    pub emissions: Emissions,
}

impl Ocr {
    /// Reads the line inside `quad`. `squeeze` narrows it (1 = true proportions). Long lines of widely spaced
    /// characters are read as well at 0.75, in less time. On one core, 320 pixels of width take about 25 ms
    /// and 1,200 pixels 90 ms.
    ///
    /// # Errors
    /// Fails when the model does not run, or its output does not fit the alphabet.
    pub fn recognise(
        &self,
        pyramid: &Pyramid<'_>,
        quad: &Quad,
        view: View,
        squeeze: f32,
    ) -> Result<RecognisedText, OcrError> {
        self.read_line(
            self.better(Characters::All)?,
            &Line::cut_out(pyramid, quad, view, squeeze),
        )
    }

    /// Does the same for text of these characters outside a zone, in a fifth of the time. `again` gets this reading, and says
    /// which characters a slower and better recogniser looks for in the same line, or `None` if the reading is good enough.
    ///
    /// # Errors
    /// Fails when a model does not run, or its output does not fit the alphabet.
    pub fn recognise_fast(
        &self,
        pyramid: &Pyramid<'_>,
        quad: &Quad,
        squeeze: f32,
        characters: Characters,
        again: impl Fn(&RecognisedText) -> Option<Characters>,
    ) -> Result<RecognisedText, OcrError> {
        let line = Line::cut_out(pyramid, quad, View::Colour, squeeze);
        let fast = self.read_line(self.fast(characters)?, &line)?;
        match again(&fast) {
            None => Ok(fast),
            Some(characters) => self.read_line(self.better(characters)?, &line),
        }
    }

    fn read_line(&self, alphabet: &Alphabet, line: &Line) -> Result<RecognisedText, OcrError> {
        let output = self.models.run(
            alphabet.model,
            Input {
                shape: &[1, 3, HEIGHT as usize, line.width as usize],
                data: &line.planes,
            },
        )?;
        let classes = alphabet.classes.len();
        let steps = output.first().map_or(&[][..], |tensor| &tensor.data);
        if steps.is_empty() || !steps.len().is_multiple_of(classes) {
            return Err(OcrError::Alphabet);
        }
        Ok(alphabet.decoded(steps))
    }
}

/// A line as the recognisers' input.
struct Line {
    width: u32,
    planes: Vec<f32>,
}

impl Line {
    fn cut_out(pyramid: &Pyramid<'_>, quad: &Quad, view: View, squeeze: f32) -> Self {
        let width = (HEIGHT as f32 * quad.aspect() * squeeze).clamp(WIDTH_STEP as f32, MAX_WIDTH as f32);
        let width = (width as u32).div_ceil(WIDTH_STEP) * WIDTH_STEP;
        let line = cut_out(
            pyramid,
            quad,
            view,
            Size {
                width,
                height: HEIGHT,
            },
        );
        Self {
            width: line.width,
            planes: planes(&line),
        }
    }
}

/// The input of the recognisers: planes of blue, green and red, with values of −1..1.
fn planes(picture: &Picture) -> Vec<f32> {
    let value = |byte: u8| f32::from(byte) / 127.5 - 1.0;
    [2, 1, 0]
        .into_iter()
        .flat_map(|channel| picture.pixels.chunks_exact(3).map(move |p| value(p[channel])))
        .collect()
}

impl Alphabet {
    /// Decodes the output greedily and collects the emissions. In CTC, a character counts once until another
    /// class or a blank follows.
    fn decoded(&self, steps: &[f32]) -> RecognisedText {
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
        RecognisedText {
            text: text.trim().to_owned(),
            confidence,
            emissions,
        }
    }
}

/// The size of a cut-out in pixels.
#[derive(Debug, Clone, Copy)]
pub(super) struct Size {
    pub(super) width: u32,
    pub(super) height: u32,
}

/// The line cut out upright.
pub(super) fn cut_out(
    pyramid: &Pyramid<'_>,
    quad: &Quad,
    view: View,
    Size { width, height }: Size,
) -> Picture {
    // A quad without area has no pixels, so its line is grey.
    let grey = [127; 3];
    let mut line = pyramid
        .cut_out(quad.0, (width, height), grey)
        .unwrap_or_else(|| Picture::filled(width, height, grey));
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

/// A 3 × 3 binomial blur that leaves the outermost pixels unchanged.
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

    const SIZE: Size = Size {
        width: 32,
        height: HEIGHT,
    };

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
                let line = cut_out(&Pyramid::of(&picture), &quad, view, SIZE);
                assert_eq!((line.width, line.height), (32, HEIGHT));
            }
        }
    }

    #[test]
    fn ink_fades_colours() {
        let picture = Picture::filled(40, 30, [250, 10, 10]);
        let quad = Quad::around(Point::new(20.0, 15.0), Point::new(1.0, 0.0), 20.0, 10.0);
        assert_eq!(
            cut_out(&Pyramid::of(&picture), &quad, View::Ink, SIZE).pixel(16, 24),
            [250; 3]
        );
        assert_eq!(
            cut_out(&Pyramid::of(&picture), &quad, View::Colour, SIZE).pixel(16, 24),
            [250, 10, 10]
        );
    }
}
