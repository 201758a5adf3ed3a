//! Sign-ups: requests for accounts that have not been opened yet. The token of a link has 256 random bits and
//! is stored as a keyed hash. The request is sealed under a separate key. This module does not know whether
//! an address has an account, and it sends no email.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use secrecy::SecretString;
use uuid::Uuid;

use crate::keyring::{DataKey, SealContext, random};
use crate::sql::{execute, fetch};
use crate::{Conn, Error, Tx};

/// A request for an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignUp {
    /// The request.
    pub id: Uuid,
    /// The email address of the requester.
    pub email: String,
    /// The name of the account.
    pub company: String,
    /// When it was requested (ms).
    pub created_at: i64,
    /// Until when it can be accepted or its link can be used (ms).
    pub expires_at: i64,
}

#[derive(sqlx::FromRow)]
struct Row {
    id: Uuid,
    wrapped_key: Vec<u8>,
    email_sealed: Vec<u8>,
    company_sealed: Vec<u8>,
    created_at: i64,
    expires_at: i64,
}

const KEY: &str = "sign_ups.wrapped_key";
const EMAIL: &str = "sign_ups.email";
const COMPANY: &str = "sign_ups.company";

/// Requests belong to no merchant yet, so the account is nil.
fn seal_context<'a>(id: &'a Uuid, what: &'a str) -> SealContext<'a> {
    SealContext {
        merchant_id: Uuid::nil(),
        what,
        id: id.as_bytes(),
    }
}

impl Row {
    fn open(self, conn: &Conn) -> Result<SignUp, Error> {
        let key = conn
            .keyring()
            .unwrap_key(&seal_context(&self.id, KEY), &self.wrapped_key)?;
        Ok(SignUp {
            email: key.open_text(&seal_context(&self.id, EMAIL), &self.email_sealed)?,
            company: key.open_text(&seal_context(&self.id, COMPANY), &self.company_sealed)?,
            id: self.id,
            created_at: self.created_at,
            expires_at: self.expires_at,
        })
    }
}

fn token_ref(conn: &Conn, token: &str) -> Vec<u8> {
    conn.keyring().hash("sign-up", &[token.as_bytes()]).to_vec()
}

/// Stores a request, which has no link yet.
///
/// # Errors
/// [`Error::LimitReached`] if the limit of open requests is reached.
pub async fn create(
    tx: &mut Tx,
    email: &str,
    company: &str,
    life_ms: i64,
    most: i64,
) -> Result<SignUp, Error> {
    let now = tx.now();
    const SQL: &str = "select count(*) from sign_ups where expires_at > $1";
    let (open,) = fetch!(one, tx, installation, (i64,), SQL, now)?;
    if open >= most {
        return Err(Error::LimitReached);
    }
    let asked = SignUp {
        id: Uuid::now_v7(),
        email: email.into(),
        company: company.into(),
        created_at: now,
        expires_at: now.saturating_add(life_ms),
    };
    let key = DataKey::generate();
    let wrapped = tx.keyring().wrap(&seal_context(&asked.id, KEY), &key);
    execute!(
        tx,
        installation,
        "insert into sign_ups (id, wrapped_key, email_sealed, company_sealed, created_at, expires_at)
         values ($1, $2, $3, $4, $5, $6)",
        asked.id,
        &wrapped,
        &key.seal(&seal_context(&asked.id, EMAIL), email.as_bytes()),
        &key.seal(&seal_context(&asked.id, COMPANY), company.as_bytes()),
        now,
        asked.expires_at
    )?;
    Ok(asked)
}

/// Creates the link of a request that has none; its token is returned only this once. `None` if there is no
/// such request.
pub async fn make_link(tx: &mut Tx, id: Uuid, life_ms: i64) -> Result<Option<SecretString>, Error> {
    let token = URL_SAFE_NO_PAD.encode(random::<32>());
    let token_ref = token_ref(tx, &token);
    let now = tx.now();
    let made = execute!(
        tx,
        installation,
        "update sign_ups set token_ref = $2, expires_at = $3 where id = $1 and token_ref is null and expires_at > $4",
        id,
        &token_ref,
        now.saturating_add(life_ms),
        now
    )?;
    Ok((made == 1).then(|| SecretString::from(token)))
}

/// The open requests without a link, oldest first, at most `limit`.
///
/// # Errors
/// [`Error::Sealed`].
pub async fn list_unanswered(conn: &mut Conn, limit: i64) -> Result<Vec<SignUp>, Error> {
    let now = conn.now();
    let rows = fetch!(
        all,
        conn,
        installation,
        Row,
        "select id, wrapped_key, email_sealed, company_sealed, created_at, expires_at from sign_ups
         where token_ref is null and expires_at > $1 order by id limit $2",
        now,
        limit
    )?;
    rows.into_iter().map(|row| row.open(conn)).collect()
}

/// The request of a link's token. It does not use the token up.
///
/// # Errors
/// [`Error::Sealed`].
pub async fn by_token(conn: &mut Conn, token: &str) -> Result<Option<SignUp>, Error> {
    let (token_ref, now) = (token_ref(conn, token), conn.now());
    let row = fetch!(
        optional,
        conn,
        installation,
        Row,
        "select id, wrapped_key, email_sealed, company_sealed, created_at, expires_at from sign_ups
         where token_ref = $1 and expires_at > $2",
        &token_ref,
        now
    )?;
    row.map(|row| row.open(conn)).transpose()
}

/// Deletes a request and its link; returns whether there was one. Of any number of simultaneous calls, one
/// gets `true`.
pub async fn delete(tx: &mut Tx, id: Uuid) -> Result<bool, Error> {
    Ok(execute!(tx, installation, "delete from sign_ups where id = $1", id)? == 1)
}

/// Deletes the expired requests; returns how many.
pub async fn sweep(tx: &mut Tx) -> Result<u64, Error> {
    let now = tx.now();
    execute!(
        tx,
        installation,
        "delete from sign_ups where expires_at <= $1",
        now
    )
}

/// Wraps every request's key by the keyring's newest master key; returns how many.
///
/// # Errors
/// [`Error::Sealed`] if none of this keyring's master keys wrapped a key.
pub async fn rewrap_keys(tx: &mut Tx) -> Result<u64, Error> {
    let mut count = 0;
    for (id, wrapped) in fetch!(
        all,
        tx,
        installation,
        (Uuid, Vec<u8>),
        "select id, wrapped_key from sign_ups"
    )? {
        let place = seal_context(&id, KEY);
        let key = tx.keyring().unwrap_key(&place, &wrapped)?;
        let wrapped = tx.keyring().wrap(&place, &key);
        const SQL: &str = "update sign_ups set wrapped_key = $2 where id = $1";
        count += execute!(tx, installation, SQL, id, &wrapped)?;
    }
    Ok(count)
}
