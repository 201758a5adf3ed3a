//! Reads TensorFlow.js weights: one binary file with a description in JSON, plain or quantised. Types that
//! the pinned packages do not use are errors.

use std::{collections::HashMap, path::Path};

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

/// A tensor in TensorFlow's order of dimensions. Integers (shapes, axes) are small and exact as floats.
pub(crate) struct Weight {
    pub(crate) shape: Vec<usize>,
    pub(crate) values: Vec<f32>,
}

/// Tensors by name.
pub(crate) struct Weights(HashMap<String, Weight>);

/// A group of tensors that are stored consecutively in `paths`.
#[derive(Deserialize)]
pub(crate) struct Group {
    paths: Vec<String>,
    weights: Vec<Spec>,
}

#[derive(Deserialize)]
struct Spec {
    name: String,
    shape: Vec<usize>,
    dtype: String,
    quantization: Option<Quantization>,
}

#[derive(Deserialize)]
struct Quantization {
    dtype: String,
    #[serde(default)]
    scale: f32,
    #[serde(default)]
    min: f32,
}

impl Weights {
    /// Reads the weights in `dir`. All models have exactly one group of tensors in one file.
    pub(crate) fn read(groups: &[Group], dir: &Path) -> Result<Self> {
        let [Group { paths, weights }] = groups else {
            bail!("{} groups of weights instead of one", groups.len())
        };
        let [path] = paths.as_slice() else {
            bail!("{} files of weights instead of one", paths.len())
        };
        let bytes = super::read(&dir.join(path))?;
        let mut rest = bytes.as_slice();
        let mut tensors = HashMap::new();
        for spec in weights {
            let values = spec
                .take(&mut rest)
                .with_context(|| format!("tensor {}", spec.name))?;
            tensors.insert(
                spec.name.clone(),
                Weight {
                    shape: spec.shape.clone(),
                    values,
                },
            );
        }
        ensure!(
            rest.is_empty(),
            "{} bytes of {path} belong to no tensor",
            rest.len()
        );
        Ok(Self(tensors))
    }

    pub(crate) fn get(&self, name: &str) -> Result<&Weight> {
        self.0.get(name).with_context(|| format!("no tensor {name}"))
    }
}

impl Spec {
    /// Removes this tensor's bytes from the front of `rest` and decodes them.
    fn take(&self, rest: &mut &[u8]) -> Result<Vec<f32>> {
        let stored = self
            .quantization
            .as_ref()
            .map_or(self.dtype.as_str(), |quantization| &quantization.dtype);
        let width = match stored {
            "uint8" => 1,
            "float16" => 2,
            "float32" | "int32" => 4,
            other => bail!("stored as {other}"),
        };
        let length = self.shape.iter().product::<usize>() * width;
        let bytes = rest.split_off(..length).context("the file is too short")?;
        Ok(match (stored, &self.quantization) {
            ("uint8", Some(Quantization { scale, min, .. })) => {
                bytes.iter().map(|&byte| f32::from(byte) * scale + min).collect()
            }
            ("float16", _) => bytes
                .as_chunks()
                .0
                .iter()
                .map(|&half| from_half(u16::from_le_bytes(half)))
                .collect(),
            ("float32", None) => bytes
                .as_chunks()
                .0
                .iter()
                .map(|&float| f32::from_le_bytes(float))
                .collect(),
            ("int32", None) => bytes
                .as_chunks()
                .0
                .iter()
                .map(|&int| i32::from_le_bytes(int) as f32)
                .collect(),
            (other, _) => bail!("stored as {other}, quantised or not: unknown"),
        })
    }
}

impl Weight {
    /// The four-dimensional tensor with its dimensions in another order.
    pub(crate) fn permuted(&self, order: [usize; 4]) -> Result<Self> {
        let &[a, b, c, d] = self.shape.as_slice() else {
            bail!("a tensor of {} dimensions", self.shape.len())
        };
        let strides = [b * c * d, c * d, d, 1];
        let [l0, l1, l2, l3] = order.map(|axis| self.shape[axis]);
        let [s0, s1, s2, s3] = order.map(|axis| strides[axis]);
        let mut values = Vec::with_capacity(a * b * c * d);
        for i in 0..l0 {
            for j in 0..l1 {
                for k in 0..l2 {
                    values.extend((0..l3).map(|l| self.values[i * s0 + j * s1 + k * s2 + l * s3]));
                }
            }
        }
        Ok(Self {
            shape: vec![l0, l1, l2, l3],
            values,
        })
    }
}

/// Converts an IEEE 754 half-precision number.
fn from_half(half: u16) -> f32 {
    let sign = if half >> 15 == 1 { -1.0 } else { 1.0 };
    let exponent = i32::from(half >> 10 & 31);
    let fraction = f32::from(half & 1023) / 1024.0;
    sign * match exponent {
        0 => fraction * 2_f32.powi(-14),
        31 => {
            if fraction == 0.0 {
                f32::INFINITY
            } else {
                f32::NAN
            }
        }
        _ => (1.0 + fraction) * 2_f32.powi(exponent - 15),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves() {
        for (half, expected) in [
            (0x0000, 0.0),
            (0x3c00, 1.0),
            (0xc000, -2.0),
            (0x3555, 0.333_251_95),
            (0x7bff, 65504.0),
            (0x0001, 5.960_464_5e-8),
        ] {
            assert_eq!(from_half(half), expected, "{half:#06x}");
        }
        assert!(from_half(0x7e00).is_nan() && from_half(0xfc00) == f32::NEG_INFINITY);
    }

    #[test]
    fn permuting_moves_values_with_their_dimensions() {
        let weight = Weight {
            shape: vec![1, 2, 3, 1],
            values: vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0],
        };
        let permuted = weight.permuted([3, 2, 0, 1]).unwrap();
        assert_eq!(
            (permuted.shape, permuted.values),
            (vec![1, 3, 1, 2], vec![0.0, 3.0, 1.0, 4.0, 2.0, 5.0])
        );
    }
}
