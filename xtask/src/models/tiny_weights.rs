//! Sets weights of an ONNX file that are nearly zero to zero. The file's network stays as it is otherwise.
//!
//! Training leaves weights that are below the smallest normal number (1.2e-38). Processors calculate with those many
//! times more slowly: two layers of PaddleOCR's detector took three quarters of its time.

use std::ops::Range;

use anyhow::{Context, Result};
use prost::bytes::Buf;
use prost::encoding::{DecodeContext, WireType, decode_key, decode_varint, skip_field};

/// Weights closer to zero become zero. Even thousands of them change no sum of normal ones.
const TINY: f32 = 1e-20;

/// Fields of ONNX's messages (onnx.proto3).
const MODEL_GRAPH: u32 = 7;
const GRAPH_INITIALIZER: u32 = 5;
const TENSOR_DATA_TYPE: u32 = 2;
const TENSOR_RAW_DATA: u32 = 9;
/// `TensorProto.DataType.FLOAT`.
const FLOAT: u64 = 1;

/// Changes the file in place, and returns how many weights it set to zero.
pub(super) fn flush(file: &mut [u8]) -> Result<usize> {
    let mut flushed = 0;
    for weights in float_tensors(file).context("reading the ONNX file")? {
        for bytes in file[weights].chunks_exact_mut(4) {
            let weight = f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
            if weight != 0.0 && weight.abs() < TINY {
                bytes.fill(0);
                flushed += 1;
            }
        }
    }
    Ok(flushed)
}

/// Where the values of the graph's float tensors are in the file.
fn float_tensors(file: &[u8]) -> Result<Vec<Range<usize>>> {
    let mut found = Vec::new();
    for graph in fields(file, 0..file.len(), MODEL_GRAPH)? {
        for tensor in fields(file, graph.place(), GRAPH_INITIALIZER)? {
            let types = fields(file, tensor.place(), TENSOR_DATA_TYPE)?;
            if matches!(types[..], [Field::Number(FLOAT)]) {
                found.extend(
                    fields(file, tensor.place(), TENSOR_RAW_DATA)?
                        .iter()
                        .map(Field::place),
                );
            }
        }
    }
    Ok(found)
}

/// A field of a message.
enum Field {
    Number(u64),
    Bytes(Range<usize>),
}

impl Field {
    /// Where its bytes are in the file.
    fn place(&self) -> Range<usize> {
        match self {
            Self::Number(_) => 0..0,
            Self::Bytes(place) => place.clone(),
        }
    }
}

/// The fields with this number in the message at a place of the file.
fn fields(file: &[u8], message: Range<usize>, number: u32) -> Result<Vec<Field>> {
    let end = message.end;
    let mut rest = &file[message];
    let mut found = Vec::new();
    while rest.has_remaining() {
        let (tag, wire_type) = decode_key(&mut rest)?;
        match (tag == number, wire_type) {
            (true, WireType::Varint) => found.push(Field::Number(decode_varint(&mut rest)?)),
            (true, WireType::LengthDelimited) => {
                let length = usize::try_from(decode_varint(&mut rest)?)?;
                let start = end - rest.remaining();
                rest = rest.get(length..).context("a field is cut off")?;
                found.push(Field::Bytes(start..start + length));
            }
            _ => skip_field(wire_type, tag, &mut rest, DecodeContext::default())?,
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::super::onnx::{Attribute, Graph};
    use super::*;

    fn network(weights: &[f32]) -> Vec<u8> {
        let mut graph = Graph::new("test");
        let input = graph.input(&[1, 2, 2]);
        let kernel = graph.floats(&[weights.len(), 1, 1, 1], weights);
        let shape = graph.integers(&[1]);
        let output = graph.node(
            "Conv",
            &[&input, &kernel, &shape],
            &[("group", Attribute::Int(1))],
        );
        graph.output(&output);
        graph.finish()
    }

    #[test]
    fn only_tiny_weights_become_zero() {
        let tiny = [1e-40, -1e-39, 1e-21, -1e-21, f32::MIN_POSITIVE];
        let others = [0.0, -0.0, 1e-19, -1e-19, 3.5, -1e30];
        let mut file = network(&[&tiny[..], &others].concat());
        assert_eq!(flush(&mut file).unwrap(), tiny.len());
        assert_eq!(file, network(&[&[0.0; 5][..], &others].concat()));
        assert_eq!(flush(&mut file).unwrap(), 0);
    }

    #[test]
    fn a_file_that_is_cut_off_is_an_error() {
        let mut file = network(&[1e-40]);
        file.truncate(file.len() - 3);
        assert!(flush(&mut file).is_err());
    }
}
