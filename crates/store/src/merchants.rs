//! Merchant accounts and their data keys. This module does not know what a status allows.

mod keys;

use uuid::Uuid;

pub(crate) use self::keys::key_context;
pub use self::keys::{key, rewrap_keys};
use crate::keyring::{DataKey, random_text};
use crate::sql::{execute, fetch};
use crate::text_enum::{Word, text_enum};
use crate::{Conn, Error, Scope, Tx, audit, installation};

text_enum! {
    /// The status of a merchant's application.
    MerchantStatus("merchant status") {
        /// The merchant has not submitted it yet.
        Draft = "draft",
        /// It waits for the operator's decision.
        Submitted = "submitted",
        /// It is approved, and live keys work.
        Approved = "approved",
        /// The operator rejected it.
        Rejected = "rejected",
        /// The operator suspended the account.
        Suspended = "suspended",
    }
}

/// A merchant account. It has live and sandbox data, which never mix.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct Merchant {
    /// The account.
    pub id: Uuid,
    /// Eight letters and digits that the account's keys and tokens contain.
    pub short_id: String,
    /// Its name.
    pub name: String,
    /// The status of its application.
    #[sqlx(try_from = "Word<MerchantStatus>")]
    pub status: MerchantStatus,
    /// Settings, as JSON.
    pub settings: String,
    /// When it was created (ms).
    pub created_at: i64,
    /// When it last changed (ms).
    pub updated_at: i64,
}

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "select id, short_id, name, status, settings, created_at, updated_at from merchants ",
            $rest
        )
    };
}

/// Creates an account with its data key.
///
/// # Errors
/// As [`installation::confirm`].
pub async fn create(
    tx: &mut Tx,
    name: &str,
    status: MerchantStatus,
    settings: &str,
) -> Result<Merchant, Error> {
    installation::confirm(tx).await?;
    let merchant = Merchant {
        id: Uuid::now_v7(),
        short_id: random_text::<8>(),
        name: name.into(),
        status,
        settings: settings.into(),
        created_at: tx.now(),
        updated_at: tx.now(),
    };
    let wrapped = tx
        .keyring()
        .wrap(&key_context(&merchant.id), &DataKey::generate());
    execute!(
        tx,
        installation,
        "insert into merchants (id, short_id, name, status, settings, wrapped_key, created_at, updated_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8)",
        merchant.id,
        &merchant.short_id,
        &merchant.name,
        merchant.status.as_str(),
        &merchant.settings,
        &wrapped,
        merchant.created_at,
        merchant.updated_at
    )?;
    for sandbox in [false, true] {
        const SQL: &str =
            "insert into counters (merchant_id, sandbox, face_seq, log_seq) values ($1, $2, 0, 0)";
        let scope = Scope {
            merchant_id: merchant.id,
            sandbox,
        };
        execute!(tx, scope, SQL)?;
    }
    audit::begin(tx, merchant.id).await?;
    Ok(merchant)
}

/// One account, by its id.
pub async fn get(conn: &mut Conn, id: Uuid) -> Result<Option<Merchant>, Error> {
    fetch!(
        optional,
        conn,
        installation,
        Merchant,
        select!("where id = $1"),
        id
    )
}

/// One account, whose row stays locked until the transaction ends.
pub async fn get_for_update(tx: &mut Tx, id: Uuid) -> Result<Option<Merchant>, Error> {
    execute!(
        tx,
        installation,
        "update merchants set updated_at = updated_at where id = $1",
        id
    )?;
    get(tx, id).await
}

/// One account, by the short id in its keys and tokens.
pub async fn by_short_id(conn: &mut Conn, short_id: &str) -> Result<Option<Merchant>, Error> {
    fetch!(
        optional,
        conn,
        installation,
        Merchant,
        select!("where short_id = $1"),
        short_id
    )
}

/// All accounts, newest first.
pub async fn list(conn: &mut Conn) -> Result<Vec<Merchant>, Error> {
    fetch!(
        all,
        conn,
        installation,
        Merchant,
        select!("order by created_at desc, id desc")
    )
}

/// The ids of all accounts, newest first, including accounts whose row cannot be read.
pub async fn ids(conn: &mut Conn) -> Result<Vec<Uuid>, Error> {
    const SQL: &str = "select id from merchants order by created_at desc, id desc";
    let rows = fetch!(all, conn, installation, (Uuid,), SQL)?;
    Ok(rows.into_iter().map(|(id,)| id).collect())
}

/// Accounts whose name contains a text or whose id it is, with this status or any, newest first. Skips `skip`
/// accounts and returns at most `limit`.
pub async fn search(
    conn: &mut Conn,
    text: &str,
    status: Option<MerchantStatus>,
    skip: i64,
    limit: i64,
) -> Result<Vec<Merchant>, Error> {
    let escaped = text
        .trim()
        .replace('!', "!!")
        .replace('%', "!%")
        .replace('_', "!_");
    let pattern = format!("%{escaped}%");
    let id = Uuid::parse_str(text.trim()).unwrap_or_default();
    fetch!(
        all,
        conn,
        installation,
        Merchant,
        select!(
            "where (lower(name) like lower($1) escape '!' or id = $2) and ($3 = '' or status = $3)
             order by created_at desc, id desc limit $4 offset $5"
        ),
        &pattern,
        id,
        status.map_or("", MerchantStatus::as_str),
        limit,
        skip
    )
}

/// Sets the status of the application; returns whether there was such an account.
pub async fn set_status(tx: &mut Tx, id: Uuid, status: MerchantStatus) -> Result<bool, Error> {
    let now = tx.now();
    const SQL: &str = "update merchants set status = $2, updated_at = $3 where id = $1";
    Ok(execute!(tx, installation, SQL, id, status.as_str(), now)? == 1)
}

/// Replaces the settings (JSON); returns whether there was such an account.
pub async fn set_settings(tx: &mut Tx, id: Uuid, settings: &str) -> Result<bool, Error> {
    let now = tx.now();
    const SQL: &str = "update merchants set settings = $2, updated_at = $3 where id = $1";
    Ok(execute!(tx, installation, SQL, id, settings, now)? == 1)
}
