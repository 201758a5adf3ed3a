//! The secret of a member's authenticator app, sealed under the member's key. This module computes no codes.

use uuid::Uuid;
use zeroize::Zeroizing;

use super::keys::{TOTP, key, seal_context};
use crate::sql::{execute, fetch};
use crate::{Conn, Error, Tx};

/// The length of a secret (RFC 4226 recommends 160 bits).
const TOTP_BYTES: usize = 20;

/// The TOTP secret of a member's authenticator app.
///
/// # Errors
/// [`Error::Missing`]; [`Error::Sealed`].
pub async fn totp(conn: &mut Conn, id: Uuid) -> Result<Option<Zeroizing<Vec<u8>>>, Error> {
    const SQL: &str = "select totp_sealed from staff where id = $1";
    let row = fetch!(optional, conn, installation, (Option<Vec<u8>>,), SQL, id)?;
    let (sealed,) = row.ok_or(Error::Missing("member of staff"))?;
    match sealed {
        Some(sealed) => Ok(Some(
            key(conn, id).await?.open(&seal_context(&id, TOTP), &sealed)?,
        )),
        None => Ok(None),
    }
}

/// The TOTP secret of a set-up that no code has confirmed yet. It is derived from a random value of the browser's, so the
/// page shows the same secret again, and nothing is stored.
#[must_use]
pub fn pending_totp(conn: &Conn, id: Uuid, nonce: &[u8]) -> Zeroizing<[u8; TOTP_BYTES]> {
    let hash = conn.keyring().hash("staff.pending_totp", &[id.as_bytes(), nonce]);
    let mut secret = Zeroizing::new([0; TOTP_BYTES]);
    secret.copy_from_slice(&hash[..TOTP_BYTES]);
    secret
}

/// Turns on the codes of a member's authenticator app. `step` is the time step of the code that confirmed the set-up;
/// that code cannot be used again.
///
/// # Errors
/// [`Error::Missing`]; [`Error::Sealed`].
pub async fn set_totp(tx: &mut Tx, id: Uuid, secret: &[u8], step: i64) -> Result<(), Error> {
    let sealed = key(tx, id).await?.seal(&seal_context(&id, TOTP), secret);
    const SQL: &str = "update staff set totp_sealed = $2, totp_step = $3 where id = $1";
    execute!(tx, installation, SQL, id, &sealed, step).map(|_| ())
}

/// Turns off the codes of a member's authenticator app.
pub async fn clear_totp(tx: &mut Tx, id: Uuid) -> Result<(), Error> {
    const SQL: &str = "update staff set totp_sealed = null, totp_step = null where id = $1";
    execute!(tx, installation, SQL, id).map(|_| ())
}

/// Uses up the code of a time step in one conditional update; returns whether this code and all later ones
/// were unused.
pub async fn use_totp_step(tx: &mut Tx, id: Uuid, step: i64) -> Result<bool, Error> {
    const SQL: &str =
        "update staff set totp_step = $2 where id = $1 and (totp_step is null or totp_step < $2)";
    Ok(execute!(tx, installation, SQL, id, step)? == 1)
}
