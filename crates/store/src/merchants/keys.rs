//! The keys of accounts. Each key is in its account's row, wrapped by a master key.

use uuid::Uuid;

use crate::keyring::{DataKey, SealContext};
use crate::sql::{execute, fetch};
use crate::{Conn, Error, Tx};

pub(crate) fn key_context(id: &Uuid) -> SealContext<'_> {
    SealContext {
        merchant_id: *id,
        what: "merchants.wrapped_key",
        id: id.as_bytes(),
    }
}

/// The account's data key, which wraps its people's keys and seals data that belong to no person.
///
/// # Errors
/// [`Error::Missing`] for an unknown account; [`Error::Sealed`] if none of this keyring's master keys wrapped
/// it.
pub async fn key(conn: &mut Conn, id: Uuid) -> Result<DataKey, Error> {
    const SQL: &str = "select wrapped_key from merchants where id = $1";
    let (wrapped,) =
        fetch!(optional, conn, installation, (Vec<u8>,), SQL, id)?.ok_or(Error::Missing("merchant"))?;
    conn.keyring().unwrap_key(&key_context(&id), &wrapped)
}

/// Gives every account whose key an earlier master key wrapped a new key, wrapped by the newest one; returns how many.
/// From then on, new data is sealed under it; [`key_renewal`](crate::key_renewal) replaces the keys below it.
///
/// # Errors
/// As [`key`].
pub async fn rewrap_keys(tx: &mut Tx) -> Result<u64, Error> {
    const SQL: &str = "select id, wrapped_key from merchants";
    const REPLACE: &str = "update merchants set wrapped_key = $2, key_renewal_since = $3 where id = $1";
    let mut count = 0;
    for (id, wrapped) in fetch!(all, tx, installation, (Uuid, Vec<u8>), SQL)? {
        if tx.keyring().is_newest_of(&wrapped)? {
            continue;
        }
        let key = tx.keyring().unwrap_key(&key_context(&id), &wrapped)?.renewed();
        let wrapped = tx.keyring().wrap(&key_context(&id), &key);
        let now = tx.now();
        count += execute!(tx, installation, REPLACE, id, &wrapped, now)?;
    }
    Ok(count)
}
