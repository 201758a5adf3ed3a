//! Alerts about wallet screenings: an address that a screening touched was listed later. This module compares nothing.
//!
//! What was found and the reason of a decision are sealed under the account's key, as screenings are. An alert is
//! deleted with its screening.

use uuid::Uuid;

use crate::keyring::{DataKey, SealContext};
use crate::sql::{execute, fetch};
use crate::text_enum::{Word, text_enum};
use crate::{Conn, Error, Scope, Tx, merchants};

text_enum! {
    /// Whether an alert waits, or why it is closed.
    WalletAlertState("wallet alert state") {
        /// It waits for a reviewer.
        Open = "open",
        /// A reviewer closed it with a reason.
        Reviewed = "reviewed",
        /// No list that counts names the address any more.
        Delisted = "delisted",
    }
}

/// A finding about a screening.
#[derive(Clone, Copy, Debug)]
pub struct NewWalletAlert<'a> {
    /// The screening.
    pub screening_id: Uuid,
    /// See [`subject_ref`].
    pub subject_ref: &'a [u8],
    /// The address, its listing and the screening, as JSON (sealed).
    pub finding: &'a str,
    /// Whether the score with the new lists is to be computed.
    pub awaits_score: bool,
}

/// An alert.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WalletAlert {
    /// Its id.
    pub id: Uuid,
    /// The screening.
    pub screening_id: Uuid,
    /// See [`NewWalletAlert::finding`].
    pub finding: String,
    /// Whether it waits.
    pub state: WalletAlertState,
    /// When it was opened (ms).
    pub opened_at: i64,
    /// When it was opened or closed (ms).
    pub changed_at: i64,
    /// Who closed it: `staff:<id>`.
    pub closed_by: Option<String>,
    /// Why.
    pub reason: Option<String>,
}

#[derive(sqlx::FromRow)]
struct Row {
    id: Uuid,
    screening_id: Uuid,
    finding_sealed: Vec<u8>,
    #[sqlx(try_from = "Word<WalletAlertState>")]
    state: WalletAlertState,
    opened_at: i64,
    changed_at: i64,
    closed_by: Option<String>,
    reason_sealed: Option<Vec<u8>>,
}

const FINDING: &str = "wallet_alerts.finding";
const REASON: &str = "wallet_alerts.reason";

fn context<'a>(scope: Scope, what: &'static str, id: &'a Uuid) -> SealContext<'a> {
    SealContext {
        merchant_id: scope.merchant_id,
        what,
        id: id.as_bytes(),
    }
}

async fn open_all(conn: &mut Conn, scope: Scope, rows: Vec<Row>) -> Result<Vec<WalletAlert>, Error> {
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let key = merchants::key(conn, scope.merchant_id).await?;
    rows.into_iter().map(|row| open(&key, scope, row)).collect()
}

fn open(key: &DataKey, scope: Scope, row: Row) -> Result<WalletAlert, Error> {
    let reason = |sealed: &[u8]| key.open_text(&context(scope, REASON, &row.id), sealed);
    Ok(WalletAlert {
        finding: key.open_text(&context(scope, FINDING, &row.id), &row.finding_sealed)?,
        reason: row.reason_sealed.as_deref().map(reason).transpose()?,
        id: row.id,
        screening_id: row.screening_id,
        state: row.state,
        opened_at: row.opened_at,
        changed_at: row.changed_at,
        closed_by: row.closed_by,
    })
}

/// The blind index of what an alert is about: a screened text on its chain with a label, and the listed address.
#[must_use]
pub fn subject_ref(
    conn: &Conn,
    scope: Scope,
    (currency, query, label): (&str, &str, &str),
    address: &str,
) -> Vec<u8> {
    let subject = serde_json::json!([currency, query, label, address]);
    conn.keyring().blind(scope, "wallet alert", &subject.to_string())
}

/// Whether an alert about a subject is open or was closed by a reviewer.
pub async fn is_known(conn: &mut Conn, scope: Scope, subject_ref: &[u8]) -> Result<bool, Error> {
    const SQL: &str = "select count(*) from wallet_alerts
               where merchant_id = $1 and sandbox = $2 and subject_ref = $3 and state in ('open', 'reviewed')";
    Ok(fetch!(one, conn, scope, (i64,), SQL, subject_ref)?.0 > 0)
}

/// Opens an alert. `None`: its subject [is known](is_known).
pub async fn open_new(tx: &mut Tx, scope: Scope, alert: &NewWalletAlert<'_>) -> Result<Option<Uuid>, Error> {
    if is_known(tx, scope, alert.subject_ref).await? {
        return Ok(None);
    }
    let (id, now) = (Uuid::now_v7(), tx.now());
    let score_due = alert.awaits_score.then_some(now);
    let key = merchants::key(tx, scope.merchant_id).await?;
    let finding = key.seal(&context(scope, FINDING, &id), alert.finding.as_bytes());
    execute!(
        tx,
        scope,
        "insert into wallet_alerts
             (merchant_id, sandbox, id, screening_id, subject_ref, finding_sealed, state, opened_at, changed_at,
              score_due)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $8, $9)",
        id,
        alert.screening_id,
        alert.subject_ref,
        &finding,
        WalletAlertState::Open.as_str(),
        now,
        score_due
    )?;
    Ok(Some(id))
}

/// Open alerts whose score is to be computed now, in all accounts, at most `limit`.
pub async fn awaiting_score(conn: &mut Conn, limit: i64) -> Result<Vec<(Scope, Uuid)>, Error> {
    let now = conn.now();
    let rows = fetch!(
        all,
        conn,
        across_accounts("every node computes scores of new wallet alerts"),
        (Uuid, bool, Uuid),
        "select merchant_id, sandbox, id from wallet_alerts where score_due <= $1 order by score_due limit $2",
        now,
        limit
    )?;
    let scoped = |(merchant_id, sandbox, id)| (Scope { merchant_id, sandbox }, id);
    Ok(rows.into_iter().map(scoped).collect())
}

/// Takes an alert whose score is to be computed, for `lease_ms`. `false`: another worker computes it, or it is done.
pub async fn take_score(tx: &mut Tx, scope: Scope, id: Uuid, lease_ms: i64) -> Result<bool, Error> {
    let now = tx.now();
    const SQL: &str = "update wallet_alerts set score_due = $4
               where merchant_id = $1 and sandbox = $2 and id = $3 and score_due <= $5";
    Ok(execute!(tx, scope, SQL, id, now + lease_ms, now)? == 1)
}

/// Ends the computation of an open alert's score: with the finding that states it, or with `None` if there is none.
pub async fn record_score(tx: &mut Tx, scope: Scope, id: Uuid, finding: Option<&str>) -> Result<(), Error> {
    let sealed = match finding {
        Some(text) => {
            let key = merchants::key(tx, scope.merchant_id).await?;
            Some(key.seal(&context(scope, FINDING, &id), text.as_bytes()))
        }
        None => None,
    };
    const SQL: &str = "update wallet_alerts
               set finding_sealed = coalesce($4, finding_sealed), score_due = null
               where merchant_id = $1 and sandbox = $2 and id = $3 and score_due is not null";
    execute!(tx, scope, SQL, id, sealed).map(|_| ())
}

/// Closes an open alert because no list names its address any more. `false` if it is no longer open.
pub async fn close_delisted(tx: &mut Tx, scope: Scope, id: Uuid) -> Result<bool, Error> {
    let now = tx.now();
    const SQL: &str = "update wallet_alerts set state = 'delisted', changed_at = $4, score_due = null
               where merchant_id = $1 and sandbox = $2 and id = $3 and state = 'open'";
    Ok(execute!(tx, scope, SQL, id, now)? == 1)
}

/// Closes an open alert by a reviewer. `false` if it is no longer open.
pub async fn close_reviewed(
    tx: &mut Tx,
    scope: Scope,
    id: Uuid,
    (actor, reason): (&str, &str),
) -> Result<bool, Error> {
    let key = merchants::key(tx, scope.merchant_id).await?;
    let sealed = key.seal(&context(scope, REASON, &id), reason.as_bytes());
    let now = tx.now();
    const SQL: &str = "update wallet_alerts
               set state = 'reviewed', changed_at = $4, closed_by = $5, reason_sealed = $6, score_due = null
               where merchant_id = $1 and sandbox = $2 and id = $3 and state = 'open'";
    Ok(execute!(tx, scope, SQL, id, now, actor, &sealed)? == 1)
}

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "select id, screening_id, finding_sealed, state, opened_at, changed_at, closed_by, reason_sealed
             from wallet_alerts where merchant_id = $1 and sandbox = $2 ",
            $rest
        )
    };
}

/// One alert.
///
/// # Errors
/// [`Error::Sealed`].
pub async fn get(conn: &mut Conn, scope: Scope, id: Uuid) -> Result<Option<WalletAlert>, Error> {
    const SQL: &str = select!("and id = $3");
    let rows = fetch!(all, conn, scope, Row, SQL, id)?;
    Ok(open_all(conn, scope, rows).await?.pop())
}

/// Alerts, newest first, at most `limit`: those in a state, or all; older than one of them, or from the newest on.
///
/// # Errors
/// [`Error::Sealed`].
pub async fn list(
    conn: &mut Conn,
    scope: Scope,
    state: Option<WalletAlertState>,
    before: Option<Uuid>,
    limit: i64,
) -> Result<Vec<WalletAlert>, Error> {
    // A text for each, so that an index gives the order.
    const IN: &str = select!("and state = $5 and id < $3 order by id desc limit $4");
    const ANY: &str = select!("and id < $3 order by id desc limit $4");
    let before = before.unwrap_or(Uuid::max());
    let rows = match state {
        Some(state) => fetch!(all, conn, scope, Row, IN, before, limit, state.as_str())?,
        None => fetch!(all, conn, scope, Row, ANY, before, limit)?,
    };
    open_all(conn, scope, rows).await
}

/// The ids of open alerts, newest first, at most `limit`; older than one of them, or from the newest on.
pub async fn list_open_ids(
    conn: &mut Conn,
    scope: Scope,
    before: Option<Uuid>,
    limit: i64,
) -> Result<Vec<Uuid>, Error> {
    const SQL: &str = "select id from wallet_alerts
               where merchant_id = $1 and sandbox = $2 and state = 'open' and id < $3 order by id desc limit $4";
    let before = before.unwrap_or(Uuid::max());
    let rows = fetch!(all, conn, scope, (Uuid,), SQL, before, limit)?;
    Ok(rows.into_iter().map(|(id,)| id).collect())
}

/// How many alerts are open.
pub async fn count_open(conn: &mut Conn, scope: Scope) -> Result<i64, Error> {
    const SQL: &str = "select count(*) from wallet_alerts
               where merchant_id = $1 and sandbox = $2 and state = 'open'";
    Ok(fetch!(one, conn, scope, (i64,), SQL)?.0)
}
