//! Why the engines did not answer. A faulty file is not such an error.

use thiserror::Error;

use crate::answers::Stage;

/// Why a file has no answer. None of these is a fault of the file.
#[derive(Debug, Error)]
pub enum EngineError {
    /// No worker can be started, or the models cannot be used.
    #[error("the engines cannot be used: {0}")]
    Unavailable(String),
    /// The worker was killed from outside, or did not answer in time.
    #[error("an engine worker ended before it answered")]
    Lost,
    /// A model did not run.
    #[error("an engine failed at the stage `{}`", .0.as_str())]
    Failed(Stage),
    /// The caller has gone, so the work was stopped.
    #[error("the caller has gone")]
    Abandoned,
}
