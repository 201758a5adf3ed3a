//! The request for a screening. This module reads nothing and calculates nothing.

use crate::currency::Currency;
use crate::trace::Options;

/// The subject of a screening.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject<'a> {
    /// An address in canonical form (KYA).
    Address(&'a str),
    /// A transaction's id in canonical form (KYT).
    Transaction(&'a str),
}

/// A request for a screening.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// The chain.
    pub chain: Currency,
    /// The subject of the screening.
    pub subject: Subject<'a>,
    /// The time of the labels (milliseconds since 1970).
    pub at: i64,
    /// The last block; `None` for the source's newest one. Together with `at` it repeats an old decision.
    pub as_of_block: Option<u64>,
    /// Without `as_of_block`: whether the last block is the newest at `at`, instead of the newest of all.
    pub as_of_time: bool,
    /// The limits of the trace. Its `up_to` is derived from `as_of_block`.
    pub options: Options,
    /// The largest number of histories that are read to find the address's cluster.
    pub cluster_budget: usize,
}

impl<'a> Request<'a> {
    /// A request about the present, with the defaults.
    pub fn new(chain: Currency, subject: Subject<'a>) -> Request<'a> {
        Request {
            chain,
            subject,
            at: jiff::Timestamp::now().as_millisecond(),
            as_of_block: None,
            as_of_time: false,
            options: Options::default(),
            cluster_budget: 4,
        }
    }
}
