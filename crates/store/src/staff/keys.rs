//! The keys of members of staff. Each key is in its member's row, wrapped by a master key.

use uuid::Uuid;

use crate::keyring::{DataKey, SealContext};
use crate::sql::{execute, fetch};
use crate::{Conn, Error, Tx};

pub(super) const WRAPPED_KEY: &str = "staff.wrapped_key";

/// The context of a sealed value. The account is nil, because a member may belong to several merchants.
pub(crate) fn seal_context<'a>(id: &'a Uuid, what: &'a str) -> SealContext<'a> {
    SealContext {
        merchant_id: Uuid::nil(),
        what,
        id: id.as_bytes(),
    }
}

/// A member's data key.
pub(crate) async fn key(conn: &mut Conn, id: Uuid) -> Result<DataKey, Error> {
    const SQL: &str = "select wrapped_key from staff where id = $1";
    let (wrapped,) = fetch!(optional, conn, installation, (Vec<u8>,), SQL, id)?
        .ok_or(Error::Missing("member of staff"))?;
    conn.keyring()
        .unwrap_key(&seal_context(&id, WRAPPED_KEY), &wrapped)
}

/// Wraps every member's key by the keyring's newest master key; returns how many.
///
/// # Errors
/// [`Error::Sealed`] if none of this keyring's master keys wrapped a key.
pub async fn rewrap_keys(tx: &mut Tx) -> Result<u64, Error> {
    let mut count = 0;
    for (id,) in fetch!(all, tx, installation, (Uuid,), "select id from staff")? {
        let key = key(tx, id).await?;
        let wrapped = tx.keyring().wrap(&seal_context(&id, WRAPPED_KEY), &key);
        count += execute!(
            tx,
            installation,
            "update staff set wrapped_key = $2 where id = $1",
            id,
            &wrapped
        )?;
    }
    Ok(count)
}
