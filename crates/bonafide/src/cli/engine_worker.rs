//! `bonafide engine-worker`: the child process that decodes and reads uploaded files (`engine_process::worker`).

use std::path::PathBuf;

use clap::Args;
use engine_process::worker::{self, Options};
use inference::own::Selection;

/// `bonafide engine-worker`. Its environment is empty, so nothing here is read from it.
#[derive(Args)]
pub(crate) struct EngineWorker {
    /// The model folder.
    #[arg(long)]
    models: Option<PathBuf>,
    /// The custom model for presentation attack detection.
    #[arg(long)]
    pad: Option<String>,
    /// The custom embedder.
    #[arg(long)]
    embedder: Option<String>,
    /// Work even if a required wall is missing.
    #[arg(long)]
    weak_sandbox: bool,
    /// Load the models while other workers have the processor first.
    #[arg(long)]
    load_aside: bool,
    /// Only build the walls, report them, and end.
    #[arg(long)]
    check_walls: bool,
}

pub(super) fn run(command: EngineWorker) -> anyhow::Result<()> {
    if command.check_walls {
        worker::check_walls()?;
    } else {
        worker::run(&Options {
            models: command.models,
            selection: Selection {
                pad: command.pad,
                embedder: command.embedder,
            },
            weak_sandbox: command.weak_sandbox,
            load_aside: command.load_aside,
        })?;
    }
    Ok(())
}
