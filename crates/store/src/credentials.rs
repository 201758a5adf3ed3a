//! API keys and their secrets: creation, rotation, revocation and authentication. A secret is shown once and
//! stored as a keyed hash.
//!
//! A key is `bf_live_` or `bf_test_`, the merchant's short id (8 characters) and 16 random letters and
//! digits. A secret has 256 random bits. At most two secrets of a key work at once: during a rotation, the
//! previous secret also works.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use secrecy::SecretString;
use subtle::ConstantTimeEq as _;
use uuid::Uuid;

use crate::keyring::{Keyring, random, random_text};
use crate::merchants::{self, Merchant};
use crate::sql::{execute, fetch};
use crate::{Conn, Error, Scope, Tx};

const LIVE: &str = "bf_live_";
const SANDBOX: &str = "bf_test_";

/// An API key without its secret.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct Credential {
    /// The API key: the user name of HTTP Basic.
    pub key: String,
    /// Whether it gives access to sandbox data instead of live data.
    pub sandbox: bool,
    /// When it was made (ms).
    pub created_at: i64,
    /// Until when (ms) the previous secret also works.
    pub previous_until: Option<i64>,
    /// When it was revoked (ms).
    pub revoked_at: Option<i64>,
    /// Whether it has a secret. A reserved key has none until its first rotation.
    pub has_secret: bool,
    /// What it may do, as JSON; `{}` means everything.
    pub restrictions: String,
    /// What it may do to people, as JSON; `{}` means nothing.
    pub permissions: String,
}

/// A key with its secret, which is shown only now.
#[derive(Debug)]
pub struct NewCredential {
    /// The API key.
    pub key: String,
    /// Its secret.
    pub secret: SecretString,
}

/// The caller that an API key identifies.
#[derive(Clone, Debug)]
pub struct Caller {
    /// The account. Its status has not been checked yet.
    pub merchant: Merchant,
    /// The account and mode of the key.
    pub scope: Scope,
    /// The API key.
    pub key: String,
    /// What the key may do, as JSON. It has not been checked yet.
    pub restrictions: String,
    /// What the key may do to people, as JSON. It has not been checked yet.
    pub permissions: String,
}

/// The result of checking a key and its secret. It does not reveal why a caller was rejected.
#[derive(Clone, Debug)]
pub enum AuthOutcome {
    /// The key is valid and the secret belongs to it.
    Accepted(Box<Caller>),
    /// The key is unknown or revoked, or the secret is wrong.
    Rejected,
}

/// Creates a key for one mode of an account.
///
/// # Errors
/// [`Error::Missing`] for an unknown account.
pub async fn create(tx: &mut Tx, merchant_id: Uuid, sandbox: bool) -> Result<NewCredential, Error> {
    let key = new_key(tx, merchant_id, sandbox).await?;
    let (secret, hash) = new_secret(tx.keyring(), &key);
    insert(tx, merchant_id, sandbox, &key, &hash).await?;
    Ok(NewCredential { key, secret })
}

/// Creates a key without a secret, where there is no one to show a secret to. [`rotate`] gives it one.
///
/// # Errors
/// [`Error::Missing`] for an unknown account.
pub async fn reserve(tx: &mut Tx, merchant_id: Uuid, sandbox: bool) -> Result<(), Error> {
    let key = new_key(tx, merchant_id, sandbox).await?;
    // No hash is empty, so no secret matches this key.
    insert(tx, merchant_id, sandbox, &key, &[]).await
}

async fn new_key(tx: &mut Tx, merchant_id: Uuid, sandbox: bool) -> Result<String, Error> {
    let merchant = merchants::get(tx, merchant_id)
        .await?
        .ok_or(Error::Missing("merchant"))?;
    let prefix = if sandbox { SANDBOX } else { LIVE };
    Ok(format!("{prefix}{}{}", merchant.short_id, random_text::<16>()))
}

async fn insert(tx: &mut Tx, merchant_id: Uuid, sandbox: bool, key: &str, hash: &[u8]) -> Result<(), Error> {
    let now = tx.now();
    execute!(
        tx,
        Scope { merchant_id, sandbox },
        "insert into credentials (merchant_id, sandbox, key, secret_hash, created_at) values ($1, $2, $3, $4, $5)",
        key,
        hash,
        now,
    )
    .map(|_| ())
}

/// The keys of an account, newest first.
pub async fn list(conn: &mut Conn, merchant_id: Uuid) -> Result<Vec<Credential>, Error> {
    fetch!(
        all,
        conn,
        both_modes(
            merchant_id,
            "a key's id is unique in the account and carries its mode"
        ),
        Credential,
        "select key, sandbox, created_at, previous_until, revoked_at, length(secret_hash) > 0 as has_secret,
             restrictions, permissions
         from credentials
         where merchant_id = $1 order by created_at desc, key"
    )
}

/// Gives a key a new secret. The current secret works for `overlap_ms` more; an older one stops working.
///
/// # Errors
/// [`Error::Missing`] for an unknown or revoked key.
pub async fn rotate(
    tx: &mut Tx,
    merchant_id: Uuid,
    key: &str,
    overlap_ms: i64,
) -> Result<NewCredential, Error> {
    let (secret, hash) = new_secret(tx.keyring(), key);
    let until = tx.now().saturating_add(overlap_ms);
    let changed = execute!(
        tx,
        both_modes(
            merchant_id,
            "a key's id is unique in the account and carries its mode"
        ),
        "update credentials set previous_hash = secret_hash,
             previous_until = case when length(secret_hash) > 0 then $3 end, secret_hash = $4
         where merchant_id = $1 and key = $2 and revoked_at is null",
        key,
        until,
        &hash
    )?;
    if changed == 0 {
        return Err(Error::Missing("API key"));
    }
    Ok(NewCredential {
        key: key.into(),
        secret,
    })
}

/// Revokes a key at once; returns whether it was active.
pub async fn revoke(tx: &mut Tx, merchant_id: Uuid, key: &str) -> Result<bool, Error> {
    let now = tx.now();
    const SQL: &str =
        "update credentials set revoked_at = $3 where merchant_id = $1 and key = $2 and revoked_at is null";
    Ok(execute!(
        tx,
        both_modes(
            merchant_id,
            "a key's id is unique in the account and carries its mode"
        ),
        SQL,
        key,
        now
    )? == 1)
}

/// Sets what a key may do, as JSON; returns whether the key was active.
pub async fn set_restrictions(
    tx: &mut Tx,
    merchant_id: Uuid,
    key: &str,
    restrictions: &str,
) -> Result<bool, Error> {
    const SQL: &str =
        "update credentials set restrictions = $3 where merchant_id = $1 and key = $2 and revoked_at is null";
    Ok(execute!(
        tx,
        both_modes(
            merchant_id,
            "a key's id is unique in the account and carries its mode"
        ),
        SQL,
        key,
        restrictions
    )? == 1)
}

/// Sets what a key may do to people, as JSON; returns whether the key was active.
pub async fn set_permissions(
    tx: &mut Tx,
    merchant_id: Uuid,
    key: &str,
    permissions: &str,
) -> Result<bool, Error> {
    const SQL: &str =
        "update credentials set permissions = $3 where merchant_id = $1 and key = $2 and revoked_at is null";
    Ok(execute!(
        tx,
        both_modes(
            merchant_id,
            "a key's id is unique in the account and carries its mode"
        ),
        SQL,
        key,
        permissions
    )? == 1)
}

#[derive(sqlx::FromRow)]
struct CredentialRow {
    sandbox: bool,
    restrictions: String,
    permissions: String,
    secret_hash: Vec<u8>,
    previous_hash: Option<Vec<u8>>,
    previous_until: Option<i64>,
    #[sqlx(flatten)]
    merchant: Merchant,
}

/// Checks a key and its secret. It takes the same time for known and unknown keys.
pub async fn authenticate(conn: &mut Conn, key: &str, secret: &str) -> Result<AuthOutcome, Error> {
    let given = secret_hash(conn.keyring(), key, secret);
    // An unknown key takes the same path, up to a comparison that fails.
    let (short_id, known_form) = short_id(key).map_or(("", false), |short_id| (short_id, true));
    let stored = fetch!(
        optional,
        conn,
        across_accounts("a request names its account by the key alone"),
        CredentialRow,
        "select c.sandbox, c.restrictions, c.permissions, c.secret_hash, c.previous_hash, c.previous_until,
                m.id, m.short_id, m.name, m.status, m.settings, m.created_at, m.updated_at
         from merchants m join credentials c on c.merchant_id = m.id
         where m.short_id = $1 and c.key = $2 and c.revoked_at is null",
        short_id,
        key
    )?;
    let dummy = random::<32>();
    let (current, previous) = match &stored {
        Some(stored) => {
            let rotating = stored.previous_until.is_some_and(|until| conn.now() < until);
            (
                stored.secret_hash.as_slice(),
                stored.previous_hash.as_deref().filter(|_| rotating),
            )
        }
        None => (dummy.as_slice(), None),
    };
    let matches = given.ct_eq(current) | given.ct_eq(previous.unwrap_or(&dummy));
    match stored {
        Some(stored) if known_form && bool::from(matches) => {
            let scope = Scope {
                merchant_id: stored.merchant.id,
                sandbox: stored.sandbox,
            };
            Ok(AuthOutcome::Accepted(Box::new(Caller {
                merchant: stored.merchant,
                scope,
                key: key.into(),
                restrictions: stored.restrictions,
                permissions: stored.permissions,
            })))
        }
        _ => Ok(AuthOutcome::Rejected),
    }
}

/// The merchant's short id in a key.
fn short_id(key: &str) -> Option<&str> {
    let rest = key.strip_prefix(LIVE).or_else(|| key.strip_prefix(SANDBOX))?;
    (rest.len() == 24 && rest.is_ascii()).then(|| &rest[..8])
}

fn new_secret(keyring: &Keyring, key: &str) -> (SecretString, Vec<u8>) {
    let secret = URL_SAFE_NO_PAD.encode(random::<32>());
    let hash = secret_hash(keyring, key, &secret).to_vec();
    (SecretString::from(secret), hash)
}

fn secret_hash(keyring: &Keyring, key: &str, secret: &str) -> [u8; 32] {
    keyring.hash("credentials.secret", &[key.as_bytes(), secret.as_bytes()])
}

#[cfg(test)]
mod tests {
    use super::short_id;

    #[test]
    fn only_well_formed_keys_name_a_merchant() {
        assert_eq!(short_id("bf_live_abcdefgh2345678923456789"), Some("abcdefgh"));
        assert_eq!(short_id("bf_test_abcdefgh2345678923456789"), Some("abcdefgh"));
        for key in [
            "",
            "bf_live_",
            "bf_live_abcdefgh",
            "abcdefgh2345678923456789",
            "bf_live_éééééééééééé",
        ] {
            assert_eq!(short_id(key), None, "{key}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_taken(key: String, rest in "bf_(live|test)_.*") {
            let _ = (short_id(&key), short_id(&rest));
        }
    }
}
