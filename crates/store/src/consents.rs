//! Consents: an applicant's last word on being verified, per session. It does not know what a consent's text says.

use uuid::Uuid;

use crate::sql::{execute, fetch};
use crate::{Conn, Error, Scope, Tx};

/// What an applicant said, and to which text.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct Consent {
    /// The text's version.
    pub version: String,
    /// The language in which it was read.
    pub language: String,
    /// Yes or no.
    pub accepted: bool,
    /// When (ms).
    pub at: i64,
}

/// Records a session's consent or refusal, in place of an earlier one; answers when.
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

/// What a session's applicant said last.
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
