//! Hand-offs to a session's second device. The first device shows a link with a one-time token. The device
//! that uses it gets a separate access token for the same session, and both devices show the same number. A
//! session has at most one hand-off: a new one invalidates the earlier one and its device.

use secrecy::SecretString;
use uuid::Uuid;

use crate::merchants::Merchant;
use crate::sessions::{self, Session};
use crate::sql::{execute, fetch};
use crate::{Conn, Error, Scope, Tx};

/// The state of a session's hand-off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handoff {
    /// The number that both devices show.
    pub number: i64,
    /// Until when the link can be used (ms).
    pub expires_at: i64,
    /// Whether a second device has used it.
    pub claimed: bool,
}

/// The state of a hand-off's token.
#[derive(Clone, Debug)]
pub enum HandoffToken {
    /// Unused and unexpired.
    Valid {
        /// The account.
        merchant: Box<Merchant>,
        /// The account and mode.
        scope: Scope,
        /// The session that continues on the second device.
        session: Box<Session>,
        /// The state of the hand-off.
        handoff: Handoff,
    },
    /// Unknown, or replaced by a later hand-off of the session.
    Invalid,
    /// A device has already used it.
    Used,
    /// It has expired.
    Expired,
}

/// Creates a session's hand-off and replaces an earlier one. Its token is returned only this once.
///
/// # Errors
/// [`Error::Missing`] for an unknown account.
pub async fn create(
    tx: &mut Tx,
    scope: Scope,
    session_id: Uuid,
    number: i64,
    expires_at: i64,
) -> Result<SecretString, Error> {
    let (token, token_ref) = sessions::new_token(tx, scope.merchant_id).await?;
    let now = tx.now();
    execute!(
        tx,
        scope,
        "insert into handoffs (merchant_id, sandbox, session_id, token_ref, number, created_at, expires_at)
         values ($1, $2, $3, $4, $5, $6, $7)
         on conflict (merchant_id, sandbox, session_id) do update set token_ref = excluded.token_ref,
             number = excluded.number, created_at = excluded.created_at, expires_at = excluded.expires_at,
             claimed_at = null, access_ref = null",
        session_id,
        &token_ref,
        number,
        now,
        expires_at
    )?;
    Ok(token)
}

#[derive(sqlx::FromRow)]
struct Row {
    sandbox: bool,
    session_id: Uuid,
    number: i64,
    expires_at: i64,
    claimed_at: Option<i64>,
}

/// The state of a token. It does not use the token up.
///
/// # Errors
/// [`Error::Sealed`].
pub async fn peek(conn: &mut Conn, token: &str) -> Result<HandoffToken, Error> {
    let Some(merchant) = sessions::claimed_merchant(conn, token).await? else {
        return Ok(HandoffToken::Invalid);
    };
    let token_ref = sessions::token_ref(conn, token);
    let row = fetch!(
        optional,
        conn,
        both_modes(
            merchant.id,
            "the link's token carries the account and not the mode"
        ),
        Row,
        "select sandbox, session_id, number, expires_at, claimed_at from handoffs
         where merchant_id = $1 and token_ref = $2",
        &token_ref
    )?;
    match row {
        None => Ok(HandoffToken::Invalid),
        Some(row) if row.claimed_at.is_some() => Ok(HandoffToken::Used),
        Some(row) if row.expires_at <= conn.now() => Ok(HandoffToken::Expired),
        Some(row) => good(conn, merchant, row).await,
    }
}

async fn good(conn: &mut Conn, merchant: Merchant, row: Row) -> Result<HandoffToken, Error> {
    let scope = Scope {
        merchant_id: merchant.id,
        sandbox: row.sandbox,
    };
    let session = sessions::get(conn, scope, row.session_id)
        .await?
        .ok_or(Error::Missing("session"))?;
    Ok(HandoffToken::Valid {
        merchant: Box::new(merchant),
        scope,
        session: Box::new(session),
        handoff: Handoff {
            number: row.number,
            expires_at: row.expires_at,
            claimed: row.claimed_at.is_some(),
        },
    })
}

/// Uses a token up in one conditional update. Of any number of simultaneous calls, one gets
/// [`HandoffToken::Valid`] and the second device's access token, which is returned only this once.
///
/// # Errors
/// [`Error::Sealed`].
pub async fn claim(tx: &mut Tx, token: &str) -> Result<(HandoffToken, Option<SecretString>), Error> {
    let Some(merchant) = sessions::claimed_merchant(tx, token).await? else {
        return Ok((HandoffToken::Invalid, None));
    };
    let (access, access_ref) = sessions::new_token(tx, merchant.id).await?;
    let token_ref = sessions::token_ref(tx, token);
    let now = tx.now();
    let row = fetch!(
        optional,
        tx,
        both_modes(
            merchant.id,
            "the link's token carries the account and not the mode"
        ),
        Row,
        "update handoffs set claimed_at = $3, access_ref = $4
         where merchant_id = $1 and token_ref = $2 and claimed_at is null and expires_at > $3
         returning sandbox, session_id, number, expires_at, claimed_at",
        &token_ref,
        now,
        &access_ref
    )?;
    match row {
        Some(row) => Ok((good(tx, merchant, row).await?, Some(access))),
        None => Ok((peek(tx, token).await?, None)),
    }
}

/// The state of a session's hand-off; `None` if there is none or the second device was rejected.
pub async fn of_session(conn: &mut Conn, scope: Scope, session_id: Uuid) -> Result<Option<Handoff>, Error> {
    let row = fetch!(
        optional,
        conn,
        scope,
        (i64, i64, bool),
        "select number, expires_at, claimed_at is not null from handoffs
         where merchant_id = $1 and sandbox = $2 and session_id = $3
             and (claimed_at is null or access_ref is not null)",
        session_id
    )?;
    Ok(row.map(|(number, expires_at, claimed)| Handoff {
        number,
        expires_at,
        claimed,
    }))
}

/// Whether an access token belongs to the session's second device.
pub async fn is_second_device(
    conn: &mut Conn,
    scope: Scope,
    session_id: Uuid,
    token: &str,
) -> Result<bool, Error> {
    let access_ref = sessions::token_ref(conn, token);
    const SQL: &str = "select exists (select 1 from handoffs
                   where merchant_id = $1 and sandbox = $2 and session_id = $3 and access_ref = $4)";
    let (is,) = fetch!(one, conn, scope, (bool,), SQL, session_id, &access_ref)?;
    Ok(is)
}

/// Revokes the second device's access token; returns whether the token belonged to this session.
pub async fn reject(tx: &mut Tx, scope: Scope, session_id: Uuid, token: &str) -> Result<bool, Error> {
    let access_ref = sessions::token_ref(tx, token);
    const SQL: &str = "update handoffs set access_ref = null
               where merchant_id = $1 and sandbox = $2 and session_id = $3 and access_ref = $4";
    Ok(execute!(tx, scope, SQL, session_id, &access_ref)? == 1)
}
