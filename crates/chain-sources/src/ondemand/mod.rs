//! Histories fetched as a trace needs them, from an index or node that somebody runs: the default for a newcomer.
//!
//! HTTP itself is the caller's: this module speaks to a [`Transport`]. What is fetched is cached; a screening has a
//! budget of requests and time, and what it cuts is told in the answer. Addresses go to the configured index only.

mod cache;
mod electrum;
#[cfg(test)]
mod electrum_tests;
mod esplora;
mod solana;
#[cfg(test)]
mod solana_tests;
#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use chain::source::{History, Source, SourceError, Tip, Transaction, TxId, Window};
use serde_json::Value;

use self::cache::Cache;
pub use self::electrum::Electrum;
pub use self::esplora::Esplora;
pub use self::solana::Solana;

/// A request to an index, node or vendor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpRequest {
    /// Where to.
    pub url: String,
    /// Headers, credentials among them: never logged.
    pub headers: Vec<(String, String)>,
    /// A JSON body makes it a POST.
    pub body: Option<String>,
    /// How long to wait for the whole answer.
    pub timeout: Duration,
}

impl HttpRequest {
    /// A GET without headers.
    pub fn get(url: impl Into<String>, timeout: Duration) -> HttpRequest {
        HttpRequest {
            url: url.into(),
            headers: Vec::new(),
            body: None,
            timeout,
        }
    }
}

/// What came back, whatever its status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpResponse {
    /// The status.
    pub status: u16,
    /// The body, at most [`LARGEST_BODY`] bytes.
    pub body: Vec<u8>,
}

/// Larger answers are refused by whoever implements [`Transport`].
pub const LARGEST_BODY: usize = 64 << 20;

/// Why nothing came back. Texts hold no address and no credential.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TransportError {
    /// No connection, or it broke.
    #[error("{0}")]
    Unreachable(String),
    /// Nothing in time.
    #[error("timed out")]
    TimedOut,
    /// More than [`LARGEST_BODY`].
    #[error("the answer is too large")]
    TooLarge,
}

/// Whoever can do HTTP. Calls block.
pub trait Transport: Send + Sync {
    /// Sends a request and waits.
    ///
    /// # Errors
    /// When no whole answer came in time.
    fn send(&self, request: &HttpRequest) -> Result<HttpResponse, TransportError>;
}

/// What one screening may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Requests.
    pub requests: usize,
    /// Time.
    pub time: Duration,
    /// Time for one request.
    pub request_timeout: Duration,
}

impl Default for Budget {
    fn default() -> Budget {
        Budget {
            requests: 300,
            time: Duration::from_secs(20),
            request_timeout: Duration::from_secs(10),
        }
    }
}

/// The requests of one screening.
pub struct Calls<'a> {
    transport: &'a dyn Transport,
    left: AtomicUsize,
    deadline: Instant,
    request_timeout: Duration,
}

/// How often a request is tried.
const ATTEMPTS: usize = 2;

impl<'a> Calls<'a> {
    /// Calls within a budget.
    pub fn new(transport: &'a dyn Transport, budget: Budget) -> Calls<'a> {
        Calls {
            transport,
            left: AtomicUsize::new(budget.requests),
            deadline: Instant::now() + budget.time,
            request_timeout: budget.request_timeout,
        }
    }

    /// Asks with one of so many parts of what is left of the budget, so that what can be done without starves nothing else.
    pub fn with_part<T>(&self, parts: u32, ask: impl FnOnce(&Calls<'_>) -> T) -> T {
        let left = self.left.load(Ordering::Relaxed);
        let part = left / (parts.max(1) as usize);
        let now = Instant::now();
        let calls = Calls {
            transport: self.transport,
            left: AtomicUsize::new(part),
            deadline: now + self.deadline.saturating_duration_since(now) / parts.max(1),
            request_timeout: self.request_timeout,
        };
        let answer = ask(&calls);
        let used = part.saturating_sub(calls.left.into_inner());
        self.left.store(left.saturating_sub(used), Ordering::Relaxed);
        answer
    }

    /// Sends a request; a failed one is tried once more. Answers the body of a 200.
    ///
    /// # Errors
    /// [`SourceError::NotFound`] for 404, [`SourceError::Budget`] when the budget is spent, otherwise what went wrong.
    pub fn send(&self, request: HttpRequest) -> Result<Vec<u8>, SourceError> {
        self.answered(request, &|answer| answer.status == 200)
    }

    /// Sends a request; a failed one is tried once more. Answers the body of what `is_answer` takes, whatever its status.
    ///
    /// # Errors
    /// As [`Calls::send`].
    pub fn answered(
        &self,
        mut request: HttpRequest,
        is_answer: &dyn Fn(&HttpResponse) -> bool,
    ) -> Result<Vec<u8>, SourceError> {
        let mut last = SourceError::Budget;
        for attempt in 0..ATTEMPTS {
            let time = self.deadline.saturating_duration_since(Instant::now());
            let taken = self
                .left
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
            if taken.is_err() || time.is_zero() {
                return Err(if attempt == 0 { SourceError::Budget } else { last });
            }
            request.timeout = self.request_timeout.min(time);
            last = match self.transport.send(&request) {
                Ok(answer) if is_answer(&answer) => return Ok(answer.body),
                Ok(HttpResponse { status: 404, .. }) => return Err(SourceError::NotFound),
                Ok(HttpResponse {
                    status: status @ (429 | 500..),
                    ..
                }) => SourceError::Unreachable(format!("it answered {status}")),
                Ok(HttpResponse { status, .. }) => {
                    return Err(SourceError::Nonsense(format!("it answered {status}")));
                }
                Err(TransportError::Unreachable(why)) => SourceError::Unreachable(why),
                Err(TransportError::TimedOut) if self.deadline <= Instant::now() => {
                    return Err(SourceError::Budget);
                }
                Err(TransportError::TimedOut) => SourceError::TimedOut,
                Err(TransportError::TooLarge) => {
                    return Err(SourceError::Nonsense("the answer is too large".to_owned()));
                }
            };
        }
        Err(last)
    }

    /// Gets JSON.
    ///
    /// # Errors
    /// As [`Calls::send`]; [`SourceError::Nonsense`] for what is no JSON.
    pub fn json(&self, request: HttpRequest) -> Result<Value, SourceError> {
        let body = self.send(request)?;
        serde_json::from_slice(&body).map_err(|_| SourceError::Nonsense("no JSON".to_owned()))
    }

    /// Gets JSON from a URL.
    ///
    /// # Errors
    /// As [`Calls::json`].
    pub fn get(&self, url: String) -> Result<Value, SourceError> {
        self.json(HttpRequest::get(url, self.request_timeout))
    }
}

/// An index or node that can be asked.
pub trait Provider: Send + Sync {
    /// Its name in answers, such as `esplora`.
    fn name(&self) -> &str;

    /// Its newest block.
    ///
    /// # Errors
    /// When it cannot be asked.
    fn tip(&self, calls: &Calls<'_>) -> Result<Tip, SourceError>;

    /// Whether it can list an address's transactions; some nodes know transactions only.
    ///
    /// # Errors
    /// When it cannot be asked.
    fn knows_addresses(&self, _calls: &Calls<'_>) -> Result<bool, SourceError> {
        Ok(true)
    }

    /// The latest `limit` transactions of an address that are in blocks, in order.
    ///
    /// # Errors
    /// When it cannot be asked.
    fn history(&self, calls: &Calls<'_>, party: &str, limit: usize) -> Result<History, SourceError>;

    /// Whether [`Provider::latest`] tells less than [`Provider::history`].
    fn traces_without_tokens(&self) -> bool {
        false
    }

    /// The same as a trace needs it. Where [`Provider::traces_without_tokens`], only transactions that moved the chain's own
    /// money, whatever tokens moved besides.
    ///
    /// # Errors
    /// When it cannot be asked.
    fn latest(&self, calls: &Calls<'_>, party: &str, limit: usize) -> Result<History, SourceError> {
        self.history(calls, party, limit)
    }

    /// A transaction.
    ///
    /// # Errors
    /// When it is not known, or cannot be asked.
    fn transaction(&self, calls: &Calls<'_>, id: &str) -> Result<Transaction, SourceError>;

    /// By which transactions in blocks the outputs of a transaction were spent.
    ///
    /// # Errors
    /// When it is not known, or cannot be asked.
    fn spends(&self, calls: &Calls<'_>, id: &str) -> Result<Vec<Option<TxId>>, SourceError>;
}

/// Whether a transaction belongs to an account's history: it moved something of it, or it paid the fee.
pub(crate) fn concerns(transaction: &Transaction, party: &str) -> bool {
    let parties = transaction.parties();
    parties.iter().any(|other| **other == *party) || transaction.fee_payer.as_deref() == Some(party)
}

/// For how long the newest block is believed to be the newest.
const TIP_AGE: Duration = Duration::from_secs(10);

/// A provider with its cache, for many screenings.
pub struct OnDemand {
    provider: Box<dyn Provider>,
    transport: Arc<dyn Transport>,
    budget: Budget,
    cache: Mutex<Cache>,
}

impl OnDemand {
    /// Asks a provider, by a transport, within a budget for each screening.
    pub fn new(provider: Box<dyn Provider>, transport: Arc<dyn Transport>, budget: Budget) -> OnDemand {
        OnDemand {
            provider,
            transport,
            budget,
            cache: Mutex::default(),
        }
    }

    /// The source of one screening: one budget, one state of the chain.
    ///
    /// # Errors
    /// When the newest block cannot be asked for.
    pub fn screening(&self) -> Result<Screening<'_>, SourceError> {
        let calls = Calls::new(&*self.transport, self.budget);
        let known = self.cache().tip(TIP_AGE);
        let tip = match known {
            Some(tip) => tip,
            None => {
                let tip = self.provider.tip(&calls)?;
                self.cache().set_tip(tip.clone());
                tip
            }
        };
        Ok(Screening {
            on_demand: self,
            calls,
            tip,
        })
    }

    /// Its newest block, and whether it can list an address's transactions: for finding out what is wrong.
    ///
    /// # Errors
    /// When it cannot be asked.
    pub fn check(&self) -> Result<(Tip, bool), SourceError> {
        let calls = Calls::new(&*self.transport, self.budget);
        let tip = self.provider.tip(&calls)?;
        Ok((tip, self.provider.knows_addresses(&calls)?))
    }

    /// Its newest block: known for a few seconds, else asked for.
    ///
    /// # Errors
    /// When it cannot be asked.
    pub fn tip(&self) -> Result<Tip, SourceError> {
        self.screening().map(|screening| screening.tip)
    }

    /// The kind of provider.
    pub fn name(&self) -> &str {
        self.provider.name()
    }

    fn cache(&self) -> std::sync::MutexGuard<'_, Cache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One screening's view of a provider.
pub struct Screening<'a> {
    on_demand: &'a OnDemand,
    calls: Calls<'a>,
    tip: Tip,
}

impl Screening<'_> {
    /// A party's history up to the newest block, from the cache or the provider.
    fn fetched(&self, party: &str, limit: usize, for_trace: bool) -> Result<Arc<History>, SourceError> {
        let (on_demand, calls) = (self.on_demand, &self.calls);
        let without_tokens = for_trace && on_demand.provider.traces_without_tokens();
        let known = on_demand.cache().history(party, &self.tip, limit, without_tokens);
        if let Some(known) = known {
            return Ok(known);
        }
        let history = Arc::new(if without_tokens {
            on_demand.provider.latest(calls, party, limit)?
        } else {
            on_demand.provider.history(calls, party, limit)?
        });
        let mut cache = on_demand.cache();
        for transaction in &history.transactions {
            cache.keep_transaction(transaction.clone(), &self.tip);
        }
        cache.keep_history(party, history.clone(), limit, &self.tip, without_tokens);
        Ok(history)
    }
}

/// The part of a history that is wanted.
fn within(history: &History, window: Window) -> History {
    let is_wanted = |transaction: &&Arc<Transaction>| {
        window
            .up_to
            .is_none_or(|up_to| transaction.position.is_some_and(|at| at <= up_to))
    };
    let wanted: Vec<Arc<Transaction>> = history.transactions.iter().filter(is_wanted).cloned().collect();
    let skipped = wanted.len().saturating_sub(window.limit);
    let totals = history
        .totals
        .clone()
        .filter(|_| wanted.len() == history.transactions.len());
    History {
        transactions: wanted.into_iter().skip(skipped).collect(),
        complete: history.complete && skipped == 0,
        totals,
        tokens_unseen_to: history.tokens_unseen_to,
    }
}

impl Source for Screening<'_> {
    fn name(&self) -> &str {
        self.on_demand.provider.name()
    }

    fn tip(&self) -> Result<Tip, SourceError> {
        Ok(self.tip.clone())
    }

    fn history(&self, party: &str, window: Window) -> Result<History, SourceError> {
        Ok(within(&*self.fetched(party, window.limit, false)?, window))
    }

    fn latest(&self, party: &str, window: Window) -> Result<History, SourceError> {
        Ok(within(&*self.fetched(party, window.limit, true)?, window))
    }

    fn transaction(&self, id: &str) -> Result<Arc<Transaction>, SourceError> {
        if let Some(known) = self.on_demand.cache().transaction(id, &self.tip) {
            return Ok(known);
        }
        let transaction = Arc::new(self.on_demand.provider.transaction(&self.calls, id)?);
        self.on_demand
            .cache()
            .keep_transaction(transaction.clone(), &self.tip);
        Ok(transaction)
    }

    fn spends(&self, id: &str) -> Result<Vec<Option<TxId>>, SourceError> {
        if let Some(known) = self.on_demand.cache().spends(id, &self.tip) {
            return Ok(known);
        }
        let spends = self.on_demand.provider.spends(&self.calls, id)?;
        self.on_demand.cache().keep_spends(id, spends.clone(), &self.tip);
        Ok(spends)
    }
}
