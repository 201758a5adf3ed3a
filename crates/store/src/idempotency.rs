//! `Idempotency-Key`: the server carries out the first request with a key and repeats its response for 24
//! hours.
//!
//! The request that claims a key has a lease and renews it while it works. [`complete`] fails if another
//! request has taken over the lease. Then the transaction of the first request rolls back, so one key never
//! has two effects.
//!
//! A response about a verification is sealed under the key of its attempt and deleted with the attempt. Every
//! other response is sealed under the account's key.

use uuid::Uuid;

use crate::keyring::{DataKey, SealContext};
use crate::labels::external_ref;
use crate::sql::{execute, fetch};
use crate::{Conn, Error, Scope, Tx, attempts, merchants};

/// How long a key is stored (ms).
const KEPT_MS: i64 = 24 * 60 * 60 * 1000;
/// How long the lease of a row of an earlier version lasts (ms).
const EARLIER_LEASE_MS: i64 = 5 * 60 * 1000;
/// The status of a row whose response was erased.
const ERASED: i64 = 410;

/// The state of a key when a request begins.
#[derive(Debug)]
pub enum KeyState {
    /// The key is new. Carry out the request, then call [`complete`] or [`abandon`].
    Claimed(KeyLease),
    /// The same request has a stored response.
    Replay {
        /// The HTTP status of the response.
        status: u16,
        /// Its body.
        body: Vec<u8>,
    },
    /// The key belongs to a different request.
    Mismatch,
    /// The same request is still being carried out.
    InProgress,
    /// The response was deleted together with the person or attempt that it described.
    Erased,
}

/// The lease of a key: the right to store its response.
#[derive(Clone, Debug)]
pub struct KeyLease {
    key_ref: Vec<u8>,
    lease_id: Uuid,
}

/// What a response describes. It decides which key seals the response and which erasure deletes it.
#[derive(Clone, Copy, Debug)]
pub enum ResponseSubject<'a> {
    /// A verification. The attempt's key seals the response.
    Attempt {
        /// The attempt.
        id: Uuid,
        /// Its key.
        key: &'a DataKey,
    },
    /// Something with a merchant's label for a person.
    Label(&'a str),
    /// Nothing about a person.
    Configuration,
}

/// Claims a key for `lease_ms`. `operation` separates endpoints; `fingerprint` identifies the content of the
/// request.
///
/// # Errors
/// [`Error::Sealed`] if the stored response does not open.
pub async fn claim_key(
    tx: &mut Tx,
    scope: Scope,
    operation: &str,
    key: &str,
    fingerprint: &[u8],
    lease_ms: i64,
) -> Result<KeyState, Error> {
    let key_ref = tx
        .keyring()
        .blind(scope, "idempotency key", &format!("{operation} {key}"));
    let body_ref = tx
        .keyring()
        .hash("idempotency body", &[&key_ref, fingerprint])
        .to_vec();
    let (now, lease_id) = (tx.now(), Uuid::new_v4());
    // Inserts the row, or takes over a row that has expired or whose lease has ended.
    let claimed = execute!(
        tx,
        scope,
        "insert into idempotency_keys as k
             (merchant_id, sandbox, key_ref, body_ref, started_at, expires_at, lease_id, lease_until)
         values ($1, $2, $3, $4, $5, $6, $7, $8)
         on conflict (merchant_id, sandbox, key_ref) do update
             set body_ref = excluded.body_ref, status = null, answer_sealed = null, attempt_id = null,
                 label_ref = null, started_at = excluded.started_at, expires_at = excluded.expires_at,
                 lease_id = excluded.lease_id, lease_until = excluded.lease_until
             where k.expires_at <= $5 or (k.status is null and coalesce(k.lease_until, k.started_at + $9) <= $5)",
        &key_ref,
        &body_ref,
        now,
        now + KEPT_MS,
        lease_id,
        now + lease_ms,
        EARLIER_LEASE_MS,
    )?;
    if claimed == 1 {
        return Ok(KeyState::Claimed(KeyLease { key_ref, lease_id }));
    }
    answered(tx, scope, &key_ref, &body_ref).await
}

#[derive(sqlx::FromRow)]
struct Row {
    body_ref: Vec<u8>,
    status: Option<i64>,
    answer_sealed: Option<Vec<u8>>,
    attempt_id: Option<Uuid>,
}

/// The state of a key that another request has claimed.
async fn answered(conn: &mut Conn, scope: Scope, key_ref: &[u8], body_ref: &[u8]) -> Result<KeyState, Error> {
    let row = fetch!(
        one,
        conn,
        scope,
        Row,
        "select body_ref, status, answer_sealed, attempt_id from idempotency_keys
         where merchant_id = $1 and sandbox = $2 and key_ref = $3",
        key_ref
    )?;
    let sealed = match (row.status, row.answer_sealed) {
        (Some(ERASED), None) => return Ok(KeyState::Erased),
        _ if row.body_ref != body_ref => return Ok(KeyState::Mismatch),
        (None, _) => return Ok(KeyState::InProgress),
        (Some(_), sealed) => sealed.ok_or(Error::Sealed)?,
    };
    let key = match row.attempt_id {
        None => merchants::key(conn, scope.merchant_id).await?,
        Some(id) => match attempts::key(conn, scope, id).await? {
            Some(key) => key,
            None => return Ok(KeyState::Erased),
        },
    };
    let status = row.status.and_then(|status| u16::try_from(status).ok());
    Ok(KeyState::Replay {
        body: key.open(&seal_context(scope, key_ref), &sealed)?.to_vec(),
        status: status.ok_or(Error::Sealed)?,
    })
}

fn seal_context(scope: Scope, key_ref: &[u8]) -> SealContext<'_> {
    SealContext {
        merchant_id: scope.merchant_id,
        what: "idempotency_keys.answer",
        id: key_ref,
    }
}

/// Renews a lease for `lease_ms` from now. `false` if another request has taken it over or the response is
/// stored already.
pub async fn renew(tx: &mut Tx, scope: Scope, ticket: &KeyLease, lease_ms: i64) -> Result<bool, Error> {
    let until = tx.now() + lease_ms;
    let renewed = execute!(
        tx,
        scope,
        "update idempotency_keys set lease_until = $5
         where merchant_id = $1 and sandbox = $2 and key_ref = $3 and lease_id = $4 and status is null",
        &ticket.key_ref,
        ticket.lease_id,
        until
    )?;
    Ok(renewed == 1)
}

/// Stores the response until 24 hours after the request began.
///
/// # Errors
/// [`Error::LeaseLost`] if another request has taken over the lease. The caller must roll the transaction
/// back.
pub async fn complete(
    tx: &mut Tx,
    scope: Scope,
    ticket: &KeyLease,
    (status, body): (u16, &[u8]),
    describes: ResponseSubject<'_>,
) -> Result<(), Error> {
    let place = seal_context(scope, &ticket.key_ref);
    let (attempt_id, label_ref) = match describes {
        ResponseSubject::Attempt { id, .. } => (Some(id), None),
        ResponseSubject::Label(label) => (None, Some(external_ref(tx, scope, label))),
        ResponseSubject::Configuration => (None, None),
    };
    let sealed = match describes {
        ResponseSubject::Attempt { key, .. } => key.seal(&place, body),
        ResponseSubject::Label(_) | ResponseSubject::Configuration => {
            merchants::key(tx, scope.merchant_id).await?.seal(&place, body)
        }
    };
    let completed = execute!(
        tx,
        scope,
        "update idempotency_keys set status = $5, answer_sealed = $6, attempt_id = $7, label_ref = $8
         where merchant_id = $1 and sandbox = $2 and key_ref = $3 and lease_id = $4 and status is null",
        &ticket.key_ref,
        ticket.lease_id,
        i64::from(status),
        &sealed,
        attempt_id,
        label_ref
    )?;
    match completed {
        0 => Err(Error::LeaseLost),
        _ => Ok(()),
    }
}

/// Deletes the key so that the request may be tried again, for responses such as 429 and 503.
pub async fn abandon(tx: &mut Tx, scope: Scope, ticket: &KeyLease) -> Result<(), Error> {
    execute!(
        tx,
        scope,
        "delete from idempotency_keys
         where merchant_id = $1 and sandbox = $2 and key_ref = $3 and lease_id = $4 and status is null",
        &ticket.key_ref,
        ticket.lease_id
    )
    .map(|_| ())
}

/// Deletes the response about an attempt and the hash of its request. The key stays taken until it expires,
/// so a late repetition does not bring an erased person back.
pub(crate) async fn erase_attempt(tx: &mut Tx, scope: Scope, attempt_id: Uuid) -> Result<(), Error> {
    const SQL: &str =
        "update idempotency_keys set status = $4, answer_sealed = null, body_ref = $5, attempt_id = null
               where merchant_id = $1 and sandbox = $2 and attempt_id = $3";
    let nothing: &[u8] = &[];
    execute!(tx, scope, SQL, attempt_id, ERASED, nothing).map(|_| ())
}

/// [`erase_attempt`] for the responses that contain a label.
pub(crate) async fn erase_label(tx: &mut Tx, scope: Scope, label_ref: &[u8]) -> Result<(), Error> {
    const SQL: &str =
        "update idempotency_keys set status = $4, answer_sealed = null, body_ref = $5, label_ref = null
               where merchant_id = $1 and sandbox = $2 and label_ref = $3";
    let nothing: &[u8] = &[];
    execute!(tx, scope, SQL, label_ref, ERASED, nothing).map(|_| ())
}

/// Deletes the account's responses that an earlier version stored. They do not record whom they describe, and
/// they are at most a day old.
pub(crate) async fn erase_earlier(tx: &mut Tx, scope: Scope) -> Result<(), Error> {
    const SQL: &str = "delete from idempotency_keys
               where merchant_id = $1 and sandbox = $2 and lease_id is null and status is not null";
    execute!(tx, scope, SQL).map(|_| ())
}

/// Deletes the expired keys; returns how many.
pub async fn sweep(tx: &mut Tx) -> Result<u64, Error> {
    let now = tx.now();
    execute!(
        tx,
        across_accounts("retention deletes every account's keys"),
        "delete from idempotency_keys where expires_at <= $1",
        now
    )
}
