//! Repeats the erasures of a journal on a restored database. The same keys have the same ids in every backup.

use std::collections::BTreeSet;

use service::{erasure, retention};
use store::erasure_journal::KeyId;
use store::{Db, Objects, Scope, attempts, erasures, merchants, people};
use uuid::Uuid;

use crate::error::BackupError;

/// Rows that are read at once.
const PAGE: i64 = 500;
/// The actor in the audit trail.
const ACTOR: &str = "restore";

/// What was erased again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RepeatedErasures {
    /// People.
    pub people: u64,
    /// Attempts, besides those of these people.
    pub attempts: u64,
}

/// Destroys every key in the database whose id is in the journal, with all rows and objects that belong to
/// it. Repeating it finishes what was interrupted.
///
/// # Errors
/// [`BackupError::Store`]; [`BackupError::Erasure`].
pub async fn repeat_erasures(
    db: &Db,
    objects: &Objects,
    journal: &BTreeSet<KeyId>,
) -> Result<RepeatedErasures, BackupError> {
    let failed = |problem: service::problem::Problem| BackupError::Erasure(problem.to_string());
    erasure::index_earlier_rows(db).await?;
    let mut repeated = RepeatedErasures::default();
    let accounts = merchants::ids(&mut db.read().await?).await?;
    for scope in accounts.into_iter().flat_map(both_modes) {
        let mut after = Uuid::nil();
        loop {
            let mut conn = db.read().await?;
            let page = people::ids_after(&mut conn, scope, after, PAGE).await?;
            let Some(last) = page.last() else { break };
            after = *last;
            for facemap in page {
                if !journal.contains(&KeyId::of_facemap(&conn, scope, facemap)) {
                    continue;
                }
                // A merge before the backup may have given the person keys that have no entry of their own.
                let keys = erasures::keys_of(&mut conn, scope, facemap).await?;
                let erased = erasure::destroy_person(db, scope, facemap, &keys, ACTOR).await;
                repeated.people += u64::from(erased.map_err(failed)?.is_some());
            }
        }
        let mut after = (i64::MIN, i64::MIN);
        loop {
            let mut conn = db.read().await?;
            let page = attempts::made_before(&mut conn, scope, i64::MAX, after, PAGE).await?;
            let Some(last) = page.last() else { break };
            after = (last.created_at, last.log_id);
            for attempt in page {
                if journal.contains(&KeyId::of_attempt(&conn, scope, attempt.id)) {
                    let removed = retention::erase_attempt(db, scope, &attempt, ACTOR).await;
                    repeated.attempts += u64::from(removed.map_err(failed)?);
                }
            }
        }
    }
    db.truncate_wal().await?;
    erasure::remove_objects_left(db, objects).await?;
    Ok(repeated)
}

fn both_modes(merchant_id: Uuid) -> [Scope; 2] {
    [false, true].map(|sandbox| Scope { merchant_id, sandbox })
}
