//! How a server starts its engine workers, and what it knows about them.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use inference::own::{ModelKind, Selection};

/// How workers are started.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The program, which knows the command `engine-worker`.
    pub program: PathBuf,
    /// The folder of the models, if it is not the usual one.
    pub models: Option<PathBuf>,
    /// The custom models that must be in use. For a kind that is not named, any model or none may be in use.
    pub required: Selection,
    /// Processor time for decoding one file, in whole seconds.
    pub decoding: Duration,
    /// Keep at most this many workers.
    pub most: usize,
    /// Work even if a required wall is missing.
    pub weak_sandbox: bool,
    /// Start the first worker when the first file needs one.
    pub on_demand: bool,
}

/// The engines as a server knows them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Engines {
    /// The version of the model that embeds faces.
    pub face_model: String,
    /// The versions of all models by name; see [`inference::Models::versions`].
    pub models: BTreeMap<String, String>,
    /// Every wall that is not up around the workers, as `NAME: REASON`.
    pub missing_walls: Vec<String>,
}

impl Engines {
    /// The custom models among them, with their versions.
    pub(crate) fn own(&self) -> BTreeMap<String, String> {
        let own = |kind: ModelKind| self.models.get_key_value(kind.as_str());
        ModelKind::ALL
            .into_iter()
            .filter_map(own)
            .map(|(kind, version)| (kind.clone(), version.clone()))
            .collect()
    }
}
