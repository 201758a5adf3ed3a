//! The logos of the hosted page, one per merchant. This module does not check a logo or whether the settings
//! use it.

use uuid::Uuid;

use crate::sql::{execute, fetch};
use crate::{Conn, Error, Tx};

/// A merchant's logo.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct Logo {
    /// For example, `image/png`.
    pub media_type: String,
    /// The file.
    pub bytes: Vec<u8>,
    /// The version of the bytes: it differs for each logo.
    pub version: String,
}

/// A merchant's logo; `None` if it has none.
pub async fn get(conn: &mut Conn, merchant_id: Uuid) -> Result<Option<Logo>, Error> {
    const SQL: &str = "select media_type, bytes, version from merchant_logos where merchant_id = $1";
    fetch!(optional, conn, merchant(merchant_id), Logo, SQL)
}

/// Replaces a merchant's logo.
///
/// # Errors
/// [`Error::Database`] for an unknown merchant.
pub async fn set(tx: &mut Tx, merchant_id: Uuid, logo: &Logo) -> Result<(), Error> {
    execute!(
        tx,
        merchant(merchant_id),
        "insert into merchant_logos (merchant_id, media_type, bytes, version) values ($1, $2, $3, $4)
         on conflict (merchant_id) do update set media_type = excluded.media_type, bytes = excluded.bytes,
             version = excluded.version",
        &logo.media_type,
        &logo.bytes,
        &logo.version
    )?;
    Ok(())
}

/// Removes a merchant's logo.
pub async fn delete(tx: &mut Tx, merchant_id: Uuid) -> Result<(), Error> {
    execute!(
        tx,
        merchant(merchant_id),
        "delete from merchant_logos where merchant_id = $1"
    )?;
    Ok(())
}
