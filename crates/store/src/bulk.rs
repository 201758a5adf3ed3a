//! Writes the whole histories of many people with few statements, to create test accounts as large as real
//! ones. The rows equal those that verifications leave and are sealed by the same functions.
//!
//! The data come from the caller. No webhook events and no jobs are written.

mod rows;

use std::collections::BTreeSet;
use std::sync::Arc;

use reference::status::AttemptStatus;
use uuid::Uuid;

use crate::audit::{self, AuditRow};
use crate::bulk::rows::{Rows, Value};
use crate::consents::Consent;
use crate::keyring::{DataKey, Keyring, random};
use crate::labels::{group_to_column, label_ref};
use crate::sessions::{self, SessionStatus, Stage};
use crate::sql::{execute, fetch};
use crate::{Conn, Db, Error, Scope, Tx, attempts, counters, faces, merchants, people, registrations};

/// A person with the records of all verifications.
#[derive(Clone, Debug)]
pub struct PastPerson {
    /// The facemap.
    pub facemap_id: Uuid,
    /// The proven face: the model's version and the embedding.
    pub face: Option<(String, Vec<u8>)>,
    /// Whether a proven face is bound to the person.
    pub proven: bool,
    /// The normalised words of the name.
    pub name_words: Vec<String>,
    /// The merchant's label for the person.
    pub external_user_id: String,
    /// The group of the registration.
    pub grouping_id: Option<Uuid>,
    /// The registration's status, which must fit the attempts.
    pub status: Option<AttemptStatus>,
    /// When the person was first seen (ms).
    pub created_at: i64,
    /// The hosted session of all attempts.
    pub session: Option<PastSession>,
    /// Oldest first.
    pub attempts: Vec<PastAttempt>,
}

/// An attempt of the past.
#[derive(Clone, Debug)]
pub struct PastAttempt {
    /// See [`attempts::NewAttempt::id`].
    pub id: Uuid,
    /// See [`attempts::NewAttempt::flow_id`].
    pub flow_id: Uuid,
    /// See [`attempts::NewAttempt::flow_name`].
    pub flow_name: String,
    /// Its current status.
    pub status: AttemptStatus,
    /// See [`attempts::NewAttempt::success`].
    pub success: bool,
    /// See [`attempts::NewAttempt::codes`].
    pub codes: String,
    /// See [`attempts::NewAttempt::document_types`].
    pub document_types: String,
    /// See [`attempts::NewAttempt::request`].
    pub request: String,
    /// See [`attempts::NewAttempt::response`].
    pub response: String,
    /// See [`attempts::NewAttempt::detail`].
    pub detail: String,
    /// See [`attempts::NewAttempt::names`].
    pub names: String,
    /// The document's country (alpha-3).
    pub country: Option<String>,
    /// How long the response took (ms).
    pub took_ms: Option<i64>,
    /// See [`attempts::NewAttempt::priority`].
    pub priority: i64,
    /// When it was made (ms).
    pub created_at: i64,
    /// The reviewer's decision.
    pub decision: Option<attempts::Decision>,
}

/// A hosted session of the past.
#[derive(Clone, Debug)]
pub struct PastSession {
    /// The session.
    pub id: Uuid,
    /// Its Flow.
    pub flow_id: Uuid,
    /// Its Group.
    pub group_id: Uuid,
    /// Its status.
    pub status: SessionStatus,
    /// Its stage.
    pub stage: Stage,
    /// Attempts allowed.
    pub max_attempts: i64,
    /// When it was made (ms).
    pub created_at: i64,
    /// When its access token expired (ms).
    pub expires_at: i64,
    /// When it became terminal (ms).
    pub completed_at: Option<i64>,
    /// The applicant's consent.
    pub consent: Consent,
    /// The class of device.
    pub device: String,
    /// The page's events in order: step, kind and milliseconds since the page was opened.
    pub events: Vec<(String, String, i64)>,
}

/// The keys for sealing people of one account and mode. Threads may share it.
#[derive(Clone)]
pub struct Account {
    scope: Scope,
    merchant_key: DataKey,
    keyring: Arc<Keyring>,
}

/// A sealed person, ready to be written.
pub struct SealedPerson {
    person: PastPerson,
    key: DataKey,
    wrapped_key: Vec<u8>,
    registration_id: Uuid,
    external_ref: Vec<u8>,
    label: Vec<u8>,
    user_id: Option<Vec<u8>>,
    word_refs: Vec<Vec<u8>>,
    attempts: Vec<(attempts::SealedColumns, Option<Vec<u8>>)>,
}

/// Reads the keys of the account whose people are to be written.
///
/// # Errors
/// [`Error::Missing`] for an unknown account; [`Error::Sealed`].
pub async fn account(conn: &mut Conn, scope: Scope) -> Result<Account, Error> {
    Ok(Account {
        scope,
        merchant_key: merchants::key(conn, scope.merchant_id).await?,
        keyring: Arc::clone(conn.keyring()),
    })
}

impl Account {
    /// Makes the keys of a person and the attempts, and seals the personal data. This is CPU work for a
    /// separate thread.
    #[must_use]
    pub fn seal(&self, person: PastPerson) -> SealedPerson {
        let scope = self.scope;
        let (key, registration_id) = (DataKey::generate(), Uuid::now_v7());
        let session_id = person.session.as_ref().map(|session| session.id);
        let sealed = |attempt: &PastAttempt| {
            let attempt_key = DataKey::generate();
            let personal = attempts::Personal {
                external_user_id: &person.external_user_id,
                request: &attempt.request,
                response: &attempt.response,
                detail: &attempt.detail,
                names: &attempt.names,
            };
            let reason = attempt.decision.as_ref().and_then(|made| made.reason.as_deref());
            let reason = reason.map(|reason| attempts::seal_reason(scope, &attempt_key, &attempt.id, reason));
            let columns = attempts::seal(scope, &key, (&attempt.id, &attempt_key), &personal);
            (columns, reason)
        };
        SealedPerson {
            wrapped_key: people::wrap_key(&self.merchant_key, scope, &person.facemap_id, &key),
            registration_id,
            external_ref: label_ref(&self.keyring, scope, &person.external_user_id),
            label: registrations::seal_label(&key, scope, &registration_id, &person.external_user_id),
            user_id: session_id.map(|id| {
                sessions::seal_user_id(
                    &self.merchant_key,
                    scope.merchant_id,
                    &id,
                    &person.external_user_id,
                )
            }),
            // Each word once, because a name may repeat a word (Lee Lee).
            word_refs: person
                .name_words
                .iter()
                .collect::<BTreeSet<_>>()
                .into_iter()
                .map(|word| people::word_ref(&self.keyring, scope, word))
                .collect(),
            attempts: person.attempts.iter().map(sealed).collect(),
            key,
            person,
        }
    }

    /// Whether any person is registered under this label.
    pub async fn is_registered(&self, conn: &mut Conn, external_user_id: &str) -> Result<bool, Error> {
        let scope = self.scope;
        let external_ref = label_ref(&self.keyring, scope, external_user_id);
        const SQL: &str = "select id from registrations where merchant_id = $1 and sandbox = $2 and external_ref = $3 limit 1";
        let found = fetch!(optional, conn, scope, (Uuid,), SQL, &external_ref)?;
        Ok(found.is_some())
    }
}

/// Writes people with their histories. The attempts get the account's next numbers in the order of their
/// times.
///
/// # Errors
/// [`Error::Conflict`] if a person is already registered; [`Error::Missing`] for an unknown account.
pub async fn write(tx: &mut Tx, account: &Account, sealed: &[SealedPerson]) -> Result<(), Error> {
    let scope = account.scope;
    counters::lock(tx, scope).await?;
    // Every attempt of every person, in chronological order.
    let mut order: Vec<(i64, usize, usize)> = Vec::new();
    for (person, row) in sealed.iter().enumerate() {
        let made = row.person.attempts.iter().enumerate();
        order.extend(made.map(|(attempt, past)| (past.created_at, person, attempt)));
    }
    order.sort_unstable();
    let faces = sealed.iter().filter(|row| row.person.face.is_some()).count();
    let (first_log_id, first_face) = reserve(tx, scope, order.len(), faces).await?;
    let mut last_log_ids = vec![None; sealed.len()];
    for (log_id, (_, person, _)) in (first_log_id..).zip(&order) {
        last_log_ids[*person] = Some(log_id);
    }
    write_people(tx, scope, sealed, first_face).await?;
    write_sessions(tx, scope, sealed, &last_log_ids).await?;
    write_attempts(tx, scope, sealed, &order, first_log_id).await
}

/// Updates PostgreSQL's statistics and visibility map, which autovacuum would only do some time after so many
/// inserts. It does nothing on SQLite.
pub async fn vacuum_analyze(db: &Db) -> Result<(), Error> {
    match db.is_postgres() {
        true => execute!(&mut db.read().await?, installation, "vacuum analyze").map(|_| ()),
        false => Ok(()),
    }
}

/// Reserves numbers for attempts and faces; returns the first of each.
async fn reserve(tx: &mut Tx, scope: Scope, attempts: usize, faces: usize) -> Result<(i64, i64), Error> {
    let (attempts, faces) = (attempts as i64, faces as i64);
    let (log_seq, face_seq) = fetch!(
        one,
        tx,
        scope,
        (i64, i64),
        "update counters set log_seq = log_seq + $3, face_seq = face_seq + $4
         where merchant_id = $1 and sandbox = $2 returning log_seq, face_seq",
        attempts,
        faces
    )?;
    Ok((log_seq - attempts + 1, face_seq - faces + 1))
}

async fn write_people(
    tx: &mut Tx,
    scope: Scope,
    sealed: &[SealedPerson],
    mut face_seq: i64,
) -> Result<(), Error> {
    let mut people = Rows::of(scope, "people", "facemap_id, proven, wrapped_key, created_at");
    let mut words = Rows::of(scope, "name_words", "word_ref, facemap_id");
    let mut registrations = Rows::of(
        scope,
        "registrations",
        "id, facemap_id, grouping_id, external_ref, external_id_sealed, status, event_seq, \
         created_at, last_active",
    );
    let mut faces = Rows::of(
        scope,
        "faces",
        "seq, facemap_id, model, embedding_sealed, created_at, token",
    );
    for row in sealed {
        let person = &row.person;
        let last_active = person
            .attempts
            .last()
            .map_or(person.created_at, |last| last.created_at);
        people.push([
            person.facemap_id.into(),
            person.proven.into(),
            row.wrapped_key.clone().into(),
            person.created_at.into(),
        ]);
        for word_ref in &row.word_refs {
            words.push([word_ref.clone().into(), person.facemap_id.into()]);
        }
        registrations.push([
            row.registration_id.into(),
            person.facemap_id.into(),
            group_to_column(person.grouping_id).into(),
            row.external_ref.clone().into(),
            row.label.clone().into(),
            person.status.map(AttemptStatus::as_str).into(),
            0.into(),
            person.created_at.into(),
            last_active.into(),
        ]);
        if let Some((model, embedding)) = &person.face {
            faces.push([
                face_seq.into(),
                person.facemap_id.into(),
                model.as_str().into(),
                faces::seal(&row.key, scope, face_seq, embedding).into(),
                last_active.into(),
                Uuid::new_v4().into(),
            ]);
            face_seq += 1;
        }
    }
    for rows in [people, words, registrations, faces] {
        rows.write(tx).await?;
    }
    Ok(())
}

async fn write_sessions(
    tx: &mut Tx,
    scope: Scope,
    sealed: &[SealedPerson],
    last_log_ids: &[Option<i64>],
) -> Result<(), Error> {
    let mut sessions = Rows::of(
        scope,
        "sessions",
        "id, token_ref, group_id, flow_id, user_id_sealed, status, stage, attempts, \
         max_attempts, log_id, created_at, expires_at, completed_at, user_ref",
    );
    let mut consents = Rows::of(scope, "consents", "session_id, version, language, accepted, at");
    let mut events = Rows::of(
        scope,
        "session_events",
        "session_id, id, flow_id, step, kind, ms, detail, device, handoff, at",
    );
    for (row, log_id) in sealed.iter().zip(last_log_ids) {
        let (Some(session), Some(user_id)) = (&row.person.session, &row.user_id) else {
            continue;
        };
        sessions.push([
            session.id.into(),
            // The hash of no existing token.
            random::<32>().to_vec().into(),
            session.group_id.into(),
            session.flow_id.into(),
            user_id.clone().into(),
            session.status.as_str().into(),
            session.stage.as_str().into(),
            (row.person.attempts.len() as i64).into(),
            session.max_attempts.into(),
            (*log_id).into(),
            session.created_at.into(),
            session.expires_at.into(),
            session.completed_at.into(),
            row.external_ref.clone().into(),
        ]);
        consents.push([
            session.id.into(),
            session.consent.version.as_str().into(),
            session.consent.language.as_str().into(),
            session.consent.accepted.into(),
            session.consent.at.into(),
        ]);
        for (step, kind, ms) in &session.events {
            events.push([
                session.id.into(),
                Uuid::now_v7().into(),
                session.flow_id.into(),
                step.as_str().into(),
                kind.as_str().into(),
                (*ms).into(),
                Value::Text(None),
                session.device.as_str().into(),
                false.into(),
                (session.created_at + ms).into(),
            ]);
        }
    }
    for rows in [sessions, consents, events] {
        rows.write(tx).await?;
    }
    Ok(())
}

async fn write_attempts(
    tx: &mut Tx,
    scope: Scope,
    sealed: &[SealedPerson],
    order: &[(i64, usize, usize)],
    first_log_id: i64,
) -> Result<(), Error> {
    let mut attempts = Rows::of(
        scope,
        "attempts",
        "log_id, id, facemap_id, registration_id, grouping_id, external_ref, session_id, \
         flow_id, flow_name, status, success, codes, document_types, wrapped_key, external_id_sealed, request_sealed, \
         response_sealed, detail_sealed, names_sealed, created_at, decided_at, country, took_ms, priority",
    );
    let mut decisions = Rows::of(
        scope,
        "decisions",
        "log_id, seq, decision, actor, reason_sealed, at",
    );
    let mut trail = Trail::open(tx, scope).await?;
    for (log_id, (_, person, attempt)) in (first_log_id..).zip(order) {
        let row = &sealed[*person];
        let (past, (columns, reason)) = (&row.person.attempts[*attempt], &row.attempts[*attempt]);
        attempts.push([
            log_id.into(),
            past.id.into(),
            row.person.facemap_id.into(),
            row.registration_id.into(),
            group_to_column(row.person.grouping_id).into(),
            row.external_ref.clone().into(),
            row.person.session.as_ref().map(|session| session.id).into(),
            past.flow_id.into(),
            past.flow_name.as_str().into(),
            past.status.as_str().into(),
            past.success.into(),
            past.codes.as_str().into(),
            past.document_types.as_str().into(),
            columns.wrapped_key.clone().into(),
            columns.external_id.clone().into(),
            columns.request.clone().into(),
            columns.response.clone().into(),
            columns.detail.clone().into(),
            columns.names.clone().into(),
            past.created_at.into(),
            past.decision.as_ref().map(|made| made.at).into(),
            past.country.clone().into(),
            past.took_ms.into(),
            past.priority.into(),
        ]);
        trail.add("bulk", "verification.recorded", log_id, past.created_at);
        if let Some(made) = &past.decision {
            decisions.push([
                log_id.into(),
                1.into(),
                made.decision.as_str().into(),
                made.actor.as_str().into(),
                reason.clone().into(),
                made.at.into(),
            ]);
            trail.add(&made.actor, "verification.decided", log_id, made.at);
        }
    }
    attempts.write(tx).await?;
    decisions.write(tx).await?;
    trail.write(tx).await
}

/// The next rows of the audit trail.
struct Trail {
    scope: Scope,
    keyring: Arc<Keyring>,
    seq: i64,
    hash: Vec<u8>,
    rows: Rows,
}

impl Trail {
    async fn open(tx: &mut Tx, scope: Scope) -> Result<Self, Error> {
        // This also locks the chain until the transaction ends.
        const SQL: &str = "update audit_heads set seq = seq where merchant_id = $1 returning seq, hash";
        let head = fetch!(optional, tx, merchant(scope.merchant_id), (i64, Vec<u8>), SQL)?;
        let (seq, hash) = head.ok_or(Error::Missing("merchant"))?;
        Ok(Self {
            scope,
            keyring: Arc::clone(tx.keyring()),
            seq,
            hash,
            rows: Rows::of(scope, "audit", "seq, at, actor, action, subject, detail, hash"),
        })
    }

    fn add(&mut self, actor: &str, action: &str, log_id: i64, at: i64) {
        let mut row = AuditRow {
            seq: self.seq + 1,
            sandbox: self.scope.sandbox,
            at,
            actor: actor.to_owned(),
            action: action.to_owned(),
            subject: log_id.to_string(),
            detail: "{}".to_owned(),
            hash: Vec::new(),
        };
        row.hash = audit::chain_hash(&self.keyring, self.scope.merchant_id, &self.hash, &row);
        self.seq = row.seq;
        self.hash.clone_from(&row.hash);
        self.rows.push([
            row.seq.into(),
            row.at.into(),
            row.actor.into(),
            row.action.into(),
            row.subject.into(),
            row.detail.into(),
            row.hash.into(),
        ]);
    }

    async fn write(self, tx: &mut Tx) -> Result<(), Error> {
        self.rows.write(tx).await?;
        const SQL: &str = "update audit_heads set seq = $2, hash = $3 where merchant_id = $1";
        execute!(tx, merchant(self.scope.merchant_id), SQL, self.seq, &self.hash).map(|_| ())
    }
}
