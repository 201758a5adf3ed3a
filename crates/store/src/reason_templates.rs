//! Reasons that an account's reviewers reuse. They describe documents, never a person.

use reference::status::Decision;
use uuid::Uuid;

use crate::sql::{execute, fetch};
use crate::text_enum::Word;
use crate::{Conn, Error, Tx};

/// A reusable reason.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct ReasonTemplate {
    /// Its id.
    pub id: Uuid,
    /// The decision that it is a reason for.
    #[sqlx(try_from = "Word<Decision>")]
    pub decision: Decision,
    /// The text.
    pub body: String,
}

/// Adds a reason.
///
/// # Errors
/// [`Error::LimitReached`] if the account has `limit` reasons.
pub async fn add(
    tx: &mut Tx,
    merchant_id: Uuid,
    decision: Decision,
    body: &str,
    limit: i64,
) -> Result<Uuid, Error> {
    let (count,) = fetch!(
        one,
        tx,
        merchant(merchant_id),
        (i64,),
        "select count(*) from reason_templates where merchant_id = $1"
    )?;
    if count >= limit {
        return Err(Error::LimitReached);
    }
    let (id, now) = (Uuid::now_v7(), tx.now());
    execute!(
        tx,
        merchant(merchant_id),
        "insert into reason_templates (merchant_id, id, decision, body, created_at) values ($1, $2, $3, $4, $5)",
        id,
        decision.as_str(),
        body,
        now
    )?;
    Ok(id)
}

/// Removes a reason; returns whether there was one.
pub async fn remove(tx: &mut Tx, merchant_id: Uuid, id: Uuid) -> Result<bool, Error> {
    const SQL: &str = "delete from reason_templates where merchant_id = $1 and id = $2";
    Ok(execute!(tx, merchant(merchant_id), SQL, id)? > 0)
}

/// An account's reasons, oldest first.
pub async fn list(conn: &mut Conn, merchant_id: Uuid) -> Result<Vec<ReasonTemplate>, Error> {
    const SQL: &str =
        "select id, decision, body from reason_templates where merchant_id = $1 order by created_at, id";
    fetch!(all, conn, merchant(merchant_id), ReasonTemplate, SQL)
}
