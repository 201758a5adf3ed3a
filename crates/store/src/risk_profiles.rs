//! Accounts' risk profiles: JSON in versions that are never changed, only followed by another.

use uuid::Uuid;

use crate::sql::{execute, fetch};
use crate::{Conn, Error, Tx};

/// A version of an account's profile.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct RiskProfile {
    /// From 1.
    pub version: i64,
    /// JSON.
    pub profile: String,
    /// Since when it was the newest (ms).
    pub created_at: i64,
}

/// The newest version; `None` when the account never set one.
pub async fn newest(conn: &mut Conn, merchant_id: Uuid) -> Result<Option<RiskProfile>, Error> {
    const SQL: &str = "select version, profile, created_at from risk_profiles where merchant_id = $1
               order by version desc limit 1";
    fetch!(optional, conn, merchant(merchant_id), RiskProfile, SQL)
}

/// One version.
pub async fn get(conn: &mut Conn, merchant_id: Uuid, version: i64) -> Result<Option<RiskProfile>, Error> {
    const SQL: &str =
        "select version, profile, created_at from risk_profiles where merchant_id = $1 and version = $2";
    fetch!(optional, conn, merchant(merchant_id), RiskProfile, SQL, version)
}

/// Adds a version. Two at once cannot add the same.
///
/// # Errors
/// [`Error::Conflict`] when the version exists; [`Error::Database`] for an unknown account.
pub async fn insert(tx: &mut Tx, merchant_id: Uuid, version: i64, profile: &str) -> Result<(), Error> {
    let now = tx.now();
    execute!(
        tx,
        merchant(merchant_id),
        "insert into risk_profiles (merchant_id, version, profile, created_at) values ($1, $2, $3, $4)",
        version,
        profile,
        now
    )
    .map(|_| ())
}
