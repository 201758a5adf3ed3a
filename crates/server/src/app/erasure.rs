//! Erasing a person: the key, and with it the meaning of every copy; faces, registrations, attempts, names, sessions; the files. The
//! ledger and the audit trail keep that it happened, under the facemap's id alone.

use store::audit::{self, Entry};
use store::{Db, Objects, Scope, people};
use uuid::Uuid;

use crate::error::Problem;

/// Who was erased.
pub struct Erased {
    /// The person, not an alias.
    pub facemap_id: Uuid,
    /// How many attempts went.
    pub attempts: usize,
}

/// Erases the person behind a facemap or an alias of one. When it returns, nothing of the person can be read any more; files that
/// could not be deleted are unreadable, and swept later.
pub async fn erase(
    db: &Db,
    objects: &Objects,
    scope: Scope,
    facemap: Uuid,
    actor: &str,
) -> Result<Erased, Problem> {
    let (facemap_id, attempts) = store::transaction!(db, |tx| -> Result<(Uuid, Vec<Uuid>), Problem> {
        let person = people::resolve(tx, scope, facemap)
            .await?
            .ok_or_else(|| Problem::not_found("No such person in this account"))?;
        let attempts = people::erase(tx, scope, person.facemap_id).await?;
        let entry = Entry {
            actor,
            action: "person.erased",
            subject: &person.facemap_id.to_string(),
            detail: "{}",
        };
        audit::write(tx, scope, &entry).await?;
        Ok((person.facemap_id, attempts))
    })?;
    for attempt_id in &attempts {
        objects.delete_attempt(scope, *attempt_id).await?;
    }
    Ok(Erased {
        facemap_id,
        attempts: attempts.len(),
    })
}
