//! Browsers in which members of staff have signed in. A browser keeps a token with 256 random bits, which is stored
//! here as a keyed hash. The token grants no access. It only shows that the member has signed in there before.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use secrecy::SecretString;
use uuid::Uuid;

use crate::keyring::random;
use crate::sql::{execute, fetch};
use crate::{Conn, Error, Tx};

/// How long a browser is recognised after its last sign-in (ms).
pub const LIFE_MS: i64 = 400 * 24 * 60 * 60 * 1_000;
/// The most browsers of one member. The one that was used least recently is forgotten first.
const MOST: i64 = 20;

fn token_ref(conn: &Conn, staff_id: Uuid, token: &str) -> Vec<u8> {
    conn.keyring()
        .hash("staff device", &[staff_id.as_bytes(), token.as_bytes()])
        .to_vec()
}

/// Whether the member has signed in before in the browser with this token. Notes the use.
pub async fn recognise(tx: &mut Tx, staff_id: Uuid, token: &str) -> Result<bool, Error> {
    let token_ref = token_ref(tx, staff_id, token);
    let now = tx.now();
    let known = execute!(
        tx,
        across_accounts("a browser belongs to a member of staff"),
        "update staff_devices set seen_at = $3 where staff_id = $1 and token_ref = $2 and seen_at > $4",
        staff_id,
        &token_ref,
        now,
        now - LIFE_MS
    )?;
    Ok(known == 1)
}

/// A new token.
pub fn new_token() -> SecretString {
    SecretString::from(URL_SAFE_NO_PAD.encode(random::<32>()))
}

/// Whether a text has the form of a token.
pub fn is_token(text: &str) -> bool {
    URL_SAFE_NO_PAD.decode(text).is_ok_and(|bytes| bytes.len() == 32)
}

/// Registers the browser with this token.
pub async fn register(tx: &mut Tx, staff_id: Uuid, token: &str) -> Result<(), Error> {
    let token_ref = token_ref(tx, staff_id, token);
    let now = tx.now();
    execute!(
        tx,
        across_accounts("a browser belongs to a member of staff"),
        "insert into staff_devices (staff_id, token_ref, created_at, seen_at) values ($1, $2, $3, $3)
         on conflict (staff_id, token_ref) do update set seen_at = excluded.seen_at",
        staff_id,
        &token_ref,
        now
    )?;
    let surplus = fetch!(
        all,
        tx,
        across_accounts("a browser belongs to a member of staff"),
        (Vec<u8>,),
        "select token_ref from staff_devices where staff_id = $1
         order by seen_at desc, created_at desc, token_ref limit 100 offset $2",
        staff_id,
        MOST
    )?;
    for (token_ref,) in surplus {
        execute!(
            tx,
            across_accounts("a browser belongs to a member of staff"),
            "delete from staff_devices where staff_id = $1 and token_ref = $2",
            staff_id,
            &token_ref
        )?;
    }
    Ok(())
}

/// Forgets the browsers of a member, because one of them may be somebody else's; `except` the one with this token.
pub async fn forget(tx: &mut Tx, staff_id: Uuid, except: Option<&str>) -> Result<(), Error> {
    let except = except.map_or_else(Vec::new, |token| token_ref(tx, staff_id, token));
    execute!(
        tx,
        across_accounts("a browser belongs to a member of staff"),
        "delete from staff_devices where staff_id = $1 and token_ref <> $2",
        staff_id,
        &except
    )
    .map(|_| ())
}

/// Deletes browsers that have not been used for [`LIFE_MS`]. Returns how many.
pub async fn sweep(tx: &mut Tx) -> Result<u64, Error> {
    let before = tx.now() - LIFE_MS;
    execute!(
        tx,
        across_accounts("expired browsers are deleted in every account"),
        "delete from staff_devices where seen_at <= $1",
        before
    )
}
