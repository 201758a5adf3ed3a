//! Alerts of ongoing screening: listings that were found to resemble people after they were approved. This module
//! screens nobody and decides nothing.
//!
//! The hit and the reason of a decision are sealed under the key of the attempt that the alert belongs to, and the
//! entry of the list is known by its blind index alone. Retention, erasure, merging and key renewal reach an alert
//! with its attempt.

use uuid::Uuid;

use crate::attempts::{self, Attempt};
use crate::keyring::{DataKey, SealContext};
use crate::sql::{execute, fetch};
use crate::text_enum::{Word, text_enum};
use crate::{Conn, Error, Scope, Tx, merchants};

text_enum! {
    /// Whether an alert waits, or why it is closed.
    AlertState("alert state") {
        /// It waits for a reviewer.
        Open = "open",
        /// A reviewer found that the listing means the person.
        SamePerson = "same_person",
        /// A reviewer found that the listing means somebody else.
        OtherPerson = "other_person",
        /// The list no longer contains the entry, or is no longer used.
        Delisted = "delisted",
        /// The entry changed and no longer resembles the person.
        NoMatch = "no_match",
    }
}

impl AlertState {
    /// Whether a reviewer decided.
    #[must_use]
    pub fn is_decided(self) -> bool {
        matches!(self, AlertState::SamePerson | AlertState::OtherPerson)
    }
}

impl Alert {
    /// Whether the listing means the person, who is still approved: somebody must withdraw the approval.
    #[must_use]
    pub fn must_withdraw(&self) -> bool {
        self.state == AlertState::SamePerson && self.is_approved
    }
}

/// A listing that resembles a person.
#[derive(Clone, Copy, Debug)]
pub struct NewAlert<'a> {
    /// The list.
    pub list: &'a str,
    /// The entry's id in the list.
    pub entity_id: &'a str,
    /// The score in ten-thousandths.
    pub score: i64,
    /// The hit and what changed, as JSON (sealed).
    pub hit: &'a str,
}

/// An alert.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alert {
    /// Its id.
    pub id: Uuid,
    /// The attempt under whose names the person is approved.
    pub log_id: i64,
    /// The person.
    pub facemap_id: Uuid,
    /// The merchant's label for the person.
    pub external_user_id: String,
    /// The attempt's Flow.
    pub flow_id: Uuid,
    /// See [`NewAlert::list`].
    pub list: String,
    /// The blind index of the entry, see [`listing_ref`].
    pub listing_ref: Vec<u8>,
    /// See [`NewAlert::score`].
    pub score: i64,
    /// See [`NewAlert::hit`].
    pub hit: String,
    /// Whether it waits.
    pub state: AlertState,
    /// Whether the person has an approved registration.
    pub is_approved: bool,
    /// When it was opened (ms).
    pub opened_at: i64,
    /// When the hit last changed, or the alert was decided or closed (ms).
    pub changed_at: i64,
    /// The member of staff who has claimed it, while the claim lasts.
    pub claimed_by: Option<Uuid>,
    /// Who decided: `staff:<id>` or `command line`.
    pub decided_by: Option<String>,
    /// When (ms).
    pub decided_at: Option<i64>,
    /// Why.
    pub reason: Option<String>,
}

#[derive(sqlx::FromRow)]
struct Row {
    id: Uuid,
    log_id: i64,
    facemap_id: Uuid,
    attempt_id: Uuid,
    wrapped_key: Vec<u8>,
    person_key: Vec<u8>,
    external_id_sealed: Vec<u8>,
    flow_id: Uuid,
    list: String,
    listing_ref: Vec<u8>,
    score: i64,
    hit_sealed: Vec<u8>,
    #[sqlx(try_from = "Word<AlertState>")]
    state: AlertState,
    is_approved: bool,
    opened_at: i64,
    changed_at: i64,
    claimed_by: Option<Uuid>,
    claimed_until: Option<i64>,
    decided_by: Option<String>,
    decided_at: Option<i64>,
    reason_sealed: Option<Vec<u8>>,
}

macro_rules! select {
    ($($rest:tt)+) => {
        concat!(
            "select l.id, l.log_id, a.facemap_id, a.id as attempt_id, a.wrapped_key, p.wrapped_key as person_key,
                    a.external_id_sealed, a.flow_id, l.list, l.listing_ref, l.score, l.hit_sealed, l.state,
                    exists (select 1 from registrations r
                        where r.merchant_id = $1 and r.sandbox = $2 and r.facemap_id = a.facemap_id
                            and r.status = 'approved') as is_approved,
                    l.opened_at, l.changed_at, l.claimed_by, l.claimed_until, l.decided_by, l.decided_at,
                    l.reason_sealed
             from alerts l
                 join attempts a
                     on a.merchant_id = l.merchant_id and a.sandbox = l.sandbox and a.log_id = l.log_id
                 join people p
                     on p.merchant_id = a.merchant_id and p.sandbox = a.sandbox and p.facemap_id = a.facemap_id
             where l.merchant_id = $1 and l.sandbox = $2 ",
            $($rest)+
        )
    };
}

// A reviewer's "same person" alone leaves the person approved, so somebody must still act.
macro_rules! waiting {
    ($rest:literal) => {
        concat!(
            "and l.id in (select w.id from alerts w
                 where w.merchant_id = $1 and w.sandbox = $2 and w.state in ('open', 'same_person') and w.id < $3)
             and (l.state = 'open' or exists (select 1 from registrations r
                 where r.merchant_id = $1 and r.sandbox = $2 and r.facemap_id = a.facemap_id
                     and r.status = 'approved')) ",
            $rest
        )
    };
}

fn context<'a>(scope: Scope, what: &'static str, id: &'a Uuid) -> SealContext<'a> {
    SealContext {
        merchant_id: scope.merchant_id,
        what,
        id: id.as_bytes(),
    }
}

const HIT: &str = "alerts.hit";
const REASON: &str = "alerts.reason";

async fn open_all(conn: &mut Conn, scope: Scope, rows: Vec<Row>) -> Result<Vec<Alert>, Error> {
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let now = conn.now();
    let merchant_key = merchants::key(conn, scope.merchant_id).await?;
    rows.into_iter()
        .map(|row| open(&merchant_key, scope, row, now))
        .collect()
}

fn open(merchant_key: &DataKey, scope: Scope, row: Row, now: i64) -> Result<Alert, Error> {
    let key = attempts::unwrap(
        merchant_key,
        scope,
        (&row.facemap_id, &row.person_key),
        (&row.attempt_id, &row.wrapped_key),
    )?;
    let reason = |sealed: &[u8]| key.open_text(&context(scope, REASON, &row.id), sealed);
    Ok(Alert {
        external_user_id: attempts::open_external_id(&key, scope, &row.attempt_id, &row.external_id_sealed)?,
        hit: key.open_text(&context(scope, HIT, &row.id), &row.hit_sealed)?,
        reason: row.reason_sealed.as_deref().map(reason).transpose()?,
        id: row.id,
        log_id: row.log_id,
        facemap_id: row.facemap_id,
        flow_id: row.flow_id,
        list: row.list,
        listing_ref: row.listing_ref,
        score: row.score,
        state: row.state,
        is_approved: row.is_approved,
        opened_at: row.opened_at,
        changed_at: row.changed_at,
        claimed_by: row
            .claimed_by
            .filter(|_| row.claimed_until.is_some_and(|until| until > now)),
        decided_by: row.decided_by,
        decided_at: row.decided_at,
    })
}

/// The blind index of an entry in a list.
#[must_use]
pub fn listing_ref(conn: &Conn, scope: Scope, list: &str, entity_id: &str) -> Vec<u8> {
    // A list's name contains no line feed.
    conn.keyring()
        .blind(scope, "alert listing", &format!("{list}\n{entity_id}"))
}

/// Opens an alert for an attempt's person.
pub async fn open_new(
    tx: &mut Tx,
    scope: Scope,
    attempt: &Attempt,
    alert: &NewAlert<'_>,
) -> Result<Uuid, Error> {
    let id = Uuid::now_v7();
    let sealed = attempt.key.seal(&context(scope, HIT, &id), alert.hit.as_bytes());
    let listing_ref = listing_ref(tx, scope, alert.list, alert.entity_id);
    let now = tx.now();
    execute!(
        tx,
        scope,
        "insert into alerts (merchant_id, sandbox, id, log_id, list, listing_ref, score, hit_sealed, state, opened_at,
             changed_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10)",
        id,
        attempt.log_id,
        alert.list,
        &listing_ref,
        alert.score,
        &sealed,
        AlertState::Open.as_str(),
        now
    )?;
    Ok(id)
}

/// Replaces the hit of an open alert. `attempt` is the alert's. `false` if the alert is no longer open.
pub async fn replace_hit(
    tx: &mut Tx,
    scope: Scope,
    attempt: &Attempt,
    (id, score, hit): (Uuid, i64, &str),
) -> Result<bool, Error> {
    let sealed = attempt.key.seal(&context(scope, HIT, &id), hit.as_bytes());
    let now = tx.now();
    const SQL: &str = "update alerts set score = $4, hit_sealed = $5, changed_at = $6
               where merchant_id = $1 and sandbox = $2 and id = $3 and state = 'open'";
    Ok(execute!(tx, scope, SQL, id, score, &sealed, now)? == 1)
}

/// Closes an open alert because of a change of its list. `false` if it is no longer open.
pub async fn close(tx: &mut Tx, scope: Scope, id: Uuid, state: AlertState) -> Result<bool, Error> {
    let now = tx.now();
    const SQL: &str = "update alerts set state = $4, changed_at = $5, claimed_by = null, claimed_until = null
               where merchant_id = $1 and sandbox = $2 and id = $3 and state = 'open'";
    Ok(execute!(tx, scope, SQL, id, state.as_str(), now)? == 1)
}

/// Records a reviewer's decision on an open alert. `attempt` is the alert's. `false` if it is no longer open, or has
/// changed since it was read.
pub async fn decide(
    tx: &mut Tx,
    scope: Scope,
    attempt: &Attempt,
    (alert, state): (&Alert, AlertState),
    (actor, reason): (&str, &str),
) -> Result<bool, Error> {
    let (id, seen) = (alert.id, alert.changed_at);
    let sealed = attempt.key.seal(&context(scope, REASON, &id), reason.as_bytes());
    let now = tx.now();
    const SQL: &str = "update alerts
               set state = $4, changed_at = $5, decided_by = $6, decided_at = $5, reason_sealed = $7,
                   claimed_by = null, claimed_until = null
               where merchant_id = $1 and sandbox = $2 and id = $3 and state = 'open' and changed_at = $8";
    Ok(execute!(tx, scope, SQL, id, state.as_str(), now, actor, &sealed, seen)? == 1)
}

/// Opens a decided alert again. `false` if it is open, or its list's change closed it.
pub async fn reopen(tx: &mut Tx, scope: Scope, id: Uuid) -> Result<bool, Error> {
    let now = tx.now();
    const SQL: &str = "update alerts
               set state = 'open', changed_at = $4, decided_by = null, decided_at = null, reason_sealed = null
               where merchant_id = $1 and sandbox = $2 and id = $3 and state in ('same_person', 'other_person')";
    Ok(execute!(tx, scope, SQL, id, now)? == 1)
}

/// Claims an open alert for a member of staff until a time (ms), or ends the member's claim (`until` in the past).
/// `false` if a colleague has claimed it.
pub async fn claim(tx: &mut Tx, scope: Scope, id: Uuid, staff_id: Uuid, until: i64) -> Result<bool, Error> {
    let now = tx.now();
    const SQL: &str = "update alerts set claimed_by = $4, claimed_until = $5
               where merchant_id = $1 and sandbox = $2 and id = $3 and state = 'open'
                   and (claimed_by is null or claimed_until <= $6 or claimed_by = $4)";
    Ok(execute!(tx, scope, SQL, id, staff_id, until, now)? == 1)
}

/// One alert.
///
/// # Errors
/// [`Error::Sealed`].
pub async fn get(conn: &mut Conn, scope: Scope, id: Uuid) -> Result<Option<Alert>, Error> {
    let rows = fetch!(all, conn, scope, Row, select!("and l.id = $3"), id)?;
    Ok(open_all(conn, scope, rows).await?.pop())
}

/// A person's alerts, newest first.
///
/// # Errors
/// [`Error::Sealed`].
pub async fn of_person(conn: &mut Conn, scope: Scope, facemap_id: Uuid) -> Result<Vec<Alert>, Error> {
    // Sorted here, so that the database begins with the person's attempts and not with the account's alerts.
    const SQL: &str = select!(
        "and l.log_id in (select f.log_id from attempts f
             where f.merchant_id = $1 and f.sandbox = $2 and f.facemap_id = $3)"
    );
    let mut rows = fetch!(all, conn, scope, Row, SQL, facemap_id)?;
    rows.sort_by_key(|row| std::cmp::Reverse(row.id));
    open_all(conn, scope, rows).await
}

/// Alerts in which state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StateFilter {
    /// Those that need somebody to act: open ones, and those that mean a person who is still approved.
    #[default]
    Waiting,
    /// Those in this state.
    In(AlertState),
    /// All.
    Any,
}

/// Which alerts to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AlertFilter {
    /// In this state.
    pub state: StateFilter,
    /// Of this list.
    pub list: Option<String>,
    /// Older than this one.
    pub before: Option<Uuid>,
}

/// Alerts, newest first, at most `limit`.
///
/// # Errors
/// [`Error::Sealed`].
pub async fn list(
    conn: &mut Conn,
    scope: Scope,
    filter: &AlertFilter,
    limit: i64,
) -> Result<Vec<Alert>, Error> {
    // A text for each, so that an index gives the order.
    const WAITING: &str = select!(waiting!(
        "and ($4 is null or l.list = $4) order by l.id desc limit $5"
    ));
    const IN: &str =
        select!("and l.id < $3 and ($4 is null or l.list = $4) and l.state = $6 order by l.id desc limit $5");
    const ANY: &str = select!("and l.id < $3 and ($4 is null or l.list = $4) order by l.id desc limit $5");
    let (before, list) = (filter.before.unwrap_or(Uuid::max()), filter.list.as_deref());
    let rows = match filter.state {
        StateFilter::Waiting => fetch!(all, conn, scope, Row, WAITING, before, list, limit)?,
        StateFilter::In(state) => fetch!(all, conn, scope, Row, IN, before, list, limit, state.as_str())?,
        StateFilter::Any => fetch!(all, conn, scope, Row, ANY, before, list, limit)?,
    };
    open_all(conn, scope, rows).await
}

/// The open alerts of a list after one of them, oldest first, at most `limit`.
pub async fn open_of_list(
    conn: &mut Conn,
    scope: Scope,
    list: &str,
    after: Uuid,
    limit: i64,
) -> Result<Vec<Uuid>, Error> {
    const SQL: &str = "select id from alerts
               where merchant_id = $1 and sandbox = $2 and state = 'open' and list = $3 and id > $4
               order by id limit $5";
    let rows = fetch!(all, conn, scope, (Uuid,), SQL, list, after, limit)?;
    Ok(rows.into_iter().map(|(id,)| id).collect())
}

/// The names of the lists with open alerts.
pub async fn lists_with_open(conn: &mut Conn, scope: Scope) -> Result<Vec<String>, Error> {
    const SQL: &str = "select distinct list from alerts
               where merchant_id = $1 and sandbox = $2 and state = 'open' order by list";
    let rows = fetch!(all, conn, scope, (String,), SQL)?;
    Ok(rows.into_iter().map(|(list,)| list).collect())
}

/// How many alerts need somebody to act; see [`StateFilter::Waiting`].
pub async fn count_waiting(conn: &mut Conn, scope: Scope) -> Result<i64, Error> {
    const SQL: &str = concat!(
        "select count(*) from alerts l
             join attempts a on a.merchant_id = l.merchant_id and a.sandbox = l.sandbox and a.log_id = l.log_id
         where l.merchant_id = $1 and l.sandbox = $2 ",
        waiting!("")
    );
    let newest = Uuid::max();
    Ok(fetch!(one, conn, scope, (i64,), SQL, newest)?.0)
}
