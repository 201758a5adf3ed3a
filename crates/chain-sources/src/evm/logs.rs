//! Finds token transfers of an account with `eth_getLogs`. The search goes backwards from the newest block,
//! in ranges as wide as the node accepts and in batches as large as it answers quickly.
//!
//! Nodes refuse searches that are too wide, too large or too slow with different codes and texts. Only the
//! refusal counts, never its reason. Blocks that were not searched are never reported as searched:
//! [`LogSearchResult::unseen_to`] states where a search ended early.

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

/// Ranges in the first batch, and in the largest one. A range is two calls, and nodes accept a thousand.
const BATCH: (usize, usize) = (25, 500);
/// Each request may use one part of the remaining budget, divided by this number. If a request is too much
/// for the node, enough of the budget remains for a smaller one.
const PARTS: u32 = 3;

/// The first and the last block of a range.
type Range = (u64, u64);

/// The result of a search of logs.
pub(super) struct LogSearchResult {
    /// Transactions that moved tokens of the account.
    pub(super) places: Places,
    /// The newest block that was not searched; `None` when all blocks were searched.
    pub(super) unseen_to: Option<u64>,
    /// Whether the node searches the whole chain in one call, or so much of it that one call is worth trying.
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
    /// The topic filters of transfers from the account, and of transfers to it.
    topics: [Value; 2],
    places: Places,
}

/// The largest search that a node accepts.
struct Measured {
    width: u64,
    /// Whether this width is the widest that was tried.
    widest: bool,
    /// The time that the answer took.
    took: Duration,
}

/// Searches until all blocks are searched, more than `limit` transactions are found, or the node or the
/// budget allows no more. With `at_once` it first tries the whole chain in one call. A batch that is answered
/// within `quick` is followed by one twice as large.
pub(super) fn search(
    rpc: &Rpc,
    calls: &Calls<'_>,
    digits: &str,
    newest: u64,
    limit: usize,
    at_once: bool,
    quick: Duration,
) -> LogSearchResult {
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
    LogSearchResult {
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

    /// Searches ranges in one batch; returns the ranges that the node refused.
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

    /// The largest number of blocks that the node searches at once. One batch tries all widths that are
    /// common limits. If that is too much or too slow, the narrower half of the widths is tried.
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

    /// Searches ranges that the node accepts, from the newest to the oldest. Returns the ranges that were not
    /// searched, and whether the node accepts the widest range.
    fn in_ranges(&mut self, newest: u64, limit: usize, quick: Duration) -> (Vec<Range>, bool) {
        // The newest range is last.
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
                        // The node may be limiting requests, so the batches are small until it answers again.
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
                // The whole batch was too much or too slow, not one of its ranges.
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

/// Splits a range in two, with the newer part last; a single block stays as it is.
fn halves((from, to): Range) -> impl Iterator<Item = Range> {
    let middle = from + (to - from) / 2;
    [(from, middle), (middle.saturating_add(1), to)]
        .into_iter()
        .take(if from == to { 1 } else { 2 })
}

/// Takes up to `size` ranges out of `waiting`, from the newest to the oldest, none wider than `width`.
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
