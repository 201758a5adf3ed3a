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

/// Wraps every account's key by the keyring's newest master key; returns how many.
///
/// # Errors
/// As [`key`].
pub async fn rewrap_keys(tx: &mut Tx) -> Result<u64, Error> {
    let mut count = 0;
    for (id,) in fetch!(all, tx, installation, (Uuid,), "select id from merchants")? {
        let key = key(tx, id).await?;
        let wrapped = tx.keyring().wrap(&key_context(&id), &key);
        count += execute!(
            tx,
            installation,
            "update merchants set wrapped_key = $2 where id = $1",
            id,
            &wrapped
        )?;
    }
    Ok(count)
}
