//! Compares converted models with what their package's own runtime answers to the same pattern (`goldens.json`, made by
//! `packages/goldens.mjs`). Equal means: the conversion changed nothing but the last digits.

use std::collections::HashMap;

use anyhow::{Context, Result, ensure};
use inference::{Input, Layout, ModelName, Models, Tensor};
use serde::Deserialize;

const GOLDENS: &str = include_str!("goldens.json");

/// How far a value may be off, as a share of the output's largest (or of 0.1, if all are smaller).
const TOLERANCE: f32 = 1e-4;

/// Every `step`th value of an output.
#[derive(Deserialize)]
struct Golden {
    shape: Vec<usize>,
    step: usize,
    values: Vec<f32>,
}

/// Runs the four converted models on the pattern, scaled as each expects.
pub(crate) fn check(models: &Models) -> Result<()> {
    let goldens: HashMap<String, Vec<Golden>> =
        serde_json::from_str(GOLDENS).context("reading goldens.json")?;
    for (name, scale, offset) in [
        (ModelName::FaceDetector, 1.0 / 127.5, -1.0),
        (ModelName::FaceMesh, 1.0 / 255.0, 0.0),
        (ModelName::FaceFeatures, 1.0, 0.0),
        (ModelName::FaceEmbedding, 1.0, 0.0),
    ] {
        let shape = name.nominal_shape();
        let side = shape[2];
        let data: Vec<f32> = pattern(side, name.layout())
            .map(|value| value * scale + offset)
            .collect();
        let outputs = models.run(
            name,
            Input {
                shape: &shape,
                data: &data,
            },
        )?;
        let expected = goldens
            .get(name.as_str())
            .with_context(|| format!("no golden of {}", name.as_str()))?;
        ensure!(
            outputs.len() == expected.len(),
            "{}: {} outputs",
            name.as_str(),
            outputs.len()
        );
        for (output, golden) in outputs.iter().zip(expected) {
            compare(output, golden).with_context(|| format!("{} was converted wrongly", name.as_str()))?;
        }
    }
    Ok(())
}

fn compare(output: &Tensor, golden: &Golden) -> Result<()> {
    ensure!(
        output.shape == golden.shape,
        "its output is of shape {:?}, not {:?}",
        output.shape,
        golden.shape
    );
    let largest = golden
        .values
        .iter()
        .fold(0.1_f32, |largest, value| largest.max(value.abs()));
    let values: Vec<f32> = output.data.iter().step_by(golden.step).copied().collect();
    ensure!(
        values.len() == golden.values.len(),
        "{} values instead of {}",
        values.len(),
        golden.values.len()
    );
    for (position, (value, expected)) in values.iter().zip(&golden.values).enumerate() {
        // A NaN is not near anything.
        let near = (value - expected).abs() <= TOLERANCE * largest;
        ensure!(
            near,
            "value {} is {value}, not {expected}",
            position * golden.step
        );
    }
    Ok(())
}

/// A colour pattern of whole numbers 0–255, the same as in `goldens.mjs`.
fn pattern(side: usize, layout: Layout) -> impl Iterator<Item = f32> {
    (0..side * side * 3).map(move |index| {
        let (pixel, channel) = match layout {
            Layout::Nhwc => (index / 3, index % 3),
            Layout::Nchw => (index % (side * side), index / (side * side)),
        };
        let (x, y) = (pixel % side, pixel / side);
        ((x * 7 + y * 13 + channel * 50 + ((x >> 4) ^ (y >> 4)) * 37) & 255) as f32
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn golden() -> Golden {
        Golden {
            shape: vec![1, 4],
            step: 2,
            values: vec![1.0, 100.0],
        }
    }

    #[test]
    fn last_digits_may_differ_and_nothing_more() {
        let tensor = |data: [f32; 4], shape: [usize; 2]| Tensor {
            shape: shape.to_vec(),
            data: data.to_vec(),
        };
        for (output, right) in [
            (tensor([1.0, 7.0, 100.005, 7.0], [1, 4]), true),
            (tensor([1.02, 7.0, 100.0, 7.0], [1, 4]), false),
            (tensor([1.0, 7.0, f32::NAN, 7.0], [1, 4]), false),
            (tensor([1.0, 7.0, 100.0, 7.0], [4, 1]), false),
        ] {
            assert_eq!(compare(&output, &golden()).is_ok(), right, "{output:?}");
        }
    }
}
