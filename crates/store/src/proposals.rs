//! Acts that wait for a second person, except decisions on attempts (see [`crate::review`]). This module does
//! not interpret acts or decide who may confirm them. The server seals the act into `payload` and carries it
//! out.

use uuid::Uuid;

use crate::attempts::Attempt;
use crate::keyring::{DataKey, SealContext};
use crate::sql::{execute, fetch};
use crate::{Conn, Error, Scope, Tx, attempts, merchants};

/// An act that waits for a second person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActProposal {
    /// Its id.
    pub id: Uuid,
    /// Sandbox or live.
    pub sandbox: bool,
    /// The type of the act.
    pub kind: String,
    /// The subject of the act.
    pub subject: String,
    /// The attempt's number, if the act concerns one.
    pub log_id: Option<i64>,
    /// The member of staff who proposed it; `None` for the command line.
    pub staff_id: Option<Uuid>,
    /// The act, as the server encoded it (sealed).
    pub payload: String,
    /// When it was proposed (ms).
    pub at: i64,
}

/// An act to propose.
#[derive(Clone, Copy, Debug)]
pub struct NewProposal<'a> {
    /// See [`Proposed::kind`].
    pub kind: &'a str,
    /// See [`Proposed::subject`].
    pub subject: &'a str,
    /// The attempt, if the act concerns one. Its key seals the payload.
    pub attempt: Option<&'a Attempt>,
    /// See [`Proposed::staff_id`].
    pub staff_id: Option<Uuid>,
    /// See [`Proposed::payload`].
    pub payload: &'a str,
}

#[derive(sqlx::FromRow)]
struct Row {
    id: Uuid,
    sandbox: bool,
    kind: String,
    subject: String,
    log_id: Option<i64>,
    staff_id: Option<Uuid>,
    payload_sealed: Vec<u8>,
    at: i64,
}

fn seal_context(merchant_id: Uuid, id: &Uuid) -> SealContext<'_> {
    SealContext {
        merchant_id,
        what: "proposals.payload",
        id: id.as_bytes(),
    }
}

/// The key that seals a proposal: the attempt's key if there is an attempt, otherwise the account's key.
async fn key(conn: &mut Conn, scope: Scope, log_id: Option<i64>) -> Result<DataKey, Error> {
    match log_id {
        Some(log_id) => {
            let attempt = attempts::get(conn, scope, log_id).await?;
            Ok(attempt.ok_or(Error::Missing("attempt"))?.key)
        }
        None => merchants::key(conn, scope.merchant_id).await,
    }
}

/// Adds a proposal and replaces an earlier one of the same type for the same subject.
pub async fn put(tx: &mut Tx, scope: Scope, new: &NewProposal<'_>) -> Result<Uuid, Error> {
    let key = match new.attempt {
        Some(attempt) => attempt.key.clone(),
        None => merchants::key(tx, scope.merchant_id).await?,
    };
    let (id, now) = (Uuid::now_v7(), tx.now());
    let sealed = key.seal(&seal_context(scope.merchant_id, &id), new.payload.as_bytes());
    const SQL: &str =
        "delete from proposals where merchant_id = $1 and sandbox = $2 and kind = $3 and subject = $4";
    execute!(tx, scope, SQL, new.kind, new.subject)?;
    execute!(
        tx,
        scope,
        "insert into proposals (merchant_id, sandbox, id, kind, subject, log_id, staff_id, payload_sealed, at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        id,
        new.kind,
        new.subject,
        new.attempt.map(|attempt| attempt.log_id),
        new.staff_id,
        &sealed,
        now,
    )?;
    Ok(id)
}

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "select id, sandbox, kind, subject, log_id, staff_id, payload_sealed, at from proposals
             where merchant_id = $1 and sandbox = $2 ",
            $rest
        )
    };
}

async fn open(conn: &mut Conn, scope: Scope, row: Row) -> Result<ActProposal, Error> {
    let key = key(conn, scope, row.log_id).await?;
    let payload = key.open_text(&seal_context(scope.merchant_id, &row.id), &row.payload_sealed)?;
    Ok(ActProposal {
        id: row.id,
        sandbox: row.sandbox,
        kind: row.kind,
        subject: row.subject,
        log_id: row.log_id,
        staff_id: row.staff_id,
        payload,
        at: row.at,
    })
}

/// The proposals of an account and mode, oldest first.
///
/// # Errors
/// [`Error::Sealed`].
pub async fn list(conn: &mut Conn, scope: Scope) -> Result<Vec<ActProposal>, Error> {
    const SQL: &str = select!("order by at, id");
    let rows = fetch!(all, conn, scope, Row, SQL)?;
    let mut all = Vec::with_capacity(rows.len());
    for row in rows {
        all.push(open(conn, scope, row).await?);
    }
    Ok(all)
}

/// One proposal.
///
/// # Errors
/// [`Error::Sealed`].
pub async fn get(conn: &mut Conn, scope: Scope, id: Uuid) -> Result<Option<ActProposal>, Error> {
    const SQL: &str = select!("and id = $3");
    let row = fetch!(optional, conn, scope, Row, SQL, id)?;
    match row {
        Some(row) => open(conn, scope, row).await.map(Some),
        None => Ok(None),
    }
}

/// Whether an act of this type waits for a subject with this prefix. `subject` must contain neither `%` nor
/// `_`.
pub async fn exists_with_prefix(
    conn: &mut Conn,
    scope: Scope,
    kind: &str,
    subject: &str,
) -> Result<bool, Error> {
    let pattern = format!("{subject}%");
    const SQL: &str = "select count(*) from proposals
               where merchant_id = $1 and sandbox = $2 and kind = $3 and subject like $4";
    let (count,) = fetch!(one, conn, scope, (i64,), SQL, kind, &pattern)?;
    Ok(count > 0)
}

/// Makes a member of staff the proposer of an act that the command line proposed; returns whether it had no
/// proposer.
pub async fn set_proposer(tx: &mut Tx, scope: Scope, id: Uuid, staff_id: Uuid) -> Result<bool, Error> {
    let now = tx.now();
    const SQL: &str = "update proposals set staff_id = $4, at = $5
               where merchant_id = $1 and sandbox = $2 and id = $3 and staff_id is null";
    let adopted = execute!(tx, scope, SQL, id, staff_id, now)?;
    Ok(adopted > 0)
}

/// Removes a proposal; returns whether there was one. Of two people who act at once, only one receives
/// `true`.
pub async fn take(tx: &mut Tx, scope: Scope, id: Uuid) -> Result<bool, Error> {
    const SQL: &str = "delete from proposals where merchant_id = $1 and sandbox = $2 and id = $3";
    Ok(execute!(tx, scope, SQL, id)? > 0)
}

/// An act on the whole installation that waits for a second operator. It concerns no account and contains
/// nothing to seal.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct InstallationProposal {
    /// Its id.
    pub id: Uuid,
    /// The type of the act.
    pub kind: String,
    /// The subject of the act.
    pub subject: String,
    /// The operator who proposed it; `None` for the command line.
    pub staff_id: Option<Uuid>,
    /// When it was proposed (ms).
    pub at: i64,
}

/// Adds an act on the installation unless one of the same type waits for the same subject.
pub async fn put_installation(
    tx: &mut Tx,
    kind: &str,
    subject: &str,
    staff_id: Option<Uuid>,
) -> Result<(), Error> {
    let waiting = list_installation(tx).await?;
    if waiting
        .iter()
        .any(|one| one.kind == kind && one.subject == subject)
    {
        return Ok(());
    }
    let (id, now) = (Uuid::now_v7(), tx.now());
    let nothing: &[u8] = &[];
    execute!(
        tx,
        across_accounts("a proposal on the installation belongs to no account"),
        "insert into proposals (id, merchant_id, sandbox, kind, subject, log_id, staff_id, payload_sealed, at)
         values ($1, null, $2, $3, $4, null, $7, $5, $6)",
        id,
        false,
        kind,
        subject,
        nothing,
        now,
        staff_id,
    )
    .map(|_| ())
}

/// The waiting acts on the installation, oldest first.
pub async fn list_installation(conn: &mut Conn) -> Result<Vec<InstallationProposal>, Error> {
    const SQL: &str =
        "select id, kind, subject, staff_id, at from proposals where merchant_id is null order by at, id";
    fetch!(
        all,
        conn,
        across_accounts("a proposal on the installation belongs to no account"),
        InstallationProposal,
        SQL
    )
}

/// [`set_proposer`] for an act on the installation.
pub async fn set_installation_proposer(tx: &mut Tx, id: Uuid, staff_id: Uuid) -> Result<bool, Error> {
    let now = tx.now();
    const SQL: &str = "update proposals set staff_id = $2, at = $3
               where merchant_id is null and id = $1 and staff_id is null";
    Ok(execute!(
        tx,
        across_accounts("a proposal on the installation belongs to no account"),
        SQL,
        id,
        staff_id,
        now
    )? > 0)
}

/// [`take`] for an act on the installation.
pub async fn take_installation(tx: &mut Tx, id: Uuid) -> Result<bool, Error> {
    const SQL: &str = "delete from proposals where merchant_id is null and id = $1";
    Ok(execute!(
        tx,
        across_accounts("a proposal on the installation belongs to no account"),
        SQL,
        id
    )? > 0)
}
