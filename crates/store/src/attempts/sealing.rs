//! How an attempt is sealed: the person's key wraps the attempt's key, which seals the attempt's columns.

use uuid::Uuid;

use crate::keyring::{DataKey, SealContext};
use crate::sql::{execute, fetch};
use crate::{Conn, Error, Scope, Tx, merchants, people};

/// Unwraps an attempt's key with the keys above it. Each pair is an id and the wrapped key of that row.
pub(crate) fn unwrap(
    merchant_key: &DataKey,
    scope: Scope,
    (facemap_id, person_key): (&Uuid, &[u8]),
    (id, wrapped): (&Uuid, &[u8]),
) -> Result<DataKey, Error> {
    let person_key = people::unwrap_key(merchant_key, scope, facemap_id, person_key)?;
    person_key.unwrap_key(&seal_context(scope, "attempts.wrapped_key", id), wrapped)
}

/// Opens the merchant's label of an attempt.
pub(crate) fn open_external_id(
    key: &DataKey,
    scope: Scope,
    id: &Uuid,
    sealed: &[u8],
) -> Result<String, Error> {
    key.open_text(&seal_context(scope, "attempts.external_id", id), sealed)
}

const NAMES: &str = "attempts.names";

/// Seals the names under which an attempt was screened.
pub(crate) fn seal_names(key: &DataKey, scope: Scope, id: &Uuid, names: &str) -> Vec<u8> {
    key.seal(&seal_context(scope, NAMES, id), names.as_bytes())
}

/// Opens the names under which an attempt was screened.
pub(crate) fn open_names(key: &DataKey, scope: Scope, id: &Uuid, sealed: &[u8]) -> Result<String, Error> {
    key.open_text(&seal_context(scope, NAMES, id), sealed)
}

pub(super) fn seal_context<'a>(scope: Scope, what: &'a str, id: &'a Uuid) -> SealContext<'a> {
    SealContext {
        merchant_id: scope.merchant_id,
        what,
        id: id.as_bytes(),
    }
}

/// An attempt's sealed columns.
pub(crate) struct SealedColumns {
    pub(crate) wrapped_key: Vec<u8>,
    pub(crate) external_id: Vec<u8>,
    pub(crate) request: Vec<u8>,
    pub(crate) response: Vec<u8>,
    pub(crate) detail: Vec<u8>,
    pub(crate) names: Vec<u8>,
}

/// The personal data of an attempt.
pub(crate) struct Personal<'a> {
    pub(crate) external_user_id: &'a str,
    pub(crate) request: &'a str,
    pub(crate) response: &'a str,
    pub(crate) detail: &'a str,
    pub(crate) names: &'a str,
}

/// Seals an attempt's personal data under its key, and wraps that key by the person's.
pub(crate) fn seal(
    scope: Scope,
    person_key: &DataKey,
    (id, key): (&Uuid, &DataKey),
    personal: &Personal<'_>,
) -> SealedColumns {
    let seal = |what, text: &str| key.seal(&seal_context(scope, what, id), text.as_bytes());
    SealedColumns {
        wrapped_key: person_key.wrap(&seal_context(scope, "attempts.wrapped_key", id), key),
        external_id: seal("attempts.external_id", personal.external_user_id),
        request: seal("attempts.request", personal.request),
        response: seal("attempts.response", personal.response),
        detail: seal("attempts.detail", personal.detail),
        names: seal_names(key, scope, id, personal.names),
    }
}

/// Seals the reason of a decision for its row.
pub(crate) fn seal_reason(scope: Scope, key: &DataKey, attempt_id: &Uuid, reason: &str) -> Vec<u8> {
    key.seal(
        &seal_context(scope, "decisions.reason", attempt_id),
        reason.as_bytes(),
    )
}

/// An attempt's key; `None` if there is no such attempt.
///
/// # Errors
/// [`Error::Sealed`].
pub(crate) async fn key(conn: &mut Conn, scope: Scope, id: Uuid) -> Result<Option<DataKey>, Error> {
    const SQL: &str = "select a.facemap_id, p.wrapped_key, a.wrapped_key from attempts a join people p
                   on p.merchant_id = a.merchant_id and p.sandbox = a.sandbox and p.facemap_id = a.facemap_id
               where a.merchant_id = $1 and a.sandbox = $2 and a.id = $3";
    type Row = (Uuid, Vec<u8>, Vec<u8>);
    let found = fetch!(optional, conn, scope, Row, SQL, id)?;
    let Some((facemap_id, person_key, wrapped)) = found else {
        return Ok(None);
    };
    let merchant_key = merchants::key(conn, scope.merchant_id).await?;
    unwrap(&merchant_key, scope, (&facemap_id, &person_key), (&id, &wrapped)).map(Some)
}

/// Wraps the keys of a person's attempts again by their renewed key; returns how many it does not open.
pub(crate) async fn rewrap_keys(
    tx: &mut Tx,
    scope: Scope,
    facemap_id: Uuid,
    key: &DataKey,
) -> Result<u64, Error> {
    const SQL: &str =
        "select id, wrapped_key from attempts where merchant_id = $1 and sandbox = $2 and facemap_id = $3";
    const WRAP: &str =
        "update attempts set wrapped_key = $4 where merchant_id = $1 and sandbox = $2 and id = $3";
    let mut unreadable = 0;
    for (id, wrapped) in fetch!(all, tx, scope, (Uuid, Vec<u8>), SQL, facemap_id)? {
        let place = seal_context(scope, "attempts.wrapped_key", &id);
        match key.unwrap_key(&place, &wrapped) {
            Ok(attempt_key) => execute!(tx, scope, WRAP, id, &key.wrap(&place, &attempt_key)).map(|_| ())?,
            Err(_) => unreadable += 1,
        }
    }
    Ok(unreadable)
}
