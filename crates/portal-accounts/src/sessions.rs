//! Portal sessions in use: when they were last used, and a text that a form leaves for its next page to show
//! once.

use store::portal_sessions::{self, PageResult};
use store::{Db, Error};
use uuid::Uuid;

/// Notes that a session was used.
pub async fn touch(db: &Db, session_id: Uuid) -> Result<(), Error> {
    store::transaction!(db, |tx| -> Result<(), Error> {
        portal_sessions::touch(tx, session_id).await
    })
}

/// Stores a text sealed in the session. It replaces an earlier one.
pub async fn store_page_result(db: &Db, staff_id: Uuid, session_id: Uuid, text: &str) -> Result<(), Error> {
    store::transaction!(db, |tx| -> Result<(), Error> {
        portal_sessions::store_page_result(tx, staff_id, session_id, text).await
    })
}

/// Deletes the stored text. Returns whether it was still there, so that only one request shows it.
pub async fn take_page_result(db: &Db, session_id: Uuid, shown: &PageResult) -> Result<bool, Error> {
    store::transaction!(db, |tx| -> Result<bool, Error> {
        portal_sessions::take_page_result(tx, session_id, shown).await
    })
}
