//! `bonafide score`: screens crypto addresses and transactions without a server, and runs vectors of the scoring engine.

use std::path::PathBuf;

use anyhow::Context;
use chain::currency::Currency;
use chain::labels::{Label, LabelIndex, Labels};
use chain::picture::Picture;
use chain::profile::Profile;
use chain::query::{Query, QueryError};
use chain::score::Request;
use chain::source::SourceError;
use chain::vectors;
use clap::Args;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::engines::{Source, answer};
use super::{Unusable, held, say};
use crate::app::chain_sources::{Answered, ChainConfig, ChainSources};
use crate::app::lists::{Lists, PastWallets, Wallets};
use crate::app::monitoring::{answer_body, status};
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
    /// Answer although no sanctions list is there: no score says anything about sanctions then.
    #[arg(long)]
    without_lists: bool,
    /// Up to which block, for repeating an old decision.
    #[arg(long)]
    as_of_block: Option<u64>,
    /// By the labels and the newest block of an earlier day: an instant (`2026-01-31T12:00:00Z`) or a day, whose beginning is meant.
    #[arg(long, value_name = "TIME", value_parser = instant)]
    at: Option<i64>,
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

/// Nothing may be called clean then.
const NO_LISTS: &str =
    "sanctions lists are not available: import one with `bonafide lists import`, or use --without-lists";
/// What to do where a running server holds a graph.
const HELD: &str = "ask the server that holds it, by its API or in the portal under \"Screen a wallet\", where an old \
                    decision's page makes it again (\"Make this decision again\"); or stop the server first";
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
        let asked: Option<Currency> = self.currency.as_deref().and_then(|code| code.parse().ok());
        let chains = asked.as_ref().map_or(&Currency::ALL[..], std::slice::from_ref);
        let sources = ChainSources::open(&self.data.data, &self.chains, runtime.handle().clone(), chains)
            .map_err(|error| held(error, HELD))?;
        let common = self.data.label_store(None)?.load()?;
        let past = self.at.map(|_| PastWallets::open(&self.data)).transpose()?;
        let (listed, unlisted) = match Lists::open(&self.data)?.all_wallets(past) {
            Ok(listed) => (Some(listed), None),
            Err(reason) => {
                eprintln!("bonafide: no sanctions list counts: {reason}");
                (None, Some(NO_LISTS))
            }
        };
        let unlisted = unlisted.filter(|_| !self.without_lists);
        let labels = Known { listed, common };
        let profile = Profile::built_in();
        let svg = self.svg.as_deref();
        let one = |line: &str| -> String {
            let answered = parsed(line).and_then(|query| {
                if let Some(message) = unlisted {
                    return Err((503, message.to_owned()));
                }
                let mut request = Request::new(query.currency, query.subject());
                request.as_of_block = self.as_of_block;
                request.as_of_time = self.at.is_some();
                request.at = self.at.unwrap_or(request.at);
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

/// The lists' wallets and the common label sets.
struct Known {
    listed: Option<Wallets>,
    common: LabelIndex,
}

impl Labels for Known {
    fn labels(&self, chain: Currency, address: &str, at: i64) -> Vec<Label> {
        let mut said = self.common.labels(chain, address, at);
        if let Some(listed) = &self.listed {
            said.extend(listed.labels(chain, address, at));
        }
        chain::labels::together(said)
    }

    fn version(&self) -> String {
        let listed = self.listed.as_ref().map_or("", |listed| &listed.versions);
        format!("{listed};{}", self.common.version())
    }
}

/// Milliseconds since 1970 of an instant or a day.
fn instant(text: &str) -> Result<i64, String> {
    chain::labels::time(text).map_err(|_| "neither YYYY-MM-DD nor ISO 8601".to_owned())
}

type Failed = (u16, String);

fn parsed(line: &str) -> Result<Query, Failed> {
    // serde_json's texts and the names of keys may hold what was pasted by mistake: neither is repeated.
    let line: Map<String, Value> =
        serde_json::from_str(line).map_err(|_| (400, "the line is no JSON object".to_owned()))?;
    if line.keys().any(|name| !MEMBERS.contains(&name.as_str())) {
        return Err((400, format!("a key is none of {}", MEMBERS.join(", "))));
    }
    Query::parse(&line, &Currency::ALL).map_err(|error| match error {
        QueryError::Invalid(faults) => (400, faults.join("; ")),
        unsupported @ QueryError::UnsupportedCurrency { .. } => (400, unsupported.to_string()),
    })
}

fn failed(error: SourceError) -> Failed {
    (status(&error), error.to_string())
}

fn draw(
    svg: Option<&std::path::Path>,
    query: &Query,
    answered: &Answered,
    profile: &Profile,
) -> Result<(), Failed> {
    let Some(file) = svg else { return Ok(()) };
    let Some(screen) = answered.own() else {
        let why =
            "the score is a vendor's, who does not say which way the money went: there is nothing to draw";
        return Err((500, why.to_owned()));
    };
    let picture = Picture::of(&query.text, screen, profile);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pasted_key_is_not_repeated() {
        let key = "5HueCGU8rMjxEXxiPuD5BDku4MkFqeZyd4dZ1jvhTVqvbTLvyTJ";
        for line in [
            json!(key),
            json!({key: 1}),
            json!({"type": "address", "currency": key, "query": "x"}),
            json!({"type": "address", "currency": "btc", "query": key}),
            json!({"type": "address", "currency": "btc", "query": format!(" {key}")}),
        ] {
            let (status, message) = parsed(&line.to_string()).unwrap_err();
            assert_eq!(status, 400);
            assert!(!message.contains(&key[..12]), "{message}");
        }
    }
}
