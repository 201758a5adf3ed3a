//! The reviewers' conclusions about each screening hit of an attempt. Rows are only added, and the newest row
//! of a hit is in force.
//!
//! Everything that describes the person is sealed under the attempt's key and is erased with the attempt.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::attempts::Attempt;
use crate::keyring::SealContext;
use crate::sql::{execute, fetch};
use crate::{Conn, Error, Scope, Tx};

/// A reviewer's conclusion about one hit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HitDisposition {
    /// The hit's id, or its lists and id, as the server composes it.
    pub hit: String,
    /// The conclusion.
    pub disposition: String,
    /// Why.
    pub reason: String,
    /// The member of staff (`staff:<id>`), or `command line`.
    pub actor: String,
    /// When (ms).
    pub at: i64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SealedDisposition {
    hit: String,
    disposition: String,
    reason: String,
}

fn seal_context(scope: Scope, id: &Uuid) -> SealContext<'_> {
    SealContext {
        merchant_id: scope.merchant_id,
        what: "hit_dispositions.disposition",
        id: id.as_bytes(),
    }
}

/// Adds a disposition. It replaces earlier ones of the same hit.
pub async fn add(
    tx: &mut Tx,
    scope: Scope,
    attempt: &Attempt,
    (hit, disposition, reason): (&str, &str, &str),
    actor: &str,
) -> Result<(), Error> {
    let id = Uuid::now_v7();
    let plain = serde_json::json!({"hit": hit, "disposition": disposition, "reason": reason}).to_string();
    let sealed = attempt.key.seal(&seal_context(scope, &id), plain.as_bytes());
    let now = tx.now();
    execute!(
        tx,
        scope,
        "insert into hit_dispositions (merchant_id, sandbox, log_id, id, actor, disposition_sealed, at)
         values ($1, $2, $3, $4, $5, $6, $7)",
        attempt.log_id,
        id,
        actor,
        &sealed,
        now
    )
    .map(|_| ())
}

/// All dispositions of an attempt, oldest first. The last one of each hit is in force.
///
/// # Errors
/// [`Error::Sealed`], also for content that cannot be parsed.
pub async fn of_attempt(
    conn: &mut Conn,
    scope: Scope,
    attempt: &Attempt,
) -> Result<Vec<HitDisposition>, Error> {
    const SQL: &str = "select id, actor, disposition_sealed, at from hit_dispositions
               where merchant_id = $1 and sandbox = $2 and log_id = $3 order by at, id";
    type Row = (Uuid, String, Vec<u8>, i64);
    let rows = fetch!(all, conn, scope, Row, SQL, attempt.log_id)?;
    let open = |(id, actor, sealed, at): Row| {
        let text = attempt.key.open_text(&seal_context(scope, &id), &sealed)?;
        let SealedDisposition {
            hit,
            disposition,
            reason,
        } = serde_json::from_str(&text).map_err(|_| Error::Sealed)?;
        Ok(HitDisposition {
            hit,
            disposition,
            reason,
            actor,
            at,
        })
    };
    rows.into_iter().map(open).collect()
}
