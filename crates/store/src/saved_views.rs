//! Saved views: filters of the review queue that a member of staff stores under a name. This module does not
//! interpret the query.

use uuid::Uuid;

use crate::sql::{execute, fetch};
use crate::{Conn, Error, Tx};

/// A saved filter.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct SavedView {
    /// Its name, unique per member and account.
    pub name: String,
    /// The query string of the page's address.
    pub query: String,
}

/// Saves a view and replaces an earlier one with that name.
///
/// # Errors
/// [`Error::LimitReached`] if the member has `limit` other views.
pub async fn put(
    tx: &mut Tx,
    merchant_id: Uuid,
    staff_id: Uuid,
    view: &SavedView,
    limit: i64,
) -> Result<(), Error> {
    const SQL: &str =
        "select count(*) from saved_views where merchant_id = $1 and staff_id = $2 and name <> $3";
    let (others,) = fetch!(one, tx, merchant(merchant_id), (i64,), SQL, staff_id, &view.name)?;
    if others >= limit {
        return Err(Error::LimitReached);
    }
    let now = tx.now();
    execute!(
        tx,
        merchant(merchant_id),
        "insert into saved_views (merchant_id, staff_id, name, query, created_at) values ($1, $2, $3, $4, $5)
         on conflict (merchant_id, staff_id, name) do update set query = excluded.query",
        staff_id,
        &view.name,
        &view.query,
        now
    )
    .map(|_| ())
}

/// Deletes a view.
pub async fn remove(tx: &mut Tx, merchant_id: Uuid, staff_id: Uuid, name: &str) -> Result<(), Error> {
    const SQL: &str = "delete from saved_views where merchant_id = $1 and staff_id = $2 and name = $3";
    execute!(tx, merchant(merchant_id), SQL, staff_id, name).map(|_| ())
}

/// A member's views, by name.
pub async fn list(conn: &mut Conn, merchant_id: Uuid, staff_id: Uuid) -> Result<Vec<SavedView>, Error> {
    const SQL: &str =
        "select name, query from saved_views where merchant_id = $1 and staff_id = $2 order by name";
    fetch!(all, conn, merchant(merchant_id), SavedView, SQL, staff_id)
}
