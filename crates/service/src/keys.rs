//! API keys: their owners create, restrict, rotate and revoke them. Secrets are shown only once;
//! `store::credentials` stores them.

use store::audit::Entry;
use store::credentials::{self, Credential, NewCredential};
use store::staff::{self, Membership};
use store::{Error, Scope, Tx};

use super::App;
use super::operations::record_for_account;
use crate::caller::Caller;
use crate::key_permissions::KeyPermissions;
use crate::key_restrictions::KeyRestrictions;
use crate::problem::{Kind, Problem};

/// How long a key's previous secret still works after a rotation, in hours. Use 0 if the secret may have
/// been stolen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GraceHours(u16);

impl GraceHours {
    /// The longest time: a week.
    pub const MOST: u16 = 7 * 24;

    /// This many hours; `None` if it is more than a week.
    pub fn new(hours: u16) -> Option<Self> {
        (hours <= Self::MOST).then_some(GraceHours(hours))
    }

    /// The number of hours.
    pub fn get(self) -> u16 {
        self.0
    }

    pub(crate) fn ms(self) -> i64 {
        i64::from(self.0) * 60 * 60 * 1_000
    }
}

impl Default for GraceHours {
    fn default() -> Self {
        GraceHours(24)
    }
}

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

/// Gives a key a new secret. The previous one works for the grace period.
pub async fn rotate(
    app: &App,
    caller: &Caller,
    key: &str,
    grace: GraceHours,
) -> Result<NewCredential, Problem> {
    owned(app, caller, key).await?;
    let detail = rotation_detail(grace);
    store::transaction!(app.db, |tx| -> Result<NewCredential, Problem> {
        let made = credentials::rotate(tx, caller.scope.merchant_id, key, grace.ms())
            .await
            .map_err(gone)?;
        let entry = Entry {
            detail: &detail,
            ..caller.audit_entry("key.rotated", key)
        };
        record_for_account(tx, caller.scope, &entry).await?;
        Ok(made)
    })
}

/// The detail of a rotation in the audit trail.
pub(crate) fn rotation_detail(grace: GraceHours) -> String {
    serde_json::json!({"graceHours": grace.get()}).to_string()
}

/// Sets what a key may do. It takes effect with the next request, on every node.
pub async fn restrict(
    app: &App,
    caller: &Caller,
    key: &str,
    restrictions: &KeyRestrictions,
) -> Result<(), Problem> {
    owned(app, caller, key).await?;
    store::transaction!(app.db, |tx| -> Result<(), Problem> {
        set_restrictions(tx, caller.scope, &caller.key, key, restrictions).await
    })
}

/// Sets a key's restrictions on behalf of any actor. 404 if the key was revoked.
pub(crate) async fn set_restrictions(
    tx: &mut Tx,
    scope: Scope,
    actor: &str,
    key: &str,
    restrictions: &KeyRestrictions,
) -> Result<(), Problem> {
    let stored = restrictions.to_json();
    if !credentials::set_restrictions(tx, scope.merchant_id, key, &stored).await? {
        return Err(missing());
    }
    let entry = Entry {
        actor,
        action: "key.restricted",
        subject: key,
        detail: &stored,
    };
    Ok(record_for_account(tx, scope, &entry).await?)
}

/// Sets what a key may do to people. It takes effect with the next request, on every node.
pub async fn permit(
    app: &App,
    caller: &Caller,
    key: &str,
    permissions: &KeyPermissions,
) -> Result<(), Problem> {
    owned(app, caller, key).await?;
    let stored = permissions.to_json();
    store::transaction!(app.db, |tx| -> Result<(), Problem> {
        if !credentials::set_permissions(tx, caller.scope.merchant_id, key, &stored).await? {
            return Err(missing());
        }
        let entry = Entry {
            detail: &stored,
            ..caller.audit_entry("key.permitted", key)
        };
        Ok(record_for_account(tx, caller.scope, &entry).await?)
    })
}

/// The active members of the account, whom a key may name if their role permits its acts.
pub async fn candidates(app: &App, caller: &Caller) -> Result<Vec<Membership>, Problem> {
    let mut conn = app.db.read().await?;
    let mut members = staff::of_merchant(&mut conn, caller.scope.merchant_id).await?;
    members.retain(Membership::is_active);
    Ok(members)
}

/// A key of the account's mode that still works.
///
/// # Errors
/// 404.
pub async fn active(app: &App, caller: &Caller, key: &str) -> Result<Credential, Problem> {
    let known = list(app, caller).await?.into_iter();
    let mut active = known.filter(|each| each.revoked_at.is_none());
    active.find(|each| each.key == key).ok_or_else(missing)
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
