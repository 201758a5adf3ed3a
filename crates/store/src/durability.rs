//! Whether the database keeps acknowledged writes through a power cut. SQLite's settings are this program's own;
//! PostgreSQL's belong to its administrator. It changes none.

use crate::sql::fetch;
use crate::{Db, Error};

/// The settings of PostgreSQL without which a power cut loses acknowledged writes or damages pages, where this
/// connection has them off. Every other value of `synchronous_commit` waits for the disk.
///
/// # Errors
/// [`Error::Unavailable`] or [`Error::Database`].
pub async fn missing_settings(db: &Db) -> Result<Vec<String>, Error> {
    if !db.is_postgres() {
        return Ok(Vec::new());
    }
    const SQL: &str = "select name from pg_settings
         where name in ('fsync', 'full_page_writes', 'synchronous_commit') and setting = 'off' order by name";
    let rows = fetch!(all, &mut db.read().await?, installation, (String,), SQL)?;
    Ok(rows.into_iter().map(|(name,)| name).collect())
}
