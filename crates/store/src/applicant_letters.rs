//! Letters to applicants about their invitations: queued in the transaction that causes them, claimed by a sender, and
//! tried until the mail server accepts them. A row contains no address and no text. This module sends nothing and does
//! not decide when to try again.

use uuid::Uuid;

use crate::sql::{execute, fetch};
use crate::text_enum::{Word, text_enum};
use crate::{Conn, Error, Scope, Tx};

text_enum! {
    /// What a letter is about.
    LetterKind("kind of letter") {
        /// The invitation itself, also if it is sent again.
        Invitation = "invitation",
        /// A reminder.
        Reminder = "reminder",
        /// A new link in place of an expired one.
        Renewal = "renewal",
    }
}

text_enum! {
    /// The state of a letter.
    LetterState("state of a letter") {
        /// It waits to be sent, perhaps again.
        Queued = "queued",
        /// The mail server accepted it.
        Sent = "sent",
        /// The mail server refused it, or did not take it for too long.
        Failed = "failed",
        /// Its invitation ended, or was no longer allowed a letter, before it was sent.
        Void = "void",
    }
}

/// A letter that was claimed for one try.
#[derive(Clone, Debug)]
pub struct QueuedLetter {
    /// The account and mode.
    pub scope: Scope,
    /// Its id.
    pub id: Uuid,
    /// The invitation that it is about.
    pub invitation_id: Uuid,
    /// What it is about.
    pub kind: LetterKind,
    /// The number of this claim. Only the latest claim of a letter may report.
    pub claims: i64,
    /// How often it was handed to the mail server before.
    pub tries: i64,
    /// When that last was (ms).
    pub handed_at: Option<i64>,
}

/// Queues a letter.
pub async fn enqueue(tx: &mut Tx, scope: Scope, invitation_id: Uuid, kind: LetterKind) -> Result<(), Error> {
    let (id, now) = (Uuid::now_v7(), tx.now());
    execute!(
        tx,
        scope,
        "insert into applicant_letters
             (merchant_id, sandbox, id, invitation_id, kind, state, tries, next_try_at, created_at)
         values ($1, $2, $3, $4, $5, 'queued', 0, $6, $6)",
        id,
        invitation_id,
        kind.as_str(),
        now
    )
    .map(|_| ())
}

/// Whether a letter is due. Unlike [`claim`], it only reads.
pub async fn is_due(conn: &mut Conn) -> Result<bool, Error> {
    let now = conn.now();
    const SQL: &str =
        "select count(*) from (select 1 from applicant_letters where next_try_at <= $1 limit 1) due";
    let (count,) = fetch!(
        one,
        conn,
        across_accounts("every account's letters are sent"),
        (i64,),
        SQL,
        now
    )?;
    Ok(count > 0)
}

/// The letters of all accounts that wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, sqlx::FromRow)]
pub struct LetterBacklog {
    /// How many wait.
    pub waiting: i64,
    /// When the oldest of them was queued (ms).
    pub oldest: Option<i64>,
}

/// The letters of all accounts that wait, counted up to `at_most`.
pub async fn backlog(conn: &mut Conn, at_most: i64) -> Result<LetterBacklog, Error> {
    fetch!(
        one,
        conn,
        across_accounts("operators watch the backlog of all accounts"),
        LetterBacklog,
        "select count(*) as waiting, min(created_at) as oldest
         from (select created_at from applicant_letters where next_try_at is not null order by next_try_at limit $1) w",
        at_most,
    )
}

#[derive(sqlx::FromRow)]
struct Claimed {
    merchant_id: Uuid,
    sandbox: bool,
    id: Uuid,
    invitation_id: Uuid,
    #[sqlx(try_from = "Word<LetterKind>")]
    kind: LetterKind,
    claims: i64,
    tries: i64,
    handed_at: Option<i64>,
}

macro_rules! claim {
    ($lock:literal) => {
        concat!(
            "update applicant_letters set claims = claims + 1, next_try_at = $1 where (merchant_id, sandbox, id) =
                 (select merchant_id, sandbox, id from applicant_letters where next_try_at <= $2
                  order by next_try_at limit 1 ",
            $lock,
            ") returning merchant_id, sandbox, id, invitation_id, kind, claims, tries, handed_at"
        )
    };
}

/// Claims a due letter. One that is not reported within `lease_ms` becomes due again.
pub async fn claim(tx: &mut Tx, lease_ms: i64) -> Result<Option<QueuedLetter>, Error> {
    let now = tx.now();
    let sql = if tx.is_postgres() {
        claim!("for update skip locked")
    } else {
        claim!("")
    };
    let row = fetch!(
        optional,
        tx,
        across_accounts("every account's letters are sent"),
        Claimed,
        sql,
        now + lease_ms,
        now
    )?;
    Ok(row.map(|row| QueuedLetter {
        scope: Scope {
            merchant_id: row.merchant_id,
            sandbox: row.sandbox,
        },
        id: row.id,
        invitation_id: row.invitation_id,
        kind: row.kind,
        claims: row.claims,
        tries: row.tries,
        handed_at: row.handed_at,
    }))
}

/// Records that a claimed letter is handed to the mail server now, and extends the claim by `lease_ms`. Returns whether the
/// claim counts; if not, another node has the letter.
pub async fn hand_over(tx: &mut Tx, letter: &QueuedLetter, lease_ms: i64) -> Result<bool, Error> {
    let now = tx.now();
    const SQL: &str = "update applicant_letters set tries = tries + 1, handed_at = $5, next_try_at = $6
               where merchant_id = $1 and sandbox = $2 and id = $3 and claims = $4 and next_try_at is not null";
    Ok(execute!(
        tx,
        letter.scope,
        SQL,
        letter.id,
        letter.claims,
        now,
        now + lease_ms
    )? == 1)
}

/// Reports the end of a claimed letter, which is any state but [`LetterState::Queued`]. Returns whether the claim counts.
pub async fn finish(tx: &mut Tx, letter: &QueuedLetter, state: LetterState) -> Result<bool, Error> {
    const SQL: &str = "update applicant_letters set state = $5, next_try_at = null
               where merchant_id = $1 and sandbox = $2 and id = $3 and claims = $4";
    Ok(execute!(tx, letter.scope, SQL, letter.id, letter.claims, state.as_str())? == 1)
}

/// Puts a claimed letter back until `due_at` (ms).
pub async fn put_back(tx: &mut Tx, letter: &QueuedLetter, due_at: i64) -> Result<(), Error> {
    const SQL: &str = "update applicant_letters set next_try_at = $5
               where merchant_id = $1 and sandbox = $2 and id = $3 and claims = $4";
    execute!(tx, letter.scope, SQL, letter.id, letter.claims, due_at).map(|_| ())
}

/// Puts back a claimed letter and every due letter of its account that was not handed over before, until `due_at` (ms).
pub async fn put_back_account(tx: &mut Tx, letter: &QueuedLetter, due_at: i64) -> Result<(), Error> {
    put_back(tx, letter, due_at).await?;
    let (merchant_id, now) = (letter.scope.merchant_id, tx.now());
    const SQL: &str = "update applicant_letters set next_try_at = $2
               where merchant_id = $1 and next_try_at <= $3 and handed_at is null";
    execute!(
        tx,
        both_modes(merchant_id, "the limit holds for the whole account"),
        SQL,
        due_at,
        now
    )
    .map(|_| ())
}

/// Whether an account handed over `limit` letters or more since a time (ms), in both modes.
pub async fn reached(conn: &mut Conn, merchant_id: Uuid, since: i64, limit: i64) -> Result<bool, Error> {
    const SQL: &str = "select count(*) from
               (select 1 from applicant_letters where merchant_id = $1 and handed_at >= $2 limit $3) handed";
    let (count,) = fetch!(
        one,
        conn,
        both_modes(merchant_id, "the limit holds for the whole account"),
        (i64,),
        SQL,
        since,
        limit
    )?;
    Ok(count >= limit)
}

/// The letters of an invitation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Letters {
    /// How many there are.
    pub count: i64,
    /// When the newest was queued (ms).
    pub newest_at: Option<i64>,
    /// Whether one waits to be sent.
    pub has_queued: bool,
}

/// The letters of an invitation.
pub async fn of_invitation(conn: &mut Conn, scope: Scope, invitation_id: Uuid) -> Result<Letters, Error> {
    const SQL: &str = "select count(*), max(created_at), count(next_try_at) from applicant_letters
               where merchant_id = $1 and sandbox = $2 and invitation_id = $3";
    let (count, newest_at, queued) = fetch!(one, conn, scope, (i64, Option<i64>, i64), SQL, invitation_id)?;
    Ok(Letters {
        count,
        newest_at,
        has_queued: queued > 0,
    })
}
