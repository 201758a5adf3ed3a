//! `Idempotency-Key` (`docs/decisions/0008-idempotency.md`): a request is carried out once in 24 hours, and
//! repetitions receive the same response.
//!
//! The response is stored in the transaction that causes it, so a node that dies leaves either both or
//! neither. Refusals (4xx, 5xx) are not stored. They changed nothing, and the same key may be used again.
//!
//! The request has a lease and renews it while it works. It can still lose the lease, because the node
//! stopped for a while or the database returned to an earlier state. Another request may then have started,
//! so storing the answer fails, the transaction rolls back, and the client receives 409.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use http::StatusCode;
use serde::Serialize;
use store::idempotency::{self, KeyLease, KeyState, ResponseSubject};
use store::{Db, Scope, Tx};
use tokio::task::AbortHandle;

use crate::App;
use crate::problem::{Kind, Problem};

/// The maximum length of a key, in bytes.
const MAX_KEY: usize = 255;

/// A JSON response, byte for byte.
#[derive(Clone, Debug)]
pub struct Answer {
    status: StatusCode,
    body: Vec<u8>,
    log_id: Option<i64>,
    is_replayed: bool,
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
            is_replayed: false,
        })
    }

    /// The same response, marked as the response of a verification.
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

    /// The status.
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// Converts the response to its body.
    pub fn into_body(self) -> Vec<u8> {
        self.body
    }

    /// The log id of the attempt that it describes.
    pub fn attempt(&self) -> Option<i64> {
        self.log_id
    }

    /// Whether it repeats the response to an earlier request.
    pub fn is_replayed(&self) -> bool {
        self.is_replayed
    }
}

/// Whether a request must be carried out.
pub enum ClaimOutcome {
    /// It must be carried out.
    Fresh(Claim),
    /// It was carried out before; this is its response.
    Answered(Answer),
}

/// The right to carry out a request. It is given up when it is dropped unsettled, because the caller has
/// gone.
pub struct Claim {
    ticket: Option<KeyLease>,
    scope: Scope,
    db: Db,
    settled: AtomicBool,
    renewal: Option<AbortHandle>,
}

/// Claims the key of a request (the value of its `Idempotency-Key`), if it has one. A repetition must have
/// the same `content`.
pub async fn start(
    app: &App,
    scope: Scope,
    key: Option<&[u8]>,
    operation: &str,
    content: &[u8],
) -> Result<ClaimOutcome, Problem> {
    let lease_ms = i64::from(app.config.idempotency_lease_ms);
    let fresh = |ticket: Option<KeyLease>| {
        let renewal = ticket
            .clone()
            .map(|ticket| renew(app.db.clone(), scope, ticket, lease_ms));
        ClaimOutcome::Fresh(Claim {
            renewal: renewal.map(|renewal| tokio::spawn(renewal).abort_handle()),
            ticket,
            scope,
            db: app.db.clone(),
            settled: AtomicBool::new(false),
        })
    };
    let Some(key) = key else {
        return Ok(fresh(None));
    };
    let is_printable = |key: &&str| key.bytes().all(|byte| matches!(byte, b'\t' | b' '..=b'~'));
    let key = std::str::from_utf8(key)
        .ok()
        .filter(|key| (1..=MAX_KEY).contains(&key.len()))
        .filter(is_printable)
        .ok_or_else(|| {
            Problem::validation(vec![format!(
                "Idempotency-Key - must have 1 to {MAX_KEY} printable ASCII characters"
            )])
        })?;
    let begun = store::transaction!(app.db, |tx| -> Result<KeyState, Problem> {
        Ok(idempotency::claim_key(tx, scope, operation, key, content, lease_ms).await?)
    })?;
    match begun {
        KeyState::Claimed(ticket) => Ok(fresh(Some(ticket))),
        KeyState::Replay { status, body } => {
            let status = StatusCode::from_u16(status).map_err(Problem::internal)?;
            Ok(ClaimOutcome::Answered(Answer {
                status,
                body,
                log_id: None,
                is_replayed: true,
            }))
        }
        KeyState::Mismatch => Err(Problem::new(
            Kind::Mismatch,
            "This Idempotency-Key was used with another request; use a new key",
        )),
        KeyState::InProgress => Err(Problem::new(
            Kind::Conflict,
            "A request with this Idempotency-Key is still being carried out",
        )),
        KeyState::Erased => Err(Problem::new(
            Kind::Conflict,
            "The answer to this Idempotency-Key was erased; use a new key for a new request",
        )),
    }
}

/// Renews a lease three times per lease period, until it is lost or the task is stopped.
async fn renew(db: Db, scope: Scope, ticket: KeyLease, lease_ms: i64) {
    let pause = Duration::from_millis(lease_ms.unsigned_abs() / 3);
    loop {
        tokio::time::sleep(pause).await;
        let renewed = store::transaction!(db, |tx| -> Result<bool, store::Error> {
            idempotency::renew(tx, scope, &ticket, lease_ms).await
        });
        match renewed {
            Ok(true) => {}
            Ok(false) => return,
            Err(error) => tracing::warn!(%error, "the lease of an idempotency key could not be renewed"),
        }
    }
}

impl Claim {
    /// Stores the response in the transaction that causes it.
    ///
    /// # Errors
    /// [`store::Error::LeaseLost`] when another request has taken over: the transaction must roll back.
    pub async fn complete(
        &self,
        tx: &mut Tx,
        answer: &Answer,
        describes: ResponseSubject<'_>,
    ) -> Result<(), store::Error> {
        let Some(ticket) = &self.ticket else {
            return Ok(());
        };
        let kept = (answer.status.as_u16(), answer.body.as_slice());
        idempotency::complete(tx, self.scope, ticket, kept, describes).await
    }

    /// Ends the claim. A refusal releases the key.
    pub fn settle(self, result: Result<Answer, Problem>) -> Result<Answer, Problem> {
        self.settled.store(result.is_ok(), Ordering::Release);
        result
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        if let Some(renewal) = self.renewal.take() {
            renewal.abort();
        }
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
