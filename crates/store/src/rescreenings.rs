//! How far ongoing screening is in each account and mode: the lists against which everybody was last looked at, and
//! the place of the run in progress. This module screens nobody and opens no name.
//!
//! A run belongs to the worker with its lease. Each step of a run is one transaction with what the step found, so a
//! run that a dead node left is continued without losing or repeating a step.

mod counting;

use uuid::Uuid;

use crate::attempts::{self, Attempt};
use crate::sql::{execute, fetch};
use crate::{Conn, Error, Scope, Tx, merchants};

pub use self::counting::{CountingLists, INACTIVE, ListDigests};

const RESCREENING: &str = "state of ongoing screening";

/// How far ongoing screening is in an account and mode.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rescreening {
    /// The lists against which everybody was last looked at.
    pub done: CountingLists,
    /// The lists of the run in progress.
    pub target: Option<CountingLists>,
    /// The last person whom the run looked at.
    pub after: Uuid,
    /// When the run in progress, or the last one, began (ms).
    pub started_at: Option<i64>,
    /// When the last run ended (ms).
    pub finished_at: Option<i64>,
    /// How many people the run has looked at.
    pub people: i64,
    /// How many alerts it has opened.
    pub alerts: i64,
    /// Until when (ms) a worker has the run.
    pub leased_until: i64,
}

#[derive(sqlx::FromRow)]
struct Row {
    merchant_id: Uuid,
    sandbox: bool,
    done: String,
    target: Option<String>,
    after_facemap: Uuid,
    started_at: Option<i64>,
    finished_at: Option<i64>,
    people: i64,
    alerts: i64,
    leased_until: i64,
}

impl TryFrom<Row> for Rescreening {
    type Error = Error;

    fn try_from(row: Row) -> Result<Self, Error> {
        let lists = |text: &str| serde_json::from_str(text).map_err(|_| Error::Unreadable(RESCREENING));
        Ok(Rescreening {
            done: lists(&row.done)?,
            target: row.target.as_deref().map(lists).transpose()?,
            after: row.after_facemap,
            started_at: row.started_at,
            finished_at: row.finished_at,
            people: row.people,
            alerts: row.alerts,
            leased_until: row.leased_until,
        })
    }
}

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "select merchant_id, sandbox, done, target, after_facemap, started_at, finished_at, people, alerts,
                    leased_until
             from rescreenings ",
            $rest
        )
    };
}

/// Every account's state, in both modes: [`Error::Unreadable`] for a row that no version writes, which does not hide
/// the others.
pub async fn list(conn: &mut Conn) -> Result<Vec<(Scope, Result<Rescreening, Error>)>, Error> {
    let rows = fetch!(
        all,
        conn,
        across_accounts("every node looks for accounts whose people must be looked at again"),
        Row,
        select!("")
    )?;
    let scoped = |row: Row| {
        let scope = Scope {
            merchant_id: row.merchant_id,
            sandbox: row.sandbox,
        };
        (scope, row.try_into())
    };
    Ok(rows.into_iter().map(scoped).collect())
}

/// An account's state; `None` before its first run.
///
/// # Errors
/// [`Error::Unreadable`] for a row that no version writes.
pub async fn get(conn: &mut Conn, scope: Scope) -> Result<Option<Rescreening>, Error> {
    const SQL: &str = select!("where merchant_id = $1 and sandbox = $2");
    fetch!(optional, conn, scope, Row, SQL)?
        .map(Row::try_into)
        .transpose()
}

/// Begins a run, or continues the one that another worker left, for `lease_ms`. `None`: another worker has it. A run
/// for other lists than `target` begins at the first person again. Whatever it found in a list that is not as before
/// may be wrong now, so the lists of such a run count as unknown ([`CountingLists::known_since`]).
///
/// # Errors
/// [`Error::Unreadable`] for a row that no version writes.
pub async fn begin(
    tx: &mut Tx,
    scope: Scope,
    target: &CountingLists,
    lease: Uuid,
    lease_ms: i64,
) -> Result<Option<Rescreening>, Error> {
    let now = tx.now();
    let nobody = Uuid::nil();
    execute!(
        tx,
        scope,
        "insert into rescreenings (merchant_id, sandbox, done, after_facemap, people, alerts, leased_until)
         values ($1, $2, '{}', $3, 0, 0, 0) on conflict (merchant_id, sandbox) do nothing",
        nobody
    )?;
    const LEASE: &str = "update rescreenings set lease = $3, leased_until = $4
               where merchant_id = $1 and sandbox = $2 and leased_until <= $5";
    if execute!(tx, scope, LEASE, lease, now + lease_ms, now)? == 0 {
        return Ok(None);
    }
    let state = get(tx, scope).await?.ok_or(Error::Missing(RESCREENING))?;
    if state.target.as_ref() == Some(target) {
        return Ok(Some(state));
    }
    let mut done = state.done;
    if let Some(abandoned) = &state.target {
        done = done.after_abandoned(abandoned);
    }
    let text = |lists: &CountingLists| serde_json::json!(lists).to_string();
    let (target, done) = (text(target), text(&done));
    const BEGIN: &str = "update rescreenings
               set target = $3, after_facemap = $4, started_at = $5, people = 0, alerts = 0, done = $6
               where merchant_id = $1 and sandbox = $2";
    execute!(tx, scope, BEGIN, &target, nobody, now, &done)?;
    get(tx, scope).await
}

/// What a step of a run did.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// The last person whom it looked at.
    pub after: Uuid,
    /// How many people it looked at.
    pub people: i64,
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
    const SQL: &str = "update rescreenings
               set after_facemap = $4, people = people + $5, alerts = alerts + $6, leased_until = $7
               where merchant_id = $1 and sandbox = $2 and lease = $3";
    Ok(execute!(tx, scope, SQL, lease, step.after, step.people, step.alerts, until)? == 1)
}

/// Extends the lease of a run. `false`: another worker has it.
pub async fn extend(tx: &mut Tx, scope: Scope, lease: Uuid, lease_ms: i64) -> Result<bool, Error> {
    let until = tx.now() + lease_ms;
    const SQL: &str = "update rescreenings set leased_until = $4
               where merchant_id = $1 and sandbox = $2 and lease = $3";
    Ok(execute!(tx, scope, SQL, lease, until)? == 1)
}

/// Forgets that anybody was looked at, and ends a run in progress: the next run looks at everybody against all lists.
pub async fn forget(tx: &mut Tx, scope: Scope) -> Result<(), Error> {
    const SQL: &str = "update rescreenings set done = '{}', target = null, lease = null, leased_until = 0
               where merchant_id = $1 and sandbox = $2";
    execute!(tx, scope, SQL).map(|_| ())
}

/// Ends a run: everybody was looked at. `false`: another worker has it.
pub async fn finish(tx: &mut Tx, scope: Scope, lease: Uuid) -> Result<bool, Error> {
    let now = tx.now();
    const SQL: &str = "update rescreenings
               set done = target, target = null, finished_at = $4, lease = null, leased_until = 0
               where merchant_id = $1 and sandbox = $2 and lease = $3 and target is not null";
    Ok(execute!(tx, scope, SQL, lease, now)? == 1)
}

/// Gives a run up, so that any worker continues it at once.
pub async fn release(tx: &mut Tx, scope: Scope, lease: Uuid) -> Result<(), Error> {
    const SQL: &str = "update rescreenings set lease = null, leased_until = 0
               where merchant_id = $1 and sandbox = $2 and lease = $3";
    execute!(tx, scope, SQL, lease).map(|_| ())
}

/// Asks for one person to be looked at against all lists, because the person's names, or who approved them, changed.
pub async fn request(tx: &mut Tx, scope: Scope, facemap_id: Uuid) -> Result<(), Error> {
    let (token, now) = (Uuid::new_v4(), tx.now());
    const SQL: &str = "insert into rescreening_requests (merchant_id, sandbox, facemap_id, at, token)
               values ($1, $2, $3, $4, $5)
               on conflict (merchant_id, sandbox, facemap_id) do update set at = excluded.at, token = excluded.token";
    execute!(tx, scope, SQL, facemap_id, now, token).map(|_| ())
}

/// A person for whom it was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The account and mode.
    pub scope: Scope,
    /// The person.
    pub facemap_id: Uuid,
    /// Another one if it was asked again meanwhile.
    pub token: Uuid,
}

/// Asks again for a person who cannot be looked at now, in `pause` ms.
pub async fn postpone(tx: &mut Tx, request: Request, pause: i64) -> Result<(), Error> {
    let at = tx.now() + pause;
    let Request {
        scope,
        facemap_id,
        token,
    } = request;
    const SQL: &str = "update rescreening_requests set at = $5
               where merchant_id = $1 and sandbox = $2 and facemap_id = $3 and coalesce(token, facemap_id) = $4";
    execute!(tx, scope, SQL, facemap_id, token, at).map(|_| ())
}

/// Requests that are due, in all accounts, at most `limit`.
pub async fn requested(conn: &mut Conn, limit: i64) -> Result<Vec<Request>, Error> {
    type Row = (Uuid, bool, Uuid, Uuid);
    let now = conn.now();
    let rows = fetch!(
        all,
        conn,
        across_accounts("every node looks for people who must be looked at again"),
        Row,
        "select merchant_id, sandbox, facemap_id, coalesce(token, facemap_id) from rescreening_requests
         where at <= $2 order by at, facemap_id limit $1",
        limit,
        now
    )?;
    let request = |(merchant_id, sandbox, facemap_id, token)| Request {
        scope: Scope { merchant_id, sandbox },
        facemap_id,
        token,
    };
    Ok(rows.into_iter().map(request).collect())
}

/// Takes a request; `false` if another worker took it, or if it was asked again meanwhile.
pub async fn take_request(tx: &mut Tx, request: Request) -> Result<bool, Error> {
    let Request {
        scope,
        facemap_id,
        token,
    } = request;
    const SQL: &str = "delete from rescreening_requests
               where merchant_id = $1 and sandbox = $2 and facemap_id = $3 and coalesce(token, facemap_id) = $4";
    Ok(execute!(tx, scope, SQL, facemap_id, token)? == 1)
}

/// People with an approved registration, in the order of their facemaps, at most `limit`.
pub async fn approved_people(
    conn: &mut Conn,
    scope: Scope,
    after: Uuid,
    limit: i64,
) -> Result<Vec<Uuid>, Error> {
    const SQL: &str = "select distinct facemap_id from registrations
               where merchant_id = $1 and sandbox = $2 and status = 'approved' and facemap_id > $3
               order by facemap_id limit $4";
    let rows = fetch!(all, conn, scope, (Uuid,), SQL, after, limit)?;
    Ok(rows.into_iter().map(|(facemap_id,)| facemap_id).collect())
}

/// The names of one attempt.
#[derive(Clone, Debug)]
pub struct AttemptNames {
    /// The person.
    pub facemap_id: Uuid,
    /// The attempt.
    pub log_id: i64,
    /// Whether the attempt is approved.
    pub is_approved: bool,
    /// The Flow.
    pub flow_id: Uuid,
    /// Its registration, if that is approved.
    pub approved_registration: Option<Uuid>,
    /// The names.
    pub names: StoredNames,
}

/// What is stored of an attempt's names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoredNames {
    /// The text passed to [`attempts::insert`].
    Text(String),
    /// An earlier version logged the attempt: only its record has the names.
    InRecord,
    /// The attempt's key does not open them.
    Unreadable,
}

#[derive(sqlx::FromRow)]
struct NamesRow {
    facemap_id: Uuid,
    log_id: i64,
    id: Uuid,
    is_approved: bool,
    flow_id: Uuid,
    registration_id: Option<Uuid>,
    wrapped_key: Vec<u8>,
    names_sealed: Option<Vec<u8>>,
    person_key: Vec<u8>,
}

/// The names of the attempts of everybody with an approved registration after one facemap, up to another. Names that
/// cannot be opened do not hide the others.
///
/// # Errors
/// [`Error::Sealed`] if the account's key cannot be opened.
pub async fn names_between(
    conn: &mut Conn,
    scope: Scope,
    after: Uuid,
    last: Uuid,
) -> Result<Vec<AttemptNames>, Error> {
    const SQL: &str =
        "select a.facemap_id, a.log_id, a.id, a.status = 'approved' as is_approved, a.flow_id, q.id as registration_id,
                   a.wrapped_key, a.names_sealed, p.wrapped_key as person_key
               from attempts a join people p
                   on p.merchant_id = a.merchant_id and p.sandbox = a.sandbox and p.facemap_id = a.facemap_id
               left join registrations q
                   on q.merchant_id = a.merchant_id and q.sandbox = a.sandbox and q.id = a.registration_id
                       and q.facemap_id = a.facemap_id and q.status = 'approved'
               where a.merchant_id = $1 and a.sandbox = $2 and a.facemap_id > $3 and a.facemap_id <= $4
                   and exists (select 1 from registrations r
                       where r.merchant_id = $1 and r.sandbox = $2 and r.status = 'approved'
                           and r.facemap_id = a.facemap_id)
               order by a.facemap_id, a.log_id";
    let rows = fetch!(all, conn, scope, NamesRow, SQL, after, last)?;
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let merchant_key = merchants::key(conn, scope.merchant_id).await?;
    let open = |row: NamesRow| {
        let read = |sealed: &[u8]| {
            let keys = (
                (&row.facemap_id, &row.person_key[..]),
                (&row.id, &row.wrapped_key[..]),
            );
            let key = attempts::unwrap(&merchant_key, scope, keys.0, keys.1)?;
            attempts::open_names(&key, scope, &row.id, sealed)
        };
        let names = match row.names_sealed.as_deref().map(read) {
            None => StoredNames::InRecord,
            Some(Ok(text)) => StoredNames::Text(text),
            Some(Err(_)) => StoredNames::Unreadable,
        };
        AttemptNames {
            facemap_id: row.facemap_id,
            log_id: row.log_id,
            is_approved: row.is_approved,
            flow_id: row.flow_id,
            approved_registration: row.registration_id,
            names,
        }
    };
    Ok(rows.into_iter().map(open).collect())
}

/// Stores the names of an attempt of an earlier version beside its record.
pub async fn remember_names(tx: &mut Tx, scope: Scope, attempt: &Attempt, names: &str) -> Result<(), Error> {
    let sealed = attempts::seal_names(&attempt.key, scope, &attempt.id, names);
    const SQL: &str = "update attempts set names_sealed = $4
               where merchant_id = $1 and sandbox = $2 and log_id = $3 and names_sealed is null";
    execute!(tx, scope, SQL, attempt.log_id, &sealed).map(|_| ())
}
