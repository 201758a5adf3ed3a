//! The keys of members of staff. Each key is in its member's row, wrapped by a master key.

use uuid::Uuid;

use crate::keyring::{DataKey, SealContext};
use crate::sql::{execute, fetch};
use crate::{Conn, Error, Tx};

// The contexts of a member's sealed columns.
pub(super) const WRAPPED_KEY: &str = "staff.wrapped_key";
pub(super) const EMAIL: &str = "staff.email";
pub(super) const NAME: &str = "staff.name";
pub(super) const TOTP: &str = "staff.totp";

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

/// Gives every member whose key an earlier master key wrapped a new key, wrapped by the newest one, and seals the
/// columns of the member again; returns how many.
///
/// # Errors
/// [`Error::Sealed`] if none of this keyring's master keys wrapped a key.
pub async fn rewrap_keys(tx: &mut Tx) -> Result<u64, Error> {
    type Row = (Uuid, Vec<u8>, Vec<u8>, Vec<u8>, Option<Vec<u8>>);
    const SQL: &str = "select id, wrapped_key, email_sealed, name_sealed, totp_sealed from staff";
    const REPLACE: &str = "update staff set wrapped_key = $2, email_sealed = $3, name_sealed = $4, totp_sealed = $5 where id = $1";
    let mut count = 0;
    for (id, wrapped, email, name, totp) in fetch!(all, tx, installation, Row, SQL)? {
        if tx.keyring().is_newest_of(&wrapped)? {
            continue;
        }
        let place = seal_context(&id, WRAPPED_KEY);
        let key = tx.keyring().unwrap_key(&place, &wrapped)?.renewed();
        let wrapped = tx.keyring().wrap(&place, &key);
        let again = |what, sealed: &[u8]| -> Result<Vec<u8>, Error> {
            let place = seal_context(&id, what);
            Ok(key.seal(&place, &key.open(&place, sealed)?))
        };
        let email = again(EMAIL, &email)?;
        let name = again(NAME, &name)?;
        let totp = totp.map(|sealed| again(TOTP, &sealed)).transpose()?;
        count += execute!(tx, installation, REPLACE, id, &wrapped, &email, &name, totp)?;
    }
    Ok(count)
}
