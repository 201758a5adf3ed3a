//! What is asked of a screening. Reads nothing and weighs nothing.

use crate::currency::Currency;
use crate::trace::Options;

/// What is screened.
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
    /// What is screened.
    pub subject: Subject<'a>,
    /// The labels of which time (milliseconds since 1970).
    pub at: i64,
    /// Up to which block; `None`: the source's newest. With `at`, it repeats an old decision.
    pub as_of_block: Option<u64>,
    /// Without a block: the newest at `at`, instead of the newest of all.
    pub as_of_time: bool,
    /// How far the trace goes. Its `up_to` is set from `as_of_block`.
    pub options: Options,
    /// At most so many histories are read to find the address's cluster.
    pub cluster_budget: usize,
}

impl<'a> Request<'a> {
    /// A request with the defaults, about now.
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
