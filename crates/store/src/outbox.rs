//! The webhook outbox. An event is written in the transaction that causes it, claimed by a deliverer, and
//! retried until it is delivered or given up. Bodies are sealed. This module does not use HTTP and does not
//! schedule retries.

use std::collections::{BTreeSet, HashMap};

use serde::Deserialize;
use uuid::Uuid;

use crate::keyring::{DataKey, SealContext};
use crate::sql::{execute, fetch};
use crate::text_enum::text_enum;
use crate::{Conn, Error, Scope, Tx, labels, merchants};

/// A webhook event to deliver.
#[derive(Clone, Copy, Debug)]
pub struct NewEvent<'a> {
    /// The Flow whose webhook URL receives it.
    pub flow_id: Uuid,
    /// Its type, for instance `verification.completed`.
    pub kind: &'a str,
    /// The body to post, byte for byte.
    pub body: &'a str,
    /// The person whose erasure deletes the event; `None` if the event names no person.
    pub facemap_id: Option<Uuid>,
}

/// An event that was claimed for one delivery.
#[derive(Clone, Debug)]
pub struct Delivery {
    /// The account and mode.
    pub scope: Scope,
    /// The event's id, the same at each try (`webhook-id`).
    pub id: Uuid,
    /// See [`NewEvent::flow_id`].
    pub flow_id: Uuid,
    /// See [`NewEvent::kind`].
    pub kind: String,
    /// See [`NewEvent::body`]; `None` if it does not open.
    pub body: Option<String>,
    /// The number of this try, from 1. Only the latest claim of an event may report.
    pub tries: i64,
    /// When the event happened (ms).
    pub created_at: i64,
}

/// The delivery state of an event, without its body.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct EventState {
    /// See [`Delivery::id`].
    pub id: Uuid,
    /// See [`NewEvent::flow_id`].
    pub flow_id: Uuid,
    /// See [`NewEvent::kind`].
    pub kind: String,
    /// How many tries have begun.
    pub tries: i64,
    /// The time of the next try (ms); `None` if the event was delivered or given up.
    pub next_try_at: Option<i64>,
    /// When it was delivered (ms).
    pub delivered_at: Option<i64>,
    /// The HTTP status of the last try, if there was a response.
    pub last_status: Option<i64>,
    /// The error of the last try.
    pub last_error: Option<String>,
    /// When it happened (ms).
    pub created_at: i64,
}

/// Adds an event in the transaction that causes it; returns its id.
///
/// # Errors
/// [`Error::Missing`] for an unknown account.
pub async fn enqueue(tx: &mut Tx, scope: Scope, event: &NewEvent<'_>) -> Result<Uuid, Error> {
    let id = Uuid::now_v7();
    let key = merchants::key(tx, scope.merchant_id).await?;
    let sealed = key.seal(&seal_context(scope.merchant_id, &id), event.body.as_bytes());
    let now = tx.now();
    execute!(
        tx,
        scope,
        "insert into outbox
             (merchant_id, sandbox, id, flow_id, kind, body_sealed, tries, next_try_at, created_at, facemap_id)
         values ($1, $2, $3, $4, $5, $6, 0, $7, $7, $8)",
        id,
        event.flow_id,
        event.kind,
        &sealed,
        now,
        event.facemap_id.unwrap_or(labels::NO_ID),
    )?;
    Ok(id)
}

/// Moves a facemap's events to another facemap.
pub(crate) async fn move_to(tx: &mut Tx, scope: Scope, from: Uuid, into: Uuid) -> Result<(), Error> {
    const SQL: &str =
        "update outbox set facemap_id = $4 where merchant_id = $1 and sandbox = $2 and facemap_id = $3";
    execute!(tx, scope, SQL, from, into).map(|_| ())
}

/// The member of an event's body that names the attempt.
#[derive(Deserialize)]
struct AboutAttempt {
    data: AttemptNumber,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AttemptNumber {
    log_id: i64,
}

/// Moves a facemap's events about some attempts to another facemap. Events that cannot be read stay.
pub(crate) async fn move_some(
    tx: &mut Tx,
    scope: Scope,
    from: Uuid,
    into: Uuid,
    log_ids: &BTreeSet<i64>,
) -> Result<(), Error> {
    const SQL: &str = "select id, body_sealed from outbox
               where merchant_id = $1 and sandbox = $2 and facemap_id = $3";
    const MOVE: &str =
        "update outbox set facemap_id = $4 where merchant_id = $1 and sandbox = $2 and id = $3";
    let key = merchants::key(tx, scope.merchant_id).await?;
    for (id, sealed) in fetch!(all, tx, scope, (Uuid, Vec<u8>), SQL, from)? {
        let body = key.open_text(&seal_context(scope.merchant_id, &id), &sealed).ok();
        let event: Option<AboutAttempt> = body.and_then(|body| serde_json::from_str(&body).ok());
        if event.is_some_and(|event| log_ids.contains(&event.data.log_id)) {
            execute!(tx, scope, MOVE, id, into)?;
        }
    }
    Ok(())
}

fn seal_context(merchant_id: Uuid, id: &Uuid) -> SealContext<'_> {
    SealContext {
        merchant_id,
        what: "outbox.body",
        id: id.as_bytes(),
    }
}

#[derive(sqlx::FromRow)]
struct Claimed {
    merchant_id: Uuid,
    sandbox: bool,
    id: Uuid,
    flow_id: Uuid,
    kind: String,
    body_sealed: Vec<u8>,
    tries: i64,
    created_at: i64,
}

macro_rules! claim {
    ($lock:literal) => {
        concat!(
            "update outbox set tries = tries + 1, next_try_at = $1 where (merchant_id, sandbox, id) in
                 (select merchant_id, sandbox, id from outbox where next_try_at <= $2
                  order by next_try_at limit $3 ",
            $lock,
            ") returning merchant_id, sandbox, id, flow_id, kind, body_sealed, tries, created_at"
        )
    };
}

/// Claims due events. An event that is neither [`delivered`] nor [`failed`] within `lease_ms` becomes due
/// again.
///
/// # Errors
/// [`Error::Sealed`].
pub async fn claim(tx: &mut Tx, limit: i64, lease_ms: i64) -> Result<Vec<Delivery>, Error> {
    let now = tx.now();
    let sql = if tx.is_postgres() {
        claim!("for update skip locked")
    } else {
        claim!("")
    };
    let rows = fetch!(
        all,
        tx,
        across_accounts("delivery takes every account's events"),
        Claimed,
        sql,
        now + lease_ms,
        now,
        limit
    )?;
    let mut keys: HashMap<Uuid, DataKey> = HashMap::new();
    let mut deliveries = Vec::with_capacity(rows.len());
    for row in rows {
        let key = match keys.get(&row.merchant_id) {
            Some(key) => key.clone(),
            None => merchants::key(tx, row.merchant_id).await?,
        };
        // An event that does not open is claimed too, because it must not block the others.
        let body = key
            .open_text(&seal_context(row.merchant_id, &row.id), &row.body_sealed)
            .ok();
        keys.insert(row.merchant_id, key);
        deliveries.push(Delivery {
            scope: Scope {
                merchant_id: row.merchant_id,
                sandbox: row.sandbox,
            },
            id: row.id,
            flow_id: row.flow_id,
            kind: row.kind,
            body,
            tries: row.tries,
            created_at: row.created_at,
        });
    }
    Ok(deliveries)
}

/// Whether an event is due. Unlike [`claim`], it only reads.
pub async fn is_due(conn: &mut Conn) -> Result<bool, Error> {
    let now = conn.now();
    const SQL: &str = "select count(*) from (select 1 from outbox where next_try_at <= $1 limit 1) due";
    let (count,) = fetch!(
        one,
        conn,
        across_accounts("delivery takes every account's events"),
        (i64,),
        SQL,
        now
    )?;
    Ok(count > 0)
}

/// Reports that a claimed event was delivered.
pub async fn mark_delivered(tx: &mut Tx, delivery: &Delivery, status: u16) -> Result<(), Error> {
    let now = tx.now();
    execute!(
        tx,
        delivery.scope,
        "update outbox set next_try_at = null, delivered_at = $5, last_status = $6, last_error = null
         where merchant_id = $1 and sandbox = $2 and id = $3 and tries = $4",
        delivery.id,
        delivery.tries,
        now,
        i64::from(status)
    )
    .map(|_| ())
}

/// Reports that a try failed. `retry_at` is the time of the next try (ms); `None` gives the event up.
pub async fn mark_failed(
    tx: &mut Tx,
    delivery: &Delivery,
    status: Option<u16>,
    error: &str,
    retry_at: Option<i64>,
) -> Result<(), Error> {
    execute!(
        tx,
        delivery.scope,
        "update outbox set next_try_at = $5, last_status = $6, last_error = $7
         where merchant_id = $1 and sandbox = $2 and id = $3 and tries = $4",
        delivery.id,
        delivery.tries,
        retry_at,
        status.map(i64::from),
        error
    )
    .map(|_| ())
}

/// Returns a claimed event without a try. It is due at `due_at` (ms).
pub async fn release(tx: &mut Tx, delivery: &Delivery, due_at: i64) -> Result<(), Error> {
    execute!(
        tx,
        delivery.scope,
        "update outbox set tries = tries - 1, next_try_at = $5
         where merchant_id = $1 and sandbox = $2 and id = $3 and tries = $4",
        delivery.id,
        delivery.tries,
        due_at
    )
    .map(|_| ())
}

macro_rules! select {
    ($rest:literal) => {
        select!("", $rest)
    };
    ($more:literal, $rest:literal) => {
        concat!(
            "select ",
            $more,
            "id, flow_id, kind, tries, next_try_at, delivered_at, last_status, last_error, created_at
             from outbox where merchant_id = $1 and sandbox = $2 ",
            $rest
        )
    };
}

macro_rules! find {
    ($more:literal) => {
        select!(
            $more,
            "and id < $3 and flow_id = coalesce($4, flow_id) and ($5 = ''
             or ($5 = 'waiting' and next_try_at is not null)
             or ($5 = 'delivered' and next_try_at is null and delivered_at is not null)
             or ($5 = 'given_up' and next_try_at is null and delivered_at is null)) and kind = coalesce($6, kind)
         order by id desc limit $7"
        )
    };
}

/// The newest events, newest first.
pub async fn list(conn: &mut Conn, scope: Scope, limit: i64) -> Result<Vec<EventState>, Error> {
    find(conn, scope, &EventFilter::default(), limit).await
}

text_enum! {
    /// The progress of an event's delivery.
    EventProgress("progress of an event") {
        /// The first or another try is still to come.
        Waiting = "waiting",
        /// The receiver has accepted it.
        Delivered = "delivered",
        /// It was not delivered, and no further try will follow.
        GivenUp = "given_up",
    }
}

/// Parses the value of a filter. No row contains one.
impl TryFrom<String> for EventProgress {
    type Error = reference::status::UnknownWord;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl EventState {
    /// The progress of its delivery.
    pub fn progress(&self) -> EventProgress {
        match (self.next_try_at, self.delivered_at) {
            (Some(_), _) => EventProgress::Waiting,
            (None, Some(_)) => EventProgress::Delivered,
            (None, None) => EventProgress::GivenUp,
        }
    }
}

/// Which events to find. The default does not restrict.
#[derive(Clone, Copy, Debug, Default)]
pub struct EventFilter {
    /// Of this Flow.
    pub flow_id: Option<Uuid>,
    /// With this progress.
    pub progress: Option<EventProgress>,
    /// Older than the event with this id.
    pub before: Option<Uuid>,
    /// Of this type.
    pub kind: Option<&'static str>,
}

/// Events that match a filter, newest first.
pub async fn find(
    conn: &mut Conn,
    scope: Scope,
    filter: &EventFilter,
    limit: i64,
) -> Result<Vec<EventState>, Error> {
    const SQL: &str = find!("");
    fetch!(
        all,
        conn,
        scope,
        EventState,
        SQL,
        filter.before.unwrap_or(Uuid::max()),
        filter.flow_id,
        filter.progress.map(EventProgress::as_str).unwrap_or_default(),
        filter.kind,
        limit
    )
}

#[derive(sqlx::FromRow)]
struct WithBody {
    #[sqlx(flatten)]
    state: EventState,
    body_sealed: Vec<u8>,
}

/// Like [`find`], with the bodies, and whether more events follow. A body is `None` if it does not open.
pub async fn find_with_bodies(
    conn: &mut Conn,
    scope: Scope,
    filter: &EventFilter,
    limit: u16,
) -> Result<(Vec<(EventState, Option<String>)>, bool), Error> {
    const SQL: &str = find!("body_sealed, ");
    let mut rows = fetch!(
        all,
        conn,
        scope,
        WithBody,
        SQL,
        filter.before.unwrap_or(Uuid::max()),
        filter.flow_id,
        filter.progress.map(EventProgress::as_str).unwrap_or_default(),
        filter.kind,
        i64::from(limit) + 1
    )?;
    let has_more = rows.len() > usize::from(limit);
    rows.truncate(usize::from(limit));
    let key = merchants::key(conn, scope.merchant_id).await?;
    let open = |WithBody { state, body_sealed }| {
        let context = seal_context(scope.merchant_id, &state.id);
        let body = key.open_text(&context, &body_sealed).ok();
        (state, body)
    };
    Ok((rows.into_iter().map(open).collect(), has_more))
}

/// One event with its body; the body is `None` if it does not open.
pub async fn get(
    conn: &mut Conn,
    scope: Scope,
    id: Uuid,
) -> Result<Option<(EventState, Option<String>)>, Error> {
    let Some(state) = fetch!(optional, conn, scope, EventState, select!("and id = $3"), id)? else {
        return Ok(None);
    };
    let (sealed,) = fetch!(
        one,
        conn,
        scope,
        (Vec<u8>,),
        "select body_sealed from outbox where merchant_id = $1 and sandbox = $2 and id = $3",
        id
    )?;
    let key = merchants::key(conn, scope.merchant_id).await?;
    let body = key.open_text(&seal_context(scope.merchant_id, &id), &sealed).ok();
    Ok(Some((state, body)))
}

/// Makes given-up events due again that happened at or after a time (ms), of one Flow or of all; returns how
/// many.
pub async fn resend_given_up(
    tx: &mut Tx,
    scope: Scope,
    flow_id: Option<Uuid>,
    since: i64,
) -> Result<u64, Error> {
    let now = tx.now();
    execute!(
        tx,
        scope,
        "update outbox set next_try_at = $5 where merchant_id = $1 and sandbox = $2 and flow_id = coalesce($3, flow_id)
             and created_at >= $4 and delivered_at is null and next_try_at is null",
        flow_id,
        since,
        now,
    )
}

/// Makes an event due again, even if it was delivered; returns whether there was one.
pub async fn resend(tx: &mut Tx, scope: Scope, id: Uuid) -> Result<bool, Error> {
    let now = tx.now();
    const SQL: &str =
        "update outbox set next_try_at = $4 where merchant_id = $1 and sandbox = $2 and id = $3";
    Ok(execute!(tx, scope, SQL, id, now)? == 1)
}

/// The delivery backlog of all accounts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, sqlx::FromRow)]
pub struct Backlog {
    /// Events that wait for a try.
    pub waiting: i64,
    /// Waiting events with at least one failed try.
    pub failing: i64,
    /// When the oldest waiting event happened (ms).
    pub oldest: Option<i64>,
    /// Events that were given up and are not deleted yet.
    pub given_up: i64,
}

/// The delivery backlog of all accounts. Each figure is counted up to `at_most`.
pub async fn backlog(conn: &mut Conn, at_most: i64) -> Result<Backlog, Error> {
    fetch!(
        one,
        conn,
        across_accounts("operators watch the backlog of all accounts"),
        Backlog,
        "select count(*) as waiting, count(case when tries > 0 then 1 end) as failing, min(created_at) as oldest,
             (select count(*) from (select id from outbox where next_try_at is null and delivered_at is null
                  order by merchant_id, sandbox, created_at limit $1) g) as given_up
         from (select tries, created_at from outbox where next_try_at is not null order by next_try_at limit $1) w",
        at_most,
    )
}

/// Deletes events that need no more tries and happened before a time (ms); returns how many.
pub async fn sweep(tx: &mut Tx, before: i64) -> Result<u64, Error> {
    execute!(
        tx,
        across_accounts("retention deletes every account's events"),
        "delete from outbox where next_try_at is null and created_at < $1",
        before
    )
}
