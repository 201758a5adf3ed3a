//! A client of the API that repeats each request on any node until it is answered, as an integrator should. It
//! records every failure in the journal, and never decides whether a fault excuses it.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::ensure;
use rand::RngExt as _;
use reqwest::header::{HeaderValue, RETRY_AFTER};
use reqwest::{Method, RequestBuilder};
use serde_json::Value;

use crate::installation::Installation;
use crate::journal::{Failure, Journal};

/// A request that was not answered for so long is a fault of the installation.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);
/// How long a client waits for the answer to a verification, also on a busy machine.
const VERIFIES: Duration = Duration::from_secs(60);
/// Pause before a failed request is repeated.
const PAUSE: Duration = Duration::from_millis(300);

/// The error of a request about something that a failover has lost.
#[derive(Debug)]
pub(crate) struct LostByFailover;

impl std::fmt::Display for LostByFailover {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a failover has lost what the request is about")
    }
}

impl std::error::Error for LostByFailover {}

/// How a request is authenticated.
#[derive(Clone, Copy)]
pub(crate) enum Credentials<'a> {
    /// The demo account's key.
    Account,
    /// Another account's key and secret.
    Key(&'a str, &'a str),
    /// A hosted session's access token.
    Session(&'a str),
    /// None.
    Nothing,
}

/// A request's kind and target.
#[derive(Clone, Copy)]
pub(crate) struct Request<'a> {
    /// What it is, for the journal.
    pub(crate) what: &'static str,
    pub(crate) method: &'a Method,
    pub(crate) path: &'a str,
    pub(crate) credentials: Credentials<'a>,
}

/// The answer to a request that was repeated until there was one.
pub(crate) struct Answered {
    pub(crate) status: u16,
    pub(crate) body: Value,
}

/// The path of a verification.
pub(crate) const VERIFY: &str = "/v2/idv/verify";

/// The client.
pub(crate) struct Client {
    pub(crate) installation: Arc<Installation>,
    pub(crate) journal: Arc<Journal>,
}

impl Client {
    /// Records something that is not as acknowledged: as lost if a failover may lose it, otherwise as wrong.
    pub(crate) fn not_as_acknowledged(&self, what: &'static str, found: String) {
        match self.may_be_lost() {
            true => self.journal.lost(what),
            false => self.journal.failed(what, Instant::now(), Failure::Wrong(found)),
        }
    }

    /// Whether a failover may have lost acknowledged writes.
    fn may_be_lost(&self) -> bool {
        self.installation.may_lose && self.installation.has_failed_over.load(Ordering::SeqCst)
    }

    /// Sends a request of the account until it is answered 2xx.
    pub(crate) async fn send(
        &self,
        what: &'static str,
        method: Method,
        path: &str,
        with: impl Fn(RequestBuilder) -> RequestBuilder,
    ) -> anyhow::Result<Value> {
        let request = Request {
            what,
            method: &method,
            path,
            credentials: Credentials::Account,
        };
        Ok(self
            .send_until(request, |status, _| status < 300, with)
            .await?
            .body)
    }

    /// Sends a request until it is answered with a status that `accepts` accepts; it is also given whether
    /// an earlier try may have been carried out.
    pub(crate) async fn send_until(
        &self,
        request: Request<'_>,
        accepts: impl Fn(u16, bool) -> bool,
        with: impl Fn(RequestBuilder) -> RequestBuilder,
    ) -> anyhow::Result<Answered> {
        let begun = Instant::now();
        let Installation { nodes, http, .. } = &*self.installation;
        let mut is_repeated = false;
        loop {
            let node = &nodes[rand::rng().random_range(0..nodes.len())];
            let from = Instant::now();
            let url = format!("{}{}", node.base(), request.path);
            let sent = http.request(request.method.clone(), url);
            let sent = match request.credentials {
                Credentials::Account => sent.basic_auth(
                    self.installation.demo("apiKey"),
                    Some(self.installation.demo("secret")),
                ),
                Credentials::Key(key, secret) => sent.basic_auth(key, Some(secret)),
                Credentials::Session(token) => sent.bearer_auth(token),
                Credentials::Nothing => sent,
            };
            let sent = match request.path == VERIFY {
                true => sent.timeout(VERIFIES),
                false => sent,
            };
            let answer = async {
                let answer = with(sent).send().await?;
                let wait = answer.headers().get(RETRY_AFTER).and_then(seconds);
                Ok::<_, reqwest::Error>((answer.status().as_u16(), answer.text().await?, wait))
            };
            let answer = answer.await;
            let (text, wait) = match &answer {
                Ok((_, text, wait)) => (text.clone(), *wait),
                Err(_) => (String::new(), None),
            };
            let answer = answer.map(|(status, text, _)| (status, text));
            let failure = match answer {
                Ok((status, text)) if accepts(status, is_repeated) => {
                    let body = serde_json::from_str(&text)?;
                    return Ok(Answered { status, body });
                }
                Ok((503, text)) if text.contains("The server is busy") => Failure::Busy,
                Ok((503, _)) => Failure::Unavailable,
                // The Group, session, link or token is not there.
                Ok((status @ (401 | 404 | 410), _))
                    if self.may_be_lost()
                        && (status != 401 || !matches!(request.credentials, Credentials::Account)) =>
                {
                    self.journal.lost(request.what);
                    return Err(LostByFailover.into());
                }
                Ok((409, text))
                    if text.contains("still being carried out") || text.contains("has taken over") =>
                {
                    Failure::Leased
                }
                Ok((status, text)) => Failure::Wrong(format!("{status} {text}")),
                Err(_) => Failure::Broken,
            };
            // A 503 may also follow a COMMIT whose answer was lost.
            is_repeated = true;
            let (what, is_wrong) = (request.what, matches!(failure, Failure::Wrong(_)));
            let pause = pause_after(&failure, wait);
            self.journal.failed_with(what, from, failure, &text);
            ensure!(!is_wrong, "{what}: a wrong answer: {text}");
            ensure!(begun.elapsed() < PATIENCE, "{what}: no answer for {PATIENCE:?}");
            tokio::time::sleep(pause).await;
        }
    }
}

/// The seconds of a `Retry-After`.
fn seconds(value: &HeaderValue) -> Option<Duration> {
    Some(Duration::from_secs(value.to_str().ok()?.parse().ok()?))
}

/// How long a client waits after a failure. A busy server states how long; during a fault, requests come as soon
/// as possible, so that they meet the recovery.
fn pause_after(failure: &Failure, stated: Option<Duration>) -> Duration {
    match failure {
        Failure::Busy => stated.unwrap_or(PAUSE),
        _ => PAUSE,
    }
}

/// An `Idempotency-Key` that no other request has.
pub(crate) fn key() -> String {
    format!("{:032x}", rand::rng().random::<u128>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_busy_server_decides_when_a_client_comes_again() {
        let stated = seconds(&HeaderValue::from_static("5"));
        assert_eq!(stated, Some(Duration::from_secs(5)));
        assert_eq!(seconds(&HeaderValue::from_static("soon")), None);
        for (failure, pause) in [
            (Failure::Busy, Duration::from_secs(5)),
            (Failure::Unavailable, PAUSE),
            (Failure::Broken, PAUSE),
        ] {
            assert_eq!(pause_after(&failure, stated), pause, "{failure}");
        }
        assert_eq!(pause_after(&Failure::Busy, None), PAUSE);
    }
}
