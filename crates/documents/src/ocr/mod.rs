//! Optical character recognition: [`Ocr::detect`] finds text and [`Ocr::recognise`] reads it, both with PP-OCR.
//! [`Ocr::recognise_zone`] reads a row of a machine-readable zone with our own network.
//!
//! Rows of a zone are recognised as [`ctc::Emissions`]: the probability of each MRZ character at each step along the
//! row. This module never interprets a text.

pub mod ctc;
mod detect;
mod likelihood;
mod quad;
mod recognise;
mod regions;
mod regular_run;
mod row_fit;
mod zone_line;

use std::sync::{Arc, OnceLock};

use inference::{ModelName, Models};

pub use quad::Quad;
pub use recognise::{Characters, RecognisedText, View};
pub(crate) use regular_run::RegularRun;
pub(crate) use row_fit::{FITTED_HEIGHT, fitted_rows};

use ctc::SYMBOLS;

/// Why text detection or recognition failed. The cause is always a broken model, never the picture.
#[derive(Debug, thiserror::Error)]
pub enum OcrError {
    /// A model is missing or does not run.
    #[error(transparent)]
    Model(#[from] inference::ModelError),
    /// The recogniser has no alphabet, or a model's output does not have the expected size.
    #[error("the text recogniser's alphabet does not fit its output: run `make models` again")]
    Alphabet,
}

/// A piece of text in a picture, not yet read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TextRegion {
    /// Its corners. The long side is assumed to be the reading direction: rightwards, or downwards if steep.
    pub quad: Quad,
    /// The detector's mean probability in the region, 0–1.
    pub score: f32,
}

/// The text models with the recognisers' alphabets.
#[derive(Debug)]
pub struct Ocr {
    models: Arc<Models>,
    /// The recognisers by [`Characters`]. Those of all characters take most memory, and many documents don't need them, so
    /// each is prepared at its first use.
    better: [OnceLock<Alphabet>; 2],
    fast: [OnceLock<Alphabet>; 2],
}

/// The better recognisers by [`Characters`], and the fast ones.
const BETTER: [ModelName; 2] = [ModelName::LatinTextRecogniser, ModelName::TextRecogniser];
const FAST: [ModelName; 2] = [ModelName::FastLatinTextRecogniser, ModelName::FastTextRecogniser];

/// The output of a text recogniser.
#[derive(Debug)]
struct Alphabet {
    model: ModelName,
    /// The text of each output class; class 0 is CTC's blank.
    classes: Vec<Box<str>>,
    /// Output class, index of the MRZ symbol, and the symbol's share of the class's probability.
    symbol_classes: Vec<(usize, usize, f32)>,
}

impl Alphabet {
    fn of(models: &Models, model: ModelName) -> Result<Self, OcrError> {
        let characters = models.metadata(model, "character").ok_or(OcrError::Alphabet)?;
        // PaddleOCR's order: blank, the dictionary line by line, the space.
        let classes: Vec<Box<str>> = std::iter::once("")
            .chain(characters.split('\n'))
            .chain(std::iter::once(" "))
            .map(Into::into)
            .collect();
        let symbol_classes = classes
            .iter()
            .enumerate()
            .flat_map(|(class, text)| look_alikes(text).map(move |(symbol, share)| (class, symbol, share)))
            .collect();
        Ok(Self {
            model,
            classes,
            symbol_classes,
        })
    }
}

impl Ocr {
    /// Prepares the recognisers that most documents need.
    ///
    /// # Errors
    /// Fails when a recogniser's metadata has no alphabet.
    pub fn new(models: Arc<Models>) -> Result<Self, OcrError> {
        let ocr = Self {
            better: Default::default(),
            fast: Default::default(),
            models,
        };
        ocr.better(Characters::Latin)?;
        ocr.fast(Characters::Latin)?;
        Ok(ocr)
    }

    fn better(&self, characters: Characters) -> Result<&Alphabet, OcrError> {
        let at = characters as usize;
        prepared(&self.better[at], &self.models, BETTER[at])
    }

    fn fast(&self, characters: Characters) -> Result<&Alphabet, OcrError> {
        let at = characters as usize;
        prepared(&self.fast[at], &self.models, FAST[at])
    }
}

fn prepared<'a>(
    alphabet: &'a OnceLock<Alphabet>,
    models: &Models,
    model: ModelName,
) -> Result<&'a Alphabet, OcrError> {
    if let Some(alphabet) = alphabet.get() {
        return Ok(alphabet);
    }
    let new = Alphabet::of(models, model)?;
    Ok(alphabet.get_or_init(|| new))
}

/// The MRZ symbols that may have been printed where the recogniser reads this class, each with its share of
/// the class's probability. The recogniser has 18,000 classes, and several resemble a blurred `<`.
fn look_alikes(class: &str) -> impl Iterator<Item = (usize, f32)> + use<> {
    let mut chars = class.chars();
    let only = chars.next().filter(|_| chars.next().is_none());
    let shares: Vec<(char, f32)> = match only {
        Some(c) if c.is_ascii_alphanumeric() => vec![(c.to_ascii_uppercase(), 1.0)],
        Some(
            '<' | '＜' | '〈' | '‹' | '«' | '《' | '≪' | 'く' | 'ㄑ' | '∠' | 'ヘ' | 'へ' | 'ハ' | 'ぐ' | '八',
        ) => {
            vec![('<', 1.0)]
        }
        Some('Λ' | '∧' | '^') => vec![('<', 0.5), ('A', 0.5)],
        Some('(' | '[' | '{' | '¢' | '€') => vec![('<', 0.3), ('C', 0.7)],
        Some('〇' | '○') => vec![('0', 0.5), ('O', 0.5)],
        Some('|' | '!' | 'ı') => vec![('1', 0.5), ('I', 0.5)],
        Some('Ñ' | 'ñ') => vec![('Ñ', 1.0)],
        _ => vec![],
    };
    shares
        .into_iter()
        .filter_map(|(symbol, share)| Some((SYMBOLS.iter().position(|&s| s == symbol)?, share)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn look_alikes_share_out_at_most_everything() {
        for class in ["<", "Λ", "o", "O", "7", "く", "é", "ab", "", " "] {
            let total: f32 = look_alikes(class).map(|(_, share)| share).sum();
            assert!(total <= 1.0, "{class}");
        }
        assert_eq!(look_alikes("<").next(), Some((36, 1.0)));
        assert_eq!(look_alikes("o").next(), Some((14, 1.0)));
        assert_eq!(look_alikes("é").next(), None);
    }
}
