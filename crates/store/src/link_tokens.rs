//! One-time link tokens, which are exchanged for a hosted session. A token contains the merchant's short id and is stored
//! as a keyed hash. This module creates no session.

use secrecy::SecretString;
use uuid::Uuid;

use crate::labels::external_ref;
use crate::merchants::{self, Merchant};
use crate::sessions::{Link, claimed_merchant, new_token, open_optional, seal_context, token_ref};
use crate::sql::{execute, fetch};
use crate::{Conn, Error, Scope, Tx};

/// The state of a link token.
#[derive(Clone, Debug)]
pub enum LinkToken {
    /// Unused and unexpired.
    Valid {
        /// The account that created it.
        merchant: Box<Merchant>,
        /// The account and mode.
        scope: Scope,
        /// The content of the link.
        link: Link,
        /// Until when it can be used (ms).
        expires_at: i64,
    },
    /// Unknown.
    Invalid,
    /// It has been exchanged.
    Used,
    /// It has expired.
    Expired,
}

/// Creates a link token that is valid for `ttl_ms`. It is returned only this once.
///
/// # Errors
/// [`Error::Missing`] for an unknown account.
pub async fn create(tx: &mut Tx, scope: Scope, link: &Link, ttl_ms: i64) -> Result<SecretString, Error> {
    let (token, token_ref) = new_token(tx, scope.merchant_id).await?;
    let key = merchants::key(tx, scope.merchant_id).await?;
    let sealed = key.seal(
        &seal_context(scope.merchant_id, "link_tokens.user_id", &token_ref),
        link.user_id.as_bytes(),
    );
    let expected = link.expected.as_ref().map(|expected| {
        let context = seal_context(scope.merchant_id, "link_tokens.expected", &token_ref);
        key.seal(&context, expected.as_bytes())
    });
    let now = tx.now();
    let user_ref = external_ref(tx, scope, &link.user_id);
    execute!(
        tx,
        scope,
        "insert into link_tokens (merchant_id, sandbox, token_ref, group_id, flow_id, user_id_sealed, created_at,
             expires_at, user_ref, expected_sealed)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
        &token_ref,
        link.group_id,
        link.flow_id,
        &sealed,
        now,
        now + ttl_ms,
        &user_ref,
        expected,
    )?;
    Ok(token)
}

#[derive(sqlx::FromRow)]
struct Row {
    sandbox: bool,
    group_id: Uuid,
    flow_id: Uuid,
    user_id_sealed: Vec<u8>,
    expected_sealed: Option<Vec<u8>>,
    expires_at: i64,
    used_at: Option<i64>,
}

/// The state of a token. It does not use the token up, for checks before the exchange.
///
/// # Errors
/// [`Error::Sealed`].
pub async fn peek(conn: &mut Conn, token: &str) -> Result<LinkToken, Error> {
    let Some(merchant) = claimed_merchant(conn, token).await? else {
        return Ok(LinkToken::Invalid);
    };
    let token_ref = token_ref(conn, token);
    let row = fetch!(
        optional,
        conn,
        both_modes(
            merchant.id,
            "the link's token carries the account and not the mode"
        ),
        Row,
        "select sandbox, group_id, flow_id, user_id_sealed, expected_sealed, expires_at, used_at from link_tokens
         where merchant_id = $1 and token_ref = $2",
        &token_ref
    )?;
    match row {
        None => Ok(LinkToken::Invalid),
        Some(row) if row.used_at.is_some() => Ok(LinkToken::Used),
        Some(row) if row.expires_at <= conn.now() => Ok(LinkToken::Expired),
        Some(row) => good(conn, merchant, &token_ref, row).await,
    }
}

async fn good(conn: &mut Conn, merchant: Merchant, token_ref: &[u8], row: Row) -> Result<LinkToken, Error> {
    let key = merchants::key(conn, merchant.id).await?;
    let user_id = key.open_text(
        &seal_context(merchant.id, "link_tokens.user_id", token_ref),
        &row.user_id_sealed,
    )?;
    let expected = seal_context(merchant.id, "link_tokens.expected", token_ref);
    let expected = open_optional(&key, &expected, row.expected_sealed.as_deref())?;
    Ok(LinkToken::Valid {
        scope: Scope {
            merchant_id: merchant.id,
            sandbox: row.sandbox,
        },
        link: Link {
            group_id: row.group_id,
            flow_id: row.flow_id,
            user_id,
            expected,
        },
        expires_at: row.expires_at,
        merchant: Box::new(merchant),
    })
}

/// Uses a token up in one conditional update. Of any number of simultaneous calls, one gets
/// [`LinkToken::Valid`].
///
/// # Errors
/// [`Error::Sealed`].
pub async fn redeem(tx: &mut Tx, token: &str) -> Result<LinkToken, Error> {
    let Some(merchant) = claimed_merchant(tx, token).await? else {
        return Ok(LinkToken::Invalid);
    };
    let token_ref = token_ref(tx, token);
    let now = tx.now();
    let row = fetch!(
        optional,
        tx,
        both_modes(
            merchant.id,
            "the link's token carries the account and not the mode"
        ),
        Row,
        "update link_tokens set used_at = $3
         where merchant_id = $1 and token_ref = $2 and used_at is null and expires_at > $3
         returning sandbox, group_id, flow_id, user_id_sealed, expected_sealed, expires_at, used_at",
        &token_ref,
        now
    )?;
    let Some(row) = row else {
        return peek(tx, token).await;
    };
    if row.expected_sealed.is_some() {
        // From now on the session has it.
        execute!(
            tx,
            both_modes(merchant.id, "the update above found the row"),
            "update link_tokens set expected_sealed = null where merchant_id = $1 and token_ref = $2",
            &token_ref
        )?;
    }
    good(tx, merchant, &token_ref, row).await
}

/// Deletes the expected persons of links that have expired unused; returns how many.
pub async fn forget_expected(tx: &mut Tx) -> Result<u64, Error> {
    let now = tx.now();
    execute!(
        tx,
        across_accounts("housekeeping forgets every account's expected persons"),
        "update link_tokens set expected_sealed = null where expires_at <= $1 and expected_sealed is not null",
        now
    )
}

/// Deletes link tokens that expired before a time (ms); returns how many.
pub async fn sweep(tx: &mut Tx, before: i64) -> Result<u64, Error> {
    execute!(
        tx,
        across_accounts("retention deletes every account's links"),
        "delete from link_tokens where expires_at < $1",
        before
    )
}
