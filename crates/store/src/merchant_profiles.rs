//! The information that a merchant gives about itself when it applies, and the operator's decision. The
//! callers apply the rules of an application.

use uuid::Uuid;

use crate::keyring::SealContext;
use crate::merchants;
use crate::sql::{execute, fetch};
use crate::{Conn, Error, Tx};

/// A merchant's profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MerchantProfile {
    /// The information as JSON (sealed).
    pub profile: String,
    /// When it was submitted (ms).
    pub submitted_at: Option<i64>,
    /// When the operator decided (ms).
    pub decided_at: Option<i64>,
    /// Why it was rejected or suspended.
    pub reason: Option<String>,
    /// When it last changed (ms).
    pub updated_at: i64,
}

fn seal_context(merchant_id: &Uuid) -> SealContext<'_> {
    SealContext {
        merchant_id: *merchant_id,
        what: "merchant_profiles.profile",
        id: merchant_id.as_bytes(),
    }
}

/// A merchant's profile; `None` if it has not started one.
///
/// # Errors
/// [`Error::Sealed`].
pub async fn get(conn: &mut Conn, merchant_id: Uuid) -> Result<Option<MerchantProfile>, Error> {
    type Row = (Vec<u8>, Option<i64>, Option<i64>, Option<String>, i64);
    const SQL: &str = "select profile_sealed, submitted_at, decided_at, reason, updated_at
               from merchant_profiles where merchant_id = $1";
    let Some((sealed, submitted_at, decided_at, reason, updated_at)) =
        fetch!(optional, conn, merchant(merchant_id), Row, SQL)?
    else {
        return Ok(None);
    };
    let key = merchants::key(conn, merchant_id).await?;
    Ok(Some(MerchantProfile {
        profile: key.open_text(&seal_context(&merchant_id), &sealed)?,
        submitted_at,
        decided_at,
        reason,
        updated_at,
    }))
}

/// Stores a merchant's profile (JSON).
///
/// # Errors
/// [`Error::Missing`] for an unknown account.
pub async fn save(tx: &mut Tx, merchant_id: Uuid, profile: &str) -> Result<(), Error> {
    let key = merchants::key(tx, merchant_id).await?;
    let sealed = key.seal(&seal_context(&merchant_id), profile.as_bytes());
    let now = tx.now();
    execute!(
        tx,
        merchant(merchant_id),
        "insert into merchant_profiles (merchant_id, profile_sealed, updated_at) values ($1, $2, $3)
         on conflict (merchant_id) do update set profile_sealed = excluded.profile_sealed, updated_at = excluded.updated_at",
        &sealed,
        now,
    )
    .map(|_| ())
}

/// Records that the profile was submitted; returns whether there is one.
pub async fn mark_submitted(tx: &mut Tx, merchant_id: Uuid) -> Result<bool, Error> {
    let now = tx.now();
    const SQL: &str = "update merchant_profiles set submitted_at = $2, decided_at = null, reason = null where merchant_id = $1";
    Ok(execute!(tx, merchant(merchant_id), SQL, now)? == 1)
}

/// Records the operator's decision. An account without a profile gets an empty one.
///
/// # Errors
/// [`Error::Missing`] for an unknown account.
pub async fn record_decision(tx: &mut Tx, merchant_id: Uuid, reason: Option<&str>) -> Result<(), Error> {
    let now = tx.now();
    const SQL: &str = "update merchant_profiles set decided_at = $2, reason = $3 where merchant_id = $1";
    if execute!(tx, merchant(merchant_id), SQL, now, reason)? == 0 {
        save(tx, merchant_id, "{}").await?;
        execute!(tx, merchant(merchant_id), SQL, now, reason)?;
    }
    Ok(())
}
