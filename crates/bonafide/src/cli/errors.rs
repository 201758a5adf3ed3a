//! The errors that every command shares. It prints nothing and chooses no exit status.

use chain_sources::graph::GraphError;

/// Arguments that parse but cannot be used: exit status 2.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Unusable(pub(crate) String);

/// Says what to do instead where another process, a running server above all, holds a chain's graph.
pub(crate) fn held(error: anyhow::Error, instead: &str) -> anyhow::Error {
    match error.downcast_ref() {
        Some(GraphError::Held) => anyhow::anyhow!("{error:#}: {instead}"),
        _ => error,
    }
}
