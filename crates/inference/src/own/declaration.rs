//! The declaration of an own model: what the operator states about its file. Reading checks every field, but not the
//! file.

use std::path::{Component, Path};

use serde::{Deserialize, Serialize};

use super::OwnModelError;
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
/// The most numbers that a model may return.
const MAX_CLASS: usize = 1_000;

/// What an operator declares about a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Declaration {
    /// The model's name: lower-case letters, digits and hyphens. Every decision names it.
    pub name: String,
    /// What the model is for.
    pub kind: ModelKind,
    /// The ONNX file, beside the declaration.
    pub model: String,
    /// SHA-256 of that file, hexadecimal.
    pub sha256: String,
    /// The licence of the weights.
    pub licence: String,
    /// Where the weights come from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The model's input.
    pub input: ModelInput,
    /// The model's output.
    pub output: ModelOutput,
    /// Pictures with the score that the model must give them.
    pub golden: Vec<Golden>,
}

/// What an own model is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ModelKind {
    /// Presentation attack detection: whether a selfie shows a picture of a picture, a mask or a rendered face.
    Pad,
}

impl ModelKind {
    /// The name of the kind.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pad => "pad",
        }
    }
}

/// An own model's input: one picture, as 32-bit floats.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
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
    /// The part of the picture.
    pub crop: Crop,
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

/// Which number of an own model's output counts. The output is its first tensor, of shape `[1, N]` or `[1]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ModelOutput {
    /// What is applied to the numbers first.
    pub activation: Activation,
    /// The place of the number, from 0.
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

/// A picture and the score that it must get. A score is high for live people: if a high number means an attack, it is
/// the negative number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Golden {
    /// The file, beside the declaration.
    pub picture: String,
    /// What it shows.
    pub shows: GoldenSubject,
    /// The expected score.
    pub score: f32,
    /// How far the score may be from it.
    pub tolerance: f32,
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
        let declaration: Self = serde_json::from_slice(text).map_err(|error| OwnModelError::Field {
            field: "declaration.json",
            fix: error.to_string(),
        })?;
        declaration.check()?;
        Ok(declaration)
    }

    fn check(&self) -> Result<(), OwnModelError> {
        let refuse = |field, fix: String| Err(OwnModelError::Field { field, fix });
        if !is_name(&self.name) {
            return refuse(
                "name",
                format!("write 1 to {MAX_NAME} lower-case letters, digits and hyphens, with a letter first"),
            );
        }
        if !is_file_name(&self.model) {
            return refuse(
                "model",
                "name a file in the declaration's folder, without a path".into(),
            );
        }
        if !is_sha256(&self.sha256) {
            return refuse(
                "sha256",
                "write the file's SHA-256 as 64 lower-case hexadecimal digits (`sha256sum FILE`)".into(),
            );
        }
        if self.licence.trim().is_empty() || self.licence.len() > MAX_TEXT {
            return refuse(
                "licence",
                format!("name the licence of the weights in 1 to {MAX_TEXT} characters"),
            );
        }
        if self.source.as_ref().is_some_and(|source| source.len() > MAX_TEXT) {
            return refuse("source", format!("write at most {MAX_TEXT} characters"));
        }
        self.check_input()?;
        if self.output.class > MAX_CLASS {
            return refuse(
                "output.class",
                format!("write the number's place, 0 to {MAX_CLASS}"),
            );
        }
        self.check_golden()
    }

    fn check_input(&self) -> Result<(), OwnModelError> {
        let refuse = |field, fix: String| Err(OwnModelError::Field { field, fix });
        let input = &self.input;
        for (field, side) in [("input.width", input.width), ("input.height", input.height)] {
            if !SIDES.contains(&side) {
                return refuse(
                    field,
                    format!("write {} to {} pixels", SIDES.start(), SIDES.end()),
                );
            }
        }
        if input.mean.iter().any(|mean| !mean.is_finite()) {
            return refuse("input.mean", "write three numbers".into());
        }
        if input
            .deviation
            .iter()
            .any(|deviation| !deviation.is_finite() || *deviation == 0.0)
        {
            return refuse("input.deviation", "write three numbers other than 0".into());
        }
        let (Crop::Box(times) | Crop::Square(times)) = input.crop;
        if !CROPS.contains(&times) {
            return refuse(
                "input.crop",
                format!(
                    "write {} to {} sides of the face's box",
                    CROPS.start(),
                    CROPS.end()
                ),
            );
        }
        Ok(())
    }

    fn check_golden(&self) -> Result<(), OwnModelError> {
        let refuse = |field, fix: String| Err(OwnModelError::Field { field, fix });
        if self.golden.is_empty() || self.golden.len() > MAX_GOLDEN {
            return refuse(
                "golden",
                format!("give 1 to {MAX_GOLDEN} pictures with their scores"),
            );
        }
        for golden in &self.golden {
            if !is_file_name(&golden.picture) || is_reserved(&golden.picture) {
                return refuse(
                    "golden.picture",
                    "name a picture in the declaration's folder, without a path".into(),
                );
            }
            if !golden.score.is_finite() {
                return refuse("golden.score", "write a number".into());
            }
            if !(0.0..=MAX_TOLERANCE).contains(&golden.tolerance) {
                return refuse("golden.tolerance", format!("write 0 to {MAX_TOLERANCE}"));
            }
        }
        Ok(())
    }
}

fn is_file_name(text: &str) -> bool {
    let mut parts = Path::new(text).components();
    matches!((parts.next(), parts.next()), (Some(Component::Normal(name)), None) if name == text)
}

fn is_sha256(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn declaration() -> Value {
        json!({
            "name": "acme-pad-2",
            "kind": "pad",
            "model": "acme.onnx",
            "sha256": "0123456789abcdef".repeat(4),
            "licence": "Apache-2.0",
            "input": {
                "width": 80, "height": 80, "layout": "nchw", "channels": "bgr",
                "mean": [0, 0, 0], "deviation": [1, 1, 1], "crop": {"box": 2.7},
            },
            "output": {"activation": "softmax", "class": 1, "means": "live"},
            "golden": [{"picture": "live.jpg", "shows": "photograph", "score": 0.97, "tolerance": 0.02}],
        })
    }

    fn parse(declaration: &Value) -> Result<Declaration, OwnModelError> {
        Declaration::parse(declaration.to_string().as_bytes())
    }

    #[test]
    fn a_declaration_is_read_and_written_alike() {
        let read = parse(&declaration()).unwrap();
        assert_eq!(read.input.crop, Crop::Box(2.7));
        assert_eq!(parse(&serde_json::to_value(&read).unwrap()).unwrap(), read);
    }

    #[test]
    fn a_refusal_names_the_field() {
        let long = "x".repeat(201);
        let cases = [
            ("/name", json!("Acme"), "name"),
            ("/name", json!("../acme"), "name"),
            ("/name", json!(""), "name"),
            ("/name", json!("2acme"), "name"),
            ("/name", json!("x".repeat(41)), "name"),
            ("/model", json!("../acme.onnx"), "model"),
            ("/model", json!("/etc/passwd"), "model"),
            ("/model", json!("."), "model"),
            ("/model", json!(""), "model"),
            ("/sha256", json!("0123"), "sha256"),
            ("/sha256", json!("0123456789ABCDEF".repeat(4)), "sha256"),
            ("/licence", json!(" "), "licence"),
            ("/licence", json!(long), "licence"),
            ("/source", json!(long), "source"),
            ("/input/width", json!(0), "input.width"),
            ("/input/height", json!(4_000), "input.height"),
            ("/input/deviation", json!([1, 0, 1]), "input.deviation"),
            ("/input/crop", json!({"square": 0}), "input.crop"),
            ("/input/crop", json!({"box": 9}), "input.crop"),
            ("/output/class", json!(5_000), "output.class"),
            ("/golden", json!([]), "golden"),
            ("/golden/0/picture", json!("a/b.jpg"), "golden.picture"),
            ("/golden/0/picture", json!("calibration.json"), "golden.picture"),
            ("/golden/0/picture", json!("model.onnx"), "golden.picture"),
            ("/golden/0/tolerance", json!(0.5), "golden.tolerance"),
            ("/golden/0/tolerance", json!(-0.1), "golden.tolerance"),
            // The parser names these.
            ("/kind", json!("lottery"), "lottery"),
            ("/input/layout", json!("hwc"), "hwc"),
            ("/input/mean", json!([1, 2]), "declaration.json"),
            ("/output/means", json!("maybe"), "maybe"),
            ("/surplus", json!(1), "surplus"),
        ];
        for (at, value, named) in cases {
            let mut changed = declaration();
            match changed.pointer_mut(at) {
                Some(place) => *place = value.clone(),
                None => changed[at.trim_start_matches('/')] = value.clone(),
            }
            let error = parse(&changed).expect_err(at).to_string();
            assert!(error.contains(named), "{at} {value}: {error}");
        }
    }

    #[test]
    fn what_is_missing_is_named() {
        for field in [
            "name", "kind", "model", "sha256", "licence", "input", "output", "golden",
        ] {
            let mut changed = declaration();
            changed.as_object_mut().unwrap().remove(field);
            let error = parse(&changed).unwrap_err().to_string();
            assert!(error.contains(field), "{field}: {error}");
        }
        assert!(Declaration::parse(b"nonsense").is_err());
    }
}
