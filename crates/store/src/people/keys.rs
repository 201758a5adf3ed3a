//! The keys of people. Each key is in its person's row, wrapped by the account's key. This module neither
//! creates nor destroys keys.

use uuid::Uuid;

use crate::keyring::{DataKey, SealContext};
use crate::sql::fetch;
use crate::{Conn, Error, Scope, merchants};

fn key_context(scope: Scope, facemap_id: &Uuid) -> SealContext<'_> {
    SealContext {
        merchant_id: scope.merchant_id,
        what: "people.wrapped_key",
        id: facemap_id.as_bytes(),
    }
}

/// A person's key, which wraps the keys of the person's attempts.
///
/// # Errors
/// [`Error::Missing`] if there is no such person (aliases are not followed); [`Error::Sealed`].
pub async fn key(conn: &mut Conn, scope: Scope, facemap_id: Uuid) -> Result<DataKey, Error> {
    let wrapped = wrapped_key(conn, scope, facemap_id).await?;
    let merchant_key = merchants::key(conn, scope.merchant_id).await?;
    unwrap_key(&merchant_key, scope, &facemap_id, &wrapped)
}

/// The wrapped key in a person's row.
pub(crate) async fn wrapped_key(conn: &mut Conn, scope: Scope, facemap_id: Uuid) -> Result<Vec<u8>, Error> {
    const SQL: &str =
        "select wrapped_key from people where merchant_id = $1 and sandbox = $2 and facemap_id = $3";
    let row = fetch!(optional, conn, scope, (Vec<u8>,), SQL, facemap_id)?;
    row.map(|(wrapped,)| wrapped).ok_or(Error::Missing("person"))
}

pub(crate) fn wrap_key(merchant_key: &DataKey, scope: Scope, facemap_id: &Uuid, key: &DataKey) -> Vec<u8> {
    merchant_key.wrap(&key_context(scope, facemap_id), key)
}

pub(crate) fn unwrap_key(
    merchant_key: &DataKey,
    scope: Scope,
    facemap_id: &Uuid,
    wrapped: &[u8],
) -> Result<DataKey, Error> {
    merchant_key.unwrap_key(&key_context(scope, facemap_id), wrapped)
}
