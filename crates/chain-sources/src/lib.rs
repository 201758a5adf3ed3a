//! Histories of chains and scores of vendors. The sources are nodes, indexes queried on demand, the embedded
//! graph of a whole chain, and vendors' HTTP services. All of them return the types of [`chain::source`].
//!
//! This crate never judges: labels, tracing and the score belong to the crate `chain`. Only [`transport`] and
//! [`tls`] open a connection; all other modules use the trait [`ondemand::Transport`]. Responses of nodes,
//! indexes and vendors are checked before they are used.

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
