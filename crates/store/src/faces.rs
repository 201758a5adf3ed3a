//! The face changes of an account in order, from which each node updates its index, and the lock for
//! identifying a new face. This module does not compare faces.
//!
//! To identify a face, a node first updates its index to sequence N without a lock. In the transaction that
//! records the outcome it calls [`lock`] and checks with [`contains`] that its N is the database's N. Then it
//! reads only the changes [`list_after`] N and calls [`insert`].

use uuid::Uuid;

use crate::keyring::{DataKey, SealContext};
use crate::sql::{execute, fetch};
use crate::{Conn, Error, Scope, Tx, counters, merchants, people};

/// A position in the account's sequence of face changes. The token distinguishes two histories that reached
/// the same number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Position {
    /// From 1, without gaps among committed changes; 0 before the first change.
    pub seq: i64,
    /// Random and new for each change; `None` in rows that are older than tokens.
    pub token: Option<Uuid>,
}

/// One change of an account's faces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaceChange {
    /// Its position.
    pub at: Position,
    /// The person's facemap.
    pub facemap_id: Uuid,
    /// The version of the model that made the embedding.
    pub model: String,
    /// The embedding as passed to [`insert`]; `None` if all faces of this facemap were removed.
    pub embedding: Option<Vec<u8>>,
}

/// The sequence of the account's latest face change; 0 if there is none.
///
/// # Errors
/// [`Error::Missing`] for an unknown account.
pub async fn sequence(conn: &mut Conn, scope: Scope) -> Result<i64, Error> {
    const SQL: &str = "select face_seq from counters where merchant_id = $1 and sandbox = $2";
    let row = fetch!(optional, conn, scope, (i64,), SQL)?;
    row.map(|(seq,)| seq).ok_or(Error::Missing("merchant"))
}

/// Whether the database contains the change at a position. After the restore of an earlier state it does not,
/// even if other changes have reused the number. It is also `false` if that face was removed or replaced. So
/// `false` only means that an index must be rebuilt.
pub async fn contains(conn: &mut Conn, scope: Scope, position: Position) -> Result<bool, Error> {
    if position.seq == 0 {
        return Ok(true);
    }
    const SQL: &str = "select token from faces where merchant_id = $1 and sandbox = $2 and seq = $3";
    let row = fetch!(optional, conn, scope, (Option<Uuid>,), SQL, position.seq)?;
    Ok(row.is_some_and(|(token,)| token == position.token))
}

/// Locks the account until the transaction ends: no other transaction identifies, registers, decides or
/// erases in the meantime. Returns the current sequence. Call it before anything else in the transaction
/// locks rows.
///
/// # Errors
/// [`Error::Missing`] for an unknown account.
pub async fn lock(tx: &mut Tx, scope: Scope) -> Result<i64, Error> {
    counters::lock(tx, scope).await?;
    sequence(tx, scope).await
}

#[derive(sqlx::FromRow)]
struct Row {
    seq: i64,
    token: Option<Uuid>,
    facemap_id: Uuid,
    model: String,
    embedding_sealed: Option<Vec<u8>>,
    wrapped_key: Option<Vec<u8>>,
}

/// The changes after a sequence, in order, at most `limit`.
///
/// # Errors
/// [`Error::Sealed`].
pub async fn list_after(
    conn: &mut Conn,
    scope: Scope,
    seq: i64,
    limit: i64,
) -> Result<Vec<FaceChange>, Error> {
    let rows = fetch!(
        all,
        conn,
        scope,
        Row,
        "select f.seq, f.token, f.facemap_id, f.model, f.embedding_sealed, p.wrapped_key from faces f
         left join people p
             on p.merchant_id = f.merchant_id and p.sandbox = f.sandbox and p.facemap_id = f.facemap_id
         where f.merchant_id = $1 and f.sandbox = $2 and f.seq > $3 order by f.seq limit $4",
        seq,
        limit
    )?;
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let merchant_key = merchants::key(conn, scope.merchant_id).await?;
    let open = |row: Row| {
        let embedding = match (&row.embedding_sealed, &row.wrapped_key) {
            (Some(sealed), Some(wrapped)) => {
                let key = people::unwrap_key(&merchant_key, scope, &row.facemap_id, wrapped)?;
                Some(
                    key.open(&seal_context(scope, &row.seq.to_be_bytes()), sealed)?
                        .to_vec(),
                )
            }
            _ => None,
        };
        Ok(FaceChange {
            at: Position {
                seq: row.seq,
                token: row.token,
            },
            facemap_id: row.facemap_id,
            model: row.model,
            embedding,
        })
    };
    rows.into_iter().map(open).collect()
}

fn seal_context(scope: Scope, seq: &[u8]) -> SealContext<'_> {
    SealContext {
        merchant_id: scope.merchant_id,
        what: "faces.embedding",
        id: seq,
    }
}

/// Seals an embedding for its row.
pub(crate) fn seal(person_key: &DataKey, scope: Scope, seq: i64, embedding: &[u8]) -> Vec<u8> {
    person_key.seal(&seal_context(scope, &seq.to_be_bytes()), embedding)
}

/// Adds a proven face; returns its sequence. The caller has taken the [`lock`].
///
/// # Errors
/// [`Error::Missing`] when there is no such person.
pub async fn insert(
    tx: &mut Tx,
    scope: Scope,
    facemap_id: Uuid,
    model: &str,
    embedding: &[u8],
) -> Result<i64, Error> {
    let key = people::key(tx, scope, facemap_id).await?;
    let seq = next(tx, scope).await?;
    let sealed = seal(&key, scope, seq, embedding);
    append(tx, scope, seq, facemap_id, model, Some(&sealed)).await?;
    Ok(seq)
}

/// Seals a person's faces again under their renewed key; returns how many it does not open. The faces themselves stay
/// the same, so indexes need not know.
pub(crate) async fn reseal(tx: &mut Tx, scope: Scope, facemap_id: Uuid, key: &DataKey) -> Result<u64, Error> {
    const SQL: &str = "select seq, embedding_sealed from faces
               where merchant_id = $1 and sandbox = $2 and facemap_id = $3 and embedding_sealed is not null";
    const SEAL: &str =
        "update faces set embedding_sealed = $4 where merchant_id = $1 and sandbox = $2 and seq = $3";
    let mut unreadable = 0;
    for (seq, sealed) in fetch!(all, tx, scope, (i64, Vec<u8>), SQL, facemap_id)? {
        let place_id = seq.to_be_bytes();
        let place = seal_context(scope, &place_id);
        match key.open(&place, &sealed) {
            Ok(embedding) => execute!(tx, scope, SEAL, seq, &key.seal(&place, &embedding)).map(|_| ())?,
            Err(_) => unreadable += 1,
        }
    }
    Ok(unreadable)
}

/// The people of an account who have faces of other models. A face without a model's version is included,
/// even if `model` is empty too, because its model is unknown.
pub async fn outdated_people(conn: &mut Conn, scope: Scope, model: &str) -> Result<Vec<Uuid>, Error> {
    let rows = fetch!(
        all,
        conn,
        scope,
        (Uuid,),
        "select distinct facemap_id from faces
         where merchant_id = $1 and sandbox = $2 and (model <> $3 or model = '')
             and substr(model, 1, length($4)) <> $4 and embedding_sealed is not null",
        model,
        with_any_own(model),
    )?;
    Ok(rows.into_iter().map(|(facemap_id,)| facemap_id).collect())
}

/// How many faces of all accounts other models made. The query reads every such face.
pub async fn count_outdated(conn: &mut Conn, model: &str) -> Result<i64, Error> {
    // The first conditions are ranges of an index, so faces of exactly the current version are not read.
    const SQL: &str = "select count(*) from faces
               where (model < $1 or model > $1 or model = '') and substr(model, 1, length($2)) <> $2
                   and embedding_sealed is not null";
    let (faces,) = fetch!(
        one,
        conn,
        across_accounts("a node reports how many faces need another enrolment"),
        (i64,),
        SQL,
        model,
        with_any_own(model)
    )?;
    Ok(faces)
}

/// Whether a face of this model's version can be searched with `current` without being embedded again. A node without a
/// custom embedder also retains the faces that a custom embedder measured, because they have the numbers of the
/// built-in networks as well. Otherwise two nodes could replace each other's faces again and again.
pub fn is_current(model: &str, current: &str) -> bool {
    !model.is_empty() && (model == current || model.starts_with(&with_any_own(current)))
}

/// The beginning of the versions that are current in addition to this one.
fn with_any_own(current: &str) -> String {
    if current.contains('+') {
        current.to_owned()
    } else {
        format!("{current}+")
    }
}

/// Replaces all faces of a person by these, each with its model's version. Indexes forget the earlier ones. The caller has
/// taken the [`lock`].
///
/// # Errors
/// As [`insert`].
pub async fn replace(
    tx: &mut Tx,
    scope: Scope,
    facemap_id: Uuid,
    faces: &[(String, Vec<u8>)],
) -> Result<(), Error> {
    remove(tx, scope, facemap_id).await?;
    for (model, embedding) in faces {
        insert(tx, scope, facemap_id, model, embedding).await?;
    }
    Ok(())
}

/// The faces of a person: each with its model's version, in the order of their registration.
///
/// # Errors
/// [`Error::Sealed`].
pub async fn of_person(
    conn: &mut Conn,
    scope: Scope,
    facemap_id: Uuid,
) -> Result<Vec<(String, Vec<u8>)>, Error> {
    const SQL: &str = "select seq, model, embedding_sealed from faces
               where merchant_id = $1 and sandbox = $2 and facemap_id = $3 and embedding_sealed is not null
               order by seq";
    let rows = fetch!(all, conn, scope, (i64, String, Vec<u8>), SQL, facemap_id)?;
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let key = people::key(conn, scope, facemap_id).await?;
    rows.into_iter()
        .map(|(seq, model, sealed)| {
            let embedding = key.open(&seal_context(scope, &seq.to_be_bytes()), &sealed)?;
            Ok((model, embedding.to_vec()))
        })
        .collect()
}

/// Moves a person's faces to another person, as new changes of the sequence. The caller has taken the [`lock`].
pub(crate) async fn move_to(tx: &mut Tx, scope: Scope, from: Uuid, into: Uuid) -> Result<(), Error> {
    let moved = of_person(tx, scope, from).await?;
    remove(tx, scope, from).await?;
    for (model, embedding) in moved {
        insert(tx, scope, into, &model, &embedding).await?;
    }
    Ok(())
}

/// Removes all faces of a person and adds the change that informs the indexes.
pub(crate) async fn remove(tx: &mut Tx, scope: Scope, facemap_id: Uuid) -> Result<(), Error> {
    const SQL: &str = "delete from faces where merchant_id = $1 and sandbox = $2 and facemap_id = $3";
    if execute!(tx, scope, SQL, facemap_id)? > 0 {
        let seq = next(tx, scope).await?;
        append(tx, scope, seq, facemap_id, "", None).await?;
    }
    Ok(())
}

async fn next(tx: &mut Tx, scope: Scope) -> Result<i64, Error> {
    const SQL: &str = "update counters set face_seq = face_seq + 1 where merchant_id = $1 and sandbox = $2
               returning face_seq";
    let row = fetch!(optional, tx, scope, (i64,), SQL)?;
    row.map(|(seq,)| seq).ok_or(Error::Missing("merchant"))
}

async fn append(
    tx: &mut Tx,
    scope: Scope,
    seq: i64,
    facemap_id: Uuid,
    model: &str,
    sealed: Option<&[u8]>,
) -> Result<(), Error> {
    let now = tx.now();
    execute!(
        tx,
        scope,
        "insert into faces (merchant_id, sandbox, seq, facemap_id, model, embedding_sealed, created_at, token)
         values ($1, $2, $3, $4, $5, $6, $7, $8)",
        seq,
        facemap_id,
        model,
        sealed,
        now,
        Uuid::new_v4(),
    )
    .map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_faces_of_an_own_embedder_are_current_without_it_too() {
        for (model, current, expected) in [
            ("new", "new", true),
            ("new+own", "new", true),
            ("new+own", "new+own", true),
            ("new", "new+own", false),
            ("new+two", "new+own", false),
            ("newer", "new", false),
            ("", "", false),
        ] {
            assert_eq!(is_current(model, current), expected, "{model} {current}");
        }
    }
}
