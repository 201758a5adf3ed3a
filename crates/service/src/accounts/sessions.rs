//! Sessions of the portal while they are used: that somebody is there, and what a form made that its next page shows once.

use store::portal_sessions::{self, Shown};
use store::{Db, Error};
use uuid::Uuid;

/// Notes that a session was used.
pub async fn touch(db: &Db, session_id: Uuid) -> Result<(), Error> {
    store::transaction!(db, |tx| -> Result<(), Error> {
        portal_sessions::touch(tx, session_id).await
    })
}

/// Keeps a text, sealed in the session, in place of what was kept before.
pub async fn keep_shown(db: &Db, staff_id: Uuid, session_id: Uuid, text: &str) -> Result<(), Error> {
    store::transaction!(db, |tx| -> Result<(), Error> {
        portal_sessions::keep_shown(tx, staff_id, session_id, text).await
    })
}

/// Deletes what was kept; whether it was still there, and so whether nobody else has shown it.
pub async fn forget_shown(db: &Db, session_id: Uuid, shown: &Shown) -> Result<bool, Error> {
    store::transaction!(db, |tx| -> Result<bool, Error> {
        portal_sessions::forget_shown(tx, session_id, shown).await
    })
}
