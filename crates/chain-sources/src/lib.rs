//! Histories of chains and scores of vendors: blocks and transactions from nodes, indexes on demand, the embedded graph
//! of a whole chain, and vendors' HTTP services. All of them answer in the shapes of [`chain::source`].
//!
//! Never judges: labels, tracing and the score are the crate `chain`'s. Never opens a connection either: requests go
//! through the trait [`ondemand::Transport`], which the server implements. What nodes, indexes and vendors answer is
//! checked before it is used.

pub mod evm;
pub mod graph;
pub mod ingest;
pub mod ondemand;
pub mod rpc;
pub mod upstream;
