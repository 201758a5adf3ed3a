//! `Idempotency-Key` (`decisions.md` §8): the same request is carried out once in 24 hours and answered alike every time.
//!
//! The answer is kept in the transaction that causes it, so a node that dies leaves either both or neither. Refusals (4xx, 5xx)
//! are not kept: they moved nothing, and the same key may try again.

use std::sync::atomic::{AtomicBool, Ordering};

use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::Response;
use serde::Serialize;
use store::idempotency::{self, Begin, Ticket};
use store::{Db, Scope, Tx};

use super::api_log::OfAttempt;
use crate::app::App;
use crate::error::{Kind, Problem};

/// Longest key.
const MAX_KEY: usize = 255;
/// Says that an answer is a repetition.
const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

/// A JSON answer, to the byte.
#[derive(Clone, Debug)]
pub struct Answer {
    status: StatusCode,
    body: Vec<u8>,
    log_id: Option<i64>,
}

impl Answer {
    /// A status and a body.
    ///
    /// # Errors
    /// If JSON cannot write the body: an empty one must not be stored and repeated as the answer.
    pub fn json(status: StatusCode, body: &impl Serialize) -> Result<Self, Problem> {
        Ok(Answer {
            status,
            body: serde_json::to_vec(body).map_err(Problem::internal)?,
            log_id: None,
        })
    }

    /// That tells of a verification.
    #[must_use]
    pub fn of_attempt(self, log_id: i64) -> Self {
        Answer {
            log_id: Some(log_id),
            ..self
        }
    }

    /// The body.
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    fn into_response(self) -> Response {
        let mut response = Response::new(Body::from(self.body));
        *response.status_mut() = self.status;
        response
            .headers_mut()
            .insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(log_id) = self.log_id {
            response.extensions_mut().insert(OfAttempt(log_id));
        }
        response
    }
}

/// Whether to carry a request out.
pub enum Start {
    /// Carry it out.
    Fresh(Claim),
    /// It was: this is the answer.
    Answered(Response),
}

/// The right to carry out a request; given back when dropped unsettled (its caller has gone).
pub struct Claim {
    ticket: Option<Ticket>,
    scope: Scope,
    db: Db,
    settled: AtomicBool,
}

/// Whether the request has a key.
pub fn is_asked_for(headers: &HeaderMap) -> bool {
    headers.contains_key("idempotency-key")
}

/// Claims the request's key, if it has one. `content` is what must be the same in a repetition.
pub async fn start(
    app: &App,
    scope: Scope,
    headers: &HeaderMap,
    operation: &str,
    content: &[u8],
) -> Result<Start, Problem> {
    let fresh = |ticket| {
        Start::Fresh(Claim {
            ticket,
            scope,
            db: app.db.clone(),
            settled: AtomicBool::new(false),
        })
    };
    let Some(key) = headers.get("idempotency-key") else {
        return Ok(fresh(None));
    };
    let key = key
        .to_str()
        .ok()
        .filter(|key| (1..=MAX_KEY).contains(&key.len()))
        .ok_or_else(|| {
            Problem::validation(vec![format!(
                "Idempotency-Key - must have 1 to {MAX_KEY} printable ASCII characters"
            )])
        })?;
    let begun = store::transaction!(app.db, |tx| -> Result<Begin, Problem> {
        Ok(idempotency::begin(tx, scope, operation, key, content).await?)
    })?;
    match begun {
        Begin::Fresh(ticket) => Ok(fresh(Some(ticket))),
        Begin::Replay { status, body } => {
            let status = StatusCode::from_u16(status).map_err(Problem::internal)?;
            let mut response = Answer {
                status,
                body,
                log_id: None,
            }
            .into_response();
            response
                .headers_mut()
                .insert(REPLAYED, HeaderValue::from_static("true"));
            Ok(Start::Answered(response))
        }
        Begin::Mismatch => Err(Problem::new(
            Kind::Mismatch,
            "This Idempotency-Key was used with another request; use a new key",
        )),
        Begin::InProgress => Err(Problem::new(
            Kind::Conflict,
            "A request with this Idempotency-Key is still being carried out",
        )),
    }
}

impl Claim {
    /// Keeps the answer, in the transaction that causes it.
    pub async fn complete(&self, tx: &mut Tx, answer: &Answer) -> Result<(), store::Error> {
        match &self.ticket {
            Some(ticket) => {
                idempotency::complete(tx, self.scope, ticket, answer.status.as_u16(), &answer.body).await
            }
            None => Ok(()),
        }
    }

    /// The response; a refusal gives the key back.
    pub fn settle(self, result: Result<Answer, Problem>) -> Result<Response, Problem> {
        self.settled.store(result.is_ok(), Ordering::Release);
        result.map(Answer::into_response)
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        if self.settled.load(Ordering::Acquire) {
            return;
        }
        let (Some(ticket), db, scope) = (self.ticket.take(), self.db.clone(), self.scope) else {
            return;
        };
        tokio::spawn(async move {
            let given_back = store::transaction!(db, |tx| -> Result<(), store::Error> {
                idempotency::abandon(tx, scope, &ticket).await
            });
            if let Err(error) = given_back {
                tracing::warn!(%error, "an idempotency key could not be given back");
            }
        });
    }
}
