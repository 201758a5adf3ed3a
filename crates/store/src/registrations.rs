//! Registrations: one person in one group under one externalUserId, which merchants often choose to be an
//! email address. It is sealed under the person's key and found by its blind index. This module does not
//! compute statuses, and an unknown status in a row is [`Error::Unreadable`].

use reference::status::AttemptStatus;
use uuid::Uuid;

use crate::keyring::{DataKey, SealContext};
use crate::labels::{external_ref, group_from_column, group_to_column};
use crate::sql::{execute, fetch};
use crate::text_enum::Word;
use crate::{Conn, Error, Scope, Tx, merchants, people};

/// Which registrations to list. The default does not restrict.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RegistrationFilter {
    /// With this status.
    pub status: Option<AttemptStatus>,
    /// In this group.
    pub grouping_id: Option<Uuid>,
    /// Of people whose names contain all of these normalised words. Empty: everybody.
    pub name_words: Vec<String>,
    /// Created at this time (ms) or later.
    pub from: Option<i64>,
    /// Created before this time (ms).
    pub until: Option<i64>,
    /// After the registration of this time (ms) and id, in the order of the list.
    pub after: Option<(i64, Uuid)>,
}

/// A registration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registration {
    /// The registration.
    pub id: Uuid,
    /// The person.
    pub facemap_id: Uuid,
    /// Whether a proven face is bound to the person.
    pub is_proven: bool,
    /// The group; `None` for a submission without one, which counts as a separate group.
    pub grouping_id: Option<Uuid>,
    /// The merchant's label for the person.
    pub external_user_id: String,
    /// The status that results from its attempts; `None` if there is no attempt.
    pub status: Option<AttemptStatus>,
    /// When it was created (ms).
    pub created_at: i64,
    /// When its latest attempt was made (ms).
    pub last_active: i64,
}

#[derive(sqlx::FromRow)]
struct Row {
    id: Uuid,
    facemap_id: Uuid,
    proven: bool,
    grouping_id: Uuid,
    external_id_sealed: Vec<u8>,
    status: Option<Word<AttemptStatus>>,
    created_at: i64,
    last_active: i64,
    wrapped_key: Vec<u8>,
}

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "select r.id, r.facemap_id, r.grouping_id, r.external_id_sealed, r.status, r.created_at, r.last_active,
                    p.wrapped_key, p.proven
             from registrations r join people p
                 on p.merchant_id = r.merchant_id and p.sandbox = r.sandbox and p.facemap_id = r.facemap_id
             where r.merchant_id = $1 and r.sandbox = $2 ",
            $rest
        )
    };
}

fn open(merchant_key: &DataKey, scope: Scope, row: Row) -> Result<Registration, Error> {
    let key = people::unwrap_key(merchant_key, scope, &row.facemap_id, &row.wrapped_key)?;
    Ok(Registration {
        external_user_id: key.open_text(&seal_context(scope, &row.id), &row.external_id_sealed)?,
        id: row.id,
        facemap_id: row.facemap_id,
        is_proven: row.proven,
        grouping_id: group_from_column(row.grouping_id),
        status: row.status.map(AttemptStatus::from),
        created_at: row.created_at,
        last_active: row.last_active,
    })
}

async fn open_all(conn: &mut Conn, scope: Scope, rows: Vec<Row>) -> Result<Vec<Registration>, Error> {
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let merchant_key = merchants::key(conn, scope.merchant_id).await?;
    rows.into_iter()
        .map(|row| open(&merchant_key, scope, row))
        .collect()
}

fn seal_context(scope: Scope, id: &Uuid) -> SealContext<'_> {
    SealContext {
        merchant_id: scope.merchant_id,
        what: "registrations.external_id",
        id: id.as_bytes(),
    }
}

/// Seals a label for its row.
pub(crate) fn seal_label(person_key: &DataKey, scope: Scope, id: &Uuid, label: &str) -> Vec<u8> {
    person_key.seal(&seal_context(scope, id), label.as_bytes())
}

/// Registers a person in a group under a label.
///
/// # Errors
/// [`Error::Conflict`] if the face or the label is already registered in this group (under
/// [`faces::lock`](crate::faces::lock) the caller can check first); [`Error::Missing`] if there is no such
/// person.
pub async fn create(
    tx: &mut Tx,
    scope: Scope,
    facemap_id: Uuid,
    grouping_id: Option<Uuid>,
    external_user_id: &str,
) -> Result<Registration, Error> {
    let key = people::key(tx, scope, facemap_id).await?;
    let person = people::get(tx, scope, facemap_id).await?;
    let registration = Registration {
        id: Uuid::now_v7(),
        facemap_id,
        is_proven: person.is_some_and(|person| person.proven),
        grouping_id,
        external_user_id: external_user_id.into(),
        status: None,
        created_at: tx.now(),
        last_active: tx.now(),
    };
    let sealed = seal_label(&key, scope, &registration.id, external_user_id);
    let external_ref = external_ref(tx, scope, external_user_id);
    execute!(
        tx,
        scope,
        "insert into registrations (merchant_id, sandbox, id, facemap_id, grouping_id, external_ref,
             external_id_sealed, event_seq, created_at, last_active)
         values ($1, $2, $3, $4, $5, $6, $7, 0, $8, $8)",
        registration.id,
        facemap_id,
        group_to_column(grouping_id),
        &external_ref,
        &sealed,
        registration.created_at
    )?;
    Ok(registration)
}

/// The registration under a label in a group.
///
/// # Errors
/// [`Error::Sealed`].
pub async fn find(
    conn: &mut Conn,
    scope: Scope,
    grouping_id: Option<Uuid>,
    external_user_id: &str,
) -> Result<Option<Registration>, Error> {
    let external_ref = external_ref(conn, scope, external_user_id);
    let grouping_id = group_to_column(grouping_id);
    const SQL: &str = select!("and r.grouping_id = $3 and r.external_ref = $4");
    let rows = fetch!(all, conn, scope, Row, SQL, grouping_id, &external_ref)?;
    Ok(open_all(conn, scope, rows).await?.pop())
}

/// One registration.
///
/// # Errors
/// [`Error::Sealed`].
pub async fn get(conn: &mut Conn, scope: Scope, id: Uuid) -> Result<Option<Registration>, Error> {
    let rows = fetch!(all, conn, scope, Row, select!("and r.id = $3"), id)?;
    Ok(open_all(conn, scope, rows).await?.pop())
}

/// A person's registrations, most recently active first.
///
/// # Errors
/// [`Error::Sealed`].
pub async fn of_facemap(conn: &mut Conn, scope: Scope, facemap_id: Uuid) -> Result<Vec<Registration>, Error> {
    const SQL: &str = select!("and r.facemap_id = $3 order by r.last_active desc, r.id desc");
    let rows = fetch!(all, conn, scope, Row, SQL, facemap_id)?;
    open_all(conn, scope, rows).await
}

/// The labels of a person's registrations. It reads no status, so an unknown status cannot prevent an
/// erasure.
pub(crate) async fn labels_of_facemap(
    conn: &mut Conn,
    scope: Scope,
    facemap_id: Uuid,
) -> Result<Vec<String>, Error> {
    const SQL: &str = "select id, external_id_sealed from registrations
               where merchant_id = $1 and sandbox = $2 and facemap_id = $3";
    type Row = (Uuid, Vec<u8>);
    let rows = fetch!(all, conn, scope, Row, SQL, facemap_id)?;
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let key = people::key(conn, scope, facemap_id).await?;
    rows.iter()
        .map(|(id, sealed)| key.open_text(&seal_context(scope, id), sealed))
        .collect()
}

/// The registrations under a label in all groups, most recently active first.
///
/// # Errors
/// [`Error::Sealed`].
pub async fn of_external_user_id(
    conn: &mut Conn,
    scope: Scope,
    external_user_id: &str,
) -> Result<Vec<Registration>, Error> {
    let external_ref = external_ref(conn, scope, external_user_id);
    const SQL: &str = select!("and r.external_ref = $3 order by r.last_active desc, r.id desc");
    let rows = fetch!(all, conn, scope, Row, SQL, &external_ref)?;
    open_all(conn, scope, rows).await
}

// `$3` to `$7` are the times, the status and the group.
const OF_EVERYBODY: &str = select!(
    "and r.created_at >= $3 and (r.created_at, r.id) < ($4, $5) and ($6 is null or r.status = $6)
         and ($7 is null or r.grouping_id = $7) order by r.created_at desc, r.id desc limit $8"
);

// The other words of the name of the same person, if there are any.
macro_rules! has_word {
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

// The sum keeps the databases from reading all registrations in the order of time.
const OF_NAME: &str = concat!(
    "select r.id, r.facemap_id, r.grouping_id, r.external_id_sealed, r.status, r.created_at, r.last_active,
            p.wrapped_key, p.proven
     from registrations r
     join people p on p.merchant_id = r.merchant_id and p.sandbox = r.sandbox and p.facemap_id = r.facemap_id
     where r.merchant_id = $1 and r.sandbox = $2 and r.facemap_id in (
             select n.facemap_id from name_words n
             where n.merchant_id = $1 and n.sandbox = $2 and n.word_ref = $8",
    has_word!("$9"),
    has_word!("$10"),
    has_word!("$11"),
    has_word!("$12"),
    ") and r.created_at + 0 >= $3 and (r.created_at + 0, r.id) < ($4, $5) and ($6 is null or r.status = $6)
         and ($7 is null or r.grouping_id = $7) order by r.created_at + 0 desc, r.id desc limit $13"
);

/// A page of the account's registrations, newest first, at most `limit`.
///
/// # Errors
/// [`Error::Sealed`].
pub async fn page(
    conn: &mut Conn,
    scope: Scope,
    filter: &RegistrationFilter,
    limit: i64,
) -> Result<Vec<Registration>, Error> {
    let from = filter.from.unwrap_or(i64::MIN);
    // The end of the period excludes every registration of that time.
    let end = (filter.until.unwrap_or(i64::MAX), Uuid::nil());
    let (before, id) = filter.after.map_or(end, |after| after.min(end));
    let status = filter.status.map(AttemptStatus::as_str);
    let group = filter.grouping_id;
    let words: Vec<Vec<u8>> = filter
        .name_words
        .iter()
        .take(people::MOST_NAME_WORDS)
        .map(|word| people::word_ref(conn.keyring(), scope, word))
        .collect();
    let word = |n: usize| words.get(n).map(Vec::as_slice);
    let rows = match word(0) {
        None => fetch!(
            all,
            conn,
            scope,
            Row,
            OF_EVERYBODY,
            from,
            before,
            id,
            status,
            group,
            limit
        )?,
        Some(first) => fetch!(
            all,
            conn,
            scope,
            Row,
            OF_NAME,
            from,
            before,
            id,
            status,
            group,
            first,
            word(1),
            word(2),
            word(3),
            word(4),
            limit
        )?,
    };
    open_all(conn, scope, rows).await
}

/// Sets the status that results from the attempts.
///
/// # Errors
/// [`Error::Missing`] when there is no such registration.
pub async fn set_status(
    tx: &mut Tx,
    scope: Scope,
    id: Uuid,
    status: Option<AttemptStatus>,
) -> Result<(), Error> {
    let status = status.map(AttemptStatus::as_str);
    const SQL: &str =
        "update registrations set status = $4 where merchant_id = $1 and sandbox = $2 and id = $3";
    match execute!(tx, scope, SQL, id, status)? {
        0 => Err(Error::Missing("registration")),
        _ => Ok(()),
    }
}

/// The next `sequence` of the registration's webhook events, from 1.
///
/// # Errors
/// [`Error::Missing`] when there is no such registration.
pub async fn next_event(tx: &mut Tx, scope: Scope, id: Uuid) -> Result<i64, Error> {
    const SQL: &str = "update registrations set event_seq = event_seq + 1
               where merchant_id = $1 and sandbox = $2 and id = $3 returning event_seq";
    let row = fetch!(optional, tx, scope, (i64,), SQL, id)?;
    row.map(|(seq,)| seq).ok_or(Error::Missing("registration"))
}

/// Ends a registration. Its attempts stay, and are only logged.
pub(crate) async fn end(tx: &mut Tx, scope: Scope, id: Uuid) -> Result<(), Error> {
    const LEAVE: &str = "update attempts set registration_id = null
               where merchant_id = $1 and sandbox = $2 and registration_id = $3";
    const END: &str = "delete from registrations where merchant_id = $1 and sandbox = $2 and id = $3";
    execute!(tx, scope, LEAVE, id)?;
    execute!(tx, scope, END, id).map(|_| ())
}

/// Moves a facemap's registrations to another facemap and seals their labels under its key.
pub(crate) async fn move_to(
    tx: &mut Tx,
    scope: Scope,
    from: (Uuid, &DataKey),
    into: (Uuid, &DataKey),
) -> Result<(), Error> {
    move_where(tx, scope, from, into, |_| true).await
}

/// Moves some of a facemap's registrations as [`move_to`] does.
pub(crate) async fn move_some(
    tx: &mut Tx,
    scope: Scope,
    from: (Uuid, &DataKey),
    into: (Uuid, &DataKey),
    ids: &[Uuid],
) -> Result<(), Error> {
    move_where(tx, scope, from, into, |id| ids.contains(&id)).await
}

async fn move_where(
    tx: &mut Tx,
    scope: Scope,
    (from, from_key): (Uuid, &DataKey),
    (into, into_key): (Uuid, &DataKey),
    moves: impl Fn(Uuid) -> bool,
) -> Result<(), Error> {
    const SQL: &str = "select id, external_id_sealed from registrations
               where merchant_id = $1 and sandbox = $2 and facemap_id = $3";
    let rows = fetch!(all, tx, scope, (Uuid, Vec<u8>), SQL, from)?;
    for (id, sealed) in rows.into_iter().filter(|(id, _)| moves(*id)) {
        let place = seal_context(scope, &id);
        let sealed = into_key.seal(&place, &from_key.open(&place, &sealed)?);
        execute!(
            tx,
            scope,
            "update registrations set facemap_id = $4, external_id_sealed = $5
                   where merchant_id = $1 and sandbox = $2 and id = $3",
            id,
            into,
            &sealed
        )?;
    }
    Ok(())
}

/// Seals the labels of a person's registrations again under their renewed key; returns how many it does not open.
pub(crate) async fn reseal_labels(
    tx: &mut Tx,
    scope: Scope,
    facemap_id: Uuid,
    key: &DataKey,
) -> Result<u64, Error> {
    const SQL: &str = "select id, external_id_sealed from registrations
               where merchant_id = $1 and sandbox = $2 and facemap_id = $3";
    const SEAL: &str = "update registrations set external_id_sealed = $4 where merchant_id = $1 and sandbox = $2 and id = $3";
    let mut unreadable = 0;
    for (id, sealed) in fetch!(all, tx, scope, (Uuid, Vec<u8>), SQL, facemap_id)? {
        let place = seal_context(scope, &id);
        match key.open(&place, &sealed) {
            Ok(label) => execute!(tx, scope, SEAL, id, &key.seal(&place, &label)).map(|_| ())?,
            Err(_) => unreadable += 1,
        }
    }
    Ok(unreadable)
}
