//! The declaration of a custom model: what the operator states about its file. Reading it checks every field, but not
//! the file. Some members depend on the model's kind; a declaration with members of another kind is refused.

use std::path::{Component, Path};

use serde::{Deserialize, Serialize};

use super::OwnModelError;
use super::kind::ModelKind;
use super::names::{MAX_NAME, is_name, is_reserved};
use crate::Layout;

/// The longest text about a model's licence or source.
const MAX_TEXT: usize = 200;
/// The sides that an input may have, in pixels.
const SIDES: std::ops::RangeInclusive<usize> = 16..=1_024;
/// The sizes that a crop may have, in sides of the face's box.
const CROPS: std::ops::RangeInclusive<f32> = 0.5..=8.0;
/// The most golden tests. Every engine worker runs them when it starts.
const MAX_GOLDEN: usize = 8;
/// The largest tolerance of a golden test.
const MAX_TOLERANCE: f32 = 0.1;
/// The most numbers that a model for presentation attack detection may return.
const MAX_CLASS: usize = 1_000;
/// The numbers that an embedder may return.
const LENGTHS: std::ops::RangeInclusive<usize> = 32..=1_024;

/// What an operator declares about a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Declaration {
    /// The model's name: lower-case letters, digits and hyphens. Every decision names it.
    pub name: String,
    /// The ONNX file, beside the declaration.
    pub model: String,
    /// SHA-256 of that file, hexadecimal.
    pub sha256: String,
    /// The licence of the weights.
    pub licence: String,
    /// Where the weights come from.
    pub source: Option<String>,
    /// The model's input.
    pub input: ModelInput,
    /// What the model is for.
    pub purpose: Purpose,
}

/// What a custom model is for, and the members that only its kind has.
#[derive(Debug, Clone, PartialEq)]
pub enum Purpose {
    /// Presentation attack detection.
    Pad(PadPurpose),
    /// Face embeddings.
    Embedder(EmbedderPurpose),
}

/// A model that scores how likely it is that a face is live.
#[derive(Debug, Clone, PartialEq)]
pub struct PadPurpose {
    /// The part of the picture.
    pub crop: Crop,
    /// Which number of the output is the score.
    pub output: ModelOutput,
    /// Pictures with the score that the model must give them.
    pub golden: Vec<Golden<f32>>,
}

/// A model that embeds faces. The cosine similarity of its numbers distinguishes people.
#[derive(Debug, Clone, PartialEq)]
pub struct EmbedderPurpose {
    /// How the face is aligned.
    pub align: Template,
    /// The output: its first tensor, of shape `[1, N]`.
    pub output: EmbeddingOutput,
    /// Pictures with the numbers that the model must give them.
    pub golden: Vec<Golden<Vec<f32>>>,
}

/// The members that every declaration has. `I`, `O` and `G` are those of a kind.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Written<I, O, G> {
    name: String,
    #[serde(rename = "kind")]
    _kind: ModelKind,
    model: String,
    sha256: String,
    licence: String,
    source: Option<String>,
    input: I,
    output: O,
    golden: Vec<G>,
}

impl<I, O, G> Written<I, O, G> {
    /// The declaration. `read` converts the members that depend on the kind.
    fn declared(self, read: impl FnOnce(I, O, Vec<G>) -> (ModelInput, Purpose)) -> Declaration {
        let (input, purpose) = read(self.input, self.output, self.golden);
        Declaration {
            name: self.name,
            model: self.model,
            sha256: self.sha256,
            licence: self.licence,
            source: self.source,
            input,
            purpose,
        }
    }
}

/// The kind alone, which determines how the rest is read.
#[derive(Deserialize)]
struct OfKind {
    kind: ModelKind,
}

/// A custom model's input: one picture, as 32-bit floats.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelInput {
    /// Width in pixels.
    pub width: usize,
    /// Height in pixels.
    pub height: usize,
    /// `nchw` or `nhwc`.
    pub layout: Layout,
    /// The order of the channels.
    pub channels: Channels,
    /// Subtracted from each channel's values of 0–255, in the order of `channels`.
    pub mean: [f32; 3],
    /// Divides each channel's values after that.
    pub deviation: [f32; 3],
}

/// An input with the part of the picture.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct CroppedInput {
    width: usize,
    height: usize,
    layout: Layout,
    channels: Channels,
    mean: [f32; 3],
    deviation: [f32; 3],
    crop: Crop,
}

/// An input with the way in which the face is aligned.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct AlignedInput {
    width: usize,
    height: usize,
    layout: Layout,
    channels: Channels,
    mean: [f32; 3],
    deviation: [f32; 3],
    align: Template,
}

/// The members that the inputs of all kinds have.
macro_rules! model_input {
    ($written:ident) => {
        ModelInput {
            width: $written.width,
            height: $written.height,
            layout: $written.layout,
            channels: $written.channels,
            mean: $written.mean,
            deviation: $written.deviation,
        }
    };
}

/// How a face is aligned before it is scaled to the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Template {
    /// The square of 112 pixels to which ArcFace and most newer networks align eyes, nose and mouth.
    Arcface,
    /// The square of 150 pixels of dlib's network, with a quarter of its side around the face.
    Dlib,
}

/// The order of a pixel's channels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Channels {
    /// Red first.
    Rgb,
    /// Blue first, as OpenCV reads pictures.
    Bgr,
}

/// The part of a picture that becomes the input, around the centre of the face's box (`box` of `detect-faces`). A part
/// that does not fit into the picture is made smaller in proportion, then moved inside.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Crop {
    /// The box with both sides multiplied by this. It is stretched to the input's size.
    Box(f32),
    /// A square whose side is the box's longer side multiplied by this.
    Square(f32),
}

/// Which number of a PAD model's output is the score. The output is the first tensor, of shape `[1, N]` or `[1]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ModelOutput {
    /// The function that is first applied to the numbers.
    pub activation: Activation,
    /// The index of the number, from 0.
    pub class: usize,
    /// What a high number means.
    pub means: Meaning,
}

/// A function that is applied to an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Activation {
    /// None.
    None,
    /// The logistic function.
    Sigmoid,
    /// The exponentials, divided by their sum.
    Softmax,
}

/// What a high number means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Meaning {
    /// A live person.
    Live,
    /// An attack.
    Attack,
}

/// The output of an embedder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EmbeddingOutput {
    /// How many numbers it has.
    pub length: usize,
    /// Whether the embedding is the mean of the face and its mirror image, which takes the model twice as long.
    #[serde(default)]
    pub mirrored: bool,
}

/// A picture and the result that the model must give it.
#[derive(Debug, Clone, PartialEq)]
pub struct Golden<T> {
    /// The file, beside the declaration.
    pub picture: String,
    /// What it shows.
    pub shows: GoldenSubject,
    /// The score, high for live people: if a high number means an attack, it is the negative number. Or the numbers of
    /// an embedding.
    pub expected: T,
    /// How far the model's result may be from it: the difference of scores, or the cosine distance of embeddings.
    pub tolerance: f32,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct GoldenScore {
    picture: String,
    shows: GoldenSubject,
    score: f32,
    tolerance: f32,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct GoldenEmbedding {
    picture: String,
    shows: GoldenSubject,
    embedding: Vec<f32>,
    tolerance: f32,
}

/// What a golden picture shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum GoldenSubject {
    /// A photograph with one face, which is found and cut out as in a selfie.
    Photograph,
    /// Exactly the model's input, of its size.
    Input,
}

impl Declaration {
    /// Reads a declaration and checks its fields.
    ///
    /// # Errors
    /// Names the field and what is accepted.
    pub fn parse(text: &[u8]) -> Result<Self, OwnModelError> {
        let declaration = match read::<OfKind>(text)?.kind {
            ModelKind::Pad => Self::of_pad(read(text)?),
            ModelKind::Embedder => Self::of_embedder(read(text)?),
        };
        declaration.check()?;
        Ok(declaration)
    }

    /// What the model is for.
    #[must_use]
    pub const fn kind(&self) -> ModelKind {
        match self.purpose {
            Purpose::Pad(_) => ModelKind::Pad,
            Purpose::Embedder(_) => ModelKind::Embedder,
        }
    }

    /// The files of the golden pictures.
    pub fn golden_pictures(&self) -> impl Iterator<Item = &str> {
        let (scores, embeddings) = match &self.purpose {
            Purpose::Pad(pad) => (pad.golden.as_slice(), [].as_slice()),
            Purpose::Embedder(embedder) => ([].as_slice(), embedder.golden.as_slice()),
        };
        let of_scores = scores.iter().map(|golden| golden.picture.as_str());
        of_scores.chain(embeddings.iter().map(|golden| golden.picture.as_str()))
    }

    fn of_pad(written: Written<CroppedInput, ModelOutput, GoldenScore>) -> Self {
        written.declared(|input, output, golden| {
            let golden = golden.into_iter().map(|golden| Golden {
                picture: golden.picture,
                shows: golden.shows,
                expected: golden.score,
                tolerance: golden.tolerance,
            });
            let purpose = PadPurpose {
                crop: input.crop,
                output,
                golden: golden.collect(),
            };
            (model_input!(input), Purpose::Pad(purpose))
        })
    }

    fn of_embedder(written: Written<AlignedInput, EmbeddingOutput, GoldenEmbedding>) -> Self {
        written.declared(|input, output, golden| {
            let golden = golden.into_iter().map(|golden| Golden {
                picture: golden.picture,
                shows: golden.shows,
                expected: golden.embedding,
                tolerance: golden.tolerance,
            });
            let purpose = EmbedderPurpose {
                align: input.align,
                output,
                golden: golden.collect(),
            };
            (model_input!(input), Purpose::Embedder(purpose))
        })
    }

    fn check(&self) -> Result<(), OwnModelError> {
        if !is_name(&self.name) {
            return refuse(
                "name",
                format!("use 1 to {MAX_NAME} lower-case letters, digits and hyphens, starting with a letter"),
            );
        }
        if !is_file_name(&self.model) {
            return refuse(
                "model",
                "give the name of a file in the declaration's folder, without a path".into(),
            );
        }
        if !is_sha256(&self.sha256) {
            return refuse(
                "sha256",
                "give the file's SHA-256 as 64 lower-case hexadecimal digits (`sha256sum FILE`)".into(),
            );
        }
        if self.licence.trim().is_empty() || self.licence.len() > MAX_TEXT {
            return refuse(
                "licence",
                format!("name the licence of the weights in 1 to {MAX_TEXT} characters"),
            );
        }
        if self.source.as_ref().is_some_and(|source| source.len() > MAX_TEXT) {
            return refuse("source", format!("use at most {MAX_TEXT} characters"));
        }
        self.check_input()?;
        match &self.purpose {
            Purpose::Pad(pad) => pad.check(),
            Purpose::Embedder(embedder) => embedder.check(),
        }
    }

    fn check_input(&self) -> Result<(), OwnModelError> {
        let input = &self.input;
        for (field, side) in [("input.width", input.width), ("input.height", input.height)] {
            if !SIDES.contains(&side) {
                return refuse(field, format!("use {} to {} pixels", SIDES.start(), SIDES.end()));
            }
        }
        if input.mean.iter().any(|mean| !mean.is_finite()) {
            return refuse("input.mean", "give three numbers".into());
        }
        if input
            .deviation
            .iter()
            .any(|deviation| !deviation.is_finite() || *deviation == 0.0)
        {
            return refuse("input.deviation", "give three numbers other than 0".into());
        }
        Ok(())
    }
}

impl PadPurpose {
    fn check(&self) -> Result<(), OwnModelError> {
        let (Crop::Box(times) | Crop::Square(times)) = self.crop;
        if !CROPS.contains(&times) {
            return refuse(
                "input.crop",
                format!("use a factor from {} to {}", CROPS.start(), CROPS.end()),
            );
        }
        if self.output.class > MAX_CLASS {
            return refuse(
                "output.class",
                format!("give the index of the output number, 0 to {MAX_CLASS}"),
            );
        }
        check_golden(&self.golden)?;
        if self.golden.iter().any(|golden| !golden.expected.is_finite()) {
            return refuse("golden.score", "give a finite number".into());
        }
        Ok(())
    }
}

impl EmbedderPurpose {
    fn check(&self) -> Result<(), OwnModelError> {
        let length = self.output.length;
        if !LENGTHS.contains(&length) {
            return refuse(
                "output.length",
                format!("use a length from {} to {}", LENGTHS.start(), LENGTHS.end()),
            );
        }
        check_golden(&self.golden)?;
        for golden in &self.golden {
            let has_direction = golden.expected.iter().any(|value| *value != 0.0);
            let is_finite = golden.expected.iter().all(|value| value.is_finite());
            if golden.expected.len() != length || !has_direction || !is_finite {
                return refuse(
                    "golden.embedding",
                    format!("give the {length} numbers that the model returns, not all of them 0"),
                );
            }
        }
        Ok(())
    }
}

fn check_golden<T>(golden: &[Golden<T>]) -> Result<(), OwnModelError> {
    if golden.is_empty() || golden.len() > MAX_GOLDEN {
        return refuse(
            "golden",
            format!("give 1 to {MAX_GOLDEN} pictures, each with the result that the model must give"),
        );
    }
    for golden in golden {
        if !is_file_name(&golden.picture) || is_reserved(&golden.picture) {
            return refuse(
                "golden.picture",
                "give the name of a picture in the declaration's folder, without a path".into(),
            );
        }
        if !(0.0..=MAX_TOLERANCE).contains(&golden.tolerance) {
            return refuse("golden.tolerance", format!("use 0 to {MAX_TOLERANCE}"));
        }
    }
    Ok(())
}

fn read<'a, T: Deserialize<'a>>(text: &'a [u8]) -> Result<T, OwnModelError> {
    serde_json::from_slice(text).map_err(|error| OwnModelError::Field {
        field: "declaration.json",
        fix: error.to_string(),
    })
}

fn refuse(field: &'static str, fix: String) -> Result<(), OwnModelError> {
    Err(OwnModelError::Field { field, fix })
}

fn is_file_name(text: &str) -> bool {
    let mut parts = Path::new(text).components();
    matches!((parts.next(), parts.next()), (Some(Component::Normal(name)), None) if name == text)
}

fn is_sha256(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests;
