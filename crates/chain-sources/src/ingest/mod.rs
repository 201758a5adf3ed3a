//! Reads blocks and transactions in the formats in which nodes store and send them, for the graph and the
//! indexes.
//!
//! Hostile input causes an error, never a panic. No count in a file is used before the bytes for it are known
//! to exist.

pub mod blk;
pub mod block;
pub mod load;
pub mod node;
#[cfg(test)]
mod tests;
