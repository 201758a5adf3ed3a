//! `bonafide score`: screens crypto addresses and transactions without a server, and runs test vectors of the
//! scoring engine.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use anyhow::Context;
use chain::currency::Currency;
use chain::labels::{Label, LabelIndex, Labels};
use chain::picture::Picture;
use chain::profile::Profile;
use chain::query::{Query, QueryError};
use chain::sandbox;
use chain::score::Request;
use chain::source::SourceError;
use chain::vectors;
use chain_sources::sources::{ChainAnswer, ChainConfig, ChainSources};
use clap::Args;
use serde_json::{Map, Value, json};
use service::config::DataConfig;
use service::lists::{Lists, PastWallets, Wallets};
use service::monitoring::{answer_body, status};
use uuid::Uuid;

use super::engines::{Source, answer};
use super::errors::{Unusable, explain_graph_in_use};
use super::output::{note, print_line};

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
    /// The report: `simple` or `detailed`.
    #[arg(long, default_value = "detailed")]
    report: String,
    /// Score without a sanctions list. The score then does not cover sanctions.
    #[arg(long)]
    without_lists: bool,
    /// The last block to use, to repeat an earlier decision.
    #[arg(long)]
    as_of_block: Option<u64>,
    /// Use the labels and the newest block of an earlier time: an instant (`2026-01-31T12:00:00Z`), or a day
    /// for its beginning.
    #[arg(long, value_name = "TIME", value_parser = instant)]
    at: Option<i64>,
    /// Score as an account's sandbox does: demo addresses have fixed outcomes.
    #[arg(long)]
    sandbox: bool,
    /// Draw the flow of funds into this file.
    #[arg(long, requires = "query")]
    svg: Option<PathBuf>,
    /// Run a file of test vectors instead: a small chain with labels, `cases` or `score_only`.
    #[arg(long, conflicts_with_all = ["currency", "batch"])]
    fixture: Option<PathBuf>,
    #[command(flatten)]
    source: Source,
    #[command(flatten)]
    data: DataConfig,
    #[command(flatten)]
    chains: ChainConfig,
}

/// Without sanctions lists, no address may be reported as clean.
const NO_LISTS: &str =
    "sanctions lists are not available: import one with `bonafide lists import`, or use --without-lists";
/// What to do while a running server has the graph open.
const GRAPH_IN_USE: &str = "a running server has the graph open. Send the request to its API, or use \"Screen a wallet\" \
                    in its portal, where \"Repeat this decision\" repeats an old decision; or stop the server first";
/// The permitted members of an input line. Others are errors.
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
            .map_err(|error| explain_graph_in_use(error, GRAPH_IN_USE))?;
        let common = self.data.label_store(None)?.load()?;
        let past = self.at.map(|_| PastWallets::open(&self.data)).transpose()?;
        let (listed, unlisted) = match Lists::open(&self.data)?.all_wallets(past) {
            Ok(listed) => (Some(listed), None),
            Err(reason) => {
                note!("bonafide: no sanctions list counts: {reason}");
                (None, Some(NO_LISTS))
            }
        };
        let unlisted = unlisted.filter(|_| !self.without_lists);
        let demo = self.sandbox.then(sandbox::labels);
        let mut screener = Screener {
            asked: &self,
            sources,
            labels: LabelSources { listed, common, demo },
            profile: Profile::built_in(),
            unlisted,
            warned: HashSet::new(),
            picture_error: None,
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
            |line| screener.answer(line).to_string(),
        )?;
        // The score was already printed, but the requested picture failed.
        screener.picture_error.map_or(Ok(()), Err)
    }
}

/// Screens input lines.
struct Screener<'a> {
    asked: &'a Score,
    sources: ChainSources,
    labels: LabelSources,
    profile: Profile,
    /// Why no address may be reported as clean.
    unlisted: Option<&'static str>,
    /// Chains for which the warning about missing histories was already printed.
    warned: HashSet<Currency>,
    /// Why the picture could not be drawn.
    picture_error: Option<anyhow::Error>,
}

impl Screener<'_> {
    fn answer(&mut self, line: &str) -> Value {
        let answered = parsed(line).and_then(|query| {
            let answered = self.screen(&query)?;
            Ok((query, answered))
        });
        if let Some(file) = &self.asked.svg {
            let drawn = match &answered {
                Ok((query, answered)) => draw(file, query, answered, &self.profile),
                Err(_) => Err(anyhow::anyhow!("there is no score to draw")),
            };
            let unwritten = || format!("--svg: {} was not written", file.display());
            self.picture_error = drawn.with_context(unwritten).err();
        }
        match answered {
            Ok((query, answered)) => answer_body(Uuid::now_v7(), &query, &answered),
            Err((status, message)) => json!({"error": {"status": status, "message": message}}),
        }
    }

    fn screen(&mut self, query: &Query) -> Result<ChainAnswer, Failed> {
        if let Some(failure) = sandbox::failure(&query.bytes()).filter(|_| self.asked.sandbox) {
            return Err(failed(&failure.into()));
        }
        if let Some(message) = self.unlisted {
            return Err((503, message.to_owned()));
        }
        let mut request = Request::new(query.currency, query.subject());
        request.as_of_block = self.asked.as_of_block;
        request.as_of_time = self.asked.at.is_some();
        request.at = self.asked.at.unwrap_or(request.at);
        let screened = self.sources.screen(&self.labels, &self.profile, &request);
        let known = self.sources.has_source(query.currency);
        match screened {
            Ok(answered) => {
                if let Some(why) = untraced(&answered, query.currency, known)
                    && (known || self.warned.insert(query.currency))
                {
                    note!("bonafide: answered by labels alone, no funds were traced: {why}");
                }
                Ok(answered)
            }
            Err(SourceError::NotFound) if sandbox::is_demo(&query.bytes()) && !self.asked.sandbox => Err((
                404,
                "not known here: a demo address of the sandbox, which --sandbox knows".to_owned(),
            )),
            Err(SourceError::NotFound) if !known => {
                let why = unconnected(query.currency);
                Err((
                    404,
                    format!("not known: only labels were used, and none matches; {why}"),
                ))
            }
            Err(error) => Err(failed(&error)),
        }
    }
}

/// Why no funds were traced; `None` if some were.
fn untraced(answered: &ChainAnswer, currency: Currency, known: bool) -> Option<String> {
    let screen = answered.own().filter(|screen| screen.traces.is_empty())?;
    match &screen.failed {
        _ if !known => Some(unconnected(currency)),
        None | Some(SourceError::NotFound) => Some("the chain's source does not know it".to_owned()),
        Some(failed) => Some(failed.to_string()),
    }
}

/// What to configure so that funds on this chain can be traced.
fn unconnected(currency: Currency) -> String {
    let (name, code) = (currency.name(), currency.code());
    format!(
        "there is no source for the histories of {name}. Add an index (--chain-index {code}=URL), import blocks into a graph \
         (`bonafide chain ingest {code}`) or use a vendor (--upstreams FILE)"
    )
}

/// The lists' wallets, the common label sets, and on request the sandbox's demo addresses.
struct LabelSources {
    listed: Option<Wallets>,
    common: LabelIndex,
    demo: Option<LabelIndex>,
}

impl Labels for LabelSources {
    fn labels(&self, chain: Currency, address: &str, at: i64) -> Vec<Label> {
        let mut said = self.common.labels(chain, address, at);
        if let Some(demo) = &self.demo {
            said.extend(demo.labels(chain, address, at));
        }
        if let Some(listed) = &self.listed {
            said.extend(listed.labels(chain, address, at));
        }
        chain::labels::combine_labels(said)
    }

    fn version(&self) -> String {
        let listed = self.listed.as_ref().map_or("", |listed| &listed.versions);
        format!("{listed};{}", self.common.version())
    }
}

/// Parses an instant or a day into milliseconds since 1970.
fn instant(text: &str) -> Result<i64, String> {
    chain::labels::time(text).map_err(|_| "neither YYYY-MM-DD nor ISO 8601".to_owned())
}

type Failed = (u16, String);

fn parsed(line: &str) -> Result<Query, Failed> {
    // serde_json's messages and the names of members may contain a secret pasted by mistake, so neither is
    // repeated.
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

fn failed(error: &SourceError) -> Failed {
    (status(error), error.to_string())
}

fn draw(file: &Path, query: &Query, answered: &ChainAnswer, profile: &Profile) -> anyhow::Result<()> {
    let screen = answered.own().context(
        "the score is from a vendor that does not report the flow of funds, so there is nothing to draw",
    )?;
    std::fs::write(file, Picture::of(&query.text, screen, profile).svg())?;
    Ok(())
}

fn run_vectors(file: &Path) -> anyhow::Result<()> {
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
        print_line(&line.to_string())?;
    }
    Ok(())
}

/// The outcomes of a file of test vectors.
pub(super) fn outcomes(file: &Path) -> anyhow::Result<Vec<vectors::Outcome>> {
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
