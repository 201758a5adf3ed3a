//! Blocks and transactions as nodes store and send them, read into the shapes of [`chain::source`].
//!
//! Hostile input gives an error, never a panic; no count in a file is believed before the bytes for it are there.

pub mod blk;
pub mod block;
pub mod load;
pub mod node;
#[cfg(test)]
mod tests;
