//! Vendors' HTTP services as sources of scores. A description configures each: URL template, authentication,
//! JSON pointers, scale, timeout, retries, breaker, and the order of fallbacks.
//!
//! The code names no vendor. Secrets are never printed, and a vendor's response is checked before it is used.

mod config;
mod members;
mod pointer;
mod request;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use chain::currency::Currency;
use chain::screen::Subject;
use chain::source::SourceError;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

pub use self::config::{Authentication, Breaker, Config, ConfigError, File, Order, Scale, Secret};
pub use self::pointer::Pointer;
use self::request::Credentials;
use crate::ondemand::{HttpRequest, HttpResponse, Transport, TransportError};

/// The time limit for all vendors and all their attempts together, for one query.
const PATIENCE: Duration = Duration::from_secs(30);
/// The pause before the first retry; it doubles with each further one.
const PAUSE: Duration = Duration::from_millis(100);

/// A vendor's response.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The vendor's name.
    pub vendor: String,
    /// The score, 0-100.
    pub score: f64,
    /// Other members of the detailed report; each has the contract's type.
    pub members: Map<String, Value>,
}

/// Why a vendor gave no answer.
struct AttemptFailure {
    error: SourceError,
    /// Whether a retry may help.
    transient: bool,
    /// Whether the breaker counts it. A refusal of one query is no failure of the vendor.
    counts: bool,
}

#[derive(Default)]
struct Failures {
    in_a_row: u32,
    open_until: Option<Instant>,
}

/// One vendor.
pub struct Vendor {
    config: Config,
    sealed: Credentials,
    failures: Mutex<Failures>,
}

impl Vendor {
    /// A vendor with its description. The secrets are read now.
    ///
    /// # Errors
    /// What is wrong with the description, with the name of the member.
    pub fn new(config: Config) -> Result<Vendor, ConfigError> {
        config.check()?;
        let sealed = Credentials::open(&config.authentication).map_err(|what| ConfigError::Member {
            vendor: config.name.clone(),
            member: "authentication",
            what,
        })?;
        Ok(Vendor {
            config,
            sealed,
            failures: Mutex::default(),
        })
    }

    /// The vendor's name in responses.
    pub fn name(&self) -> &str {
        &self.config.name
    }

    /// The URL's scheme and host.
    pub fn origin(&self) -> &str {
        let url = &self.config.url;
        let host = url.find("://").map_or(0, |at| at + 3);
        let end = url[host..]
            .find(['/', '?', '#'])
            .map_or(url.len(), |at| host + at);
        &url[..end]
    }

    /// Whether the vendor covers a chain.
    pub fn serves(&self, currency: Currency) -> bool {
        self.config.chains.is_empty() || self.config.chains.contains(&currency)
    }

    /// Queries the vendor, with all retries, until a deadline.
    ///
    /// # Errors
    /// [`SourceError::NotFound`] when the vendor answers 404. Otherwise what failed, or that the breaker is
    /// open.
    pub fn ask(
        &self,
        transport: &dyn Transport,
        currency: Currency,
        subject: Subject<'_>,
        until: Instant,
    ) -> Result<Answer, SourceError> {
        self.admit()?;
        let answer = self.tried(transport, currency, subject, until);
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        match &answer {
            Err(failed) if failed.counts => {
                failures.in_a_row += 1;
                if failures.in_a_row >= self.config.breaker.failures {
                    failures.open_until = Some(Instant::now() + self.cool_down());
                }
            }
            _ => *failures = Failures::default(),
        }
        answer.map_err(|failed| failed.error)
    }

    fn cool_down(&self) -> Duration {
        Duration::from_millis(self.config.breaker.cool_down_ms)
    }

    /// Refuses while the breaker is open.
    fn admit(&self) -> Result<(), SourceError> {
        let now = Instant::now();
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        match failures.open_until {
            Some(until) if now < until => {
                let why = format!("{} failed repeatedly and is left alone", self.name());
                Err(SourceError::Unreachable(why))
            }
            Some(_) => {
                // One request per cool-down tests whether the vendor works again.
                failures.open_until = Some(now + self.cool_down());
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn tried(
        &self,
        transport: &dyn Transport,
        currency: Currency,
        subject: Subject<'_>,
        until: Instant,
    ) -> Result<Answer, AttemptFailure> {
        let filled = self.sealed.filled(&self.config, currency, subject);
        let mut request = HttpRequest {
            url: filled.url,
            headers: filled.headers,
            body: filled.body,
            timeout: Duration::ZERO,
        };
        let mut last = AttemptFailure {
            error: SourceError::TimedOut,
            transient: true,
            counts: false,
        };
        for attempt in 0..=self.config.retries {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            if attempt > 0 {
                std::thread::sleep((PAUSE * 2u32.pow(attempt - 1)).min(left));
            }
            request.timeout = Duration::from_millis(self.config.timeout_ms).min(left);
            match self.answered(transport.send(&request), subject) {
                Err(failed) if failed.transient => last = failed,
                answer => return answer,
            }
        }
        Err(last)
    }

    /// Converts an HTTP response into an answer or a failure.
    fn answered(
        &self,
        answer: Result<HttpResponse, TransportError>,
        subject: Subject<'_>,
    ) -> Result<Answer, AttemptFailure> {
        let name = self.name();
        let (error, transient, counts) = match answer {
            Ok(HttpResponse { status: 200, body }) => {
                return self.read(&body, subject).map_err(|why| AttemptFailure {
                    error: SourceError::Nonsense(format!("{name}: {why}")),
                    transient: false,
                    counts: true,
                });
            }
            Ok(HttpResponse { status: 404, .. }) => (SourceError::NotFound, false, false),
            Ok(HttpResponse {
                status: status @ (408 | 429 | 500..),
                ..
            }) => (
                SourceError::Unreachable(format!("{name} answered {status}")),
                true,
                true,
            ),
            Ok(HttpResponse { status, .. }) => (
                SourceError::Nonsense(format!("{name}: it answered {status}")),
                false,
                // Refused credentials affect every query; a refused query affects only itself.
                matches!(status, 401..=403),
            ),
            Err(TransportError::Unreachable(why)) => {
                (SourceError::Unreachable(format!("{name}: {why}")), true, true)
            }
            Err(TransportError::TimedOut) => (SourceError::TimedOut, true, true),
            Err(TransportError::TooLarge) => {
                let why = format!("{name}: the answer is too large");
                (SourceError::Nonsense(why), false, true)
            }
        };
        Err(AttemptFailure {
            error,
            transient,
            counts,
        })
    }

    /// Converts a vendor's score to our scale; `None` when it is not on the vendor's.
    fn score(&self, value: &RawValue) -> Option<f64> {
        let text = members::text(value)?;
        if value.get().starts_with('"')
            && let Some(score) = self.config.words.get(&*text)
        {
            return Some(*score);
        }
        let number: f64 = text.parse().ok()?;
        let Scale { from, to } = self.config.scale;
        let score = (number - from) / (to - from) * 100.0;
        // Rounding removes the digits that only the division added.
        (0.0..=100.0)
            .contains(&score)
            .then(|| (score * 1e9).round() / 1e9)
    }

    /// Reads a response. An error states what is wrong with it and repeats no part of it.
    fn read(&self, body: &[u8], subject: Subject<'_>) -> Result<Answer, String> {
        let document: &RawValue = serde_json::from_slice(body).map_err(|_| "no JSON")?;
        let score = members::at(document, &self.config.score).ok_or("no score")?;
        let score = self
            .score(score)
            .ok_or("a score that is no number of its scale and none of its words")?;
        let mut read = Map::new();
        for (name, pointer) in &self.config.members {
            let about_address = matches!(subject, Subject::Address(_));
            let found = members::at(document, pointer.at());
            let (Some(kind), Some(found)) = (members::kind(name), found) else {
                continue;
            };
            if members::belongs(name, about_address) {
                let value = members::read(kind, found, pointer, |value| self.score(value))
                    .ok_or_else(|| format!("{name} is of another type"))?;
                read.insert(name.clone(), value);
            }
        }
        let exposures = read
            .entry("exposures")
            .or_insert_with(|| Value::Object(Map::new()));
        exposures["source"] = self.name().into();
        Ok(Answer {
            vendor: self.name().to_owned(),
            score,
            members: read,
        })
    }
}

/// All vendors, in the configured order.
#[derive(Default)]
pub struct Upstreams {
    /// Whether vendors are queried before the server's own sources.
    pub first: bool,
    vendors: Vec<Vendor>,
}

impl Upstreams {
    /// Reads a file of descriptions, and the secrets that it names.
    ///
    /// # Errors
    /// The first error in the descriptions.
    pub fn read(json: &str) -> Result<Upstreams, ConfigError> {
        let file: File = serde_json::from_str(json)?;
        let mut vendors: Vec<Vendor> = Vec::with_capacity(file.upstreams.len());
        for config in file.upstreams {
            if vendors.iter().any(|vendor| vendor.name() == config.name) {
                return Err(ConfigError::DuplicateName(config.name));
            }
            vendors.push(Vendor::new(config)?);
        }
        Ok(Upstreams {
            first: file.order == Order::UpstreamsFirst,
            vendors,
        })
    }

    /// Reads the file at a path.
    ///
    /// # Errors
    /// When it cannot be read, or the first error in it.
    pub fn open(path: &Path) -> Result<Upstreams, ConfigError> {
        let text =
            std::fs::read_to_string(path).map_err(|error| ConfigError::Unreadable(error.to_string()))?;
        Upstreams::read(&text)
    }

    /// The vendors, in the order in which they are queried.
    pub fn vendors(&self) -> &[Vendor] {
        &self.vendors
    }

    /// Queries vendors in order until one answers.
    ///
    /// # Errors
    /// The first failure. [`SourceError::NotFound`] only when every vendor of the chain answers so;
    /// [`SourceError::Unsupported`] when no vendor covers the chain.
    pub fn ask(
        &self,
        transport: &dyn Transport,
        currency: Currency,
        subject: Subject<'_>,
    ) -> Result<Answer, SourceError> {
        let until = Instant::now() + PATIENCE;
        let mut failed = None;
        let mut missing = false;
        for vendor in self.vendors.iter().filter(|vendor| vendor.serves(currency)) {
            match vendor.ask(transport, currency, subject, until) {
                Ok(answer) => return Ok(answer),
                Err(SourceError::NotFound) => missing = true,
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        match failed {
            Some(error) => Err(error),
            None if missing => Err(SourceError::NotFound),
            None => Err(SourceError::Unsupported("no upstream serves this chain")),
        }
    }
}
