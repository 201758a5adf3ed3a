//! dlib's face recognition net, ResNet-29, from `@vladmandic/face-api`, which contains weights without a
//! graph. The graph here follows dlib's `dnn_face_recognition_ex.cpp` and the package's
//! `FaceRecognitionNet.ts`.

use std::path::Path;

use anyhow::{Context, Result, ensure};

use super::{
    onnx::{Attribute, Graph},
    weights::{Group, Weight, Weights},
};

/// The mean colour that dlib subtracts, RGB.
const MEAN: [f32; 3] = [122.782, 117.001, 104.298];

/// The residual blocks after the first convolution, by name. `Down` has the side of its input and its
/// channels.
const BLOCKS: [(&str, Block); 14] = [
    ("conv32_1", Block::Same),
    ("conv32_2", Block::Same),
    ("conv32_3", Block::Same),
    (
        "conv64_down",
        Block::Down {
            side: 35,
            from: 32,
            to: 64,
        },
    ),
    ("conv64_1", Block::Same),
    ("conv64_2", Block::Same),
    ("conv64_3", Block::Same),
    (
        "conv128_down",
        Block::Down {
            side: 17,
            from: 64,
            to: 128,
        },
    ),
    ("conv128_1", Block::Same),
    ("conv128_2", Block::Same),
    (
        "conv256_down",
        Block::Down {
            side: 8,
            from: 128,
            to: 256,
        },
    ),
    ("conv256_1", Block::Same),
    ("conv256_2", Block::Same),
    (
        "conv256_down_out",
        Block::Down {
            side: 4,
            from: 256,
            to: 256,
        },
    ),
];

enum Block {
    Same,
    /// Halves a picture of this side and increases the channels.
    Down {
        side: i64,
        from: i64,
        to: i64,
    },
}

struct Net {
    weights: Weights,
    graph: Graph,
}

pub(crate) fn convert(dir: &Path) -> Result<Vec<u8>> {
    let description = super::read(&dir.join("face_recognition_model-weights_manifest.json"))?;
    let groups: Vec<Group> =
        serde_json::from_slice(&description).context("reading the weights' description")?;
    let mut net = Net {
        weights: Weights::read(&groups, dir)?,
        graph: Graph::new("face_recognition"),
    };

    let input = net.graph.input(&[3, 150, 150]);
    let mean = net.graph.floats(&[3, 1, 1], &MEAN);
    let centred = net.graph.node("Sub", &[&input, &mean], &[]);
    let range = net.graph.floats(&[], &[255.0]);
    let normalised = net.graph.node("Div", &[&centred, &range], &[]);
    let mut value = net.convolution(&normalised, "conv32_down", 2)?;
    value = net.graph.node("Relu", &[&value], &[]);
    let window = [
        ("kernel_shape", Attribute::Ints(&[3, 3])),
        ("strides", Attribute::Ints(&[2, 2])),
    ];
    value = net.graph.node("MaxPool", &[&value], &window);
    for (name, block) in &BLOCKS {
        value = net.residual(&value, name, block)?;
    }
    value = net.graph.node("GlobalAveragePool", &[&value], &[]);
    value = net.graph.node("Flatten", &[&value], &[]);
    let last = net.weights.get("fc")?;
    let last = net.graph.floats(&last.shape, &last.values);
    value = net.graph.node("MatMul", &[&value, &last], &[]);
    net.graph.output(&value);
    Ok(net.graph.finish())
}

impl Net {
    /// Adds a residual block: two convolutions, added to a short cut.
    fn residual(&mut self, input: &str, name: &str, block: &Block) -> Result<String> {
        let stride = if matches!(block, Block::Same) { 1 } else { 2 };
        let first = self.convolution(input, &format!("{name}/conv1"), stride)?;
        let first = self.graph.node("Relu", &[&first], &[]);
        let mut deep = self.convolution(&first, &format!("{name}/conv2"), 1)?;
        let mut short = input.to_owned();
        if let &Block::Down { side, from, to } = block {
            let window = [
                ("kernel_shape", Attribute::Ints(&[2, 2])),
                ("strides", Attribute::Ints(&[2, 2])),
            ];
            short = self.graph.node("AveragePool", &[&short], &window);
            if to > from {
                short = self.pad(&short, to - from, 0);
            }
            // The convolution's result may be one pixel smaller than the pool's. dlib pads it at the bottom
            // and on the right.
            let missing = side / 2 - (side - 1) / 2;
            if missing > 0 {
                deep = self.pad(&deep, 0, missing);
            }
        }
        let sum = self.graph.node("Add", &[&deep, &short], &[]);
        Ok(self.graph.node("Relu", &[&sum], &[]))
    }

    /// A convolution whose weights include the scale layer after it. dlib does not pad convolutions with a
    /// stride.
    fn convolution(&mut self, input: &str, name: &str, stride: i64) -> Result<String> {
        let tensor = |part: &str| self.weights.get(&format!("{name}/{part}"));
        let (filters, bias) = (
            tensor("conv/filters")?.permuted([3, 2, 0, 1])?,
            tensor("conv/bias")?,
        );
        let (scale, shift) = (tensor("scale/weights")?, tensor("scale/biases")?);
        let channels = filters.shape[0];
        let same_length = |weight: &Weight| weight.values.len() == channels;
        ensure!(
            [bias, scale, shift].into_iter().all(same_length),
            "{name}: uneven numbers of channels"
        );

        let per_channel = filters.values.len() / channels;
        let scaled: Vec<f32> = filters
            .values
            .chunks_exact(per_channel)
            .zip(&scale.values)
            .flat_map(|(filter, scale)| filter.iter().map(move |value| value * scale))
            .collect();
        let shifted: Vec<f32> = (0..channels)
            .map(|channel| bias.values[channel] * scale.values[channel] + shift.values[channel])
            .collect();
        let filters = self.graph.floats(&filters.shape, &scaled);
        let bias = self.graph.floats(&[channels], &shifted);
        let padding = if stride == 1 { [1; 4] } else { [0; 4] };
        let attributes = [
            ("strides", Attribute::Ints(&[stride, stride])),
            ("pads", Attribute::Ints(&padding)),
        ];
        Ok(self.graph.node("Conv", &[input, &filters, &bias], &attributes))
    }

    /// Pads with zeros after the last channel, or at the bottom and on the right.
    fn pad(&mut self, input: &str, channels: i64, side: i64) -> String {
        let pads = self.graph.integers(&[0, 0, 0, 0, 0, channels, side, side]);
        self.graph.node("Pad", &[input, &pads], &[])
    }
}
