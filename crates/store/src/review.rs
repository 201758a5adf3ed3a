//! The review queue: attempts that wait for a reviewer, their assignees, the reviewers' notes, and decisions
//! that wait for a second person. This module decides nothing.
//!
//! Queries for the queue use indexes over pending attempts only. Only the rows of the requested page are
//! opened.

use reference::status::Decision;
use uuid::Uuid;

use crate::attempts::Attempt;
use crate::keyring::SealContext;
use crate::labels::group_from_column;
use crate::sql::{checked, execute, fetch};
use crate::text_enum::Word;
use crate::{Conn, Error, Scope, Tx, attempts, merchants};

/// Which pending attempts to list. The default does not restrict.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Of this Flow.
    pub flow_id: Option<Uuid>,
    /// With this failure code.
    pub code: Option<i64>,
    /// With this document type (`PASSPORT`, …).
    pub document_type: Option<String>,
    /// With a document of this country (alpha-3).
    pub country: Option<String>,
    /// Made at this time (ms) or earlier.
    pub created_until: Option<i64>,
    /// Assigned to this member of staff.
    pub claimed_by: Option<Uuid>,
    /// Not assigned.
    pub unclaimed: bool,
    /// Waiting for a second person.
    pub proposed: bool,
    /// Without attempts on which this member of staff proposed a decision, because another person must
    /// confirm it.
    pub not_proposed_by: Option<Uuid>,
}

/// The order of the queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QueueOrder {
    /// The most urgent first; attempts of equal priority from oldest to newest.
    #[default]
    Priority,
    /// The oldest first.
    Oldest,
}

/// The attempt after which a page begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueuePosition {
    /// Its [`NewAttempt::priority`](attempts::NewAttempt::priority), used only with [`Order::Priority`].
    pub priority: i64,
    /// Its number.
    pub log_id: i64,
}

/// A claim: the temporary assignment of an attempt to a reviewer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct Claim {
    /// The member of staff.
    pub staff_id: Uuid,
    /// When the assignment ends by itself (ms).
    pub until: i64,
}

/// A pending attempt in the review queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingAttempt {
    /// Its number.
    pub log_id: i64,
    /// Its priority; 1 is the most urgent.
    pub priority: i64,
    /// When it was made (ms).
    pub created_at: i64,
    /// Its Flow.
    pub flow_id: Uuid,
    /// The Flow's name at that time.
    pub flow_name: String,
    /// The group of the submission.
    pub grouping_id: Option<Uuid>,
    /// The document's country (alpha-3).
    pub country: Option<String>,
    /// The failure codes, as JSON.
    pub codes: String,
    /// The types of the submitted documents, as JSON.
    pub document_types: String,
    /// The merchant's label for the applicant.
    pub external_user_id: String,
    /// Its assignment.
    pub claim: Option<Claim>,
    /// Whether a decision on it waits for a second person.
    pub is_proposed: bool,
    /// The member of staff who proposed that decision; `None` without a proposal, or if no person proposed it.
    pub proposed_by: Option<Uuid>,
    /// Whether an API key proposed it.
    pub proposed_by_key: bool,
    /// When it was last decided or reopened (ms). For a pending attempt this is when it was reopened.
    pub decided_at: Option<i64>,
}

#[derive(sqlx::FromRow)]
struct Row {
    log_id: i64,
    id: Uuid,
    facemap_id: Uuid,
    priority: i64,
    created_at: i64,
    flow_id: Uuid,
    flow_name: String,
    grouping_id: Uuid,
    country: Option<String>,
    codes: String,
    document_types: String,
    wrapped_key: Vec<u8>,
    external_id_sealed: Vec<u8>,
    person_key: Vec<u8>,
    claim_staff: Option<Uuid>,
    claim_until: Option<i64>,
    proposed_by: Option<Uuid>,
    proposed_by_key: bool,
    decided_at: Option<i64>,
}

/// The filter over the indexes. `$1` and `$2` are the scope, `$3` is the current time, and `$4` to `$12` are
/// the fields of the filter in their order.
macro_rules! waiting {
    ($columns:literal, $rest:literal) => {
        concat!(
            "select ",
            $columns,
            " from attempts a
             left join review_claims c on c.merchant_id = a.merchant_id and c.sandbox = a.sandbox
                 and c.log_id = a.log_id and c.until > $3
             left join review_proposals o on o.merchant_id = a.merchant_id and o.sandbox = a.sandbox
                 and o.log_id = a.log_id
             where a.merchant_id = $1 and a.sandbox = $2 and a.status = 'pending'
                 and ($4 is null or a.flow_id = $4) and ($5 is null or a.codes like $5)
                 and ($6 is null or a.document_types like $6) and ($7 is null or a.country = $7)
                 and ($8 is null or a.created_at <= $8) and ($9 is null or c.staff_id = $9)
                 and (not $10 or c.staff_id is null) and (not $11 or o.staff_id is not null)
                 and ($12 is null or o.staff_id is null or o.staff_id <> $12) ",
            $rest
        )
    };
}

// The order uses the columns of the inner query. With those of the joined rows, SQLite would scan the
// account's whole log in that order.
macro_rules! page {
    ($rest:literal, $order:literal) => {
        concat!(
            "select a.log_id, a.id, a.facemap_id, a.priority, a.created_at, a.flow_id, a.flow_name, a.grouping_id,
                    a.country, a.codes, a.document_types, a.wrapped_key, a.external_id_sealed, a.decided_at,
                    p.wrapped_key as person_key, q.claim_staff, q.claim_until, q.proposed_by,
                    q.proposed_by_key
             from (",
            waiting!(
                "a.log_id, a.priority, c.staff_id as claim_staff, c.until as claim_until, o.staff_id as proposed_by,
                 o.key_actor is not null as proposed_by_key",
                $rest
            ),
            ") q join attempts a on a.merchant_id = $1 and a.sandbox = $2 and a.log_id = q.log_id
             join people p on p.merchant_id = $1 and p.sandbox = $2 and p.facemap_id = a.facemap_id order by ",
            $order
        )
    };
}

/// The `like` patterns for the JSON columns.
fn patterns(filter: &Filter) -> (Option<String>, Option<String>) {
    let code = filter.code.map(|code| format!("%{code}%"));
    let document_type = filter
        .document_type
        .as_ref()
        .filter(|name| name.bytes().all(|b| b.is_ascii_uppercase() || b == b'_'));
    (code, document_type.map(|name| format!("%\"{name}\"%")))
}

/// A page of the queue with at most `limit` attempts after `after` ([`QueuePosition::default`] starts at the
/// beginning).
///
/// # Errors
/// [`Error::Sealed`].
pub async fn queue(
    conn: &mut Conn,
    scope: Scope,
    filter: &Filter,
    order: QueueOrder,
    after: QueuePosition,
    limit: i64,
) -> Result<Vec<PendingAttempt>, Error> {
    let now = conn.now();
    let (code, document_type) = patterns(filter);
    let sql = match order {
        QueueOrder::Priority => checked!(
            scope,
            page!(
                "and (a.priority, a.log_id) > ($13, $14) order by a.priority, a.log_id limit $15",
                "q.priority, q.log_id"
            )
        ),
        QueueOrder::Oldest => checked!(
            scope,
            page!(
                "and a.log_id > $14 and $13 is not null order by a.log_id limit $15",
                "q.log_id"
            )
        ),
    };
    let rows = fetch!(
        all,
        conn,
        scope,
        Row,
        checked(sql),
        now,
        filter.flow_id,
        code.as_deref(),
        document_type.as_deref(),
        filter.country.as_deref(),
        filter.created_until,
        filter.claimed_by,
        filter.unclaimed,
        filter.proposed,
        filter.not_proposed_by,
        after.priority,
        after.log_id,
        limit
    )?;
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let merchant_key = merchants::key(conn, scope.merchant_id).await?;
    rows.into_iter()
        .map(|row| {
            let key = attempts::unwrap(
                &merchant_key,
                scope,
                (&row.facemap_id, &row.person_key),
                (&row.id, &row.wrapped_key),
            )?;
            let claim = row.claim_staff.zip(row.claim_until);
            Ok(PendingAttempt {
                external_user_id: attempts::open_external_id(&key, scope, &row.id, &row.external_id_sealed)?,
                log_id: row.log_id,
                priority: row.priority,
                created_at: row.created_at,
                flow_id: row.flow_id,
                flow_name: row.flow_name,
                grouping_id: group_from_column(row.grouping_id),
                country: row.country,
                codes: row.codes,
                document_types: row.document_types,
                claim: claim.map(|(staff_id, until)| Claim { staff_id, until }),
                is_proposed: row.proposed_by.is_some(),
                proposed_by: row.proposed_by.and_then(staff_of),
                proposed_by_key: row.proposed_by_key,
                decided_at: row.decided_at,
            })
        })
        .collect()
}

/// The number of pending attempts that match a filter, counted up to `at_most`.
pub async fn count(conn: &mut Conn, scope: Scope, filter: &Filter, at_most: i64) -> Result<i64, Error> {
    let now = conn.now();
    let (code, document_type) = patterns(filter);
    const SQL: &str = concat!("select count(*) from (", waiting!("a.log_id", "limit $13"), ") q");
    let (count,) = fetch!(
        one,
        conn,
        scope,
        (i64,),
        SQL,
        now,
        filter.flow_id,
        code.as_deref(),
        document_type.as_deref(),
        filter.country.as_deref(),
        filter.created_until,
        filter.claimed_by,
        filter.unclaimed,
        filter.proposed,
        filter.not_proposed_by,
        at_most
    )?;
    Ok(count)
}

/// The number of all pending attempts, counted up to `at_most`.
pub async fn count_pending(conn: &mut Conn, scope: Scope, at_most: i64) -> Result<i64, Error> {
    const SQL: &str = "select count(*) from (select log_id from attempts
               where merchant_id = $1 and sandbox = $2 and status = 'pending' limit $3) q";
    let (count,) = fetch!(one, conn, scope, (i64,), SQL, at_most)?;
    Ok(count)
}

/// Assigns an attempt to a reviewer if it is free, or extends the reviewer's own assignment; returns whether
/// it did. Of two simultaneous calls, one succeeds.
///
/// # Errors
/// [`Error::Database`] if there is no such attempt or member of staff.
pub async fn claim(
    tx: &mut Tx,
    scope: Scope,
    log_id: i64,
    staff_id: Uuid,
    until: i64,
) -> Result<bool, Error> {
    let now = tx.now();
    let claimed = fetch!(
        optional,
        tx,
        scope,
        (Uuid,),
        "insert into review_claims (merchant_id, sandbox, log_id, staff_id, until) values ($1, $2, $3, $4, $5)
         on conflict (merchant_id, sandbox, log_id) do update
             set staff_id = excluded.staff_id, until = excluded.until
             where review_claims.until <= $6 or review_claims.staff_id = excluded.staff_id
         returning staff_id",
        log_id,
        staff_id,
        until,
        now,
    )?;
    Ok(claimed.is_some())
}

/// Assigns an attempt to a reviewer, even if another one has it.
///
/// # Errors
/// As [`claim`].
pub async fn take_over(
    tx: &mut Tx,
    scope: Scope,
    log_id: i64,
    staff_id: Uuid,
    until: i64,
) -> Result<(), Error> {
    execute!(
        tx,
        scope,
        "insert into review_claims (merchant_id, sandbox, log_id, staff_id, until) values ($1, $2, $3, $4, $5)
         on conflict (merchant_id, sandbox, log_id) do update
             set staff_id = excluded.staff_id, until = excluded.until",
        log_id,
        staff_id,
        until,
    )
    .map(|_| ())
}

/// Ends the assignment of an attempt. With `staff_id`, only that member's assignment ends.
pub async fn release(tx: &mut Tx, scope: Scope, log_id: i64, staff_id: Option<Uuid>) -> Result<(), Error> {
    const SQL: &str = "delete from review_claims where merchant_id = $1 and sandbox = $2 and log_id = $3
               and ($4 is null or staff_id = $4)";
    execute!(tx, scope, SQL, log_id, staff_id).map(|_| ())
}

/// The current assignment of an attempt.
pub async fn claim_of(conn: &mut Conn, scope: Scope, log_id: i64) -> Result<Option<Claim>, Error> {
    let now = conn.now();
    const SQL: &str = "select staff_id, until from review_claims
               where merchant_id = $1 and sandbox = $2 and log_id = $3 and until > $4";
    fetch!(optional, conn, scope, Claim, SQL, log_id, now)
}

/// A reviewer's note on an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The note's id.
    pub id: Uuid,
    /// The author.
    pub staff_id: Uuid,
    /// The text (sealed).
    pub text: String,
    /// When it was written (ms).
    pub at: i64,
}

fn note_context(scope: Scope, id: &Uuid) -> SealContext<'_> {
    SealContext {
        merchant_id: scope.merchant_id,
        what: "review_notes.text",
        id: id.as_bytes(),
    }
}

/// Adds a note to an attempt.
pub async fn add_note(
    tx: &mut Tx,
    scope: Scope,
    attempt: &Attempt,
    staff_id: Uuid,
    text: &str,
) -> Result<Uuid, Error> {
    let id = Uuid::now_v7();
    let sealed = attempt.key.seal(&note_context(scope, &id), text.as_bytes());
    let now = tx.now();
    execute!(
        tx,
        scope,
        "insert into review_notes (merchant_id, sandbox, log_id, id, staff_id, text_sealed, at)
         values ($1, $2, $3, $4, $5, $6, $7)",
        attempt.log_id,
        id,
        staff_id,
        &sealed,
        now
    )?;
    Ok(id)
}

/// The notes on an attempt, oldest first.
///
/// # Errors
/// [`Error::Sealed`].
pub async fn notes(conn: &mut Conn, scope: Scope, attempt: &Attempt) -> Result<Vec<Note>, Error> {
    const SQL: &str = "select id, staff_id, text_sealed, at from review_notes
               where merchant_id = $1 and sandbox = $2 and log_id = $3 order by at, id";
    type Row = (Uuid, Uuid, Vec<u8>, i64);
    let rows = fetch!(all, conn, scope, Row, SQL, attempt.log_id)?;
    let open = |(id, staff_id, sealed, at): Row| {
        let text = attempt.key.open_text(&note_context(scope, &id), &sealed)?;
        Ok(Note {
            id,
            staff_id,
            text,
            at,
        })
    };
    rows.into_iter().map(open).collect()
}

/// A proposed decision that waits for a second person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    /// The proposed decision.
    pub decision: Decision,
    /// The member of staff who proposed it; `None` for the command line and API keys, which do not count as people.
    pub staff_id: Option<Uuid>,
    /// The API key that proposed it, and the member whom it named, as the audit trail names them.
    pub key_actor: Option<String>,
    /// The reason (sealed).
    pub reason: Option<String>,
    /// When it was proposed (ms).
    pub at: i64,
}

fn proposal_context(scope: Scope, attempt: &Attempt) -> SealContext<'_> {
    SealContext {
        merchant_id: scope.merchant_id,
        what: "review_proposals.reason",
        id: attempt.id.as_bytes(),
    }
}

/// The value of `review_proposals.staff_id` for the command line and API keys.
const COMMAND_LINE: Uuid = Uuid::nil();

fn staff_of(column: Uuid) -> Option<Uuid> {
    (column != COMMAND_LINE).then_some(column)
}

/// Stores a proposed decision.
///
/// # Errors
/// [`Error::Conflict`] if one is already waiting.
pub async fn propose(
    tx: &mut Tx,
    scope: Scope,
    attempt: &Attempt,
    decision: Decision,
    (staff_id, key_actor): (Option<Uuid>, Option<&str>),
    reason: Option<&str>,
) -> Result<(), Error> {
    let place = proposal_context(scope, attempt);
    let reason = reason.map(|reason| attempt.key.seal(&place, reason.as_bytes()));
    let now = tx.now();
    execute!(
        tx,
        scope,
        "insert into review_proposals (merchant_id, sandbox, log_id, decision, staff_id, reason_sealed, at, key_actor)
         values ($1, $2, $3, $4, $5, $6, $7, $8)",
        attempt.log_id,
        decision.as_str(),
        staff_id.unwrap_or(COMMAND_LINE),
        reason.as_deref(),
        now,
        key_actor
    )
    .map(|_| ())
}

/// The decision that waits for a second person; `None` if there is none.
///
/// # Errors
/// [`Error::Sealed`].
pub async fn proposal(conn: &mut Conn, scope: Scope, attempt: &Attempt) -> Result<Option<Proposal>, Error> {
    const SQL: &str = "select decision, staff_id, reason_sealed, at, key_actor from review_proposals
               where merchant_id = $1 and sandbox = $2 and log_id = $3";
    type Row = (Word<Decision>, Uuid, Option<Vec<u8>>, i64, Option<String>);
    let row = fetch!(optional, conn, scope, Row, SQL, attempt.log_id)?;
    row.map(|(Word(decision), staff_id, sealed, at, key_actor)| {
        let place = proposal_context(scope, attempt);
        let reason = sealed
            .map(|sealed| attempt.key.open_text(&place, &sealed))
            .transpose()?;
        Ok(Proposal {
            decision,
            staff_id: staff_of(staff_id),
            key_actor,
            reason,
            at,
        })
    })
    .transpose()
}

/// Makes a member of staff the proposer of a decision that no person proposed; returns whether it had no
/// proposer.
pub async fn set_proposer(tx: &mut Tx, scope: Scope, log_id: i64, staff_id: Uuid) -> Result<bool, Error> {
    let now = tx.now();
    const SQL: &str = "update review_proposals set staff_id = $4, at = $5
               where merchant_id = $1 and sandbox = $2 and log_id = $3 and staff_id = $6";
    let adopted = execute!(tx, scope, SQL, log_id, staff_id, now, COMMAND_LINE)?;
    Ok(adopted > 0)
}

/// Removes a proposed decision; returns whether there was one.
pub async fn drop_proposal(tx: &mut Tx, scope: Scope, log_id: i64) -> Result<bool, Error> {
    const SQL: &str = "delete from review_proposals where merchant_id = $1 and sandbox = $2 and log_id = $3";
    Ok(execute!(tx, scope, SQL, log_id)? > 0)
}
