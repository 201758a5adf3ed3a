//! Vendors' HTTP services as sources of scores, described by configuration: URL template, authentication, JSON pointers,
//! scale, time-out, retries, breaker, and the order of fallbacks.
//!
//! No vendor is named here. Secrets are never printed; what a vendor answers is checked before it is believed.

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

pub use self::config::{Authentication, BadConfig, Breaker, Config, File, Order, Scale, Secret};
pub use self::pointer::Pointer;
use self::request::Sealed;
use crate::ondemand::{HttpRequest, HttpResponse, Transport, TransportError};

/// All vendors and all their attempts together take at most so long for one question.
const PATIENCE: Duration = Duration::from_secs(30);
/// The pause before the first repetition; it doubles with each.
const PAUSE: Duration = Duration::from_millis(100);

/// What a vendor said.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// Which vendor.
    pub vendor: String,
    /// The score, 0-100.
    pub score: f64,
    /// Other members of the detailed report, each of the contract's type.
    pub members: Map<String, Value>,
}

/// Why a vendor gave no answer, and whether that speaks against the vendor.
struct Failed {
    error: SourceError,
    /// Trying again may help.
    transient: bool,
    /// It counts for the breaker: refusing one question is no failure.
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
    sealed: Sealed,
    failures: Mutex<Failures>,
}

impl Vendor {
    /// A vendor by its description; its secrets are read now.
    ///
    /// # Errors
    /// What is wrong with the description, naming the member.
    pub fn new(config: Config) -> Result<Vendor, BadConfig> {
        config.check()?;
        let sealed = Sealed::open(&config.authentication).map_err(|what| BadConfig::Member {
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

    /// Its name in answers.
    pub fn name(&self) -> &str {
        &self.config.name
    }

    /// Where it is asked: scheme and host alone.
    pub fn origin(&self) -> &str {
        let url = &self.config.url;
        let host = url.find("://").map_or(0, |at| at + 3);
        let end = url[host..]
            .find(['/', '?', '#'])
            .map_or(url.len(), |at| host + at);
        &url[..end]
    }

    /// Whether it is asked about a chain.
    pub fn serves(&self, currency: Currency) -> bool {
        self.config.chains.is_empty() || self.config.chains.contains(&currency)
    }

    /// Asks, until a moment.
    ///
    /// # Errors
    /// [`SourceError::NotFound`] when the vendor says 404; otherwise what went wrong, or that it is left alone.
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

    /// Refuses while the vendor is left alone.
    fn admit(&self) -> Result<(), SourceError> {
        let now = Instant::now();
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        match failures.open_until {
            Some(until) if now < until => {
                let why = format!("{} failed repeatedly and is left alone", self.name());
                Err(SourceError::Unreachable(why))
            }
            Some(_) => {
                // One request at a time tries whether it is back.
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
    ) -> Result<Answer, Failed> {
        let filled = self.sealed.filled(&self.config, currency, subject);
        let mut request = HttpRequest {
            url: filled.url,
            headers: filled.headers,
            body: filled.body,
            timeout: Duration::ZERO,
        };
        let mut last = Failed {
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

    /// What an answer means.
    fn answered(
        &self,
        answer: Result<HttpResponse, TransportError>,
        subject: Subject<'_>,
    ) -> Result<Answer, Failed> {
        let name = self.name();
        let (error, transient, counts) = match answer {
            Ok(HttpResponse { status: 200, body }) => {
                return self.read(&body, subject).map_err(|why| Failed {
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
                // A question that it refuses says nothing about the next; refused credentials do.
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
        Err(Failed {
            error,
            transient,
            counts,
        })
    }

    /// The score that a value means.
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
        // The last digits are the division's, not the vendor's.
        (0.0..=100.0)
            .contains(&score)
            .then(|| (score * 1e9).round() / 1e9)
    }

    /// Reads an answer; an error says what is wrong with it and repeats nothing of it.
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

/// All vendors, in order.
#[derive(Default)]
pub struct Upstreams {
    /// Whether they are asked before the server's own sources.
    pub first: bool,
    vendors: Vec<Vendor>,
}

impl Upstreams {
    /// Reads a file of descriptions, and the secrets that it names.
    ///
    /// # Errors
    /// What is wrong with the first wrong one.
    pub fn read(json: &str) -> Result<Upstreams, BadConfig> {
        let file: File = serde_json::from_str(json)?;
        let mut vendors: Vec<Vendor> = Vec::with_capacity(file.upstreams.len());
        for config in file.upstreams {
            if vendors.iter().any(|vendor| vendor.name() == config.name) {
                return Err(BadConfig::Twice(config.name));
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
    /// That it cannot be read, or what is wrong with it.
    pub fn open(path: &Path) -> Result<Upstreams, BadConfig> {
        let text = std::fs::read_to_string(path).map_err(|error| BadConfig::Unreadable(error.to_string()))?;
        Upstreams::read(&text)
    }

    /// The vendors, in the order in which they are asked.
    pub fn vendors(&self) -> &[Vendor] {
        &self.vendors
    }

    /// Asks vendors in order until one answers.
    ///
    /// # Errors
    /// The first failure; [`SourceError::NotFound`] only when every vendor that could be asked says so;
    /// [`SourceError::Unsupported`] when none serves the chain.
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
