//! Erasures: the ledger of erased people, and the deletion of everything outside the person's own key:
//! webhook events, links, sessions, monitoring queries and idempotency responses.
//! [`people::erase`](crate::people::erase) destroys the key itself.
//!
//! No row of the ledger is ever deleted. The journal outside the database is
//! [`erasure_journal`](crate::erasure_journal).

use std::collections::BTreeSet;

use uuid::Uuid;

use crate::erasure_journal::KeyId;
use crate::sql::{checked, execute, fetch};
use crate::{Conn, Error, Scope, Tx, applicants, idempotency, labels, monitoring, people};

/// An erased person, as the ledger records it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct Erasure {
    /// The account.
    pub merchant_id: Uuid,
    /// Its mode.
    pub sandbox: bool,
    /// The person's facemap.
    pub facemap_id: Uuid,
    /// When the person was erased (ms).
    pub at: i64,
}

impl Erasure {
    /// The account and mode.
    #[must_use]
    pub fn scope(&self) -> Scope {
        Scope {
            merchant_id: self.merchant_id,
            sandbox: self.sandbox,
        }
    }
}

/// The latest erasures of an account, newest first, at most `limit`.
pub async fn list(conn: &mut Conn, scope: Scope, limit: i64) -> Result<Vec<Erasure>, Error> {
    fetch!(
        all,
        conn,
        scope,
        Erasure,
        "select merchant_id, sandbox, facemap_id, at from erasures
         where merchant_id = $1 and sandbox = $2 order by at desc, facemap_id limit $3",
        limit
    )
}

/// Whether the ledger contains a facemap.
pub async fn is_erased(conn: &mut Conn, scope: Scope, facemap_id: Uuid) -> Result<bool, Error> {
    const SQL: &str = "select at from erasures where merchant_id = $1 and sandbox = $2 and facemap_id = $3";
    let found = fetch!(optional, conn, scope, (i64,), SQL, facemap_id)?;
    Ok(found.is_some())
}

/// The time of the latest erasure in any account (ms).
pub async fn newest_at(conn: &mut Conn) -> Result<Option<i64>, Error> {
    let (newest,) = fetch!(
        one,
        conn,
        across_accounts("a restore compares its backup with every account's erasures"),
        (Option<i64>,),
        "select max(at) from erasures"
    )?;
    Ok(newest)
}

/// The ids of the keys that erasing a person destroys: the person's own key, the keys of the facemaps that were
/// merged into it, which an older backup still contains, and the keys of the person's attempts, which a backup from
/// before a split contains under the other person's key.
pub async fn keys_of(conn: &mut Conn, scope: Scope, facemap_id: Uuid) -> Result<BTreeSet<KeyId>, Error> {
    let mut facemaps = people::aliases(conn, scope, facemap_id).await?;
    facemaps.push(facemap_id);
    const SQL: &str = "select id from attempts where merchant_id = $1 and sandbox = $2 and facemap_id = $3";
    let attempts = fetch!(all, conn, scope, (Uuid,), SQL, facemap_id)?;
    let of_facemaps = facemaps
        .into_iter()
        .map(|facemap| KeyId::of_facemap(conn, scope, facemap));
    let of_attempts = attempts
        .into_iter()
        .map(|(attempt,)| KeyId::of_attempt(conn, scope, attempt));
    Ok(of_facemaps.chain(of_attempts).collect())
}

/// Adds a person to the ledger. The journal already contains the keys.
pub(crate) async fn write(tx: &mut Tx, scope: Scope, facemap_id: Uuid) -> Result<(), Error> {
    let now = tx.now();
    const SQL: &str = "insert into erasures (merchant_id, sandbox, facemap_id, at, journaled_at) values ($1, $2, $3, $4, $4)";
    execute!(tx, scope, SQL, facemap_id, now).map(|_| ())
}

/// Erasures that an earlier version did not append to the journal, at most `limit`.
pub async fn not_journaled(conn: &mut Conn, limit: i64) -> Result<Vec<Erasure>, Error> {
    const SQL: &str = "select merchant_id, sandbox, facemap_id, at from erasures where journaled_at is null
               order by at, facemap_id limit $1";
    fetch!(
        all,
        conn,
        across_accounts("housekeeping journals every account's erasures"),
        Erasure,
        SQL,
        limit
    )
}

/// Records that the journal contains an erasure.
pub async fn mark_journaled(tx: &mut Tx, erasure: &Erasure) -> Result<(), Error> {
    let now = tx.now();
    const SQL: &str =
        "update erasures set journaled_at = $4 where merchant_id = $1 and sandbox = $2 and facemap_id = $3";
    execute!(tx, erasure.scope(), SQL, erasure.facemap_id, now).map(|_| ())
}

/// Deletes the data about a person that are sealed under the account's key. Events are found by the facemap.
/// Links, invitations, sessions, monitoring queries and their idempotency responses are found by the person's labels,
/// except labels that another person shares.
pub(crate) async fn erase_traces(tx: &mut Tx, scope: Scope, facemap_id: Uuid) -> Result<(), Error> {
    idempotency::erase_earlier(tx, scope).await?;
    execute!(
        tx,
        scope,
        "delete from outbox where merchant_id = $1 and sandbox = $2 and facemap_id = $3",
        facemap_id
    )?;
    let mut facemaps = people::aliases(tx, scope, facemap_id).await?;
    facemaps.push(facemap_id);
    for facemap in facemaps {
        // The subject of a proposal to merge or split people names them.
        let named = format!("%{facemap}%");
        execute!(
            tx,
            scope,
            "delete from proposals where merchant_id = $1 and sandbox = $2
             and kind in ('merge_people', 'split_person') and subject like $3",
            &named
        )?;
    }
    // An invitation of the person opens no further session. Invitations are locked before their sessions.
    let labels = applicants::labels_of(tx, scope, facemap_id).await?;
    for label in labels.iter().filter(|label| !label.is_shared) {
        // The deletion finds an invitation that replaced one of these only after its transaction has ended.
        execute!(
            tx,
            scope,
            "update applicant_invitations set attempts = attempts
             where merchant_id = $1 and sandbox = $2 and user_ref = $3",
            &label.external_ref,
        )?;
        execute!(
            tx,
            scope,
            "delete from applicant_invitations where merchant_id = $1 and sandbox = $2 and user_ref = $3",
            &label.external_ref,
        )?;
    }
    // A session that is being erased takes no further reading.
    execute!(
        tx,
        scope,
        "update sessions set readings = readings where merchant_id = $1 and sandbox = $2 and id in
                   (select session_id from attempts where merchant_id = $1 and sandbox = $2 and facemap_id = $3)",
        facemap_id,
    )?;
    const READ_IN_ATTEMPTS: &str = "select r.id, s.user_ref from document_readings r join sessions s
                   on s.merchant_id = r.merchant_id and s.sandbox = r.sandbox and s.id = r.session_id
               where r.merchant_id = $1 and r.sandbox = $2 and r.session_id in
                   (select session_id from attempts where merchant_id = $1 and sandbox = $2 and facemap_id = $3)";
    for (id, user_ref) in fetch!(all, tx, scope, (Uuid, Vec<u8>), READ_IN_ATTEMPTS, facemap_id)? {
        request_object_removal(tx, scope, id, Some((facemap_id, &user_ref))).await?;
    }
    execute!(
        tx,
        scope,
        "delete from sessions where merchant_id = $1 and sandbox = $2 and id in
                   (select session_id from attempts where merchant_id = $1 and sandbox = $2 and facemap_id = $3)",
        facemap_id,
    )?;
    for label in labels {
        if label.is_shared {
            continue;
        }
        execute!(
            tx,
            scope,
            "update sessions set readings = readings where merchant_id = $1 and sandbox = $2 and user_ref = $3",
            &label.external_ref,
        )?;
        const READ_UNDER_LABEL: &str = "select r.id from document_readings r join sessions s
                       on s.merchant_id = r.merchant_id and s.sandbox = r.sandbox and s.id = r.session_id
                   where r.merchant_id = $1 and r.sandbox = $2 and s.user_ref = $3";
        for (id,) in fetch!(all, tx, scope, (Uuid,), READ_UNDER_LABEL, &label.external_ref)? {
            let erased = Some((facemap_id, label.external_ref.as_slice()));
            request_object_removal(tx, scope, id, erased).await?;
        }
        for sql in [
            checked!(
                scope,
                "delete from link_tokens where merchant_id = $1 and sandbox = $2 and user_ref = $3"
            ),
            checked!(
                scope,
                "delete from sessions where merchant_id = $1 and sandbox = $2 and user_ref = $3"
            ),
        ] {
            execute!(tx, scope, checked(sql), &label.external_ref)?;
        }
        monitoring::delete_labelled(tx, scope, &label.text).await?;
        idempotency::erase_label(tx, scope, &label.external_ref).await?;
    }
    Ok(())
}

/// A deleted attempt whose objects must still be deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct ObjectRemoval {
    merchant_id: Uuid,
    sandbox: bool,
    /// The attempt's id.
    pub attempt_id: Uuid,
}

impl ObjectRemoval {
    /// The account and mode.
    #[must_use]
    pub fn scope(&self) -> Scope {
        Scope {
            merchant_id: self.merchant_id,
            sandbox: self.sandbox,
        }
    }
}

/// Records, in the transaction that deletes an attempt, that its objects must be deleted too. `erased` is the
/// erased person and the blind index of the attempt's label; `None` if retention deleted the attempt.
pub(crate) async fn request_object_removal(
    tx: &mut Tx,
    scope: Scope,
    attempt_id: Uuid,
    erased: Option<(Uuid, &[u8])>,
) -> Result<(), Error> {
    let now = tx.now();
    let (facemap_id, external_ref) = erased.unzip();
    let facemap_id = facemap_id.unwrap_or(labels::NO_ID);
    const SQL: &str =
        "insert into object_removals (merchant_id, sandbox, attempt_id, facemap_id, external_ref, created_at)
               values ($1, $2, $3, $4, $5, $6) on conflict do nothing";
    execute!(tx, scope, SQL, attempt_id, facemap_id, external_ref, now).map(|_| ())
}

/// The person who was erased under a label, until the erasure has deleted all objects.
pub async fn find_unfinished(
    conn: &mut Conn,
    scope: Scope,
    external_user_id: &str,
) -> Result<Option<Uuid>, Error> {
    let external_ref = labels::external_ref(conn, scope, external_user_id);
    const SQL: &str = "select facemap_id from object_removals
               where merchant_id = $1 and sandbox = $2 and external_ref = $3 order by attempt_id limit 1";
    let found = fetch!(optional, conn, scope, (Uuid,), SQL, &external_ref)?;
    Ok(found.map(|(facemap_id,)| facemap_id))
}

/// The attempts of an erased person whose objects are not deleted yet.
pub async fn object_removals_of(
    conn: &mut Conn,
    scope: Scope,
    facemap_id: Uuid,
) -> Result<Vec<ObjectRemoval>, Error> {
    const SQL: &str = "select merchant_id, sandbox, attempt_id from object_removals
               where merchant_id = $1 and sandbox = $2 and facemap_id = $3 order by attempt_id";
    fetch!(all, conn, scope, ObjectRemoval, SQL, facemap_id)
}

/// All attempts whose objects must still be deleted, the earliest first, at most `limit`.
pub async fn list_object_removals(conn: &mut Conn, limit: i64) -> Result<Vec<ObjectRemoval>, Error> {
    const SQL: &str = "select merchant_id, sandbox, attempt_id from object_removals order by created_at, attempt_id limit $1";
    fetch!(
        all,
        conn,
        across_accounts("housekeeping deletes every account's objects"),
        ObjectRemoval,
        SQL,
        limit
    )
}

/// Records that an attempt's objects are deleted.
pub async fn finish_object_removal(tx: &mut Tx, removal: &ObjectRemoval) -> Result<(), Error> {
    const SQL: &str =
        "delete from object_removals where merchant_id = $1 and sandbox = $2 and attempt_id = $3";
    execute!(tx, removal.scope(), SQL, removal.attempt_id).map(|_| ())
}
