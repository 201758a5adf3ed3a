//! How far the comparison of wallet screenings with the sanctions lists is in each account and mode. This module
//! compares nothing.
//!
//! A run belongs to the worker with its lease. Each step of a run is one transaction with the alerts that it opens, so
//! a run that a dead node left is continued without losing or repeating a step.

use uuid::Uuid;

use crate::sql::{execute, fetch};
use crate::{Conn, Error, Scope, Tx};

const STATE: &str = "state of wallet screenings";

/// How far the comparison is in an account and mode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WalletRescreening {
    /// With what all screenings were last compared. `None`: unknown.
    pub done: Option<String>,
    /// The same of the run in progress.
    pub target: Option<String>,
    /// Whether another run must compare all screenings again.
    pub must_repeat: bool,
    /// The run continues with the screenings before this one.
    pub before: Uuid,
    /// How many alerts the run, or the last one, opened.
    pub alerts: i64,
    /// When the last run ended (ms).
    pub finished_at: Option<i64>,
}

#[derive(sqlx::FromRow)]
struct Row {
    merchant_id: Uuid,
    sandbox: bool,
    done: Option<String>,
    target: Option<String>,
    must_repeat: bool,
    before_screening: Uuid,
    alerts: i64,
    finished_at: Option<i64>,
}

impl From<Row> for WalletRescreening {
    fn from(row: Row) -> Self {
        WalletRescreening {
            done: row.done,
            target: row.target,
            must_repeat: row.must_repeat,
            before: row.before_screening,
            alerts: row.alerts,
            finished_at: row.finished_at,
        }
    }
}

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "select merchant_id, sandbox, done, target, must_repeat, before_screening, alerts, finished_at
             from wallet_rescreenings ",
            $rest
        )
    };
}

/// Every account's state, in both modes.
pub async fn list(conn: &mut Conn) -> Result<Vec<(Scope, WalletRescreening)>, Error> {
    let rows = fetch!(
        all,
        conn,
        across_accounts("every node looks for accounts whose wallet screenings must be compared again"),
        Row,
        select!("")
    )?;
    let scoped = |row: Row| {
        let scope = Scope {
            merchant_id: row.merchant_id,
            sandbox: row.sandbox,
        };
        (scope, row.into())
    };
    Ok(rows.into_iter().map(scoped).collect())
}

/// An account's state; `None` before its first run.
pub async fn get(conn: &mut Conn, scope: Scope) -> Result<Option<WalletRescreening>, Error> {
    const SQL: &str = select!("where merchant_id = $1 and sandbox = $2");
    Ok(fetch!(optional, conn, scope, Row, SQL)?.map(Row::into))
}

async fn insert_missing(tx: &mut Tx, scope: Scope) -> Result<(), Error> {
    let newest = Uuid::max();
    execute!(
        tx,
        scope,
        "insert into wallet_rescreenings
             (merchant_id, sandbox, must_repeat, before_screening, screenings, alerts, leased_until)
         values ($1, $2, false, $3, 0, 0, 0) on conflict (merchant_id, sandbox) do nothing",
        newest
    )
    .map(|_| ())
}

/// An account's state, which stays as it is until the transaction ends: no run begins, advances or ends, and the
/// transactions of other screenings wait. A lock that they shared would stop them for a second if two of them request a
/// repetition.
pub async fn lock_for_screening(tx: &mut Tx, scope: Scope) -> Result<WalletRescreening, Error> {
    // A transaction that writes to SQLite has locked the whole database.
    const LOCKED: &str = select!("where merchant_id = $1 and sandbox = $2 for update");
    insert_missing(tx, scope).await?;
    let state = match tx.is_postgres() {
        true => fetch!(optional, tx, scope, Row, LOCKED)?.map(Row::into),
        false => get(tx, scope).await?,
    };
    state.ok_or(Error::Missing(STATE))
}

/// Begins a run, or continues the one that another worker left, for `lease_ms`. `None`: another worker has it. A run
/// with another target begins at the newest screening again, and so does one that must be repeated. What was compared
/// before is then unknown, because the abandoned run may have opened and closed alerts.
pub async fn begin(
    tx: &mut Tx,
    scope: Scope,
    target: &str,
    lease: Uuid,
    lease_ms: i64,
) -> Result<Option<WalletRescreening>, Error> {
    let (now, newest) = (tx.now(), Uuid::max());
    insert_missing(tx, scope).await?;
    const LEASE: &str = "update wallet_rescreenings set lease = $3, leased_until = $4
               where merchant_id = $1 and sandbox = $2 and leased_until <= $5";
    if execute!(tx, scope, LEASE, lease, now + lease_ms, now)? == 0 {
        return Ok(None);
    }
    let state = get(tx, scope).await?.ok_or(Error::Missing(STATE))?;
    if state.target.as_deref() == Some(target) && !state.must_repeat {
        return Ok(Some(state));
    }
    let done = state
        .done
        .filter(|_| state.target.is_none() && !state.must_repeat);
    const BEGIN: &str = "update wallet_rescreenings
               set done = $3, target = $4, must_repeat = false, before_screening = $5, started_at = $6,
                   screenings = 0, alerts = 0
               where merchant_id = $1 and sandbox = $2";
    execute!(tx, scope, BEGIN, done, target, newest, now)?;
    get(tx, scope).await
}

/// What a step of a run did.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// The run continues with the screenings before this one.
    pub before: Uuid,
    /// How many screenings it compared.
    pub screenings: i64,
    /// How many alerts it opened.
    pub alerts: i64,
}

/// Records a step of a run and extends its lease. `false`: another worker has the run, and the transaction must be
/// rolled back.
pub async fn advance(
    tx: &mut Tx,
    scope: Scope,
    lease: Uuid,
    step: Step,
    lease_ms: i64,
) -> Result<bool, Error> {
    let until = tx.now() + lease_ms;
    const SQL: &str = "update wallet_rescreenings
               set before_screening = $4, screenings = screenings + $5, alerts = alerts + $6, leased_until = $7
               where merchant_id = $1 and sandbox = $2 and lease = $3";
    let Step {
        before,
        screenings,
        alerts,
    } = step;
    Ok(execute!(tx, scope, SQL, lease, before, screenings, alerts, until)? == 1)
}

/// Extends the lease of a run. `false`: another worker has it.
pub async fn extend(tx: &mut Tx, scope: Scope, lease: Uuid, lease_ms: i64) -> Result<bool, Error> {
    let until = tx.now() + lease_ms;
    const SQL: &str = "update wallet_rescreenings set leased_until = $4
               where merchant_id = $1 and sandbox = $2 and lease = $3";
    Ok(execute!(tx, scope, SQL, lease, until)? == 1)
}

/// Ends a run that compared all screenings. `false`: another worker has it.
pub async fn finish(tx: &mut Tx, scope: Scope, lease: Uuid) -> Result<bool, Error> {
    let now = tx.now();
    const SQL: &str = "update wallet_rescreenings
               set done = target, target = null, finished_at = $4, lease = null, leased_until = 0
               where merchant_id = $1 and sandbox = $2 and lease = $3 and target is not null";
    Ok(execute!(tx, scope, SQL, lease, now)? == 1)
}

/// Gives a run up, so that any worker continues it at once.
pub async fn release(tx: &mut Tx, scope: Scope, lease: Uuid) -> Result<(), Error> {
    const SQL: &str = "update wallet_rescreenings set lease = null, leased_until = 0
               where merchant_id = $1 and sandbox = $2 and lease = $3";
    execute!(tx, scope, SQL, lease).map(|_| ())
}

/// Makes another run compare all screenings. A run in progress ends before it.
pub async fn request_repetition(tx: &mut Tx, scope: Scope) -> Result<(), Error> {
    const SQL: &str =
        "update wallet_rescreenings set must_repeat = true where merchant_id = $1 and sandbox = $2";
    execute!(tx, scope, SQL).map(|_| ())
}
