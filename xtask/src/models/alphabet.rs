//! Cuts a text recogniser's output layer down to the characters that are needed. Its other layers stay as they are.
//!
//! PaddleOCR's recogniser has 18,708 characters, most of them Han. Its last layer takes a fifth of its time,
//! and a rare character is sometimes read for dirt or an ornament.

use anyhow::{Context, Result, ensure};
use prost::Message;
use prost::bytes::Buf;
use prost::encoding::{WireType, decode_key, decode_varint, encode_key, encode_varint};

use super::metadata;

/// Fields of ONNX's messages (onnx.proto3).
const MODEL_GRAPH: u32 = 7;
const MODEL_METADATA: u32 = 14;
const GRAPH_INITIALIZER: u32 = 5;
const GRAPH_OUTPUT: u32 = 12;
const GRAPH_VALUE_INFO: u32 = 13;
/// `TensorProto.DataType.FLOAT`.
const FLOAT: i32 = 1;
/// The metadata's key of the characters, one per line.
const CHARACTERS: &str = "character";

/// A tensor of the graph with the fields that this module changes.
#[derive(Clone, PartialEq, Message)]
struct Weights {
    #[prost(int64, repeated, tag = "1")]
    dims: Vec<i64>,
    #[prost(int32, optional, tag = "2")]
    data_type: Option<i32>,
    #[prost(string, optional, tag = "8")]
    name: Option<String>,
    #[prost(bytes = "vec", optional, tag = "9")]
    raw_data: Option<Vec<u8>>,
}

/// A value of the graph, of a shape that the runtime infers.
#[derive(Clone, PartialEq, Message)]
struct Value {
    #[prost(string, optional, tag = "1")]
    name: Option<String>,
    #[prost(message, optional, tag = "2")]
    of_type: Option<ValueType>,
}

#[derive(Clone, PartialEq, Message)]
struct ValueType {
    #[prost(message, optional, tag = "1")]
    tensor: Option<TensorType>,
}

#[derive(Clone, PartialEq, Message)]
struct TensorType {
    #[prost(int32, optional, tag = "1")]
    element: Option<i32>,
}

/// Whether a character belongs to text in Latin letters: letters, digits, and the signs between them.
pub(super) fn is_latin(character: &str) -> bool {
    character.chars().all(|c| {
        let is_letter = matches!(c, 'A'..='Z' | 'a'..='z' | '\u{c0}'..='\u{24f}' | '\u{1e00}'..='\u{1eff}');
        let is_sign = c.is_ascii() || matches!(c, '\u{a1}'..='\u{bf}' | '\u{2010}'..='\u{2044}' | '€' | '№');
        is_letter || (is_sign && !c.is_control())
    })
}

/// The recogniser with those characters only that `is_needed`. CTC's blank, the first class, and the space, the last,
/// remain.
pub(super) fn cut(file: &[u8], is_needed: impl Fn(&str) -> bool) -> Result<Vec<u8>> {
    let characters = metadata::value(file, CHARACTERS).context("the recogniser has no alphabet")?;
    let characters: Vec<&str> = characters.split('\n').collect();
    let classes = characters.len() + 2;
    let needed: Vec<usize> = (0..characters.len())
        .filter(|&at| is_needed(characters[at]))
        .collect();
    let kept: Vec<usize> = std::iter::once(0)
        .chain(needed.iter().map(|at| at + 1))
        .chain([classes - 1])
        .collect();
    let mut layers = 0;
    let mut file = edited(file, MODEL_GRAPH, |graph| {
        let graph = edited(graph, GRAPH_INITIALIZER, |tensor| {
            let weights = Weights::decode(tensor).context("reading a tensor")?;
            if weights.dims.last().copied() != i64::try_from(classes).ok() {
                return Ok(Some(tensor.to_vec()));
            }
            layers += 1;
            weights
                .with_columns(&kept, classes)
                .map(|weights| Some(weights.encode_to_vec()))
        })?;
        let graph = edited(&graph, GRAPH_OUTPUT, |value| {
            let mut value = Value::decode(value).context("reading an output")?;
            value.of_type = Some(ValueType {
                tensor: Some(TensorType { element: Some(FLOAT) }),
            });
            Ok(Some(value.encode_to_vec()))
        })?;
        edited(&graph, GRAPH_VALUE_INFO, |_| Ok(None)).map(Some)
    })?;
    ensure!(layers == 2, "{layers} tensors have a column for each character");
    file = edited(&file, MODEL_METADATA, |entry| {
        Ok((metadata::key(entry)? != CHARACTERS).then(|| entry.to_vec()))
    })?;
    let characters: Vec<&str> = needed.into_iter().map(|at| characters[at]).collect();
    metadata::append(&mut file, CHARACTERS, &characters.join("\n"));
    Ok(file)
}

impl Weights {
    /// The columns that are kept of a matrix, or of a row.
    fn with_columns(mut self, kept: &[usize], columns: usize) -> Result<Self> {
        ensure!(self.data_type() == FLOAT, "{} has no floats", self.name());
        let (values, _) = self.raw_data().as_chunks::<4>();
        ensure!(
            !values.is_empty() && values.len().is_multiple_of(columns),
            "{} has {} values",
            self.name(),
            values.len()
        );
        let left: Vec<u8> = values
            .chunks_exact(columns)
            .flat_map(|row| kept.iter().flat_map(move |&column| row[column]))
            .collect();
        if let Some(last) = self.dims.last_mut() {
            *last = i64::try_from(kept.len())?;
        }
        self.raw_data = Some(left);
        Ok(self)
    }
}

/// A message whose fields of one number are replaced by what `edit` makes of them, or left out. They must have a length
/// of their own (strings, bytes and messages). Other fields stay as they are.
fn edited(
    message: &[u8],
    number: u32,
    mut edit: impl FnMut(&[u8]) -> Result<Option<Vec<u8>>>,
) -> Result<Vec<u8>> {
    let mut rest = message;
    let mut out = Vec::with_capacity(message.len());
    while rest.has_remaining() {
        let field = rest;
        let (tag, wire_type) = decode_key(&mut rest)?;
        let length = match wire_type {
            WireType::Varint => {
                decode_varint(&mut rest)?;
                0
            }
            WireType::ThirtyTwoBit => 4,
            WireType::SixtyFourBit => 8,
            _ => usize::try_from(decode_varint(&mut rest)?)?,
        };
        let content = rest.get(..length).context("a field is cut off")?;
        rest = &rest[length..];
        if tag != number || wire_type != WireType::LengthDelimited {
            out.extend_from_slice(&field[..field.len() - rest.len()]);
        } else if let Some(content) = edit(content)? {
            encode_key(number, wire_type, &mut out);
            encode_varint(content.len() as u64, &mut out);
            out.extend(content);
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::super::onnx::Graph;
    use super::*;

    /// A recogniser of `a`, `b` and `漢` with two steps of features.
    fn recogniser(characters: &str) -> Vec<u8> {
        let mut graph = Graph::new("test");
        let input = graph.input(&[2]);
        let weights = graph.floats(&[2, 5], &[0.0, 1.0, 2.0, 3.0, 4.0, 10.0, 11.0, 12.0, 13.0, 14.0]);
        let bias = graph.floats(&[5], &[0.5, 1.5, 2.5, 3.5, 4.5]);
        let product = graph.node("MatMul", &[&input, &weights], &[]);
        let sum = graph.node("Add", &[&product, &bias], &[]);
        graph.output(&sum);
        let mut file = graph.finish();
        metadata::append(&mut file, "other", "x");
        metadata::append(&mut file, CHARACTERS, characters);
        file
    }

    /// The values of the tensors, in the file's order.
    fn tensors(file: &[u8]) -> Vec<(Vec<i64>, Vec<f32>)> {
        let mut found = Vec::new();
        edited(file, MODEL_GRAPH, |graph| {
            edited(graph, GRAPH_INITIALIZER, |tensor| {
                let weights = Weights::decode(tensor)?;
                let (values, _) = weights.raw_data().as_chunks::<4>();
                let values = values.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
                found.push((weights.dims.clone(), values));
                Ok(None)
            })
            .map(Some)
        })
        .unwrap();
        found
    }

    #[test]
    fn only_needed_characters_remain_with_the_blank_and_the_space() {
        let cut = cut(&recogniser("a\n漢\nb"), |c| c.is_ascii()).unwrap();
        assert_eq!(
            tensors(&cut),
            [
                (vec![2, 4], vec![0.0, 1.0, 3.0, 4.0, 10.0, 11.0, 13.0, 14.0]),
                (vec![4], vec![0.5, 1.5, 3.5, 4.5]),
            ]
        );
        assert_eq!(metadata::value(&cut, CHARACTERS).as_deref(), Some("a\nb"));
        assert_eq!(metadata::value(&cut, "other").as_deref(), Some("x"));
    }

    #[test]
    fn an_alphabet_that_does_not_fit_is_an_error() {
        assert!(cut(&recogniser("a\nb"), |_| true).is_err());
        let mut file = recogniser("a\n漢\nb");
        file.truncate(file.len() - 3);
        assert!(cut(&file, |_| true).is_err());
    }
}
