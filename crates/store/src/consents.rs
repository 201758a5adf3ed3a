//! Consents: whether an applicant agreed to the verification, one per session. This module does not know the
//! consent texts.

use uuid::Uuid;

use crate::sql::{execute, fetch};
use crate::{Conn, Error, Scope, Tx};

/// An applicant's answer to a consent text.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct Consent {
    /// The version of the text.
    pub version: String,
    /// The language in which the applicant read it.
    pub language: String,
    /// Whether the applicant agreed.
    pub accepted: bool,
    /// When the applicant answered (ms).
    pub at: i64,
}

/// Records a session's consent or refusal and replaces an earlier one; returns the time (ms).
pub async fn record(
    tx: &mut Tx,
    scope: Scope,
    session_id: Uuid,
    version: &str,
    language: &str,
    accepted: bool,
) -> Result<i64, Error> {
    let now = tx.now();
    execute!(
        tx,
        scope,
        "insert into consents (merchant_id, sandbox, session_id, version, language, accepted, at)
         values ($1, $2, $3, $4, $5, $6, $7)
         on conflict (merchant_id, sandbox, session_id) do update set version = excluded.version,
             language = excluded.language, accepted = excluded.accepted, at = excluded.at",
        session_id,
        version,
        language,
        accepted,
        now
    )?;
    Ok(now)
}

/// A session's latest consent or refusal.
pub async fn of_session(conn: &mut Conn, scope: Scope, session_id: Uuid) -> Result<Option<Consent>, Error> {
    fetch!(
        optional,
        conn,
        scope,
        Consent,
        "select version, language, accepted, at from consents
         where merchant_id = $1 and sandbox = $2 and session_id = $3",
        session_id
    )
}
