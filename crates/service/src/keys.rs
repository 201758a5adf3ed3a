//! API keys: their owners create, rotate and revoke them. Secrets are shown only once; `store::credentials`
//! stores them.

use store::Error;
use store::credentials::{self, Credential, NewCredential};

use super::App;
use super::operations::record_for_account;
use crate::caller::Caller;
use crate::problem::{Kind, Problem};

/// How long a key's previous secret still works after a rotation.
pub const OVERLAP_MS: i64 = 24 * 60 * 60 * 1_000;
/// The maximum number of working keys per mode.
const MAX_KEYS: usize = 20;

/// The keys of the account's mode: the working ones, newest first, then the revoked ones.
pub async fn list(app: &App, caller: &Caller) -> Result<Vec<Credential>, Problem> {
    let mut keys = credentials::list(&mut app.db.read().await?, caller.scope.merchant_id).await?;
    keys.retain(|key| key.sandbox == caller.scope.sandbox);
    keys.sort_by_key(|key| key.revoked_at.is_some());
    Ok(keys)
}

/// Creates a key.
pub async fn create(app: &App, caller: &Caller) -> Result<NewCredential, Problem> {
    let scope = caller.scope;
    store::transaction!(app.db, |tx| -> Result<NewCredential, Problem> {
        let known = credentials::list(tx, scope.merchant_id).await?;
        let working = known
            .iter()
            .filter(|key| key.sandbox == scope.sandbox && key.revoked_at.is_none());
        if working.count() >= MAX_KEYS {
            let text = format!("There are {MAX_KEYS} keys already. Revoke one that is no longer used");
            return Err(Problem::new(Kind::Forbidden, text));
        }
        let made = credentials::create(tx, scope.merchant_id, scope.sandbox).await?;
        record_for_account(tx, scope, &caller.audit_entry("key.created", &made.key)).await?;
        Ok(made)
    })
}

/// Gives a key a new secret. The previous one works for another [`OVERLAP_MS`].
pub async fn rotate(app: &App, caller: &Caller, key: &str) -> Result<NewCredential, Problem> {
    owned(app, caller, key).await?;
    store::transaction!(app.db, |tx| -> Result<NewCredential, Problem> {
        let made = credentials::rotate(tx, caller.scope.merchant_id, key, OVERLAP_MS)
            .await
            .map_err(gone)?;
        record_for_account(tx, caller.scope, &caller.audit_entry("key.rotated", key)).await?;
        Ok(made)
    })
}

/// Revokes a key at once.
pub async fn revoke(app: &App, caller: &Caller, key: &str) -> Result<(), Problem> {
    owned(app, caller, key).await?;
    store::transaction!(app.db, |tx| -> Result<(), Problem> {
        if credentials::revoke(tx, caller.scope.merchant_id, key).await? {
            record_for_account(tx, caller.scope, &caller.audit_entry("key.revoked", key)).await?;
        }
        Ok(())
    })
}

/// Refuses keys of other accounts, and of the account's other mode.
async fn owned(app: &App, caller: &Caller, key: &str) -> Result<(), Problem> {
    let known = list(app, caller).await?;
    match known.iter().any(|each| each.key == key) {
        true => Ok(()),
        false => Err(missing()),
    }
}

fn gone(error: Error) -> Problem {
    match error {
        Error::Missing(_) => missing(),
        error => error.into(),
    }
}

fn missing() -> Problem {
    Problem::not_found("No such API key")
}
