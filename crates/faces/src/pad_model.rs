//! A custom model for presentation attack detection: cuts out its input as declared, and reads its score.
//!
//! The model only adds evidence. Its calibration's threshold decides what is an attack, and an error never counts as a
//! live person.

use imaging::Picture;
use inference::own::{
    Activation, Crop, Golden, GoldenSubject, Meaning, ModelOutput, OwnModel, PadPurpose, Purpose,
};
use serde::{Deserialize, Serialize};

use crate::error::FaceError;
use crate::own_input::{failed, golden_input, golden_photograph, suitable, values};
use crate::reading::{Face, FaceReading};

/// The version of the way in which faces are found and cut out for custom models. A calibration is for one version.
pub const PAD_RECIPE: u32 = 1;

/// The score that a custom model gave, and the threshold of its calibration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PadScore {
    /// The model's name.
    pub model: String,
    /// The first 12 hexadecimal digits of its file's SHA-256.
    pub version: String,
    /// High for a live person.
    pub score: f32,
    /// A score below this is an attack.
    pub attack_below: f32,
}

impl PadScore {
    /// Whether the model classifies it as an attack.
    pub fn is_attack(&self) -> bool {
        self.score < self.attack_below
    }

    /// Whether this crate can produce this result. Results from another process may contain anything.
    pub(crate) fn is_plausible(&self) -> bool {
        let name = |text: &str| {
            text.len() <= 64
                && text
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        };
        name(&self.model) && name(&self.version) && self.score.is_finite() && self.attack_below.is_finite()
    }
}

/// What is declared for presentation attack detection.
fn purpose(model: &OwnModel) -> Result<&PadPurpose, FaceError> {
    match &model.declaration().purpose {
        Purpose::Pad(purpose) => Ok(purpose),
        Purpose::Embedder(_) => Err(failed(model, "it does not detect presentation attacks")),
    }
}

/// The score of a face.
pub(crate) fn score(model: &OwnModel, picture: &Picture, face: &Face) -> Result<f32, FaceError> {
    let outside = || failed(model, "the face lies outside the picture");
    let crop = purpose(model)?.crop;
    let [x, y, width, height] =
        part(crop, face.bounds, [picture.width, picture.height]).ok_or_else(outside)?;
    run(model, &picture.crop(x, y, width, height).ok_or_else(outside)?)
}

/// The score of a picture that is only the face's part.
fn run(model: &OwnModel, part: &Picture) -> Result<f32, FaceError> {
    let output = &purpose(model)?.output;
    let answer = model
        .run(&values(&model.declaration().input, part))
        .map_err(|error| failed(model, error))?;
    read(output, &answer.data).ok_or_else(|| {
        failed(
            model,
            format!(
                "it returned {} numbers, of which number {} is missing or not finite; check `output.class`",
                answer.data.len(),
                output.class
            ),
        )
    })
}

/// The part of a picture (left, top, width, height) that a crop of a face takes; `None` without an area.
fn part(crop: Crop, [left, top, width, height]: [f32; 4], [across, down]: [u32; 2]) -> Option<[u32; 4]> {
    let (wide, high) = match crop {
        Crop::Box(times) => (width * times, height * times),
        Crop::Square(times) => (width.max(height) * times, width.max(height) * times),
    };
    let (across, down) = (across as f32, down as f32);
    let fit = (across / wide).min(down / high).min(1.0);
    let (wide, high) = (wide * fit, high * fit);
    if !(wide >= 1.0 && high >= 1.0) {
        return None;
    }
    let inside = |centre: f32, side: f32, most: f32| (centre - side / 2.0).min(most - side).max(0.0);
    let x = inside(left + width / 2.0, wide, across);
    let y = inside(top + height / 2.0, high, down);
    Some([x, y, wide, high].map(|value| value.round() as u32))
}

/// The score in an answer; `None` if there is none, or it is not finite.
fn read(output: &ModelOutput, numbers: &[f32]) -> Option<f32> {
    let number = *numbers.get(output.class)?;
    let number = match output.activation {
        Activation::None => number,
        Activation::Sigmoid => 1.0 / (1.0 + (-number).exp()),
        Activation::Softmax => {
            let highest = numbers.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            let sum: f32 = numbers.iter().map(|other| (other - highest).exp()).sum();
            (number - highest).exp() / sum
        }
    };
    let score = match output.means {
        Meaning::Live => number,
        Meaning::Attack => -number,
    };
    score.is_finite().then_some(score)
}

/// Runs the golden tests of a model. `find` finds the faces of a photograph, as in a selfie.
pub(crate) fn check_golden(
    model: &OwnModel,
    find: impl Fn(&Picture) -> Result<FaceReading, FaceError>,
) -> Result<(), FaceError> {
    for golden in &purpose(model)?.golden {
        let found = golden_score(model, golden, &find)?;
        // Both are finite.
        if (found - golden.expected).abs() > golden.tolerance {
            return Err(FaceError::Golden {
                model: model.declaration().name.clone(),
                picture: golden.picture.clone(),
                found,
                expected: golden.expected,
                tolerance: golden.tolerance,
            });
        }
    }
    Ok(())
}

fn golden_score(
    model: &OwnModel,
    golden: &Golden<f32>,
    find: impl Fn(&Picture) -> Result<FaceReading, FaceError>,
) -> Result<f32, FaceError> {
    match golden.shows {
        GoldenSubject::Input => run(model, &golden_input(model, &golden.picture)?),
        GoldenSubject::Photograph => {
            let (picture, reading) = golden_photograph(model, &golden.picture, find)?;
            let face = suitable(&reading).ok_or_else(|| failed(model, "the golden picture has no face"))?;
            score(model, &picture, face)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_stays_in_the_picture_and_keeps_its_shape() {
        let face = [40.0, 30.0, 20.0, 30.0];
        let cases = [
            (Crop::Box(1.0), face, [100, 100], Some([40, 30, 20, 30])),
            (Crop::Box(2.0), face, [100, 100], Some([30, 15, 40, 60])),
            (Crop::Square(2.0), face, [100, 100], Some([20, 15, 60, 60])),
            // Moved inside.
            (
                Crop::Box(2.0),
                [0.0, 0.0, 20.0, 30.0],
                [100, 100],
                Some([0, 0, 40, 60]),
            ),
            (
                Crop::Box(2.0),
                [90.0, 90.0, 20.0, 30.0],
                [100, 100],
                Some([60, 40, 40, 60]),
            ),
            // Made smaller.
            (Crop::Box(8.0), face, [100, 120], Some([10, 0, 80, 120])),
            (Crop::Square(8.0), face, [100, 120], Some([0, 0, 100, 100])),
            (Crop::Box(1.0), [0.0, 0.0, 0.0, 0.0], [100, 100], None),
            (Crop::Box(1.0), [f32::NAN, 0.0, f32::NAN, 10.0], [100, 100], None),
        ];
        for (crop, face, size, expected) in cases {
            assert_eq!(part(crop, face, size), expected, "{crop:?} {face:?} {size:?}");
        }
    }

    #[test]
    fn the_declared_number_is_the_score() {
        let output = |activation, class, means| ModelOutput {
            activation,
            class,
            means,
        };
        let cases = [
            (
                output(Activation::None, 1, Meaning::Live),
                &[1.0, 2.5][..],
                Some(2.5),
            ),
            (
                output(Activation::None, 0, Meaning::Attack),
                &[1.0, 2.5],
                Some(-1.0),
            ),
            (output(Activation::Sigmoid, 0, Meaning::Live), &[0.0], Some(0.5)),
            (
                output(Activation::Softmax, 1, Meaning::Live),
                &[3.0, 3.0],
                Some(0.5),
            ),
            // No overflow.
            (
                output(Activation::Softmax, 1, Meaning::Live),
                &[0.0, 1e4],
                Some(1.0),
            ),
            (output(Activation::None, 2, Meaning::Live), &[1.0, 2.5], None),
            (output(Activation::None, 0, Meaning::Live), &[], None),
            (output(Activation::None, 0, Meaning::Live), &[f32::NAN], None),
            (
                output(Activation::Softmax, 0, Meaning::Live),
                &[0.0, f32::NAN],
                None,
            ),
            (
                output(Activation::Softmax, 0, Meaning::Live),
                &[f32::INFINITY, 0.0],
                None,
            ),
        ];
        for (output, numbers, expected) in cases {
            assert_eq!(read(&output, numbers), expected, "{output:?} {numbers:?}");
        }
    }

    #[test]
    fn a_score_below_the_threshold_is_an_attack() {
        let of = |score| PadScore {
            model: "acme-pad".into(),
            version: "0123456789ab".into(),
            score,
            attack_below: 0.5,
        };
        for (score, attack) in [(0.49, true), (0.5, false), (0.51, false), (-3.0, true)] {
            assert_eq!(of(score).is_attack(), attack, "{score}");
            assert!(of(score).is_plausible());
        }
        assert!(!of(f32::NAN).is_plausible());
        let foreign = PadScore {
            model: "<b>live</b>".into(),
            ..of(1.0)
        };
        assert!(!foreign.is_plausible());
    }
}
