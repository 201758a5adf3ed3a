//! The sanctions lists that every node screens against: their names, versions and the digests of their
//! contents. The lists themselves are in each node's folder. A keyed hash covers the set, so a lost, changed
//! or inserted row is detected.

use std::collections::BTreeMap;

use crate::keyring::Keyring;
use crate::sql::{execute, fetch};
use crate::{Conn, Error, Tx, installation};

/// The only row of `list_sets`.
const ROW: i64 = 1;
const LIST_SET: &str = "list set";

/// A list of the set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListVersion {
    /// The version that the publisher states.
    pub version: String,
    /// SHA-256 over the list's entities.
    pub digest: [u8; 32],
    /// The number of entities.
    pub entities: i64,
    /// Whether only the accounts that chose the list are screened against it.
    pub needs_choice: bool,
}

/// The lists in use, by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListSet {
    /// A number that grows with each change.
    pub revision: i64,
    /// The lists.
    pub lists: BTreeMap<String, ListVersion>,
}

/// The installation's list set; `None` if none was ever recorded.
///
/// # Errors
/// [`Error::Unreadable`] for rows that no version of this program writes.
pub async fn current(conn: &mut Conn) -> Result<Option<ListSet>, Error> {
    // One statement sees one consistent state. It returns at least one row, and also members without a set.
    const SQL: &str = "select s.revision, s.mac, m.name, m.version, m.digest, m.entities, m.needs_choice
               from (select 1 as one) always left join list_sets s on s.id = $1
               left join list_set_members m on 1 = 1 order by m.name";
    let rows = fetch!(all, conn, installation, Row, SQL, ROW)?;
    assemble(conn.keyring(), rows)
}

/// [`current`], locked until the transaction ends. Every change of the set starts with it.
///
/// # Errors
/// As [`current`] and [`installation::confirm`].
pub async fn for_update(tx: &mut Tx) -> Result<Option<ListSet>, Error> {
    installation::confirm(tx).await?;
    let (empty, now): (&[u8], i64) = (&[], tx.now());
    // This also makes other transactions wait that record the first set. Revision 0 means that there is no
    // set yet.
    const SQL: &str = "insert into list_sets (id, revision, mac, changed_at) values ($1, 0, $2, $3)
               on conflict (id) do update set changed_at = list_sets.changed_at";
    execute!(tx, installation, SQL, ROW, empty, now)?;
    current(tx).await
}

/// Replaces the set. Call [`for_update`] before it in the same transaction.
pub async fn replace(tx: &mut Tx, lists: &BTreeMap<String, ListVersion>) -> Result<ListSet, Error> {
    let now = tx.now();
    const SQL: &str =
        "update list_sets set revision = revision + 1, changed_at = $2 where id = $1 returning revision";
    let (revision,) =
        fetch!(optional, tx, installation, (i64,), SQL, ROW, now)?.ok_or(Error::Missing("list set"))?;
    execute!(tx, installation, "delete from list_set_members")?;
    for (name, list) in lists {
        execute!(
            tx,
            installation,
            "insert into list_set_members (name, version, digest, entities, needs_choice) values ($1, $2, $3, $4, $5)",
            name,
            &list.version,
            list.digest.as_slice(),
            list.entities,
            list.needs_choice
        )?;
    }
    let set = ListSet {
        revision,
        lists: lists.clone(),
    };
    let mac = mac(tx.keyring(), &set);
    execute!(
        tx,
        installation,
        "update list_sets set mac = $2 where id = $1",
        ROW,
        &mac
    )?;
    Ok(set)
}

#[derive(sqlx::FromRow)]
struct Row {
    revision: Option<i64>,
    mac: Option<Vec<u8>>,
    name: Option<String>,
    version: Option<String>,
    digest: Option<Vec<u8>>,
    entities: Option<i64>,
    needs_choice: Option<bool>,
}

fn assemble(keyring: &Keyring, rows: Vec<Row>) -> Result<Option<ListSet>, Error> {
    let unreadable = || Error::Unreadable(LIST_SET);
    let Some(first) = rows.first() else {
        return Ok(None);
    };
    let (revision, expected) = match (first.revision, first.mac.clone(), &first.name) {
        (Some(revision), Some(mac), _) => (revision, mac),
        (None, None, None) => return Ok(None),
        _ => return Err(unreadable()),
    };
    let mut lists = BTreeMap::new();
    for row in rows {
        let Row {
            name,
            version,
            digest,
            entities,
            needs_choice,
            ..
        } = row;
        let (name, version, digest, entities, needs_choice) =
            match (name, version, digest, entities, needs_choice) {
                (None, None, None, None, None) => continue,
                (Some(name), Some(version), Some(digest), Some(entities), Some(needs_choice)) => {
                    (name, version, digest, entities, needs_choice)
                }
                _ => return Err(unreadable()),
            };
        let digest = digest.try_into().map_err(|_| unreadable())?;
        let list = ListVersion {
            version,
            digest,
            entities,
            needs_choice,
        };
        lists.insert(name, list);
    }
    if revision == 0 && expected.is_empty() && lists.is_empty() {
        return Ok(None);
    }
    let set = ListSet { revision, lists };
    if mac(keyring, &set) != expected {
        return Err(unreadable());
    }
    Ok(Some(set))
}

fn mac(keyring: &Keyring, set: &ListSet) -> Vec<u8> {
    let revision = set.revision.to_be_bytes();
    let entities: Vec<[u8; 8]> = set
        .lists
        .values()
        .map(|list| list.entities.to_be_bytes())
        .collect();
    let mut parts: Vec<&[u8]> = vec![&revision];
    for ((name, list), entities) in set.lists.iter().zip(&entities) {
        parts.extend([name.as_bytes(), list.version.as_bytes(), &list.digest, entities]);
        // Sets of earlier versions have the same hash.
        if list.needs_choice {
            parts.push(b"needs choice");
        }
    }
    keyring.hash(LIST_SET, &parts).to_vec()
}
