//! The audit trail: append-only rows, written in the transaction that they tell of and chained per merchant by a keyed
//! hash, so that changing, removing or cutting off rows shows. It holds no personal data.

use uuid::Uuid;

use crate::keyring::Keyring;
use crate::sql::{checked, execute, fetch};
use crate::{Conn, Error, Scope, Tx};

/// What happened.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    /// Who did it: an API key, a member of staff, `command line`.
    pub actor: &'a str,
    /// What was done, for instance `group.created`.
    pub action: &'a str,
    /// To what: an id.
    pub subject: &'a str,
    /// More, as JSON.
    pub detail: &'a str,
}

/// A row of the trail.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct AuditRow {
    /// Its place in the merchant's chain, from 1.
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
    /// The chain up to and with this row.
    pub hash: Vec<u8>,
}

/// Rows about accounts themselves, which are neither live nor sandbox, are written as live ones; their actions begin so.
const OF_ACCOUNT: [&str; 2] = ["staff.", "merchant."];

impl AuditRow {
    /// Whether what it tells of happened in the sandbox; `None` for what has no mode.
    #[must_use]
    pub fn mode(&self) -> Option<bool> {
        let has_mode = !OF_ACCOUNT.iter().any(|begin| self.action.starts_with(begin));
        has_mode.then_some(self.sandbox)
    }
}

/// What [`verify`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuditCheck {
    /// Every row is as it was written, and none is missing.
    Intact {
        /// How many there are.
        rows: i64,
    },
    /// From this place on the chain does not hold.
    Broken {
        /// The first place where a row is missing, changed or one too many.
        seq: i64,
    },
}

/// Appends a row.
///
/// # Errors
/// [`Error::Missing`] for an unknown account.
pub async fn write(tx: &mut Tx, scope: Scope, entry: &Entry<'_>) -> Result<(), Error> {
    // Also makes whoever writes next to this chain wait.
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
    row.hash = link(tx.keyring(), scope.merchant_id, &previous, &row);
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

/// Begins an account's chain.
pub(crate) async fn begin(tx: &mut Tx, merchant_id: Uuid) -> Result<(), Error> {
    let empty: &[u8] = &[];
    const SQL: &str = "insert into audit_heads (merchant_id, seq, hash) values ($1, 0, $2)";
    execute!(tx, merchant(merchant_id), SQL, empty).map(|_| ())
}

pub(crate) fn link(keyring: &Keyring, merchant_id: Uuid, previous: &[u8], row: &AuditRow) -> Vec<u8> {
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

/// The newest rows before a place (or of all), newest first; both modes.
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

/// Which rows to find; `None` asks for nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wanted<'a> {
    /// By this actor.
    pub actor: Option<&'a str>,
    /// Of this action, or of all whose name begins so (`person` finds `person.viewed`).
    pub action: Option<&'a str>,
    /// On this subject.
    pub subject: Option<&'a str>,
    /// Of this mode; what has none is then not found.
    pub sandbox: Option<bool>,
    /// Not before this time (ms).
    pub from: Option<i64>,
    /// Before this time (ms).
    pub until: Option<i64>,
    /// Older than the row at this place.
    pub before: Option<i64>,
}

/// The literals let the database use the indexes of subjects, actors and modes.
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

/// The newest rows that are wanted, newest first; both modes unless one is wanted.
pub async fn find(
    conn: &mut Conn,
    merchant_id: Uuid,
    wanted: Wanted<'_>,
    limit: i64,
) -> Result<Vec<AuditRow>, Error> {
    let action = wanted.action.unwrap_or_default();
    let sql = match wanted {
        Wanted { subject: Some(_), .. } => checked!(both_modes, select!("and subject = $11 ")),
        Wanted { actor: Some(_), .. } => checked!(both_modes, select!("and actor = $6 ")),
        Wanted { sandbox: Some(_), .. } => checked!(both_modes, select!("and sandbox = $13 ")),
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

/// A chain that is followed from its first row to the head that was read before.
pub(crate) struct Walk {
    owner: Uuid,
    head: (i64, Vec<u8>),
    /// The row that was reached.
    pub(crate) seq: i64,
    hash: Vec<u8>,
}

impl Walk {
    /// From the beginning of an owner's chain to its head.
    pub(crate) fn to(owner: Uuid, head: (i64, Vec<u8>)) -> Walk {
        Walk {
            owner,
            head,
            seq: 0,
            hash: Vec::new(),
        }
    }

    /// Follows the next [`PAGE`] rows; what was found, when there are no more to follow.
    pub(crate) fn follow(&mut self, keyring: &Keyring, page: Vec<AuditRow>) -> Option<AuditCheck> {
        let is_last = (page.len() as i64) < PAGE;
        let broken = |seq| Some(AuditCheck::Broken { seq: seq + 1 });
        for row in page {
            // Rows beyond the head were written after it was read.
            if self.seq == self.head.0 {
                break;
            }
            if row.seq != self.seq + 1 || row.hash != link(keyring, self.owner, &self.hash, &row) {
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
    let mut walk = Walk::to(merchant_id, head.ok_or(Error::Missing("merchant"))?);
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
