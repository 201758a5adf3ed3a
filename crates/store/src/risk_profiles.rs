//! The risk profiles of accounts: JSON in versions. A version is never changed; a change adds a new one.

use uuid::Uuid;

use crate::sql::{execute, fetch};
use crate::{Conn, Error, Tx};

/// A version of an account's profile.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct RiskProfile {
    /// The number of the version, from 1.
    pub version: i64,
    /// The profile as JSON.
    pub profile: String,
    /// When it was added (ms).
    pub created_at: i64,
}

/// The newest version; `None` if the account never set one.
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

/// Adds a version. Of two simultaneous calls with one number, only one succeeds.
///
/// # Errors
/// [`Error::Conflict`] if the version exists; [`Error::Database`] for an unknown account.
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
