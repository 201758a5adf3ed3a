//! `bonafide score`: screens crypto addresses and transactions without a server, and runs vectors of the scoring engine.

use std::path::PathBuf;

use anyhow::Context;
use chain::currency::Currency;
use chain::labels::Together;
use chain::picture::Picture;
use chain::profile::Profile;
use chain::query::{Query, QueryError};
use chain::score::{Request, Screen};
use chain::source::SourceError;
use chain::vectors;
use clap::Args;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::engines::{Source, answer};
use super::{Unusable, say};
use crate::app::chain_sources::{ChainConfig, ChainSources};
use crate::app::lists::wallet_labels;
use crate::app::monitoring::answer_body;
use crate::config::DataConfig;

/// `bonafide score`.
#[derive(Args)]
pub(crate) struct Score {
    /// The chain's code, such as btc.
    #[arg(requires = "query")]
    currency: Option<String>,
    /// An address, or a transaction hash with `--transaction`.
    query: Option<String>,
    /// The query is a transaction hash.
    #[arg(long)]
    transaction: bool,
    /// `simple` or `detailed`.
    #[arg(long, default_value = "detailed")]
    report: String,
    /// Up to which block, for repeating an old decision.
    #[arg(long)]
    as_of_block: Option<u64>,
    /// Draw the flow of money into this file.
    #[arg(long, requires = "query")]
    svg: Option<PathBuf>,
    /// Run a file of vectors instead: a small chain with labels, `cases` or `score_only`.
    #[arg(long, conflicts_with_all = ["currency", "batch"])]
    fixture: Option<PathBuf>,
    #[command(flatten)]
    source: Source,
    #[command(flatten)]
    data: DataConfig,
    #[command(flatten)]
    chains: ChainConfig,
}

/// Members of a line; others are errors.
const MEMBERS: [&str; 5] = ["type", "currency", "query", "report", "label"];

impl Score {
    pub(super) fn run(self) -> anyhow::Result<()> {
        if let Some(file) = &self.fixture {
            return run_vectors(file);
        }
        let _ = rustls::crypto::ring::default_provider().install_default();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()?;
        let sources = ChainSources::open(&self.data.data, &self.chains, runtime.handle().clone())?;
        let common = self.data.label_store(None)?.load()?;
        let listed = self
            .data
            .list_store()?
            .load()
            .map(|screener| wallet_labels(&screener));
        let listed = listed.unwrap_or_else(|reason| {
            eprintln!("bonafide: no sanctions list counts: {reason}");
            chain::labels::LabelIndex::new([])
        });
        let labels = Together(vec![&listed, &common]);
        let profile = Profile::built_in();
        let svg = self.svg.as_deref();
        let one = |line: &str| -> String {
            let answered = parsed(line).and_then(|query| {
                let mut request = Request::new(query.currency, query.subject());
                request.as_of_block = self.as_of_block;
                let screen = sources.screen(&labels, &profile, &request).map_err(failed)?;
                draw(svg, &query, &screen, &profile)?;
                Ok(answer_body(Uuid::now_v7(), &query, &screen))
            });
            answered
                .unwrap_or_else(|(status, message)| json!({"error": {"status": status, "message": message}}))
                .to_string()
        };
        let given = self.query.as_ref().map(|query| {
            let kind = if self.transaction {
                "transaction"
            } else {
                "address"
            };
            json!({"type": kind, "currency": self.currency, "query": query, "report": self.report})
                .to_string()
        });
        answer(
            self.source.batch,
            given.into_iter().collect(),
            "name a chain and a query, or use --batch or --fixture",
            one,
        )
    }
}

type Failed = (u16, String);

fn parsed(line: &str) -> Result<Query, Failed> {
    let line: Map<String, Value> =
        serde_json::from_str(line).map_err(|error| (400, format!("the line is no JSON object: {error}")))?;
    if let Some(name) = line.keys().find(|name| !MEMBERS.contains(&name.as_str())) {
        return Err((400, format!("{name} - no such key")));
    }
    Query::parse(&line, &Currency::ALL).map_err(|error| match error {
        QueryError::Invalid(faults) => (400, faults.join("; ")),
        unsupported @ QueryError::UnsupportedCurrency { .. } => (400, unsupported.to_string()),
    })
}

fn failed(error: SourceError) -> Failed {
    let status = match error {
        SourceError::NotFound => 404,
        SourceError::TimedOut | SourceError::Budget => 504,
        SourceError::Nonsense(_) => 502,
        SourceError::Unreachable(_) | SourceError::Unsupported(_) => 503,
    };
    (status, error.to_string())
}

fn draw(
    svg: Option<&std::path::Path>,
    query: &Query,
    screen: &Screen,
    profile: &Profile,
) -> Result<(), Failed> {
    let Some(file) = svg else { return Ok(()) };
    let picture = Picture::of(&query.text, &screen.traces, profile);
    std::fs::write(file, picture.svg()).map_err(|error| (500, format!("{}: {error}", file.display())))
}

fn run_vectors(file: &std::path::Path) -> anyhow::Result<()> {
    for outcome in outcomes(file)? {
        let line = match outcome.found {
            Ok(Value::Object(found)) => {
                let mut line = Map::from_iter([("name".to_owned(), Value::from(outcome.name))]);
                line.extend(found);
                Value::Object(line)
            }
            Ok(found) => found,
            Err(error) => {
                json!({"name": outcome.name, "error": {"status": 400, "message": error.to_string()}})
            }
        };
        say(&line.to_string())?;
    }
    Ok(())
}

/// The outcomes of a file of vectors.
pub(super) fn outcomes(file: &std::path::Path) -> anyhow::Result<Vec<vectors::Outcome>> {
    let text = std::fs::read_to_string(file).with_context(|| format!("{} cannot be read", file.display()))?;
    let value =
        serde_json::from_str(&text).map_err(|error| Unusable(format!("{}: {error}", file.display())))?;
    Ok(vectors::run(&value, &Profile::built_in()).map_err(|error| Unusable(error.to_string()))?)
}
