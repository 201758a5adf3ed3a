//! Delivers webhook events from the outbox (`docs/decisions/0017-webhooks.md`). They are signed by the
//! Standard Webhooks scheme, delivered at least once, and retried for about four days. Any number of nodes
//! may deliver at once; after a claim expires, another node may claim the event.
//!
//! It never follows a redirect and never reads a response's body. It connects to addresses that are not
//! public only if the operator allows the host.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use reqwest::header::{HeaderMap, RETRY_AFTER};
use reqwest::{StatusCode, Url};
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;
use standardwebhooks::{HEADER_WEBHOOK_ID, HEADER_WEBHOOK_SIGNATURE, HEADER_WEBHOOK_TIMESTAMP, Webhook};
use store::outbox::{self, Delivery};
use store::webhooks::{self, Endpoint};
use store::{Scope, Tx, audit};
use tokio::sync::Semaphore;
use uuid::Uuid;

use super::background::Job;
use super::webhook_address::Destination;
use super::{App, Shared, events};
use crate::caller::Caller;
use crate::problem::Problem;

/// The maximum number of parallel deliveries of a node.
const AT_ONCE: usize = 32;
/// The maximum for one Flow, so that a receiver that never responds does not delay other Flows' events.
const OF_ONE_FLOW: usize = 4;
/// How long an event is postponed while its Flow has the maximum.
const PUT_BACK_MS: i64 = 20_000;
/// The receiver's response time limit.
const ANSWER_WITHIN: Duration = Duration::from_secs(15);
/// The name server's response time limit.
const RESOLVE_WITHIN: Duration = Duration::from_secs(5);
/// When a claim expires; longer than a delivery can take.
const LEASE_MS: i64 = 60_000;
/// How long both secrets sign after a rotation.
const BOTH_SECRETS_MS: i64 = 24 * 60 * 60 * 1_000;
/// The waits between attempts, before jitter.
const WAITS: [Duration; 9] = [
    Duration::from_secs(5),
    Duration::from_mins(5),
    Duration::from_mins(30),
    Duration::from_hours(2),
    Duration::from_hours(5),
    Duration::from_hours(10),
    Duration::from_hours(14),
    Duration::from_hours(20),
    Duration::from_hours(24),
];
/// A wait is extended by up to this share, so that failed deliveries are not all retried at once.
const JITTER: f64 = 0.2;

/// Delivers events for as long as the server runs.
pub async fn run(app: Shared) {
    let places = Arc::new(Semaphore::new(AT_ONCE));
    let flows = FlowDeliveries::default();
    loop {
        tokio::time::sleep(Job::Webhooks.interval()).await;
        let mut begun = Ok(0);
        while let Ok(place) = Arc::clone(&places).acquire_owned().await {
            let delivery = match next(&app).await {
                Ok(Some(delivery)) => delivery,
                Ok(None) => break,
                Err(error) => {
                    tracing::warn!(%error, "webhook events cannot be claimed");
                    begun = Err(error);
                    break;
                }
            };
            begun = begun.map(|count| count + 1);
            let app = Arc::clone(&app);
            let flow = flows.take_slot((delivery.scope, delivery.flow_id));
            tokio::spawn(async move {
                let result = match flow {
                    Some(_) => deliver(&app, &delivery).await,
                    None => put_back(&app, &delivery).await,
                };
                if let Err(error) = result {
                    tracing::warn!(%error, event = %delivery.id, "a webhook delivery could not be recorded");
                }
                drop((flow, place));
            });
        }
        app.background.record_run(Job::Webhooks, &begun);
    }
}

/// How many deliveries each Flow has under way on this node. It counts this process's own tasks. If the
/// database goes back, the outbox offers their events again: they are delivered at least once, under the same
/// `webhook-id`.
#[derive(Clone, Default)]
struct FlowDeliveries(Arc<Mutex<HashMap<FlowKey, usize>>>);

type FlowKey = (Scope, Uuid);

/// A Flow's delivery slot, released on drop.
struct DeliverySlot(FlowDeliveries, FlowKey);

impl FlowDeliveries {
    fn counts(&self) -> MutexGuard<'_, HashMap<FlowKey, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a slot, unless the Flow uses all of its slots.
    fn take_slot(&self, flow: FlowKey) -> Option<DeliverySlot> {
        let mut counts = self.counts();
        let count = counts.entry(flow).or_default();
        if *count == OF_ONE_FLOW {
            return None;
        }
        *count += 1;
        Some(DeliverySlot(self.clone(), flow))
    }
}

impl Drop for DeliverySlot {
    fn drop(&mut self) {
        let mut counts = self.0.counts();
        if let Some(count) = counts.get_mut(&self.1) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.1);
            }
        }
    }
}

async fn put_back(app: &App, delivery: &Delivery) -> Result<(), store::Error> {
    store::transaction!(app.db, |tx| -> Result<(), store::Error> {
        let due_at = tx.now() + PUT_BACK_MS;
        outbox::release(tx, delivery, due_at).await
    })
}

async fn next(app: &App) -> Result<Option<Delivery>, store::Error> {
    if !outbox::is_due(&mut app.db.read().await?).await? {
        return Ok(None);
    }
    store::transaction!(app.db, |tx| -> Result<Option<Delivery>, store::Error> {
        Ok(outbox::claim(tx, 1, LEASE_MS).await?.pop())
    })
}

/// The result of a delivery attempt.
enum Outcome {
    /// A 2xx response.
    Delivered(StatusCode),
    /// To be retried, but not before the time that the receiver requested.
    Failed {
        status: Option<StatusCode>,
        error: String,
        not_before: Option<Duration>,
    },
    /// Not to be retried.
    GivenUp {
        status: Option<StatusCode>,
        error: &'static str,
    },
}

async fn deliver(app: &App, delivery: &Delivery) -> Result<(), store::Error> {
    let (scope, flow_id) = (delivery.scope, delivery.flow_id);
    let flow = store::flows::get(&mut app.db.read().await?, scope, flow_id).await?;
    let url = flow.and_then(|flow| flow.webhook_url);
    let endpoint = store::transaction!(app.db, |tx| -> Result<Option<Endpoint>, store::Error> {
        webhooks::get_or_create(tx, scope, flow_id).await
    });
    let endpoint = match endpoint {
        Err(store::Error::Sealed) => None,
        endpoint => Some(endpoint?),
    };
    let gone = |error| Outcome::GivenUp { status: None, error };
    let Some(endpoint) = endpoint else {
        let outcome = gone("the secret cannot be opened with this master key");
        return finish(app, delivery, &outcome, url.as_deref()).await;
    };
    let outcome = match (&url, &endpoint) {
        (Some(url), Some(endpoint))
            if endpoint.stopped_url.as_ref() != Some(url) || delivery.kind == events::TEST =>
        {
            send(app, delivery, url, endpoint).await
        }
        (Some(_), Some(_)) => gone("the receiver answered 410: change the address, or send a test message"),
        _ => gone("the Flow has no webhook any more"),
    };
    finish(app, delivery, &outcome, url.as_deref()).await
}

async fn finish(
    app: &App,
    delivery: &Delivery,
    outcome: &Outcome,
    url: Option<&str>,
) -> Result<(), store::Error> {
    store::transaction!(app.db, |tx| -> Result<(), store::Error> {
        report(tx, delivery, outcome, url).await
    })
}

async fn report(
    tx: &mut Tx,
    delivery: &Delivery,
    outcome: &Outcome,
    url: Option<&str>,
) -> Result<(), store::Error> {
    let result = match outcome {
        Outcome::Delivered(status) => {
            webhooks::set_stopped(tx, delivery.scope, delivery.flow_id, None).await?;
            outbox::mark_delivered(tx, delivery, status.as_u16()).await?;
            "delivered"
        }
        Outcome::Failed {
            status,
            error,
            not_before,
        } => {
            let wait = wait(delivery.tries, rand::random(), *not_before);
            let at = wait.map(|wait| tx.now() + i64::try_from(wait.as_millis()).unwrap_or(i64::MAX));
            outbox::mark_failed(tx, delivery, status.map(|status| status.as_u16()), error, at).await?;
            if at.is_some() { "failed" } else { "given_up" }
        }
        Outcome::GivenUp { status, error } => {
            if *status == Some(StatusCode::GONE) {
                webhooks::set_stopped(tx, delivery.scope, delivery.flow_id, url).await?;
            }
            outbox::mark_failed(tx, delivery, status.map(|status| status.as_u16()), error, None).await?;
            "given_up"
        }
    };
    metrics::counter!("bonafide_webhook_deliveries_total", "result" => result).increment(1);
    Ok(())
}

/// The wait after an attempt (counted from 1); `jitter` is 0 to 1. `None`: that was the last attempt.
fn wait(tries: i64, jitter: f64, not_before: Option<Duration>) -> Option<Duration> {
    let index = usize::try_from(tries).ok()?.checked_sub(1)?;
    let wait = WAITS.get(index)?.mul_f64(1.0 + JITTER * jitter);
    let longest = WAITS[WAITS.len() - 1];
    Some(wait.max(not_before.unwrap_or_default().min(longest)))
}

async fn send(app: &App, delivery: &Delivery, url: &str, endpoint: &Endpoint) -> Outcome {
    let failed = |error: String| Outcome::Failed {
        status: None,
        error,
        not_before: None,
    };
    let Some(body) = &delivery.body else {
        return Outcome::GivenUp {
            status: None,
            error: "the event cannot be opened with this master key",
        };
    };
    let (url, pinned) = match destination(app, delivery.scope.sandbox, url).await {
        Ok(found) => found,
        Err(error) => return failed(error),
    };
    let timestamp = Timestamp::now().as_second();
    let Some(signature) = sign(endpoint, delivery.id, body, timestamp) else {
        return failed("the Flow's webhook secret is not base64: rotate it".into());
    };
    let mut client = reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .timeout(ANSWER_WITHIN)
        .user_agent(concat!("Bonafide-Webhooks/", env!("CARGO_PKG_VERSION")));
    if let (Some(host), Some(addresses)) = (url.host_str(), &pinned) {
        client = client.resolve_to_addrs(host, addresses);
    }
    let client = match client.build() {
        Ok(client) => client,
        Err(error) => return failed(error.to_string()),
    };
    let request = client
        .post(url)
        .header("content-type", "application/json")
        .header(HEADER_WEBHOOK_ID, delivery.id.to_string())
        .header(HEADER_WEBHOOK_TIMESTAMP, timestamp.to_string())
        .header(HEADER_WEBHOOK_SIGNATURE, signature)
        .body(body.clone());
    match request.send().await {
        Ok(answer) => judge(answer.status(), answer.headers()),
        Err(error) if error.is_timeout() => failed(format!("no answer within {} s", ANSWER_WITHIN.as_secs())),
        Err(error) if error.is_connect() => {
            failed("no connection to the receiver (address, TLS certificate)".into())
        }
        Err(error) => failed(error.without_url().to_string()),
    }
}

fn judge(status: StatusCode, headers: &HeaderMap) -> Outcome {
    if status.is_success() {
        return Outcome::Delivered(status);
    }
    if status == StatusCode::GONE {
        return Outcome::GivenUp {
            status: Some(status),
            error: "the endpoint returned 410, so delivery has stopped",
        };
    }
    let hint = if status.is_redirection() {
        "; redirects are not followed"
    } else {
        ""
    };
    Outcome::Failed {
        status: Some(status),
        error: format!("the receiver answered {}{hint}", status.as_u16()),
        not_before: retry_after(headers, Timestamp::now()),
    }
}

/// `Retry-After`: seconds or a date (RFC 9110 §10.2.3).
fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let date = jiff::fmt::rfc2822::parse(text).ok()?.timestamp();
    Duration::try_from(date.duration_since(now)).ok()
}

/// The value of `webhook-signature`: one signature per secret.
fn sign(endpoint: &Endpoint, id: Uuid, body: &str, timestamp: i64) -> Option<String> {
    let signatures: Option<Vec<String>> = std::iter::once(&endpoint.secret)
        .chain(&endpoint.previous)
        .map(|secret| {
            let webhook = Webhook::new(secret.expose_secret()).ok()?;
            webhook.sign(&id.to_string(), timestamp, body.as_bytes()).ok()
        })
        .collect();
    Some(signatures?.join(" "))
}

/// Checks an endpoint's URL and resolves its host. Returns the URL and the addresses.
async fn destination(app: &App, sandbox: bool, url: &str) -> Result<(Url, Option<Vec<SocketAddr>>), String> {
    let is_allowed = |host: &str| app.config.webhook_host_allowed(host);
    let to = Destination::check(url, sandbox, is_allowed).map_err(|fault| fault.to_string())?;
    if to.address().is_some() {
        return Ok((to.url, None));
    }
    let found = tokio::net::lookup_host((to.host.as_str(), to.port));
    let addresses: Vec<SocketAddr> = match tokio::time::timeout(RESOLVE_WITHIN, found).await {
        Ok(Ok(addresses)) => addresses.collect(),
        _ => Vec::new(),
    };
    if addresses.is_empty() {
        return Err("the host has no address".into());
    }
    for address in &addresses {
        to.admit(address.ip()).map_err(|fault| fault.to_string())?;
    }
    Ok((to.url, Some(addresses)))
}

/// Sends a test message and returns its event id.
pub async fn send_test(db: &store::Db, scope: Scope, flow_id: Uuid) -> Result<Uuid, Problem> {
    store::transaction!(db, |tx| -> Result<Uuid, Problem> {
        let flow = store::flows::get(tx, scope, flow_id).await?;
        if flow
            .ok_or_else(|| {
                Problem::not_found("Flow not found in this account and mode (sandbox Flows need --sandbox)")
            })?
            .webhook_url
            .is_none()
        {
            return Err(Problem::invalid("webhookUrl - the Flow has none: set one first"));
        }
        let data = json!({"flowId": flow_id, "isSandbox": scope.sandbox});
        events::enqueue(tx, scope, flow_id, events::TEST, &data).await
    })
}

/// Makes an event due again, by the command line. Returns whether it exists.
pub async fn resend_alone(db: &store::Db, scope: Scope, event: Uuid) -> Result<bool, store::Error> {
    store::transaction!(db, |tx| -> Result<bool, store::Error> {
        outbox::resend(tx, scope, event).await
    })
}

/// A Flow's endpoint with its secret, created if it does not exist; `None` without such a Flow.
pub async fn endpoint(db: &store::Db, scope: Scope, flow_id: Uuid) -> Result<Option<Endpoint>, store::Error> {
    store::transaction!(db, |tx| -> Result<Option<Endpoint>, store::Error> {
        webhooks::get_or_create(tx, scope, flow_id).await
    })
}

/// Gives a Flow's endpoint a new secret, by the command line.
pub async fn rotate_alone(db: &store::Db, scope: Scope, flow_id: Uuid) -> Result<SecretString, Problem> {
    store::transaction!(db, |tx| -> Result<SecretString, Problem> {
        rotate(tx, scope, flow_id, None).await
    })
}

/// The secret that signs a Flow's messages, created if it does not exist. Showing it is recorded in the audit
/// trail.
pub async fn show_secret(app: &App, caller: &Caller, flow_id: Uuid) -> Result<SecretString, Problem> {
    store::transaction!(app.db, |tx| -> Result<SecretString, Problem> {
        let endpoint = webhooks::get_or_create(tx, caller.scope, flow_id).await?;
        let endpoint = endpoint.ok_or_else(|| Problem::not_found("Flow not found"))?;
        let id = flow_id.to_string();
        audit::write(tx, caller.scope, &caller.audit_entry("webhook.secret_shown", &id)).await?;
        Ok(endpoint.secret)
    })
}

/// As [`rotate`], for a caller, with a row in the audit trail.
pub async fn rotate_for(app: &App, caller: &Caller, flow_id: Uuid) -> Result<SecretString, Problem> {
    store::transaction!(app.db, |tx| -> Result<SecretString, Problem> {
        let secret = rotate(tx, caller.scope, flow_id, None).await?;
        let id = flow_id.to_string();
        audit::write(
            tx,
            caller.scope,
            &caller.audit_entry("webhook.secret_rotated", &id),
        )
        .await?;
        Ok(secret)
    })
}

/// Sends an event again, under the same id.
pub async fn resend(app: &App, caller: &Caller, id: Uuid) -> Result<(), Problem> {
    store::transaction!(app.db, |tx| -> Result<(), Problem> {
        if !outbox::resend(tx, caller.scope, id).await? {
            return Err(Problem::not_found("No such event"));
        }
        let id = id.to_string();
        audit::write(tx, caller.scope, &caller.audit_entry("webhook.resent", &id)).await?;
        Ok(())
    })
}

/// Sends every event again that was given up since a time (ms). Returns how many.
pub async fn resend_given_up(
    app: &App,
    caller: &Caller,
    flow_id: Option<Uuid>,
    since: i64,
) -> Result<u64, Problem> {
    store::transaction!(app.db, |tx| -> Result<u64, Problem> {
        let count = outbox::resend_given_up(tx, caller.scope, flow_id, since).await?;
        let subject = flow_id.map_or_else(|| "all".to_owned(), |id| id.to_string());
        audit::write(
            tx,
            caller.scope,
            &caller.audit_entry("webhook.resent_all", &subject),
        )
        .await?;
        Ok(count)
    })
}

/// Replaces a Flow's secret. The old one also signs for one day.
pub async fn rotate(
    tx: &mut Tx,
    scope: Scope,
    flow_id: Uuid,
    secret: Option<SecretString>,
) -> Result<SecretString, Problem> {
    webhooks::rotate(tx, scope, flow_id, secret, BOTH_SECRETS_MS)
        .await?
        .ok_or_else(|| Problem::not_found("Flow not found"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_and_end() {
        for (tries, jitter, seconds) in [
            (1, 0.0, Some(5)),
            (1, 1.0, Some(6)),
            (2, 0.0, Some(300)),
            (9, 0.0, Some(86_400)),
            (10, 0.0, None),
        ] {
            assert_eq!(
                wait(tries, jitter, None),
                seconds.map(Duration::from_secs),
                "{tries}"
            );
        }
        let hour = Duration::from_hours(1);
        assert_eq!(
            wait(1, 0.0, Some(hour)),
            Some(hour),
            "the receiver's own time is honoured"
        );
        assert_eq!(wait(9, 0.0, Some(hour)), Some(Duration::from_hours(24)));
        assert_eq!(
            wait(1, 0.0, Some(hour * 1_000)),
            Some(Duration::from_hours(24)),
            "but not for ever"
        );
    }

    #[test]
    fn a_flow_has_no_more_than_its_places() {
        let busy = FlowDeliveries::default();
        let scope = Scope {
            merchant_id: Uuid::nil(),
            sandbox: true,
        };
        let (one, other) = ((scope, Uuid::from_u128(1)), (scope, Uuid::from_u128(2)));
        let mut places: Vec<_> = (0..OF_ONE_FLOW).map(|_| busy.take_slot(one)).collect();
        assert!(places.iter().all(Option::is_some) && busy.take_slot(one).is_none());
        assert!(busy.take_slot(other).is_some(), "another Flow has its own");
        places.pop();
        assert!(busy.take_slot(one).is_some());
        drop(places);
        assert!(busy.counts().is_empty());
    }

    #[test]
    fn a_receiver_says_when() {
        let now: Timestamp = "2026-11-21T10:00:00Z".parse().unwrap();
        for (text, seconds) in [
            ("120", Some(120)),
            ("Sat, 21 Nov 2026 10:01:00 GMT", Some(60)),
            ("Sat, 21 Nov 2026 09:00:00 GMT", None),
            ("soon", None),
        ] {
            let headers = HeaderMap::from_iter([(RETRY_AFTER, text.parse().unwrap())]);
            assert_eq!(
                retry_after(&headers, now),
                seconds.map(Duration::from_secs),
                "{text}"
            );
        }
    }
}
