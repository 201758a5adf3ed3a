//! ONNX Runtime, loaded once per process from the library in the models' folder.

use std::{
    path::Path,
    sync::{Mutex, OnceLock, PoisonError},
};

use ort::{
    environment::Environment,
    ep::CPU,
    session::{Session, builder::GraphOptimizationLevel},
};

use crate::ModelError;

/// The process's only environment. The runtime allows no second one, so the first library to load remains in
/// use.
static ENVIRONMENT: OnceLock<Environment> = OnceLock::new();
static LOADING: Mutex<()> = Mutex::new(());

/// The process's environment. The first call loads `library`.
pub(crate) fn environment(library: &Path) -> Result<&'static Environment, ModelError> {
    let _one_at_a_time = LOADING.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(environment) = ENVIRONMENT.get() {
        return Ok(environment);
    }
    let failed = |reason: String| ModelError::Runtime {
        path: library.to_path_buf(),
        reason,
    };
    let environment = ort::init_from(library)
        .map_err(|error| failed(error.to_string()))?
        .with_name("bonafide")
        .with_telemetry(false)
        .build()
        .map_err(|error| failed(error.to_string()))?;
    Ok(ENVIRONMENT.get_or_init(|| environment))
}

/// Opens a session for a model's file that runs on `threads` threads.
pub(crate) fn session(environment: &Environment, model: &Path, threads: usize) -> Result<Session, String> {
    let build = || -> Result<Session, ort::Error> {
        Session::builder(environment)?
            .with_optimization_level(GraphOptimizationLevel::Level3)?
            .with_intra_threads(threads)?
            .with_inter_threads(1)?
            // A waiting thread that spins would occupy a core that other threads need.
            .with_intra_op_spinning(false)?
            // The runtime stores planned memory for each input shape, and text has many widths.
            .with_memory_pattern(false)?
            // The arena never returns memory, and a worker that retains too much is replaced.
            .with_execution_providers([CPU::default().with_arena_allocator(false).build()])?
            .commit_from_file(model)
    };
    build().map_err(|error| error.to_string())
}
