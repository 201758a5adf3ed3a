//! `Idempotency-Key`: the first request of a key is carried out, its repetitions get its answer. Answers are sealed.

use crate::db::{execute, fetch};
use crate::keyring::Place;
use crate::{Error, Scope, Tx, merchants};

/// How long a key is kept.
const KEPT_MS: i64 = 24 * 60 * 60 * 1000;
/// After this long, a request without an answer is taken to have died with its node.
const LEASE_MS: i64 = 5 * 60 * 1000;

/// What a key stands for.
#[derive(Debug)]
pub enum Begin {
    /// The key is new: carry the request out, then [`complete`] or [`abandon`].
    Fresh(Ticket),
    /// The same request was answered.
    Replay {
        /// The HTTP status of the answer.
        status: u16,
        /// Its body.
        body: Vec<u8>,
    },
    /// The key belongs to another request.
    Mismatch,
    /// The same request is being carried out.
    InProgress,
}

/// The right to answer for a key.
#[derive(Debug)]
pub struct Ticket {
    key_ref: Vec<u8>,
    started_at: i64,
}

/// Claims a key. `operation` keeps endpoints apart; `fingerprint` is whatever identifies the request's content.
///
/// # Errors
/// [`Error::Sealed`] when the stored answer does not open; database errors.
pub async fn begin(
    tx: &mut Tx,
    scope: Scope,
    operation: &str,
    key: &str,
    fingerprint: &[u8],
) -> Result<Begin, Error> {
    let key_ref = tx
        .keyring()
        .blind(scope, "idempotency key", &format!("{operation} {key}"));
    let body_ref = tx
        .keyring()
        .hash("idempotency body", &[&key_ref, fingerprint])
        .to_vec();
    let now = tx.now();
    // Inserts, or takes over what has expired or died.
    let claimed = execute!(
        tx,
        "insert into idempotency_keys as k (merchant_id, sandbox, key_ref, body_ref, started_at, expires_at)
         values ($1, $2, $3, $4, $5, $6)
         on conflict (merchant_id, sandbox, key_ref) do update
             set body_ref = excluded.body_ref, status = null, answer_sealed = null,
                 started_at = excluded.started_at, expires_at = excluded.expires_at
             where k.expires_at <= $5 or (k.status is null and k.started_at <= $7)",
        scope.merchant_id,
        scope.sandbox,
        &key_ref,
        &body_ref,
        now,
        now + KEPT_MS,
        now - LEASE_MS,
    )?;
    if claimed == 1 {
        return Ok(Begin::Fresh(Ticket {
            key_ref,
            started_at: now,
        }));
    }
    let (stored_ref, status, sealed) = fetch!(
        one,
        tx,
        (Vec<u8>, Option<i64>, Option<Vec<u8>>),
        "select body_ref, status, answer_sealed from idempotency_keys
         where merchant_id = $1 and sandbox = $2 and key_ref = $3",
        scope.merchant_id,
        scope.sandbox,
        &key_ref,
    )?;
    if stored_ref != body_ref {
        return Ok(Begin::Mismatch);
    }
    let (Some(status), Some(sealed)) = (status, sealed) else {
        return Ok(Begin::InProgress);
    };
    let body = merchants::key(tx, scope.merchant_id)
        .await?
        .open(&place(scope, &key_ref), &sealed)?;
    Ok(Begin::Replay {
        status: u16::try_from(status).map_err(|_| Error::Sealed)?,
        body: body.to_vec(),
    })
}

fn place(scope: Scope, key_ref: &[u8]) -> Place<'_> {
    Place {
        merchant_id: scope.merchant_id,
        what: "idempotency_keys.answer",
        id: key_ref,
    }
}

/// Keeps the answer for 24 hours from the beginning.
///
/// # Errors
/// Database errors.
pub async fn complete(
    tx: &mut Tx,
    scope: Scope,
    ticket: &Ticket,
    status: u16,
    body: &[u8],
) -> Result<(), Error> {
    let sealed = merchants::key(tx, scope.merchant_id)
        .await?
        .seal(&place(scope, &ticket.key_ref), body);
    execute!(
        tx,
        "update idempotency_keys set status = $5, answer_sealed = $6
         where merchant_id = $1 and sandbox = $2 and key_ref = $3 and started_at = $4 and status is null",
        scope.merchant_id,
        scope.sandbox,
        &ticket.key_ref,
        ticket.started_at,
        i64::from(status),
        &sealed,
    )
    .map(|_| ())
}

/// Forgets the key, so that the request may be tried again: for answers such as 429 and 503.
///
/// # Errors
/// Database errors.
pub async fn abandon(tx: &mut Tx, scope: Scope, ticket: &Ticket) -> Result<(), Error> {
    execute!(
        tx,
        "delete from idempotency_keys
         where merchant_id = $1 and sandbox = $2 and key_ref = $3 and started_at = $4 and status is null",
        scope.merchant_id,
        scope.sandbox,
        &ticket.key_ref,
        ticket.started_at,
    )
    .map(|_| ())
}

/// Deletes what has expired; answers how many.
///
/// # Errors
/// Database errors.
pub async fn sweep(tx: &mut Tx) -> Result<u64, Error> {
    let now = tx.now();
    execute!(tx, "delete from idempotency_keys where expires_at <= $1", now)
}
