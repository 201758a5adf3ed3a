//! The errors that all commands share. It prints nothing and chooses no exit status.

use chain_sources::graph::GraphError;

/// Arguments that parse but cannot be used. The exit status is 2.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Unusable(pub(crate) String);

/// Adds to an error the alternative to use while another process, such as a server, has a chain's graph open.
pub(crate) fn explain_graph_in_use(error: anyhow::Error, instead: &str) -> anyhow::Error {
    match error.downcast_ref() {
        Some(GraphError::Locked) => anyhow::anyhow!("{error:#}: {instead}"),
        _ => error,
    }
}
