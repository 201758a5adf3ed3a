//! Suppressions: listings that, according to a reviewer, do not mean a certain person of an account. This
//! module does not screen.

use uuid::Uuid;

use crate::sql::{execute, fetch};
use crate::{Conn, Error, Scope, Tx};

/// A listing that does not mean a person.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct Suppression {
    /// The name of the list.
    pub list: String,
    /// The listing's id in the list.
    pub entity_id: String,
    /// The score of the inspected hit in ten-thousandths. A stronger hit needs another review.
    pub score: i64,
    /// The member of staff who suppressed it.
    pub staff_id: Uuid,
    /// The reason as a code of the portal, without personal data.
    pub reason: String,
    /// When it was suppressed (ms).
    pub at: i64,
    /// The second person who confirmed it; `None` if one person decided alone.
    pub confirmed_by: Option<Uuid>,
    /// Whether the inspected hit flagged the person.
    pub matched: bool,
}

/// Stores that a listing does not mean a person, and replaces an earlier suppression.
///
/// # Errors
/// [`Error::Database`] if there is no such person.
pub async fn put(
    tx: &mut Tx,
    scope: Scope,
    facemap_id: Uuid,
    suppression: &Suppression,
) -> Result<(), Error> {
    execute!(
        tx,
        scope,
        "insert into suppressions (merchant_id, sandbox, facemap_id, list, entity_id, score, staff_id, reason, at,
                                   confirmed_by, matched)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
         on conflict (merchant_id, sandbox, facemap_id, list, entity_id) do update set score = excluded.score,
             staff_id = excluded.staff_id, reason = excluded.reason, at = excluded.at,
             confirmed_by = excluded.confirmed_by, matched = excluded.matched",
        facemap_id,
        &suppression.list,
        &suppression.entity_id,
        suppression.score,
        suppression.staff_id,
        &suppression.reason,
        suppression.at,
        suppression.confirmed_by,
        suppression.matched,
    )
    .map(|_| ())
}

/// Removes a suppression; returns whether there was one.
pub async fn remove(
    tx: &mut Tx,
    scope: Scope,
    facemap_id: Uuid,
    list: &str,
    entity_id: &str,
) -> Result<bool, Error> {
    const SQL: &str = "delete from suppressions
               where merchant_id = $1 and sandbox = $2 and facemap_id = $3 and list = $4 and entity_id = $5";
    let removed = execute!(tx, scope, SQL, facemap_id, list, entity_id)?;
    Ok(removed > 0)
}

/// A person's suppressions, newest first.
pub async fn of_person(conn: &mut Conn, scope: Scope, facemap_id: Uuid) -> Result<Vec<Suppression>, Error> {
    const SQL: &str = "select list, entity_id, score, staff_id, reason, at, confirmed_by, matched
               from suppressions
               where merchant_id = $1 and sandbox = $2 and facemap_id = $3 order by at desc, list, entity_id";
    fetch!(all, conn, scope, Suppression, SQL, facemap_id)
}

/// Copies a facemap's suppressions to another facemap, whose own ones take precedence.
pub(crate) async fn move_to(tx: &mut Tx, scope: Scope, from: Uuid, into: Uuid) -> Result<(), Error> {
    const SQL: &str = "insert into suppressions (merchant_id, sandbox, facemap_id, list, entity_id, score, staff_id, reason, at,
                                         confirmed_by, matched)
               select merchant_id, sandbox, $4, list, entity_id, score, staff_id, reason, at, confirmed_by, matched
               from suppressions
               where merchant_id = $1 and sandbox = $2 and facemap_id = $3 on conflict do nothing";
    execute!(tx, scope, SQL, from, into).map(|_| ())
}
