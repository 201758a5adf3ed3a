//! People: one row per facemap with the key that seals all data about the person, aliases of merged facemaps,
//! searchable names, and erasure. This module does not decide who is the same person.
//!
//! Every facemap has a separate key, even a provisional one. A merge wraps the keys below it again.

mod erase;
mod keys;
mod merge;
mod split;

use uuid::Uuid;

pub use self::erase::erase;
pub use self::keys::key;
pub(crate) use self::keys::{unwrap_key, wrap_key, wrapped_key};
pub use self::merge::{merge, merge_people};
pub use self::split::{Departure, StoredFace, split};
use crate::keyring::{DataKey, Keyring};
use crate::sql::{execute, fetch};
use crate::{Conn, Error, Scope, Tx, faces, merchants};

/// A person in an account.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct Person {
    /// The person's facemap, never an alias.
    pub facemap_id: Uuid,
    /// Whether a proven face is bound to the person.
    pub proven: bool,
    /// When the person was first seen (ms).
    pub created_at: i64,
}

/// Creates a person with a random facemap id and a key.
///
/// # Errors
/// [`Error::Missing`] for an unknown account.
pub async fn create(tx: &mut Tx, scope: Scope, proven: bool) -> Result<Person, Error> {
    let person = Person {
        facemap_id: Uuid::new_v4(),
        proven,
        created_at: tx.now(),
    };
    let merchant_key = merchants::key(tx, scope.merchant_id).await?;
    let wrapped = wrap_key(&merchant_key, scope, &person.facemap_id, &DataKey::generate());
    execute!(
        tx,
        scope,
        "insert into people (merchant_id, sandbox, facemap_id, proven, wrapped_key, created_at)
         values ($1, $2, $3, $4, $5, $6)",
        person.facemap_id,
        person.proven,
        &wrapped,
        person.created_at
    )?;
    Ok(person)
}

/// The person behind a facemap id or an alias of one.
pub async fn resolve(conn: &mut Conn, scope: Scope, facemap_id: Uuid) -> Result<Option<Person>, Error> {
    fetch!(
        optional,
        conn,
        scope,
        Person,
        "select facemap_id, proven, created_at from people
         where merchant_id = $1 and sandbox = $2 and (facemap_id = $3 or facemap_id =
             (select facemap_id from facemap_aliases where merchant_id = $1 and sandbox = $2 and alias = $3))",
        facemap_id,
    )
}

/// Records that the face of a provisional facemap is proven. The facemap's id stays the same.
///
/// # Errors
/// [`Error::Missing`] when there is no such person.
pub async fn set_proven(tx: &mut Tx, scope: Scope, facemap_id: Uuid) -> Result<(), Error> {
    const SQL: &str =
        "update people set proven = $4 where merchant_id = $1 and sandbox = $2 and facemap_id = $3";
    match execute!(tx, scope, SQL, facemap_id, true)? {
        0 => Err(Error::Missing("person")),
        _ => Ok(()),
    }
}

/// Removes a person's faces. The facemap becomes provisional again, and its id stays the same.
///
/// # Errors
/// [`Error::Missing`] when there is no such person.
pub async fn unbind_faces(tx: &mut Tx, scope: Scope, facemap_id: Uuid) -> Result<(), Error> {
    faces::remove(tx, scope, facemap_id).await?;
    const SQL: &str =
        "update people set proven = $4 where merchant_id = $1 and sandbox = $2 and facemap_id = $3";
    match execute!(tx, scope, SQL, facemap_id, false)? {
        0 => Err(Error::Missing("person")),
        _ => Ok(()),
    }
}

pub(crate) async fn get(conn: &mut Conn, scope: Scope, facemap_id: Uuid) -> Result<Option<Person>, Error> {
    const SQL: &str = "select facemap_id, proven, created_at from people
               where merchant_id = $1 and sandbox = $2 and facemap_id = $3";
    fetch!(optional, conn, scope, Person, SQL, facemap_id)
}

/// Deletes the row with its key, and the rows that refer to it by `on delete cascade`.
pub(crate) async fn delete(tx: &mut Tx, scope: Scope, facemap_id: Uuid) -> Result<(), Error> {
    const SQL: &str = "delete from people where merchant_id = $1 and sandbox = $2 and facemap_id = $3";
    execute!(tx, scope, SQL, facemap_id).map(|_| ())
}

/// Makes a person searchable by the whole words of a name, which the caller has normalised.
pub async fn index_name(
    tx: &mut Tx,
    scope: Scope,
    facemap_id: Uuid,
    words: impl IntoIterator<Item = &str>,
) -> Result<(), Error> {
    for word in words {
        let word_ref = word_ref(tx.keyring(), scope, word);
        execute!(
            tx,
            scope,
            "insert into name_words (merchant_id, sandbox, word_ref, facemap_id) values ($1, $2, $3, $4)
             on conflict do nothing",
            &word_ref,
            facemap_id
        )?;
    }
    Ok(())
}

/// The blind index of a word of a name.
pub(crate) fn word_ref(keyring: &Keyring, scope: Scope, word: &str) -> Vec<u8> {
    keyring.blind(scope, "name word", word)
}

/// The people whose names contain this whole normalised word, at most `limit`.
pub async fn find_by_name_word(
    conn: &mut Conn,
    scope: Scope,
    word: &str,
    limit: i64,
) -> Result<Vec<Uuid>, Error> {
    let word_ref = word_ref(conn.keyring(), scope, word);
    const SQL: &str =
        "select facemap_id from name_words where merchant_id = $1 and sandbox = $2 and word_ref = $3
               order by facemap_id limit $4";
    let rows = fetch!(all, conn, scope, (Uuid,), SQL, &word_ref, limit)?;
    Ok(rows.into_iter().map(|(facemap_id,)| facemap_id).collect())
}

/// The most words that a search by name uses.
pub const MOST_NAME_WORDS: usize = 5;

/// The people whose names contain all of these whole normalised words, at most `limit`. Only the first
/// [`MOST_NAME_WORDS`] words are used, and of the rarest word only the first `at_most` people. The boolean
/// states whether the result is complete.
pub async fn find_by_name_words(
    conn: &mut Conn,
    scope: Scope,
    words: &[&str],
    at_most: i64,
    limit: i64,
) -> Result<(Vec<Uuid>, bool), Error> {
    let mut counted = Vec::new();
    for word in words.iter().take(MOST_NAME_WORDS) {
        let word_ref = word_ref(conn.keyring(), scope, word);
        let (count,) = fetch!(
            one,
            conn,
            scope,
            (i64,),
            "select count(*) from (select facemap_id from name_words
                   where merchant_id = $1 and sandbox = $2 and word_ref = $3 limit $4) n",
            &word_ref,
            at_most
        )?;
        counted.push((count, word_ref));
    }
    counted.sort();
    let Some((fewest, rarest)) = counted.first() else {
        return Ok((Vec::new(), true));
    };
    let other = |n: usize| counted.get(n).map(|(_, word_ref)| word_ref.as_slice());
    macro_rules! holds {
        ($word:literal) => {
            concat!(
                " and (",
                $word,
                " is null or exists (select 1 from name_words o where o.merchant_id = $1 and o.sandbox = $2
                   and o.facemap_id = n.facemap_id and o.word_ref = ",
                $word,
                "))"
            )
        };
    }
    let rows = fetch!(all, conn, scope, (Uuid,), concat!(
        "select n.facemap_id from (select facemap_id from name_words
             where merchant_id = $1 and sandbox = $2 and word_ref = $3 order by facemap_id limit $4) n where true",
        holds!("$5"),
        holds!("$6"),
        holds!("$7"),
        holds!("$8"),
        " order by n.facemap_id limit $9"
    ), rarest, at_most, other(1), other(2), other(3), other(4), limit)?;
    let complete = *fewest < at_most && (rows.len() as i64) < limit;
    Ok((
        rows.into_iter().map(|(facemap_id,)| facemap_id).collect(),
        complete,
    ))
}

/// The ids of people in order, from the first id above `after`, at most `limit`.
pub async fn ids_after(conn: &mut Conn, scope: Scope, after: Uuid, limit: i64) -> Result<Vec<Uuid>, Error> {
    const SQL: &str = "select facemap_id from people
               where merchant_id = $1 and sandbox = $2 and facemap_id > $3 order by facemap_id limit $4";
    let rows = fetch!(all, conn, scope, (Uuid,), SQL, after, limit)?;
    Ok(rows.into_iter().map(|(facemap_id,)| facemap_id).collect())
}

/// The ids that a person had before merges.
pub async fn aliases(conn: &mut Conn, scope: Scope, facemap_id: Uuid) -> Result<Vec<Uuid>, Error> {
    const SQL: &str = "select alias from facemap_aliases
               where merchant_id = $1 and sandbox = $2 and facemap_id = $3 order by alias";
    let rows = fetch!(all, conn, scope, (Uuid,), SQL, facemap_id)?;
    Ok(rows.into_iter().map(|(alias,)| alias).collect())
}
