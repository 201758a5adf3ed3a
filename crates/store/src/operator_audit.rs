//! The operators' audit trail: the acts on the installation, which belongs to no merchant. It is append-only
//! and chained like each merchant's [`audit`](crate::audit), in a separate chain. It contains no personal
//! data.

use uuid::Uuid;

use crate::audit::{AuditCheck, AuditRow, ChainCheck, Entry, PAGE, chain_hash};
use crate::sql::{execute, fetch};
use crate::{Conn, Error, Tx, installation, staff};

/// There is only one chain.
const CHAIN: i64 = 1;

#[derive(sqlx::FromRow)]
struct Row {
    seq: i64,
    at: i64,
    actor: String,
    action: String,
    subject: String,
    detail: String,
    hash: Vec<u8>,
}

impl From<Row> for AuditRow {
    /// The installation is neither live nor sandbox.
    fn from(row: Row) -> Self {
        AuditRow {
            seq: row.seq,
            sandbox: false,
            at: row.at,
            actor: row.actor,
            action: row.action,
            subject: row.subject,
            detail: row.detail,
            hash: row.hash,
        }
    }
}

/// Appends a row. A process whose key does not belong to this database writes nothing, because its hash would
/// break the chain.
///
/// # Errors
/// As [`installation::confirm`].
pub async fn write(tx: &mut Tx, entry: &Entry<'_>) -> Result<(), Error> {
    installation::confirm(tx).await?;
    // This also locks the chain until the transaction ends. The first row starts the chain.
    let empty: &[u8] = &[];
    let (seq, previous) = fetch!(
        one,
        tx,
        installation,
        (i64, Vec<u8>),
        "insert into operator_audit_heads (id, seq, hash) values ($1, 1, $2)
               on conflict (id) do update set seq = operator_audit_heads.seq + 1 returning seq, hash",
        CHAIN,
        empty
    )?;
    let mut row = AuditRow {
        seq,
        sandbox: false,
        at: tx.now(),
        actor: entry.actor.into(),
        action: entry.action.into(),
        subject: entry.subject.into(),
        detail: entry.detail.into(),
        hash: Vec::new(),
    };
    row.hash = chain_hash(tx.keyring(), Uuid::nil(), &previous, &row);
    execute!(
        tx,
        installation,
        "insert into operator_audit (seq, at, actor, action, subject, detail, hash) values ($1, $2, $3, $4, $5, $6, $7)",
        row.seq,
        row.at,
        &row.actor,
        &row.action,
        &row.subject,
        &row.detail,
        &row.hash
    )?;
    execute!(
        tx,
        installation,
        "update operator_audit_heads set hash = $2 where id = $1",
        CHAIN,
        &row.hash
    )
    .map(|_| ())
}

/// Whether the trail contains an act of this type.
pub async fn has_action(conn: &mut Conn, action: &str) -> Result<bool, Error> {
    const SQL: &str = "select seq from operator_audit where action = $1 limit 1";
    Ok(fetch!(optional, conn, installation, (i64,), SQL, action)?.is_some())
}

/// The newest rows, newest first. `before` is a row number: only older rows are returned.
pub async fn list(conn: &mut Conn, before: Option<i64>, limit: i64) -> Result<Vec<AuditRow>, Error> {
    const SQL: &str = "select seq, at, actor, action, subject, detail, hash from operator_audit
               where seq < $1 order by seq desc limit $2";
    let rows = fetch!(
        all,
        conn,
        installation,
        Row,
        SQL,
        before.unwrap_or(i64::MAX),
        limit
    )?;
    Ok(rows.into_iter().map(AuditRow::from).collect())
}

/// Checks the whole chain. An empty chain is broken if the installation has an operator, because becoming one
/// adds a row.
pub async fn verify(conn: &mut Conn) -> Result<AuditCheck, Error> {
    let head = fetch!(
        optional,
        conn,
        installation,
        (i64, Vec<u8>),
        "select seq, hash from operator_audit_heads where id = $1",
        CHAIN
    )?;
    // The head is written with the first row.
    let Some(head) = head.filter(|(seq, _)| *seq > 0) else {
        let is_empty = list(conn, None, 1).await?.is_empty() && staff::operators(conn).await?.is_empty();
        return Ok(match is_empty {
            true => AuditCheck::Intact { rows: 0 },
            false => AuditCheck::Broken { seq: 1 },
        });
    };
    let mut walk = ChainCheck::to(Uuid::nil(), head);
    loop {
        let page = fetch!(
            all,
            conn,
            installation,
            Row,
            "select seq, at, actor, action, subject, detail, hash from operator_audit
                   where seq > $1 order by seq limit $2",
            walk.seq,
            PAGE
        )?;
        let page = page.into_iter().map(AuditRow::from).collect();
        if let Some(check) = walk.follow(conn.keyring(), page) {
            return Ok(check);
        }
    }
}
