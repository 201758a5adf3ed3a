//! Erases a person: the key, faces, registrations, attempts, names, sessions, links, events, monitoring
//! queries with the person's label, and the files. Only the facemap id remains, in the ledger and the audit
//! trail.
//!
//! **Order.** First the ids of the keys go into the erasure journal in the object store. Then one transaction
//! destroys the keys and deletes the rows. Then SQLite's write-ahead log is emptied and the files are
//! deleted. Only then is the erasure reported. If the journal cannot be written, nothing is erased. If a
//! later step fails, the request fails too, and repeating it finishes the rest; housekeeping does the same at
//! least every minute.

use std::collections::BTreeSet;

use store::audit::{self, Entry};
use store::erasure_journal::KeyId;
use store::erasures::ObjectRemoval;
use store::{Db, Objects, Scope, earlier_rows, erasures, faces, people};
use tracing::Instrument as _;
use uuid::Uuid;

use super::{App, Shared};
use crate::problem::Problem;

/// How often an erasure starts again because a merge gave the person more keys in the meantime.
const TRIES: usize = 5;
/// Objects and rows that one step handles.
const PAGE: i64 = 500;

/// The result of an erasure.
pub struct Erased {
    /// The person's facemap, not an alias.
    pub facemap_id: Uuid,
    /// The number of deleted attempts.
    pub attempts: usize,
}

/// Erases the person behind a facemap or an alias. When it returns, none of the person's data is left in the
/// database and the object store. Repeating an erasure finishes what an earlier request could not.
///
/// # Errors
/// 404 for a person whom this account never had; 503 when a step failed: repeat the request.
pub async fn erase(
    db: &Db,
    objects: &Objects,
    scope: Scope,
    facemap: Uuid,
    actor: &str,
) -> Result<Erased, Problem> {
    index_earlier_rows(db).await?;
    for _ in 0..TRIES {
        let mut conn = db.read().await?;
        let Some(person) = people::resolve(&mut conn, scope, facemap).await? else {
            if !erasures::is_erased(&mut conn, scope, facemap).await? {
                return Err(Problem::not_found("No such person in this account"));
            }
            drop(conn);
            finish(db, objects, scope, facemap).await?;
            return Ok(Erased {
                facemap_id: facemap,
                attempts: 0,
            });
        };
        let keys = erasures::keys_of(&mut conn, scope, person.facemap_id).await?;
        let now = conn.now();
        drop(conn);
        objects
            .append_to_journal(&db.installation_id(), now, keys.clone())
            .await
            .map_err(not_begun)?;
        if let Some(erased) = destroy_person(db, scope, facemap, &keys, actor).await? {
            finish(db, objects, scope, erased.facemap_id).await?;
            return Ok(erased);
        }
    }
    Err(Problem::unavailable(
        "The person was changed while it was being erased; please repeat the request",
    ))
}

/// [`erase`] in a separate task, so that an erasure that has begun completes even if the client disconnects.
///
/// # Errors
/// As [`erase`].
pub async fn in_background(
    app: Shared,
    scope: Scope,
    facemap_id: Uuid,
    actor: String,
) -> Result<Erased, Problem> {
    let erasing = {
        let app = app.clone();
        async move { erase(&app.db, &app.objects, scope, facemap_id, &actor).await }
    };
    app.recordings
        .spawn(erasing.in_current_span())
        .await
        .map_err(|_| Problem::internal("the erasure panicked; the log says where"))?
}

fn not_begun(error: store::Error) -> Problem {
    Problem::unavailable(
        "Nothing was erased, because the object store does not accept the erasure journal; please repeat the request",
    )
    .because(error)
}

/// Destroys the keys and deletes the rows, unless the journal lacks one of the keys.
///
/// # Errors
/// Store errors.
pub async fn destroy_person(
    db: &Db,
    scope: Scope,
    facemap: Uuid,
    journaled: &BTreeSet<KeyId>,
    actor: &str,
) -> Result<Option<Erased>, Problem> {
    store::transaction!(db, |tx| -> Result<Option<Erased>, Problem> {
        faces::lock(tx, scope).await?;
        let Some(person) = people::resolve(tx, scope, facemap).await? else {
            return Ok(None);
        };
        let facemap_id = person.facemap_id;
        if !erasures::keys_of(tx, scope, facemap_id)
            .await?
            .is_subset(journaled)
        {
            return Ok(None);
        }
        let attempts = people::erase(tx, scope, facemap_id).await?.len();
        let entry = Entry {
            actor,
            action: "person.erased",
            subject: &facemap_id.to_string(),
            detail: "{}",
        };
        audit::write(tx, scope, &entry).await?;
        Ok(Some(Erased { facemap_id, attempts }))
    })
}

/// Empties the write-ahead log, where the wrapped keys were, and deletes the files.
async fn finish(db: &Db, objects: &Objects, scope: Scope, facemap_id: Uuid) -> Result<(), Problem> {
    let unfinished = |error: store::Error| {
        Problem::unavailable(format!(
            "The person {facemap_id} is erased and can no longer be read, but encrypted files or the database's log still have to be \
             deleted; please repeat the erasure to finish it"
        ))
        .because(error)
    };
    // The log comes first: while files are left, a repetition finds the erasure by its label too.
    db.truncate_wal().await.map_err(unfinished)?;
    let left = erasures::object_removals_of(&mut db.read().await?, scope, facemap_id).await?;
    remove_objects(db, objects, &left).await.map_err(unfinished)
}

/// Deletes the objects of deleted attempts. If one deletion fails, the others still run.
async fn remove_objects(db: &Db, objects: &Objects, left: &[ObjectRemoval]) -> Result<(), store::Error> {
    let (mut removed, mut failed) = (Vec::new(), None);
    for removal in left {
        match objects.delete_attempt(removal.scope(), removal.attempt_id).await {
            Ok(_) => removed.push(removal),
            Err(error) => failed = Some(error),
        }
    }
    store::transaction!(db, |tx| -> Result<(), store::Error> {
        for removal in &removed {
            erasures::finish_object_removal(tx, removal).await?;
        }
        Ok(())
    })?;
    failed.map_or(Ok(()), Err)
}

/// Deletes the objects of all deleted attempts, and returns the number of those attempts.
///
/// # Errors
/// [`store::Error::Objects`] if some could not be deleted.
pub async fn remove_objects_left(db: &Db, objects: &Objects) -> Result<u64, store::Error> {
    let mut removed = 0;
    loop {
        let left = erasures::list_object_removals(&mut db.read().await?, PAGE).await?;
        if left.is_empty() {
            return Ok(removed);
        }
        remove_objects(db, objects, &left).await?;
        removed += left.len() as u64;
    }
}

/// Indexes the rows of earlier versions, so that erasures find them.
///
/// # Errors
/// Store errors.
pub async fn index_earlier_rows(db: &Db) -> Result<(), store::Error> {
    while earlier_rows::any(&mut db.read().await?).await? {
        store::transaction!(db, |tx| -> Result<usize, store::Error> {
            earlier_rows::index(tx, PAGE).await
        })?;
    }
    Ok(())
}

/// Finishes what earlier versions, failed erasures and ended processes left undone. Returns the number of
/// attempts whose objects it deleted.
///
/// # Errors
/// Store errors.
pub async fn finish_earlier(app: &App) -> Result<u64, store::Error> {
    index_earlier_rows(&app.db).await?;
    // The log contains destroyed keys. It is emptied even while the object store is down.
    let emptied = empty_log(app).await;
    journal_earlier(app).await?;
    let removed = remove_objects_left(&app.db, &app.objects).await?;
    emptied?;
    Ok(removed)
}

/// Empties the database's write-ahead log if it may still contain destroyed keys.
///
/// # Errors
/// [`store::Error::Unavailable`] while readers use the log: call it again.
pub async fn empty_log(app: &App) -> Result<(), store::Error> {
    let newest = erasures::newest_at(&mut app.db.read().await?).await?;
    if app.background.log_holds_keys(newest) {
        app.db.truncate_wal().await?;
        app.background.note_log_emptied(newest);
    }
    Ok(())
}

/// Writes the erasures of earlier versions to the journal, so that restoring an old backup can repeat them
/// too.
async fn journal_earlier(app: &App) -> Result<(), store::Error> {
    loop {
        let mut conn = app.db.read().await?;
        let now = conn.now();
        let missing = erasures::not_journaled(&mut conn, PAGE).await?;
        if missing.is_empty() {
            return Ok(());
        }
        let keys = missing
            .iter()
            .map(|erasure| KeyId::of_facemap(&conn, erasure.scope(), erasure.facemap_id))
            .collect();
        drop(conn);
        let installation = app.db.installation_id();
        app.objects.append_to_journal(&installation, now, keys).await?;
        store::transaction!(app.db, |tx| -> Result<(), store::Error> {
            for erasure in &missing {
                erasures::mark_journaled(tx, erasure).await?;
            }
            Ok(())
        })?;
    }
}
