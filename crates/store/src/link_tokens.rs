//! One-time link tokens, which are exchanged for a hosted session. A token contains the merchant's short id and is stored
//! as a keyed hash. This module creates no session.

use secrecy::SecretString;
use uuid::Uuid;

use crate::labels::external_ref;
use crate::merchants::{self, Merchant};
use crate::sessions::{Link, claimed_merchant, new_token, open_optional, seal_context, token_ref};
use crate::sql::{execute, fetch};
use crate::text_enum::{Word, text_enum};
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

/// A new link.
#[derive(Debug)]
pub struct NewLink {
    /// Its id; see [`ListedLink::id`].
    pub id: Uuid,
    /// Its token, which is returned only this once.
    pub token: SecretString,
}

/// Creates a link token that is valid for `ttl_ms`.
///
/// # Errors
/// [`Error::Missing`] for an unknown account.
pub async fn create(tx: &mut Tx, scope: Scope, link: &Link, ttl_ms: i64) -> Result<NewLink, Error> {
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
    Ok(NewLink {
        id: id_of(&token_ref)?,
        token,
    })
}

/// A link's id: the first 16 bytes of the keyed hash of its token, from which the token cannot be derived.
fn id_of(token_ref: &[u8]) -> Result<Uuid, Error> {
    let prefix = token_ref.first_chunk().ok_or(Error::Unreadable("link token"))?;
    Ok(Uuid::from_bytes(*prefix))
}

text_enum! {
    /// The state of a listed link.
    LinkState("link state") {
        /// It can be opened.
        Open = "open",
        /// It was exchanged for a session.
        Used = "used",
        /// It expired unused.
        Expired = "expired",
        /// The merchant revoked it unused.
        Revoked = "revoked",
    }
}

/// A link without its token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedLink {
    /// Its id, by which it can be revoked.
    pub id: Uuid,
    /// Its group.
    pub group_id: Uuid,
    /// Its Flow.
    pub flow_id: Uuid,
    /// The merchant's label for the applicant.
    pub user_id: String,
    /// Its state.
    pub state: LinkState,
    /// When it was created (ms).
    pub created_at: i64,
    /// Until when it can be or could have been used (ms).
    pub expires_at: i64,
    /// When it was exchanged (ms).
    pub used_at: Option<i64>,
    /// When it was revoked (ms).
    pub revoked_at: Option<i64>,
}

/// Which links to list. The default does not restrict.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkFilter<'a> {
    /// In this state.
    pub state: Option<LinkState>,
    /// For the applicant with this label.
    pub user_id: Option<&'a str>,
    /// Of this Flow.
    pub flow_id: Option<Uuid>,
    /// After the link of this time (ms) and id, in the order of the list.
    pub after: Option<(i64, Uuid)>,
}

#[derive(sqlx::FromRow)]
struct ListedRow {
    token_ref: Vec<u8>,
    group_id: Uuid,
    flow_id: Uuid,
    user_id_sealed: Vec<u8>,
    #[sqlx(try_from = "Word<LinkState>")]
    state: LinkState,
    created_at: i64,
    expires_at: i64,
    used_at: Option<i64>,
    revoked_at: Option<i64>,
}

// `$3` is the current time.
macro_rules! listed {
    ($rest:literal) => {
        concat!(
            "select token_ref, group_id, flow_id, user_id_sealed, state, created_at, expires_at, used_at, revoked_at
             from (select token_ref, group_id, flow_id, user_id_sealed, user_ref, created_at, expires_at, used_at,
                       revoked_at,
                       case when revoked_at is not null then 'revoked' when used_at is not null then 'used'
                           when expires_at <= $3 then 'expired' else 'open' end as state
                   from link_tokens where merchant_id = $1 and sandbox = $2) l ",
            $rest
        )
    };
}

async fn open_listed(conn: &mut Conn, scope: Scope, rows: Vec<ListedRow>) -> Result<Vec<ListedLink>, Error> {
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let key = merchants::key(conn, scope.merchant_id).await?;
    rows.into_iter()
        .map(|row| {
            let context = seal_context(scope.merchant_id, "link_tokens.user_id", &row.token_ref);
            Ok(ListedLink {
                id: id_of(&row.token_ref)?,
                user_id: key.open_text(&context, &row.user_id_sealed)?,
                group_id: row.group_id,
                flow_id: row.flow_id,
                state: row.state,
                created_at: row.created_at,
                expires_at: row.expires_at,
                used_at: row.used_at,
                revoked_at: row.revoked_at,
            })
        })
        .collect()
}

/// A page of the account's links, newest first, at most `limit`. Links that retention has deleted are missing.
///
/// # Errors
/// [`Error::Sealed`].
pub async fn page(
    conn: &mut Conn,
    scope: Scope,
    filter: &LinkFilter<'_>,
    limit: i64,
) -> Result<Vec<ListedLink>, Error> {
    let now = conn.now();
    let (before, id) = filter.after.unwrap_or((i64::MAX, Uuid::max()));
    let before_ref = id.as_bytes().as_slice();
    let (state, flow_id) = (filter.state.map(LinkState::as_str), filter.flow_id);
    const ALL: &str = listed!(
        "where (created_at, token_ref) < ($4, $5) and ($6 is null or state = $6)
             and ($7 is null or flow_id = $7)
         order by created_at desc, token_ref desc limit $8"
    );
    // The sum keeps the databases from reading all links in the order of time.
    const OF_USER: &str = listed!(
        "where (created_at + 0, token_ref) < ($4, $5) and ($6 is null or state = $6)
             and ($7 is null or flow_id = $7) and user_ref = $8
         order by created_at + 0 desc, token_ref desc limit $9"
    );
    let rows = match filter.user_id {
        None => fetch!(
            all, conn, scope, ListedRow, ALL, now, before, before_ref, state, flow_id, limit
        )?,
        Some(user_id) => {
            let user_ref = external_ref(conn, scope, user_id);
            fetch!(
                all, conn, scope, ListedRow, OF_USER, now, before, before_ref, state, flow_id, &user_ref,
                limit
            )?
        }
    };
    open_listed(conn, scope, rows).await
}

/// Revokes an open link; returns the link, and whether this call revoked it. A link in another state stays as it is.
pub async fn revoke(tx: &mut Tx, scope: Scope, id: Uuid) -> Result<(Option<ListedLink>, bool), Error> {
    let now = tx.now();
    let (first, last) = refs_of(id);
    let revoked = execute!(
        tx,
        scope,
        "update link_tokens set revoked_at = $3, expires_at = $3, expected_sealed = null
         where merchant_id = $1 and sandbox = $2 and token_ref >= $4 and token_ref <= $5 and used_at is null
             and expires_at > $3",
        now,
        &first,
        &last
    )?;
    const SQL: &str = listed!("where token_ref >= $4 and token_ref <= $5");
    let rows = fetch!(all, tx, scope, ListedRow, SQL, now, &first, &last)?;
    Ok((open_listed(tx, scope, rows).await?.pop(), revoked > 0))
}

/// The first and the last hash that begin with an id.
fn refs_of(id: Uuid) -> (Vec<u8>, Vec<u8>) {
    let with = |rest: u8| [id.as_bytes().as_slice(), &[rest; 16]].concat();
    (with(0), with(u8::MAX))
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
