//! Writes ONNX files. It encodes the parts of the format that the models need as protocol buffers.
//!
//! It checks nothing. The runtime checks the result when it loads it, and the goldens check the values.

/// An attribute of a node.
pub(crate) enum Attribute<'a> {
    Int(i64),
    Float(f32),
    Ints(&'a [i64]),
    Text(&'a str),
}

/// A graph under construction. Values have names, and each operator gets a new name for its output.
pub(crate) struct Graph {
    body: Message,
    values: usize,
}

impl Graph {
    pub(crate) fn new(name: &str) -> Self {
        let mut body = Message::default();
        body.text(2, name);
        Self { body, values: 0 }
    }

    /// The graph's input: a batch of any size of float tensors of this shape.
    pub(crate) fn input(&mut self, shape: &[usize]) -> String {
        let mut dimensions = Message::default();
        dimensions.message(1, |batch| batch.text(2, "N"));
        for &length in shape {
            dimensions.message(1, |dimension| dimension.int(1, length as i64));
        }
        self.value_info(11, "input", Some(dimensions))
    }

    /// Makes a value an output. Outputs are in the order of these calls.
    pub(crate) fn output(&mut self, value: &str) {
        self.value_info(12, value, None);
    }

    /// A constant float tensor.
    pub(crate) fn floats(&mut self, dimensions: &[usize], values: &[f32]) -> String {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.constant(dimensions, 1, &bytes)
    }

    /// A constant list of integers.
    pub(crate) fn integers(&mut self, values: &[i64]) -> String {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.constant(&[values.len()], 7, &bytes)
    }

    /// An operator with one output, whose name is returned.
    pub(crate) fn node(
        &mut self,
        operator: &str,
        inputs: &[&str],
        attributes: &[(&str, Attribute<'_>)],
    ) -> String {
        let output = self.fresh_name();
        self.body.message(1, |node| {
            for input in inputs {
                node.text(1, input);
            }
            node.text(2, &output);
            node.text(4, operator);
            for (name, value) in attributes {
                node.message(5, |attribute| {
                    attribute.text(1, name);
                    match value {
                        Attribute::Int(int) => {
                            attribute.int(3, *int);
                            attribute.int(20, 2);
                        }
                        Attribute::Float(float) => {
                            attribute.float(2, *float);
                            attribute.int(20, 1);
                        }
                        Attribute::Text(text) => {
                            attribute.text(4, text);
                            attribute.int(20, 3);
                        }
                        Attribute::Ints(ints) => {
                            ints.iter().for_each(|&int| attribute.int(8, int));
                            attribute.int(20, 7);
                        }
                    }
                });
            }
        });
        output
    }

    /// A ReLU with a slope per channel on its negative side. `PRelu` itself has no kernel for the layout that the
    /// runtime uses for convolutions, so it is slow and requires every tensor to be reordered twice. Two depthwise
    /// convolutions compute the same: `x + (1 − slope) · relu(−x)`.
    pub(crate) fn parametric_relu(&mut self, value: &str, slopes: &[f32]) -> String {
        let shape = [slopes.len(), 1, 1, 1];
        let per_channel = [("group", Attribute::Int(slopes.len() as i64))];
        let minus = self.floats(&shape, &vec![-1.0; slopes.len()]);
        let rest: Vec<f32> = slopes.iter().map(|slope| 1.0 - slope).collect();
        let rest = self.floats(&shape, &rest);
        let negative = self.node("Conv", &[value, &minus], &per_channel);
        let negative = self.node("Relu", &[&negative], &[]);
        let correction = self.node("Conv", &[&negative, &rest], &per_channel);
        self.node("Add", &[&correction, value], &[])
    }

    /// The whole file: IR version 8, operator set 13.
    pub(crate) fn finish(self) -> Vec<u8> {
        let mut model = Message::default();
        model.int(1, 8);
        model.text(2, "bonafide");
        model.message(8, |operators| operators.int(2, 13));
        model.bytes(7, &self.body.0);
        model.0
    }

    fn constant(&mut self, dimensions: &[usize], data_type: i64, bytes: &[u8]) -> String {
        let name = self.fresh_name();
        self.body.message(5, |tensor| {
            dimensions.iter().for_each(|&length| tensor.int(1, length as i64));
            tensor.int(2, data_type);
            tensor.text(8, &name);
            tensor.bytes(9, bytes);
        });
        name
    }

    fn value_info(&mut self, field: u32, name: &str, shape: Option<Message>) -> String {
        self.body.message(field, |info| {
            info.text(1, name);
            info.message(2, |of_type| {
                of_type.message(1, |tensor| {
                    tensor.int(1, 1);
                    if let Some(shape) = shape {
                        tensor.bytes(2, &shape.0);
                    }
                });
            });
        });
        name.to_owned()
    }

    fn fresh_name(&mut self) -> String {
        self.values += 1;
        format!("v{}", self.values)
    }
}

/// A protocol-buffers message under construction, to which fields are appended.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn int(&mut self, field: u32, value: i64) {
        self.varint(u64::from(field) << 3);
        self.varint(value as u64);
    }

    fn float(&mut self, field: u32, value: f32) {
        self.varint(u64::from(field) << 3 | 5);
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    fn bytes(&mut self, field: u32, bytes: &[u8]) {
        self.varint(u64::from(field) << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    fn text(&mut self, field: u32, text: &str) {
        self.bytes(field, text.as_bytes());
    }

    fn message(&mut self, field: u32, write: impl FnOnce(&mut Self)) {
        let mut inner = Self::default();
        write(&mut inner);
        self.bytes(field, &inner.0);
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints_are_little_endian_groups_of_seven_bits() {
        for (value, expected) in [
            (0, vec![0]),
            (1, vec![1]),
            (127, vec![127]),
            (128, vec![128, 1]),
            (300, vec![172, 2]),
        ] {
            let mut message = Message::default();
            message.varint(value);
            assert_eq!(message.0, expected, "{value}");
        }
    }

    #[test]
    fn a_field_is_its_key_its_length_and_its_bytes() {
        let mut message = Message::default();
        message.message(5, |inner| inner.text(1, "ab"));
        assert_eq!(message.0, [0x2a, 4, 0x0a, 2, b'a', b'b']);
    }
}
