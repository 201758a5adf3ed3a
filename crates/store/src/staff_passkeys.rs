//! Passkeys of members of staff, and the challenges that have been answered. The database reveals neither a passkey's
//! name nor its public key: they are sealed under the member's key. This module does not depend on WebAuthn;
//! the credential and its state are bytes to it.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq as _;
use uuid::Uuid;

use crate::sql::{execute, fetch};
use crate::staff::{key, seal_context};
use crate::{Conn, DataKey, Error, Tx};

/// The context of a sealed passkey.
pub(crate) const PASSKEY: &str = "staff.passkey";

/// A passkey.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passkey {
    /// The passkey's id here.
    pub id: Uuid,
    /// Its owner.
    pub staff_id: Uuid,
    /// The host name that it belongs to; `None` if it was added before host names were stored.
    pub site: Option<String>,
    /// The constant part.
    pub credential: Credential,
    /// What changes with each use: the signature counter and flags, as WebAuthn's library encodes them.
    pub state: Vec<u8>,
    /// When it was added (ms).
    pub created_at: i64,
    /// When it was last used (ms).
    pub used_at: Option<i64>,
}

/// The constant part of a passkey, which is sealed as JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Credential {
    /// The name that its owner gave it.
    pub name: String,
    /// The credential's ID, which its authenticator chose.
    pub credential_id: Vec<u8>,
    /// The ways in which a browser reaches the authenticator, as a bit set.
    pub transports: u8,
    /// The public key and its constant properties, as WebAuthn's library encodes them.
    pub public_key: Vec<u8>,
}

#[derive(sqlx::FromRow)]
struct Row {
    id: Uuid,
    staff_id: Uuid,
    site: Option<String>,
    passkey_sealed: Vec<u8>,
    state: Vec<u8>,
    created_at: i64,
    used_at: Option<i64>,
}

impl Row {
    fn open(self, key: &DataKey) -> Result<Passkey, Error> {
        let text = key.open(&seal_context(&self.id, PASSKEY), &self.passkey_sealed)?;
        Ok(Passkey {
            credential: serde_json::from_slice(&text).map_err(|_| Error::Unreadable("a passkey"))?,
            id: self.id,
            staff_id: self.staff_id,
            site: self.site,
            state: self.state,
            created_at: self.created_at,
            used_at: self.used_at,
        })
    }
}

fn credential_ref(conn: &Conn, credential_id: &[u8]) -> Vec<u8> {
    conn.keyring().hash("staff passkey", &[credential_id]).to_vec()
}

/// Adds a passkey of a host name.
///
/// # Errors
/// [`Error::Conflict`] if a member already has this credential; [`Error::Missing`]; [`Error::Sealed`].
pub async fn add(
    tx: &mut Tx,
    staff_id: Uuid,
    site: &str,
    credential: &Credential,
    state: &[u8],
) -> Result<Uuid, Error> {
    let id = Uuid::now_v7();
    let text = serde_json::to_vec(credential).map_err(|_| Error::Unreadable("a passkey"))?;
    let sealed = key(tx, staff_id).await?.seal(&seal_context(&id, PASSKEY), &text);
    let credential_ref = credential_ref(tx, &credential.credential_id);
    let now = tx.now();
    execute!(
        tx,
        installation,
        "insert into staff_passkeys (id, staff_id, site, credential_ref, passkey_sealed, state, created_at)
         values ($1, $2, $3, $4, $5, $6, $7)",
        id,
        staff_id,
        site,
        &credential_ref,
        &sealed,
        state,
        now
    )?;
    Ok(id)
}

/// A member's passkeys, oldest first.
///
/// # Errors
/// [`Error::Missing`]; [`Error::Sealed`]; [`Error::Unreadable`].
pub async fn of_member(conn: &mut Conn, staff_id: Uuid) -> Result<Vec<Passkey>, Error> {
    const SQL: &str = "select id, staff_id, site, passkey_sealed, state, created_at, used_at
               from staff_passkeys where staff_id = $1 order by created_at, id";
    let rows = fetch!(all, conn, installation, Row, SQL, staff_id)?;
    let key = key(conn, staff_id).await?;
    rows.into_iter().map(|row| row.open(&key)).collect()
}

/// Whether a member has a passkey that works at a host name.
pub async fn is_any_of_site(conn: &mut Conn, staff_id: Uuid, site: &str) -> Result<bool, Error> {
    const SQL: &str =
        "select count(*) from staff_passkeys where staff_id = $1 and (site is null or site = $2)";
    let (count,) = fetch!(one, conn, installation, (i64,), SQL, staff_id, site)?;
    Ok(count > 0)
}

/// The passkey with a credential's ID.
///
/// # Errors
/// [`Error::Sealed`]; [`Error::Unreadable`].
pub async fn by_credential(conn: &mut Conn, credential_id: &[u8]) -> Result<Option<Passkey>, Error> {
    let credential_ref = credential_ref(conn, credential_id);
    const SQL: &str = "select id, staff_id, site, passkey_sealed, state, created_at, used_at
               from staff_passkeys where credential_ref = $1";
    let Some(row) = fetch!(optional, conn, installation, Row, SQL, &credential_ref)? else {
        return Ok(None);
    };
    let key = key(conn, row.staff_id).await?;
    row.open(&key).map(Some)
}

/// Records a use of a passkey and its state after it; returns whether the passkey still had the state before. Of
/// simultaneous uses with the same signature counter, one succeeds.
pub async fn record_use(tx: &mut Tx, passkey: &Passkey, state: &[u8]) -> Result<bool, Error> {
    let now = tx.now();
    const SQL: &str = "update staff_passkeys set state = $3, used_at = $4 where id = $1 and state = $2";
    Ok(execute!(tx, installation, SQL, passkey.id, &passkey.state, state, now)? == 1)
}

/// Removes one of a member's passkeys; returns whether it was there.
pub async fn remove(tx: &mut Tx, staff_id: Uuid, id: Uuid) -> Result<bool, Error> {
    const SQL: &str = "delete from staff_passkeys where staff_id = $1 and id = $2";
    Ok(execute!(tx, installation, SQL, staff_id, id)? == 1)
}

/// Removes a member's passkeys. Returns how many.
pub async fn remove_all(tx: &mut Tx, staff_id: Uuid) -> Result<u64, Error> {
    const SQL: &str = "delete from staff_passkeys where staff_id = $1";
    execute!(tx, installation, SQL, staff_id)
}

/// Seals a member's passkeys again under a new key, which can open the earlier ones too.
pub(crate) async fn seal_again(tx: &mut Tx, staff_id: Uuid, key: &DataKey) -> Result<(), Error> {
    const SQL: &str = "select id, passkey_sealed from staff_passkeys where staff_id = $1";
    const REPLACE: &str = "update staff_passkeys set passkey_sealed = $2 where id = $1";
    for (id, sealed) in fetch!(all, tx, installation, (Uuid, Vec<u8>), SQL, staff_id)? {
        let place = seal_context(&id, PASSKEY);
        let again = key.seal(&place, &key.open(&place, &sealed)?);
        execute!(tx, installation, REPLACE, id, &again)?;
    }
    Ok(())
}

fn ceremony_code(conn: &Conn, purpose: &str, state: &[u8]) -> [u8; 32] {
    conn.keyring()
        .hash("passkey ceremony", &[purpose.as_bytes(), state])
}

/// The state of a ceremony in a form that a browser can hold until it answers: nothing in it is secret, and a changed
/// one is refused. `purpose` says what the answer is for.
#[must_use]
pub fn ceremony_text(conn: &Conn, purpose: &str, state: &[u8]) -> String {
    let code = ceremony_code(conn, purpose, state);
    URL_SAFE_NO_PAD.encode([code.as_slice(), state].concat())
}

/// The state of a ceremony that a browser sent back; `None` if this installation did not make it for this purpose.
#[must_use]
pub fn ceremony_state(conn: &Conn, purpose: &str, text: &str) -> Option<Vec<u8>> {
    let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
    let (code, state) = bytes.split_at_checked(32)?;
    bool::from(code.ct_eq(&ceremony_code(conn, purpose, state))).then(|| state.to_vec())
}

/// Uses up a challenge; returns whether it was unused. `lasts_ms` is at least as long as an answer is accepted.
pub async fn use_up(tx: &mut Tx, challenge: &[u8], lasts_ms: i64) -> Result<bool, Error> {
    let challenge_ref = tx.keyring().hash("passkey challenge", &[challenge]).to_vec();
    let until = tx.now() + lasts_ms;
    let inserted = execute!(
        tx,
        installation,
        "insert into passkey_challenges (challenge_ref, expires_at) values ($1, $2)
         on conflict (challenge_ref) do nothing",
        &challenge_ref,
        until
    )?;
    Ok(inserted == 1)
}

/// Deletes used challenges that have expired. Returns how many.
pub async fn sweep(tx: &mut Tx) -> Result<u64, Error> {
    let now = tx.now();
    execute!(
        tx,
        installation,
        "delete from passkey_challenges where expires_at <= $1",
        now
    )
}
