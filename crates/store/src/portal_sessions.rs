//! Sessions of the portal. A token has 256 random bits and is stored as a keyed hash. A session ends 30
//! minutes after its last use, and at the latest 12 hours after it began. When a session gains rights, it
//! gets a new token. This module sets no cookies.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use secrecy::SecretString;
use uuid::Uuid;

use crate::keyring::random;
use crate::merchants::{self, Merchant};
use crate::sql::{execute, fetch};
use crate::staff::{self, StaffMember};
use crate::text_enum::{Word, text_enum};
use crate::{Conn, Error, Tx};

/// A session ends after this time without use (ms).
pub const IDLE_MS: i64 = 30 * 60 * 1_000;
/// The longest life of a session (ms).
pub const LIFE_MS: i64 = 12 * 60 * 60 * 1_000;
/// How long the second factor may take after the password (ms).
pub const PASSWORD_STAGE_MS: i64 = 10 * 60 * 1_000;
/// How long a form's result is stored for the page that shows it (ms).
pub const PAGE_RESULT_MS: i64 = 5 * 60 * 1_000;
/// The shortest time between two updates of a session's last use (ms).
const TOUCH_MS: i64 = 60 * 1_000;

text_enum! {
    /// How far a member of staff has signed in.
    Stage("stage of a sign-in") {
        /// The password was correct. The second factor is still missing.
        Password = "password",
        /// Signed in.
        Full = "full",
    }
}

/// The owner and state of a session.
#[derive(Clone, Debug)]
pub struct ActiveSession {
    /// The session's id in lists.
    pub session_id: Uuid,
    /// The member of staff.
    pub staff: StaffMember,
    /// The role in the chosen account; `None` without an account, or if the member has no access to it any
    /// more.
    pub role: Option<String>,
    /// The chosen account.
    pub merchant: Option<Merchant>,
    /// The chosen mode.
    pub sandbox: bool,
    /// How far the member has signed in.
    pub stage: Stage,
    /// When the member last entered the password or a code (ms).
    pub authenticated_at: i64,
    /// When the session was last used (ms), accurate to a minute.
    pub seen_at: i64,
    /// When it ends at the latest (ms).
    pub expires_at: i64,
}

impl ActiveSession {
    /// Whether [`touch`] would update the session.
    #[must_use]
    pub fn touch_due(&self, now: i64) -> bool {
        self.seen_at + TOUCH_MS <= now
    }
}

/// A session as its owner sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortalSession {
    /// The session's id.
    pub id: Uuid,
    /// Browser and address, as JSON.
    pub device: String,
    /// When it began (ms).
    pub created_at: i64,
    /// When it was last used (ms), accurate to a minute.
    pub seen_at: i64,
}

/// The content of a new session.
#[derive(Clone, Copy, Debug)]
pub struct NewSession<'a> {
    /// The member of staff.
    pub staff_id: Uuid,
    /// The chosen account.
    pub merchant_id: Option<Uuid>,
    /// Its mode.
    pub sandbox: bool,
    /// How far the member has signed in.
    pub stage: Stage,
    /// Browser and address, as JSON.
    pub device: &'a str,
}

const DEVICE: &str = "portal_sessions.device";
const PAGE_RESULT: &str = "portal_sessions.shown";

fn new_token(conn: &Conn) -> (SecretString, Vec<u8>) {
    let token = URL_SAFE_NO_PAD.encode(random::<32>());
    let token_ref = token_ref(conn, &token);
    (SecretString::from(token), token_ref)
}

fn token_ref(conn: &Conn, token: &str) -> Vec<u8> {
    conn.keyring()
        .hash("portal session", &[token.as_bytes()])
        .to_vec()
}

fn life(stage: Stage) -> i64 {
    match stage {
        Stage::Password => PASSWORD_STAGE_MS,
        Stage::Full => LIFE_MS,
    }
}

/// Creates a session; its token is returned only this once.
///
/// # Errors
/// [`Error::Missing`] for an unknown member of staff.
pub async fn create(tx: &mut Tx, new: &NewSession<'_>) -> Result<(Uuid, SecretString), Error> {
    let (token, token_ref) = new_token(tx);
    let id = Uuid::now_v7();
    let key = staff::key(tx, new.staff_id).await?;
    let device = key.seal(&staff::seal_context(&id, DEVICE), new.device.as_bytes());
    let now = tx.now();
    execute!(
        tx,
        across_accounts("a portal session belongs to a member of staff"),
        "insert into portal_sessions
             (token_ref, id, staff_id, merchant_id, sandbox, stage, device_sealed, created_at, seen_at, expires_at, proved_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $8, $9, $8)",
        &token_ref,
        id,
        new.staff_id,
        new.merchant_id,
        new.sandbox,
        new.stage.as_str(),
        &device,
        now,
        now + life(new.stage),
    )?;
    Ok((id, token))
}

#[derive(sqlx::FromRow)]
struct Row {
    id: Uuid,
    staff_id: Uuid,
    merchant_id: Option<Uuid>,
    sandbox: bool,
    #[sqlx(try_from = "Word<Stage>")]
    stage: Stage,
    seen_at: i64,
    expires_at: i64,
    proved_at: i64,
    role: Option<String>,
}

/// The owner and state of a token's session. `None` if the token is unknown, expired or revoked, or the
/// member is disabled.
///
/// # Errors
/// [`Error::Sealed`].
pub async fn find(conn: &mut Conn, token: &str) -> Result<Option<ActiveSession>, Error> {
    let token_ref = token_ref(conn, token);
    let now = conn.now();
    let row = fetch!(
        optional,
        conn,
        across_accounts("a portal session belongs to a member of staff"),
        Row,
        "select p.id, p.staff_id, p.merchant_id, p.sandbox, p.stage, p.seen_at, p.expires_at, p.proved_at, m.role
         from portal_sessions p
         left join memberships m
             on m.merchant_id = p.merchant_id and m.staff_id = p.staff_id and m.disabled_at is null
         where p.token_ref = $1 and p.expires_at > $2 and p.seen_at > $3",
        &token_ref,
        now,
        now - IDLE_MS,
    )?;
    let Some(row) = row else { return Ok(None) };
    let Some(staff) = staff::get(conn, row.staff_id).await? else {
        return Ok(None);
    };
    if staff.disabled_at.is_some() {
        return Ok(None);
    }
    let merchant = match row.merchant_id {
        Some(id) => merchants::get(conn, id).await?,
        None => None,
    };
    Ok(Some(ActiveSession {
        session_id: row.id,
        staff,
        role: row.role,
        merchant,
        sandbox: row.sandbox,
        stage: row.stage,
        authenticated_at: row.proved_at,
        seen_at: row.seen_at,
        expires_at: row.expires_at,
    }))
}

/// Records that a session was used, at most once a minute.
pub async fn touch(tx: &mut Tx, id: Uuid) -> Result<(), Error> {
    let now = tx.now();
    const SQL: &str = "update portal_sessions set seen_at = $2 where id = $1 and seen_at <= $3";
    execute!(
        tx,
        across_accounts("a portal session belongs to a member of staff"),
        SQL,
        id,
        now,
        now - TOUCH_MS
    )
    .map(|_| ())
}

/// Gives a session a new token after its owner has entered the password or a code; the previous token stops
/// working. A session in [`Stage::Password`] becomes a full one, whose life begins now.
///
/// # Errors
/// [`Error::Missing`] if the session has ended.
pub async fn renew_authenticated(tx: &mut Tx, id: Uuid) -> Result<SecretString, Error> {
    let (token, token_ref) = new_token(tx);
    let now = tx.now();
    let renewed = execute!(
        tx,
        across_accounts("a portal session belongs to a member of staff"),
        "update portal_sessions set token_ref = $2, proved_at = $3, seen_at = $3,
             expires_at = case when stage = 'full' then expires_at else $4 end, stage = 'full'
         where id = $1 and expires_at > $3",
        id,
        &token_ref,
        now,
        now + LIFE_MS
    )?;
    if renewed == 0 {
        return Err(Error::Missing("session"));
    }
    Ok(token)
}

/// Gives a session a new token because it gained rights without a new proof; the previous token stops
/// working.
///
/// # Errors
/// [`Error::Missing`] if the session has ended.
pub async fn renew(tx: &mut Tx, id: Uuid) -> Result<SecretString, Error> {
    let (token, token_ref) = new_token(tx);
    let now = tx.now();
    const SQL: &str = "update portal_sessions set token_ref = $2 where id = $1 and expires_at > $3";
    if execute!(
        tx,
        across_accounts("a portal session belongs to a member of staff"),
        SQL,
        id,
        &token_ref,
        now
    )? == 0
    {
        return Err(Error::Missing("session"));
    }
    Ok(token)
}

/// Chooses the account and mode of a session.
pub async fn set_account(
    tx: &mut Tx,
    id: Uuid,
    merchant_id: Option<Uuid>,
    sandbox: bool,
) -> Result<(), Error> {
    const SQL: &str = "update portal_sessions set merchant_id = $2, sandbox = $3 where id = $1";
    execute!(
        tx,
        across_accounts("a portal session belongs to a member of staff"),
        SQL,
        id,
        merchant_id,
        sandbox
    )
    .map(|_| ())
}

/// A form's result that is stored for the next page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageResult {
    /// The result, opened.
    pub text: String,
    /// The sealed value in the row, which distinguishes it from the next result.
    sealed: Vec<u8>,
}

/// Stores a form's result for the session's next page, for [`PAGE_RESULT_MS`]. It replaces an earlier result.
///
/// # Errors
/// [`Error::Missing`] for an unknown member of staff.
pub async fn store_page_result(tx: &mut Tx, staff_id: Uuid, id: Uuid, text: &str) -> Result<(), Error> {
    let key = staff::key(tx, staff_id).await?;
    let sealed = key.seal(&staff::seal_context(&id, PAGE_RESULT), text.as_bytes());
    let until = tx.now() + PAGE_RESULT_MS;
    const SQL: &str =
        "update portal_sessions set shown_sealed = $3, shown_until = $4 where id = $1 and staff_id = $2";
    execute!(
        tx,
        across_accounts("a portal session belongs to a member of staff"),
        SQL,
        id,
        staff_id,
        &sealed,
        until
    )
    .map(|_| ())
}

/// The result that [`store_page_result`] stored; `None` if there is none or it has expired.
///
/// # Errors
/// [`Error::Sealed`].
pub async fn page_result(conn: &mut Conn, staff_id: Uuid, id: Uuid) -> Result<Option<PageResult>, Error> {
    let now = conn.now();
    const SQL: &str =
        "select shown_sealed from portal_sessions where id = $1 and staff_id = $2 and shown_until > $3";
    let row = fetch!(
        optional,
        conn,
        across_accounts("a portal session belongs to a member of staff"),
        (Option<Vec<u8>>,),
        SQL,
        id,
        staff_id,
        now
    )?;
    let Some((Some(sealed),)) = row else {
        return Ok(None);
    };
    let key = staff::key(conn, staff_id).await?;
    let text = key.open_text(&staff::seal_context(&id, PAGE_RESULT), &sealed)?;
    Ok(Some(PageResult { text, sealed }))
}

/// Deletes a result that [`shown`] returned; returns whether it was still stored. Of any number of
/// simultaneous calls, one gets `true`.
pub async fn take_page_result(tx: &mut Tx, id: Uuid, shown: &PageResult) -> Result<bool, Error> {
    const SQL: &str = "update portal_sessions set shown_sealed = null, shown_until = null where id = $1 and shown_sealed = $2";
    Ok(execute!(
        tx,
        across_accounts("a portal session belongs to a member of staff"),
        SQL,
        id,
        &shown.sealed
    )? == 1)
}

/// A member's active sessions, the latest used first.
///
/// # Errors
/// [`Error::Sealed`].
pub async fn list(conn: &mut Conn, staff_id: Uuid) -> Result<Vec<PortalSession>, Error> {
    let key = staff::key(conn, staff_id).await?;
    let now = conn.now();
    let rows = fetch!(
        all,
        conn,
        across_accounts("a portal session belongs to a member of staff"),
        (Uuid, Vec<u8>, i64, i64),
        "select id, device_sealed, created_at, seen_at from portal_sessions
         where staff_id = $1 and stage = 'full' and expires_at > $2 and seen_at > $3
         order by seen_at desc, id desc",
        staff_id,
        now,
        now - IDLE_MS
    )?;
    rows.into_iter()
        .map(|(id, device, created_at, seen_at)| {
            Ok(PortalSession {
                device: key.open_text(&staff::seal_context(&id, DEVICE), &device)?,
                id,
                created_at,
                seen_at,
            })
        })
        .collect()
}

/// Ends one of a member's sessions; returns whether there was one.
pub async fn end(tx: &mut Tx, staff_id: Uuid, id: Uuid) -> Result<bool, Error> {
    const SQL: &str = "delete from portal_sessions where staff_id = $1 and id = $2";
    Ok(execute!(
        tx,
        across_accounts("a portal session belongs to a member of staff"),
        SQL,
        staff_id,
        id
    )? == 1)
}

/// Ends all of a member's sessions, except one if it is given; returns how many.
pub async fn end_all(tx: &mut Tx, staff_id: Uuid, but: Option<Uuid>) -> Result<u64, Error> {
    const SQL: &str = "delete from portal_sessions where staff_id = $1 and id <> $2";
    execute!(
        tx,
        across_accounts("a portal session belongs to a member of staff"),
        SQL,
        staff_id,
        but.unwrap_or_default()
    )
}

/// Ends a member's sessions in one account; returns how many.
pub async fn end_in_account(tx: &mut Tx, merchant_id: Uuid, staff_id: Uuid) -> Result<u64, Error> {
    const SQL: &str = "delete from portal_sessions where merchant_id = $1 and staff_id = $2";
    execute!(
        tx,
        both_modes(merchant_id, "a portal session may change its mode"),
        SQL,
        staff_id
    )
}

/// Deletes ended sessions and expired results; returns how many rows changed.
pub async fn sweep(tx: &mut Tx) -> Result<u64, Error> {
    let now = tx.now();
    let ended = execute!(
        tx,
        across_accounts("retention ends every member's portal sessions"),
        "delete from portal_sessions where expires_at <= $1 or seen_at <= $2",
        now,
        now - IDLE_MS
    )?;
    Ok(ended
        + execute!(
            tx,
            across_accounts("retention ends every member's portal sessions"),
            "update portal_sessions set shown_sealed = null, shown_until = null where shown_until <= $1",
            now
        )?)
}
