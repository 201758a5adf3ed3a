//! Converts the TensorFlow.js graphs of `@vladmandic/human` to ONNX. It supports only the operators of these
//! two graphs, and converts only the nodes that the outputs need.
//!
//! TensorFlow has channels as the last dimension, ONNX before height and width. The input is transposed once,
//! and values are transposed back before they are reshaped.

use std::{collections::HashMap, path::Path};

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

use super::{
    onnx::{Attribute, Graph},
    weights::{Group, Weight, Weights},
};

/// Converts BlazeFace. Its four outputs are joined into one table as in `human`: the fine grid's anchors
/// first, each with its score before its box.
pub(crate) fn face_detector(graph: &Path) -> Result<Vec<u8>> {
    let mut converter = Converter::open(graph, 256)?;
    let grids = [["Identity", "Identity_2"], ["Identity_1", "Identity_3"]]
        .into_iter()
        .map(|[scores, boxes]| converter.joined(&[scores, boxes], 2))
        .collect::<Result<Vec<_>>>()?;
    let table = converter
        .graph
        .node("Concat", &[&grids[0], &grids[1]], &[("axis", Attribute::Int(1))]);
    converter.graph.output(&table);
    Ok(converter.graph.finish())
}

/// Converts FaceMesh without its third output, the contours.
pub(crate) fn face_mesh(graph: &Path) -> Result<Vec<u8>> {
    let mut converter = Converter::open(graph, 192)?;
    for output in ["Identity_2", "Identity_1"] {
        let value = converter.value(output)?;
        converter.graph.output(&value);
    }
    Ok(converter.graph.finish())
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct File {
    model_topology: Topology,
    weights_manifest: Vec<Group>,
}

#[derive(Deserialize)]
struct Topology {
    node: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    name: String,
    op: String,
    #[serde(default)]
    input: Vec<String>,
    #[serde(default)]
    attr: HashMap<String, serde_json::Value>,
}

struct Converter {
    nodes: HashMap<String, Node>,
    weights: Weights,
    graph: Graph,
    /// The converted values: TensorFlow's name to the name in the new graph.
    values: HashMap<String, String>,
}

impl Converter {
    /// Opens a graph whose input is a square picture of this side.
    fn open(path: &Path, side: usize) -> Result<Self> {
        let file: File = serde_json::from_slice(&super::read(path)?).context("reading the graph")?;
        let dir = path.parent().context("a graph outside any folder")?;
        let name = path
            .file_stem()
            .context("a graph without a name")?
            .to_string_lossy();
        let weights = Weights::read(&file.weights_manifest, dir)?;
        let nodes: HashMap<_, _> = file
            .model_topology
            .node
            .into_iter()
            .map(|node| (node.name.clone(), node))
            .collect();
        let mut graph = Graph::new(&name);
        let input = graph.input(&[side, side, 3]);
        let turned = graph.node(
            "Transpose",
            &[&input],
            &[("perm", Attribute::Ints(&[0, 3, 1, 2]))],
        );
        let placeholder = nodes
            .values()
            .find(|node| node.op == "Placeholder")
            .context("the graph has no input")?;
        let values = HashMap::from([(placeholder.name.clone(), turned)]);
        Ok(Self {
            nodes,
            weights,
            graph,
            values,
        })
    }

    /// The new graph's name for the value of a node. If necessary, the node and its inputs are converted
    /// first.
    fn value(&mut self, name: &str) -> Result<String> {
        if let Some(value) = self.values.get(name) {
            return Ok(value.clone());
        }
        let node = self
            .nodes
            .remove(name)
            .with_context(|| format!("no node {name}"))?;
        let value = self
            .convert(&node)
            .with_context(|| format!("{} {name}", node.op))?;
        self.values.insert(name.to_owned(), value.clone());
        Ok(value)
    }

    fn joined(&mut self, names: &[&str; 2], axis: i64) -> Result<String> {
        let (first, second) = (self.value(names[0])?, self.value(names[1])?);
        Ok(self
            .graph
            .node("Concat", &[&first, &second], &[("axis", Attribute::Int(axis))]))
    }

    fn convert(&mut self, node: &Node) -> Result<String> {
        let input = |position: usize| node.input.get(position).context("an input is missing");
        let operator = match node.op.as_str() {
            "Identity" => return self.value(input(0)?),
            "Const" => return self.broadcast(&node.name),
            "Conv2D" => return self.convolution(node, false),
            "DepthwiseConv2dNative" => return self.convolution(node, true),
            "_FusedConv2D" => return self.fused_convolution(node),
            "MaxPool" => {
                let value = self.value(input(0)?)?;
                let attributes = [
                    (
                        "kernel_shape",
                        Attribute::Ints(&node.of_height_and_width("ksize")?),
                    ),
                    ("strides", Attribute::Ints(&node.of_height_and_width("strides")?)),
                    ("auto_pad", Attribute::Text(node.padding()?)),
                ];
                return Ok(self.graph.node("MaxPool", &[&value], &attributes));
            }
            "Pad" => {
                let value = self.value(input(0)?)?;
                let [n, h, w, mut c] = <[_; 4]>::try_from(self.integers(input(1)?)?.as_chunks::<2>().0)?;
                // Channels are padded only to double their number, so the channels added are as many as before.
                let channels = usize::try_from(c[1])?;
                c[1] -= (widened(channels) - channels) as i64;
                let pads = self
                    .graph
                    .integers(&[n[0], c[0], h[0], w[0], n[1], c[1], h[1], w[1]]);
                return Ok(self.graph.node("Pad", &[&value, &pads], &[]));
            }
            "Reshape" => {
                let value = self.value(input(0)?)?;
                let turned = self.graph.node(
                    "Transpose",
                    &[&value],
                    &[("perm", Attribute::Ints(&[0, 2, 3, 1]))],
                );
                let mut shape = self.integers(input(1)?)?;
                // The batch size may be fixed, so it is made free. All other lengths are known.
                *shape.first_mut().context("an empty shape")? = -1;
                let shape = self.graph.integers(&shape);
                return Ok(self.graph.node("Reshape", &[&turned, &shape], &[]));
            }
            "Mean" => {
                let value = self.value(input(0)?)?;
                ensure!(
                    self.integers(input(1)?)? == [1, 2],
                    "a mean over other axes than height and width"
                );
                let attributes = [
                    ("axes", Attribute::Ints(&[2, 3])),
                    ("keepdims", Attribute::Int(0)),
                ];
                return Ok(self.graph.node("ReduceMean", &[&value], &attributes));
            }
            "Add" | "AddV2" => "Add",
            "Mul" => "Mul",
            "Maximum" => "Max",
            "Minimum" => "Min",
            "Prelu" => {
                let value = self.value(input(0)?)?;
                return self.parametric_relu(&value, input(1)?);
            }
            "Relu" => "Relu",
            "Sigmoid" => "Sigmoid",
            other => bail!("unknown operator {other}"),
        };
        let inputs = node
            .input
            .iter()
            .map(|name| self.value(name))
            .collect::<Result<Vec<_>>>()?;
        let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
        Ok(self.graph.node(operator, &inputs, &[]))
    }

    /// A convolution with its bias and its activation.
    fn fused_convolution(&mut self, node: &Node) -> Result<String> {
        let mut value = self.convolution(node, false)?;
        let mut others = node.input[2..].iter();
        for operation in node.fused_operations()? {
            let mut other = || others.next().context("a fused operation without its input");
            // Texts in these files are Base64: "BiasAdd", "Prelu", "Relu".
            value = match operation {
                "Qmlhc0FkZA==" => {
                    let bias = self.value(other()?)?;
                    self.graph.node("Add", &[&value, &bias], &[])
                }
                "UHJlbHU=" => self.parametric_relu(&value, other()?)?,
                "UmVsdQ==" => self.graph.node("Relu", &[&value], &[]),
                other => bail!("unknown fused operation {other}"),
            };
        }
        Ok(value)
    }

    fn parametric_relu(&mut self, value: &str, slopes: &str) -> Result<String> {
        let slopes = self.weights.get(slopes)?;
        Ok(self.graph.parametric_relu(value, &slopes.values))
    }

    fn convolution(&mut self, node: &Node, depthwise: bool) -> Result<String> {
        let [input, filters, ..] = node.input.as_slice() else {
            bail!("an input is missing")
        };
        let value = self.value(input)?;
        let filters = self.weights.get(filters)?;
        // Height, width, in, out → out, in, height, width. For a depthwise convolution, "out" is the number
        // of filters per channel.
        let mut filters = filters.permuted(if depthwise { [2, 3, 0, 1] } else { [3, 2, 0, 1] })?;
        let mut groups = 1;
        if depthwise {
            groups = widened(filters.shape[0]);
            filters.shape = vec![
                filters.shape[0] * filters.shape[1],
                1,
                filters.shape[2],
                filters.shape[3],
            ];
        }
        let filters = with_widened_channels(&filters);
        let filters = self.graph.floats(&filters.shape, &filters.values);
        let attributes = [
            ("strides", Attribute::Ints(&node.of_height_and_width("strides")?)),
            (
                "dilations",
                Attribute::Ints(&node.of_height_and_width("dilations")?),
            ),
            ("auto_pad", Attribute::Text(node.padding()?)),
            ("group", Attribute::Int(groups as i64)),
        ];
        Ok(self.graph.node("Conv", &[&value, &filters], &attributes))
    }

    /// A constant that is combined with channels. Only its last dimension, the channels, may be longer than
    /// 1.
    fn broadcast(&mut self, name: &str) -> Result<String> {
        let weight = self.weights.get(name)?;
        let channels = weight.values.len();
        ensure!(
            weight.shape.last().is_none_or(|&last| last == channels),
            "a constant of shape {:?}",
            weight.shape
        );
        if weight.shape.is_empty() {
            return Ok(self.graph.floats(&[], &weight.values));
        }
        let mut values = weight.values.clone();
        values.resize(widened(channels), 0.0);
        Ok(self.graph.floats(&[values.len(), 1, 1], &values))
    }

    fn integers(&self, name: &str) -> Result<Vec<i64>> {
        Ok(self
            .weights
            .get(name)?
            .values
            .iter()
            .map(|&value| value as i64)
            .collect())
    }
}

/// The number of channels in the new graph. The runtime is fast if channels fill blocks of 8 or 16, which BlazeFace's
/// 24 do not on every machine, so eight more are added. They and their weights are always zero.
fn widened(channels: usize) -> usize {
    if channels == 24 { 32 } else { channels }
}

/// Filters (out, in, height, width) with zeros for the channels that are added.
fn with_widened_channels(filters: &Weight) -> Weight {
    let [outputs, inputs, size] = [
        filters.shape[0],
        filters.shape[1],
        filters.shape[2] * filters.shape[3],
    ];
    let mut values = Vec::with_capacity(widened(outputs) * widened(inputs) * size);
    for filter in filters.values.chunks_exact(inputs * size) {
        values.extend_from_slice(filter);
        values.resize(values.len() + (widened(inputs) - inputs) * size, 0.0);
    }
    values.resize(widened(outputs) * widened(inputs) * size, 0.0);
    Weight {
        shape: vec![
            widened(outputs),
            widened(inputs),
            filters.shape[2],
            filters.shape[3],
        ],
        values,
    }
}

impl Node {
    /// The middle two of a list of four numbers: batch, height, width, channels.
    fn of_height_and_width(&self, attribute: &str) -> Result<[i64; 2]> {
        let list = self
            .attr
            .get(attribute)
            .and_then(|value| value.pointer("/list/i")?.as_array());
        let numbers: Vec<i64> = list
            .into_iter()
            .flatten()
            .filter_map(|number| number.as_str()?.parse().ok())
            .collect();
        let &[1, height, width, 1] = numbers.as_slice() else {
            bail!("{attribute} {numbers:?}")
        };
        Ok([height, width])
    }

    fn padding(&self) -> Result<&'static str> {
        match self.attr.get("padding").and_then(|value| value["s"].as_str()) {
            // "SAME": odd padding goes to the end, as in ONNX's SAME_UPPER.
            Some("U0FNRQ==") => Ok("SAME_UPPER"),
            Some("VkFMSUQ=") => Ok("VALID"),
            other => bail!("unknown padding {other:?}"),
        }
    }

    fn fused_operations(&self) -> Result<Vec<&str>> {
        let list = self
            .attr
            .get("fused_ops")
            .and_then(|value| value.pointer("/list/s")?.as_array());
        list.context("no fused operations")?
            .iter()
            .map(|name| name.as_str().context("not a name"))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn channels_that_are_added_are_zero() {
        for (shape, expected) in [
            ([24, 3, 1, 2], [32, 3, 1, 2]),
            ([24, 24, 1, 1], [32, 32, 1, 1]),
            ([48, 24, 1, 1], [48, 32, 1, 1]),
            ([24, 1, 3, 3], [32, 1, 3, 3]),
            ([6, 96, 1, 1], [6, 96, 1, 1]),
        ] {
            let length = shape.iter().product::<usize>();
            let filters = Weight {
                shape: shape.to_vec(),
                values: (1..=length).map(|value| value as f32).collect(),
            };
            let wide = with_widened_channels(&filters);
            assert_eq!(wide.shape, expected);
            assert_eq!(wide.values.len(), expected.iter().product::<usize>());
            let kept: Vec<f32> = wide
                .values
                .iter()
                .copied()
                .filter(|&value| value != 0.0)
                .collect();
            assert_eq!(kept, filters.values, "{shape:?}: in the same order");
            let size = shape[2] * shape[3];
            for (at, &value) in wide.values.iter().enumerate() {
                let (output, input) = (at / size / expected[1], at / size % expected[1]);
                assert_eq!(
                    value != 0.0,
                    output < shape[0] && input < shape[1],
                    "{shape:?} at {at}"
                );
            }
        }
    }
}
