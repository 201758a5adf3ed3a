//! A custom embedder: aligns a face as declared, and reads the numbers that the model returns.
//!
//! Only the direction of the numbers counts. The calibration's scale makes their distances comparable with those of the
//! built-in networks, for which all thresholds were chosen. This module compares no faces.

use imaging::Picture;
use inference::ModelError;
use inference::own::{EmbedderPurpose, Golden, GoldenSubject, OwnModel, Purpose, Template};

use crate::align::{dlib_chip, sface_chip};
use crate::embedding::{Embedding, ONE};
use crate::error::FaceError;
use crate::mesh::Mesh;
use crate::own_input::{failed, golden_input, values};

/// The version of the way in which faces are found and aligned for custom embedders. A calibration is for one version.
pub const EMBEDDER_RECIPE: u32 = 1;
/// Digits of the file's hash in the version of an embedding. Those of declaration and calibration follow.
const FILE_DIGITS: usize = 4;

/// The version of the custom part of embeddings. It changes with the model's file, declaration and calibration.
pub(crate) fn version(model: &OwnModel) -> String {
    format!("{:.FILE_DIGITS$}{}", model.version(), model.fingerprint())
}

/// Adds a model's numbers to a face's embedding. `None` if the points of its mesh coincide: such a face is not compared
/// at all, because it could not be compared in the same way as the others.
pub(crate) fn with_own(
    model: &OwnModel,
    picture: &Picture,
    mesh: &Mesh,
    embedding: Embedding,
) -> Result<Option<Embedding>, FaceError> {
    let scale = model
        .embedder_calibration(EMBEDDER_RECIPE)
        .map_err(ModelError::Own)?
        .scale;
    let Some(direction) = direction(model, picture, mesh)? else {
        return Ok(None);
    };
    // `as` saturates.
    let values = direction
        .into_iter()
        .map(|value| (value * scale * ONE).round() as i16)
        .collect();
    embedding
        .with_own(&version(model), values)
        .map(Some)
        .map_err(|error| failed(model, error))
}

/// The numbers of a face, of length 1; `None` if the points of its mesh coincide.
pub(crate) fn direction(
    model: &OwnModel,
    picture: &Picture,
    mesh: &Mesh,
) -> Result<Option<Vec<f32>>, FaceError> {
    let chip = match purpose(model)?.align {
        Template::Arcface => sface_chip(picture, mesh),
        Template::Dlib => dlib_chip(picture, mesh),
    };
    chip.map(|chip| run(model, &chip)).transpose()
}

fn purpose(model: &OwnModel) -> Result<&EmbedderPurpose, FaceError> {
    match &model.declaration().purpose {
        Purpose::Embedder(purpose) => Ok(purpose),
        Purpose::Pad(_) => Err(failed(model, "it does not embed faces")),
    }
}

/// The numbers of an aligned face, of length 1.
fn run(model: &OwnModel, chip: &Picture) -> Result<Vec<f32>, FaceError> {
    let output = purpose(model)?.output;
    let view = |picture: &Picture| -> Result<Vec<f32>, FaceError> {
        let answer = model
            .run(&values(&model.declaration().input, picture))
            .map_err(|error| failed(model, error))?;
        if answer.data.len() == output.length {
            return Ok(answer.data);
        }
        Err(failed(
            model,
            format!(
                "it returned {} numbers, not {}; check `output.length`",
                answer.data.len(),
                output.length
            ),
        ))
    };
    let mut numbers = view(chip)?;
    if output.mirrored {
        for (number, mirrored) in numbers.iter_mut().zip(view(&chip.mirrored())?) {
            *number = f32::midpoint(*number, mirrored);
        }
    }
    unit(numbers).ok_or_else(|| failed(model, "it returned numbers without a direction"))
}

/// Numbers scaled to length 1; `None` if they have no direction.
fn unit(mut numbers: Vec<f32>) -> Option<Vec<f32>> {
    let length = numbers
        .iter()
        .map(|number| f64::from(*number).powi(2))
        .sum::<f64>()
        .sqrt();
    let length = length as f32;
    if !length.is_normal() {
        return None;
    }
    numbers.iter_mut().for_each(|number| *number /= length);
    Some(numbers)
}

/// Runs the golden tests of a model. `find` returns the numbers of a photograph's only face.
pub(crate) fn check_golden(
    model: &OwnModel,
    find: impl Fn(&str) -> Result<Vec<f32>, FaceError>,
) -> Result<(), FaceError> {
    for golden in &purpose(model)?.golden {
        let found = match golden.shows {
            GoldenSubject::Input => run(model, &golden_input(model, &golden.picture)?)?,
            GoldenSubject::Photograph => find(&golden.picture)?,
        };
        let distance = cosine_distance(&found, golden)
            .ok_or_else(|| failed(model, "a golden picture's numbers have no direction"))?;
        if distance > golden.tolerance {
            return Err(FaceError::GoldenEmbedding {
                model: model.declaration().name.clone(),
                picture: golden.picture.clone(),
                distance,
                tolerance: golden.tolerance,
            });
        }
    }
    Ok(())
}

/// The cosine distance between a golden picture's numbers and these, which have the length 1.
fn cosine_distance(found: &[f32], golden: &Golden<Vec<f32>>) -> Option<f32> {
    let expected = unit(golden.expected.clone())?;
    let cosine: f32 = found.iter().zip(&expected).map(|(a, b)| a * b).sum();
    Some((1.0 - cosine).max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_brought_to_length_one_if_they_have_a_direction() {
        assert_eq!(unit(vec![3.0, 0.0, 4.0]), Some(vec![0.6, 0.0, 0.8]));
        for bad in [
            vec![0.0; 3],
            vec![f32::NAN, 1.0],
            vec![f32::INFINITY, 1.0],
            vec![],
        ] {
            assert_eq!(unit(bad.clone()), None, "{bad:?}");
        }
    }

    #[test]
    fn a_golden_picture_is_compared_by_direction() {
        let golden = |expected: Vec<f32>| Golden {
            picture: String::new(),
            shows: GoldenSubject::Input,
            expected,
            tolerance: 0.0,
        };
        for (expected, distance) in [
            (vec![0.0, 5.0], 0.0),
            (vec![2.0, 0.0], 1.0),
            (vec![0.0, -1.0], 2.0),
        ] {
            assert_eq!(cosine_distance(&[0.0, 1.0], &golden(expected)), Some(distance));
        }
    }
}
