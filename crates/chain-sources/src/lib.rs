//! Histories of chains and scores of vendors: blocks and transactions from nodes, indexes on demand, the embedded graph
//! of a whole chain, and vendors' HTTP services. All of them answer in the shapes of [`chain::source`].
//!
//! Never judges: labels, tracing and the score are the crate `chain`'s. Only [`transport`] and [`tls`] open a connection;
//! everything else goes through the trait [`ondemand::Transport`]. What nodes, indexes and vendors answer is checked before
//! it is used.

mod base64;
pub mod evm;
pub mod follow;
pub mod graph;
pub mod ingest;
mod lines;
pub mod nodes;
pub mod ondemand;
pub mod rpc;
pub mod sources;
pub mod tls;
pub mod transport;
pub mod upstream;
