//! Histories that are fetched when a trace needs them, from an index or node that another party may operate.
//! This is the default for a new installation.
//!
//! The caller provides HTTP as a [`Transport`]. Fetched data is cached. Each screening has a budget of
//! requests and time, and the answer states what the budget cut off. Addresses are sent only to the
//! configured index.

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
use serde::de::DeserializeOwned;

use self::cache::Cache;
pub use self::electrum::Electrum;
pub use self::esplora::Esplora;
pub use self::solana::Solana;

/// A request to an index, node or vendor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpRequest {
    /// The URL.
    pub url: String,
    /// The headers, which may contain credentials and are never logged.
    pub headers: Vec<(String, String)>,
    /// The JSON body; a request with a body is a POST.
    pub body: Option<String>,
    /// The time limit for the whole response.
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

/// A response with any status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpResponse {
    /// The HTTP status.
    pub status: u16,
    /// The body, at most [`LARGEST_BODY`] bytes.
    pub body: Vec<u8>,
}

/// The limit of a response's size in bytes. Implementations of [`Transport`] refuse larger ones.
pub const LARGEST_BODY: usize = 64 << 20;

/// Why there is no response. The texts contain no address and no credential.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TransportError {
    /// There is no connection, or it broke.
    #[error("{0}")]
    Unreachable(String),
    /// No whole response came in time.
    #[error("timed out")]
    TimedOut,
    /// The response has more than [`LARGEST_BODY`] bytes.
    #[error("the answer is too large")]
    TooLarge,
}

/// Sends HTTP requests, and lines over bare connections. Calls block.
pub trait Transport: Send + Sync {
    /// Sends a request and waits.
    ///
    /// # Errors
    /// When no whole response came in time.
    fn send(&self, request: &HttpRequest) -> Result<HttpResponse, TransportError>;
}

/// The limits of one screening.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// The number of requests.
    pub requests: usize,
    /// The time for all requests together.
    pub time: Duration,
    /// The time limit of one request.
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

/// The number of attempts for each request.
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

    /// Runs a closure with one part of the remaining budget, divided by `parts`. An optional step then cannot
    /// use up the budget of necessary ones.
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

    /// Sends a request and repeats a failed one once. Returns the body of a response with status 200.
    ///
    /// # Errors
    /// [`SourceError::NotFound`] for 404, [`SourceError::Budget`] when the budget is spent, otherwise what
    /// failed.
    pub fn send(&self, request: HttpRequest) -> Result<Vec<u8>, SourceError> {
        self.send_accepting(request, &|answer| answer.status == 200)
    }

    /// Sends a request and repeats a failed one once. Returns the body of a response that `is_answer`
    /// accepts, with any status.
    ///
    /// # Errors
    /// As [`Calls::send`].
    pub fn send_accepting(
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

    /// Gets JSON from a URL, without the members that `T` does not need.
    ///
    /// # Errors
    /// As [`Calls::send`]; [`SourceError::Nonsense`] when the response is not such JSON.
    pub fn get<T: DeserializeOwned>(&self, url: String) -> Result<T, SourceError> {
        let body = self.send(HttpRequest::get(url, self.request_timeout))?;
        serde_json::from_slice(&body).map_err(|error| {
            if !error.is_data() {
                return SourceError::Nonsense("no JSON".to_owned());
            }
            // Serde's error would quote values, so only the field is named.
            let what = error.to_string();
            let field = what
                .split('`')
                .nth(1)
                .filter(|_| what.starts_with("missing field"))
                .unwrap_or("a member");
            SourceError::Nonsense(format!("{field} is missing or of another type"))
        })
    }
}

/// A client of an index or node.
pub trait Provider: Send + Sync {
    /// The provider's name in answers, such as `esplora`.
    fn name(&self) -> &str;

    /// The newest block.
    ///
    /// # Errors
    /// When the provider cannot be queried.
    fn tip(&self, calls: &Calls<'_>) -> Result<Tip, SourceError>;

    /// Whether the provider can list an address's transactions; some nodes have transactions only.
    ///
    /// # Errors
    /// When the provider cannot be queried.
    fn lists_addresses(&self, _calls: &Calls<'_>) -> Result<bool, SourceError> {
        Ok(true)
    }

    /// The latest `limit` transactions of an address that are in blocks, in order.
    ///
    /// # Errors
    /// When the provider cannot be queried.
    fn history(&self, calls: &Calls<'_>, party: &str, limit: usize) -> Result<History, SourceError>;

    /// Whether [`Provider::trace_history`] returns less than [`Provider::history`].
    fn traces_without_tokens(&self) -> bool {
        false
    }

    /// The history that a trace needs. If [`Provider::traces_without_tokens`], it has only transactions that
    /// moved the chain's own money, even if they also moved tokens.
    ///
    /// # Errors
    /// When the provider cannot be queried.
    fn trace_history(&self, calls: &Calls<'_>, party: &str, limit: usize) -> Result<History, SourceError> {
        self.history(calls, party, limit)
    }

    /// A transaction.
    ///
    /// # Errors
    /// When the provider does not have it, or cannot be queried.
    fn transaction(&self, calls: &Calls<'_>, id: &str) -> Result<Transaction, SourceError>;

    /// The transactions in blocks that spent the outputs of a transaction, one per output; none for an
    /// unspent output.
    ///
    /// # Errors
    /// When the provider does not have the transaction, or cannot be queried.
    fn spends(&self, calls: &Calls<'_>, id: &str) -> Result<Vec<Option<TxId>>, SourceError>;
}

/// Whether a transaction belongs to an account's history: it moved the account's money, or the account paid
/// the fee.
pub(crate) fn concerns(transaction: &Transaction, party: &str) -> bool {
    let parties = transaction.parties();
    parties.iter().any(|other| **other == *party) || transaction.fee_payer.as_deref() == Some(party)
}

/// How long the newest block is cached.
const TIP_AGE: Duration = Duration::from_secs(10);

/// A provider with its cache, which many screenings share.
pub struct OnDemand {
    provider: Box<dyn Provider>,
    transport: Arc<dyn Transport>,
    budget: Budget,
    cache: Mutex<Cache>,
}

impl OnDemand {
    /// A provider that uses a transport, with a budget for each screening.
    pub fn new(provider: Box<dyn Provider>, transport: Arc<dyn Transport>, budget: Budget) -> OnDemand {
        OnDemand {
            provider,
            transport,
            budget,
            cache: Mutex::default(),
        }
    }

    /// The source of one screening, with one budget and one tip.
    ///
    /// # Errors
    /// When the newest block cannot be queried.
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

    /// The newest block, and whether the provider can list an address's transactions. This is for diagnosis.
    ///
    /// # Errors
    /// When the provider cannot be queried.
    pub fn check(&self) -> Result<(Tip, bool), SourceError> {
        let calls = Calls::new(&*self.transport, self.budget);
        let tip = self.provider.tip(&calls)?;
        Ok((tip, self.provider.lists_addresses(&calls)?))
    }

    /// The newest block, from the cache for a few seconds, otherwise from the provider.
    ///
    /// # Errors
    /// When the provider cannot be queried.
    pub fn tip(&self) -> Result<Tip, SourceError> {
        self.screening().map(|screening| screening.tip)
    }

    /// The provider's name in answers, such as `esplora`.
    pub fn name(&self) -> &str {
        self.provider.name()
    }

    fn cache(&self) -> std::sync::MutexGuard<'_, Cache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The source of one screening: a provider at one tip.
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
            on_demand.provider.trace_history(calls, party, limit)?
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

/// The part of a history within a window.
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

    fn trace_history(&self, party: &str, window: Window) -> Result<History, SourceError> {
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
