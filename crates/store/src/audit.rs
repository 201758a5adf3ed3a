//! The audit trail: append-only rows, each written in the transaction that it describes. A keyed hash chains
//! the rows of each merchant, so that [`verify`] detects changed and removed rows and a truncated chain. The
//! trail contains no personal data.

use uuid::Uuid;

use crate::keyring::Keyring;
use crate::sql::{checked, execute, fetch};
use crate::{Conn, Error, Scope, Tx};

/// An audited act.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    /// Who did it: an API key, a member of staff (`staff:<id>`), or `command line`.
    pub actor: &'a str,
    /// What was done, for instance `group.created`.
    pub action: &'a str,
    /// The id of what was acted on.
    pub subject: &'a str,
    /// Details, as JSON.
    pub detail: &'a str,
}

/// A row of the trail.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct AuditRow {
    /// Its number in the merchant's chain, from 1.
    pub seq: i64,
    /// Sandbox or live.
    pub sandbox: bool,
    /// When (ms).
    pub at: i64,
    /// See [`Entry::actor`].
    pub actor: String,
    /// See [`Entry::action`].
    pub action: String,
    /// See [`Entry::subject`].
    pub subject: String,
    /// See [`Entry::detail`].
    pub detail: String,
    /// The keyed hash of the chain up to and including this row.
    pub hash: Vec<u8>,
}

/// How the actions on accounts themselves begin. Accounts are neither live nor sandbox; these rows are stored
/// as live.
const OF_ACCOUNT: [&str; 2] = ["staff.", "merchant."];

impl AuditRow {
    /// Whether the act happened in the sandbox; `None` for acts that have no mode.
    #[must_use]
    pub fn mode(&self) -> Option<bool> {
        let has_mode = !OF_ACCOUNT.iter().any(|begin| self.action.starts_with(begin));
        has_mode.then_some(self.sandbox)
    }
}

/// The result of [`verify`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuditCheck {
    /// No row is changed, removed or missing.
    Intact {
        /// The number of rows.
        rows: i64,
    },
    /// The chain is broken.
    Broken {
        /// The number of the first row that is missing, changed or inserted.
        seq: i64,
    },
}

/// Appends a row.
///
/// # Errors
/// [`Error::Missing`] for an unknown account.
pub async fn write(tx: &mut Tx, scope: Scope, entry: &Entry<'_>) -> Result<(), Error> {
    // This also locks the chain until the transaction ends.
    let head = fetch!(
        optional,
        tx,
        merchant(scope.merchant_id),
        (i64, Vec<u8>),
        "update audit_heads set seq = seq + 1 where merchant_id = $1 returning seq, hash"
    )?;
    let (seq, previous) = head.ok_or(Error::Missing("merchant"))?;
    let mut row = AuditRow {
        seq,
        sandbox: scope.sandbox,
        at: tx.now(),
        actor: entry.actor.into(),
        action: entry.action.into(),
        subject: entry.subject.into(),
        detail: entry.detail.into(),
        hash: Vec::new(),
    };
    row.hash = chain_hash(tx.keyring(), scope.merchant_id, &previous, &row);
    execute!(
        tx,
        scope,
        "insert into audit (merchant_id, sandbox, seq, at, actor, action, subject, detail, hash)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
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
        merchant(scope.merchant_id),
        "update audit_heads set hash = $2 where merchant_id = $1",
        &row.hash
    )
    .map(|_| ())
}

/// Starts an account's chain.
pub(crate) async fn begin(tx: &mut Tx, merchant_id: Uuid) -> Result<(), Error> {
    let empty: &[u8] = &[];
    const SQL: &str = "insert into audit_heads (merchant_id, seq, hash) values ($1, 0, $2)";
    execute!(tx, merchant(merchant_id), SQL, empty).map(|_| ())
}

pub(crate) fn chain_hash(keyring: &Keyring, merchant_id: Uuid, previous: &[u8], row: &AuditRow) -> Vec<u8> {
    let parts: [&[u8]; 9] = [
        previous,
        merchant_id.as_bytes(),
        &row.seq.to_be_bytes(),
        &[u8::from(row.sandbox)],
        &row.at.to_be_bytes(),
        row.actor.as_bytes(),
        row.action.as_bytes(),
        row.subject.as_bytes(),
        row.detail.as_bytes(),
    ];
    keyring.hash("audit", &parts).to_vec()
}

pub(crate) const PAGE: i64 = 1000;

/// The newest rows in both modes, newest first. `before` is a row number: only older rows are returned.
pub async fn list(
    conn: &mut Conn,
    merchant_id: Uuid,
    before: Option<i64>,
    limit: i64,
) -> Result<Vec<AuditRow>, Error> {
    const SQL: &str = "select seq, sandbox, at, actor, action, subject, detail, hash from audit
               where merchant_id = $1 and seq < $2 order by seq desc limit $3";
    fetch!(
        all,
        conn,
        both_modes(merchant_id, "an account has one audit trail for both modes"),
        AuditRow,
        SQL,
        before.unwrap_or(i64::MAX),
        limit
    )
}

/// Which rows to find. `None` does not restrict.
#[derive(Clone, Copy, Debug, Default)]
pub struct AuditFilter<'a> {
    /// By this actor.
    pub actor: Option<&'a str>,
    /// With this action, or with an action below it (`person` finds `person.viewed`).
    pub action: Option<&'a str>,
    /// On this subject.
    pub subject: Option<&'a str>,
    /// In this mode. Rows without a mode are then excluded.
    pub sandbox: Option<bool>,
    /// Not before this time (ms).
    pub from: Option<i64>,
    /// Before this time (ms).
    pub until: Option<i64>,
    /// With a number below this one.
    pub before: Option<i64>,
}

/// Each literal narrows the search so that the database uses the index of subjects, actors or modes.
macro_rules! select {
    ($narrowed:literal) => {
        concat!(
            "select seq, sandbox, at, actor, action, subject, detail, hash from audit
             where merchant_id = $1 and seq < $2 and at >= $3 and at < $4 ",
            $narrowed,
            "and ($5 or actor = $6) and ($7 or action = $8 or substr(action, 1, length($9)) = $9)
                 and ($10 or subject = $11)
                 and ($12 or sandbox = $13
                     and substr(action, 1, length($14)) <> $14 and substr(action, 1, length($15)) <> $15)
             order by seq desc limit $16"
        )
    };
}

/// The newest rows that match, newest first.
pub async fn find(
    conn: &mut Conn,
    merchant_id: Uuid,
    wanted: AuditFilter<'_>,
    limit: i64,
) -> Result<Vec<AuditRow>, Error> {
    let action = wanted.action.unwrap_or_default();
    let sql = match wanted {
        AuditFilter { subject: Some(_), .. } => checked!(both_modes, select!("and subject = $11 ")),
        AuditFilter { actor: Some(_), .. } => checked!(both_modes, select!("and actor = $6 ")),
        AuditFilter { sandbox: Some(_), .. } => checked!(both_modes, select!("and sandbox = $13 ")),
        _ => checked!(both_modes, select!("")),
    };
    fetch!(
        all,
        conn,
        both_modes(merchant_id, "an account has one audit trail for both modes"),
        AuditRow,
        checked(sql),
        wanted.before.unwrap_or(i64::MAX),
        wanted.from.unwrap_or(0),
        wanted.until.unwrap_or(i64::MAX),
        wanted.actor.is_none(),
        wanted.actor.unwrap_or_default(),
        wanted.action.is_none(),
        action,
        format!("{action}."),
        wanted.subject.is_none(),
        wanted.subject.unwrap_or_default(),
        wanted.sandbox.is_none(),
        wanted.sandbox.unwrap_or_default(),
        OF_ACCOUNT[0],
        OF_ACCOUNT[1],
        limit
    )
}

/// Checks a chain page by page, from its first row to the head that was read at the start.
pub(crate) struct ChainCheck {
    owner: Uuid,
    head: (i64, Vec<u8>),
    /// The number of the last row that was checked.
    pub(crate) seq: i64,
    hash: Vec<u8>,
}

impl ChainCheck {
    /// Starts at the beginning of an owner's chain. `head` is the number and hash of its last row.
    pub(crate) fn to(owner: Uuid, head: (i64, Vec<u8>)) -> ChainCheck {
        ChainCheck {
            owner,
            head,
            seq: 0,
            hash: Vec::new(),
        }
    }

    /// Checks the next [`PAGE`] rows. `Some` is the result; `None` asks for the next page.
    pub(crate) fn follow(&mut self, keyring: &Keyring, page: Vec<AuditRow>) -> Option<AuditCheck> {
        let is_last = (page.len() as i64) < PAGE;
        let broken = |seq| Some(AuditCheck::Broken { seq: seq + 1 });
        for row in page {
            // Rows beyond the head were written after the head was read.
            if self.seq == self.head.0 {
                break;
            }
            if row.seq != self.seq + 1 || row.hash != chain_hash(keyring, self.owner, &self.hash, &row) {
                return broken(self.seq);
            }
            (self.seq, self.hash) = (row.seq, row.hash);
        }
        if self.seq == self.head.0 && self.hash == self.head.1 {
            Some(AuditCheck::Intact { rows: self.seq })
        } else if is_last || self.seq == self.head.0 {
            broken(self.seq)
        } else {
            None
        }
    }
}

/// Checks an account's whole chain.
///
/// # Errors
/// [`Error::Missing`] for an unknown account.
pub async fn verify(conn: &mut Conn, merchant_id: Uuid) -> Result<AuditCheck, Error> {
    let head = fetch!(
        optional,
        conn,
        merchant(merchant_id),
        (i64, Vec<u8>),
        "select seq, hash from audit_heads where merchant_id = $1"
    )?;
    let mut walk = ChainCheck::to(merchant_id, head.ok_or(Error::Missing("merchant"))?);
    loop {
        let page = fetch!(
            all,
            conn,
            both_modes(merchant_id, "an account has one audit trail for both modes"),
            AuditRow,
            "select seq, sandbox, at, actor, action, subject, detail, hash from audit
                   where merchant_id = $1 and seq > $2 order by seq limit $3",
            walk.seq,
            PAGE
        )?;
        if let Some(check) = walk.follow(conn.keyring(), page) {
            return Ok(check);
        }
    }
}
