//! The keyring of the installation: a check value that only the right keyring can produce, so that a wrong
//! key is detected before anything is written. This module does not decide what a command does about a wrong
//! key.
//!
//! A database of an earlier version has no check value. It gets one only from a keyring that opens the oldest
//! account's key or, without accounts, the oldest staff member's key.

use uuid::Uuid;

use crate::keyring::{DataKey, Keyring, SealContext, master_key_of};
use crate::sql::{checked, execute, fetch};
use crate::{Conn, Db, Error, Tx, merchants, staff};

/// The table has only this row.
const ROW: i64 = 1;
const CHECK_VALUE: &str = "key check value";

/// The result of checking this connection's keyring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyringCheck {
    /// The check value proves that the keyring belongs to the installation.
    Proven,
    /// There is no check value, and the keyring opens the oldest key, if there is one.
    Unrecorded,
}

/// Whether the database contains an installation: a check value, a list set, an account or a member of staff.
/// It works with any schema, and without one.
pub async fn exists(db: &Db) -> Result<bool, Error> {
    let mut conn = db.read().await?;
    for (table, sql) in [
        (
            "installation",
            checked!(installation, "select exists (select 1 from installation)"),
        ),
        (
            "list_sets",
            checked!(installation, "select exists (select 1 from list_sets)"),
        ),
        (
            "merchants",
            checked!(installation, "select exists (select 1 from merchants)"),
        ),
        (
            "staff",
            checked!(installation, "select exists (select 1 from staff)"),
        ),
    ] {
        if has_table(&mut conn, table).await?
            && fetch!(one, &mut conn, installation, (bool,), checked(sql))?.0
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Checks the keyring of a connection against the database. It writes nothing.
///
/// # Errors
/// [`Error::ForeignKey`], [`Error::OutdatedKey`]; [`Error::Unreadable`] for a check value in a form that no
/// version of this program writes.
pub async fn verify(conn: &mut Conn) -> Result<KeyringCheck, Error> {
    if has_table(conn, "installation").await? {
        const SQL: &str = "select key_root, key_sealed from installation where id = $1";
        if let Some((root, sealed)) = fetch!(optional, conn, installation, (Vec<u8>, Vec<u8>), SQL, ROW)? {
            check(conn.keyring(), &root, &sealed)?;
            return Ok(KeyringCheck::Proven);
        }
    }
    opens_oldest(conn).await?;
    Ok(KeyringCheck::Unrecorded)
}

/// [`verify`], which also records the check value if there is none.
///
/// # Errors
/// As [`verify`].
pub async fn confirm(tx: &mut Tx) -> Result<(), Error> {
    if verify(tx).await? == KeyringCheck::Proven {
        return Ok(());
    }
    let (root, sealed) = check_value(tx.keyring());
    let now = tx.now();
    execute!(
        tx,
        installation,
        "insert into installation (id, key_root, key_sealed, created_at) values ($1, $2, $3, $4)
         on conflict (id) do nothing",
        ROW,
        &root,
        &sealed,
        now
    )?;
    // Another node, perhaps with another key, may have been faster.
    verify(tx).await.map(|_| ())
}

/// Seals the check value by the keyring's newest master key. From then on, copies of the key file without
/// that key are refused.
///
/// # Errors
/// As [`verify`].
pub async fn rewrap_check(tx: &mut Tx) -> Result<(), Error> {
    confirm(tx).await?;
    let (_, sealed) = check_value(tx.keyring());
    const SQL: &str = "update installation set key_sealed = $2 where id = $1";
    execute!(tx, installation, SQL, ROW, &sealed).map(|_| ())
}

/// The id of the newest master key in use: eight hexadecimal digits, which reveal no key. `None` if the database has no
/// check value yet.
pub async fn master_key_in_use(conn: &mut Conn) -> Result<Option<String>, Error> {
    const SQL: &str = "select key_sealed from installation where id = $1";
    let row = fetch!(optional, conn, installation, (Vec<u8>,), SQL, ROW)?;
    row.map(|(sealed,)| master_key_of(&sealed)).transpose()
}

/// The number of accounts whose key this keyring does not open, and the number of all accounts.
pub async fn unopened_accounts(conn: &mut Conn) -> Result<(u64, u64), Error> {
    let rows = fetch!(
        all,
        conn,
        installation,
        (Uuid, Vec<u8>),
        "select id, wrapped_key from merchants"
    )?;
    let keyring = conn.keyring();
    let fails =
        |(id, wrapped): &&(Uuid, Vec<u8>)| keyring.unwrap_key(&merchants::key_context(id), wrapped).is_err();
    Ok((rows.iter().filter(fails).count() as u64, rows.len() as u64))
}

async fn has_table(conn: &mut Conn, table: &str) -> Result<bool, Error> {
    let sql = if conn.is_postgres() {
        checked!(installation, "select to_regclass($1) is not null")
    } else {
        checked!(
            installation,
            "select exists (select 1 from sqlite_master where type = 'table' and name = $1)"
        )
    };
    fetch!(one, conn, installation, (bool,), checked(sql), table).map(|(there,)| there)
}

/// Without a check value, the oldest key is the proof. Keys that a wrong keyring made in the meantime are
/// younger.
async fn opens_oldest(conn: &mut Conn) -> Result<(), Error> {
    for (table, oldest) in [
        (
            "merchants",
            checked!(
                installation,
                "select id from merchants order by created_at, id limit 1"
            ),
        ),
        (
            "staff",
            checked!(
                installation,
                "select id from staff order by created_at, id limit 1"
            ),
        ),
    ] {
        if !has_table(conn, table).await? {
            continue;
        }
        let Some((id,)) = fetch!(optional, conn, installation, (Uuid,), checked(oldest))? else {
            continue;
        };
        let opened = match table {
            "merchants" => merchants::key(conn, id).await,
            _ => staff::key(conn, id).await,
        };
        return match opened {
            Ok(_) => Ok(()),
            Err(Error::Sealed) => Err(Error::ForeignKey),
            Err(error) => Err(error),
        };
    }
    Ok(())
}

const PLACE: SealContext<'static> = SealContext {
    merchant_id: Uuid::nil(),
    what: "installation.key_sealed",
    id: b"",
};

/// The check value of a keyring: a hash under its root, and an otherwise unused key wrapped by the newest
/// master key.
fn check_value(keyring: &Keyring) -> (Vec<u8>, Vec<u8>) {
    let root = keyring.hash(CHECK_VALUE, &[]).to_vec();
    (root, keyring.wrap(&PLACE, &DataKey::generate()))
}

fn check(keyring: &Keyring, root: &[u8], sealed: &[u8]) -> Result<(), Error> {
    let unreadable = Error::Unreadable(CHECK_VALUE);
    let expected = keyring.hash(CHECK_VALUE, &[]);
    if root.len() != expected.len() {
        return Err(unreadable);
    }
    let Ok(has_master) = keyring.has_master_key_of(sealed) else {
        return Err(unreadable);
    };
    match (root == expected, has_master) {
        (true, true) => keyring
            .unwrap_key(&PLACE, sealed)
            .map(|_| ())
            .map_err(|_| unreadable),
        (true, false) => Err(Error::OutdatedKey),
        // A master key of this file sealed it, but the root differs. So either the row or the file was
        // changed.
        (false, true) => Err(unreadable),
        (false, false) => Err(Error::ForeignKey),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_value_proves_its_keyring_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("master.key");
        let (old, _) = Keyring::open_or_create(&path).unwrap();
        let (root, sealed) = check_value(&old);
        check(&old, &root, &sealed).unwrap();
        let new = Keyring::rotate(&path).unwrap();
        check(&new, &root, &sealed).unwrap();
        let (same, newer) = check_value(&new);
        assert_eq!(root, same, "a rotation leaves the root as it is");
        check(&new, &root, &newer).unwrap();
        assert!(matches!(check(&old, &root, &newer), Err(Error::OutdatedKey)));
        let other = Keyring::generate();
        assert!(matches!(check(&other, &root, &sealed), Err(Error::ForeignKey)));
    }

    #[test]
    fn a_changed_check_value_is_named() {
        let keyring = Keyring::generate();
        let (root, sealed) = check_value(&keyring);
        for at in 0..sealed.len() {
            let cut = check(&keyring, &root, &sealed[..at]);
            assert!(matches!(cut, Err(Error::Unreadable(_))), "cut at {at}: {cut:?}");
        }
        for at in 0..root.len() {
            let cut = check(&keyring, &root[..at], &sealed);
            assert!(matches!(cut, Err(Error::Unreadable(_))), "cut at {at}: {cut:?}");
            let mut changed = root.clone();
            changed[at] ^= 1;
            let changed = check(&keyring, &changed, &sealed);
            assert!(
                matches!(changed, Err(Error::Unreadable(_))),
                "byte {at}: {changed:?}"
            );
        }
    }
}
