//! Numbers that go into a model and come out of it.

/// A dense tensor handed to a model, borrowed from the caller.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    /// Length of each dimension, outermost first; see [`crate::ModelName`] for what each model takes.
    pub shape: &'a [usize],
    /// Values in row-major order; as many as the shape's product.
    pub data: &'a [f32],
}

/// A dense tensor that a model answered.
#[derive(Debug, Clone, PartialEq)]
pub struct Tensor {
    /// Length of each dimension, outermost first.
    pub shape: Vec<usize>,
    /// Values in row-major order.
    pub data: Vec<f32>,
}
