//! Attempts: the sealed log of verifications, and the reviewers' decisions on them. This module does not
//! interpret statuses, decisions and codes; the verification rules do. An unknown status or decision in a row
//! is [`Error::Unreadable`], because a default would decide about a person.
//!
//! Each attempt has a separate key, wrapped by the person's key in its row. The caller makes it before
//! anything is stored, because the attempt's objects are sealed under it first.

mod decision;
mod moving;
mod page;
mod sealing;

use reference::status::AttemptStatus;
use uuid::Uuid;

pub use self::decision::{Decision, decide, decisions};
pub(crate) use self::moving::{move_some, move_to};
pub use self::page::{AttemptFilter, page};
use self::sealing::seal_context;
pub(crate) use self::sealing::{
    Personal, SealedColumns, key, open_external_id, open_names, rewrap_keys, seal, seal_names, seal_reason,
    unwrap,
};
use crate::keyring::DataKey;
use crate::labels::{external_ref, group_from_column, group_to_column};
use crate::sql::{execute, fetch};
use crate::text_enum::Word;
use crate::{Conn, Error, Scope, Tx, counters, erasures, idempotency, merchants, people};

/// An attempt to be logged.
#[derive(Clone, Copy, Debug)]
pub struct NewAttempt<'a> {
    /// A random id, which also names the attempt's objects.
    pub id: Uuid,
    /// A new key, which seals the attempt's objects and the columns marked *sealed*.
    pub key: &'a DataKey,
    /// The person's facemap, or the provisional facemap of the registration; never an alias.
    pub facemap_id: Uuid,
    /// The attempt's registration; `None` if the attempt is only logged.
    pub registration_id: Option<Uuid>,
    /// The group of the submission.
    pub grouping_id: Option<Uuid>,
    /// The merchant's label for the person (sealed, and searchable by its blind index).
    pub external_user_id: &'a str,
    /// The hosted session of the submission.
    pub session_id: Option<Uuid>,
    /// The Flow of the submission.
    pub flow_id: Uuid,
    /// The Flow's name at that time.
    pub flow_name: &'a str,
    /// Its outcome.
    pub status: AttemptStatus,
    /// The `success` of the response.
    pub success: bool,
    /// The failure codes, as JSON.
    pub codes: &'a str,
    /// The types of the submitted documents, as JSON.
    pub document_types: &'a str,
    /// The submission, as JSON (sealed).
    pub request: &'a str,
    /// The response, byte for byte (sealed).
    pub response: &'a str,
    /// Further data for reviewers and reports, as JSON (sealed).
    pub detail: &'a str,
    /// The names under which it was screened, as JSON (sealed), for [`rescreenings`](crate::rescreenings).
    pub names: &'a str,
    /// The issuing country of the document (alpha-3), for statistics and filters.
    pub country: Option<&'a str>,
    /// The priority of a review; 1 is the most urgent.
    pub priority: i64,
    /// How long the response took (ms).
    pub took_ms: i64,
}

/// A logged attempt.
#[derive(Clone, Debug)]
pub struct Attempt {
    /// Its number in the account's log, from 1.
    pub log_id: i64,
    /// See [`NewAttempt::id`].
    pub id: Uuid,
    /// See [`NewAttempt::key`].
    pub key: DataKey,
    /// See [`NewAttempt::facemap_id`].
    pub facemap_id: Uuid,
    /// See [`NewAttempt::registration_id`].
    pub registration_id: Option<Uuid>,
    /// See [`NewAttempt::grouping_id`].
    pub grouping_id: Option<Uuid>,
    /// See [`NewAttempt::external_user_id`].
    pub external_user_id: String,
    /// See [`NewAttempt::session_id`].
    pub session_id: Option<Uuid>,
    /// See [`NewAttempt::flow_id`].
    pub flow_id: Uuid,
    /// See [`NewAttempt::flow_name`].
    pub flow_name: String,
    /// Its outcome, or the status after a reviewer's decision.
    pub status: AttemptStatus,
    /// See [`NewAttempt::success`].
    pub success: bool,
    /// See [`NewAttempt::codes`].
    pub codes: String,
    /// See [`NewAttempt::document_types`].
    pub document_types: String,
    /// See [`NewAttempt::request`].
    pub request: String,
    /// See [`NewAttempt::response`].
    pub response: String,
    /// See [`NewAttempt::detail`].
    pub detail: String,
    /// See [`NewAttempt::country`].
    pub country: Option<String>,
    /// See [`NewAttempt::priority`].
    pub priority: i64,
    /// See [`NewAttempt::took_ms`]; `None` for attempts that an older version logged.
    pub took_ms: Option<i64>,
    /// When it was made (ms).
    pub created_at: i64,
    /// When a reviewer last decided on it (ms).
    pub decided_at: Option<i64>,
}

/// The part of an attempt that its registration's status depends on.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct Outcome {
    /// See [`Attempt::log_id`].
    pub log_id: i64,
    /// See [`Attempt::status`].
    #[sqlx(try_from = "Word<AttemptStatus>")]
    pub status: AttemptStatus,
    /// When it was made (ms).
    pub created_at: i64,
    /// When a reviewer last decided on it (ms).
    pub decided_at: Option<i64>,
}

#[derive(sqlx::FromRow)]
struct Row {
    log_id: i64,
    id: Uuid,
    facemap_id: Uuid,
    registration_id: Option<Uuid>,
    grouping_id: Uuid,
    session_id: Option<Uuid>,
    flow_id: Uuid,
    flow_name: String,
    #[sqlx(try_from = "Word<AttemptStatus>")]
    status: AttemptStatus,
    success: bool,
    codes: String,
    document_types: String,
    wrapped_key: Vec<u8>,
    external_id_sealed: Vec<u8>,
    request_sealed: Vec<u8>,
    response_sealed: Vec<u8>,
    detail_sealed: Vec<u8>,
    country: Option<String>,
    priority: i64,
    took_ms: Option<i64>,
    created_at: i64,
    decided_at: Option<i64>,
    person_key: Vec<u8>,
}

macro_rules! columns {
    () => {
        "a.log_id, a.id, a.facemap_id, a.registration_id, a.grouping_id, a.session_id, a.flow_id, a.flow_name,
         a.status, a.success, a.codes, a.document_types, a.wrapped_key, a.external_id_sealed, a.request_sealed,
         a.response_sealed, a.detail_sealed, a.country, a.priority, a.took_ms, a.created_at, a.decided_at,
         p.wrapped_key as person_key"
    };
}
use columns;

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "select ",
            columns!(),
            " from attempts a join people p
                 on p.merchant_id = a.merchant_id and p.sandbox = a.sandbox and p.facemap_id = a.facemap_id
             where a.merchant_id = $1 and a.sandbox = $2 ",
            $rest
        )
    };
}

fn open(merchant_key: &DataKey, scope: Scope, row: Row) -> Result<Attempt, Error> {
    let key = unwrap(
        merchant_key,
        scope,
        (&row.facemap_id, &row.person_key),
        (&row.id, &row.wrapped_key),
    )?;
    let text = |what, sealed| key.open_text(&seal_context(scope, what, &row.id), sealed);
    Ok(Attempt {
        external_user_id: open_external_id(&key, scope, &row.id, &row.external_id_sealed)?,
        request: text("attempts.request", &row.request_sealed)?,
        response: text("attempts.response", &row.response_sealed)?,
        detail: text("attempts.detail", &row.detail_sealed)?,
        key,
        log_id: row.log_id,
        id: row.id,
        facemap_id: row.facemap_id,
        registration_id: row.registration_id,
        grouping_id: group_from_column(row.grouping_id),
        session_id: row.session_id,
        flow_id: row.flow_id,
        flow_name: row.flow_name,
        status: row.status,
        success: row.success,
        codes: row.codes,
        document_types: row.document_types,
        country: row.country,
        priority: row.priority,
        took_ms: row.took_ms,
        created_at: row.created_at,
        decided_at: row.decided_at,
    })
}

async fn open_all(conn: &mut Conn, scope: Scope, rows: Vec<Row>) -> Result<Vec<Attempt>, Error> {
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let merchant_key = merchants::key(conn, scope.merchant_id).await?;
    rows.into_iter()
        .map(|row| open(&merchant_key, scope, row))
        .collect()
}

/// Logs an attempt and updates when its registration was last active; returns the attempt's number. The
/// caller has taken the [`faces::lock`](crate::faces::lock).
///
/// # Errors
/// [`Error::Missing`] when there is no such person.
pub async fn insert(tx: &mut Tx, scope: Scope, attempt: &NewAttempt<'_>) -> Result<i64, Error> {
    let log_id = counters::next_log_id(tx, scope).await?;
    let person_key = people::key(tx, scope, attempt.facemap_id).await?;
    let personal = Personal {
        external_user_id: attempt.external_user_id,
        request: attempt.request,
        response: attempt.response,
        detail: attempt.detail,
        names: attempt.names,
    };
    let sealed = seal(scope, &person_key, (&attempt.id, attempt.key), &personal);
    let external_ref = external_ref(tx, scope, attempt.external_user_id);
    let now = tx.now();
    execute!(
        tx,
        scope,
        "insert into attempts (merchant_id, sandbox, log_id, id, facemap_id, registration_id, grouping_id,
             external_ref, session_id, flow_id, flow_name, status, success, codes, document_types, wrapped_key,
             external_id_sealed, request_sealed, response_sealed, detail_sealed, created_at, country, priority, took_ms,
             names_sealed)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22,
             $23, $24, $25)",
        log_id,
        attempt.id,
        attempt.facemap_id,
        attempt.registration_id,
        group_to_column(attempt.grouping_id),
        &external_ref,
        attempt.session_id,
        attempt.flow_id,
        attempt.flow_name,
        attempt.status.as_str(),
        attempt.success,
        attempt.codes,
        attempt.document_types,
        &sealed.wrapped_key,
        &sealed.external_id,
        &sealed.request,
        &sealed.response,
        &sealed.detail,
        now,
        attempt.country,
        attempt.priority,
        attempt.took_ms,
        &sealed.names,
    )?;
    if let Some(registration_id) = attempt.registration_id {
        const SQL: &str =
            "update registrations set last_active = $4 where merchant_id = $1 and sandbox = $2 and id = $3";
        execute!(tx, scope, SQL, registration_id, now)?;
    }
    Ok(log_id)
}

/// One attempt.
///
/// # Errors
/// [`Error::Sealed`].
pub async fn get(conn: &mut Conn, scope: Scope, log_id: i64) -> Result<Option<Attempt>, Error> {
    const SQL: &str = select!("and a.log_id = $3");
    let rows = fetch!(all, conn, scope, Row, SQL, log_id)?;
    Ok(open_all(conn, scope, rows).await?.pop())
}

/// Whether an attempt has this id.
pub async fn exists(conn: &mut Conn, scope: Scope, id: Uuid) -> Result<bool, Error> {
    const SQL: &str = "select log_id from attempts where merchant_id = $1 and sandbox = $2 and id = $3";
    let found = fetch!(optional, conn, scope, (i64,), SQL, id)?;
    Ok(found.is_some())
}

/// Whether the log contains an attempt with this number.
pub async fn is_logged(conn: &mut Conn, scope: Scope, log_id: i64) -> Result<bool, Error> {
    const SQL: &str = "select log_id from attempts where merchant_id = $1 and sandbox = $2 and log_id = $3";
    Ok(fetch!(optional, conn, scope, (i64,), SQL, log_id)?.is_some())
}

/// When the newest attempt was made (ms).
pub async fn newest_at(conn: &mut Conn, scope: Scope) -> Result<Option<i64>, Error> {
    const SQL: &str = "select max(created_at) from attempts where merchant_id = $1 and sandbox = $2";
    let (newest,) = fetch!(one, conn, scope, (Option<i64>,), SQL)?;
    Ok(newest)
}

/// The part of an attempt that retention needs.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct RetentionCandidate {
    /// See [`Attempt::log_id`].
    pub log_id: i64,
    /// See [`NewAttempt::id`].
    pub id: Uuid,
    /// See [`NewAttempt::flow_id`].
    pub flow_id: Uuid,
    /// When it was made (ms).
    pub created_at: i64,
}

/// Attempts made before a time (ms), the oldest first, at most `limit`. `after` is the time and number of the
/// last attempt of the previous page.
pub async fn made_before(
    conn: &mut Conn,
    scope: Scope,
    before: i64,
    after: (i64, i64),
    limit: i64,
) -> Result<Vec<RetentionCandidate>, Error> {
    const SQL: &str = "select log_id, id, flow_id, created_at from attempts
               where merchant_id = $1 and sandbox = $2 and created_at < $3 and (created_at, log_id) > ($4, $5)
               order by created_at, log_id limit $6";
    fetch!(
        all,
        conn,
        scope,
        RetentionCandidate,
        SQL,
        before,
        after.0,
        after.1,
        limit
    )
}

/// The numbers of a person's attempts, oldest first.
pub async fn log_ids(conn: &mut Conn, scope: Scope, facemap_id: Uuid) -> Result<Vec<i64>, Error> {
    const SQL: &str = "select log_id from attempts
               where merchant_id = $1 and sandbox = $2 and facemap_id = $3 order by log_id";
    let rows = fetch!(all, conn, scope, (i64,), SQL, facemap_id)?;
    Ok(rows.into_iter().map(|(log_id,)| log_id).collect())
}

/// The numbers of a person's latest attempts, newest first and at most `limit`, followed by the number of the
/// first one.
pub async fn latest_and_first(
    conn: &mut Conn,
    scope: Scope,
    facemap_id: Uuid,
    limit: i64,
) -> Result<Vec<i64>, Error> {
    const LATEST: &str = "select log_id from attempts
                  where merchant_id = $1 and sandbox = $2 and facemap_id = $3 order by log_id desc limit $4";
    const FIRST: &str = "select log_id from attempts
                 where merchant_id = $1 and sandbox = $2 and facemap_id = $3 order by log_id limit 1";
    let mut found = fetch!(all, conn, scope, (i64,), LATEST, facemap_id, limit)?;
    found.extend(fetch!(all, conn, scope, (i64,), FIRST, facemap_id)?);
    Ok(found.into_iter().map(|(log_id,)| log_id).collect())
}

/// When a Flow's oldest attempt was made (ms), and how many attempts were made before a time (counted up to
/// `at_most`).
pub async fn ages(
    conn: &mut Conn,
    scope: Scope,
    flow_id: Uuid,
    before: i64,
    at_most: i64,
) -> Result<(Option<i64>, i64), Error> {
    let oldest = fetch!(
        optional,
        conn,
        scope,
        (i64,),
        "select created_at from attempts where merchant_id = $1 and sandbox = $2 and flow_id = $3
               order by created_at limit 1",
        flow_id
    )?;
    let (count,) = fetch!(
        one,
        conn,
        scope,
        (i64,),
        "select count(*) from (select created_at from attempts
               where merchant_id = $1 and sandbox = $2 and flow_id = $3 and created_at < $4 limit $5) old",
        flow_id,
        before,
        at_most
    )?;
    Ok((oldest.map(|(at,)| at), count))
}

/// Deletes an attempt with its key, its decisions and its idempotency response; returns its registration. If
/// it was the last attempt of an ended session, the session is deleted too. The same transaction records that
/// the attempt's objects must be deleted. The caller has taken the [`faces::lock`](crate::faces::lock).
///
/// # Errors
/// [`Error::Missing`] when there is no such attempt.
pub async fn delete(tx: &mut Tx, scope: Scope, log_id: i64) -> Result<Option<Uuid>, Error> {
    type Row = (Uuid, Option<Uuid>, Option<Uuid>);
    let deleted = fetch!(
        optional,
        tx,
        scope,
        Row,
        "delete from attempts where merchant_id = $1 and sandbox = $2 and log_id = $3
               returning id, registration_id, session_id",
        log_id
    )?;
    let (id, registration_id, session_id) = deleted.ok_or(Error::Missing("attempt"))?;
    idempotency::erase_attempt(tx, scope, id).await?;
    erasures::request_object_removal(tx, scope, id, None).await?;
    if let Some(session_id) = session_id {
        execute!(
            tx,
            scope,
            "delete from sessions where merchant_id = $1 and sandbox = $2 and id = $3 and status <> 'pending'
                   and not exists (select 1 from attempts where merchant_id = $1 and sandbox = $2 and session_id = $3)",
            session_id,
        )?;
    }
    Ok(registration_id)
}

/// [`get`] after locking the account, so that the attempt cannot change before [`decide`] in the same
/// transaction.
///
/// # Errors
/// [`Error::Missing`] for an unknown account; [`Error::Sealed`].
pub async fn get_for_update(tx: &mut Tx, scope: Scope, log_id: i64) -> Result<Option<Attempt>, Error> {
    counters::lock(tx, scope).await?;
    get(tx, scope, log_id).await
}

/// A registration's attempts, newest first.
///
/// # Errors
/// [`Error::Sealed`].
pub async fn of_registration(
    conn: &mut Conn,
    scope: Scope,
    registration_id: Uuid,
) -> Result<Vec<Attempt>, Error> {
    const SQL: &str = select!("and a.registration_id = $3 order by a.log_id desc");
    let rows = fetch!(all, conn, scope, Row, SQL, registration_id)?;
    open_all(conn, scope, rows).await
}

/// A person's attempts, newest first, including those that are only logged.
///
/// # Errors
/// [`Error::Sealed`].
pub async fn of_facemap(conn: &mut Conn, scope: Scope, facemap_id: Uuid) -> Result<Vec<Attempt>, Error> {
    const SQL: &str = select!("and a.facemap_id = $3 order by a.log_id desc");
    let rows = fetch!(all, conn, scope, Row, SQL, facemap_id)?;
    open_all(conn, scope, rows).await
}

/// An attempt without its sealed columns.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct Summary {
    /// See [`Attempt::log_id`].
    pub log_id: i64,
    /// See [`NewAttempt::registration_id`].
    pub registration_id: Option<Uuid>,
    /// See [`NewAttempt::session_id`].
    pub session_id: Option<Uuid>,
    /// See [`NewAttempt::flow_name`].
    pub flow_name: String,
    /// See [`Attempt::status`].
    #[sqlx(try_from = "Word<AttemptStatus>")]
    pub status: AttemptStatus,
    /// See [`NewAttempt::codes`].
    pub codes: String,
    /// See [`NewAttempt::document_types`].
    pub document_types: String,
    /// When it was made (ms).
    pub created_at: i64,
    /// When a reviewer last decided on it (ms).
    pub decided_at: Option<i64>,
}

/// A person's attempts without their sealed columns, newest first, at most `limit`.
pub async fn summaries_of_facemap(
    conn: &mut Conn,
    scope: Scope,
    facemap_id: Uuid,
    limit: i64,
) -> Result<Vec<Summary>, Error> {
    const SQL: &str =
        "select log_id, registration_id, session_id, flow_name, status, codes, document_types, created_at,
                   decided_at
               from attempts where merchant_id = $1 and sandbox = $2 and facemap_id = $3
               order by log_id desc limit $4";
    fetch!(all, conn, scope, Summary, SQL, facemap_id, limit)
}

/// A person's newest attempt.
///
/// # Errors
/// [`Error::Sealed`].
pub async fn newest_of_facemap(
    conn: &mut Conn,
    scope: Scope,
    facemap_id: Uuid,
) -> Result<Option<Attempt>, Error> {
    const SQL: &str = select!("and a.facemap_id = $3 order by a.log_id desc limit 1");
    let rows = fetch!(all, conn, scope, Row, SQL, facemap_id)?;
    Ok(open_all(conn, scope, rows).await?.pop())
}

/// The number of a session's newest attempt.
pub async fn newest_of_session(
    conn: &mut Conn,
    scope: Scope,
    session_id: Uuid,
) -> Result<Option<i64>, Error> {
    const SQL: &str =
        "select max(log_id) from attempts where merchant_id = $1 and sandbox = $2 and session_id = $3";
    let (log_id,) = fetch!(one, conn, scope, (Option<i64>,), SQL, session_id)?;
    Ok(log_id)
}

/// Attempts that wait for a review, with numbers above `after`, oldest first, at most `limit`.
///
/// # Errors
/// [`Error::Sealed`].
pub async fn pending(conn: &mut Conn, scope: Scope, after: i64, limit: i64) -> Result<Vec<Attempt>, Error> {
    const SQL: &str = select!("and a.status = 'pending' and a.log_id > $3 order by a.log_id limit $4");
    let rows = fetch!(all, conn, scope, Row, SQL, after, limit)?;
    open_all(conn, scope, rows).await
}

/// Whether an attempt of a session waits for a review.
pub async fn any_pending_of_session(conn: &mut Conn, scope: Scope, session_id: Uuid) -> Result<bool, Error> {
    const SQL: &str = "select log_id from attempts
               where merchant_id = $1 and sandbox = $2 and status = 'pending' and session_id = $3 limit 1";
    let row = fetch!(optional, conn, scope, (i64,), SQL, session_id)?;
    Ok(row.is_some())
}

/// The outcomes of a registration's attempts, newest first.
pub async fn outcomes(conn: &mut Conn, scope: Scope, registration_id: Uuid) -> Result<Vec<Outcome>, Error> {
    const SQL: &str = "select log_id, status, created_at, decided_at from attempts
               where merchant_id = $1 and sandbox = $2 and registration_id = $3 order by log_id desc";
    fetch!(all, conn, scope, Outcome, SQL, registration_id)
}

/// Replaces the sealed detail and names of an attempt.
///
/// # Errors
/// [`Error::Missing`] when there is no such attempt.
pub async fn set_detail(
    tx: &mut Tx,
    scope: Scope,
    attempt: &Attempt,
    (detail, names): (&str, &str),
) -> Result<(), Error> {
    let names = seal_names(&attempt.key, scope, &attempt.id, names);
    let sealed = attempt.key.seal(
        &seal_context(scope, "attempts.detail", &attempt.id),
        detail.as_bytes(),
    );
    const SQL: &str = "update attempts set detail_sealed = $4, names_sealed = $5
               where merchant_id = $1 and sandbox = $2 and log_id = $3";
    match execute!(tx, scope, SQL, attempt.log_id, &sealed, &names)? {
        0 => Err(Error::Missing("attempt")),
        _ => Ok(()),
    }
}
