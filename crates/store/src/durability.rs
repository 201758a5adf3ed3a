//! Checks whether acknowledged writes survive a power cut. This program sets SQLite's options itself;
//! PostgreSQL's belong to its administrator. This module changes no setting.

use crate::sql::fetch;
use crate::{Db, Error};

/// The PostgreSQL settings that are off on this connection, so that a power cut would lose acknowledged
/// writes or damage pages. Every value of `synchronous_commit` except `off` waits for the disk.
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
