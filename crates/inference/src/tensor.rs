//! The inputs and outputs of models.

/// A dense tensor as a model's input, borrowed from the caller.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    /// Length of each dimension, outermost first; see [`crate::ModelName`] for each model's input.
    pub shape: &'a [usize],
    /// Values in row-major order. Their number is the product of the shape.
    pub data: &'a [f32],
}

/// A dense tensor from a model's output.
#[derive(Debug, Clone, PartialEq)]
pub struct Tensor {
    /// Length of each dimension, outermost first.
    pub shape: Vec<usize>,
    /// Values in row-major order.
    pub data: Vec<f32>,
}
