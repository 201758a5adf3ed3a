//! Gives members of staff new keys below a new master key, and seals everything that their keys sealed again. Only a
//! change of the master key calls it; it neither creates nor deletes a master key.

use uuid::Uuid;

use super::keys::{EMAIL, NAME, TOTP, WRAPPED_KEY, seal_context};
use crate::sql::{execute, fetch};
use crate::{Error, Tx, staff_passkeys};

/// Gives every member whose key an earlier master key wrapped a new key, wrapped by the newest one, and seals the
/// columns of the member again; returns how many. Each row is locked before it is read, because members change their
/// addresses and second factors meanwhile.
///
/// # Errors
/// [`Error::Sealed`] if none of this keyring's master keys wrapped a key.
pub async fn rewrap_keys(tx: &mut Tx) -> Result<u64, Error> {
    type Row = (Vec<u8>, Vec<u8>, Vec<u8>, Option<Vec<u8>>);
    const LOCK: &str = "update staff set wrapped_key = wrapped_key where id = $1
               returning wrapped_key, email_sealed, name_sealed, totp_sealed";
    const REPLACE: &str = "update staff set wrapped_key = $2, email_sealed = $3, name_sealed = $4, totp_sealed = $5 where id = $1";
    let mut count = 0;
    for (id,) in fetch!(all, tx, installation, (Uuid,), "select id from staff order by id")? {
        let Some((wrapped, email, name, totp)) = fetch!(optional, tx, installation, Row, LOCK, id)? else {
            continue;
        };
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
        staff_passkeys::seal_again(tx, id, &key).await?;
        count += execute!(tx, installation, REPLACE, id, &wrapped, &email, &name, totp)?;
    }
    Ok(count)
}
