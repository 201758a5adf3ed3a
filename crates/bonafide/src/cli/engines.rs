//! The engines on the command line: files as arguments, or with `--batch` NDJSON on stdin, with one output
//! object for each input, in order.
//!
//! The engines' own `answer_line` functions do the work; this module only passes the lines.

use std::io::{BufRead, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use clap::Args;
use faces::FaceEngine;
use inference::Models;
use inference::own::Selection;
use sanctions::Profile;
use serde_json::json;
use service::config::{DataConfig, ServeConfig};

use super::errors::Unusable;
use super::output::print_line;
use super::screen_file;

/// The longest line of a batch, in bytes.
const MAX_LINE: u64 = 16 * 1024 * 1024;

#[derive(Args)]
pub(super) struct Source {
    /// Read NDJSON from stdin instead of naming files.
    #[arg(long)]
    pub(super) batch: bool,
}

/// The location of the models.
#[derive(Args)]
pub(super) struct ModelsArg {
    /// The model folder; by default `models` next to the program, then `./models`.
    #[arg(long, env = "BONAFIDE_MODELS")]
    models: Option<PathBuf>,
}

impl ModelsArg {
    pub(super) fn open(&self) -> anyhow::Result<Arc<Models>> {
        Ok(Arc::new(open_models(self.models.as_deref())?))
    }

    /// The face engine, after the golden tests of a custom model in use.
    pub(super) fn faces(&self) -> anyhow::Result<FaceEngine> {
        let engine = FaceEngine::new(self.open()?);
        engine.check_own_models()?;
        Ok(engine)
    }

    pub(super) fn folder(&self) -> Option<PathBuf> {
        self.models.clone()
    }

    /// The folder, wherever it was found.
    pub(super) fn dir(&self) -> anyhow::Result<PathBuf> {
        models_dir(self.models.as_deref())
    }
}

/// The custom models that a server's settings require.
pub(super) fn required_models(config: &ServeConfig) -> Selection {
    Selection {
        pad: config.pad.clone(),
        embedder: config.embedder.clone(),
    }
}

fn models_dir(configured: Option<&Path>) -> anyhow::Result<PathBuf> {
    inference::find_models_dir(configured).context(
        "no model folder found in BONAFIDE_MODELS, next to the program or at ./models; `make models` downloads the models",
    )
}

/// Opens the models in this process, for an operator's own files. The error states where the program searched
/// for them.
pub(super) fn open_models(configured: Option<&Path>) -> anyhow::Result<Models> {
    Models::open(&models_dir(configured)?, 1).context("the models cannot be used")
}

/// Processes the lines of stdin (`batch`) or the given lines.
pub(super) fn answer(
    batch: bool,
    given: Vec<String>,
    usage: &str,
    mut engine: impl FnMut(&str) -> String,
) -> anyhow::Result<()> {
    if batch != given.is_empty() {
        return Err(Unusable(usage.to_owned()).into());
    }
    if !batch {
        return given.iter().try_for_each(|line| print_line(&engine(line)));
    }
    let mut input = std::io::stdin().lock();
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let mut line = Vec::new();
    loop {
        line.clear();
        if (&mut input).take(MAX_LINE).read_until(b'\n', &mut line)? == 0 {
            return Ok(out.flush()?);
        }
        if line.len() as u64 == MAX_LINE && line.last() != Some(&b'\n') {
            input.skip_until(b'\n')?;
            writeln!(
                out,
                "{}",
                json!({"error": {"code": "bad-line", "message": "the line is longer than 16 MiB"}})
            )?;
            out.flush()?;
            continue;
        }
        let text = String::from_utf8_lossy(&line);
        if text.trim().is_empty() {
            continue;
        }
        writeln!(out, "{}", engine(text.trim()))?;
        // A caller may wait for each result before it writes the next line.
        out.flush()?;
    }
}

fn file_lines(files: &[PathBuf]) -> Vec<String> {
    files
        .iter()
        .map(|file| json!({"file": file}).to_string())
        .collect()
}

/// `bonafide read-document`.
#[derive(Args)]
pub(crate) struct ReadDocument {
    /// Pictures of documents: JPEG, PNG, WebP, BMP or PDF.
    files: Vec<PathBuf>,
    /// Look for signs of fraud: a photographed screen, a copy without colour, print that contradicts the data, a wrong
    /// number, an image editor, parts that were put in later.
    #[arg(long)]
    fraud_signs: bool,
    #[command(flatten)]
    source: Source,
    #[command(flatten)]
    models: ModelsArg,
}

impl ReadDocument {
    pub(super) fn run(self) -> anyhow::Result<()> {
        let engine = documents::DocumentEngine::new(self.models.open()?)?;
        answer(
            self.source.batch,
            file_lines(&self.files),
            "name files, or use --batch",
            |line| documents::answer_line(&engine, line, self.fraud_signs),
        )
    }
}

/// `bonafide detect-faces`.
#[derive(Args)]
pub(crate) struct DetectFaces {
    files: Vec<PathBuf>,
    #[command(flatten)]
    source: Source,
    #[command(flatten)]
    models: ModelsArg,
}

impl DetectFaces {
    pub(super) fn run(self) -> anyhow::Result<()> {
        let engine = self.models.faces()?;
        answer(
            self.source.batch,
            file_lines(&self.files),
            "name files, or use --batch",
            |line| faces::detect_faces_line(&engine, line),
        )
    }
}

/// `bonafide compare-faces`.
#[derive(Args)]
pub(crate) struct CompareFaces {
    /// The two files to compare.
    #[arg(num_args = 0..=2)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    source: Source,
    #[command(flatten)]
    models: ModelsArg,
}

impl CompareFaces {
    pub(super) fn run(self) -> anyhow::Result<()> {
        let given = match self.files.as_slice() {
            [a, b] => vec![json!({"a": a, "b": b}).to_string()],
            [] => Vec::new(),
            _ => return Err(Unusable("name two files".into()).into()),
        };
        let engine = self.models.faces()?;
        answer(
            self.source.batch,
            given,
            "name two files, or use --batch",
            |line| faces::compare_faces_line(&engine, line),
        )
    }
}

/// `bonafide check-liveness`.
#[derive(Args)]
pub(crate) struct CheckLiveness {
    files: Vec<PathBuf>,
    #[command(flatten)]
    source: Source,
    #[command(flatten)]
    models: ModelsArg,
}

impl CheckLiveness {
    pub(super) fn run(self) -> anyhow::Result<()> {
        let engine = self.models.faces()?;
        answer(
            self.source.batch,
            file_lines(&self.files),
            "name files, or use --batch",
            |line| faces::check_liveness_line(&engine, line),
        )
    }
}

/// `bonafide parse-aamva`.
#[derive(Args)]
pub(crate) struct ParseAamva {
    files: Vec<PathBuf>,
    #[command(flatten)]
    source: Source,
}

impl ParseAamva {
    pub(super) fn run(self) -> anyhow::Result<()> {
        answer(
            self.source.batch,
            file_lines(&self.files),
            "name files, or use --batch",
            documents::aamva::answer_line,
        )
    }
}

/// A threshold between 0 and 1. A percentage would find nothing.
pub(super) fn threshold(text: &str) -> Result<f64, String> {
    let number = text
        .parse::<f64>()
        .ok()
        .filter(|number| (0.0..=1.0).contains(number));
    number.ok_or_else(|| "must be a number from 0 to 1, such as 0.7".to_owned())
}

/// A profile that says which entries are hits.
pub(super) fn profile(text: &str) -> Result<Profile, String> {
    Profile::parse(text)
        .ok_or_else(|| format!("must be one of {}", Profile::ALL.map(Profile::as_str).join(", ")))
}

/// `bonafide screen`.
#[derive(Args)]
pub(crate) struct Screen {
    /// A name to screen.
    #[arg(long)]
    name: Option<String>,
    /// Date of birth, `YYYY-MM-DD`.
    #[arg(long, requires = "name")]
    dob: Option<String>,
    /// Country, ISO 3166-1 alpha-2 or alpha-3.
    #[arg(long, requires = "name")]
    country: Option<String>,
    /// Lowest score of a hit, 0-1.
    #[arg(long, value_parser = threshold)]
    threshold: Option<f64>,
    /// Which entries are hits: standard, strict (also what only a date of birth, country, gender or common name excuses)
    /// or ofac (also what OFAC's search would show).
    #[arg(long, value_parser = profile, default_value = "standard", conflicts_with = "pairs")]
    profile: Profile,
    /// Score pairs of entities instead of searching the lists.
    #[arg(long)]
    pairs: bool,
    /// Read a CSV file of customers instead of NDJSON, and print a table with one row for each.
    #[arg(long, requires = "batch", conflicts_with = "pairs")]
    csv: bool,
    /// The CSV file; by default it is read from stdin.
    #[arg(requires = "csv")]
    file: Option<PathBuf>,
    /// Write a report for people to read to this file, as HTML. It contains personal data.
    #[arg(long, requires = "csv")]
    report: Option<PathBuf>,
    #[command(flatten)]
    source: Source,
    #[command(flatten)]
    data: DataConfig,
}

impl Screen {
    pub(super) fn run(self) -> anyhow::Result<()> {
        if self.pairs {
            return answer(true, Vec::new(), "", sanctions::answer_pair_line);
        }
        let given: Vec<String> = self
            .name
            .iter()
            .map(|name| {
                let mut query = serde_json::Map::from_iter([("name".to_owned(), json!(name))]);
                query.extend(self.dob.iter().map(|dob| ("dob".to_owned(), json!(dob))));
                query.extend(
                    self.country
                        .iter()
                        .map(|country| ("country".to_owned(), json!(country))),
                );
                serde_json::Value::Object(query).to_string()
            })
            .collect();
        let screener = self.data.list_store()?.load()?;
        let mut options = sanctions::ScreenOptions {
            profile: self.profile,
            ..sanctions::ScreenOptions::default()
        };
        options.threshold = self.threshold.unwrap_or(options.threshold);
        if self.csv {
            return self.screen_file(&screener, options);
        }
        answer(self.source.batch, given, "give --name, or use --batch", |line| {
            sanctions::answer_line(&screener, &options, line)
        })
    }
}

impl Screen {
    fn screen_file(
        &self,
        screener: &sanctions::Screener,
        options: sanctions::ScreenOptions,
    ) -> anyhow::Result<()> {
        let lists = self.data.list_store()?.status()?;
        let name = self.file.as_ref().map(|file| file.display().to_string());
        let request = screen_file::Request {
            name: name.unwrap_or_else(|| "Customers".to_owned()),
            report: self.report.clone(),
            options,
        };
        let table = std::io::BufWriter::new(std::io::stdout().lock());
        match &self.file {
            None => screen_file::run(screener, &lists, std::io::stdin().lock(), table, request),
            Some(path) => {
                let file = std::fs::File::open(path);
                let file = file.with_context(|| format!("{} cannot be read", path.display()))?;
                screen_file::run(screener, &lists, std::io::BufReader::new(file), table, request)
            }
        }
    }
}

/// `bonafide check-address`.
#[derive(Args)]
pub(crate) struct CheckAddress {
    /// The chain's code, such as btc.
    #[arg(requires = "values")]
    chain: Option<String>,
    /// Addresses, or transaction hashes with `--transaction`.
    values: Vec<String>,
    /// The values are transaction hashes.
    #[arg(long)]
    transaction: bool,
    #[command(flatten)]
    source: Source,
}

impl CheckAddress {
    pub(super) fn run(self) -> anyhow::Result<()> {
        let kind = if self.transaction {
            "transaction"
        } else {
            "address"
        };
        let line = |value| json!({"chain": self.chain, "value": value, "kind": kind}).to_string();
        answer(
            self.source.batch,
            self.values.iter().map(line).collect(),
            "name a chain and values, or use --batch",
            chain::batch::answer_line,
        )
    }
}
