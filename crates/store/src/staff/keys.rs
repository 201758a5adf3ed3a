//! The keys of members of staff. Each key is in its member's row, wrapped by a master key.

use uuid::Uuid;

use crate::keyring::{DataKey, SealContext};
use crate::sql::fetch;
use crate::{Conn, Error};

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
