//! Where tokens left or reached an account, by `eth_getLogs`: searched backwards from the newest block, in ranges as wide as the
//! node takes and batches as large as it answers quickly.
//!
//! Nodes refuse what is too wide, too much or too slow by codes and words of their own: only that they refuse is believed, not
//! why. Never claims to have seen what it has not: whatever ends a search early is told by [`Logged::unseen_to`].

use std::time::{Duration, Instant};

use chain::source::SourceError;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use super::places::Places;
use super::quantity::{number, quantity};
use super::transaction::TRANSFER;
use crate::ondemand::Calls;
use crate::rpc::{Rpc, RpcError};

/// Ranges in the first batch, and in the largest: each is two calls, and nodes take a thousand.
const BATCH: (usize, usize) = (25, 500);
/// Each request may use one of so many parts of what is left: after one that is too much for the node, a smaller one may do.
const PARTS: u32 = 3;

/// Blocks from the first to the last.
type Range = (u64, u64);

/// What a search of logs found.
pub(super) struct Logged {
    /// Transactions that moved tokens of the account.
    pub(super) places: Places,
    /// The newest block that was not searched; `None`: all were.
    pub(super) unseen_to: Option<u64>,
    /// Whether the node searches the whole chain in one call, or so much that it is worth trying.
    pub(super) at_once: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FoundLog {
    transaction_hash: String,
    block_number: String,
    transaction_index: String,
    topics: Vec<String>,
}

struct Search<'a> {
    rpc: &'a Rpc,
    calls: &'a Calls<'a>,
    /// Of transfers from the account, and of those to it.
    topics: [Value; 2],
    places: Places,
}

/// How the blocks that a node searches at once were measured.
struct Measured {
    width: u64,
    /// No wider one was tried.
    widest: bool,
    /// How long the answer took.
    took: Duration,
}

/// Searches until everything is searched, more than `limit` transactions are found, or node or budget give no more: the whole
/// chain `at_once`, unless that is refused. Batches that are answered within `quick` are followed by ones twice as large.
pub(super) fn search(
    rpc: &Rpc,
    calls: &Calls<'_>,
    digits: &str,
    newest: u64,
    limit: usize,
    at_once: bool,
    quick: Duration,
) -> Logged {
    let topic = format!("0x{digits:0>64}");
    let mut search = Search {
        rpc,
        calls,
        topics: [json!([TRANSFER, topic]), json!([TRANSFER, null, topic])],
        places: Places::new(),
    };
    let (waiting, at_once) = if at_once && search.ask(&[(0, newest)]).is_ok_and(|refused| refused.is_empty())
    {
        (Vec::new(), true)
    } else {
        search.in_ranges(newest, limit, quick)
    };
    Logged {
        places: search.places,
        unseen_to: waiting.iter().map(|(_, to)| *to).max(),
        at_once,
    }
}

impl Search<'_> {
    fn call(&self, (from, to): Range, topics: &Value) -> (&'static str, Value) {
        let filter = json!({"fromBlock": quantity(from), "toBlock": quantity(to), "topics": topics});
        ("eth_getLogs", json!([filter]))
    }

    /// Asks for ranges in one batch; answers which of them the node refused.
    fn ask(&mut self, ranges: &[Range]) -> Result<Vec<Range>, RpcError> {
        let both = |range: &Range| self.topics.each_ref().map(|topics| self.call(*range, topics));
        let asked: Vec<(&str, Value)> = ranges.iter().flat_map(both).collect();
        let answers = self
            .calls
            .with_part(PARTS, |calls| self.rpc.each::<Vec<FoundLog>>(calls, &asked))?;
        let mut refused = Vec::new();
        for (range, answer) in ranges.iter().flat_map(|range| [range; 2]).zip(answers) {
            match answer {
                Ok(logs) => self.keep(logs)?,
                Err(RpcError::Fault(_)) if refused.last() == Some(range) => {}
                Err(RpcError::Fault(_)) => refused.push(*range),
                Err(error) => return Err(error),
            }
        }
        Ok(refused)
    }

    fn keep(&mut self, logs: Vec<FoundLog>) -> Result<(), SourceError> {
        for log in logs.into_iter().filter(|log| log.topics.len() == 3) {
            let place = (number(&log.block_number)?, number(&log.transaction_index)?);
            self.places.insert(place, log.transaction_hash);
        }
        Ok(())
    }

    /// How many blocks the node searches at once at most: of the widths that limits have, tried all in one batch; where that is
    /// too much or too slow, the narrower half of them.
    fn measured(&self, newest: u64) -> Option<Measured> {
        let decades = std::iter::successors(Some(1u64), |decade| decade.checked_mul(10));
        let widths = decades.flat_map(|decade| [1, 2, 5].map(|digit| decade.saturating_mul(digit)));
        let mut widths: Vec<u64> = widths.take_while(|width| *width <= newest).collect();
        widths.reverse();
        let widest = widths.first().copied();
        let [_, received] = &self.topics;
        while !widths.is_empty() {
            let latest = |width: &u64| self.call((newest - (width - 1), newest), received);
            let asked: Vec<(&str, Value)> = widths.iter().map(latest).collect();
            let began = Instant::now();
            let answers = self
                .calls
                .with_part(PARTS, |calls| self.rpc.each::<IgnoredAny>(calls, &asked));
            if let Ok(answers) = answers {
                let (width, _) = widths
                    .into_iter()
                    .zip(answers)
                    .find(|(_, answer)| answer.is_ok())?;
                return Some(Measured {
                    width,
                    widest: Some(width) == widest,
                    took: began.elapsed(),
                });
            }
            widths.drain(..widths.len().div_ceil(2));
        }
        None
    }

    /// Searches the ranges that a node takes, the newest first; answers which were left, and whether it takes the widest.
    fn in_ranges(&mut self, newest: u64, limit: usize, quick: Duration) -> (Vec<Range>, bool) {
        // The newest last.
        let mut waiting = vec![(0, newest)];
        let Some(Measured { width, widest, took }) = self.measured(newest) else {
            return (waiting, false);
        };
        let (mut size, mut largest) = BATCH;
        if took >= quick {
            size = 1;
        }
        while !waiting.is_empty() && self.places.len() <= limit {
            let ranges = taken(&mut waiting, width, size);
            let began = Instant::now();
            match self.ask(&ranges) {
                Ok(refused) => {
                    if refused.len() == ranges.len() {
                        // Perhaps it has had enough: it is asked for little until it answers again.
                        size = 1;
                    } else if began.elapsed() < quick {
                        size = (size * 2).min(largest);
                    }
                    let hopeless = refused.iter().any(|(from, to)| from == to);
                    waiting.extend(refused.into_iter().rev().flat_map(halves));
                    if hopeless {
                        break;
                    }
                }
                // The batch was too much or too slow, not one of its ranges.
                Err(_) if size > 1 => {
                    waiting.extend(ranges.into_iter().rev());
                    largest = size / 2;
                    size = largest;
                }
                Err(_) => {
                    waiting.extend(ranges);
                    break;
                }
            }
        }
        (waiting, widest)
    }
}

/// A range in two, the newer last; a single block as it is.
fn halves((from, to): Range) -> impl Iterator<Item = Range> {
    let middle = from + (to - from) / 2;
    [(from, middle), (middle.saturating_add(1), to)]
        .into_iter()
        .take(if from == to { 1 } else { 2 })
}

/// Takes at most so many ranges from those waiting, the newest first, none wider than `width`.
fn taken(waiting: &mut Vec<Range>, width: u64, size: usize) -> Vec<Range> {
    let mut ranges = Vec::new();
    while ranges.len() < size
        && let Some((from, to)) = waiting.pop()
    {
        let first = to.saturating_sub(width - 1).max(from);
        if first > from {
            waiting.push((from, first - 1));
        }
        ranges.push((first, to));
    }
    ranges
}
