//! A small chain in a JSON file, which evaluates the engine on vectors: transactions, labels and expected
//! results.
//!
//! ```json
//! {"txs": {"t": {"in": [["c", 0]], "out": [["A", 10]]}, "c": {"in": [], "out": [["M", 10]], "coinbase": true}},
//!  "labels": {"M": {"name": "MixCo", "category": "mixer"}}, "received": [["t", 0]], "options": {"eps": "1/1000"}}
//! ```
//!
//! Parties and ids may be any names. Amounts are whole numbers, as strings beyond 2^64. Account chains have
//! `"transfers": [["from", "to", 5]]` instead of `in` and `out`. Transactions are ordered by `height`, then
//! by their position in the file. Unknown members are ignored.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::amount::Amount;
use crate::category::Category;
use crate::currency::Currency;
use crate::labels::{Label, Labels};
use crate::profile::Fraction;
use crate::source::{
    History, Input, Movement, Output, Party, Position, Source, SourceError, Tip, Transaction, Transfer, TxId,
    Window,
};
use crate::trace::{Coin, Direction, Options, Seeds, Start, Trace, trace};

/// Why a fixture is not valid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FixtureError {
    /// A member has the wrong shape.
    #[error("{0} - {1}")]
    Member(String, String),
    /// An input, or the received list, names an output that does not exist.
    #[error("{0} - names output {2} of transaction {1}, which the fixture does not hold")]
    Dangling(String, String, u32),
}

fn member(name: impl Into<String>) -> impl FnOnce(serde_json::Error) -> FixtureError {
    let name = name.into();
    move |error| FixtureError::Member(name, error.to_string())
}

/// A chain in memory, with its labels.
#[derive(Debug, Default)]
pub struct Fixture {
    transactions: FxHashMap<TxId, Arc<Transaction>>,
    by_party: FxHashMap<Party, Vec<Arc<Transaction>>>,
    spends: FxHashMap<(TxId, u32), TxId>,
    labels: FxHashMap<String, Label>,
    tip: u64,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum RawAmount {
    Number(u64),
    Text(String),
}

impl RawAmount {
    fn read(&self, name: &str) -> Result<Amount, FixtureError> {
        match self {
            RawAmount::Number(units) => Ok(Amount::from(*units)),
            RawAmount::Text(text) => Amount::from_units(text)
                .map_err(|error| FixtureError::Member(name.to_owned(), error.to_string())),
        }
    }
}

/// Sender, recipient, amount.
#[derive(Deserialize)]
struct RawTransfer(Option<String>, Option<String>, RawAmount);

#[derive(Deserialize)]
struct RawTransaction {
    #[serde(default)]
    r#in: Vec<(String, u32)>,
    #[serde(default)]
    out: Vec<(Option<String>, RawAmount)>,
    transfers: Option<Vec<RawTransfer>>,
    height: Option<u64>,
    /// Seconds since 1970.
    time: Option<i64>,
    fee: Option<RawAmount>,
    #[serde(rename = "feePayer")]
    fee_payer: Option<String>,
}

#[derive(Deserialize)]
struct RawLabel {
    name: String,
    category: Category,
    #[serde(default = "certain")]
    confidence: u8,
    #[serde(default)]
    authority: bool,
}

fn certain() -> u8 {
    100
}

impl Fixture {
    /// Reads the members `txs` and `labels`.
    ///
    /// # Errors
    /// What is wrong, with the name of the member.
    pub fn from_json(fixture: &Value) -> Result<Fixture, FixtureError> {
        let none = Map::new();
        let raw = match fixture.get("txs") {
            None => &none,
            Some(Value::Object(raw)) => raw,
            Some(_) => {
                return Err(FixtureError::Member(
                    "txs".to_owned(),
                    "must be an object".to_owned(),
                ));
            }
        };
        let mut read: Vec<(TxId, RawTransaction)> = Vec::with_capacity(raw.len());
        for (id, value) in raw {
            let transaction = RawTransaction::deserialize(value).map_err(member(format!("txs.{id}")))?;
            read.push((id.as_str().into(), transaction));
        }
        let mut outputs: FxHashMap<TxId, Vec<Output>> = FxHashMap::default();
        for (id, raw) in &read {
            let made = raw
                .out
                .iter()
                .map(|(party, amount)| {
                    let amount = amount.read(&format!("txs.{id}.out"))?;
                    Ok(Output {
                        party: party.as_deref().map(Into::into),
                        amount,
                    })
                })
                .collect::<Result<Vec<Output>, FixtureError>>()?;
            outputs.insert(id.clone(), made);
        }
        let mut chain = Fixture::default();
        for (place, (id, raw)) in read.iter().enumerate() {
            let transaction = build(id, raw, place, &outputs)?;
            chain.add(transaction);
        }
        for transactions in chain.by_party.values_mut() {
            transactions.sort_by(|a, b| a.order().cmp(&b.order()));
        }
        if let Some(labels) = fixture.get("labels") {
            let labels = BTreeMap::<String, RawLabel>::deserialize(labels).map_err(member("labels"))?;
            for (party, raw) in labels {
                let label = Label {
                    name: raw.name,
                    category: raw.category,
                    source: "fixture".to_owned(),
                    confidence: raw.confidence,
                    valid_from: None,
                    valid_to: None,
                    authority: raw.authority,
                };
                chain.labels.insert(party, label);
            }
        }
        Ok(chain)
    }

    /// Adds a transaction. It must come after all earlier ones.
    pub fn add(&mut self, transaction: Transaction) {
        let transaction = Arc::new(transaction);
        self.tip = self
            .tip
            .max(transaction.position.map_or(0, |position| position.height));
        if let Movement::Outputs { inputs, .. } = &transaction.movement {
            for input in inputs {
                self.spends
                    .insert((input.transaction.clone(), input.output), transaction.id.clone());
            }
        }
        for party in transaction.parties() {
            self.by_party.entry(party).or_default().push(transaction.clone());
        }
        self.transactions.insert(transaction.id.clone(), transaction);
    }

    /// The owner and the amount of an output.
    fn holder(&self, id: &str, output: u32) -> Option<(Option<Party>, Amount)> {
        match &self.transactions.get(id)?.movement {
            Movement::Outputs { outputs, .. } => outputs
                .get(output as usize)
                .map(|output| (output.party.clone(), output.amount.clone())),
            Movement::Transfers(transfers) => transfers
                .get(output as usize)
                .map(|transfer| (transfer.to.clone(), transfer.amount.clone())),
        }
    }

    /// Traces the money of the member `received`, with the member `options`.
    ///
    /// # Errors
    /// When `received` or `options` have the wrong shape.
    pub fn trace(&self, fixture: &Value) -> Result<Trace, FixtureError> {
        let options = options(fixture.get("options"))?;
        let received: Vec<(String, u32)> = fixture
            .get("received")
            .map_or(Ok(Vec::new()), Vec::deserialize)
            .map_err(member("received"))?;
        let mut own = FxHashSet::default();
        let mut money = Vec::new();
        for (id, output) in received {
            let Some((party, amount)) = self.holder(&id, output) else {
                return Err(FixtureError::Dangling("received".to_owned(), id, output));
            };
            own.extend(party);
            money.push((id, output, amount));
        }
        let starts = money
            .into_iter()
            .map(|(id, output, amount)| (self.start(&id, output), amount.units()));
        let seeds = Seeds::of(starts);
        let attribute = |party: &str| {
            self.labels.get(party).map(|label| crate::trace::Attribution {
                name: label.name.clone(),
                category: label.category,
                confidence: label.confidence,
            })
        };
        trace(self, &attribute, &own, Direction::Incoming, seeds, &options)
            .map_err(|error| FixtureError::Member("txs".to_owned(), error.to_string()))
    }

    fn start(&self, id: &str, number: u32) -> Start {
        let transaction = self.transactions.get(id);
        if let Some(Movement::Transfers(transfers)) = transaction.map(|transaction| &transaction.movement) {
            let party = transfers
                .get(number as usize)
                .and_then(|transfer| transfer.from.clone());
            let next = party.is_some().then(|| Coin::Payment(id.into(), number));
            return Start::Step(crate::trace::Step {
                transaction: id.into(),
                party,
                next,
            });
        }
        Start::Coin(Coin::Output(id.into(), number))
    }
}

fn build(
    id: &TxId,
    raw: &RawTransaction,
    place: usize,
    outputs: &FxHashMap<TxId, Vec<Output>>,
) -> Result<Transaction, FixtureError> {
    let mut transaction = match &raw.transfers {
        Some(transfers) => {
            let transfers = transfers
                .iter()
                .map(|RawTransfer(from, to, amount)| {
                    Ok(Transfer {
                        from: from.as_deref().map(Into::into),
                        to: to.as_deref().map(Into::into),
                        amount: amount.read(&format!("txs.{id}.transfers"))?,
                        asset: None,
                    })
                })
                .collect::<Result<Vec<Transfer>, FixtureError>>()?;
            Transaction::of_transfers(id.clone(), transfers)
        }
        None => {
            let inputs = raw
                .r#in
                .iter()
                .map(|(before, output)| {
                    let spent = outputs
                        .get(before.as_str())
                        .and_then(|made| made.get(*output as usize))
                        .ok_or_else(|| {
                            FixtureError::Dangling(format!("txs.{id}.in"), before.clone(), *output)
                        })?;
                    Ok(Input {
                        transaction: before.as_str().into(),
                        output: *output,
                        party: spent.party.clone(),
                        amount: spent.amount.clone(),
                    })
                })
                .collect::<Result<Vec<Input>, FixtureError>>()?;
            Transaction::of_outputs(id.clone(), inputs, outputs.get(id).cloned().unwrap_or_default())
        }
    };
    let place = place as u64;
    transaction.position = Some(Position {
        height: raw.height.unwrap_or(place),
        index: u32::try_from(place).unwrap_or(u32::MAX - 1),
    });
    transaction.time = raw.time.map(|seconds| seconds.saturating_mul(1000));
    if let Some(fee) = &raw.fee {
        transaction.fee = Some(fee.read(&format!("txs.{id}.fee"))?);
    }
    transaction.fee_payer = raw.fee_payer.as_deref().map(Into::into);
    Ok(transaction)
}

/// Reads a vector's options. Heuristics are off by default, because a vector states what is known.
fn options(raw: Option<&Value>) -> Result<Options, FixtureError> {
    let mut options = Options {
        heuristics: false,
        ..Options::default()
    };
    let Some(raw) = raw else { return Ok(options) };
    let Value::Object(raw) = raw else {
        return Err(FixtureError::Member(
            "options".to_owned(),
            "must be an object".to_owned(),
        ));
    };
    for (name, value) in raw {
        let wrong = |why: &str| FixtureError::Member(format!("options.{name}"), why.to_owned());
        let text = || match value {
            Value::String(text) => Ok(text.clone()),
            Value::Number(number) => Ok(number.to_string()),
            _ => Err(wrong("must be a number or a text")),
        };
        let whole = || {
            text()?
                .parse::<u32>()
                .map_err(|_| wrong("must be a whole number"))
        };
        match name.as_str() {
            "eps" | "epsilon" => {
                let fraction: Fraction = text()?
                    .parse()
                    .map_err(|_| wrong("must be a fraction such as 1/1000"))?;
                options.epsilon = fraction.0;
            }
            "max_hops" | "maxHops" | "hops" => options.max_hops = whole()?,
            "max_nodes" | "maxNodes" | "budget" | "node_budget" | "max_expansions" => {
                options.max_nodes = whole()? as usize;
            }
            "method" => {
                options.method = text()?
                    .parse()
                    .map_err(|error: crate::pool::UnknownMethod| wrong(&error.to_string()))?;
            }
            "heuristics" => {
                options.heuristics = value.as_bool().ok_or_else(|| wrong("must be true or false"))?;
            }
            _ => return Err(wrong("no such option")),
        }
    }
    Ok(options)
}

/// Whether a position is within a window.
fn within(position: Option<Position>, window: &Window) -> bool {
    match (position, window.up_to) {
        (_, None) => true,
        (Some(position), Some(up_to)) => position <= up_to,
        (None, Some(_)) => false,
    }
}

impl Source for Fixture {
    fn name(&self) -> &str {
        "fixture"
    }

    fn tip(&self) -> Result<Tip, SourceError> {
        Ok(Tip {
            height: self.tip,
            hash: String::new(),
            time: None,
        })
    }

    fn height_at(&self, time: i64) -> Result<u64, SourceError> {
        let made = self
            .transactions
            .values()
            .filter(|made| made.time.is_some_and(|made| made <= time));
        made.filter_map(|made| made.position.map(|at| at.height))
            .max()
            .ok_or(SourceError::NotFound)
    }

    fn history(&self, party: &str, window: Window) -> Result<History, SourceError> {
        let all = self.by_party.get(party).map_or(&[][..], Vec::as_slice);
        let wanted: Vec<_> = all
            .iter()
            .filter(|transaction| within(transaction.position, &window))
            .cloned()
            .collect();
        let skipped = wanted.len().saturating_sub(window.limit);
        let transactions = wanted.into_iter().skip(skipped).collect();
        Ok(History {
            transactions,
            complete: skipped == 0,
            totals: None,
            tokens_unseen_to: None,
        })
    }

    fn transaction(&self, id: &str) -> Result<Arc<Transaction>, SourceError> {
        self.transactions.get(id).cloned().ok_or(SourceError::NotFound)
    }

    fn spends(&self, id: &str) -> Result<Vec<Option<TxId>>, SourceError> {
        let transaction = self.transaction(id)?;
        let Movement::Outputs { outputs, .. } = &transaction.movement else {
            return Err(SourceError::Unsupported("accounts have no outputs"));
        };
        let spender = |number: u32| self.spends.get(&(transaction.id.clone(), number)).cloned();
        Ok((0u32..).take(outputs.len()).map(spender).collect())
    }
}

impl Labels for Fixture {
    fn labels(&self, _chain: Currency, address: &str, at: i64) -> Vec<Label> {
        self.labels
            .get(address)
            .filter(|label| label.is_valid_at(at))
            .cloned()
            .into_iter()
            .collect()
    }

    fn version(&self) -> String {
        "fixture".to_owned()
    }
}
